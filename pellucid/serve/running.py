"""Run the application in uvicorn until a signal: SIGTERM and Ctrl-C finish what was accepted, SIGHUP loads
the models again."""

import asyncio
import contextlib
import gc
import json
import logging
import math
import os
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from pellucid.errors import PellucidError
from pellucid.serve.app import make_app
from pellucid.serve.service import Service

LOG = logging.getLogger("pellucid")
SWITCH = 5e-4  # seconds until a thread lets another run Python: each step of a batch waits several times
IDLE = 60  # seconds, for which a connection is kept without a request
LAST = 1.0  # seconds, in which a last request may arrive on each connection after the signal to stop
HEAD = 10.0  # seconds, in which the head of a request must arrive


class Protocol(H11Protocol):
    """A connection that is closed if the head of a request arrives too slowly, or an answer is not read."""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._answers = 0
        self._closing = self.loop.call_later(HEAD, self.transport.close)

    def data_received(self, data: bytes) -> None:
        """Take what arrived. Unless a request is being answered now, wait for one."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._closing.cancel()
        elif self._closing.cancelled():
            self._closing = self.loop.call_later(HEAD, self.transport.close)

    def on_response_complete(self) -> None:
        """Go on with the next request."""
        super().on_response_complete()
        self._answers += 1
        self._watch(self._answers)

    def _watch(self, answer: int, before: float = math.inf) -> None:
        """Look every minute whether the client reads the rest of its last answer, and leave it if it does
        not. before: the bytes that were left a minute ago."""
        left = self.transport.get_write_buffer_size()
        if not left or answer != self._answers:
            return
        if left >= before:
            self.transport.abort()
        else:
            self.loop.call_later(IDLE, self._watch, answer, left)


class Server(uvicorn.Server):
    """Uvicorn that loses no request when it stops.

    about: lines for standard error, of what is served and where. They are told when requests are answered and
        signals obeyed, so that nobody who reads them is too early.
    """

    def __init__(self, config: uvicorn.Config, service: Service, about: Sequence[str]) -> None:
        super().__init__(config)
        self._service, self._about = service, about

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer requests, and tell the address."""
        await super().startup(sockets)
        for line in self._about:
            print(f"pellucid: {line}", file=sys.stderr, flush=True)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Begin to stop; at a second signal, wait for nothing more."""
        self._service.is_stopping = True
        self.force_exit, self.should_exit = self.should_exit, True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no new connection, answer what comes on those that were made, and close each after that."""
        made = list[socket.socket]()  # but not accepted yet
        for listening in sockets or ():
            with contextlib.suppress(OSError):  # no more are waiting, or no more files are allowed
                while True:
                    made.append(listening.accept()[0])
        for server in self.servers:
            server.close()
        headers = [*self.server_state.default_headers, (b"connection", b"close")]
        self.server_state.default_headers = headers
        for connection in self.server_state.connections:
            if isinstance(connection, Protocol) and connection.cycle is not None:
                connection.cycle.default_headers = headers
        state = dict(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)
        for each in made:
            each.setblocking(False)
            await asyncio.get_running_loop().connect_accepted_socket(partial(Protocol, **state), each)
        await asyncio.sleep(LAST)
        await super().shutdown(sockets)


class Line(logging.Formatter):
    """A line of the log: a JSON object. Of an error it tells the kind and where it happened, and of a message
    the first line: the rest may contain a text."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        said = record.msg if isinstance(record.msg, dict) else {"message": record.getMessage().split("\n")[0]}
        if record.exc_info and (error := record.exc_info[1]):
            frames = traceback.extract_tb(error.__traceback__)[-5:]
            where = [f"{frame.filename}:{frame.lineno}" for frame in frames]
            said = {**said, "error": type(error).__name__, "where": where}
        return json.dumps({"time": record.created, **said})


def bind(host: str, port: int) -> socket.socket:
    """Return a socket with this address, which does not listen yet; raise an error if it cannot be had."""
    if not host:  # a variable of the environment that is not set; the system would take it for all addresses
        raise PellucidError("--host '' names no address. Give 127.0.0.1, or 0.0.0.0 for all of this machine.")
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    if os.name == "posix":  # elsewhere this would allow two servers at one address
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        return bound
    except OverflowError:
        bound.close()
        raise PellucidError(f"--port {port} must be a whole number from 0 to 65535.") from None
    except OSError as error:
        bound.close()
        number = error.errno or 0  # negative if the name is not known
        reason = os.strerror(number) if number > 0 else error.strerror
        raise PellucidError(f"{host}:{port}: {reason}. Choose another --host or --port.") from error


def run(service: Service, bound: socket.socket, about: Sequence[str]) -> None:
    """Answer requests until a signal, then finish those that were accepted. about: see `Server`."""
    config = uvicorn.Config(
        make_app(service),
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # anybody could write one, and be another client
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=int(service.limits.seconds) + 1,
    )
    _log()
    warnings.simplefilter("ignore")  # some quote what a model does not know
    sys.setswitchinterval(SWITCH)
    collect()
    asyncio.run(_run(service, Server(config, service, about), bound))
    service.close()


def _log() -> None:
    """Write the log to standard error."""
    shown = logging.StreamHandler()
    shown.setFormatter(Line())
    # Where there are no more files for connections, asyncio says so thousands of times a second.
    shown.addFilter(lambda record: "out of system resource" not in record.getMessage())
    logging.getLogger("pellucid").handlers, logging.getLogger().handlers = [], [shown]


def collect() -> None:
    """Free what is not used, and let Python's collector not look at the rest again: to do so takes 70 ms, in
    which nobody is answered."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


async def _run(service: Service, server: Server, bound: socket.socket) -> None:
    wanted = asyncio.Event()
    reloading = asyncio.create_task(_reload(service, wanted))
    if hasattr(signal, "SIGHUP"):
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, wanted.set)
    await server.serve(sockets=[bound])  # obeys signals, then listens
    reloading.cancel()


async def _reload(service: Service, wanted: asyncio.Event) -> None:
    while await wanted.wait():
        wanted.clear()
        try:
            await service.reload()
            collect()
            LOG.info("the models were loaded again.")
        except Exception as error:  # whatever a new model lacks, the present one goes on
            LOG.error("the models were not loaded again, and the present ones go on: %s", error)

"""Run the application in uvicorn until a signal: SIGTERM and Ctrl-C finish what was accepted, SIGHUP loads
the models again."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from pellucid.errors import PellucidError
from pellucid.serve.app import make_app
from pellucid.serve.service import Service

LOG = logging.getLogger("pellucid")
SWITCH = (
    5e-4  # seconds, after which a thread lets another run Python: each step of a batch waits several times
)
IDLE = 60  # seconds, for which a connection is kept without a request
LAST = 0.3  # seconds, in which a last request may arrive on each connection
HEAD = 10.0  # seconds, in which the head of a request must arrive


class Protocol(H11Protocol):
    """A connection that is closed if the head of a request arrives too slowly."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what arrived. Unless a request is being answered now, wait for one."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        elif self._timer is None:
            self._wait()

    def shutdown(self) -> None:
        """Close the connection, but read a request that is on its way, and finish one that was read."""
        is_idle = self.cycle is None or self.cycle.response_complete
        self.loop.call_later(LAST if is_idle else 0, super().shutdown)

    def _wait(self) -> None:
        self._timer = self.loop.call_later(HEAD, self.transport.close)


class Server(uvicorn.Server):
    """Uvicorn without its own handling of signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals as they are."""
        yield


def listen(host: str, port: int) -> socket.socket:
    """Return a socket at this address; raise an error if that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        number = error.errno or 0  # negative if the name is not known
        reason = os.strerror(number) if number > 0 else error.strerror
        raise PellucidError(f"{host}:{port}: {reason}. Choose another --host or --port.") from error


def run(service: Service, listening: socket.socket) -> None:
    """Answer requests until a signal, then finish those that were accepted."""
    config = uvicorn.Config(
        make_app(service),
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=int(service.limits.seconds) + 1,
    )
    sys.setswitchinterval(SWITCH)
    asyncio.run(_run(service, Server(config), listening))
    service.close()


async def _run(service: Service, server: Server, listening: socket.socket) -> None:
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()

    def stop() -> None:
        service.is_stopping = True
        server.force_exit, server.should_exit = server.should_exit, True

    def reload() -> None:
        tasks.add(asyncio.create_task(_reload(service)))

    handlers = {"SIGTERM": stop, "SIGINT": stop, "SIGHUP": reload}
    for name, handle in handlers.items():
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_, handle=handle: loop.call_soon_threadsafe(handle))
    await server.serve(sockets=[listening])


async def _reload(service: Service) -> None:
    try:
        await service.reload()
        LOG.info("the models were loaded again.")
    except (PellucidError, OSError) as error:
        LOG.error("the models were not loaded again, and the present ones go on: %s", error)

"""Worker processes that each compute a part of a step's gradient, so that cores do not wait for each other.

Threads inside an operation wait for each other hundreds of times in a step, processes only once. Weights and
gradients lie in shared memory, so only batches and losses are sent.
"""

import itertools
import mmap
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection, Pipe
from typing import Any

import torch
from torch import Tensor

from pellucid.config.schema import ModelConfig, TrainingConfig
from pellucid.data.batch import Batch
from pellucid.errors import PellucidError, Setting, is_out_of_memory
from pellucid.learning.freezing import freeze
from pellucid.learning.loss import add_gradient, loss_of
from pellucid.learning.memory import TRIM_EVERY, trim_heap
from pellucid.model import Transformer

# Signals are for the training alone to answer: a worker ends when its connection does.
PROGRAM = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
PROGRAM += "from pellucid.learning.workers import serve; serve()"
SHARED_MEMORY = "/dev/shm"  # a folder in memory, where Linux has it
MOST = 4  # processes: more have too little of a batch each, and each needs memory of its own


class Workers:
    """Processes that compute gradients beside this process, each with as many threads as this one."""

    def __init__(self, model: Transformer, training: TrainingConfig, threads: int) -> None:
        self._model, self._how = model, (training.label_smoothing, training.consistency)
        self._seed, self._seeds = training.seed, random.Random(training.seed)
        # On a CPU, where a child can be handed open files.
        can_share = next(model.parameters()).device.type == "cpu" and sys.platform != "win32"
        count = min(MOST, threads) - 1 if can_share else 0
        self.threads, self._of_all = threads // (count + 1), threads
        self._processes: list[subprocess.Popen[bytes]] = []
        self._connections: list[Connection] = []
        self._gradients: list[list[Tensor]] = []
        if not count:
            return
        parameters = list(model.parameters())
        folders = [each for each in sys.path if isinstance(each, str)]  # not those of the working folder
        program = f"import sys; sys.path[:] = {folders!r}; {PROGRAM}"
        size = (1 + count) * sum(each.numel() * each.element_size() for each in parameters)
        # In a container it may be small, and what does not fit there is a bus error.
        fits = os.path.isdir(SHARED_MEMORY) and shutil.disk_usage(SHARED_MEMORY).free > size
        with tempfile.TemporaryFile(dir=SHARED_MEMORY if fits else None) as memory:
            memory.truncate(size)
            weights, *self._gradients = shared_tensors(memory.fileno(), parameters)
            for parameter, weight in zip(parameters, weights, strict=True):
                parameter.data = weight.copy_(parameter.data)
            for number in range(count):
                ours, theirs = Pipe()
                handles = theirs.fileno(), memory.fileno()
                arguments = [sys.executable, "-c", program, *map(str, handles), str(number)]
                # A session of its own: Ctrl-C stops the training, which then ends its workers.
                process = subprocess.Popen(arguments, pass_fds=handles, start_new_session=True)
                self._processes.append(process)
                self._connections.append(ours)
                theirs.close()
        dtype = str(parameters[0].dtype).removeprefix("torch.")
        self._send(asdict(model.config), dtype, self._how, self.threads, training.frozen)

    def begin(self, step: int) -> None:
        """Seed the workers' dropout from the training's seed and the step, so that a resumed training draws
        the same random numbers."""
        self._seeds = random.Random(f"{self._seed} {step}")

    def add(self, batch: Batch, tokens: int, is_last: bool) -> tuple[float, float]:
        """Compute the gradient of a batch, and add it to the sum; each process takes some of the rows. Return
        the batch's smoothed and plain loss. Raise MemoryError if memory is full in a worker. is_last: whether
        it completes the step, which does not matter here."""
        count = min(1 + len(self._connections), len(batch.origins))
        own, *parts = (batch.rows(slice(first, None, count)) for first in range(count))
        busy = self._connections[: len(parts)]
        for connection, part in zip(busy, parts, strict=True):
            arrays = {name: each.numpy() for name, each in vars(part).items() if isinstance(each, Tensor)}
            _send(connection, ("add", arrays, tokens, self._seeds.getrandbits(62)))
        try:
            if busy:
                torch.set_num_threads(self.threads)  # the other cores are the workers'
            losses = add_gradient(loss_of(self._model, own, *self._how), tokens)
        finally:
            if busy:
                torch.set_num_threads(self._of_all)
            answers = [self._answer(connection) for connection in busy]
        if None in answers:
            raise MemoryError
        smoothed, plain = (sum(each) for each in zip(losses, *answers, strict=True))
        return smoothed, plain

    def collect(self) -> list[list[Tensor]]:
        """Return the summed gradients of each worker; the workers start new sums from zero."""
        self._send("collect")
        for connection in self._connections:
            self._answer(connection)
        return self._gradients

    def close(self) -> None:
        """Stop the processes."""
        for connection in self._connections:
            connection.close()
        for process in self._processes:
            process.wait()
        self._connections, self._processes = [], []

    def _send(self, *message: Any) -> None:
        for connection in self._connections:
            _send(connection, message)

    def _answer(self, connection: Connection) -> Any:
        try:
            return connection.recv()
        except (EOFError, ConnectionError):
            raise PellucidError(
                "a worker process of the training has ended: something stopped it, perhaps because memory "
                "was full. Resume from the last checkpoint with {}; with [training] threads = 1 and {} no "
                "worker process is needed.",
                Setting("resume", True),
                Setting("accept", ("training.threads",)),
            ) from None


def shared_tensors(file: int, like: Sequence[Tensor]) -> list[list[Tensor]]:
    """Return tensors with the shapes of `like` that are stored in an open file, as many sets as fit into the
    file. Processes that open the same file share them."""
    numbers = [each.numel() for each in like]
    whole = torch.frombuffer(mmap.mmap(file, 0), dtype=like[0].dtype)
    return [
        [part.view(each.shape) for part, each in zip(copy.split(numbers), like, strict=True)]
        for copy in whole[: len(whole) // sum(numbers) * sum(numbers)].split(sum(numbers))
    ]


def _send(connection: Connection, message: Any) -> None:
    with suppress(BrokenPipeError):  # the answer says what has become of the process
        connection.send(message)


def serve() -> None:
    """Compute gradients until the training closes the connection. This is the program of a worker process."""
    handle, memory, number = map(int, sys.argv[1:])
    connection = Connection(handle)
    config, dtype, how, threads, frozen = connection.recv()
    torch.set_num_threads(threads)
    model = Transformer(ModelConfig(**config)).to(getattr(torch, dtype)).train()
    freeze(model, frozen)
    parameters = list(model.parameters())
    weights, *gradients = shared_tensors(memory, parameters)
    for parameter, weight in zip(parameters, weights, strict=True):
        parameter.data = weight
    with suppress(EOFError, ConnectionError):
        for number_of_task in itertools.count():
            if number_of_task % (2 * TRIM_EVERY) == 0:  # a step has two tasks
                trim_heap()
            task, *given = connection.recv()
            if task == "add":
                connection.send(_add(model, how, *given))
                continue
            for parameter, gradient in zip(parameters, gradients[number], strict=True):
                if parameter.requires_grad:
                    gradient.zero_() if parameter.grad is None else gradient.copy_(parameter.grad)
            model.zero_grad(set_to_none=True)
            connection.send(None)


def _add(
    model: Transformer, how: tuple[float, float], arrays: dict[str, Any], tokens: int, seed: int
) -> tuple[float, float] | None:
    """Add the gradient of a part of a batch; return its losses, or None if memory is full."""
    torch.manual_seed(seed)
    batch = Batch(**{name: torch.from_numpy(each) for name, each in arrays.items()}, origins=())
    try:
        return add_gradient(loss_of(model, batch, *how), tokens)
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
    return None

"""A process of its own that trains, to be signalled and killed: it forks a child for each line that it reads.

Python and torch are loaded once. Each child writes `step N` for each step, and `ended` with how it ended.
"""

import os
import sys
import time
from pathlib import Path

import sacrebleu  # noqa: F401 - loaded late by a training, so loaded here before the forks
import torch
import torch._dynamo

import pellucid
from pellucid.learning.stop import stop_on_signal


def child(config: str, out: str, sleep_at: int) -> str:
    """Trains to the end, or to a signal; at one step the loop sleeps, so that signals find it there."""
    try:
        with stop_on_signal():  # as the command does: a signal counts between two steps too
            for step in pellucid.training(config, out, resume=Path(out).exists()):
                print("step", step.number, flush=True)
                if step.number == sleep_at:
                    time.sleep(60)
    except pellucid.PellucidError as error:
        return f"{error.exit_code} {error}"
    except KeyboardInterrupt:
        return "KeyboardInterrupt"
    return "0"


torch.set_num_threads(1)
os.fsync = lambda fd: None  # what a killed process wrote, the system has: nothing waits for a disk
for line in sys.stdin:
    config, out, sleep_at = line.rstrip("\n").split("\t")
    process = os.fork()
    if process == 0:
        print("ended", child(config, out, int(sleep_at)), flush=True)
        os._exit(0)
    print("child", process, flush=True)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        print("ended", "killed by", os.WTERMSIG(status), flush=True)

"""What every test starts from: one thread, so that processes can run side by side and sums have one order."""

import os
from pathlib import Path

import pytest
import torch
import toy

from pellucid.train.run import train

torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"  # the same in processes that tests start


@pytest.fixture(scope="session")
def toy_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small model that has learned, not very well, to reverse letters; read it only."""
    folder = tmp_path_factory.mktemp("toy")
    return train(toy.write(folder), folder / "model", device="cpu")

"""What every test starts from: one thread, so that processes can run side by side and sums have one order."""

import os

import torch

torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"  # the same in processes that tests start

"""The measurement of training on a GPU, tried without one: every path of the script runs."""

import sys
from pathlib import Path

import pytest


def test_the_script_runs_on_a_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    from benchmarks import decode_engines, report, train_gpu

    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(decode_engines, "VOCABULARY", 60)
    monkeypatch.setattr(train_gpu, "PAIRS", 200)
    options = "--device cpu --sizes tiny --tokens 128,256 --rounds 1 --precision fp32"
    monkeypatch.setattr(sys, "argv", ["train_gpu", *options.split()])
    train_gpu.main()
    rows = (tmp_path / "train_gpu.md").read_text(encoding="utf-8").splitlines()
    assert sum(row.startswith("| tiny |") for row in rows) == 2 * 2

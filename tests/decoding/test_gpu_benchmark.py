"""The measurement on a GPU, tried without one: every path of the script runs, and its rows are whole."""

import sys
from pathlib import Path

import pytest


def test_the_script_runs_on_a_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    from benchmarks import decode_engines, decode_gpu, report

    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(decode_engines, "VOCABULARY", 60)
    monkeypatch.setattr(decode_engines, "LENGTH", 3)
    options = "--device cpu --sizes tiny --sentences 1,2 --beams 1,4 --rounds 1"
    monkeypatch.setattr(sys, "argv", ["decode_gpu", *options.split()])
    decode_gpu.main()
    rows = (tmp_path / "decode_gpu.md").read_text(encoding="utf-8").splitlines()
    assert sum(row.startswith("| tiny |") for row in rows) == 2 * 2 * 3

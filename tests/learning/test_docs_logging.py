"""Each tracker of docs/logging.md follows a training, where it is installed."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import short_runs
from documents import ROOT

from pellucid.config.toml_file import to_toml

PAGE = (ROOT / "docs" / "logging.md").read_text("utf-8")
CODE = re.findall(r"## .*?```python\n(.*?)```", PAGE, re.DOTALL)
NAMES = ["tensorboard", "wandb", "mlflow", "trackio"]


@pytest.mark.slow  # some take long to be imported
@pytest.mark.parametrize(("name", "code"), list(zip(NAMES, CODE, strict=True)), ids=NAMES)
def test_a_tracker_follows_a_training(tmp_path: Path, name: str, code: str) -> None:
    if find_spec(name) is None:
        pytest.skip(f"needs {name}")
    assert len(code.splitlines()) <= 14 and name in code
    (tmp_path / "toy.toml").write_text(to_toml(short_runs.config(tmp_path / "data")), "utf-8")
    (tmp_path / "program.py").write_text(f'config = "toy.toml"\n{code}', "utf-8")
    places = {"HOME": str(tmp_path), "TRACKIO_DIR": str(tmp_path / "trackio"), "WANDB_DIR": str(tmp_path)}
    places |= {"MLFLOW_TRACKING_URI": f"file://{tmp_path}/mlruns", "MLFLOW_ALLOW_FILE_STORE": "true"}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=os.environ | places, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    kept = [path for path in files if not path.is_relative_to(tmp_path / "runs" / "mine")]
    assert any(
        b"gradient_norm" in path.read_bytes() + path.name.encode() for path in kept if path.suffix != ".py"
    )

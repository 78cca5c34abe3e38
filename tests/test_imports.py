"""`import pellucid`: what it offers, what it costs, and where it works."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from network import NO_NETWORK

import pellucid

PUBLIC = (
    "Config DataConfig Explanation Hypothesis ModelConfig PellucidError Record Score Step Trace "
    "TrainingConfig Transformer Translation TranslationConfig Translator Update UsageError Validation "
    "VocabularyConfig __version__ attention average editing edits evaluate experiment find_leak "
    "find_nonfinite gradients load read_config trace trace_bytes train training"
)

# What only some calls need: slow to import, or an extra that may be absent.
LATER = ["matplotlib", "sacrebleu", "sacremoses", "torch._dynamo", "transformers"]


def run_python(code: str, folder: Path, **environment: str) -> str:
    """Standard output of a new process that runs `code` in `folder` and finds this repository's package."""
    root = str(Path(pellucid.__file__).parents[1])
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": root, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_public_names() -> None:
    assert " ".join(sorted(pellucid.__all__)) == PUBLIC


def test_every_public_name_exists_and_is_documented() -> None:
    for name in pellucid.__all__:
        assert name == "__version__" or getattr(pellucid, name).__doc__, f"pellucid.{name} has no docstring"


def test_import_stays_light(tmp_path: Path) -> None:
    code = """
import json, sys, torch
before = set(sys.modules)
import pellucid
print(json.dumps(sorted(set(sys.modules) - before)))
"""
    imported = json.loads(run_python(code, tmp_path))
    assert "pellucid" in imported
    assert [name for name in LATER if name in imported] == []


def test_import_needs_no_home_no_locale_and_no_network(tmp_path: Path) -> None:
    folder = tmp_path / "mon élève हिन्दी"
    folder.mkdir()
    code = NO_NETWORK + "import pellucid; print(pellucid.__version__)"
    nowhere = os.devnull + "/home"  # inside a file: not writable, for root neither
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    printed = run_python(code, folder, HOME=nowhere, XDG_CACHE_HOME=nowhere, **ascii_only)
    assert printed.strip() == pellucid.__version__


def test_the_network_guard_can_fail(tmp_path: Path) -> None:
    code = NO_NETWORK + "import socket; socket.getaddrinfo('localhost', 80)"
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 1 and "network: socket.getaddrinfo" in result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="asks GNU's OpenMP, which torch brings on Linux")
@pytest.mark.parametrize(("given", "spins"), [({}, 0), ({"OMP_WAIT_POLICY": "active"}, 30_000_000_000)])
def test_waiting_threads_sleep_unless_the_environment_says_otherwise(
    given: dict[str, str], spins: int, tmp_path: Path
) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_"))}
    root = str(Path(pellucid.__file__).parents[1])
    result = subprocess.run(
        [sys.executable, "-c", "import pellucid; pellucid.load"],
        env={**environment, "PYTHONPATH": root, "OMP_DISPLAY_ENV": "verbose", **given},
        capture_output=True,
        encoding="utf-8",
    )
    assert f"GOMP_SPINCOUNT = '{spins}'" in result.stderr


def test_a_type_checker_knows_every_option_of_a_training() -> None:
    for function in (pellucid.train, pellucid.training):
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds

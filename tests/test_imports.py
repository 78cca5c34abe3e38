"""`import pellucid`: what it offers, what it costs, and where it works."""

import inspect
import json
import os
import sys
from pathlib import Path

import pytest
from command import run_python
from network import NO_NETWORK

import pellucid

PUBLIC = (
    "Config DataConfig Difference Explanation Hypothesis ModelConfig Movie PellucidError Record Score Step "
    "Trace TrainingConfig Transformer Translation TranslationConfig Translator Update UsageError "
    "Validation VocabularyConfig __version__ attention average editing edits evaluate experiment find_leak "
    "find_nonfinite gradients load movie read_config significance trace train training"
)

# What only some calls need: slow to import, or an extra that may be absent.
LATER = ["matplotlib", "sacrebleu", "sacremoses", "torch._dynamo", "transformers"]


def printed(code: str, folder: Path, **environment: str) -> str:
    """What a new process that runs `code` prints; a warning is an error."""
    ended = run_python(folder, "-W", "error", "-c", code, **environment)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


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
    imported = json.loads(printed(code, tmp_path))
    assert "pellucid" in imported
    assert [name for name in LATER if name in imported] == []


def test_the_first_translation_loads_no_algebra(tmp_path: Path) -> None:
    """PyTorch loads sympy for random numbers on the meta device, which takes a second."""
    code = """
import sys, pellucid
for precision in ("auto", "int8"):
    pellucid.load("demo", precision=precision).translate("How are you", to="hi")
print("sympy" in sys.modules)
"""
    assert printed(code, tmp_path) == "False\n"


def test_import_needs_no_home_no_locale_and_no_network(tmp_path: Path) -> None:
    folder = tmp_path / "mon élève हिन्दी"
    folder.mkdir()
    code = NO_NETWORK + "import pellucid; print(pellucid.__version__)"
    nowhere = os.devnull + "/home"  # inside a file: not writable, for root neither
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    version = printed(code, folder, HOME=nowhere, XDG_CACHE_HOME=nowhere, **ascii_only)
    assert version.strip() == pellucid.__version__


def test_the_network_guard_can_fail(tmp_path: Path) -> None:
    code = NO_NETWORK + "import socket; socket.getaddrinfo('localhost', 80)"
    result = run_python(tmp_path, "-c", code)
    assert result.returncode == 1 and "network: socket.getaddrinfo" in result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="asks GNU's OpenMP, which torch brings on Linux")
@pytest.mark.parametrize(("given", "spins"), [({}, 0), ({"OMP_WAIT_POLICY": "active"}, 30_000_000_000)])
def test_waiting_threads_sleep_unless_the_environment_says_otherwise(
    given: dict[str, str], spins: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith(("OMP_", "GOMP_"))]:
        monkeypatch.delenv(name)
    code = "import pellucid; pellucid.load"
    result = run_python(tmp_path, "-c", code, OMP_DISPLAY_ENV="verbose", **given)
    assert f"GOMP_SPINCOUNT = '{spins}'" in result.stderr


def test_a_type_checker_knows_every_option_of_a_training() -> None:
    for function in (pellucid.train, pellucid.training):
        kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds

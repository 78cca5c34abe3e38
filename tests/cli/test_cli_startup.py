"""How a command starts: without torch where it needs none, and Ctrl-C ends it quietly from the start."""

import json
from pathlib import Path

import pytest
from command import VERBS, run_python

# Command lines that need no torch, and their exit codes.
LIGHT = [
    (["--help"], 0),
    (["--version"], 0),
    ([], 2),
    (["--nope"], 2),
    (["nope"], 2),
    (["data", "--list"], 0),
    (["data", "nope"], 2),
    (["exercise", "--list"], 0),
    (["exercise"], 2),
    (["exercise", "masked-cells", "15", "--solve"], 2),
    (["example"], 2),
    (["example", "--list", "--verdicts", "004"], 2),
    (["example", "004-self", "--stage", "weights", "--claims"], 2),
    (["experiment"], 2),
    (["experiment", "heads", "demo", "--set", "steps"], 2),
    (["train", "nowhere.toml"], 2),
    (["train", "bad.toml"], 2),
    (["train", "good.toml", "--set", "training.step=3"], 2),
    (["train", "good.toml", "--set", "training.steps=many"], 2),
    (["train", "good.toml", "--set", "steps"], 2),
    (["train", "good.toml", "--accept", "steps"], 2),
    (["train", "good.toml", "--out", ""], 2),
]
LIGHT += [([verb, option], code) for verb in VERBS for option, code in (("--nope", 2), ("--help", 0))]

RUN_LIGHT = """
import contextlib, io, json, sys
from pellucid.cli import main

for argv, expected in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            code = main(argv)
        except SystemExit as stop:  # argparse's own
            code = stop.code
    heavy = [name for name in ("torch", "numpy") if name in sys.modules]
    assert (code, heavy) == (expected, []), (argv, code, heavy)
"""


def test_what_needs_no_torch_does_not_import_it(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[training]\nsteps = 0.5\n")
    (tmp_path / "good.toml").write_text('[data]\ntrain = "some.tsv"\n')
    ended = run_python(tmp_path, "-c", RUN_LIGHT, json.dumps(LIGHT))
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("module", ["argparse", "torch"])
@pytest.mark.parametrize(
    "start",
    ["from pellucid.cli import main; sys.exit(main())", "runpy.run_module('pellucid', None, '__main__')"],
)
def test_ctrl_c_during_an_import_is_quiet(tmp_path: Path, module: str, start: str) -> None:
    code = f"""
import runpy, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
sys.modules.pop("argparse", None)
{start}
"""
    ended = run_python(tmp_path, "-c", code, "experiment", "float16")
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "pellucid: interrupted.\n")

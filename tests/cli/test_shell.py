"""A shell's habits: completion in real shells, the page of the manual, the table of exit codes, JSON."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import TABLE, VERBS, Command

from pellucid import cli
from pellucid.cli import command
from pellucid.cli.manual import EXIT_CODES
from pellucid.data.catalog import CORPORA
from pellucid.translator import load

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
# What a shell runs to complete a line: {script} is our file, {words} are the words, {line} the line.
ASK = {
    "bash": 'source "{script}"; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); '
    '$(complete -p pellucid | sed "s/.*-F \\([^ ]*\\).*/\\1/"); printf "%s\\n" "${{COMPREPLY[@]}}"',
    "fish": 'source "{script}"; complete -C "{line}" | cut -f1',
}


def completed(shell: str, script: Path, line: str) -> set[str]:
    """What the shell offers for the last word of a line."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed here")
    asked = ASK[shell].format(script=script, words=line if line[-1] != " " else f'{line} ""', line=line)
    return set(subprocess.check_output([shell, "-c", asked], text=True, timeout=60).split())


@pytest.mark.parametrize("shell", ASK)
def test_a_shell_completes_verbs_and_options(shell: str, pellucid: Command, tmp_path: Path) -> None:
    """A verb by any beginning of it, and the options of verbs drawn at random."""
    pytest.importorskip("shtab", reason="pellucid[shell] installs it")
    script = tmp_path / f"pellucid.{shell}"
    script.write_text(pellucid("completion", shell).out, encoding="utf-8")
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    draw = random.Random(seed)
    for verb in draw.sample(VERBS, 4):
        begun = verb[: draw.randint(1, len(verb))]
        wanted = {each for each in VERBS if each.startswith(begun)}
        assert completed(shell, script, f"pellucid {begun}") == wanted
        options = {each.split()[0] for each in TABLE[verb]["options"] if each.startswith("--")}
        assert completed(shell, script, f"pellucid {verb} --") == options | {"--help"}, verb


def test_zsh_reads_its_script(pellucid: Command, tmp_path: Path) -> None:
    pytest.importorskip("shtab", reason="pellucid[shell] installs it")
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed here")
    (tmp_path / "_pellucid").write_text(pellucid("completion", "zsh").out, encoding="utf-8")
    asked = f'fpath=("{tmp_path}" $fpath); autoload -U compinit; compinit -u -d "{tmp_path}/dump"; '
    asked += 'autoload +X _pellucid && print -r -- "${_comps[pellucid]}"'
    assert subprocess.check_output(["zsh", "-f", "-c", asked], text=True, timeout=60) == "_pellucid\n"


def test_the_manual_has_every_verb_and_option(pellucid: Command, tmp_path: Path) -> None:
    page = tmp_path / "pellucid.1"
    page.write_text(pellucid("completion", "man").out, encoding="utf-8")
    if not shutil.which("groff"):
        pytest.skip("groff is not installed here")
    shown = subprocess.run(
        ["groff", "-man", "-ww", "-K", "utf8", "-T", "utf8", "-P", "-cbou", "-rLL=400n", str(page)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stderr == ""
    text = shown.stdout.replace("−", "-").replace("‐", "-")
    for verb in VERBS:
        section = text.partition(f"   pellucid {verb}\n")[2].partition("\n   pellucid ")[0]
        options = [each for each in TABLE[verb]["options"] if each.startswith("--")]
        assert section and [each for each in options if each.split()[0] not in section] == [], verb


def test_the_exit_codes_are_those_of_the_table(pellucid: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", DOCS.read_text("utf-8"), re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == EXIT_CODES
    assert [pellucid(*each).code for each in (["data", "--list"], ["inspect", "nowhere"], ["--nope"])] == [
        0,
        1,
        2,
    ]

    def stopped(*signal: int) -> int:
        def main(_: object) -> int:
            raise KeyboardInterrupt(*signal)

        monkeypatch.setattr(command, "main", main)
        return cli.main([])

    assert [stopped(1), stopped(), stopped(15)] == [129, 130, 143]


def test_inspect_tells_a_program_the_same(pellucid: Command, toy_model: Path) -> None:
    told = json.loads(pellucid("inspect", toy_model, "--json").out)
    assert told["folder"] == str(toy_model) and told["hashes_right"] == 3
    assert told["vocabulary"]["source_size"] == 20 and told["parameters"]["embedding"] == 20 * 32
    assert told["tensors"]["decoder.layers.0.cross_attention.weights"] == "BHLM"
    assert told["configuration"]["training"]["steps"] == 120


def test_compare_and_data_tell_a_program_the_same(pellucid: Command) -> None:
    bank = ("bank", "The boat is near the bank.", "The money is at the bank.")
    told = json.loads(pellucid("compare", "demo", *bank, "--to", "fr", "--json").out)
    comparison = load("demo").compare(*bank, to="fr")
    assert [each["cosine"] for each in told["stages"]] == [each.cosine for each in comparison.stages]
    assert "rive" in told["renderings"][0]["words"]
    corpora = json.loads(pellucid("data", "--list", "--json").out)
    assert [*corpora] == [*CORPORA] and corpora["multi30k-en-de"]["files"][0]["sha256"]


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_a_long_work_shows_its_end_on_a_terminal(tmp_path: Path) -> None:
    """The bar is on the terminal of standard error, and nothing of it on standard output."""
    import pty

    for name, line in (("en", "I like cats"), ("es", "Me gustan los gatos")):
        (tmp_path / name).write_text(f"{line}\n" * 20)
    ours, theirs = pty.openpty()
    for verb in ("score", "check"):
        command = [
            sys.executable,
            "-m",
            "pellucid",
            verb,
            "demo",
            "--to",
            "es",
            "--source",
            "en",
            "--target",
            "es",
        ]
        ran = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, check=True)
        told = os.read(ours, 65_536).decode()
        assert "scoring" in told and "100%" in told and b"scoring" not in ran.stdout, told

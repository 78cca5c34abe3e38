"""What a release says of itself, in several files, is the same in all; `make dist` checks the packages."""

import re
import tomllib
from pathlib import Path

import pytest

from pellucid import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.mark.parametrize(
    ("file", "line"), [("CITATION.cff", "version: {}"), ("recipe/recipe.yaml", '  version: "{}"')]
)
def test_the_version_is_the_same_everywhere(file: str, line: str) -> None:
    assert line.format(__version__) in (ROOT / file).read_text("utf-8").splitlines()


def test_conda_installs_what_pip_does() -> None:
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text("utf-8")
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    names = {"torch": "pytorch", "sentencepiece": "sentencepiece-python"}
    asked = [each.partition(">=") for each in PROJECT["dependencies"]]
    wanted = [
        f"python {PROJECT['requires-python']}",
        *(f"{names.get(name, name)} >={least}" for name, _, least in asked),
    ]
    assert [line.removeprefix("    - ") for line in run.splitlines()] == wanted
    (compiler,) = re.findall(r"zig ==(\S+)", recipe)
    assert f"ziglang=={compiler}" in (ROOT / "constraints.txt").read_text("utf-8")


def test_the_pythons_that_are_named_are_those_that_are_tried() -> None:
    named = re.findall(r":: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    assert " ".join(f"python{each}" for each in named) in workflow
    assert f"({', '.join(map(repr, named))})".replace("'", '"') in (
        ROOT / "tools/dist/__main__.py"
    ).read_text("utf-8")


def test_a_commit_is_checked_as_make_check_does() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8").partition("\ncheck:")[2].partition("\n\n")[0]
    commands = re.findall(r"\$\(BIN\)/(.*)", makefile)
    hooks = re.findall(r"entry: \.venv/bin/([^,]+)", (ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    assert [each.removesuffix(" pellucid/page/script") for each in commands] == hooks


def test_links_of_the_description_lead_to_the_files_of_the_version() -> None:
    pytest.importorskip("hatchling")
    from hatch_build import whole_links

    text = "[a](docs/a.md#b) [![c](docs/c.png)](docs/d.html) [e](https://e.org) [f](#g)"
    assert whole_links(text, "https://host/x", "v1") == (
        "[a](https://host/x/blob/v1/docs/a.md#b) [![c](https://host/x/raw/v1/docs/c.png)]"
        "(https://host/x/blob/v1/docs/d.html) [e](https://e.org) [f](#g)"
    )


@pytest.mark.slow
def test_foreign_kernels_are_refused(tmp_path: Path) -> None:
    """Kernels of another system, of another processor, and of one kind alone."""
    pytest.importorskip("lief", reason="make dist installs it")
    from hatch_build import SOURCES, compile_kernels, compile_kind, zig
    from tools.dist.building import Refused
    from tools.dist.contents import check_kernels

    compile_kernels("linux-aarch64", tmp_path / "kernels.bin")
    library = (tmp_path / "kernels.bin").read_bytes()
    assert check_kernels(library, "linux-aarch64").startswith("no symbol newer than glibc 2.")
    for target, what in (("linux-x86_64", "for AARCH64"), ("macos-arm64", "format ELF")):
        with pytest.raises(Refused, match=f"{target}: the kernels are .*{what}"):
            check_kernels(library, target)
    with pytest.raises(Refused, match="no library"):
        check_kernels(library[: len(library) // 2][100:], "linux-aarch64")
    one = compile_kind("linux-aarch64", SOURCES[0], "neon", str(tmp_path))
    zig(["-target", "aarch64-linux-gnu.2.34", "-shared", one, "-o", f"{tmp_path}/one"], str(tmp_path))
    with pytest.raises(Refused, match=r"lack checksum, neon_add_norm, .*, plain_begin, "):
        check_kernels((tmp_path / "one").read_bytes(), "linux-aarch64")

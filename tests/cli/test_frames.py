"""How deep a command is: our own functions between the command and the first matrix product."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch.nn.functional as F
import toy
from command import Command

import pellucid as package
from pellucid.decoding import native

ROOT = str(Path(package.__file__).parent)


def own_frames(frame: Any) -> list[str]:
    """The functions of the package that are at work, the innermost first."""
    names = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(ROOT):
            names.append(f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}")
        frame = frame.f_back
    return names


@pytest.mark.parametrize(
    ("command", "most"), [("translate", 12), ("train", 14), ("explain", 14)], ids=lambda each: str(each)
)
def test_few_functions_lie_between_a_command_and_the_first_matrix_product(
    command: str, most: int, pellucid: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv: dict[str, tuple[object, ...]] = {
        "translate": ("translate", "demo", "--to", "es"),
        "train": ("train", toy.write(tmp_path), "--out", tmp_path / "run", "--set", "training.steps=1"),
        "explain": ("explain", "demo", "How are you", "--to", "es"),
    }
    seen: list[list[str]] = []
    linear: Callable[..., Any] = F.linear

    def watched(*arguments: Any) -> Any:
        seen.append(own_frames(sys._getframe(1)))
        return linear(*arguments)

    encode = native.State.encode

    def encode_by_the_engine(*arguments: Any) -> Any:  # its products are inside the kernels
        seen.append(["native.encode", *own_frames(sys._getframe(1))])
        return encode(*arguments)

    monkeypatch.setattr(F, "linear", watched)
    monkeypatch.setattr(native.State, "encode", encode_by_the_engine)
    assert pellucid(*argv[command], stdin=b"How are you\n").code == 0
    assert len(seen[0]) <= most, seen[0]

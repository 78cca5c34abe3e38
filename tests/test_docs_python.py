"""docs/python.md: its code runs, and it names every public name and option."""

import re
import warnings
from pathlib import Path

import pytest

import pellucid
from pellucid.translate.options import TranslationOptions

PAGE = (Path(__file__).parent.parent / "docs" / "python.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for block in BLOCKS:
            exec(block, names)
    translator = names["translator"]
    assert repr(translator) in PAGE
    assert isinstance(names["config"], pellucid.Config)
    assert repr(pellucid.load(tmp_path / "runs" / "reversed")) == "<Translator 4+4 layers, width 128>"


def test_every_public_name_and_option_is_named() -> None:
    assert [name for name in pellucid.__all__ if name != "__version__" and name not in PAGE] == []
    for option in TranslationOptions.__annotations__:
        assert f"| `{option}` |" in PAGE
        assert f"        {option}: " in (pellucid.Translator.translate.__doc__ or ""), option


def test_both_front_pages_lead_here() -> None:
    root = Path(__file__).parent.parent
    assert "(docs/python.md)" in (root / "README.md").read_text("utf-8")
    assert "(python.md)" in (root / "docs" / "README.md").read_text("utf-8")

"""docs/configuration.md lists every setting of every section, with its default, and nothing else."""

import dataclasses
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from documents import table_rows

from pellucid.config.schema import PRESETS, Config
from pellucid.config.settings import plain

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")


def rows(title: str, columns: int) -> list[list[str]]:
    """The rows of the tables under a heading that have so many columns, without the tables' heads."""
    part = next(each for each in re.split(r"^## ", PAGE, flags=re.MULTILINE) if each.startswith(title))
    return [row for row in table_rows(part) if len(row) == columns and row[0].startswith("`")]


@pytest.mark.parametrize("section", dataclasses.fields(Config), ids=lambda section: section.name)
def test_every_setting_with_its_default_and_choices(section: dataclasses.Field[Any]) -> None:
    settings = dataclasses.fields(getattr(Config(), section.name))
    found = rows(f"[{section.name}]", 3)
    assert [name for name, _, _ in found] == [f"`{setting.name}`" for setting in settings]
    for (name, default, meaning), setting in zip(found, settings, strict=True):
        expected = plain(setting.default)
        stated = None if default == "unset" else tomllib.loads(f"value = {default.strip('`')}")["value"]
        assert (stated, type(stated)) == (expected, type(expected)), name
        assert len(meaning) > 5, name
        for choice in setting.metadata.get("choices", ()):
            assert f'`"{choice}"`' in meaning, f"{name}: {choice}"


def test_every_preset() -> None:
    names = next(row[1:] for row in table_rows(PAGE) if row[0] == "preset")
    found = {
        name.strip("`"): dict(zip(names, map(float, row), strict=True)) for name, *row in rows("[model]", 7)
    }
    assert found == PRESETS

"""Which exercises and worked examples there are, read from their files: importing them would take torch."""

import ast
import tomllib
from importlib import resources
from typing import NamedTuple

FOLDER = resources.files("pellucid")


class Listed(NamedTuple):
    """A worked example in the list."""

    name: str
    about: str
    note: str
    lines: str


def exercises_by_chapter() -> dict[str, dict[str, str]]:
    """What each exercise is about, by its name, by chapter, in the order of the course."""
    found: dict[str, dict[str, str]] = {}
    for file in (FOLDER / "exercises").iterdir():
        if not file.name.endswith(".py"):
            continue
        body = ast.parse(file.read_text("utf-8")).body
        assigned = {ast.unparse(each.targets[0]): each.value for each in body if isinstance(each, ast.Assign)}
        if "CHAPTER" not in assigned:
            continue
        functions = {each.name: each for each in body if isinstance(each, ast.FunctionDef)}
        exercises = [name.id for name in ast.walk(assigned["EXERCISES"]) if isinstance(name, ast.Name)]
        found[ast.literal_eval(assigned["CHAPTER"])] = {
            name.replace("_", "-"): (ast.get_docstring(functions[name]) or "").partition("\n")[0].rstrip(".")
            for name in exercises
        }
    return dict(sorted(found.items()))


def worked_examples() -> list[Listed]:
    """The worked examples, those of parts of the model too, by their names."""
    folder = FOLDER / "worked" / "examples"
    files = [file for place in (folder, folder / "parts") for file in place.iterdir()]
    found = []
    for file in files:
        if file.name.endswith(".toml"):
            table = tomllib.loads(file.read_text("utf-8"))
            texts = [str(table.get(key, "")) for key in ("about", "note", "lines")]
            found.append(Listed(file.name.removesuffix(".toml"), *texts))
    return sorted(found)

"""The house: rooms without circles, few modules at the top, files and functions short enough to read."""

import ast
from pathlib import Path

import pellucid

PACKAGE = Path(pellucid.__file__).parent
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}
TREES = {name: ast.parse(path.read_text("utf-8")) for name, path in MODULES.items()}


def imports(name: str) -> set[str]:
    """Return the modules of ours that a module imports, for typing and inside functions too."""
    found = set()
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inside & set(MODULES) or {node.module}
    return found & set(MODULES) - {name}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Return what is left of a graph after taking away what imports nothing, again and again."""
    left = {name: set(arrows) for name, arrows in graph.items()}
    while free := {name for name, arrows in left.items() if not arrows & set(left)}:
        left = {name: arrows for name, arrows in left.items() if name not in free}
    return sorted(left)


def test_the_search_for_circles_finds_one() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["a", "b", "c"]


def test_no_module_imports_itself_through_others() -> None:
    assert circle({name: imports(name) for name in MODULES}) == []


def test_no_room_imports_itself_through_others() -> None:
    rooms: dict[str, set[str]] = {}
    for name in MODULES:
        if name != "pellucid":  # the list of public names, which imports each when it is first used
            room = name.split(".")[1]
            rooms.setdefault(room, set()).update(each.split(".")[1] for each in imports(name) if "." in each)
    assert circle({room: arrows - {room} for room, arrows in rooms.items()}) == []


def test_few_modules_lie_at_the_top() -> None:
    assert len(list(PACKAGE.glob("*.py"))) - 1 <= 8


def test_files_and_functions_are_short() -> None:
    long_files = [str(path) for path in MODULES.values() if len(path.read_text("utf-8").splitlines()) > 300]
    assert [Path(path).name for path in long_files] in ([], ["model.py"])
    functions = [
        (name, node.name, (node.end_lineno or 0) - node.lineno + 1)
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]
    assert [each for each in functions if each[2] > 40] == []


def test_an_import_inside_a_function_has_a_reason() -> None:
    """The command line has one: its start-up time. So have packages that are optional or slow to import."""
    late = {"matplotlib", "sacrebleu", "sacremoses", "rich", "transformers", "ctranslate2", "onnx"}
    late |= {"py3langid", "comet", "huggingface_hub"}
    late |= {"pellucid.page.widget"}  # a subclass of anywidget's
    found = []
    for name, tree in TREES.items():
        if name.startswith(("pellucid.cli", "pellucid.__main__")):
            continue
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Import | ast.ImportFrom):
                        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                        names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
                        if not all({each, each.split(".")[0]} & late for each in names):
                            found.append((name, function.name, names))
    assert found == []

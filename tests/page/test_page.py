"""The page as a file: what stands in it before its script runs; nothing in it can run or call home."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tiny import HOSTILE, translator

from pellucid.cli import main
from pellucid.explanation import Explanation
from pellucid.page import bundle, document, worked_document


class Page(HTMLParser):
    """What the tests ask of a page: its elements with their attributes, and the text in the last of each."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {}
        self._inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        self.elements.append((tag, named))
        data = tag == "script" and "type" in named
        self._inside = f"#{named['id']}" if data else tag
        self.text[self._inside] = ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        self.text[self._inside] = self.text.get(self._inside, "") + data

    @property
    def scripts(self) -> list[dict[str, str | None]]:
        """What can run: the others only hold data."""
        return [
            attributes for tag, attributes in self.elements if tag == "script" and "type" not in attributes
        ]


def html_of(explanation: Explanation, folder: Path, beside: Explanation | None = None) -> str:
    explanation.to_html(folder / "page.html", beside)
    return (folder / "page.html").read_bytes().decode("utf-8")


@pytest.fixture(scope="module")
def html(hindi: Explanation, tmp_path_factory: pytest.TempPathFactory) -> str:
    return html_of(hindi, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_the_sentence_the_steps_and_the_attention_are_there_without_a_script(
    hindi: Explanation, html: str
) -> None:
    static = html[: html.index("<script")]
    for step in hindi.steps:
        for value in (step.probability, step.loss, *(p for _, p in step.alternatives)):
            assert f"{value:z.4f}" in static
    for share in hindi.attention_to_source().flatten().tolist():
        assert f"{share:.4f}" in static
    assert static.index("<h1") < static.index("आप कैसे हैं ?</bdi>") < static.index("Step by step")
    assert static.index("Step by step") < static.index("Where each step looked")
    total = sum(step.loss for step in hindi.steps)
    assert f"add up to {total:.4f}" in static


def test_nothing_comes_from_elsewhere_and_one_script_runs(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    outside = {"src", "srcset", "href", "style", "data", "action", "formaction"}
    assert not [tag for tag, attributes in page.elements if outside & set(attributes)]
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert len(page.scripts) == 1 and page.scripts[0] == {}
    refused = {"iframe", "object", "embed", "link", "base", "img"}
    assert not refused & {tag for tag, _ in page.elements}


def test_the_policy_allows_this_style_and_this_script_alone(page: Page) -> None:
    policy = next(attributes["content"] for _, attributes in page.elements if "http-equiv" in attributes)
    assert policy is not None and policy.startswith("default-src 'none'; ")
    assert "form-action 'none'" in policy, "the form's script answers it: nothing is sent"
    for kind in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.text[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy


@pytest.mark.parametrize("kind", ["word", "unigram"])
def test_text_that_means_harm_is_text(kind: str, tmp_path: Path) -> None:
    source = f'{HOSTILE} "a" & b'
    explanation = translator(kind).explain(source, to="es", target="<b onclick='x'>")
    page = Page(html_of(explanation, tmp_path))
    tags = [tag for tag, _ in page.elements]
    assert len(page.scripts) == tags.count("title") == 1 and "b" not in tags
    assert not any("onclick" in attributes for _, attributes in page.elements)
    assert HOSTILE in page.text["title"] and "alert(1)" not in page.text["script"]
    header = json.loads(page.text["#payload"])
    assert header["runs"][0]["text"] == source
    if kind == "word":
        assert header["runs"][0]["source"] == [">>es<<", HOSTILE, '"a"', "&", "b", "</s>"]


def test_what_no_page_can_hold_is_replaced(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="^sentence: the model does not know '�'"):
        explanation = translator("unigram").explain("cats\x00 \ud800\x1b", to="es", target="los")
    html = html_of(explanation, tmp_path)
    assert "cats� ��" in html and "\x00" not in html and "\x1b" not in html


FOLDER = Path(bundle.__file__).parent
MODULES = sorted(str(path.relative_to(FOLDER / "script")) for path in FOLDER.glob("script/**/*.js"))

SERVED = ("served/look_page.js", "served/translate_page.js")  # a server gives their modules one by one
WIDGET = "served/widget.js"  # around a page


def test_every_module_and_style_is_in_a_page() -> None:
    entries = (bundle.TRANSLATION_PAGE, bundle.NOTEBOOK_PAGE, bundle.EXAMPLE_PAGE, *SERVED)
    pages = [bundle.script(entry) for entry in entries]
    parts = [re.findall(r"^// =+ (\S+\.js) =+$", page, re.MULTILINE) for page in pages]
    assert sorted({name for page in parts for name in page} | {WIDGET}) == MODULES
    assert all(page.startswith('"use strict";\n// ') and "\nimport " not in page for page in pages)
    styles = {*document.STYLES, *worked_document.STYLES, "translate"}
    assert styles == {path.stem for path in FOLDER.glob("*.css")}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_says_its_idea_and_imports_from_its_layer_or_below(name: str) -> None:
    layers = list(bundle.LAYERS)
    layer = layers.index(name.partition("/")[0])
    assert all(layers.index(each.partition("/")[0]) <= layer for each in bundle.imports(name))
    assert (FOLDER / "script" / name).read_text(encoding="utf-8").startswith("// ")


def test_a_circle_of_modules_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = {f"script/{one}.js": f'import {{ x }} from "./{other}.js";\n' for one, other in ("ab", "ba")}
    monkeypatch.setattr(bundle, "page_file", modules.__getitem__)
    with pytest.raises(ValueError, match=r"a circle of imports: a\.js → b\.js → a\.js"):
        bundle.script("a.js")


def test_the_script_is_not_longer_than_it_may_be() -> None:
    lines = [(FOLDER / "script" / name).read_text(encoding="utf-8").count("\n") for name in MODULES]
    assert max(lines) <= 330 and sum(lines) <= 8200
    assert sum(path.read_text(encoding="utf-8").count("\n") for path in FOLDER.glob("*.css")) <= 1000


def test_a_model_beside_another_needs_a_page(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["explain", "demo", "How are you", "--to", "hi", "--beside", "demo"]) == 2
    error = capsys.readouterr().err
    assert "--beside adds another model to a page. Name the file of the page with --html." in error
    path = tmp_path / "two.html"
    arguments = ["explain", "demo", "How are you", "--to", "hi", "--beside", "demo", "--html", str(path)]
    assert main(arguments) == 0
    runs = json.loads(Page(path.read_text("utf-8")).text["#payload"])["runs"]
    assert [run["translation"] for run in runs] == ["आप कैसे हैं", "आप कैसे हैं"]

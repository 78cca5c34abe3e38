"""The server's page in a browser: translate as one types, replace a word, look inside a model of any size."""

import base64
import itertools
import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from cases import few
from opened_page import CONTRAST, PHONE, SMALL_TARGETS
from served import Server, serving

import pellucid
from pellucid import edits
from pellucid.config.schema import PRESETS, Config, VocabularyConfig
from pellucid.explanation import Explanation
from pellucid.folder.checkpoint import save_model

pytestmark = pytest.mark.browser

WIDE = {"width": 1440, "height": 900}
playwright = pytest.importorskip("playwright.sync_api")
SCREENS = pytest.mark.parametrize("screen", [WIDE, PHONE], ids=["wide", "phone"])
READY = """document.querySelector("#translation")?.ariaBusy === "false" && document.querySelector(".word")"""
SHOWN = "document.body.dataset.shown === location.hash"
SYLLABLES = [f"{a}{b}" for a in "bdfgklmnprstvz" for b in "aeiou"]
CROSS = "decoder.layers.1.cross_attention"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(
        tmp_path_factory.mktemp("server"), "demo", "--limit", "client_requests_per_minute=6000"
    ) as server:
        yield server


class Page:
    """A page of the server; its methods wait."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url, self.wrong, self.asked = page, url, list[str](), list[str]()
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        # A status that is an error is told there too, and it may be one that the page expects.
        page.on("console", lambda it: "Failed to load" in it.text or self.wrong.append(it.text))

    def until(self, what: str) -> None:
        for _ in range(600):
            if self.page.evaluate(f"Boolean({what})"):
                return
            self.page.wait_for_timeout(25)
        raise AssertionError(f"never true: {what}; {self.wrong}")

    def look(self, **asked: str) -> None:
        query = "&".join(f"{name}={value}" for name, value in asked.items())
        self.page.goto(f"{self.url}/look?{query}")
        self.until(SHOWN)

    def type(self, text: str, to: str = "es") -> None:
        self.page.goto(self.url)
        self.page.locator("#target").select_option(to)
        self.page.keyboard.type(text)
        self.until(READY)

    def tab_to(self, what: str) -> None:
        focused = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
        for _ in range(100):
            if str(self.page.evaluate(focused)).startswith(what):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab never came to {what!r}")

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).first.text_content())


Open = Callable[..., Page]


@contextmanager
def opened(browser: Any, url: str, **settings: Any) -> Iterator[Page]:
    context = browser.new_context(reduced_motion="reduce", **settings)
    context.set_default_timeout(5_000)
    page = Page(context.new_page(), url)
    yield page
    context.close()
    assert page.wrong == []
    assert all(each.startswith((url, "data:")) for each in page.asked), page.asked


def as_screen(screen: dict[str, Any]) -> dict[str, Any]:
    size = {name: screen[name] for name in ("width", "height")}
    return {"viewport": size} | {name: screen[name] for name in screen.keys() - size.keys()}


@SCREENS
def test_one_types_replaces_a_word_and_looks_inside_by_keyboard(
    browser: Any, server: Server, screen: dict[str, Any]
) -> None:
    with opened(browser, server.url, **as_screen(screen)) as it:
        it.type("I like cats.\n  The boat is near the bank.")
        assert it.text("#translation") == "Me gustan los gatos.\n  El barco está cerca de la orilla."
        assert it.text("#source option:checked") == "Detected: English"
        it.tab_to("Me")
        it.page.keyboard.press("ArrowRight")
        it.page.keyboard.press("Enter")
        it.until("!document.querySelector('#others').hidden")
        assert it.text("#others p") == "In place of gustan:"
        it.page.keyboard.press("Escape")
        it.tab_to("gustan")  # where the focus is again
        it.page.keyboard.press("Enter")
        it.until("document.querySelector('#others').contains(document.activeElement)")
        other = str(it.page.evaluate("document.activeElement.querySelector('bdi').textContent"))
        it.page.keyboard.press("Enter")
        said = it.text("#translation bdi")
        assert said.startswith(f"Me {other}") and it.text("#translation").endswith(" de la orilla.")
        assert it.page.evaluate(SMALL_TARGETS) == [] and min(it.page.evaluate(CONTRAST))[0] >= 4.5
        assert it.page.evaluate("document.documentElement.scrollWidth") == screen["width"]
        it.tab_to("Look inside: I like cats.")
        it.page.keyboard.press("Enter")
        it.page.wait_for_url("**/look?**")
        it.until(SHOWN)
        assert it.text("h1 .said-sentence") == said
        assert it.text("#given").startswith("This translation was given, not found by the model.")
        assert it.page.evaluate(SMALL_TARGETS) == []
        assert it.page.evaluate("document.documentElement.scrollWidth") == screen["width"]


def test_what_the_server_cannot_do_now_is_asked_again(browser: Any, server: Server) -> None:
    busy: list[dict[str, Any]] = [
        {"status": 503, "headers": {"retry-after": "1"}, "json": {"error": "more is queued."}},
        {"status": 429, "headers": {"retry-after": "1"}, "json": {"error": "you sent 6000."}},
    ]
    with opened(browser, server.url) as it:
        it.page.route(
            "**/v1/translate",
            lambda route: route.fulfill(**busy.pop(0)) if busy else route.continue_(),
        )
        it.page.goto(it.url)
        it.page.locator("#target").select_option("es")
        it.page.locator("#text").fill("I like cats")
        for told in ("more is queued. Asking again in 1 s.", "you sent 6000. Asking again in 1 s."):
            it.until(f"document.querySelector('#waiting').textContent === {told!r}")
        it.until(READY)
        assert it.text("#translation") == "Me gustan los gatos" and it.text("#waiting") == ""
        it.page.context.set_offline(True)
        it.page.locator("#text").fill("I like cats and")
        it.until("document.querySelector('#waiting').textContent.startsWith('The server does not answer.')")
        it.page.context.set_offline(False)
        it.page.locator("#text").fill("How are you")  # the newest text does not wait for the one before
        it.until("document.querySelector('#translation').textContent.includes('usted')")
        it.page.locator("#text").fill("")
        it.until("document.querySelector('#translation').textContent === ''")
        assert it.page.locator("#inside").is_hidden()


def test_arrow_keys_go_from_the_right_in_a_language_that_is_read_so(browser: Any, server: Server) -> None:
    answer = {"translations": [{"text": "أنا أحب القطط.", "source": "en"}]}
    with opened(browser, server.url) as it:
        it.page.route("**/v1/translate", lambda route: route.fulfill(json=answer))
        it.type("I like cats.")
        direction = "getComputedStyle(document.querySelector('#translation')).direction"
        assert it.page.evaluate(direction) == "rtl"
        it.page.locator(".word").first.focus()
        it.page.keyboard.press("ArrowLeft")
        assert it.page.evaluate("document.activeElement.textContent") == "أحب"
        answer["translations"][0]["text"] = "Me gustan los gatos. أنا"
        it.type("I like cats!")
        assert it.page.evaluate(direction) == "ltr"


def test_a_key_is_asked_for_and_kept(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("secret\n")
    asked = serving(tmp_path, "demo", "--keys", str(tmp_path / "keys"))
    with asked as server, opened(browser, server.url) as it:
        it.page.goto(it.url)
        it.page.locator("#target").select_option("es")
        it.page.locator("#text").fill("I like cats")
        it.until("!document.querySelector('#key').hidden")
        assert it.text("#fault") == "the key is missing."
        it.page.locator("#own-key").fill("secret")
        it.page.keyboard.press("Enter")
        it.until(READY)
        assert it.page.locator("#key").is_hidden() and it.text("#fault") == ""
        it.page.locator("#inside a").click()
        it.page.wait_for_url("**/look?**")
        it.until(SHOWN)
        assert it.text("h1 .said-sentence") == "Me gustan los gatos"


def test_axe_finds_nothing(browser: Any, server: Server) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with opened(browser, server.url, bypass_csp=True) as it:
        it.type("I like cats")
        it.page.locator(".word").first.click()
        it.until("!document.querySelector('#others').hidden")
        for view in (None, "#", f"#{CROSS}.weights"):
            if view:
                it.look(text="I like cats", source="en", target="es")
                numbers(it, view)
            faults = axe.run(it.page).response["violations"]
            assert [(each["id"], each["nodes"][0]["html"]) for each in faults] == [], view


TEXTS = ["I like cats. ", "How are you?\n", "The boat", " is near the bank.", "xyz ", "<b>&", "😀", "ا", ""]
TEXTS += ["je suis étudiant", "\ud800", "% " * 30]
KEYS = ["Tab", "Shift+Tab", "Enter", "Escape", "ArrowLeft", "ArrowRight", "ArrowDown", "Space", "]", "."]
# What can be pressed: click it, but let the page that a link leads to come later.
PRESS = """(chance) => {
  const all = [...document.querySelectorAll("button:not(:disabled), summary, a, td[role=gridcell]")]
    .filter((each) => each.checkVisibility() && !each.closest("[inert]") && !each.matches("nav a"));
  const chosen = all[Math.floor(chance * all.length)];
  setTimeout(() => chosen?.click());
  return chosen?.outerHTML.slice(0, 80);
}"""
REACHED = "each => !each.closest('[inert]')"


def act(page: Any, chance: random.Random) -> str:
    """Do something; return what."""
    what = chance.choice(["press"] * 5 + ["key", "write", "choose", "back"])
    field, chosen = (page.locator(each).first for each in ("#text, #own-sentence", "select:visible"))
    if what == "press":
        return str(page.evaluate(PRESS, chance.random()))
    if what == "key":
        page.keyboard.press(chance.choice(KEYS))
    elif what == "write" and field.is_visible() and field.evaluate(REACHED):
        field.fill(chance.choice(TEXTS) + chance.choice(TEXTS))
    elif what == "choose" and chosen.count() and chosen.evaluate(REACHED):
        chosen.select_option(index=chance.randrange(chosen.locator("option").count()))
    elif what == "back" and "/look" in page.url:
        page.goto(page.url.partition("look")[0])
    return what


@pytest.mark.parametrize("actions", [40, pytest.param(600, marks=pytest.mark.slow)])
@SCREENS
def test_whatever_one_does(browser: Any, server: Server, screen: dict[str, Any], actions: int) -> None:
    seed = 5 if actions == 40 else random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}")
    chance, done = random.Random(seed), list[str]()
    with opened(browser, server.url, **as_screen(screen)) as it:
        it.page.goto(it.url)
        for _ in range(actions):
            try:
                done.append(act(it.page, chance))
            except playwright.Error as error:  # another page came meanwhile
                told = f"{error}"
                assert "navigation" in told or "not visible" in told, (done[-5:], error)
            it.page.wait_for_timeout(chance.choice([0, 10, 400]))
            assert it.wrong == [], done[-5:]


@pytest.mark.parametrize("rounds", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_heads_that_are_clicked_at_once_are_all_silenced(browser: Any, server: Server, rounds: int) -> None:
    """Also those that are clicked while the answer to an earlier click is under way."""
    print("seed", seed := random.randrange(2**32))
    chance, silent = random.Random(seed), set[int]()
    with opened(browser, server.url, viewport=WIDE) as it:
        it.look(text="I like cats", source="en", target="es")
        it.page.get_by_role("button", name="Switches").first.click()
        for _ in range(rounds):
            heads = [chance.randrange(4) for _ in range(chance.randint(2, 3))]
            for head in heads:
                it.page.evaluate(f"""document.querySelector("[data-key='silent-{head}']").click()""")
                it.page.wait_for_timeout(chance.choice([0, 0, 10, 100]))
                silent ^= {head}
            it.until(SHOWN)
            asked = f"silent={CROSS}:{'%2B'.join(map(str, sorted(silent)))}"
            assert asked in it.page.url if silent else "silent=" not in it.page.url, (it.page.url, heads)


CATS: dict[str, Any] = dict(text="I like cats", source="en", target="es")
NO_HEAD = "heads: [4] is wrong: there are 4, counted from 0."
NO_MASK = (
    f'part = "{CROSS}" has no causal mask: only the decoder\'s self-attentions have one. Give one such as '
    '"decoder.layers.0.self_attention".'
)
TOO_LONG = "the sentence is longer than the 256 tokens that an explanation shows: its matrices grow with the "
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"edits": {"silence": {CROSS: [4]}}}, NO_HEAD),
    ({"edits": {"lift_mask": {CROSS: [0]}}}, NO_MASK),
    (
        {"edits": {"silence": {CROSS: [-1]}}},
        "edits.silence[0] = -1: Input should be greater than or equal to 0.",
    ),
    (
        {"tensors": ["*.wights"]},
        'no tensor is called "*.wights". There are 148, such as decoder.probabilities.',
    ),
    ({"translation": [9999]}, "id 9999 is outside the vocabulary, whose ids are 0 to 4854."),
    ({"text": "How " * 300}, TOO_LONG + "square of the length. Give a shorter one."),
    (
        {"text": "How " * 200, "target": "hi", "translation": [7] * 300, "tensors": ["*"]},
        "tensors: these have 12,411,176 numbers, and 4,194,304 are allowed. Name fewer.",
    ),
]


@pytest.mark.parametrize(("fields", "told"), WRONG)
def test_a_wrong_question_is_told(server: Server, fields: dict[str, Any], told: str) -> None:
    answer = server.client.post("/v1/explain", json=CATS | fields)
    assert (answer.status_code, answer.json()) == (400, {"error": told})


def test_programs_get_what_the_file_has(server: Server, demo: Explanation, tmp_path: Path) -> None:
    demo.to_json(tmp_path / "file")
    file = json.loads((tmp_path / "file").read_text())
    ours = server.client.post("/v1/explain", json=CATS | {"tensors": ["*.weights"]}).json()
    assert ours.keys() == file.keys() - {"source_share"}
    assert ours["alignment"] == file["alignment"] and not ours["forced"]
    assert [step["expected"] for step in ours["steps"]] == [step["expected"] for step in file["steps"]]
    assert ours["largest_difference"] < 1e-4
    assert list(ours["tensors"]) == [name for name in file["tensors"] if name.endswith(".weights")]
    name = f"{CROSS}.weights"
    np.testing.assert_allclose(ours["tensors"][name]["values"], file["tensors"][name]["values"], atol=1e-5)
    assert ours["tensors"][name]["labels"] == file["tensors"][name]["labels"]


def test_edits_and_forced_words_change_the_translation(server: Server) -> None:
    def target(**fields: Any) -> str:
        return str(server.client.post("/v1/explain", json=CATS | fields).json()["target"])

    lost = target(edits={"without_residual": ["decoder.layers.*.residual_1"]})
    assert lost != target() == "Me gustan los gatos"
    assert target(prefix="Los gatos").startswith("Los gatos ")
    assert target(translation="Me gusta el gato") == "Me gusta el gato"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A model of six layers and six, of width 512, with random weights, and without names of languages."""
    words = ["".join(parts) for parts in itertools.product(SYLLABLES, repeat=2)]
    config = Config(vocabulary=VocabularyConfig(kind="word", size=len(words) + 4))
    made = tiny.untrained([" ".join(words)], [" ".join(words)], config, **PRESETS["base"])
    folder = tmp_path_factory.mktemp("large")
    save_model(folder / "model", made.model, made.vocabulary, made.config, {})
    with serving(folder, f"{folder / 'model'}:en-de") as server:
        yield server


@pytest.mark.slow
@SCREENS
def test_a_head_of_a_large_model_is_silenced_by_keyboard(
    browser: Any, large: Server, screen: dict[str, Any]
) -> None:
    part = "decoder.layers.5.cross_attention"
    with opened(browser, large.url, **as_screen(screen)) as it:
        it.type("baba bebe bibi bobo", to="de")
        it.tab_to("Look inside")
        it.page.keyboard.press("Enter")
        it.page.wait_for_url("**/look?**")
        it.until(SHOWN)
        before = it.text("h1 .said-sentence")
        it.tab_to("Switches")
        it.page.keyboard.press("Enter")
        it.tab_to("0 on")
        it.page.keyboard.press("Enter")
        it.until(f"{SHOWN} && location.hash.includes('silent={part}:0')")
        it.until("document.querySelector('.anew')")
        assert it.text("#effect .effect-says").startswith("Head 0 of decoder, layer 5: cross-attention adds")
        assert it.text(".anew") not in ("", before)
        it.page.evaluate(f"location.hash = '#{part}.weights'")
        it.until(SHOWN)
        sums = it.page.locator(f"[data-plate='{part}.weights'] td.sum").all_inner_texts()
        assert sums and set(sums) == {"1.0000"}


def numbers(it: Page, hash: str) -> dict[str, tuple[list[int], np.ndarray]]:
    """All tensors of the run that an address shows, as the page has them."""
    it.page.evaluate("(hash) => { location.hash = hash }", hash)
    it.until(SHOWN)
    found = it.page.evaluate("""async () => {
      const { current } = await import(`${location.origin}/page/script/view/view.js`);
      const run = current.whole, numbers = {};
      for (const name of run.names.filter((name) => !/logits$|probabilities$/.test(name))) {
        const { shape, data } = await run.get(name);
        let bytes = "";
        for (const byte of new Uint8Array(data.slice().buffer)) bytes += String.fromCharCode(byte);
        numbers[name] = [shape, btoa(bytes)];
      }
      return numbers;
    }""")
    return {
        name: (shape, np.frombuffer(base64.b64decode(text), "<f4")) for name, (shape, text) in found.items()
    }


@pytest.fixture(scope="module")
def demo() -> Explanation:
    return pellucid.load("demo", "cpu").explain("I like cats", to="es")


SELF = "decoder.layers.*.self_attention"
SWITCHED: list[tuple[str, edits.Edits]] = [
    (f"silent={CROSS}:0+2", edits.silence(CROSS, [0, 2])),
    ("mask=off&where=decoder.layers.0.self_attention&only=1", edits.lift_mask(SELF.replace("*", "0"), 1)),
    ("", {}),
    ("mask=off", edits.lift_mask(SELF)),
    ("scale=off", edits.without_scale("*_attention")),
    ("scale=off&where=encoder.layers.0", edits.without_scale("encoder.layers.0.self_attention")),
    ("residual=off&where=decoder.layers.1.residual_2", edits.without_residual("decoder.layers.1.residual_2")),
]


@pytest.mark.parametrize(("address", "edit"), few(3, SWITCHED))
def test_the_page_has_the_numbers_of_python(
    browser: Any, server: Server, demo: Explanation, address: str, edit: edits.Edits
) -> None:
    with opened(browser, server.url) as it:
        it.look(text="I like cats", source="en", target="es")
        found = numbers(it, f"#?position=1&{address}")
    seen = demo.again(edits=edit)
    assert len(found) == len(seen) - 2
    for name, (shape, ours) in found.items():
        theirs = seen[name].tensor
        assert tuple(shape) == tuple(theirs.shape), name
        np.testing.assert_allclose(ours, theirs.numpy().ravel(), rtol=1e-4, atol=1e-5, err_msg=name)

"""A page opened in the browser, as a reader opens it; and measures of what is seen."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pellucid.reading.reading import Step

# The contrast of each text with what is behind it; a text on a picture has none of its own.
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const over = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  };
  const light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  const known = new Map();
  for (const element of document.querySelectorAll("body *")) {
    if (element.closest("svg, script, style, :disabled, [aria-disabled]")) continue;
    if (!element.checkVisibility()) continue;
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    const grounds = [];
    for (let part = element; part; part = part.parentElement) {
      grounds.unshift(getComputedStyle(part).backgroundColor);
    }
    const ink = getComputedStyle(element).color;
    const key = ink + "|" + grounds.join();
    if (known.has(key)) continue;
    const ground = light(over(grounds)), text = light(over([...grounds, ink]));
    const ratio = (Math.max(ground, text) + 0.05) / (Math.min(ground, text) + 0.05);
    known.set(key, [ratio, `${element.tagName}.${element.className}: ${element.textContent.slice(0, 40)}`]);
  }
  return [...known.values()];
}"""
# A finger needs 44 pixels, a mouse 24.
SMALL_TARGETS = """() => [...document.querySelectorAll("button, select, input, textarea, summary, a")]
  .filter((target) => target.checkVisibility() && !target.closest(".unseen"))
  .map((target) => [target.getBoundingClientRect(), target.outerHTML.slice(0, 90)])
  .filter(([box]) => box.height < (matchMedia("(min-width: 901px) and (pointer: fine)").matches ? 24 : 44))
  .map(([box, html]) => `${box.width} × ${box.height}: ${html}`)"""

# What is not wholly in the window, above the dock.
OUTSIDE = """(selectors) => selectors.filter((selector) => {
  const all = [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility());
  const dock = document.querySelector("#dock").getBoundingClientRect().top;
  return !all.length || all.some((each) => {
    const box = each.getBoundingClientRect();
    return box.top < -1 || box.left < -1 || box.right > innerWidth + 1 || box.bottom > dock + 1;
  });
})"""
# The view of the address is drawn, with its inspector; or, on the page of an example, its matrices.
SHOWN = """document.body.dataset.shown === location.hash && !document.querySelector(".inspector:empty") ||
  document.querySelector(".worked :is(.own-plates .plate, .own-verdict.is-fault)") !== null"""
# In one call: between a search for an element and its measure, the page may draw it anew.
BOX = """(selector) => [...document.querySelectorAll(selector)].find((each) => each.checkVisibility())
  .getBoundingClientRect().toJSON()"""
# Two frames after a key: what it asked for has begun by then.
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
# As on a busy computer: each frame comes late, by chance, and in its order.
LATE = """(() => {
  let last = 0;
  const frame = requestAnimationFrame;
  window.requestAnimationFrame = (draw) => frame(() => {
    last = Math.max(last, performance.now() + Math.max(0, Math.random() - 0.5) * 240);
    setTimeout(() => draw(performance.now()), last - performance.now());
  });
})()"""

_KEPT = WeakKeyDictionary[Any, dict[str, Any]]()  # pages by their settings, for each browser

NUMBER = re.compile(r"\d\.\d{4}")
PHONE = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}
SPECIAL = {"<s>": "START", "</s>": "END", "<pad>": "PAD", ">>hi<<": "to Hindi", ">>es<<": "to Spanish"}


def named(tokens: Iterable[str]) -> list[str]:
    """Return tokens as the page names them."""
    return [SPECIAL.get(token, token) for token in tokens]


class Opened:
    """A page in the browser; its methods wait until the page has drawn what they asked for."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.complaints, self.requests = page, list[str](), list[str]()
        self._listeners = {
            "console": lambda message: self.complaints.append(message.text),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "request": lambda request: self.requests.append(request.url),
        }
        for event, listener in self._listeners.items():
            self.page.on(event, listener)
        self.page.goto(address)
        self.settle()

    def leave(self) -> None:
        """Leave the browser's page empty for the next test."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        self.page.emulate_media(media="null")
        self.page.mouse.move(0, 0)
        self.page.goto("about:blank")

    def settle(self) -> None:
        """Wait until the view of the address is drawn."""
        self.until(SHOWN)

    def until(self, what: str) -> None:
        """Wait until this is true in the page; its policy lets no script but its own wait there."""
        for _ in range(250):
            if self.page.evaluate(what):
                return
            self.page.wait_for_timeout(15)
        raise AssertionError(f"never true: {what}; complaints: {self.complaints}")

    def until_there(self, selector: str) -> None:
        """Wait until the page has an element of this selector."""
        self.until(f'document.querySelector("{selector}") !== null')

    def go(self, address: str) -> None:
        """Go to a view by its address."""
        self.page.evaluate("(address) => { location.hash = address }", address)
        self.settle()

    def press(self, *keys: str) -> None:
        """Press these keys, one after the other."""
        for key in keys:
            self.page.keyboard.press(key)
            self.page.evaluate(DRAWN)
            self.settle()

    def click(self, selector: str) -> None:
        """Click the first element of this selector; a name without brackets and dots is its data-key."""
        found = self.page.locator(selector if selector[0] in ".#[" else f"[data-key={selector}]")
        found.first.click()
        self.settle()

    def ask(self, sentence: str, to: str | None = None, target: str | None = None) -> None:
        """Type a sentence, a target language and a translation of one's own, and press Enter."""
        if to and to != self.page.locator("select[name=to]").input_value():
            self.page.locator("select[name=to]").select_option(to)  # which translates what is shown
        self.page.locator("#own-sentence").fill(sentence)
        if target is not None:
            if not self.is_seen("#own-target"):
                self.click("#unfold-target")
            self.page.locator("#own-target").fill(target)
        self.page.locator("#own-sentence" if target is None else "#own-target").press("Enter")

    def translate(self, sentence: str, to: str | None = None, target: str | None = None) -> None:
        """Ask for a sentence that the model can read, and wait until the page shows it."""
        self.ask(sentence, to, target)
        self.until(f"state.text === {json.dumps(sentence)} && location.hash.includes('text=')")
        self.settle()

    def text(self, selector: str) -> str:
        """Return the text of the first element of this selector."""
        return str(self.page.locator(selector).first.inner_text())

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements of this selector."""
        found: list[str] = self.page.locator(selector).all_inner_texts()
        return found

    def is_seen(self, selector: str) -> bool:
        return bool(self.page.locator(selector).first.is_visible())

    def outside(self, *selectors: str) -> list[str]:
        """Return those of which something is not wholly in the window, above the dock, or nothing is seen."""
        found: list[str] = self.page.evaluate(OUTSIDE, selectors)
        return found

    def lefts(self, *selectors: str) -> list[float]:
        """Return where the first element of each begins."""
        return [self.box(selector)["x"] for selector in selectors]

    def box(self, selector: str) -> dict[str, float]:
        """Return where the first element of this selector that can be seen is, and its size."""
        found: dict[str, float] = self.page.evaluate(BOX, selector)
        return found

    @property
    def address(self) -> str:
        return str(self.page.evaluate("location.hash"))

    @property
    def focus(self) -> str:
        """The element with the focus, as its label or text."""
        focused = "document.activeElement"
        return str(self.page.evaluate(f"{focused}.getAttribute('aria-label') ?? {focused}.textContent"))

    def tab_to(self, what: str) -> None:
        """Press Tab until the focus is on an element whose label or text begins with this."""
        self.press_until(what, "Tab")

    def press_until(self, what: str, key: str) -> None:
        """Press this key until the focus is on an element whose label or text begins with this."""
        came = [self.focus]
        while not came[-1].startswith(what):
            assert len(came) < 60, f"{key} never came to {what!r}, but to {came}"
            self.press(key)
            came.append(self.focus)

    def assert_steps(self, steps: Iterable[Step]) -> None:
        """The table of steps has the words and the probabilities of these."""
        for line, step in zip(self.texts("#steps tbody tr"), steps, strict=True):
            assert named([step.expected])[0] in line
            assert abs(float(NUMBER.findall(line)[0]) - step.probability) < 6e-5

    def assert_fits(self, width: int) -> None:
        """Nothing scrolls sideways, every text can be read, and every target can be touched."""
        assert self.page.evaluate("document.documentElement.scrollWidth") == width, self.address
        ratios = self.page.evaluate(CONTRAST)
        assert len(ratios) > 5 and min(ratios)[0] >= 4.5, (self.address, min(ratios))
        small = self.page.evaluate(SMALL_TARGETS)
        assert small == [], (self.address, small)


OpenPage = Callable[..., Opened]


@contextmanager
def opened_page(
    browser: Any,
    path: Path,
    address: str = "",
    width: int = 1440,
    height: int = 900,
    is_late: bool = False,
    **context: Any,
) -> Iterator[Opened]:
    """Open a page offline; what it complains of, or asks the network for, fails the test.

    The next test with these settings goes on in the same page of the browser, which has read the script then.
    """
    size, kept = {"width": width, "height": height}, _KEPT.setdefault(browser, {})
    settings = {"offline": True, "reduced_motion": "reduce"} | context
    page = kept.pop(str((is_late, settings)), None)
    if page is None:
        page = browser.new_context(**settings).new_page()
        if is_late:
            page.add_init_script(LATE)
    page.set_viewport_size(size)
    opened = Opened(page, path.as_uri() + address)
    yield opened
    opened.leave()
    kept[str((is_late, settings))] = page
    assert opened.complaints == []
    assert {request.partition("#")[0] for request in opened.requests} == {path.as_uri()}

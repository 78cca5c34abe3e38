"""Random walks through the page: whatever one does, nothing fails, and no number of another run is seen."""

import random
from typing import Any

import pytest
from cases import few
from opened_page import PHONE, Opened, OpenPage

pytestmark = pytest.mark.browser

SCREENS: list[dict[str, Any]] = [
    {"width": 1440, "height": 900},
    {"width": 1366, "height": 768},
    PHONE,
]
SENTENCES = [
    "How are you",
    "The boat is near the bank.",
    "je suis étudiant",
    "I want to learn.",
    "HELLO my Friend",
]
SENTENCES += [
    "the bank is near the river and the boat is near the bank",
    "I like catz",
    "Me gustan los gatos",
    "",
]
TARGETS = ["Me gustan los gatos", "आप कैसे हैं", "el banco", "xyz", ""]
KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Enter", "Escape", "Space", "Tab", "Shift+Tab"]
KEYS += [*"[],.", "Home", "End"]
SWITCHES = [
    "",
    "&mask=off",
    "&scale=off",
    "&residual=off",
    "&padding=unmasked",
    "&cache=off",
    "&beside=before",
]
SWITCHES += [
    f"&silent={part}:0" for part in ("decoder.layers.0.self_attention", "decoder.layers.1.cross_attention")
]

# Something that can be pressed, or pointed at, brought into the window: the middle of it.
SOMEWHERE = """(chance) => {
  const all = [...document.querySelectorAll("button:not(:disabled), summary, td[role=gridcell], .token")]
    .filter((each) => each.checkVisibility() && !each.closest("[inert]"));
  const chosen = all[Math.floor(chance * all.length)];
  chosen.scrollIntoView({ block: "nearest" });
  const { left, right, top, bottom } = chosen.getBoundingClientRect();
  return [(left + right) / 2, (top + bottom) / 2];
}"""
REACHED = """(selector) => {
  const place = document.querySelector(selector);
  return place.checkVisibility() && !place.closest("[inert]");
}"""
# By the browser's history, not out of the page.
GO = """(by) => {
  const there = navigation.entries()[navigation.currentEntry.index + by];
  if (there?.url.startsWith(location.href.split("#")[0])) history.go(by);
}"""
# What on the screen is not of the run, the step and the head that the address asks for.
OF_ANOTHER = """async () => {
  const { whole, run } = current, { position, mode, head, tensor, row, column, open, block } = state;
  const wrong = [];
  const same = (what, shown, meant) =>
    String(shown) === String(meant) || wrong.push(`${what}: ${shown}, not ${meant}`);
  const there = (selector) => [...document.querySelectorAll(selector)];
  const seen = (selector) => there(selector).filter((each) => each.checkVisibility());
  const texts = (selector) => seen(selector).map((each) => each.textContent);
  const all = (selector) => there(selector).map((each) => each.textContent);
  same("headline", all("#sentence .said-sentence"), visibleText(whole.translation));
  for (const { dataset } of seen(".target-word:not(.unsaid, .missed)"))
    same("word", dataset.probability, run.steps[dataset.position].probability.toFixed(2));
  same("table", all("#steps td.number[data-label=probability]"),
    run.steps.map(({ probability }) => fourDecimals(probability)));
  if (open === "own") return wrong;
  const step = mode === "step" ? position + 1 : null;
  same("step", texts("#time .step[aria-pressed=true]"), step ?? "");
  for (const told of texts("#both-ways h2")) same("both ways", told.split(",")[0], `Step ${step}`);
  if (block === "") {
    same("said", all("#drawing .probability"), run.steps.map(({ probability }) => probability.toFixed(2)));
    const at = there("[data-position]:is(:hover, :focus)").length ? lit.position : position; // at a glance
    same("lit", seen("#drawing .said.lit").map((each) => each.dataset.position), at);
    same("next", all("#drawing .best .number"), run.steps[at].alternatives.map(([, x]) => fourDecimals(x)));
    same("memory", all("#drawing .memory .share"), (await alignmentOf(run))[at].map((x) => x.toFixed(2)));
  }
  const until = step === null ? run : runUntil(run, step);
  for (const { spec } of seen("#stage [data-plate]")) {
    if (!spec.tensor) continue;
    const [shown, meant] = [spec.tensor.data, (await until.get(spec.name)).data];
    same(spec.name, shown.length === meant.length && shown.every((x, at) => Object.is(x, meant[at])), true);
  }
  const drawing = drawings.get(found("stage").querySelector(".stage-plates"));
  if (block !== "" && block !== layerOf(block)) {
    const { figure: { spec }, row: seenRow, column: seenColumn } = drawing.rest;
    const inTensor = spec.back?.(seenRow, seenColumn) ?? [seenRow, seenColumn];
    same("block", drawing.view.block, block);
    const isThere = there("#stage [data-plate]").some(({ spec: { name } }) => name === tensor); // or folded
    same("stage has it", isThere, tensor !== null || isThere);
    same("pinned", seen("#stage .unpin").length, row === null ? 0 : 1);
    if (!spec.isParameter) { // which no address leads to
      const isShown = row !== null && (!spec.pick || spec.back(...spec.forth(row, column))[1] === column);
      if (isShown) same("pin", [spec.name, ...inTensor], [tensor, row, column]);
    }
  }
  for (const told of texts("#stage .time-sentence")) same("stage", told.split(" ")[2], step);
  const making = seen("#stage .making-total b")[0], asked = row !== null && (await until.get(tensor));
  if (!making || !asked || asked.axes.at(-1) === "V" || drawing.rest.figure.spec.isParameter) return wrong;
  const { rows, columns, at } = panelOf(asked, asked.axes.includes("H") ? head : 0);
  if (row < rows && column < columns) same("cell", making.textContent, fourDecimals(at(row, column)));
  return wrong;
}"""
# What a page that is opened at this address shows too.
OF_ADDRESS = """() => ["#sentence .said-sentence", "#stage .stage-title", "#stage .pinned .making-total",
  "#stage .pinned h2"].map((selector) => {
  const place = document.querySelector(selector);
  return place?.checkVisibility() ? place.textContent : null;
})"""


class Walk:
    """A reader who does anything at all."""

    def __init__(self, opened: Opened, seed: int, is_phone: bool) -> None:
        self.opened, self.page, self.chance, self.is_phone = (
            opened,
            opened.page,
            random.Random(seed),
            is_phone,
        )
        self.names: list[str] = opened.page.evaluate("page.runs[0].names")

    def act(self) -> str:
        """Do something; return what."""
        acts = [self.press] * 8 + [self.key] * 4 + [self.point, self.address] * 2
        return str(
            self.chance.choice([*acts, self.write, self.language, self.resize, self.history, self.own])()
        )

    def press(self) -> str:
        x, y = self.page.evaluate(SOMEWHERE, self.chance.random())
        (self.page.touchscreen.tap if self.is_phone else self.page.mouse.click)(x, y)
        return f"press {x}, {y}"

    def key(self) -> str:
        key = self.chance.choice(KEYS)
        self.page.keyboard.press(key)
        return key

    def point(self) -> str:
        x, y = self.page.evaluate(SOMEWHERE, self.chance.random())
        self.page.mouse.move(x, y)
        return f"point {x}, {y}"

    def address(self) -> str:
        name, time = self.chance.choice(["", *self.names]), self.chance.choice(["step", "position"])
        address = f"#{name}?{time}={self.chance.randint(1, 12)}&cell={self.chance.randint(0, 5)},1"
        address += "".join(self.chance.sample(SWITCHES, 2))
        self.page.evaluate("(address) => { location.hash = address }", address)
        return address

    def write(self) -> str:
        if not self.page.evaluate(REACHED, "#own-sentence"):
            return "nothing to write in"
        text, target = self.chance.choice(SENTENCES), self.chance.choice([None, None, *TARGETS])
        self.opened.ask(text, None, target if self.opened.is_seen("#unfold-target") else None)
        return f"write {text!r}, {target!r}"

    def language(self) -> str:
        to = self.chance.choice(["hi", "es", "fr", "en"])
        if self.page.evaluate(REACHED, "select[name=to]"):
            self.page.locator("select[name=to]").select_option(to)
        return to

    def resize(self) -> str:
        size = self.chance.choice([*SCREENS, {"width": 1024, "height": 640}])
        if not self.is_phone:
            self.page.set_viewport_size({name: size[name] for name in ("width", "height")})
        return str(size)

    def history(self) -> str:
        by = self.chance.choice([-1, -1, 1])
        self.page.evaluate(GO, by)
        return f"history {by}"

    def own(self) -> str:
        if not self.page.evaluate(REACHED, "#own-place select"):
            return "no form"
        chooser = self.page.locator("#own-place select").first
        chooser.select_option(index=self.chance.randrange(chooser.locator("option").count()))
        return "another example"


@pytest.mark.parametrize(
    ("screen", "actions"),
    [
        (SCREENS[1], 30),
        (PHONE, 30),
        *few(0, ((screen, 500) for screen in SCREENS)),
    ],
    ids=lambda given: str(given["width"] if isinstance(given, dict) else given),
)
def test_whatever_one_does(open_demo: OpenPage, screen: dict[str, Any], actions: int) -> None:
    seed = 7 if actions == 30 else random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}")
    opened = open_demo(**screen, is_late=actions > 30)
    walk, did = Walk(opened, seed, screen is PHONE), list[str]()
    for _ in range(actions):
        did.append(walk.act())
        if walk.chance.random() < 0.3:
            continue  # in a hurry
        assert_holds(opened, (seed, did[-6:], opened.address))
    assert_holds(opened, (seed, did[-6:], opened.address))
    shown = opened.page.evaluate(OF_ADDRESS)
    opened.page.reload()
    assert_holds(opened, (seed, "reload", opened.address))
    assert opened.page.evaluate(OF_ADDRESS) == shown, (seed, opened.address)


def assert_holds(opened: Opened, last: Any) -> None:
    """Wait until all is drawn: there is no complaint, and all is of the run, step and cell of the address."""
    opened.until("!document.querySelector('[aria-busy]')")
    opened.page.evaluate("playing && playOrPause()")
    opened.settle()
    for _ in range(100):
        if not (wrong := opened.page.evaluate(OF_ANOTHER)):
            break
        opened.page.wait_for_timeout(15)  # the inspector follows when its numbers are there
    assert opened.complaints == [] and wrong == [], last

"""The widget of notebooks: what is selected and switched in the page is a tensor and edits in Python."""

import base64
import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from cases import few
from opened_page import SHOWN

pytest.importorskip("anywidget", reason='pip install "pellucid[notebook]"')

import pellucid
from pellucid import edits
from pellucid.explanation import Explanation
from pellucid.page.assembly import page_file
from pellucid.page.widget import Widget

STEPS = int(os.environ.get("PELLUCID_STEPS", "5"))  # of a walk
CROSS = "decoder.layers.1.cross_attention"
# A notebook as the widget sees it: a model with traits and messages. Python is on the other side.
HOST = """async (script, state) => {
  const { default: { render } } = await import(`data:text/javascript;base64,${script}`);
  const listeners = new Map();
  window.emit = (event, content) => listeners.get(event)?.(content);
  window.told = (name, value) => { state[name] = value; emit(`change:${name}`); };
  render({ el: document.body, model: {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    save_changes: () => python("save", { address: state.address, _shown: state._shown }),
    send: async (message) => emit("msg:custom", await python("send", message)),
    on: (event, listener) => listeners.set(event, listener),
    off: (event) => listeners.delete(event),
  }});
}"""


def too_big(explanation: Explanation, monkeypatch: pytest.MonkeyPatch) -> Widget:
    """The widget of a model whose weights the page does not carry."""
    monkeypatch.setattr("pellucid.page.payload.COMPUTES", 0)
    return explanation.widget()


def answers(widget: Widget, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Any]:
    """Asks a widget as a page does, and returns its answer."""
    sent: list[Any] = []
    monkeypatch.setattr(widget, "send", sent.append)

    def ask(message: Any) -> Any:
        widget._handle_custom_msg(message, [])
        return sent.pop()

    return ask


def test_a_place_that_the_page_tells_is_a_tensor(demo: Explanation) -> None:
    widget = demo.widget()
    assert widget.tensor is widget.cell is None and widget.edits == {} and widget.reading is demo
    place = {"tensor": f"{CROSS}.weights", "head": 2, "row": 1, "column": 3, "position": 1}
    widget._shown |= place
    widget._shown = widget._shown | place | {"edits": {"silence": {CROSS: [0]}, "lift_mask": {}}}
    again = demo.again(edits.silence(CROSS, 0))
    assert widget.cell == (0, 2, 1, 3) and widget.position == 1
    assert widget.tensor is not None and widget.tensor.labels("M") == again[f"{CROSS}.weights"].labels("M")
    for name, cell in ((f"{CROSS}.context", (0, 2, 1, 3)), ("encoder.positions", (1, 3))):
        widget._shown = widget._shown | {"tensor": name}
        assert widget.cell == cell and torch.equal(widget.tensor.tensor, again[name].tensor)
    assert torch.equal(demo.again(widget.edits)["decoder.logits"].tensor, again["decoder.logits"].tensor)
    widget._shown = widget._shown | {"padding": "masked"}
    with pytest.raises(pellucid.UsageError, match="Choose none among the page's switches"):
        _ = widget.tensor


def test_python_answers_what_the_page_asks(demo: Explanation, monkeypatch: pytest.MonkeyPatch) -> None:
    widget = too_big(demo, monkeypatch)
    ask = answers(widget, monkeypatch)
    assert '"asked":{"text":"How are you","target":"hi"' in widget._html
    cats = {"text": "I like cats", "target": "es"}
    lost = {"without_residual": ["decoder.layers.0.residual_1", "decoder.layers.1.residual_1"]}
    changed = ask({"id": 7, "question": cats | {"edits": lost}})
    assert changed["id"] == 7 and changed["answer"]["target"] != "Me gustan los gatos"
    with pellucid.editing(demo.translator.serving, edits.of_switches(lost)):
        assert demo.translator.translate("I like cats", to="es").text == changed["answer"]["target"]
    prefix = demo.translator.vocabulary.encode_target("Los", "es")[:-1]
    assert ask({"id": 8, "question": cats | {"prefix": prefix}})["answer"]["target"].startswith("Los ")
    assert "no word 'xyz'" in ask({"id": 9, "question": {"text": "I xyz", "target": "es"}})["error"]
    page = ask({"id": 1, "question": cats | {"page": True, "tensors": [f"{CROSS}.keys"]}})["answer"]
    assert len(page["blocks"]) == 2 and page["runs"][0]["translation"] == "Me gustan los gatos"


def test_without_its_package_a_widget_says_what_to_install(
    demo: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pellucid.page.widget", None)
    with pytest.raises(pellucid.PellucidError, match=r'pip install "pellucid\[notebook\]"'):
        demo.widget()


@contextmanager
def shown(browser: Any, widget: Widget, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Any]]:
    """The widget in a browser: the notebook's page, and the frame in it."""
    ask = answers(widget, monkeypatch)

    def python(kind: str, content: Any) -> Any:
        if kind == "send":
            return json.loads(json.dumps(ask(content)))
        for name, value in content.items():
            setattr(widget, name, value)

    page = browser.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.expose_function("python", python)
    script = base64.b64encode(page_file("script/served/widget.js").encode()).decode()
    state = {"_html": widget._html, "address": widget.address, "height": widget.height}
    page.evaluate(f"([script, state]) => ({HOST})(script, state)", [script, state])
    try:
        frame = page.frames[1]
        settle(frame, widget)
        yield page, frame
        assert complaints == []
    finally:
        page.close()


def settle(frame: Any, widget: Widget) -> None:
    """Wait until the page shows its address, and Python knows it."""
    for _ in range(400):
        if frame.evaluate(SHOWN) and frame.evaluate("location.hash") == widget.address:
            return
        frame.wait_for_timeout(15)
    raise AssertionError(f"never shown: {widget.address}, but {frame.evaluate('location.hash')}")


# The number of the selected cell, and all of its tensor, as the page has them.
NUMBERS = """async () => {
  const tensor = await current.run.get(state.tensor);
  const panel = panelOf(tensor, tensor.axes.includes("H") ? state.head : 0);
  return [panel.at(state.row, state.column), tensor.shape, Array.from(tensor.data), Boolean(tensor.kept)];
}"""


@pytest.mark.browser
@pytest.mark.parametrize(
    "big",
    few(1, [True, False]),
    ids=["computed by Python", "computed by the page"],
)
def test_a_walk_at_random(
    browser: Any, demo: Explanation, monkeypatch: pytest.MonkeyPatch, big: bool, seed: int | None = None
) -> None:
    """Wherever a reader goes, whatever they switch, Python has the numbers that the page shows."""
    seed = random.SystemRandom().randrange(1 << 30) if seed is None else seed
    print(f"seed {seed}, big {big}")
    chance = random.Random(seed)
    widget = too_big(demo, monkeypatch) if big else demo.widget("#encoder.output")
    with shown(browser, widget, monkeypatch) as (page, frame):
        for _ in range(STEPS):
            address = random_address(chance, demo)
            print(address)
            before = widget._shown
            page.evaluate("(address) => told('address', address)", address)
            for _ in range(400):
                if widget._shown is not before and frame.evaluate(SHOWN):
                    break
                frame.wait_for_timeout(15)
            settle(frame, widget)
            number, shape, values, kept = frame.evaluate(NUMBERS)
            assert widget.tensor is not None and widget.cell is not None
            theirs = widget.tensor.tensor
            # Without the scale scores are large, and so is what rounding leaves where they cancel.
            apart = 1e-5 * max(1.0, float(theirs[theirs.isfinite()].abs().max()))
            assert float(theirs[widget.cell]) == pytest.approx(number, rel=1e-4, abs=apart), address
            if not kept:
                rows = theirs[tuple(slice(size) for size in shape)]
                torch.testing.assert_close(
                    torch.tensor(values, dtype=rows.dtype).view(shape), rows, rtol=1e-4, atol=apart
                )
            if chance.random() < 0.3 and (words := frame.locator("#effect .anew").all_inner_texts()):
                assert words[0] == widget.translate().translation.text


@pytest.mark.browser
def test_a_picture_is_saved_and_no_address_is_copied(
    browser: Any, demo: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shown(browser, demo.widget(), monkeypatch) as (page, frame):
        frame.locator("#share summary").click()
        assert frame.locator("#share button:visible").all_inner_texts() == [
            "Lecture mode",
            "Save picture (SVG)",
        ]
        with page.expect_download() as saved:
            frame.locator("#save-picture").click()
        assert saved.value.suggested_filename == "pellucid.svg"


def random_address(chance: random.Random, demo: Explanation) -> str:
    """A cell of any tensor, perhaps of another sentence, at a step or of all steps, with switches."""
    record = demo.trace[chance.choice([*demo.trace])]
    attentions = [name.removesuffix(".weights") for name in demo.trace if name.endswith("attention.weights")]
    fields = {"cell": f"{chance.randrange(3)},{chance.randrange(8)}", "head": chance.randrange(4)}
    fields[chance.choice(["step", "position"])] = chance.randint(1, 4)
    switches = {
        "mask": "off",
        "scale": "off",
        "residual": "off",
        "cache": "off",
        "silent": f"{chance.choice(attentions)}:{chance.randrange(4)}",
    }
    fields |= {name: value for name, value in switches.items() if chance.random() < 0.3}
    if chance.random() < 0.3:
        fields |= {"text": "I%20like%20cats", "to": "es"}
        fields |= {"target": "Me%20gustan%20los%20perros"} if chance.random() < 0.5 else {}
    return f"#{record.name}?" + "&".join(f"{name}={value}" for name, value in fields.items())

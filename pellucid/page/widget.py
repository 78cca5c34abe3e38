"""The page as a widget for notebooks (anywidget): Python has what is selected and switched in it, and
computes what it asks for."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import anywidget
from traitlets import Dict, Int, Unicode

from pellucid.errors import PellucidError, UsageError
from pellucid.page.assembly import page_file
from pellucid.page.document import notebook_page
from pellucid.page.payload import answer
from pellucid.reading.reading import Reading, read
from pellucid.seeing.edits import Edits, of_switches
from pellucid.seeing.records import Record
from pellucid.translate.text_translator import TextTranslator

# What a pass follows from, in a question of the page: the sentence, its language, and what the decoder reads.
PASS = ("text", "target", "translation", "edits")
KEPT = 4  # passes; each holds every tensor


class Widget(anywidget.AnyWidget):
    """The page of an explanation. `address` is its view, as after # in the page's address: set it, and the
    page goes there. The other properties follow the page."""

    address = Unicode("#").tag(sync=True)
    height = Int(900).tag(sync=True)  # of the page, in pixels
    _html = Unicode().tag(sync=True)
    _shown = Dict().tag(sync=True)  # what the page shows: a question, whose answer is its pass, and a place
    _esm = page_file("script/served/widget.js")

    def __init__(self, reading: Reading, translator: TextTranslator, address: str, height: int) -> None:
        first = {"text": reading.translation.source, "target": reading.to, "translation": reading.target_ids}
        self._translator = translator
        self._readings = OrderedDict({_key(first): reading})
        html = notebook_page(reading, translator, first)
        super().__init__(_html=html, _shown=first, address=address, height=height)
        self.on_msg(lambda _, message, buffers: self._reply(message))

    def __repr__(self) -> str:
        return f"<Widget of {self.reading.title}>"

    @property
    def reading(self) -> Reading:
        """The pass that the page shows, with its switches: its steps and its trace."""
        if self._shown.get("padding", "none") != "none":
            raise UsageError("padding: Python reads a sentence alone. Choose none among the page's switches.")
        return self._read(self._shown)

    @property
    def tensor(self) -> Record | None:
        """The tensor that is open in the page; None if none is."""
        return self.reading.trace.get(self._shown.get("tensor", ""))

    @property
    def cell(self) -> tuple[int, ...] | None:
        """The indices of the selected cell, or None: `widget.tensor.tensor[widget.cell]` is its number."""
        record, shown = self.tensor, self._shown
        if record is None or shown["row"] is None:
            return None
        places = [shown["row"], shown["column"] or 0][: len(record.sides)]
        return (*(shown["head"] if axis == "H" else 0 for axis in record.axes[: -len(places)]), *places)

    @property
    def position(self) -> int:
        """The target position that the page shows, from 0."""
        return self._shown.get("position", 0)

    @property
    def edits(self) -> Edits:
        """The page's switches as edits, for `explanation.again`, `pellucid.trace` and `pellucid.editing`."""
        return of_switches(self._shown.get("edits", {}))

    def translate(self) -> Reading:
        """Translate the page's sentence again, with its switches in the search and in the pass."""
        return self._read(self._shown | {"translation": None})

    def _read(self, question: Mapping[str, Any]) -> Reading:
        """Return the pass of a question; the last few are kept."""
        key = _key(question)
        if key not in self._readings:
            to, target, switches = (question.get(name) for name in PASS[1:])
            made = of_switches(switches or {})
            self._readings[key] = read(self._translator, question["text"], to, target, edits=made)
        self._readings.move_to_end(key)
        while len(self._readings) > KEPT:
            self._readings.popitem(last=False)
        return self._readings[key]

    def _reply(self, message: Mapping[str, Any]) -> None:
        """Answer a question of the page, which waits for that whatever happens."""
        try:
            self.send({"id": message["id"], "answer": self._answer(message["question"])})
        except Exception as error:  # the page is told, or it would wait for ever; a fault of ours goes on
            self.send({"id": message["id"], "error": str(error) or type(error).__name__})
            if not isinstance(error, PellucidError):
                raise

    def _answer(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Answer as `/v1/explain` does (pellucid/serve/explaining.py), as far as the page asks."""
        if prefix := question.get("prefix"):
            said = self._translator.translate(question["text"], to=question.get("target"), prefix=prefix)
            return {"target": said.text}
        reading = self._read(question)
        if not question.get("page"):
            return {"target": reading.translation.text}
        return answer(reading, self._translator, question.get("tensors", ()))


def _key(question: Mapping[str, Any]) -> str:
    text, to, target, switches = (question.get(name) for name in PASS)
    changes = {name: parts for name, parts in (switches or {}).items() if parts}
    return json.dumps([text, to, target, changes], sort_keys=True)

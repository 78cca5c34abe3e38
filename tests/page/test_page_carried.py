"""What a page carries of big models and of several explanations; how large it is; which line made what."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from engine_page import engine_page, error_of, numbers_of
from opened_page import OpenPage

from pellucid.config.schema import PRESETS, Config, VocabularyConfig
from pellucid.explanation import Explanation
from pellucid.page import payload

pytestmark = pytest.mark.browser
WORDS = 37_000


@pytest.fixture
def as_if_big(monkeypatch: pytest.MonkeyPatch) -> Explanation:
    """A small model of which the page is to carry no more than of a big one."""
    monkeypatch.setattr(payload, "COMPUTES", 0)
    return tiny.translator(norm="first").explain("I like cats", to="es", target="Me gustan los gatos")


def test_a_big_model_is_a_recording(browser: Any, as_if_big: Explanation, tmp_path: Path) -> None:
    seen, vocabulary = as_if_big.trace, as_if_big.vocabulary
    with engine_page(browser, [as_if_big], tmp_path) as page:
        found = numbers_of(page, "page.runs[0]")
        kept = page.evaluate("page.runs[0].get('decoder.logits').then(({ kept }) => kept)")
        labels = page.evaluate("page.runs[0].labels('decoder.probabilities', 'V')")
        parameters = page.evaluate("[...page.models[0].parameters.keys()]")
        told = error_of(page, "explainText('I', 'es')")
        assert told.startswith("This page holds a recording, not the model: it cannot read another"), told
    assert list(found) == list(seen) and kept["size"] == vocabulary.target_size
    assert parameters == [name for name in as_if_big.translator.model.state_dict() if ".norm." in name]
    for name, record in seen.items():
        axes, ours = found[name]
        if record.axes[-1] != "V":
            theirs = np.ascontiguousarray(record.tensor.numpy())
            assert (ours.view(np.uint32) == theirs.view(np.uint32)).all(), name
            continue
        assert axes == "BLV" and labels == [*map(str, range(1, 21)), "expected"]
        for row, (numbers, expected) in enumerate(zip(record.tensor[0], as_if_big.target_ids, strict=True)):
            ids = [*sorted(range(len(numbers)), key=lambda token: -numbers[token].item())[:20], expected]
            assert ours[0, row].tolist() == numbers[ids].tolist()
            assert kept["tokens"][row] == vocabulary.target_tokens(ids)
            total = math.log(sum(math.exp(value) for value in seen["decoder.logits"].tensor[0, row].tolist()))
            assert kept["log_sum_exp"][row] == pytest.approx(total, abs=1e-5)


def test_transformer_base_fits(open_page: OpenPage, tmp_path: Path) -> None:
    """With random weights and 20 tokens on each side."""
    syllables = [f"{a}{b}" for a in "bdfgklmnprstvz" for b in "aeiou"]
    words = ["".join(parts) for parts in itertools.product(syllables, repeat=3)][: WORDS - 100]
    lines = [" ".join(words[first : first + 100]) for first in range(0, len(words), 100)]
    words_alone = Config(vocabulary=VocabularyConfig(kind="word", size=WORDS))
    translator = tiny.untrained(lines, lines, words_alone, **PRESETS["base"])
    base = translator.explain(" ".join(words[:19]), target=" ".join(words[100:119]))
    assert translator.model.config.vocabulary > 36_000 and len(base.target_tokens) == 20
    opened = open_page(of=base)
    assert (tmp_path / "page.html").stat().st_size < 15_000_000
    assert opened.page.locator("#drawing .said").count() == 20
    name = "decoder.layers.5.feed_forward.hidden"
    last = f"page.runs[0].get('{name}').then(({{ data }}) => Array.from(data.slice(-3)))"
    assert opened.page.evaluate(last) == base.trace[name].tensor.flatten()[-3:].tolist()


def test_what_json_has_no_number_for(browser: Any, tmp_path: Path) -> None:
    translator = tiny.translator(output_bias=True)
    impossible = translator.vocabulary.encode_target("gatos", "es")[0]
    with torch.no_grad():
        bias = translator.model.decoder.projection.bias
        assert bias is not None
        bias[impossible] = -math.inf
    explanation = translator.explain("cats", to="es", target="Me gatos")
    with engine_page(browser, [explanation], tmp_path) as page:
        assert page.evaluate("page.runs[0].steps[1].loss") == math.inf == explanation.steps[1].loss
        again = "computedRun(page.runs[0].model, page.runs[0].sentence).steps[1]"
        assert page.evaluate(f"[{again}.loss, {again}.probability]") == [math.inf, 0]
        logits = numbers_of(page, "page.runs[0]")["decoder.logits"][1]
    assert logits[0, 1, impossible] == -math.inf

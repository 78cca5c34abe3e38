"""The model card: hubs can read it, what it says is true, and a card that somebody changed stays."""

import json
import re
from pathlib import Path

import pytest
import short_runs
from huggingface_hub import ModelCard

import pellucid
from pellucid.folder.load import load_model
from pellucid.interop.card import CARD, OURS, USE, card_of, write_card


@pytest.mark.parametrize("program", USE)
def test_hubs_can_read_it(program: str, tmp_path: Path) -> None:
    demo = pellucid.load("demo")
    manifest = json.loads((Path(pellucid.__file__).parent / "demo_model" / "MANIFEST.json").read_bytes())
    write_card(demo.config, manifest, tmp_path, program, "tiny-words")
    card = ModelCard.load(tmp_path / CARD)
    assert (card.data.license, card.data.language) == ("Apache-2.0", ["en", "hi", "fr", "es"])
    assert card.data.model_name == "tiny-words" and card.data.eval_results
    assert {each.metric_type for each in card.data.eval_results} == {"bleu", "chrf"}
    assert all(sha256 in card.text for sha256 in manifest["provenance"]["data"].values())
    code = re.search(r"```python\n(.*?)```", card.text, re.DOTALL)
    assert code and compile(code[1], program, "exec")


def test_a_training_writes_it_and_keeps_what_its_user_wrote(tmp_path: Path) -> None:
    def trained(steps: int) -> str:
        config = short_runs.config(tmp_path / "data", {"training.steps": steps})
        pellucid.train(config, tmp_path / "run", resume=steps > 2, show=False)
        return (tmp_path / "run" / CARD).read_text("utf-8")

    first = trained(2)
    assert "# run\n" in first and "step 2" in first and "Unknown: " in first
    load_model(tmp_path / "run")
    saved = load_model(tmp_path / "run" / "checkpoints" / "step-2")
    of_step = card_of(saved.config, saved.manifest, "pellucid", "step")
    assert "; step 2.\n" in of_step and "imported" not in of_step
    assert OURS in first and trained(4) != first
    (tmp_path / "run" / CARD).write_text("mine", "utf-8")
    assert trained(6) == "mine"

"""The causal map: each number is that of a pass of its own with edits; all of the stream brings all back."""

import json
import random
from pathlib import Path

import pytest
from command import Command

import pellucid
from pellucid.errors import UsageError
from pellucid.seeing.edits import patch, rewrite, together


def test_each_number_is_that_of_a_pass_with_edits() -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance, explanation = random.Random(seed), pellucid.load("demo").explain("I like cats", to="es")
    step, source = chance.randrange(len(explanation.steps)), chance.randrange(len(explanation.source_ids))
    found = explanation.causal_map(step, source)
    model = explanation.translator.model
    blank = model.embedding.weight.mean(0) * model.encoder.scale  # type: ignore[union-attr]
    corrupt = rewrite("encoder.token_embeddings", blank.detach(), at=(0, source))

    def p(*edits: object) -> float:
        seen = explanation.again(together(corrupt, *edits))  # type: ignore[arg-type]
        return float(seen["decoder.probabilities"].tensor[0, step, explanation.target_ids[step]])

    assert found.corrupt == pytest.approx(p(), abs=1e-5)
    assert len(found.restored) == 2 * 3 + 2 * 4
    for name in chance.sample(sorted(found.restored), 4):
        place = chance.randrange(len(found.restored[name]))
        vector = explanation.trace[name].tensor[0, place]
        one = p(rewrite(name, vector, at=(0, place)))
        assert found.restored[name][place] == pytest.approx(one, abs=1e-5), (name, place)
    whole = p(patch(explanation.trace, "encoder.output"))
    assert whole == pytest.approx(found.clean, abs=1e-5)
    last = found.returned["decoder.layers.1.residual_3.output"]
    assert last[step] == pytest.approx(1, abs=1e-2) or abs(found.clean - found.corrupt) < 1e-3
    with pytest.raises(UsageError, match="there are 5 steps and"):
        explanation.causal_map(5, 0)


def test_the_command_line(pellucid: Command, tmp_path: Path) -> None:
    file = tmp_path / "map.json"
    said = pellucid("explain", "demo", "I like cats", "--to", "es", "--map", "cats", "--json", file)
    assert said.code == 0 and "if cats is made unreadable" in " ".join(said.out.split()), said.err
    table = json.loads(file.read_text("utf-8"))["causal_map"]
    assert (table["word"], table["corrupted"]) == ("gatos", "cats")
    wrong = pellucid("explain", "demo", "I like cats", "--to", "es", "--map", "dogs")
    assert wrong.code == 2 and "--map dogs: the sentence has it 0 times" in wrong.err
    twice = "explain", "demo", "cats cats", "--to", "es", "--map"
    wrong = pellucid(*twice, "cats")
    assert "Name one of its tokens, or the token's number: 0 >>es<<, 1 cats, 2 cats, 3 </s>." in wrong.err
    assert pellucid(*twice, "2").code == 0
    little = pellucid("explain", "demo", "I like cats", "--to", "es", "--target", ".", "--map", ">>es<<")
    assert (
        little.code == 0
        and "so little is lost that the shares below say nothing" in " ".join(little.out.split()).lower()
    )

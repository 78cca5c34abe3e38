"""Edits without a recording, and the pass of an explanation once more: what would it say otherwise?"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import pellucid
from pellucid import edits
from pellucid.errors import UsageError

HEAD = "decoder.layers.1.cross_attention"
CATS = "I like cats"


@pytest.fixture(scope="module")
def demo() -> Any:
    return pellucid.load("demo", "cpu")


@pytest.fixture(scope="module")
def explained(demo: Any) -> Any:
    return demo.explain(CATS, to="es")


def greedy_by_hand(translator: Any, source_ids: list[int], changes: Any, steps: int) -> list[int]:
    """Word by word, all positions again each time, each pass a trace of its own."""
    model, said = translator.model, list[int]()
    never = [0, 1, 2, *(i for i in range(len(model.embedding.weight)) if is_tag(translator, i))]
    for _ in range(steps):
        source, target = torch.tensor([source_ids]), torch.tensor([[model.config.start_id, *said]])
        with torch.no_grad(), pellucid.trace(model, only="decoder.logits", edits=changes):
            logits = model(source, None, target)[0, -1]
        logits[never] = -torch.inf
        said.append(int(logits.argmax()))
        if said[-1] == model.config.end_id:
            break
    return said


def is_tag(translator: Any, token: int) -> bool:
    return translator.vocabulary.target_tokens([token])[0].startswith(">>")


@pytest.mark.parametrize(
    "changes",
    [
        edits.silence(f"{HEAD}", [0, 1, 2, 3]),
        edits.silence("decoder.layers.*.cross_attention", [0, 1, 2, 3], "uniform"),
        edits.without_scale("decoder.layers.0.self_attention"),
        edits.without_residual("decoder.layers.1.residual_2"),
    ],
    ids=["silent", "uniform", "unscaled", "no residual"],
)
def test_a_translation_with_edits_is_the_one_that_edited_passes_make(
    demo: Any, explained: Any, changes: Any
) -> None:
    with pellucid.editing(demo.model, changes):
        changed = demo.translate(CATS, to="es", beam=1, max_length=8)
    found = changed.hypotheses[0].token_ids
    assert found == greedy_by_hand(demo, explained.source_ids, changes, 8)
    assert demo.translate(CATS, to="es").text == "Me gustan los gatos", "afterwards all is as it was"


def test_every_glob_that_matches_a_tensor_edits_it(demo: Any, explained: Any) -> None:
    changes = {
        "decoder.layers.*.cross_attention.context": lambda context: 2 * context,
        f"{HEAD}.context": lambda context: context + 1,
        "decoder.*": lambda tensor: 0.9 * tensor,
    }
    source, target = torch.tensor([explained.source_ids]), torch.tensor([[2, *explained.target_ids[:-1]]])
    with torch.no_grad(), pellucid.editing(demo.model, changes):
        edited = demo.model(source, None, target)
    assert torch.equal(edited, explained.again(changes)["decoder.logits"].tensor)


def test_it_changes_what_is_said_and_scored(demo: Any) -> None:
    blind = edits.silence("decoder.layers.*.cross_attention", [0, 1, 2, 3])
    with pellucid.editing(demo.model, blind):
        said = [demo.translate(each, to="es").text for each in (CATS, "How are you")]
    assert said[0] == said[1] != "Me gustan los gatos", "without the source every sentence is the same"


def test_what_editing_refuses(demo: Any) -> None:
    silent = edits.silence(HEAD, 0)
    with pytest.raises(UsageError, match="no pass of this model ran"), pellucid.editing(demo.model, silent):
        pass
    with (
        pytest.raises(
            UsageError, match=r"edits: no tensor is called \"decoder.logit\"\. Nearest: decoder.logits"
        ),
        pellucid.editing(demo.model, {"decoder.logit": lambda logits: logits}),
    ):
        demo.translate(CATS, to="es")
    with pytest.raises(UsageError, match=r"of a translator, its \.model"), pellucid.editing(demo, silent):
        pass
    with pytest.raises(UsageError, match="does not map names"), pellucid.editing(demo.model, ["a"]):  # type: ignore[arg-type]
        pass
    with (
        pytest.raises(UsageError, match="one trace at a time"),
        pellucid.editing(demo.model, silent),
        pellucid.editing(demo.model, silent),
    ):
        pass


def test_the_same_pass_again(explained: Any) -> None:
    again = explained.again()
    assert list(again) == list(explained.trace)
    for name, record in again.items():
        assert torch.equal(record.tensor, explained.trace[name].tensor), name
        assert record.tokens == explained.trace[name].tokens
    few = explained.again(only=["*.weights", "decoder.logits"])
    assert set(few) == {*explained.trace.matching("*.weights"), "decoder.logits"}


def test_again_with_edits_and_with_gradients(explained: Any) -> None:
    silent = explained.again(edits.silence(HEAD, 2))
    assert float(silent[f"{HEAD}.context"].tensor[0, 2].abs().max()) == 0
    assert not torch.equal(silent["decoder.logits"].tensor, explained.trace["decoder.logits"].tensor)
    seen = explained.again(gradients=True)
    said = explained.target_ids[1]
    found = pellucid.gradients(seen["decoder.logits"].tensor[0, 1, said], seen)["encoder.output"]
    step = 1e-2
    nudged = [
        explained.again({"encoder.output": lambda memory, by=by: put(memory, by)}, only="decoder.logits")
        for by in (step, -step)
    ]
    up, down = (float(each["decoder.logits"].tensor[0, 1, said]) for each in nudged)
    assert float(found[0, 2, 5]) == pytest.approx((up - down) / (2 * step), rel=0.02, abs=1e-3)


def put(memory: Any, by: float) -> Any:
    memory[0, 2, 5] += by
    return memory


def test_patching_from_a_saved_run(demo: Any, explained: Any, tmp_path: Path) -> None:
    other = demo.explain("I like dogs", to="es")
    other.to_npz(tmp_path / "dogs.npz")
    with np.load(tmp_path / "dogs.npz") as saved:
        changes = edits.patch(saved, "encoder.output")
        patched = explained.again(changes)
    direct = explained.again(edits.patch(other.trace, "encoder.output"))
    assert torch.equal(patched["decoder.logits"].tensor, direct["decoder.logits"].tensor)
    best = patched["decoder.probabilities"].tensor[0, 3].argmax()
    assert demo.vocabulary.target_tokens([int(best)]) == ["perros"], "it now says what the other source was"
    longer = demo.explain("I like my dogs", to="es")
    with pytest.raises(UsageError, match=r"was \(1, 6, 64\) in the other run and is \(1, 5, 64\) here"):
        explained.again(edits.patch(longer.trace, "encoder.output"))
    with pytest.raises(UsageError, match=r'no tensor is called "encoder\.outputs"'):
        edits.patch(other.trace, "encoder.outputs")
    with pytest.raises(UsageError, match="must be a trace"):
        edits.patch(None, "encoder.output")  # type: ignore[arg-type]


def test_a_patch_leaves_the_run_that_it_comes_from(demo: Any, explained: Any) -> None:
    """Edits may write into what they get: it must not be the recording."""
    other, weights = demo.explain("I like dogs", to="es"), f"{HEAD}.weights"
    before = other.trace[weights].tensor.clone()
    saved = {weights: before.numpy().copy()}
    look = edits.rewrite(weights, [0, 1, 0, 0, 0], at=(0, 2, 1))
    for run in (other.trace, saved):
        seen = explained.again(edits.together(edits.patch(run, weights), look))
        assert seen[weights].tensor[0, 2, 1].tolist() == [0, 1, 0, 0, 0]
    assert torch.equal(other.trace[weights].tensor, before)
    assert np.array_equal(saved[weights], before.numpy())


@pytest.mark.parametrize(
    ("changes", "kept", "rewritten"),
    [
        (edits.without_residual("decoder.layers.0.residual_2"), "decoder.layers.0.cross_attention.output",
         "decoder.layers.0.residual_2.sum"),
        (edits.without_scale(HEAD), f"{HEAD}.scores", f"{HEAD}.scaled_scores"),
    ],
)  # fmt: skip
def test_a_recording_with_its_graph_is_not_written_into(
    explained: Any, changes: Any, kept: str, rewritten: str
) -> None:
    zero = edits.rewrite(rewritten, 0.0, at=(0, 1))
    seen = explained.again(edits.together(changes, zero), gradients=True)
    assert float(seen[rewritten].tensor[0, 1].detach().abs().max()) == 0
    assert torch.equal(seen[kept].tensor.detach(), explained.again(changes)[kept].tensor)


def test_edits_in_a_beam_search(demo: Any) -> None:
    """A residual removed is what it is in a pass over all positions; a mean over positions there is none."""
    gone = edits.without_residual("decoder.layers.1.residual_2")
    with pellucid.editing(demo.model, gone):
        said = demo.translate(CATS, to="es", beam=4)
    again = demo.explain(CATS, to="es", target=said.text).again(gone)
    best = said.hypotheses[0]
    log_p = again["decoder.logits"].tensor[0].log_softmax(-1)
    parallel = [float(log_p[place, token]) for place, token in enumerate(best.token_ids)]
    assert best.log_probabilities == pytest.approx(parallel, abs=1e-4)
    with (
        pytest.raises(UsageError, match="needs all positions of a sentence in one pass"),
        pellucid.editing(demo.model, edits.silence(HEAD, 2, "mean")),
    ):
        demo.translate(CATS, to="es")


def test_what_is_no_saved_run(demo: Any, tmp_path: Path) -> None:
    demo.explain("I like dogs", to="es").to_npz(tmp_path / "dogs.npz")
    with np.load(tmp_path / "dogs.npz") as saved:
        assert set(edits.patch(saved, "*")) == {name for name in saved if "." in name}
    for arrays in (
        {"decoder.logits": [[1.0], [1.0, 2.0]]},
        {"decoder.logits": None},
        {"decoder.logits": "a"},
    ):
        with pytest.raises(UsageError, match=r"patch: decoder\.logits is no array of numbers"):
            edits.patch(arrays, "decoder.logits")
    with pytest.raises(UsageError, match="keys are not all names"):
        edits.patch({3: [1.0]}, "decoder.logits")  # type: ignore[dict-item]
    with pytest.raises(UsageError, match="is no glob of names"):
        demo.explain(CATS, to="es").trace.matching(None)


def test_names_that_match(explained: Any) -> None:
    found = explained.trace.matching("decoder.layers.*.cross_attention.weights")
    assert list(found) == [f"decoder.layers.{layer}.cross_attention.weights" for layer in (0, 1)]
    assert all(found[name] is explained.trace[name] for name in found)
    with pytest.raises(
        UsageError, match=r"is a glob, and this takes one name\. All that match: \.matching\("
    ):
        explained.trace["decoder.layers.*.cross_attention.weights"]
    with pytest.raises(UsageError, match="no tensor is called"):
        explained.trace.matching("decoder.layer.*")

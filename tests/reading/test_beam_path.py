"""The search once more, and decoding step by step, compared with plain loops and with the parallel pass."""

import dataclasses
import math
from types import SimpleNamespace
from typing import Any

import pytest
import random_translator
import torch
from readings import replaced
from tiny import translator

import pellucid
from pellucid.errors import PellucidError
from pellucid.explanation import Explanation
from pellucid.reading.beam_path import LOST, BeamPath, BeamStep, Candidate
from pellucid.reading.stepwise import Gap, Stepwise, TokenStep, largest_gap


def explained(seed: int = 3) -> Explanation:
    searcher = random_translator.translator(seed=seed, end=1.5)
    translation = dataclasses.replace(searcher.config.translation, beam=3, max_length=8)
    searcher.config = dataclasses.replace(searcher.config, translation=translation)
    return searcher.explain("the dog saw two cats .")


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_the_replay_ends_in_the_same_hypotheses(seed: int) -> None:
    explanation = explained(seed)
    path = explanation.beam_path
    served = explanation.translator.translate(explanation.translation.source, n_best=3)
    assert path.endings == served.hypotheses and path.lost_at is None
    survivors = [step.survivor for step in path.steps[: len(path.target)]]
    assert [each.token_ids[-1] for each in survivors if each] == explanation.target_ids
    last = survivors[-1]
    assert last is not None
    assert last.total / len(explanation.target_ids) == pytest.approx(explanation.translation.score, abs=1e-6)


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_each_candidate_has_the_log_probabilities_of_a_pass_over_it(seed: int) -> None:
    """That the best of all are weighed is tested with the search itself."""
    explanation = explained(seed)
    model, source = explanation.translator.model, torch.tensor([explanation.source_ids])
    for number, step in enumerate(explanation.beam_path.steps, start=1):
        for each in step.candidates:
            read = torch.tensor([[model.config.start_id, *each.token_ids[:-1]]])
            with torch.no_grad():
                log_p = model(source, None, read)[0].log_softmax(-1)
            expected = log_p[range(number), each.token_ids].tolist()
            assert each.log_probability == pytest.approx(expected[-1], abs=1e-4)
            assert each.total == pytest.approx(sum(expected), abs=1e-4)
            assert each.tokens == explanation.vocabulary.target_tokens(each.token_ids)
        totals = [each.total for each in step.candidates]
        assert totals == sorted(totals, reverse=True)
        assert len({tuple(each.token_ids) for each in step.candidates}) == 6


def test_every_candidate_has_a_fate_and_only_the_kept_go_on() -> None:
    moved_up = 0
    for seed in range(6):
        path = explained(seed).beam_path
        fates = {candidate.fate for step in path.steps for candidate in step.candidates}
        assert {"kept", "dropped"} <= fates <= {"kept", "finished", "cut off", *LOST}
        for step, later in zip(path.steps, path.steps[1:], strict=False):
            kept = [tuple(each.token_ids) for each in step.candidates if each.fate == "kept"]
            # By loops: the best three that have not ended, wherever they stand.
            assert kept == [tuple(each.token_ids) for each in step.candidates if each.token_ids[-1] != 3][:3]
            assert {tuple(each.token_ids[:-1]) for each in later.candidates} <= set(kept)
            moved_up += any(each.fate == "kept" for each in step.candidates[3:])
        finished = [
            each.token_ids for step in path.steps for each in step.candidates if each.fate == "finished"
        ]
        assert sorted(finished) == sorted(each.token_ids for each in path.endings if each.finished)
    assert moved_up, "no seed has an end token inside the beam: choose other ones"


def forced(explanation: Explanation, ids: list[int]) -> BeamPath:
    said = dataclasses.replace(explanation.translation.hypotheses[0], token_ids=ids)
    translation = dataclasses.replace(explanation.translation, hypotheses=[said])
    return dataclasses.replace(explanation, forced=True, translation=translation).beam_path


def test_a_given_target_is_lost_where_the_search_dropped_it() -> None:
    explanation = explained()
    path = explanation.beam_path
    second = path.steps[1]
    dropped = [each for each in second.candidates if each.fate == "dropped"][-1]
    lost = forced(explanation, [*dropped.token_ids, 3])
    assert lost.lost_at == 1
    rank = [each.token_ids for each in second.candidates].index(dropped.token_ids) + 1
    assert f"at step 2: with {dropped.tokens[-1]!r} it was number {rank} of 6; others were" in lost.verdict
    inside = {each.token_ids[0] for each in path.steps[0].candidates}
    never = next(token for token in range(4, 40) if token not in inside)
    nowhere = forced(explanation, [never, 3])
    assert nowhere.lost_at == 0 and nowhere.steps[0].place is None
    assert "was not among the 6 best candidates" in nowhere.verdict
    assert forced(explanation, explanation.target_ids).lost_at is None


def test_a_model_that_changed_in_between_is_noticed() -> None:
    explanation = explained()
    bias = explanation.translator.model.decoder.projection.bias
    assert bias is not None
    with torch.no_grad():
        bias[explanation.target_ids[0]] -= 50
    with pytest.raises(PellucidError, match=r"^the search now finds another"):
        _ = explanation.beam_path


def test_a_search_that_goes_on_after_the_winner_has_ended() -> None:
    explanation = pellucid.load("demo").explain("I love you", to="fr")
    path = explanation.beam_path
    assert len(path.steps) > len(path.target) and path.steps[-1].place is None
    assert path.lost_at is None and path.verdict.startswith("It was the first at every step")
    assert [line.split()[1] for line in path.lines(80) if line.startswith("5 ")] == ["out"]


def test_the_replay_computes_in_bf16_what_was_served_in_bf16() -> None:
    explanation = translator(precision="bf16").explain("I like cats", to="es")
    assert explanation.beam_path.endings[0] == explanation.translation.hypotheses[0]


KEPT, OPEN = (Candidate(["los"], [7], -0.5, -0.5, fate) for fate in ("kept", "left open"))


@pytest.mark.parametrize(
    "steps,lost_at,verdict",
    [
        ([([OPEN], 0)], 0, "was number 1 of 1; the search ended before it did."),
        ([([KEPT, KEPT], 1), ([KEPT], 0), ([KEPT, KEPT], 1)], None, "not the first at step 1, 3: a narrower"),
        ([([KEPT], 0)] * 2, 2, "The search was over after 2 steps, before it."),
    ],
)
def test_what_became_of_a_path_is_said(steps: list[Any], lost_at: int | None, verdict: str) -> None:
    path = BeamPath(2, [BeamStep(*step) for step in steps], [], ["los"] * 3)
    assert path.lost_at == lost_at and verdict in path.verdict


def test_a_path_that_was_finished_and_not_chosen_says_so() -> None:
    ended = [SimpleNamespace(tokens=tokens) for tokens in (["geh", "</s>"], ["los", "</s>"])]
    path = BeamPath(2, [BeamStep([KEPT], 0)] * 2, ended, ["los", "</s>"])  # type: ignore[arg-type]
    assert path.verdict == "It was finished, as number 2 of 2: the score of another is better."


# Step by step, with a cache and without


@pytest.mark.parametrize("norm", ["last", "first"])
def test_every_tensor_of_every_step_is_that_of_the_pass(norm: str) -> None:
    explanation = translator(norm=norm).explain("How are you ?", to="hi", target="आप कैसे हैं ?")
    steps = explanation.stepwise
    assert steps.largest_difference < 1e-5
    assert [step.input for step in steps.steps] == explanation.target_tokens
    assert (steps.cached_rows, steps.whole_rows) == (5, 15)
    assert f"{steps.largest_difference:.1e}, in {steps.where}" in str(steps)


@pytest.mark.parametrize(
    "name,place,step",
    [
        ("decoder.layers.1.feed_forward.hidden", (0, 3, 7), 3),
        ("decoder.layers.0.self_attention.weights", (0, 1, 2, 1), 2),
        ("decoder.layers.1.cross_attention.values", (0, 0, 2, 1), 0),
        ("decoder.probabilities", (0, 4, 11), 4),
        ("encoder.layers.0.residual_2.output", (0, 1, 2), None),
    ],
)
def test_a_number_that_differs_is_found_and_named(
    hindi: Explanation, name: str, place: tuple[int, ...], step: int | None
) -> None:
    record = hindi.trace[name]
    tensor = record.tensor.clone()
    tensor[place] += 0.5
    steps = replaced(hindi, dataclasses.replace(record, tensor=tensor)).stepwise
    assert steps.largest_difference == pytest.approx(0.5, abs=1e-5)
    assert steps.where == name
    wrong = [number for number, each in enumerate(steps.steps) if each.cached.difference > 0.1]
    if step is None:
        assert wrong == [] and steps.encoder.difference == pytest.approx(0.5, abs=1e-5)
    else:
        assert wrong[0] == step and ("values" in name or wrong == [step])


@pytest.mark.parametrize("where", range(5))
def test_the_largest_difference_is_of_any_step_and_way(where: int) -> None:
    encoder, *gaps = (Gap(float(place == where), str(place)) for place in range(5))
    steps = Stepwise([TokenStep("a", *gaps[:2]), TokenStep("b", *gaps[2:])], encoder)
    assert (steps.largest_difference, steps.where) == (1.0, str(where))


def test_minus_infinity_equals_itself_alone() -> None:
    inf = math.inf
    assert largest_gap(torch.tensor([-inf, 1.0]), torch.tensor([-inf, 1.5])) == 0.5
    assert largest_gap(torch.tensor([-inf]), torch.tensor([0.0])) == inf
    assert largest_gap(torch.tensor([math.nan]), torch.tensor([math.nan])) == inf

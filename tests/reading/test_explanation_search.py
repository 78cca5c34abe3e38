"""The search once more: the same hypotheses, and candidates as a search by plain loops has them."""

import dataclasses
import math

import pytest
import random_translator
import torch
from tiny import translator

import pellucid
from pellucid.errors import PellucidError
from pellucid.explanation import Explanation
from pellucid.reading.beam_path import FATES, BeamPath, BeamStep, Candidate
from pellucid.translator import Translator


def by_loops(
    tiny: Translator, source: list[int], beam: int, limit: int, forbidden: list[int]
) -> list[list[tuple[list[int], float]]]:
    """The 2 * beam best candidates of each step, from one whole pass for each hypothesis, in float64."""
    model, end = tiny.model, tiny.model.config.end_id
    ids = torch.tensor([source])
    hypotheses: list[tuple[list[int], float]] = [([], 0.0)]
    steps, finished = [], 0
    for _ in range(limit):
        weighed = []
        for said, total in hypotheses:
            read = torch.tensor([[model.config.start_id, *said]])
            with torch.no_grad():
                logits = model(ids, torch.ones_like(ids, dtype=torch.bool), read)[0, -1].double().tolist()
            most = max(logits)
            norm = most + math.log(sum(math.exp(logit - most) for logit in logits))
            weighed += [
                ([*said, token], total + logit - norm)
                for token, logit in enumerate(logits)
                if token not in forbidden
            ]
        weighed.sort(key=lambda pair: -pair[1])
        steps.append(weighed[: 2 * beam])
        finished += sum(said[-1] == end for said, _ in weighed[:beam])
        hypotheses = [pair for pair in steps[-1] if pair[0][-1] != end][:beam]
        if finished >= beam:
            break
    return steps


def explained(text: str = "the dog saw two cats .", seed: int = 3) -> tuple[Translator, Explanation]:
    searcher = random_translator.translator(seed=seed, end=1.5)
    translation = dataclasses.replace(searcher.config.translation, beam=3, max_length=8)
    searcher.config = dataclasses.replace(searcher.config, translation=translation)
    return searcher, searcher.explain(text)


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_the_replay_ends_in_the_same_hypotheses(seed: int) -> None:
    searcher, explanation = explained(seed=seed)
    path = explanation.beam_path
    served = searcher.translate("the dog saw two cats .", n_best=3).hypotheses
    assert [each.token_ids for each in path.endings] == [each.token_ids for each in served]
    assert [each.score for each in path.endings] == [each.score for each in served]
    assert [each.finished for each in path.endings] == [each.finished for each in served]
    assert path.lost_at is None
    survivors = [step.survivor for step in path.steps[: len(path.target)]]
    assert [each.token_ids[-1] for each in survivors if each] == explanation.target_ids
    last = survivors[-1]
    assert last is not None
    assert last.total / len(explanation.target_ids) == pytest.approx(explanation.translation.score, abs=1e-6)


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_each_step_weighs_what_a_search_by_loops_weighs(seed: int) -> None:
    searcher, explanation = explained(seed=seed)
    forbidden = [0, 1, 2]  # pad, unknown, start
    expected = by_loops(searcher, explanation.source_ids, beam=3, limit=8, forbidden=forbidden)
    path = explanation.beam_path
    assert len(path.steps) == len(expected)
    for step, weighed in zip(path.steps, expected, strict=True):
        assert [each.token_ids for each in step.candidates] == [said for said, _ in weighed]
        assert [each.total for each in step.candidates] == pytest.approx(
            [total for _, total in weighed], abs=1e-4
        )
        before = {tuple(each.token_ids): each.total for each in step.candidates}
        assert len(before) == 6


def test_every_candidate_has_a_fate_and_only_the_kept_go_on() -> None:
    moved_up = 0
    for seed in range(6):
        _, explanation = explained(seed=seed)
        path = explanation.beam_path
        fates = {candidate.fate for step in path.steps for candidate in step.candidates}
        assert fates <= FATES.keys() and {"kept", "dropped"} <= fates
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
    return dataclasses.replace(explanation, forced=True, target_ids=ids).beam_path


def test_a_given_target_is_lost_where_the_search_dropped_it() -> None:
    _, explanation = explained()
    path = explanation.beam_path
    second = path.steps[1]
    dropped = second.dropped[-1]
    lost = forced(explanation, [*dropped.token_ids, 3])
    assert lost.lost_at == 1
    rank = [each.token_ids for each in second.candidates].index(dropped.token_ids) + 1
    assert f"at step 2: with {dropped.tokens[-1]!r} it was number {rank} of 6; others were" in lost.verdict
    inside = {each.token_ids[0] for each in path.steps[0].candidates}
    never = next(token for token in range(4, 40) if token not in inside)
    nowhere = forced(explanation, [never, 3])
    assert nowhere.lost_at == 0 and nowhere.steps[0].place is None
    assert "was not among the 6 best candidates" in nowhere.verdict
    found = forced(explanation, explanation.target_ids)
    assert found.lost_at is None


def test_a_path_that_was_not_always_first_says_so() -> None:
    for seed in range(12):
        _, explanation = explained(seed=seed)
        path = explanation.beam_path
        places = [step.place for step in path.steps[: len(path.target)]]
        later = [number for number, place in enumerate(places, start=1) if place]
        assert ("narrower beam may lose it" in path.verdict) == bool(later)
        if later:
            assert ", ".join(map(str, later)) in path.verdict
            return
    raise AssertionError("no seed has such a path: choose other ones")


def test_a_model_that_changed_in_between_is_noticed() -> None:
    searcher, explanation = explained()
    bias = searcher.model.decoder.projection.bias
    assert bias is not None
    with torch.no_grad():
        bias[explanation.target_ids[0]] -= 50
    with pytest.raises(PellucidError) as error:
        _ = explanation.beam_path
    assert str(error.value) == (
        "the search, run again, ended in another translation than before: the model or its settings changed "
        "in between. Explain the sentence anew."
    )


def test_a_search_that_goes_on_after_the_winner_has_ended() -> None:
    explanation = pellucid.load("demo").explain("I like cats", to="es")
    path = explanation.beam_path
    assert len(path.steps) > len(path.target) and path.steps[-1].place is None
    assert path.lost_at is None and path.verdict.startswith("It was the first at every step")
    assert [line.split()[1] for line in path.lines(80) if line.startswith("6 ")] == ["out"]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_replay_computes_as_what_was_served_did(precision: str) -> None:
    explanation = translator(precision=precision).explain("I like cats", to="es")
    path = explanation.beam_path
    assert path.endings[0].token_ids == explanation.target_ids
    assert path.endings[0].score == explanation.translation.score


def test_the_path_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    explanation = translator().explain("I like cats", to="es")
    explanation.beam_path.show()
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "The search with beam" in text and "What came out, best first:" in text
    assert f"{explanation.translation.score:.4f}" in text


def test_each_row_of_the_path_has_its_log_probability_and_their_sum() -> None:
    explanation = translator().explain("I like cats", to="es")
    found = explanation.trace["decoder.logits"].tensor[0].double().log_softmax(-1)
    log_p = [float(found[place, token]) for place, token in enumerate(explanation.target_ids)]
    assert len(log_p) > 2 and abs(sum(log_p)) > abs(log_p[-1]) + 0.1
    lines = explanation.beam_path.lines(200)
    for number, step in enumerate(explanation.beam_path.steps[: len(log_p)], start=1):
        cells = next(line.split() for line in lines if line.split()[:1] == [str(number)])
        assert cells[1] == explanation.steps[number - 1].expected
        assert float(cells[2]) == pytest.approx(log_p[number - 1], abs=1e-3)
        assert float(cells[3]) == pytest.approx(sum(log_p[:number]), abs=1e-2)
        assert cells[4] == f"{(step.place or 0) + 1}/{len(step.candidates)}"


def test_a_path_that_was_left_open_is_lost_there() -> None:
    still_open = Candidate(["los"], [7], -0.5, -0.5, "left open")
    path = BeamPath(1, [BeamStep([still_open], 0)], [], ["los"])
    assert path.lost_at == 0
    assert path.verdict == (
        "The search left it at step 1: with 'los' it was number 1 of 1; the search ended before it did."
    )

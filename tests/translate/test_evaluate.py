"""BLEU and chrF: sacreBLEU's figures, with the signature that says how; and what is exactly right."""

import pytest
import sacrebleu

import pellucid
from pellucid.errors import PellucidError
from pellucid.translate.evaluate import evaluate, exactly_right, note_on_short

HYPOTHESES = [
    "A dog runs through the tall grass .",
    "Two men are talking, on a bench.",
    "The cat sat on the mat today .",
]
REFERENCES = [
    "A dog is running through the grass .",
    "Two Men are talking on a bench.",
    "the cat sat on the mat .",
]


def test_the_tokenizer_and_lower_case_are_used() -> None:
    ours = evaluate(HYPOTHESES, REFERENCES).bleu
    assert ours == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score)
    words = evaluate(HYPOTHESES, REFERENCES, lowercase=True, tokenize="none")
    expected = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], lowercase=True, tokenize="none", force=True)
    assert words.bleu == pytest.approx(expected.score) != pytest.approx(ours)
    lowered = [[line.lower() for line in side] for side in (HYPOTHESES, REFERENCES)]
    assert words.chrf == pytest.approx(sacrebleu.corpus_chrf(lowered[0], [lowered[1]]).score)
    for tokenize in ("13a", "none", "intl", "char", "zh"):
        assert evaluate(REFERENCES, REFERENCES, tokenize=tokenize).bleu == pytest.approx(100)


def test_several_references() -> None:
    """The reference that a hypothesis is nearest to counts, n-gram by n-gram."""
    others = [HYPOTHESES[0], REFERENCES[1], HYPOTHESES[2]]
    scores = evaluate(HYPOTHESES, [REFERENCES, others])
    assert scores.bleu == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES, others]).score)
    assert scores.chrf == pytest.approx(sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES, others]).score)
    assert scores.bleu > evaluate(HYPOTHESES, REFERENCES).bleu
    assert scores.bleu_signature.startswith("nrefs:2|") and scores.chrf_signature.startswith("nrefs:2|")
    assert pellucid.evaluate(HYPOTHESES, [REFERENCES]) == evaluate(HYPOTHESES, REFERENCES)


def test_exactly_right_is_equal_after_nfc_and_without_white_space_at_the_ends() -> None:
    references = ["élan", "two words", "Case", "a", ""]
    said = [" e\u0301lan\t", "two  words", "case", "b", " "]
    assert exactly_right(said, [references]) == 40.0
    assert exactly_right(said, [references], lowercase=True) == 60.0
    assert exactly_right(said, [references, [*references[:4], "?"], ["two  words"] * 5]) == 60.0
    scores = evaluate(said, references)
    assert (scores.exact, scores.sentences) == (40.0, 5)


def test_a_note_where_most_references_are_too_short_for_bleu() -> None:
    note = "note: BLEU compares runs of four tokens, and {} references have fewer than four: look at exact."
    assert note_on_short(["1 2 3", "4", "a b c d"]) == note.format("2 of 3")
    assert note_on_short(["1 2 3", "a b c d"]) is None
    assert note_on_short(["yes, no, no"]) is None  # by 13a the commas are tokens too
    assert note_on_short(["yes, no, no"], "none") == note.format("1 of 1")
    assert note_on_short(["no, no"] * 1200, "none") == note.format("1,200 of 1,200")


def test_tokenised_text_raises_no_alarm(caplog: pytest.LogCaptureFixture) -> None:
    """sacreBLEU warns from a hundred lines on."""
    evaluate(HYPOTHESES * 100, REFERENCES * 100)
    assert not caplog.records


def test_what_cannot_be_compared() -> None:
    with pytest.raises(PellucidError, match=r"^tokenize = 'moses' is not one of 13a, none, intl, char, zh"):
        evaluate(HYPOTHESES, REFERENCES, tokenize="moses")
    with pytest.raises(PellucidError, match=r"^3 translations cannot be compared with 2 references: "):
        evaluate(HYPOTHESES, [REFERENCES, REFERENCES[:2]])
    for texts in (("a", "b"), (["a"], "b"), ("a", ["b"])):
        with pytest.raises(PellucidError) as error:
            evaluate(*texts)
        assert str(error.value) == (
            "evaluate compares lists of texts, and was given a single text. Put it in a list: [text]."
        )
    with pytest.raises(PellucidError, match="there are no translations to evaluate"):
        evaluate([], [])


def test_an_exact_match_may_be_with_any_reference() -> None:
    assert evaluate(["b", "c"], [["a", "c"], ["b", "x"]]).exact == 100.0

"""Words that a vocabulary of words does not have: each verb says so, and which it knows near them."""

import pytest
from command import Command


def test_translate_goes_on_and_says_which_word_was_unknown(pellucid: Command) -> None:
    stdin = b"I like cats\n\nI like catts\n>>fr<< I like dogss\n"
    outcome = pellucid("translate", "demo", "--to", "es", stdin=stdin)
    assert outcome.code == 0 and outcome.out.startswith("Me gustan los gatos\n\n")
    assert outcome.err.startswith(
        "pellucid: warning: standard input:3 and 1 more: the model has no word 'catts'. Near it: cats, cat, "
    )
    assert "chats" not in outcome.err, "the sentence is English"


@pytest.mark.parametrize(
    "verb",
    [
        ("explain", "demo", "I like catts", "--to", "es"),
        ("explain", "demo", "I like cats", "--to", "es", "--target", "gattos"),
        ("explain", "demo", "I like cats", "--to", "es", "--against", "gattos"),
        ("compare", "demo", "cats", "I like cats", "I catts cats", "--to", "es"),
    ],
)
def test_what_explains_refuses_it(pellucid: Command, verb: tuple[str, ...]) -> None:
    outcome = pellucid(*verb)
    assert (outcome.code, outcome.out) == (2, "")
    near = ("'gattos'. Near it: gatos", "'catts'. Near it: cats, ")["catts" in " ".join(verb)]
    assert f"the model has no word {near}" in outcome.err

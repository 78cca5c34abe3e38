"""teacher forcing compared with feeding back the model's own words: how an error spreads.

With teacher forcing the next input is right even after an error. A model that reads its own words has to
recover.
"""

from itertools import zip_longest

from pellucid.experiments.result import Result, Row, Table
from pellucid.explanation import Explanation
from pellucid.reading.passes import in_batch, watch
from pellucid.reading.reading import Step, steps_of
from pellucid.show.panels import Bars
from pellucid.translate.call import forbidden_ids

HEADER = ("", "expected", "reads", "says", "p", "loss", "own", "says", "p", "loss")


def experiment(explanation: Explanation) -> Result:
    """Compare reading the right words (teacher forcing) with reading the model's own words: once from the
    start, and once after a wrong first word."""
    gold, vocabulary, forced = explanation.target_ids, explanation.vocabulary, explanation.steps
    first = vocabulary.count_tags(gold)  # the first word, after a language
    never = {*forbidden_ids(explanation.translator.model, vocabulary), vocabulary.end_id, gold[first]}
    likely = explanation.trace["decoder.logits"].tensor[0, first].argsort(descending=True).tolist()
    wrong = next(token for token in likely if token not in never)
    word, right = vocabulary.target_tokens([wrong, gold[first]])
    titles = "The model as it is", f"The same model, {word} fed back for {right}"
    tables, wrongs = [], []
    for title, begun in zip(titles, ([], [wrong]), strict=True):
        said, steps = read_own_words(explanation, begun)
        both = enumerate(zip_longest(forced, steps), start=1)
        rows = [[str(number), one.expected, *cells(one), *cells(other)] for number, (one, other) in both]
        tables.append(Table(HEADER, rows, 2, form=".4f", title=f"{title}. Its own words: {said}"))
        wrongs.append(sum(row[7] != row[1] for row in rows[first + 1 :]))
    later = len(gold) - first - 1
    losses, own = ([step.loss for step in each] for each in (forced, steps))
    return Result(
        conclusion=f"One wrong word fed back ({word} for {right}) makes {wrongs[1]} of the {later} "
        f"later words wrong, and without it {wrongs[0]} are; the loss up to position {len(own)} is "
        f"{sum(own):.4f}, and {sum(losses[: len(own)]):.4f} where the right words are read.",
        tables=tables,
        picture=[Bars(f"{title}: loss", [row[1] for row in rows], {"right words": losses, "own words": own})],
        note="Left: the right words are read. Right: the model's own. ✗: not the expected word.",
    )


def read_own_words(explanation: Explanation, begun: list[int]) -> tuple[str, list[Step]]:
    """Translate greedily, starting with these target ids. Return the text of the translation, and its steps:
    at most one for each expected word."""
    gold, translator = explanation.target_ids, explanation.translator
    source, most = explanation.translation.source, len(begun) + len(gold) + 20
    translated = translator.translate(source, explanation.to, beam=1, prefix=begun, max_length=most)
    found = translated.hypotheses[0]
    ids, vocabulary = found.token_ids[: len(gold)], translator.vocabulary
    model = translator.model
    seen = watch(model, in_batch(model, [(explanation.source_ids, ids)]), vocabulary=vocabulary)
    return found.text, steps_of(seen, vocabulary, gold[: len(ids)])


def cells(step: Step | None) -> Row:
    """Return four cells: the word that a step reads, the word it predicts (✗ if wrong), and the expected
    word's probability and loss; dashes if there is no step."""
    if step is None:
        return list("––––")
    says = step.predicted if step.predicted == step.expected else f"{step.predicted} ✗"
    return [step.input, says, step.probability, step.loss]

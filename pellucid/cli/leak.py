"""pellucid leak: does a model look at words that come later?"""

import argparse
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pellucid.cli.arguments import Verbs, add_model, add_to, text, verb

if TYPE_CHECKING:
    import torch

    from pellucid.translator import Translator

EXAMPLES = """
pellucid leak demo
pellucid leak demo --sentence "How are you" --to hi
pellucid leak runs/m30k --sentence "A dog runs." --sentence "Two men sit on a bench."
"""
NOTES = """
Later tokens are replaced and the target is cut short, in evaluation and in training mode: what a
position predicts must not change. Exit code 0: nothing leaks; 1: something does.
"""
TOKENS = 32  # of a translation: there are some ten passes for each


def add(verbs: Verbs) -> None:
    """The verb and its arguments."""
    about = "check that no prediction depends on words that come after it"
    parser = verb(verbs, "leak", about, run, EXAMPLES, NOTES)
    add_model(parser)
    option = parser.add_argument
    option(
        "--sentence",
        metavar="TEXT",
        type=text,
        action="append",
        default=[],
        help="try this sentence and the model's translation of it; may be repeated (default: random ids)",
    )
    add_to(parser)


def run(arguments: argparse.Namespace) -> None:
    """What was tried and what was found, sentence by sentence."""
    from pellucid.cli.lines import put
    from pellucid.errors import PellucidError
    from pellucid.probes.leak.find import find_leak
    from pellucid.seeing.viewed import columns_of_terminal
    from pellucid.translator import load

    translator = load(arguments.model, arguments.device, precision="fp32")
    width = max(60, min(100, columns_of_terminal()))
    leaks = 0
    if not arguments.sentence:
        _check_no_language(translator, arguments.to)
        report = find_leak(translator.model)
        leaks += len(report.leaks)
        put(_within(["random ids", *str(report).split("\n")], width))
    for sentence in arguments.sentence:
        source, target = _ids(translator, sentence, arguments.to)
        report = find_leak(translator.model, source=source, target=target)
        leaks += len(report.leaks)
        tokens = translator.vocabulary.target_tokens(target[0].tolist())
        said = "  ".join(f"{place}:{token}" for place, token in enumerate(tokens))
        put(_within([sentence, said, *str(report).split("\n"), ""], width))
    if leaks:
        raise PellucidError(
            f"{arguments.model} leaks: what it predicts depends on later words, which a translator does not "
            "have. Its loss and its accuracy are too good to be true. Mend its mask (above: which positions "
            "see which) and train it again."
        )


def _check_no_language(translator: "Translator", to: str | None) -> None:
    """Random ids have no language."""
    from pellucid.errors import UsageError

    if to is not None:
        translator.vocabulary.target_language(to)  # or it is refused as no language at all
        raise UsageError(
            f"--to {to} has no effect on random ids, which have no language. Leave it out, or give a "
            "--sentence."
        )


def _within(lines: Iterable[str], width: int) -> Iterator[str]:
    """Lines of at most `width` cells; what goes on is indented by two more."""
    from rich.cells import cell_len

    from pellucid.show.columns import paragraph

    for line in lines:
        if cell_len(line) <= width:
            yield line
            continue
        indent = line[: len(line) - len(line.lstrip())]
        first, *others = paragraph(line.strip(), width - len(indent) - 2)
        yield indent + first
        yield from (f"{indent}  {other}" for other in others)


def _ids(translator: "Translator", sentence: str, to: str | None) -> "tuple[torch.Tensor, torch.Tensor]":
    """The source, and what the decoder reads of the model's own translation."""
    import torch

    from pellucid.config.device import device_of
    from pellucid.errors import UsageError
    from pellucid.reading.words import check_known
    from pellucid.translate.sentences import read_source

    vocabulary, device = translator.vocabulary, device_of(translator.model)
    source = read_source(sentence, to, vocabulary, longest=translator.config.data.max_length)
    if source.empty:
        raise UsageError('a sentence is empty: nothing to try. Give one, such as "How are you".')
    check_known(source.untagged, list(source.ids), source.to, vocabulary, is_target=False)
    said = translator.translate(sentence, to=to).hypotheses[0].token_ids[: TOKENS - 1]
    target = [vocabulary.start_id, *said]
    return torch.tensor([list(source.ids)], device=device), torch.tensor([target], device=device)

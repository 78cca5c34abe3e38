"""The source meter and the ledger on the demo model, or on a trained one, beside ALTI+.

    python -m benchmarks.source_share [MODEL SOURCE REFERENCE]

SOURCE and REFERENCE: held-out sentences of the model's languages and their translations, a line each.

ALTI+ (Ferrando et al. 2022, Towards Opening the Black Box of Neural Machine Translation) measures in each
attention how near each transformed vector is to their sum, by L1 norms, and multiplies the layers.
"""

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import torch
from torch import Tensor

import pellucid
from pellucid.data.phrasebook import Phrase, split
from pellucid.reading.passes import in_batch, watch
from pellucid.seeing.edits import silence
from pellucid.seeing.trace import Trace, editing
from pellucid.translate.source_share import source_shares
from pellucid.translator import Translator

SENTENCES, LEDGERS = 400, 40
RESULTS = Path(__file__).parent / "results"
UNIFORM = silence("decoder.layers.*.cross_attention", [0, 1, 2, 3], "uniform")
Ids = list[int]


def nearness(model: pellucid.Transformer, seen: Trace, part: str, residual: str, before: str) -> Tensor:
    """Return the contributions of an attention's positions to each of its outputs and, in the last column,
    that of the residual connection: L M+1. Each row sums to 1."""
    weights, values = seen[f"{part}.weights"].tensor[0], seen[f"{part}.values"].tensor[0]
    bias = model.get_parameter(f"{part}.value.bias").view(len(values), 1, -1)
    output = model.get_parameter(f"{part}.output.weight").unflatten(1, (len(values), -1))
    taken = torch.einsum("hlm,hmu,dhu->lmd", weights, values - bias, output)
    vectors = torch.cat((taken, seen[before].tensor[0][:, None]), 1)
    deviation = (seen[f"{residual}.norm.variance"].tensor[0] + 1e-5).sqrt()[:, None, None]
    vectors = (vectors - vectors.mean(-1, keepdim=True)) / deviation
    vectors = vectors * model.get_parameter(f"{residual}.norm.weight")
    whole = seen[f"{residual}.output"].tensor[0][:, None]
    near = (whole.abs().sum(-1) - (whole - vectors).abs().sum(-1)).clamp_min(0)
    return near / near.sum(-1, keepdim=True)


def own(contributions: Tensor) -> Tensor:
    """Return a self-attention's contributions, L L: that of the residual connection is the position's."""
    return contributions[:, :-1] + contributions[:, -1].diag()


@torch.no_grad()
def alti_plus(model: pellucid.Transformer, source: Ids, target: Ids) -> list[float]:
    """Return the source's share in each target token by ALTI+; the norm comes last in this model."""
    seen, config = watch(model, in_batch(model, [(source, target)])), model.config
    encoded, before = torch.eye(len(source)), "encoder.embedded"
    for layer in (f"encoder.layers.{number}" for number in range(config.encoder_layers)):
        encoded = (
            own(nearness(model, seen, f"{layer}.self_attention", f"{layer}.residual_1", before)) @ encoded
        )
        before = f"{layer}.residual_2.output"
    of_source, of_target = torch.zeros(len(target), len(source)), torch.eye(len(target))
    before = "decoder.embedded"
    for layer in (f"decoder.layers.{number}" for number in range(config.decoder_layers)):
        back = own(nearness(model, seen, f"{layer}.self_attention", f"{layer}.residual_1", before))
        residuals = f"{layer}.residual_2", f"{layer}.residual_1.output"
        crossed = nearness(model, seen, f"{layer}.cross_attention", *residuals)
        stays = crossed[:, -1:] * back
        of_source = crossed[:, :-1] @ encoded + stays @ of_source
        of_target = stays @ of_target
        before = f"{layer}.residual_3.output"
    return (of_source.sum(-1) / (of_source.sum(-1) + of_target.sum(-1))).tolist()


def area(higher: Sequence[float], lower: Sequence[float]) -> float:
    """Return the area under the curve: how often one of the first is above one of the second."""
    above = torch.tensor(higher)[:, None] - torch.tensor(lower)
    return float(((above > 0).double() + (above == 0).double() / 2).mean())


def translated(translator: Translator, phrases: Sequence[Phrase]) -> list[Ids]:
    """Return the ids of the model's own translations."""
    found: dict[int, Ids] = {}
    for to in sorted({phrase.target_language for phrase in phrases}):
        places = [place for place, phrase in enumerate(phrases) if phrase.target_language == to]
        said = translator.translate([phrases[place].source for place in places], to=to)
        found |= {place: each.hypotheses[0].token_ids for place, each in zip(places, said, strict=True)}
    return [found[place] for place in range(len(phrases))]


def blinded(name: str) -> pellucid.Transformer:
    """Return the model with uniform cross-attention: its queries and keys are 0."""
    blind = pellucid.load(name, device="cpu").model
    with torch.no_grad():
        for layer in blind.decoder.layers:
            for side in (layer.cross_attention.query, layer.cross_attention.key):
                side.weight.zero_()
                side.bias.zero_()
    return blind


def reference_of_another(phrase: Phrase, phrases: Sequence[Phrase], chance: random.Random) -> str:
    """Return the translation of another sentence into the same language."""
    same = [each for each in phrases if each.target_language == phrase.target_language]
    return chance.choice([each for each in same if each is not phrase]).target


def cost(translator: Translator, phrases: Sequence[Phrase], pairs: Sequence[tuple[Ids, Ids]]) -> list[float]:
    """Return how many times as long as translating the measurement takes, seven times."""
    ratios = []
    for _ in range(7):
        begun = time.process_time()
        translated(translator, phrases)
        between = time.process_time()
        source_shares(translator.model, pairs)
        ratios.append((time.process_time() - between) / (between - begun))
    return ratios


def ledgers(translator: Translator, phrases: Sequence[Phrase]) -> tuple[list[float], dict[str, list[float]]]:
    """Return how far sums are from the logit, relative to it, and the rank correlations of each way to take a
    term out, for each word."""
    gaps, ranks = list[float](), dict[str, list[float]]()
    for phrase in phrases:
        explanation = translator.explain(phrase.source, to=phrase.target_language)
        for step in range(len(explanation.steps)):
            ledger = explanation.ledger(step)
            gaps.append(ledger.gap / abs(ledger.logit))
            for way, rank in ledger.agreement.items():
                ranks.setdefault(way, []).append(rank)
    return gaps, ranks


def read_phrases(translator: Translator, source: Path, reference: Path) -> list[Phrase]:
    """Return the pairs of two files, in the model's only direction."""
    ((first, last),) = translator.config.data.languages
    lines = (each.read_text("utf-8").splitlines() for each in (source, reference))
    return [Phrase(first, last, *pair) for pair in zip(*lines, strict=True)]


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", nargs="?", default="demo")
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    name, files = arguments.model, arguments.files
    torch.set_num_threads(1)
    translator, chance = pellucid.load(name, device="cpu"), random.Random(1)
    model, vocabulary = translator.model, translator.vocabulary
    phrases = chance.sample(read_phrases(translator, *files) if files else split()["held-out"], SENTENCES)
    sources = [vocabulary.encode_source(each.source, each.target_language) for each in phrases]
    others = [(reference_of_another(each, phrases, chance), each.target_language) for each in phrases]
    with editing(translator.serving, UNIFORM):
        invented = translated(translator, phrases)
    said = {
        "true": translated(translator, phrases),
        "others": [vocabulary.encode_target(*other) for other in others],
        "invented": invented,
    }
    pairs = {name: list(zip(sources, each, strict=True)) for name, each in said.items()}
    tokens = {
        "true": source_shares(model, pairs["true"]),
        "others": source_shares(model, pairs["others"]),
        "uniform": source_shares(blinded(name), pairs["true"]),
        "invented": source_shares(blinded(name), pairs["invented"]),
        "alti": [alti_plus(model, *pair) for pair in pairs["true"]],
        "alti others": [alti_plus(model, *pair) for pair in pairs["others"]],
    }
    of = {name: [statistics.fmean(each) for each in rows] for name, rows in tokens.items()}
    mean = {name: f"{statistics.fmean(each):.2f}" for name, each in of.items()}
    above = {name: f"{area(of['true'], of[name]):.3f}" for name in ("others", "uniform", "invented")}
    above["alti others"] = f"{area(of['alti'], of['alti others']):.3f}"
    both = torch.tensor([list(chain.from_iterable(tokens[name])) for name in ("true", "alti")])
    alike = float(torch.corrcoef(both)[0, 1])
    ratios = cost(translator, phrases, pairs["true"])
    ratio, spread = statistics.median(ratios), f"{min(ratios):.1f} to {max(ratios):.1f}"
    gaps, ranks = ledgers(translator, phrases[:LEDGERS])
    medians = ", ".join(f"{way} {statistics.median(each):.2f}" for way, each in ranks.items())
    results = RESULTS / f"source_share{'_trained' * bool(files)}.md"
    of_what = "a model trained on Multi30k" if files else "the demo model"
    command = "python -m benchmarks.source_share" + " MODEL SOURCE REFERENCE" * bool(files)
    results.write_text(
        f"""# The source meter and the ledger, on {of_what}

`{command}`: {SENTENCES} held-out sentences, one thread. The area under the curve is
how often a true translation has the higher mean share.

| | mean share | area | ALTI+: mean share | area |
|---|---|---|---|---|
| the model's true translations | {mean["true"]} | | {mean["alti"]} | |
| references of other sentences, forced \
| {mean["others"]} | {above["others"]} | {mean["alti others"]} | {above["alti others"]} |
| uniform cross-attention, the same translations | {mean["uniform"]} | {above["uniform"]} | | |
| uniform cross-attention, its own | {mean["invented"]} | {above["invented"]} | | |

Over all {both.shape[1]} tokens of the true translations the meter and ALTI+ correlate with {alike:.2f}.

The meter takes {ratio:.1f} times as long as translating, in CPU time (median of {len(ratios)}, {spread}).

Ledgers of all {len(gaps)} words of {LEDGERS} sentences: each reading adds up to the logit within
{max(gaps):.1e} of it. Median rank correlation of the shares with what happens without the term: {medians}.
""",
        encoding="utf-8",
    )
    print(results.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()

"""heads over a text: what each head looks at, how steadily, and the loss without it.

Patterns: Voita et al. 2019, Analyzing Multi-Head Self-Attention; Clark et al. 2019, What Does BERT Look At?
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from statistics import fmean, pstdev
from typing import Any

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.experiments.result import Result, Row, Table, bars
from pellucid.reading.passes import in_batch, watch
from pellucid.reading.words import special_ids
from pellucid.seeing.edits import silence
from pellucid.seeing.records import attentions
from pellucid.show.columns import short
from pellucid.translator import Translator

MOST, TOGETHER, JUDGED = 500, 64, 64  # sentences: in all, of a pass, and for the loss without a head
CLEAR = 0.2  # the share of a pattern above that of even weights, below which nothing is found
NOTHING = "nothing found"
Ids = list[int]
# In a sentence: a head's share, that of even weights, and the clearest pair with its weight.
Share = tuple[float, float, tuple[float, int, int]]


def catalogue(translator: Translator, texts: Sequence[str], to: str | None = None) -> Result:
    """Measure over up to 500 sentences which of a few patterns each head follows: the share of its attention,
    by sentence, beside that of even weights; and the loss of the translations when it is silenced."""
    texts = [text for text in texts if text.strip()][:MOST]
    if len(texts) < 2:
        raise UsageError("the text has fewer than 2 sentences, so nothing can be said of its heads.")
    vocabulary = translator.vocabulary
    said = translator.translate(texts, to, beam=1)
    pairs = [
        (vocabulary.encode_source(*vocabulary.direction(text, to)), each.hypotheses[0].token_ids)
        for text, each in zip(texts, said, strict=True)
    ]
    judged = pairs[:JUDGED]
    whole, rows = _loss(translator, judged), list[Row]()
    for (part, head), found in _shares(translator, pairs).items():
        lost = _loss(translator, judged, silence(part, head)) - whole
        rows.append([f"{short(part)} {head}", *_best(found, translator, part), lost])
    return _result(rows, len(texts), whole)


def _shares(
    translator: Translator, pairs: Sequence[tuple[Ids, Ids]]
) -> dict[tuple[str, int], dict[str, list[Share]]]:
    """Return the shares of each sentence, by attention and head, and by pattern."""
    model = translator.model
    # By side, since an id may be another word there.
    special = [special_ids(translator.vocabulary, target) for target in (False, True)]
    counts = [Counter(token for ids in side for token in ids) for side in zip(*pairs, strict=True)]
    shares: dict[Any, Any] = defaultdict(lambda: defaultdict(list))
    for first in range(0, len(pairs), TOGETHER):
        group = pairs[first : first + TOGETHER]
        seen = watch(model, in_batch(model, group), only="*.weights")
        last = seen[f"{attentions(seen)[-1]}.weights"].tensor.mean(1)
        for place, (source, target) in enumerate(group):
            read = [model.config.start_id, *target[:-1]]
            sides = {"encoder": (source, source), "decoder": (read, read), "cross": (target, source)}
            aligned = last[place, : len(read), : len(source)].argmax(-1)
            for part in attentions(seen):
                asks, asked = sides["cross" if "cross" in part else part.partition(".")[0]]
                weights = seen[f"{part}.weights"].tensor[place, :, : len(asks), : len(asked)]
                side = int(asked is read)
                found = _patterns(part, asks, asked, aligned, counts[side], special[side])
                for name, pattern in found.items():
                    for head, share in enumerate(_follow(weights, pattern, asks, asked)):
                        shares[part, head][name].append(share)
    return shares


def _patterns(
    part: str, asks: Ids, asked: Ids, aligned: Tensor, counts: Counter[int], special: Collection[int]
) -> dict[str, Tensor]:
    """Return for each pattern which query would look at which key, L M."""
    line, column = torch.arange(len(asks))[:, None], torch.arange(len(asked))
    ends = torch.tensor([token in special for token in asked]).expand(len(asks), -1)
    rarest = min(
        (token for token in asked if token not in special), key=lambda token: counts[token], default=-1
    )
    found = {"start or end": ends, "the rarest word": (torch.tensor(asked) == rarest).expand(len(asks), -1)}
    if "cross" in part:
        return found | {"the aligned word": (column == aligned[:, None]) & ~ends}
    same = torch.tensor(asks)[:, None] == torch.tensor(asked)
    found |= {"the position before": column == line - 1, "itself": column == line}
    found |= {"the position after": column == line + 1, "the same word elsewhere": same & (column != line)}
    return {name: each.tril() for name, each in found.items()} if part.startswith("decoder") else found


def _follow(weights_HLM: Tensor, pattern: Tensor, asks: Ids, asked: Ids) -> list[Share]:
    """Return the share of each head that follows a pattern, where there is a choice; [] if there is none."""
    looked = weights_HLM[0] > 0
    rows = pattern.any(-1) & (looked.sum(-1) > 1)
    if not rows.any():
        return []
    even = float(((looked & pattern)[rows].sum(-1) / looked[rows].sum(-1)).mean())
    inside = weights_HLM * (pattern & rows[:, None])
    means, (most, places) = inside.sum(-1)[:, rows].mean(-1).tolist(), inside.flatten(1).max(-1)
    clearest = [divmod(place, len(asked)) for place in places.tolist()]
    pairs = [
        (each, asks[line], asked[key]) for each, (line, key) in zip(most.tolist(), clearest, strict=True)
    ]
    return [(mean, even, pair) for mean, pair in zip(means, pairs, strict=True)]


def _best(found: dict[str, list[Share]], translator: Translator, part: str) -> Row:
    """Return the pattern that stands out most: its name, share, spread, even share, and an example."""
    means = {name: tuple(map(fmean, list(zip(*each, strict=True))[:2])) for name, each in found.items()}
    name = max(means, key=lambda each: means[each][0] - means[each][1])
    (share, even), each, vocabulary = means[name], found[name], translator.vocabulary
    spread = pstdev(one[0] for one in each)
    if share - even < CLEAR:
        return [NOTHING, share, spread, even, ""]
    _, *pair = max(one[2] for one in each)
    reads = vocabulary.source_tokens if part.startswith("encoder") else vocabulary.target_tokens
    seen = vocabulary.source_tokens if "cross" in part else reads
    return [name, share, spread, even, f"{reads(pair[:1])[0]} → {seen(pair[1:])[0]}"]


def _loss(translator: Translator, pairs: Sequence[tuple[Ids, Ids]], edits: Any = None) -> float:
    """Return the loss per token of the translations."""
    model, targets = translator.model, [target for _, target in pairs]
    seen = watch(model, in_batch(model, pairs), only="decoder.logits", edits=edits)
    log_p = seen["decoder.logits"].tensor.log_softmax(-1)
    each = [log_p[row, range(len(ids)), ids] for row, ids in enumerate(targets)]
    return -float(torch.cat(each).mean())


def _result(rows: list[Row], sentences: int, whole: float) -> Result:
    header = ["head", "looks at", "share", "spread", "even", "example", "loss without"]
    table = Table(header, rows, 2, form=["", "", ".2f", ".2f", ".2f", "", ".3f"])
    kinds = Counter(row[1] for row in rows)
    worst = max(rows, key=lambda row: row[-1])
    named = [(name, count) for name, count in kinds.most_common() if name != NOTHING]
    listed = ", ".join(f"{count} look at {name}" for name, count in named)
    return Result(
        conclusion=f"Of {len(rows)} heads over {sentences} sentences, {listed or 'none follows a pattern'}; "
        f"for {kinds[NOTHING]} nothing was found. The loss grows most without {worst[0]}, by "
        f"{worst[-1]:.3f}.",
        tables=[table],
        picture=[bars(table, "loss per token: how much it grows without the head", "loss without")],
        note="share: the mean over sentences of the attention that follows the pattern; spread: its standard "
        "deviation; even: the share if it looked at all alike. Nothing is found where share is less than "
        f"{CLEAR} above even. The aligned word is that of explain --alignment. The loss is that of the "
        f"model's own translations: {whole:.3f} a token with all heads.",
    )

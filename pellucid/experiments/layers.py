"""layers refine: the word that the model would say after each decoder layer (logit lens).

The paper stacks "N = 6 identical layers" (Vaswani et al. 2017, 3.1) and does not say what each adds. To read
a middle layer with the final projection is the logit lens (nostalgebraist 2020): it was trained for the last
layer alone, so a wrong word early on does not show that nothing is known there.
"""

import torch
from torch import Tensor

from pellucid.experiments.result import Result, Row, Shades, Table
from pellucid.explanation import Explanation
from pellucid.model import Transformer
from pellucid.reading.passes import in_float32, quietly


def experiment(explanation: Explanation) -> Result:
    """Read the embedding and what leaves each decoder layer as if it were the last one."""
    model, expected = in_float32(explanation.translator.model), [step.expected for step in explanation.steps]
    names = ["embedded", *(f"layer {number}" for number in range(model.config.decoder_layers))]
    said: list[Row] = [expected]
    wanted: list[Row] = [expected]
    p_expected, words, right = [], [], []
    for number, _ in enumerate(names, start=-1):
        tensor = "embedded" if number < 0 else f"layers.{number}.residual_3.output"
        p_LV = _read(model, explanation.trace[f"decoder.{tensor}"].tensor[0])
        p_L = p_LV.gather(1, torch.tensor(explanation.target_ids)[:, None])
        ranks = (1 + (p_LV > p_L).sum(-1)).tolist()
        words.append(explanation.vocabulary.target_tokens(p_LV.argmax(-1).tolist()))
        p_expected.append(p_L[:, 0].tolist())
        said.append([(word, " ", p) for word, p in zip(words[-1], p_LV.amax(-1).tolist(), strict=True)])
        wanted.append([(p, f" #{rank}") for p, rank in zip(p_expected[-1], ranks, strict=True)])
        right.append(
            f"{ranks.count(1)} of {len(ranks)} after {'the embedding' if number < 0 else names[number + 1]}"
        )
    counts = [int(text.split()[0]) for text in right]
    refines = "refine" if counts == sorted(counts) and counts[-1] > counts[0] else "do not simply refine"
    header, title = ["expected", *names], "probability of the expected word, and the most probable word"
    tied = " It is the embedding matrix: an embedding is read as its own word." if model.config.tied else ""
    return Result(
        title=explanation.title,
        conclusion=f"Layers {refines} here: the expected word is the most probable at {', '.join(right)}.",
        tables=[
            Table(
                "the most probable word after each layer, with its probability",
                header,
                _rows(said),
                form=".2f",
            ),
            Table("the expected word's probability and rank", header, _rows(wanted)),
        ],
        picture=[Shades(title, p_expected[::-1], names[::-1], expected, words[::-1], 1.0)],
        note="Each layer's output is read by the final projection, which was trained for the last layer "
        f"alone (logit lens): the words of earlier layers are a hint, not what these layers are for.{tied}",
    )


def _read(model: Transformer, stream_LD: Tensor) -> Tensor:
    """The probabilities that the final norm and projection make of a stream."""
    with quietly(model):
        stream_LD = stream_LD.to(model.projection_weight.device)
        output_LD = model.decoder.norm(stream_LD) if model.decoder.norm else stream_LD
        return model.logits(output_LD).softmax(-1).cpu()


def _rows(columns: list[Row]) -> list[Row]:
    return [list(row) for row in zip(*columns, strict=True)]

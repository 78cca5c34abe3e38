"""layers refine: the word that the model would say after each decoder layer (logit lens).

The paper stacks "N = 6 identical layers" (Vaswani et al. 2017, section 3.1) and does not say what each adds.
To read a middle layer with the final projection is the logit lens (nostalgebraist 2020): the projection was
trained for the last layer alone, so a wrong word early on does not show that nothing is known there.
"""

import torch

from pellucid.experiments.result import Cell, Result, Shades, Table
from pellucid.explanation import Explanation
from pellucid.reading.passes import in_float32, quietly


def experiment(explanation: Explanation) -> Result:
    """Read the embedding and what leaves each decoder layer as if it were the last one."""
    model = in_float32(explanation.translator.model)
    names = ["embedded", *(f"layer {number}" for number in range(model.config.decoder_layers))]
    tensors = ["decoder.embedded", *(f"decoder.layers.{n}.residual_3.output" for n in range(len(names) - 1))]
    expected = [step.expected for step in explanation.steps]
    said: list[list[Cell]] = [[word] for word in expected]
    wanted: list[list[Cell]] = [[word] for word in expected]
    probabilities, words, right = [], [], []
    for tensor in tensors:
        with quietly(model):
            stream_LD = explanation.trace[tensor].tensor[0].to(model.projection_weight.device)
            output = model.decoder.norm(stream_LD) if model.decoder.norm else stream_LD
            p_LV = model.logits(output).softmax(-1).cpu()
        p_expected = p_LV.gather(1, torch.tensor(explanation.target_ids)[:, None])
        ranks = 1 + (p_LV > p_expected).sum(-1)
        best = explanation.vocabulary.target_tokens(p_LV.argmax(-1).tolist())
        for place, word in enumerate(best):
            said[place].append((word, " ", float(p_LV[place].max())))
            wanted[place].append((float(p_expected[place]), " #", str(int(ranks[place]))))
        probabilities.append(p_expected[:, 0].tolist())
        words.append(best)
        right.append(int((ranks == 1).sum()))
    verb = "Layers refine here" if right == sorted(right) and right[-1] > right[0] else "Layers do not refine"
    after = ["the embedding", *names[1:]]
    counts = ", ".join(f"{r} of {len(expected)} after {name}" for r, name in zip(right, after, strict=True))
    tied = " It is the embedding matrix, so an embedding is read as the word that it belongs to."
    header = ["expected", *names]
    return Result(
        title=explanation.title,
        conclusion=f"{verb}: the expected word is the most probable at {counts}.",
        tables=[
            Table("the most probable word after each layer, with its probability", header, said, form=".2f"),
            Table("the expected word's probability and rank", header, wanted),
        ],
        picture=[
            Shades(
                "probability of the expected word, and the word most probable after each layer",
                probabilities[::-1],
                names[::-1],
                expected,
                words[::-1],
                1.0,
            )
        ],
        note="Each layer's output is read by the final projection, which was trained for the last layer alone "
        "(logit lens): its words for earlier layers are a hint, not what these layers are for."
        + (tied if model.config.tied else ""),
    )

"""layers refine: the word that the model would say after each decoder layer (logit lens).

The paper stacks "N = 6 identical layers" (Vaswani et al. 2017, 3.1) and does not say what each adds. Applying
the final projection to a middle layer is called the logit lens (nostalgebraist 2020). The projection was
trained for the last layer only, so a wrong word at an early layer does not show that the layer knows nothing.
"""

import torch

from pellucid.experiments.result import Result, Row, Table
from pellucid.explanation import Explanation
from pellucid.reading.passes import in_float32, quietly
from pellucid.show.panels import Shades

SAID = "the most probable word after each layer, with its probability"
WANTED = "the expected word's probability and rank"
DRAWN = "probability of the expected word, and the most probable word"


def experiment(explanation: Explanation) -> Result:
    """Apply the final projection to the embeddings and to the output of each decoder layer."""
    model, expected = in_float32(explanation.translator.model), [step.expected for step in explanation.steps]
    names = ["embedded", *(f"layer {number}" for number in range(model.config.decoder_layers))]
    said: list[Row] = [expected]
    wanted: list[Row] = [expected]
    p_expected, words, right = [], [], []
    for name in names:
        stream = "embedded" if name == "embedded" else f"layers.{name[6:]}.residual_3.output"
        with quietly(model):
            stream_LD = explanation.trace[f"decoder.{stream}"].tensor[0].to(model.projection_weight.device)
            output_LD = model.decoder.norm(stream_LD) if model.decoder.norm else stream_LD
            p_LV = model.logits(output_LD).softmax(-1).cpu()
        p_L = p_LV.gather(1, torch.tensor(explanation.target_ids)[:, None])
        ranks = (1 + (p_LV > p_L).sum(-1)).tolist()
        words.append(explanation.vocabulary.target_tokens(p_LV.argmax(-1).tolist()))
        p_expected.append(p_L[:, 0].tolist())
        said.append([(word, " ", p) for word, p in zip(words[-1], p_LV.amax(-1).tolist(), strict=True)])
        wanted.append([(p, f" #{rank}") for p, rank in zip(p_expected[-1], ranks, strict=True)])
        right.append(ranks.count(1))
    refines = "refine" if right == sorted(right) and right[-1] > right[0] else "do not simply refine"
    places = ["the embedding", *names[1:]]
    counts = [f"{n} of {len(expected)} after {place}" for n, place in zip(right, places, strict=True)]
    header, tied = ["expected", *names], " It is the embedding matrix: an embedding is read as its own word."
    return Result(
        conclusion=f"Layers {refines} here: the expected word is the most probable at {', '.join(counts)}.",
        tables=[
            Table(header, list(zip(*said, strict=True)), form=".2f", title=SAID),
            Table(header, list(zip(*wanted, strict=True)), title=WANTED),
        ],
        picture=[Shades(DRAWN, p_expected[::-1], names[::-1], expected, words[::-1], 1.0)],
        note="Each layer's output is read by the final projection, which was trained for the last layer "
        "alone (logit lens): the words of earlier layers are a hint, not what these layers are for."
        f"{tied if model.config.tied else ''}",
    )

"""What the expressions of exercises.toml and prose.toml are about: the demo's explanations, and examples."""

import functools
import math
import re
from typing import Any

import numpy as np
import torch
from documents import ROOT

import pellucid
from pellucid.exercises import HOMEWORK
from pellucid.experiments import parallel
from pellucid.mask import Mask
from pellucid.model import Norm, sinusoids
from pellucid.worked.examples import example, names, read_example


@functools.cache
def facts() -> dict[str, Any]:
    demo = pellucid.load("demo", "cpu")
    how, cats = demo.explain("How are you", to="hi"), demo.explain("I like cats", to="es")
    ledger = demo.explain("The boat is near the bank.", to="fr").ledger(6)
    bank, cross = demo.explain("The boat is near the bank.", to="es"), example("004-cross-4")

    def without_head(head: int) -> float:
        rows = cats.again(pellucid.edits.silence("decoder.layers.1.cross_attention", head))
        p = rows["decoder.probabilities"].tensor[0]
        return float(p.gather(1, torch.tensor(cats.target_ids)[:, None]).log().sum())

    lifted = how.again(pellucid.edits.lift_mask("decoder.layers.0.self_attention"))
    moved = (lifted["decoder.output"].tensor - how.trace["decoder.output"].tensor).abs()[0].amax(-1)
    one, other = (
        demo.explain(text, to="en", target="I am a student").trace
        for text in ("je suis étudiant", "elle est médecin")
    )
    outputs = [name for name in one.matching("decoder.layers.*.output") if "residual" not in name]
    attention = demo.model.get_submodule("decoder.layers.0.cross_attention")
    weights = bank.trace["encoder.layers.1.self_attention.weights"].tensor[0]
    near = weights.amax(0)[bank.source_tokens.index("bank"), bank.source_tokens.index("near")]
    finite = (record.tensor[record.tensor.isfinite()] for record in how.trace.values())
    return {
        "how": how,
        "cats": cats,
        "shares": dict(ledger.by_input),
        "falls": {label: fall for (label, _), fall in zip(ledger.by_input, ledger.absent, strict=True)},
        "agreement": agreement,
        "bank": bank,
        "bank_weights": weights[3],
        "looks": {("bank", "near"): near},
        "taught": demo.explain("I like cats", to="es", target="Me gusta los gatos"),
        "mat": demo.explain("The cat sat on the mat", to="fr"),
        "without_head": without_head,
        "lifted": lifted,
        "changed_rows": [row + 1 for row in range(4) if moved[row] > 1e-3],
        "same_outputs": sum(torch.allclose(one[name].tensor, other[name].tensor) for name in outputs),
        "largest": max(float(each.abs().max()) for each in finite),
        "masked": example("000-masked").worked(),
        "cross": cross.worked(),
        "given": {name: each.tensor for name, each in cross.worked().given.items()},
        "first_score": next(cell for cell in cross.report().cells if cell.name == "scores"),
        "homework": read_example(str(HOMEWORK)).report(),
        "verdicts": sum(len(each.report().cells) for each in map(example, names()) if each.claims),
        "embedding": demo.model.projection_weight,
        "parameters": sum(each.numel() for each in attention.parameters()),
        "sinusoids": sinusoids(2, 4, torch.float64, torch.device("cpu")),
        "epsilon": Norm.epsilon,
        "config": demo.model.config,
        "longest": max(parallel.experiment.__kwdefaults__["lengths"]),
        "float16": torch.finfo(torch.float16).max,
        "exp": math.exp,
        "log": math.log,
        "log10": math.log10,
        "leakage": leakage,
        "learned": learned,
        "may_look": may_look,
        "softmax": lambda numbers: np.exp(numbers) / np.exp(numbers).sum(),
        "norm": lambda numbers: (np.array(numbers) - np.mean(numbers)) / np.sqrt(np.var(numbers) + 1e-5),
    }


def learned(step: int, *columns: int) -> list[float]:
    """Return numbers of a step of the first sentence in docs/results/learning.md, by their columns."""
    text = (ROOT / "docs" / "results" / "learning.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith(f"| {step} |"))
    return [float(row.split("|")[1 + column]) for column in columns]


def agreement() -> float:
    """The median rank correlation of shares and falls without a word, of the committed results."""
    text = (ROOT / "benchmarks" / "results" / "source_share.md").read_text(encoding="utf-8")
    return float(re.findall(r"absent (\d\.\d+)", text)[0])


def leakage(row: str) -> list[float]:
    """The numbers of a row of the committed results, with the mask and without."""
    text = (ROOT / "docs" / "results" / "leakage.md").read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("|") and row in line)
    numbers = re.findall(r"\*{0,2}(\d[\d.]*)%?\*{0,2}", line.partition("|")[2])
    return [float(number) for number in numbers][-2:]


def may_look(lengths: tuple[int, int], queries: int, first_query: int | None = None) -> Any:
    real = torch.arange(lengths[1]) < torch.tensor([[lengths[0]], [lengths[1]]])
    allowed = Mask(real, first_query).may_look(queries, lengths[1], torch.device("cpu"))
    assert allowed is not None
    return allowed.expand(2, 1, queries, lengths[1])

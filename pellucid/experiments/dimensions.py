"""the table of dimensions, filled in for a run of your own: component, shape, numbers, meaning.

"To facilitate these residual connections, all sub-layers in the model, as well as the embedding layers,
produce outputs of dimension d_model" (Vaswani et al. 2017, section 3.1); "d_k = d_v = d_model / h" (3.2.2).
"""

import tomllib
from importlib.resources import files

from pellucid.experiments.result import Bars, Result, Table
from pellucid.explanation import Explanation

ATTENTIONS = {"CROSS": "decoder.layers.0.cross_attention", "OWN": "decoder.layers.0.self_attention"}


def experiment(explanation: Explanation) -> Result:
    """Look up the shape of each component in the trace of the pass, and in the model's parameters."""
    parameters = dict(explanation.translator.model.named_parameters())

    def shape(name: str) -> tuple[int, ...]:
        start, dot, end = name.partition(".")
        name = f"{ATTENTIONS.get(start, start)}{dot}{end}"
        if name in parameters:
            return tuple(parameters[name].shape[::-1])  # nn.Linear keeps (out, in)
        return tuple(explanation.trace[name].tensor.shape[-2:])

    content = tomllib.loads(files(__package__).joinpath("dimensions.toml").read_text("utf-8"))
    tables = [
        Table(
            each["title"],
            ["component", "shape", "here", "meaning"],
            [
                [name, symbols, "{} × {}".format(*shape(tensor)), meaning]
                for name, symbols, tensor, meaning in each["rows"]
            ],
        )
        for each in content["table"]
    ]
    (source, width), (target, _) = shape("encoder.output"), shape("decoder.output")
    heads = explanation.trace[f"{ATTENTIONS['OWN']}.queries"].tensor.shape[1]
    (_, d_k), (_, d_v), (_, hidden), (_, words) = map(
        shape, ("OWN.queries", "OWN.values", "decoder.layers.0.feed_forward.hidden", "decoder.logits")
    )
    rows = [row for table in content["table"] for row in table["rows"]]
    sides = {
        side: [float(shape(row[2])[place]) for row in rows] for place, side in enumerate(("rows", "columns"))
    }
    return Result(
        title=f"{explanation.title}: T_enc = {source}, T_dec = {target}, d_model = {width}, h = {heads}, "
        f"d_k = {d_k}, d_v = {d_v}, d_ff = {hidden}, V = {words}",
        conclusion=f"Here T_enc = {source} source tokens and T_dec = {target} target tokens; d_model = {width} "
        f"is shared among h = {heads} heads, so d_k = d_v = {width} / {heads} = {d_k}.",
        tables=tables,
        picture=[Bars("rows and columns of each component", [row[0] for row in rows], sides, log=True)],
        note="Of one sentence, and where it says so of one head: a trace has B and H in front.",
    )

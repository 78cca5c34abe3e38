"""the table of dimensions, filled in for a run of your own: component, shape, numbers, meaning.

"To facilitate these residual connections, all sub-layers in the model, as well as the embedding layers,
produce outputs of dimension d_model" (Vaswani et al. 2017, section 3.1); "d_k = d_v = d_model / h" (3.2.2).
"""

import tomllib
from importlib.resources import files

from pellucid.experiments.result import Bars, Result, Table
from pellucid.explanation import Explanation


def experiment(explanation: Explanation) -> Result:
    """Look up the shape of each component in the trace of the pass, and in the model's parameters."""
    content = tomllib.loads(files(__package__).joinpath("dimensions.toml").read_text("utf-8"))
    parameters = dict(explanation.translator.model.named_parameters())
    tables, sizes, shapes = [], {"h": explanation.translator.model.config.heads}, {}
    for table in content["table"]:
        rows = []
        for component, symbols, name, meaning in table["rows"]:
            # nn.Linear keeps (out, in); the notes write x · W.
            shape = (
                parameters[name].shape[::-1]
                if name in parameters
                else explanation.trace[name].tensor.shape[-2:]
            )
            sizes |= zip(symbols.split(" × "), shape, strict=True)
            shapes[component] = shape
            rows.append([component, symbols, "{} × {}".format(*shape), meaning])
        tables.append(Table(table["title"], ["component", "shape", "here", "meaning"], rows))
    return Result(
        title=f"{explanation.title}: {', '.join(f'{symbol} = {size}' for symbol, size in sizes.items())}",
        conclusion=f"Here T_enc = {sizes['T_enc']} source tokens and T_dec = {sizes['T_dec']} target tokens; "
        f"d_model = {sizes['d_model']} is shared among h = {sizes['h']} heads, so d_k = d_v = "
        f"{sizes['d_model']} / {sizes['h']} = {sizes['d_k']}.",
        tables=tables,
        picture=[
            Bars(
                "shape of each component",
                list(shapes),
                dict(zip(("rows", "columns"), zip(*shapes.values(), strict=True), strict=True)),
                "y",
            )
        ],
        note="Of one sentence, and where it says so of one head: a trace has B and H in front.",
    )

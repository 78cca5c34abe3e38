"""the table of dimensions, filled in for a run of your own: component, shape, numbers, meaning.

"To facilitate these residual connections, all sub-layers in the model, as well as the embedding layers,
produce outputs of dimension d_model" (Vaswani et al. 2017, section 3.1); "d_k = d_v = d_model / h" (3.2.2).
"""

import tomllib
from importlib.resources import files

from pellucid.experiments.result import Result, Table
from pellucid.explanation import Explanation
from pellucid.show.panels import Bars


def experiment(explanation: Explanation) -> Result:
    """List the shape of each component, as found in the trace of the pass and in the model's parameters."""
    content = tomllib.loads(files(__package__).joinpath("dimensions.toml").read_text("utf-8"))
    # nn.Linear keeps (out, in); the notes write x · W.
    shapes = {name: each.shape[::-1] for name, each in explanation.translator.model.named_parameters()}
    shapes |= {name: record.tensor.shape[-2:] for name, record in explanation.trace.items()}
    tables, drawn, sizes = [], {}, {"h": explanation.translator.model.config.heads}
    for table in content["table"]:
        rows = []
        for component, symbols, name, meaning in table["rows"]:
            sizes |= zip(symbols.split(" × "), shapes[name], strict=True)
            drawn[component] = shapes[name]
            rows.append([component, symbols, "{} × {}".format(*shapes[name]), meaning])
        tables.append(Table(["component", "shape", "here", "meaning"], rows, title=table["title"]))
    down, across = zip(*drawn.values(), strict=True)
    return Result(
        title=f"{explanation.title}: {', '.join(f'{symbol} = {size}' for symbol, size in sizes.items())}",
        conclusion=f"Here T_enc = {sizes['T_enc']} source tokens and T_dec = {sizes['T_dec']} target tokens; "
        f"d_model = {sizes['d_model']} is shared among h = {sizes['h']} heads, so d_k = d_v = "
        f"{sizes['d_model']} / {sizes['h']} = {sizes['d_k']}.",
        tables=tables,
        picture=[Bars("shape of each component", list(drawn), {"rows": down, "columns": across}, "y")],
        note="Of one sentence, and where it says so of one head: a trace has B and H in front.",
    )

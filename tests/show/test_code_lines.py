"""The line of code beside each tensor: it stands in model.py where it is said to, and shows that tensor."""

from pathlib import Path

import pytest
from small_models import small_model, traced

import pellucid
from pellucid.show.code_lines import code_line
from pellucid.worked.stages import STAGES


@pytest.mark.parametrize("norm", ["last", "first"])
def test_every_tensor_has_its_line_and_it_stands_there(norm: str) -> None:
    source = (Path(pellucid.__file__).parent / "model.py").read_text(encoding="utf-8").split("\n")
    for name in [*traced(small_model(norm=norm)), *STAGES]:
        code = code_line(name)
        assert code is not None, name
        assert code.file == "pellucid/model.py"
        there = "".join("".join(source[code.line - 1 : code.line + 3]).split())
        assert there.startswith("".join(code.text.split())), name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("scores", 'see("scores_BHLM", queries @ keys.mT)'),
        ("keys", "self.key(y_BMD)"),  # an attention is only handed its keys
        ("decoder.layers.1.cross_attention.values", "self.value(y_BMD)"),
        ("encoder.layers.0.residual_1.norm.output", "self.weight"),
    ],
)
def test_which_line_it_is(name: str, text: str) -> None:
    line = code_line(name)
    assert line is not None and text in line.text
    assert code_line("encoder.layers.0.residual_1.nothing") is None

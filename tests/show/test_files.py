"""The files of an explanation: JSON, arrays, pictures; the page's path; and the verb that writes them."""

import dataclasses
import functools
import json
import re
import shutil
import sys
from argparse import Namespace
from dataclasses import asdict
from html import escape
from pathlib import Path
from unittest.mock import ANY

import numpy as np
import pytest
from command import Command
from matplotlib.figure import Figure
from readings import replaced
from tiny import translator

import pellucid as package
from pellucid import demo
from pellucid import explanation as explanation_module
from pellucid.cli.command import main
from pellucid.cli.explain import _beside
from pellucid.errors import PellucidError, UsageError
from pellucid.explanation import Explanation
from pellucid.seeing.records import UnknownTensor
from pellucid.show.panels import Shades, draw_panels
from pellucid.show.pictures import NAMES, picture, whole_set

CATS = ["explain", "demo", "I like cats", "--to", "es"]


def test_json_holds_every_number_exactly(hindi: Explanation, tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        hindi.to_json(tmp_path / name)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()

    table = json.loads((tmp_path / "a.json").read_text("utf-8"), parse_constant=pytest.fail)  # NaN is no JSON
    assert (table["schema"], table["version"]) == ("pellucid.explanation", 3)
    assert (table["source"], table["target"], table["to"]) == ("How are you ?", "आप कैसे हैं ?", "hi")
    assert table["steps"] == [{**asdict(step), "alternatives": ANY} for step in hindi.steps]
    assert table["vocabulary"][:4] == ["<pad>", "<unk>", "<s>", "</s>"]
    assert table["source_ids"] == hindi.source_ids and table["target_ids"] == hindi.target_ids
    assert table["alignment"]["pharaoh"] == str(hindi.alignment())
    assert table["alignment"]["target_words"] == ["आप", "कैसे", "हैं", "?"]
    for name, record in hindi.trace.items():
        entry = table["tensors"][name]
        values = np.array(entry["values"], dtype=object).astype(str).astype(np.float64).astype(np.float32)
        assert np.array_equal(values, record.tensor.numpy()), name
        assert entry["axes"] == record.axes and entry["shape"] == list(record.tensor.shape)
        assert all(entry["labels"][axis] == record.labels(axis) for axis in record.axes if axis in "LM")


def test_npz_holds_every_tensor_the_tokens_and_the_alignment(hindi: Explanation, tmp_path: Path) -> None:
    path = tmp_path / "arrays"  # NumPy alone would append .npz
    hindi.to_npz(path)
    with np.load(path, allow_pickle=False) as arrays:
        for name, record in hindi.trace.items():
            assert np.array_equal(arrays[name], record.tensor.numpy()), name
        assert arrays["target_tokens"].tolist() == ["<s>", "आप", "कैसे", "हैं", "?"]
        assert arrays["expected_tokens"].tolist() == ["आप", "कैसे", "हैं", "?", "</s>"]
        assert arrays["source_tokens"].tolist() == hindi.source_tokens
        assert arrays["schema_version"] == 3 and arrays["source_ids"].tolist() == hindi.source_ids
        pairs = [f"{one}-{other}" for one, other in arrays["alignment"].tolist()]
        assert " ".join(pairs) == str(hindi.alignment())
    translator().explain("I like cats", to="es", target="").to_npz(path)
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["alignment"].shape == (0, 2)


def test_a_page_is_read_without_a_script_too(hindi: Explanation, tmp_path: Path) -> None:
    hindi.to_html(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text("utf-8")
    assert "<bdi class=said-sentence lang=hi>आप कैसे हैं ?</bdi></h1>" in page
    for number, step in enumerate(hindi.steps, start=1):
        assert f"<th scope=row>{number}<td data-label=input><bdi>{escape(step.input)}</bdi>" in page


def test_a_path_that_is_no_file_is_refused_before_the_work(
    hindi: Explanation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for work in ("page", "as_json", "as_npz", "picture"):
        monkeypatch.setattr(explanation_module, work, None)  # nothing may call it
    for to_file in (hindi.to_html, hindi.to_json, hindi.to_npz, functools.partial(hindi.plot, "looked")):
        with pytest.raises(UsageError, match=r"^path = '' is not the name of a file\. Give one, such as"):
            to_file("")
        with pytest.raises(PellucidError, match=r": cannot be written: it is a folder\. Name a file"):
            to_file(tmp_path)


# Pictures


@pytest.mark.parametrize(
    "name",
    [*NAMES, "decoder.logits", "decoder.layers.0.self_attention.mask", "decoder.layers.1.cross_attention",
     "decoder.layers.1.self_attention.masked_scores", "encoder.layers.0.residual_1.norm.mean"],
)  # fmt: skip
def test_a_picture_has_its_first_row_on_top_and_no_number_for_infinity(
    spanish: Explanation, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *arguments, **settings: figures.append(figure))
    spanish.plot(name, tmp_path / "a.png")
    (figure,), (_, panels) = figures, picture(spanish, name)
    grids = [np.array(panel.grid) for panel in panels]
    for panel, grid, axes in zip(panels, grids, figure.axes, strict=False):  # a colour bar comes after them
        image = axes.images[0]
        shades = np.ma.masked_invalid(grid)  # where there is none, the hatched ground is seen
        assert np.array_equal(np.ma.getmaskarray(image.get_array()), np.ma.getmaskarray(shades))
        assert np.ma.allequal(image.get_array(), shades) and axes.patch.get_hatch()
        assert axes.get_ylim() == (len(grid) - 0.5, -0.5) and image.origin == "upper"
        for axis, names in ((axes.yaxis, panel.rows), (axes.xaxis, panel.columns)):
            assert axis.get_ticklocs().tolist() == list(range(len(names)))
            assert [label.get_text() for label in axis.get_ticklabels()] == names
        for text in axes.texts:
            column, row = map(int, text.get_position())
            written = float(text.get_text().replace("−∞", "-inf"))
            assert written == pytest.approx(grid[row, column], abs=5.1e-3)
    scales = {axes.images[0].get_clim() for axes in figure.axes[: len(panels)]}
    assert len(scales) == 1, "a colour means one number in all panels"
    ((low, high),) = scales
    assert all(low <= number <= high for grid in grids for number in grid[np.isfinite(grid)])


def test_what_the_pictures_hold(spanish: Explanation, pieces: Explanation) -> None:
    weights = spanish.trace["decoder.layers.1.cross_attention.weights"].tensor[0].numpy()
    ((looked,), (words,)) = (
        picture(each, name)[1] for each, name in ((spanish, "looked"), (pieces, "words"))
    )
    assert np.abs(looked.grid - weights.mean(0)).max() < 1e-6
    assert (looked.rows, looked.columns) == (spanish.target_tokens, spanish.source_tokens)
    assert words.rows == ["<s>", "Me", "gustan", "los", "gatos"] and len(pieces.target_tokens) > 5
    title, heads = picture(spanish, "decoder.layers.1.cross_attention")
    assert np.array_equal([head.grid for head in heads], weights)
    assert title.startswith("decoder.layers.1.cross_attention.weights\n1 × 2 × 5 × 5 (BHLM)")
    assert [(head.title, head.most) for head in heads] == [("head 0", 1.0), ("head 1", 1.0)]
    assert picture(spanish, "encoder")[0].startswith("encoder.output")
    logits = spanish.trace["decoder.logits"].tensor[0].numpy()
    best = sorted({int(word) for row in logits for word in np.argsort(-row)[:4]})
    (shown,) = picture(spanish, "decoder.logits")[1]
    assert shown.columns == spanish.vocabulary.target_tokens(best)
    assert np.array_equal(shown.grid, logits[:, best])
    record = spanish.trace["decoder.layers.0.self_attention.mask"]
    (mask,) = picture(spanish, record.name)[1]
    assert np.array_equal(np.isinf(mask.grid), np.triu(np.ones((5, 5), bool), 1)) and "2 heads" in mask.title
    tensor = record.tensor.clone()
    tensor[0, 1] = 0
    own = dataclasses.replace(record, tensor=tensor)
    assert len(picture(replaced(spanish, own), record.name)[1]) == 2
    with pytest.raises(UnknownTensor, match=r'^no tensor is called "looke"\. Nearest: looked'):
        picture(spanish, "looke")


def test_a_plot_is_the_same_file_every_time(
    hindi: Explanation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}
    for ending in begins:
        one, other = tmp_path / f"a.{ending}", tmp_path / f"b.{ending.upper()}"
        for file in (one, other):
            hindi.plot("decoder.layers.1.cross_attention.weights", file)
        assert one.read_bytes() == other.read_bytes()
        hindi.plot("decoder.logits", one)  # its own it replaces
        assert one.read_bytes() != other.read_bytes()
        other.write_bytes(begins[ending] + b" mine" * 10_000)
        with pytest.raises(PellucidError, match="Pellucid did not write it"):
            hindi.plot("decoder.logits", other)
        assert one.read_bytes().startswith(begins[ending]) and other.read_bytes().endswith(b" mine")
    with pytest.raises(UsageError, match=r"^a\.gif: a plot is a \.png, \.svg or \.pdf\. Give the file one"):
        hindi.plot("decoder.logits", "a.gif")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PellucidError, match=r'a plot needs matplotlib\. Run: pip install "pellucid\[plot'):
        hindi.plot("decoder.logits", tmp_path / "a.png")


def test_dollars_in_a_token_are_drawn_as_they_are(tmp_path: Path) -> None:
    columns = [r"$\q$", "$5$", "$$"]
    draw_panels(tmp_path / "a.svg", [Shades("$$", [[1.0, 2.0, 3.0]], ["a"], columns)], "a", title=r"$\q$")
    drawn = (tmp_path / "a.svg").read_text()
    assert all(f"<!-- {text} -->" in drawn for text in columns)


def test_the_whole_set_is_written(spanish: Explanation, tmp_path: Path) -> None:
    assert set(NAMES) <= set(whole_set(spanish))
    assert main([*CATS, "--png", str(tmp_path / "pictures")]) == 0
    written = {path.stem for path in (tmp_path / "pictures").glob("*.png")}
    assert written == set(whole_set(package.load("demo").explain("I like cats", to="es")))


# The verb


def test_the_verb_prints_an_alignment_alone(pellucid: Command) -> None:
    line = pellucid("explain", "demo", "The boat is near the bank", "--to", "fr", "--alignment").out
    assert re.fullmatch(r"\d+-\d+( \d+-\d+)*\n", line)
    words = package.load("demo").explain("The boat is near the bank", to="fr").alignment()
    assert line == f"{words}\n"
    pairs = {(words.source_words[link.source], words.target_words[link.target]) for link in words.links}
    assert {("boat", "bateau"), ("near", "près"), ("bank", "rive")} <= pairs


def test_the_verb_says_why_not_another_target(pellucid: Command) -> None:
    text = pellucid(*CATS, "--against", "Me gustan los perros").out
    assert "They part at step 4, after 'los'" in text and "The search left it at step 4" in text
    parting = next(line.split() for line in text.splitlines() if "← they part" in line)
    assert parting[:3] == ["4", "gatos", "perros"]
    assert "What came out, best first:" in pellucid(*CATS, "--more").out
    assert pellucid(*CATS, "--more", "--alignment").code == 2


def test_a_model_beside_stands_in_the_page_by_its_last_folder(pellucid: Command, tmp_path: Path) -> None:
    given = [*CATS, "--html", tmp_path / "a.html"]
    outcome = pellucid(*given, "--beside", tmp_path / "none")
    assert outcome.code == 1 and outcome.err.startswith(f"pellucid: {tmp_path / 'none'}: no such folder.")
    assert not (tmp_path / "a.html").exists()
    (tmp_path / "runs").mkdir()
    shutil.copytree(Path(demo.__file__).parent / "demo_model", tmp_path / "runs" / "step-1")
    assert pellucid(*given, "--beside", tmp_path / "runs" / "step-1").code == 0
    page = (tmp_path / "a.html").read_text("utf-8")
    assert '"name":"step-1"' in page.replace('"name": ', '"name":') and str(tmp_path) not in page
    asked = Namespace(model="demo", beside="demo", device="cpu", text="I like cats", to="es")
    given = package.load("demo").explain("I like cats", to="es", target="Me gustan los perros")
    assert _beside(asked, given)["beside"].translation.text == "Me gustan los perros"

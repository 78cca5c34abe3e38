"""What an explanation writes and what a notebook shows: pictures, JSON and arrays, HTML; and the verb."""

import dataclasses
import json
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch
from command import Command
from drawn import assert_matrices, read_labels
from matplotlib.figure import Figure
from tiny import HOSTILE, translator

import pellucid
from pellucid import demo
from pellucid.cli.command import main
from pellucid.cli.explain import labels
from pellucid.explanation import Explanation
from pellucid.model import sinusoids
from pellucid.seeing.records import UnknownTensor
from pellucid.show.files import VERSION
from pellucid.show.pictures import NAMES, picture, whole_set
from pellucid.show.plot import draw


@pytest.fixture(scope="module")
def spanish() -> Explanation:
    return translator().explain("I like cats", to="es", target="Me gustan los gatos")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["png", "svg"])
def test_every_named_picture_is_drawn(spanish: Explanation, name: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.{form}"
    spanish.plot(name, path)
    assert path.read_bytes().startswith(b"\x89PNG" if form == "png" else b"<?xml")


@pytest.mark.parametrize("name", [*NAMES, "decoder.layers.1.self_attention.masked_scores", "decoder.logits"])
def test_a_picture_has_its_first_row_on_top_and_no_number_for_infinity(
    spanish: Explanation, name: str
) -> None:
    shown, figure = picture(spanish, name), Figure(layout="constrained")
    draw(figure, shown)
    assert_matrices(figure, shown.panels)
    for panel, axes in zip(shown.panels, figure.axes, strict=False):
        assert read_labels(axes) == (shown.rows, shown.columns)
        for text in axes.texts:
            column, row = map(int, text.get_position())
            written = float(text.get_text().replace("−∞", "-inf"))
            assert written == pytest.approx(panel[row, column], abs=5.1e-3)
    scales = {axes.images[0].get_clim() for axes in figure.axes[: len(shown.panels)]}
    assert len(scales) == 1, "a colour means one number in all panels"


def test_a_part_is_its_weights_or_its_output(spanish: Explanation) -> None:
    part = picture(spanish, "decoder.layers.0.cross_attention")
    assert part.title.startswith("decoder.layers.0.cross_attention.weights\n1 × 2 × 5 × 5 (BHLM)")
    assert part.titles == ["head 0", "head 1"] and part.shares
    assert picture(spanish, "encoder").title.startswith("encoder.output")
    norm = picture(spanish, "encoder.layers.0.residual_1.norm")
    assert norm.title.startswith("encoder.layers.0.residual_1.norm.output")


def test_what_the_pictures_hold(spanish: Explanation) -> None:
    mask = picture(spanish, "mask")
    assert (
        np.array_equal(mask.panels[0] == -np.inf, np.triu(np.ones((5, 5), bool), 1)) and len(mask.panels) == 1
    )
    assert mask.title.endswith("the same for each of the 2 heads")
    positions = picture(spanish, "positions")
    assert np.array_equal(positions.panels[0], sinusoids(5, 8, torch.float32, torch.device("cpu")).numpy())
    looked = picture(spanish, "looked")
    weights = spanish.trace["decoder.layers.1.cross_attention.weights"].tensor[0].numpy()
    assert np.abs(looked.panels[0] - weights.mean(0)).max() < 1e-6
    assert (looked.rows, looked.columns) == (spanish.target_tokens, spanish.source_tokens)
    heads = picture(spanish, "heads")
    assert heads.titles == ["layer 0, head 0", "layer 0, head 1", "layer 1, head 0", "layer 1, head 1"]
    assert np.array_equal(heads.panels[2:], weights)
    entropy = picture(spanish, "entropy")
    assert entropy.rows[0] == "encoder 0 self" and entropy.columns == ["head 0", "head 1"]
    assert entropy.panels.shape == (1, 5, 2) and 0 <= entropy.panels.min() <= entropy.panels.max() <= 1


def test_of_the_vocabulary_the_best_words_of_every_row_are_shown(spanish: Explanation) -> None:
    logits = spanish.trace["decoder.logits"].tensor[0].numpy()
    best = sorted({int(word) for row in logits for word in np.argsort(-row)[:4]})
    shown = picture(spanish, "decoder.logits")
    assert shown.columns == spanish.vocabulary.target_tokens(best)
    assert np.array_equal(shown.panels[0], logits[:, best])


def test_masks_that_differ_between_heads_are_all_shown(spanish: Explanation) -> None:
    record = spanish.trace["decoder.layers.0.self_attention.mask"]
    tensor = record.tensor.clone()
    tensor[0, 1] = 0
    trace = {**spanish.trace, record.name: dataclasses.replace(record, tensor=tensor)}
    assert len(picture(dataclasses.replace(spanish, trace=trace), "mask").panels) == 2  # type: ignore[arg-type]


def test_pictures_of_words_merge_pieces() -> None:
    explanation = translator(kind="unigram").explain("I like cats", to="es", target="Me gustan")
    assert picture(explanation, "words").rows == ["<s>", "Me", "gustan"]
    assert len(picture(explanation, "looked").rows) > 3


def test_a_name_that_no_picture_has_offers_the_nearest(spanish: Explanation) -> None:
    for name, nearest in {
        "entropi": "entropy",
        "decoder.layers.0.self_attentoin": "decoder.layers.0.self_att",
    }.items():
        with pytest.raises(UnknownTensor) as error:
            picture(spanish, name)
        assert str(error.value).startswith(f'no tensor is called "{name}". Nearest: {nearest}')


def test_the_whole_set_is_written(spanish: Explanation, tmp_path: Path) -> None:
    names = whole_set(spanish)
    assert set(NAMES) <= set(names) and "encoder.layers.0.self_attention.weights" in names
    assert main(["explain", "demo", "I like cats", "--to", "es", "--png", str(tmp_path / "pictures")]) == 0
    written = {path.stem for path in (tmp_path / "pictures").glob("*.png")}
    assert written == set(whole_set(pellucid.load("demo").explain("I like cats", to="es")))


def test_json_has_what_follows_from_the_pass(spanish: Explanation, tmp_path: Path) -> None:
    spanish.to_json(tmp_path / "a.json")
    table = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert table["version"] == VERSION == 2
    assert table["source_ids"] == spanish.source_ids and table["target_ids"] == spanish.target_ids
    assert table["alignment"]["pharaoh"] == str(spanish.alignment())
    assert table["alignment"]["target_words"] == ["Me", "gustan", "los", "gatos"]
    assert table["words"]["source"][0] == {"text": ">>es<<", "places": [0], "special": True}
    assert [(head["part"], head["head"]) for head in table["heads"]] == [
        (look.part, look.head) for look in spanish.looked_at()
    ]
    path = spanish.beam_path
    assert table["search"]["lost_at"] == path.lost_at and table["search"]["beam"] == path.beam
    assert len(table["search"]["steps"]) == len(path.steps)
    best = table["search"]["steps"][0]["candidates"][0]
    assert best["tokens"] == path.steps[0].candidates[0].tokens
    assert best["total"] == path.steps[0].candidates[0].total
    spanish.to_json(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_npz_has_its_version_and_the_alignment(spanish: Explanation, tmp_path: Path) -> None:
    spanish.to_npz(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as arrays:
        assert arrays["schema_version"] == 2
        assert arrays["source_ids"].tolist() == spanish.source_ids
        pairs = [f"{one}-{other}" for one, other in arrays["alignment"].tolist()]
        assert " ".join(pairs) == str(spanish.alignment())
    empty = translator().explain("I like cats", to="es", target="")
    empty.to_npz(tmp_path / "b.npz")
    with np.load(tmp_path / "b.npz", allow_pickle=False) as arrays:
        assert arrays["alignment"].shape == (0, 2)


class Tags(HTMLParser):
    """The elements of a piece of HTML, each closed before its parent."""

    VOID = ("br", "hr", "img")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_notebooks_show_what_is_complete_in_itself(spanish: Explanation) -> None:
    report = pellucid.attention(scores=[[1.0, 2.0], [3.0, 4.0]], values=[[1.0], [2.0]]).check(
        {"weights": [["0.2", "0.8"], [0.3, 0.7]]}
    )
    shown = {
        "explanation": (spanish, "most probable"),
        "trace": (spanish.trace, "decoder.layers.1.cross_attention.weights"),
        "weights": (spanish.trace["decoder.layers.1.cross_attention.weights"], "head 1"),
        "mean": (spanish.trace["encoder.layers.0.residual_1.norm.mean"], "sentence"),
        "mask": (spanish.trace["decoder.layers.0.self_attention.mask"], "−∞"),
        "positions": (spanish.trace["decoder.positions"], "1.0000"),
        "report": (report, "verdict"),
        "example": (pellucid.attention(scores=[[1.0, 2.0]], values=[[1.0], [2.0]]), "weights"),
    }
    for name, (thing, words) in shown.items():
        html = thing._repr_html_()  # type: ignore[attr-defined]
        tags = Tags(html)
        assert words in tags.text, name
        assert not {"script", "style", "link", "iframe", "img"} & set(tags.seen)
        assert "http" not in html and not re.search(r"\son\w+=", html)


def test_a_notebook_shows_the_numbers(spanish: Explanation) -> None:
    text = Tags(spanish._repr_html_()).text
    for step in spanish.steps:
        assert f"{step.probability:.4f}" in text and f"{step.loss:.4f}" in text
    record = spanish.trace["decoder.layers.0.feed_forward.output"]
    html = Tags(record._repr_html_()).text
    assert f"{record.tensor[0, 2, 3].item():.4f}".replace("-", "−") in html
    wide = spanish.trace["decoder.logits"]
    assert "…" in Tags(wide._repr_html_()).text


def test_a_record_of_a_batch_in_bfloat16_with_gradients_is_shown() -> None:
    model = translator().model.bfloat16()
    source = torch.ones(2, 3, dtype=torch.long)
    with pellucid.trace(model, gradients=True) as seen:
        model(source, source > 0, source)
    text = Tags(seen["decoder.layers.0.self_attention.weights"]._repr_html_()).text
    assert "the first of 2 sentences" in text and "1.00" in text


def test_hostile_text_stays_text() -> None:
    explanation = translator(kind="unigram").explain(f"{HOSTILE} \x1b", to="es", target="<b onclick='x'>")
    html = explanation._repr_html_()
    assert "<script" not in html and "\x1b" not in html and "<b onclick" not in html
    Tags(html)
    Tags(explanation.trace["decoder.logits"]._repr_html_())


def test_the_verb_prints_an_alignment_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "demo", "The boat is near the bank", "--to", "fr", "--alignment"]) == 0
    line = capsys.readouterr().out
    assert re.fullmatch(r"\d+-\d+( \d+-\d+)*\n", line)
    explanation = pellucid.load("demo").explain("The boat is near the bank", to="fr")
    assert line == f"{explanation.alignment()}\n"
    words = explanation.alignment()
    pairs = {(words.source_words[link.source], words.target_words[link.target]) for link in words.links}
    assert {("boat", "bateau"), ("near", "près"), ("bank", "rive")} <= pairs


def test_the_verb_says_why_not_another_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "demo", "I like cats", "--to", "es", "--against", "Me gustan los perros"]) == 0
    text = capsys.readouterr().out
    assert "They part at step 4, after 'los'" in text and "The search left it at step 4" in text
    two = ["--target", "Me gustan los gatos", "--against", "Me gusta"]
    assert main(["explain", "demo", "I like cats", "--to", "es", *two]) == 0
    assert "(log-probability" in capsys.readouterr().out
    assert main(["explain", "demo", "I like cats", "--to", "es", "--against", "Me gustan perross"]) == 2
    assert "target: the model has no word 'perross'. Near it: perros" in capsys.readouterr().err
    assert main(["explain", "demo", "I like cats", "--to", "es", "--more"]) == 0
    assert "What came out, best first:" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(["explain", "demo", "I like cats", "--to", "es", "--more", "--alignment"])
    assert left.value.code == 2


@pytest.mark.parametrize("option", ["--html", "--json", "--npz"])
def test_the_verb_refuses_what_is_no_file_before_it_works(
    option: str, pellucid: Command, tmp_path: Path
) -> None:
    outcome = pellucid("explain", "no model", "I like cats", option, "")
    assert outcome == (
        2,
        "",
        f"pellucid: {option}: path = '' is not the name of a file. Give one, such as \"page.html\".\n",
    )
    outcome = pellucid("explain", "no model", "I like cats", option, tmp_path)
    said = f"pellucid: {option}: {tmp_path}: cannot be written: it is a folder. Name a file in it.\n"
    assert outcome == (1, "", said)


def test_the_verb_refuses_one_file_for_two(pellucid: Command, tmp_path: Path) -> None:
    path, same = tmp_path / "a", tmp_path / "b"
    same.symlink_to(path)
    outcome = pellucid("explain", "no model", "I like cats", "--npz", path, "--json", same)
    assert outcome.code == 2 and outcome.err == (
        f"pellucid: --json and --npz both name {path}: the second would replace the first. Give each a file "
        "of its own.\n"
    )


def test_the_verb_says_that_standard_output_is_closed(
    pellucid: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    outcome = pellucid("explain", "demo", "I like cats", "--to", "es", "--html", tmp_path / "page.html")
    assert outcome.code == 1 and outcome.err == (
        "pellucid: standard output is closed. Give the command one, such as > FILE.\n"
    )
    assert not list(tmp_path.iterdir())


def test_what_two_models_are_called_in_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = str(tmp_path / "runs" / "a" / "step-1000")
    for one, other, called in (
        (path, path.replace("1000", "3000"), ("step-1000", "step-3000")),
        (path, path.replace("/a/", "/b/"), ("a/step-1000", "b/step-1000")),
        ("demo", path + "/", ("demo", "step-1000")),
        ("runs/a/step-1000", path, ("step-1000", "step-1000")),
        ("demo", "demo", ("demo", "demo")),
    ):
        assert labels(one, other) == called


def test_an_error_of_the_model_beside_names_it(pellucid: Command, tmp_path: Path) -> None:
    given = ["explain", "demo", "I like cats", "--to", "es", "--html", tmp_path / "a.html"]
    outcome = pellucid(*given, "--beside", tmp_path / "none")
    assert outcome.code != 0 and outcome.err.startswith(f"pellucid: --beside {tmp_path / 'none'}: ")
    assert not (tmp_path / "a.html").exists()
    (tmp_path / "runs").mkdir()
    shutil.copytree(Path(demo.__file__).parent / "demo_model", tmp_path / "runs" / "step-1")
    assert pellucid(*given, "--beside", tmp_path / "runs" / "step-1").code == 0
    page = (tmp_path / "a.html").read_text("utf-8")
    assert '"name":"step-1"' in page.replace('"name": ', '"name":') and str(tmp_path) not in page

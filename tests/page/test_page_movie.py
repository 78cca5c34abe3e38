"""The movie of learning: each frame's numbers are Python's, and its slider moves the whole page."""

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
import short_runs
from cases import few
from opened_page import PHONE, OpenPage

import pellucid
from pellucid.explanation import Explanation, Movie

pytestmark = pytest.mark.browser

CROSS = "decoder.layers.0.cross_attention"
# The page's figures of a frame, and the largest difference of its tensors to these.
FIGURES = """async ([at, text, tensors]) => {
  const frame = await page.open(at);
  const run = text === null ? frame : await ownRun(text, null, null, frame.model);
  const apart = await Promise.all(Object.entries(tensors).map(async ([name, numbers]) => {
    const { data } = await run.get(name);
    const each = numbers.map((x, place) => (x === String(data[place]) ? 0 : Math.abs(x - data[place])));
    return data.length === numbers.length ? Math.max(...each) : NaN;
  }));
  const shares = sharesOf(run);
  return { ...page.header.movie[at], said: run.translation, losses: run.steps.map(({ loss }) => loss),
    computed: shares.reduce((sum, share) => sum + share, 0) / shares.length, tensors: run.names.length,
    apart: Math.max(...apart) };
}"""


def of_python(explanation: Explanation) -> dict[str, list[float | str]]:
    """The numbers of each tensor; −∞ is written as the page's script does."""
    return {
        name: ["-Infinity" if math.isinf(x) else x for x in record.tensor.flatten().tolist()]
        for name, record in explanation.trace.items()
    }


@pytest.fixture(scope="module")
def movie(tmp_path_factory: pytest.TempPathFactory) -> Movie:
    """Of a run of 120 updates, which learns to reverse some words."""
    folder = tmp_path_factory.mktemp("movie")
    settings = {"training.steps": 120, "training.frames": 6, "training.batch_tokens": 300}
    run = pellucid.train(short_runs.config(folder / "data", settings, 200), folder / "run", show=False)
    return pellucid.movie(run, "ab cab dab ba")


@pytest.fixture(scope="module")
def movie_path(movie: Movie, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("movie") / "movie.html"
    movie.to_html(path)
    return path


def close(number: Any) -> Any:
    return pytest.approx(number, abs=1e-5)


def test_each_frame_s_numbers_are_python_s(open_page: OpenPage, movie: Movie, movie_path: Path) -> None:
    seed = random.randrange(10**6)
    print("seed", seed)
    opened = open_page(of=movie_path)
    for place in random.Random(seed).sample(range(6), 4):
        frame, at = movie.frames[place], 5 - place
        opened.go(f"#?run={at}")
        tensors = of_python(frame.explanation)
        said = opened.page.evaluate(FIGURES, [at, None, tensors])
        assert said["said"] == frame.explanation.translation.text and said["tensors"] == len(tensors) > 40
        assert said["losses"] == close([step.loss for step in frame.explanation.steps])
        assert said["apart"] < 1e-5 and said["computed"] == close(said["source"])
        assert (said["loss"], said["stage"]) == (frame.loss, movie.stages[place])
        assert opened.text("#frame-says") == f"after {frame.step} updates"
        opened.assert_steps(frame.explanation.steps)


def test_a_reader_s_sentence_goes_through_all_frames(
    open_page: OpenPage, movie: Movie, movie_path: Path
) -> None:
    opened = open_page("#?run=1", of=movie_path)
    opened.translate("dab ab")
    for at in (1, 4):
        opened.go(f"#?run={at}&text=dab%20ab")
        alone = movie.frames[5 - at].explanation.translator.explain("dab ab")
        said = opened.page.evaluate(FIGURES, [at, "dab ab", of_python(alone)])
        assert (said["said"], said["losses"]) == (
            alone.translation.text,
            close([step.loss for step in alone.steps]),
        )


def test_the_slider_moves_the_open_block(open_page: OpenPage, movie_path: Path) -> None:
    opened = open_page(f"#{CROSS}.weights?head=1", of=movie_path)
    opened.tab_to("updates of the training")
    shown = []
    for key in ("ArrowLeft", "Home", "ArrowRight"):
        opened.page.keyboard.press(key)
        opened.page.wait_for_timeout(200)
        opened.settle()
        shown.append((opened.address, opened.text("#frame-says")))
    runs = [address.partition("run=")[2].partition("&")[0] for address, _ in shown]
    assert runs == ["1", "5", "4"] and all(CROSS in address and "head=1" in address for address, _ in shown)
    assert shown[1][1] == "after 0 updates"
    assert opened.page.evaluate("found('frame').ariaValueText") == shown[2][1]


@pytest.mark.parametrize("size", few(1, [PHONE, {"width": 1440}]), ids=["phone", "desktop"])
def test_all_can_use_it_and_print_it(open_page: OpenPage, movie_path: Path, size: dict[str, Any]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    opened = open_page("#?run=2", of=movie_path, bypass_csp=True, **size)
    for address in ("#?run=2", f"#{CROSS}.weights?run=1"):
        opened.go(address)
        opened.until("document.querySelectorAll('#curves .spots').length === 4")
        opened.assert_fits(size["width"])
        found = axe.run(opened.page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == []
        assert opened.is_seen("#frame") and opened.page.evaluate("!found('movie').closest('[inert]')")
    opened.go("#?run=2")
    opened.page.emulate_media(media="print")
    assert opened.is_seen(".curve path.spots") and not opened.is_seen("#frame")


def test_other_pages_have_no_slider(open_page: OpenPage) -> None:
    opened = open_page()
    assert (
        not opened.is_seen("#movie")
        and json.loads(opened.page.evaluate("JSON.stringify(page.header.movie)")) is None
    )

"""What axe, the checker of accessibility, finds on each view of the page: nothing."""

import pytest
from opened_page import OpenPage

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
VIEWS = ["", f"#{SELF}.scores?cell=1,0", f"#{SELF}.weights?mask=off", "#?open=tour&stop=5", "#?open=own"]
OTHERS = [  # in which a phone differs by its width alone
    "#?position=1",
    "#decoder.layers.0",
    "#encoder.embedded",
    f"#{SELF}.queries",
    "#decoder.layers.0.residual_1.norm.variance",
    "#decoder.word",
    "#decoder.word?map=2",
]


@pytest.mark.parametrize(
    ("width", "views"),
    [
        (390, VIEWS),
        pytest.param(1440, VIEWS, marks=pytest.mark.slow),
        pytest.param(1440, OTHERS, marks=pytest.mark.slow),
        pytest.param(390, OTHERS, marks=pytest.mark.slow),
    ],
)
def test_axe_finds_nothing(open_page: OpenPage, width: int, views: list[str]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    opened = open_page("", width, bypass_csp=True)
    for address in views:
        opened.go(address)
        found = axe.run(opened.page).response
        assert len(found["passes"]) > 20, address
        faults = [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]]
        assert faults == [], address

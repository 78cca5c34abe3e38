"""What axe, the checker of accessibility, finds on each view of the page: nothing."""

import pytest
from opened_page import OpenPage

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
VIEWS = [
    "",
    "#?position=1",
    "#decoder.layers.0",
    "#encoder.embedded",
    f"#{SELF}.scores?cell=1,0",
    f"#{SELF}.weights?mask=off",
    f"#{SELF}.queries",
    "#decoder.layers.0.residual_1.norm.variance",
    "#decoder.word",
    "#?open=tour&stop=5",
    "#?open=own",
]


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_axe_finds_nothing(open_page: OpenPage, width: int, height: int) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    opened = open_page("", width, height, bypass_csp=True)
    for address in VIEWS:
        opened.go(address)
        found = axe.run(opened.page).response
        assert len(found["passes"]) > 20, address
        faults = [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]]
        assert faults == [], address

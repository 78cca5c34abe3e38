"""Screenshots of the prebuilt page, for who has nothing else: python tests/page_screenshots.py FOLDER.

tests/page_questions.md has the five questions that they are to answer.
"""

import sys
from pathlib import Path

from browser import chromium

PAGE = Path(__file__).parent.parent / "docs" / "pages" / "how-are-you.html"
ATTENTION = "#decoder.layers.0.self_attention.weights?head=0&cell=1,0"
VIEWS = {  # name: address, width, height
    "model-1440": ("", 1440, 900),
    "weights-1440": (ATTENTION, 1440, 1000),
    "unmasked-1440": (f"{ATTENTION}&mask=off", 1440, 1000),
    "step-1440": ("#decoder.layers.1.cross_attention.weights?head=0&cell=1,2&step=2", 1440, 1000),
    "model-390": ("", 390, 844),
    "weights-390": (ATTENTION, 390, 844),
    "unmasked-390": (f"{ATTENTION}&mask=off", 390, 844),
}


def main(folder: Path) -> None:
    """Write one picture a view."""
    folder.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for name, (address, width, height) in VIEWS.items():
            context = browser.new_context(viewport={"width": width, "height": height}, offline=True)
            page = context.new_page()
            page.goto(PAGE.as_uri() + address)
            page.wait_for_timeout(1500)
            page.screenshot(path=folder / f"{name}.png")
            context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

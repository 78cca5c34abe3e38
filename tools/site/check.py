"""What a built site promises: every link and picture leads to a file, every anchor to a place, and nothing is
fetched from elsewhere: `python -m tools.site.check site`."""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("link", "href"), ("source", "src")}


class Places(HTMLParser):
    """A reader of a page: where it leads, what it loads, and the places that links may lead to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors, self.leads, self.loads = set[str](), list[str](), list[str]()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Remember what an element names and where it leads."""
        for name, value in attributes:
            if name == "id" and value:
                self.anchors.add(value)
            elif (tag, name) in LOADED and value:
                self.loads.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.leads.append(value)


def faults(site: Path) -> Iterator[str]:
    """Find the links that are broken, and what is loaded from another site."""
    pages = {each: Places(each) for each in sorted(site.rglob("*.html")) if each.name != "404.html"}
    for page, places in pages.items():
        if "pages" in page.relative_to(site).parts:  # the live page, which has tests of its own
            continue
        where = page.relative_to(site)
        yield from (
            f"{where}: loads {each}" for each in places.loads if urlsplit(each).scheme in ("http", "https")
        )
        for link in dict.fromkeys(places.leads + places.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.is_file():
                yield f"{where}: {link}: no such file"
            elif parts.fragment and target in pages and target.parent.name != "pages":
                known = pages[target].anchors
                yield from [] if unquote(parts.fragment) in known else [f"{where}: {link}: no such place"]


def main(site: Path) -> int:
    """Print the faults, or how large the site is; return the exit code."""
    found = list(faults(site))
    print(*found, sep="\n", end="\n" if found else "")
    pages, files = len(list(site.rglob("*.html"))), [each for each in site.rglob("*") if each.is_file()]
    total = sum(each.stat().st_size for each in files)
    print(f"{site}: {pages} pages, {total / 1e6:.1f} MB; {len(found)} faults")
    return min(1, len(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))

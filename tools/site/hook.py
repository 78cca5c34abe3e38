"""What the site makes of the Markdown, which is written for a repository's own pages.

- The navigation is the list in docs/README.md; a folder's README.md lists its pages.
- A heading's anchor is the one that the repository's host makes.
- A file outside docs/ that a page leads to becomes a page too: Markdown as it is, code with numbered lines.
- Where a page of the course leads to the live page, the live page opens in place.
- The reference of Python names is written from their docstrings.
- Nothing is fetched: the one script that the theme takes from elsewhere is ours instead.
"""

import posixpath
import re
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import pellucid

ROOT = Path(__file__).parents[2]
ELSEWHERE = "repository"  # the folder of the site for files from outside docs/
REFERENCE = "api.md"
LIVE = "pages/how-are-you.html"
FOREIGN, OURS = "https://unpkg.com/iframe-worker/shim", "site-worker.js"
# A block or a piece of code, in which nothing is a link; or the address of a link.
LINK = re.compile(r"(^```.*?^```[^\n]*$|`[^`\n]*`)|(?<=\]\()([^)\s]+)(?=\))", re.MULTILINE | re.DOTALL)
ITEM = re.compile(r"\[([^\]]+)\]\(([\w/.-]+\.(?:md|html))\)")
ADDRESS = re.compile(r"[a-z]+:|#")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the navigation from the lists, and anchors as the repository's host makes them."""
    config.nav = navigation("README.md")
    config.mdx_configs["toc"]["slugify"] = anchor
    return config


def navigation(index: str) -> list[Any]:
    """Return the pages that an index in docs/ lists, under its headings if it has some."""
    text = (ROOT / "docs" / index).read_text(encoding="utf-8")
    pages: list[Any] = [index]
    here = pages
    for line in text.splitlines():
        if index == "README.md" and line.startswith("## "):
            here = []
            pages.append({line.removeprefix("## "): here})
        elif line.startswith(("- ", "| ", "  ")):
            found = [
                (title, posixpath.normpath(posixpath.join(posixpath.dirname(index), path)))
                for title, path in ITEM.findall(line)
            ]
            here += [entry(title, path) for title, path in found if in_folder(path, index)]
            here += [{"Python, name by name": REFERENCE}] if ("Python", "python.md") in found else []
    return pages


def in_folder(path: str, index: str) -> bool:
    """Tell whether an index lists this page: it lies in its folder, and is not the index itself."""
    return path != index and path.startswith(posixpath.dirname(index))


def entry(title: str, path: str) -> dict[str, Any]:
    """Return a page, or a folder's pages, with the title that the navigation shows."""
    title = title.replace("`", "")
    title = title[0].upper() + title[1:]
    return {title: navigation(path) if path.endswith("/README.md") else path}


def anchor(title: str, separator: str) -> str:
    """Return a heading's anchor: letters, digits and hyphens in lower case."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", separator)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files from outside docs/ that pages lead to, those that these lead to, and the reference."""
    files.append(File.generated(config, REFERENCE, content=reference()))
    ahead = [
        ROOT / "docs" / each.src_uri for each in files.documentation_pages() if each.src_uri != REFERENCE
    ]
    known: set[Path | None] = set(ahead)
    while ahead:
        page = ahead.pop()
        targets = {target_of(each[2], page) for each in LINK.finditer(content_of(page)) if each[2]}
        for target in targets - known:
            if target is not None and target.exists() and not target.is_relative_to(ROOT / "docs"):
                known.add(target)
                files.append(File.generated(config, place_of(target), content=content_of(target)))
                ahead += [target] if target.is_dir() or target.suffix == ".md" else []
    return files


def target_of(link: str, page: Path) -> Path | None:
    """Return the file or folder of the repository that a link leads to; None for another address."""
    if ADDRESS.match(link):
        return None
    target = (page.parent / link.partition("#")[0].partition("?")[0]).resolve()
    return target / "README.md" if (target / "README.md").exists() else target


def place_of(file: Path) -> str:
    """Return where the site has the source of a file of the repository."""
    if file.is_relative_to(ROOT / "docs"):
        return file.relative_to(ROOT / "docs").as_posix()
    shown = file.relative_to(ROOT).as_posix().replace(".github", "github")  # a site has no hidden folders
    return f"{ELSEWHERE}/{shown}{'' if file.suffix == '.md' else '.md'}"


def content_of(file: Path) -> str:
    """Return the Markdown for a file: itself, or a page with its code; for a folder, a list of its texts."""
    if file.is_dir():
        texts = [f"- [{each.stem}]({file.name}/{each.name})" for each in sorted(file.glob("*.md"))]
        return "\n".join([f"# {file.relative_to(ROOT).as_posix()}", "", *texts])
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return text
    name, kind = file.relative_to(ROOT).as_posix(), {".service": "ini"}.get(file.suffix, file.suffix[1:])
    hidden = "---\nsearch: { exclude: true }\n---\n"
    return f'{hidden}# {name}\n\n````` {{.{kind} linenums="1"}}\n{text}\n`````\n'


def reference() -> str:
    """Return the page of all public names, each with its docstring."""
    lines = [
        "# Python, name by name",
        "",
        "Everything that `import pellucid` offers. [How to use it](python.md).",
    ]
    for name in sorted(set(pellucid.__all__) - {"__version__"}, key=str.lower):
        offered = getattr(pellucid, name)
        home = "" if isinstance(offered, ModuleType) else f"{offered.__module__}."
        lines += ["", f"::: {home}{offered.__name__}", "    options:", f"      heading: pellucid.{name}"]
    return "\n".join(lines)


def on_page_markdown(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to where the site has what the repository has, and open the live page in the course."""
    inside = page.file.src_uri
    if inside == REFERENCE:
        return text
    source = (
        ROOT / inside.removeprefix(f"{ELSEWHERE}/")
        if inside.startswith(ELSEWHERE)
        else ROOT / "docs" / inside
    )
    if source.suffix == ".md" and not source.exists():
        return text  # a page of code, which has no links
    if inside.startswith("learn/"):
        text = with_live_pages(text)

    def moved(found: re.Match[str]) -> str:
        target = target_of(found[2], source) if found[2] else None
        if target is None or not target.is_relative_to(ROOT):
            return found[0]
        rest = re.sub("^[^#?]*", "", found[2])
        return posixpath.relpath(place_of(target), posixpath.dirname(inside)) + rest

    return LINK.sub(moved, text)


def with_live_pages(text: str) -> str:
    """Put the live page below each paragraph that leads to it: the first one in sight, the others closed."""
    paragraphs, is_first = text.split("\n\n"), True
    for number, paragraph in enumerate(paragraphs):
        found = re.search(rf"\]\((\.\./{LIVE}[^)]*)\)", paragraph)
        if not found or paragraph.startswith(("|", "```")):
            continue
        about = escape(found[1].partition("#")[2].partition("?")[0] or "a whole translation")
        frame = f'<iframe src="{escape(found[1])}" title="The live page: {about}" loading="lazy"></iframe>'
        if not is_first:
            frame = f"<details><summary>Open the live page here: {about}</summary>{frame}</details>"
        paragraphs[number] += f'\n\n<div class="live">{frame}</div>'
        is_first = False
    return "\n\n".join(paragraphs)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Take our script in place of the one from elsewhere; give the search a name for screen readers."""
    ours = posixpath.relpath(OURS, posixpath.dirname(page.file.dest_uri))
    named = 'role="dialog" aria-label="Search"'
    return output.replace(FOREIGN, ours).replace('role="dialog"', named)

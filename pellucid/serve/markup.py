"""Take a text, an HTML or an XML document apart into text, tags, and what separates sentences.

A tokenizer of our own, because parsers of HTML and XML repair what they read: here the pieces, put together,
are the document, byte for byte, however broken it is.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

BLOCKS = re.compile(
    "address|article|aside|blockquote|body|br|button|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt"
    "|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hgroup|hr|html|iframe|legend|li"
    "|link|main|menu|meta|nav|noscript|ol|optgroup|option|p|param|pre|search|section|select|source|summary"
    "|table|tbody|td|template|textarea|tfoot|th|thead|title|tr|track|ul"
)
VOID = re.compile("area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr")  # has no content
KEPT = re.compile("code|kbd|math|samp|svg|var")  # is not translated
DEEPEST = 100  # levels of tags inside a sentence; what has more is not translated

# Text has no white space at its ends: that is a piece of its own.
_PIECES = r"""
    (?P<alone> <!--.*?(?:-->|\Z) | <!\[CDATA\[.*?(?:\]\]>|\Z) | <[!?][^>]*+>? | {alone} )
    | (?P<tag> </?(?P<name>[^\W\d][^\s<>/]*+) (?: (?:[^<>"']++|"[^"]*+"|'[^']*+')*+> | [^<>]*+>? ) )
    | (?P<entity> &\#?[\w.:-]++;? )
    | \s++ | [^\s<&]++ (?: \s++ [^\s<&]++ )*+ | .
    """
_FLAGS = re.VERBOSE | re.DOTALL | re.IGNORECASE
_HTML = re.compile(
    _PIECES.replace("{alone}", r"<(?P<code>script|style)\b [^>]*+> .*?(?:</(?P=code)\s*+>|\Z)"), _FLAGS
)
_XML = re.compile(_PIECES.replace("{alone}", r"&(?!(?:amp|lt|gt|quot|apos);)[\w.:-]++;"), _FLAGS)
_LINE = r"\n\r\v\f\x85\u2028\u2029"
_TEXT = re.compile(
    rf"(?P<line> [{_LINE}]\s*+ ) | (?P<tag> </?(?P<name>[^\W\d][^\s<>/]*+)[^<>{_LINE}]*+> )"
    rf"| [^\S{_LINE}]++ | [^\s<]++ (?: [^\S{_LINE}]++ [^\s<]++ )*+ | <",
    re.VERBOSE,
)
_NOT_TRANSLATED = re.compile(
    r"""\stranslate\s*=\s*["']?no\b | \sclass\s*=\s*["']?[^"'>]*\bnotranslate\b""", _FLAGS
)


class Item(NamedTuple):
    """A piece of a document."""

    raw: str  # as it stands there
    text: str = ""  # what the model reads of it; "" for a tag
    kind: str = "text"  # "open", "close" or "lone" for what stands between words; "break" between sentences
    name: str = ""


def read_items(document: str, form: str, ignored: Collection[str] = (), lines: bool = True) -> list[Item]:
    """Return the pieces of a document in their order.

    form: "text", "html" or "xml". ignored: tags whose content is not translated. lines: in "text", a line
    break ends a sentence.
    """
    if form == "text":
        return list(_read_text(document, lines))
    names = frozenset(ignored if form == "xml" else map(str.lower, ignored))

    def is_kept(tag: Item) -> bool:
        if form == "html" and VOID.fullmatch(tag.name):
            return False
        kept = tag.name in names or (form == "html" and KEPT.fullmatch(tag.name) is not None)
        return kept or _NOT_TRANSLATED.search(tag.raw) is not None

    items = list(_keep(_read_markup(document, form == "html"), is_kept))
    return items if form == "html" else _outline(items)


def _read_text(text: str, lines: bool) -> Iterator[Item]:
    for match in _TEXT.finditer(text):
        if match["line"]:
            yield Item(match[0], kind="break" if lines else "lone")
        elif match["tag"]:
            yield Item(match[0], "", _kind(match[0]), match["name"])
        else:
            yield Item(match[0], match[0])


def _read_markup(document: str, is_html: bool) -> Iterator[Item]:
    preformatted = False
    for match in (_HTML if is_html else _XML).finditer(document):
        raw, name = match[0], match["name"] or ""
        if match["alone"]:
            yield Item(raw, kind="lone")
        elif name and is_html:
            name = name.lower()
            if name == "pre":
                preformatted = raw[1] != "/"
            kind = "break" if BLOCKS.fullmatch(name) else "lone" if VOID.fullmatch(name) else _kind(raw)
            yield Item(raw, "", kind, name)
        elif name:
            yield Item(raw, "", _kind(raw), name)
        elif preformatted and not match["entity"]:
            yield from _read_text(raw, lines=True)
        else:
            yield Item(raw, html.unescape(raw))


def _kind(tag: str) -> str:
    """Return whether a tag opens, closes, or stands alone, as one without its > does."""
    if tag[-1] != ">" or tag[-2] == "/":
        return "lone"
    return "close" if tag[1] == "/" else "open"


def _keep(items: Iterator[Item], is_kept: Callable[[Item], bool]) -> Iterator[Item]:
    """Make one piece of each element that is not translated, its tags and content."""
    for item in items:
        raw, kind, level = [item.raw], item.kind, 1
        if not item.name or kind not in ("open", "break") or item.raw[1] == "/" or not is_kept(item):
            yield item
            continue
        for inner in items:
            raw.append(inner.raw)
            if inner.name == item.name and inner.kind in ("open", "close", "break"):
                level += -1 if inner.raw[1] == "/" else 1
            if level == 0:
                break
        yield Item("".join(raw), kind="break" if kind == "break" else "lone")


def _outline(items: list[Item]) -> list[Item]:
    """Let a tag of XML separate sentences, unless text stands beside it in the same element."""
    stack, parents, mixed = [0], list[int](), set[int]()
    for number, item in enumerate(items, 1):
        if item.kind == "close" and len(stack) > 1:
            stack.pop()
        parents.append(stack[-1])
        if item.text.strip():
            mixed.add(stack[-1])
        if item.kind == "open":
            stack.append(number)
    return [
        item._replace(kind="break") if item.kind != "text" and parent not in mixed else item
        for item, parent in zip(items, parents, strict=True)
    ]


def pair_up(items: Iterable[Item]) -> list[Item]:
    """Return the pieces with tags in pairs. A tag without its partner becomes "lone", a pair around a break
    two breaks, and a pair that has no text inside, or too many levels, one piece."""
    found, opened, waiting = list[Item](), list[tuple[int, int, int]](), Counter[str]()
    heights, texts, breaks = [0], 0, 0
    for item in items:
        texts += item.text.strip() != ""
        breaks += item.kind == "break"
        if item.kind == "open":
            opened.append((len(found), texts, breaks))
            heights.append(0)
            waiting[item.name] += 1
        elif item.kind == "close" and not waiting[item.name]:
            item = item._replace(kind="lone")
        elif item.kind == "close":
            while True:
                (start, *before), height = opened.pop(), heights.pop()
                heights[-1] = max(heights[-1], height)
                waiting[found[start].name] -= 1
                if found[start].name == item.name:
                    break
                found[start] = found[start]._replace(kind="lone")
            if breaks > before[1]:
                found[start], item = (tag._replace(kind="break") for tag in (found[start], item))
            elif texts == before[0] or height == DEEPEST:
                item = Item("".join(each.raw for each in [*found[start:], item]), kind="lone")
                del found[start:]
            else:
                heights[-1] = max(heights[-1], height + 1)
        found.append(item)
    for start, *_ in opened:
        found[start] = found[start]._replace(kind="lone")
    return found

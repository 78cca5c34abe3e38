"""Take a text, an HTML or an XML document apart into a tree of text, tags, and what separates sentences.

A reader of our own, because parsers of HTML and XML repair what they read: here the pieces, put together,
are the document, byte for byte, however broken it is.
"""

import html
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

BLOCKS = re.compile(
    "address|article|aside|blockquote|body|br|button|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt"
    "|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hgroup|hr|html|iframe|legend|li"
    "|link|main|menu|meta|nav|noscript|ol|optgroup|option|p|param|pre|search|section|select|source|summary"
    "|table|tbody|td|template|textarea|tfoot|th|thead|title|tr|track|ul"
)
VOID = re.compile("area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr")  # has no content
KEPT = {"code", "kbd", "math", "samp", "svg", "var"}  # is not translated
NOT_TRANSLATED = re.compile(
    r"""(?i:\s(translate\s*=\s*["']?no|class\s*=\s*("[^"]*|'[^']*|[^\s"'>]*)\bnotranslate)\b)"""
)
DEEPEST = 100  # levels of tags inside a sentence; what has more is not translated
# What stands in the text for a tag: these two are white space. A gap parts words, a joint does not.
GAP, JOINT = "\x1c", "\x1d"

_PIECE = re.compile(
    r"""
    (?P<alone> <!--.*?(?:-->|\Z) | <!\[CDATA\[.*?(?:\]\]>|\Z) | <[!?][^<>]*+>?
        | <(?P<code>script|style)\b (?:[^<>"']++|"[^"]*+"|'[^']*+')*+> .*?(?:</(?P=code)\s*+>|\Z) )
    | </?(?P<name>[^\W\d][^\s<>/]*+) (?: (?:[^<>"']++|"[^"]*+"|'[^']*+')*+> | [^<>]*+>? )
    | (?P<line> [\n\r\v\f\x85\u2028\u2029]\s*+ ) | (?P<entity> &\#?[\w.:-]++;? )
    | [^<&\n\r\v\f\x85\u2028\u2029]++ | .
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


class Node(NamedTuple):
    """A piece of a document: text, a tag, or an element with what is inside it."""

    raw: str  # as it stands there
    text: str  # with a joint for each tag of an element, and gaps for what else is not translated
    start: int  # in the text of the document
    kind: str = "text"  # "element"; "lone" for what stands between words; "break" between sentences
    name: str = ""
    side: int = 0  # of a tag: 1 opens, -1 closes an element
    inside: "Sequence[Node]" = ()  # an element, with its two tags
    height: int = 0  # levels of elements

    @property
    def end(self) -> int:
        """Return where it ends in the text of the document."""
        return self.start + len(self.text)


def read(
    document: str,
    form: str,
    lines: bool = True,
    ignored: Collection[str] = (),
    splitting: Collection[str] = (),
    inline: Collection[str] = (),
    outline: bool = True,
) -> Iterable[Node]:
    """Return the pieces of a document in their order.

    form: "text", "html" or "xml". lines: in "text", a line break ends a sentence. ignored: tags whose content
    is not translated. Of XML, splitting: tags that separate sentences, inline: tags that do not, and outline:
    find out whether the others do.
    """
    kept, nodes = {*ignored, *map(str.lower, ignored), *(KEPT if form == "html" else ())}, list[Node]()
    for kind, group in groupby(pieces_of(document, form, lines, splitting), lambda piece: piece.kind):
        pieces = list(group)
        text = "".join(piece.text for piece in pieces)
        nodes += [Node(source_of(pieces), text, pieces[0].start)] if kind == "text" else pieces
    nodes = _pair_up(nodes, kept)
    return _outline(nodes, inline) if form == "xml" and outline else nodes


def source_of(nodes: Iterable[Node]) -> str:
    """Return pieces of a document as they stand there."""
    return "".join(node.raw for node in nodes)


def letters_in(document: str, form: str) -> int:
    """Return how many characters a document has. Those of tags in HTML and XML do not count."""
    if form == "text":
        return len(document)
    return sum(len(each[0]) for each in _PIECE.finditer(document) if not (each["name"] or each["alone"]))


def words_in(document: str, form: str) -> str:
    """Return the text of a document, without its tags."""
    if form == "text":
        return document
    return "".join(each.text if each.kind == "text" else " " for each in pieces_of(document, form))


def pieces_of(
    document: str, form: str, lines: bool = True, splitting: Collection[str] = ()
) -> Iterator[Node]:
    """Yield text, tags and what else stands in a document, one after another."""
    is_html, is_text, place = form == "html", form == "text", 0
    breaking = is_text and lines
    for match in _PIECE.finditer(document):
        raw, text, name, kind, side = match[0], GAP, match["name"] or "", "lone", 0
        if is_html and name:
            name = name.lower()
            kind = "break" if BLOCKS.fullmatch(name) else "lone"
            breaking = raw[1] != "/" if name == "pre" else breaking
        elif name in splitting:
            kind = "break"
        if (name or match["alone"]) and not (is_text and raw[-1] != ">"):
            if name and raw[-1] == ">" and raw[-2] != "/" and not (is_html and VOID.fullmatch(name)):
                side = -1 if raw[1] == "/" else 1
        elif match["line"] and (breaking or is_text):
            kind = "break" if breaking else "lone"
        else:
            text = raw if is_text else html.unescape(raw)
            unknown = match["entity"] and text == raw and not is_text
            text, kind = (GAP, "lone") if unknown else (text, "text")
        yield Node(raw, text, place, kind, name, side)
        place += len(text)


def _pair_up(pieces: Iterable[Node], kept: Collection[str]) -> list[Node]:
    """Return the pieces, with elements in place of tags in pairs. A tag without its partner stays alone, a
    pair around a break becomes two breaks. kept: tags whose content is not translated."""
    found, opened, waiting, breaks = list[Node](), list[tuple[int, int]](), Counter[str](), 0
    for piece in pieces:
        if piece.side > 0:
            opened.append((len(found), breaks))
            waiting[piece.name] += 1
        elif piece.side < 0 and waiting[piece.name]:
            name = ""
            while name != piece.name:
                start, before = opened.pop()
                name = found[start].name
                waiting[name] -= 1
            is_kept = name in kept or NOT_TRANSLATED.search(found[start].raw) is not None
            if breaks > before and not is_kept:
                found[start], piece = (tag._replace(kind="break") for tag in (found[start], piece))
            else:
                piece, breaks = _element([*found[start:], piece], is_kept), before
                del found[start:]
        breaks += piece.kind == "break"
        found.append(piece)
    return found


def _element(nodes: Sequence[Node], is_kept: bool) -> Node:
    """Make one piece of an element. It is not translated if it has no text inside, or too many levels."""
    (first, *inside, last), height = nodes, max(node.height for node in nodes) + 1
    raw, text = source_of(nodes), JOINT + "".join(node.text for node in inside) + JOINT
    if is_kept or height > DEEPEST or text.isspace():
        return Node(raw, GAP * len(text), first.start, first.kind)
    whole = (first._replace(text=JOINT), *inside, last._replace(text=JOINT))
    return Node(raw, text, first.start, "element", inside=whole, height=height)


def _outline(nodes: Sequence[Node], inline: Collection[str]) -> Iterator[Node]:
    """Let a tag of XML separate sentences, unless text stands beside it in the same element."""
    for _, group in groupby(nodes, lambda node: node.kind == "break"):
        part = list(group)
        is_mixed = any(
            node.text.strip() and (node.inside[0].name in inline if node.inside else node.kind == "text")
            for node in part
        )
        for node in part:
            if node.inside and not is_mixed:
                first, *inside, last = node.inside
                first, last = (tag._replace(kind="break") for tag in (first, last))
                yield from (first, *_outline(inside, inline), last)
            else:
                yield node if is_mixed or node.kind == "text" else node._replace(kind="break")

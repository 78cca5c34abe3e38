"""Files come back with their texts translated, and all else as it stood."""

import random

import pytest

from pellucid.errors import UsageError
from pellucid.serve.files import read_file

SRT = """1
00:00:01,000 --> 00:00:02,500 X1:40
{\\an8}<i>Where are
you?</i>

2
00:00:03,000 --> 00:00:04,000
- Here.
- There, 12
34

3
00:00:05,000 --> 00:00:06,000
"""
TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
  <tu tuid="1">
    <tuv xml:lang="EN-US"><prop type="x">no</prop><seg>A &amp; <bpt i="1">&lt;</bpt>B<ept/></seg></tuv>
  </tu>
  <tu><tuv lang='de'><seg>C</seg></tuv><tuv lang='es'><seg/></tuv><tuv lang="en"><seg>D</seg></tuv></tu>
  <tu><tuv xml:lang="en"><seg>E</seg></tuv><tuv xml:lang="es-MX"><seg a="b">F</seg></tuv></tu>
  <tu><tuv xml:lang="fr"><seg>G</seg></tuv></tu>
</body></tmx>
"""
TMX_ES = (
    TMX.replace("</seg></tuv>\n  </tu>", '</seg></tuv>\n    <tuv xml:lang="es"><seg>[0]</seg></tuv>\n  </tu>')
    .replace("<seg/>", "<seg>[1]</seg>")
    .replace('<seg a="b">F', '<seg a="b">[2]')
)
XLIFF = """<xliff version="1.2"><file source-language="en" original="x>y"><body>
  <trans-unit id="1">
    <source>A <x id="1"/></source>
  </trans-unit>
  <trans-unit id="2"><source>B</source><seg-source>B</seg-source>
    <alt-trans><source>no</source></alt-trans></trans-unit>
  <trans-unit id="3"><source>C</source><target state="new"/></trans-unit>
  <trans-unit id="4"><source>D</source><target>D</target></trans-unit>
  <trans-unit id="5"><source>E</source><target>done</target></trans-unit>
  <trans-unit id="6"><source/><target></target></trans-unit>
  <trans-unit id="7" translate="no"><source>F</source></trans-unit><!-- <source>G</source> -->
</body></file></xliff>
"""
XLIFF_ES = (
    XLIFF.replace('y">', 'y" target-language="es">')
    .replace("/></source>", "/></source>\n    <target>[1]</target>")
    .replace("</seg-source>", "</seg-source><target>[2]</target>")
    .replace('<target state="new"/>', '<target state="new">[3]</target>')
    .replace("<target>D", "<target>[4]")
)
XLIFF2 = """<x:xliff version="2.0" srcLang="en" trgLang="es-ES"><x:unit id="1">
<mtc:matches><mtc:match><x:source>no</x:source></mtc:match></mtc:matches>
<x:segment><x:source>A</x:source></x:segment><x:ignorable><x:source> </x:source></x:ignorable>
</x:unit></x:xliff>"""
JSONL = """{"id": 1.0, "text": "A \\"\\u00e9\\"",  "more": {"text" : "B", "title": "\\"text\\": \\"no\\""}}

"C"
[{"text":"D"}, {"text": 5}]
"""
# A name, a file, its texts, and the file with [0], [1], … as their translations.
FILES = [
    ("a.TXT", "A\r\n\nB", ["A\r\n\nB"], "[0]"),
    ("a.html", "<p>A</p>", ["<p>A</p>"], "[0]"),
    (
        "a.srt",
        SRT,
        ["<i>Where are you?</i>", "Here.", "There, 12 34"],
        SRT.replace("<i>Where are\nyou?</i>", "[0]").replace("Here.", "[1]").replace("There, 12\n34", "[2]"),
    ),
    ("a.srt", SRT.replace("\n", "\r\n"), ["<i>Where are you?</i>", "Here.", "There, 12 34"], None),
    ("a.tmx", TMX, ['A &amp; <bpt i="1">&lt;</bpt>B<ept/>', "D", "E"], TMX_ES),
    ("a.xliff", XLIFF, ["", 'A <x id="1"/>', "B", "C", "D"], XLIFF_ES),
    ("a.xlf", XLIFF2, ["A"], XLIFF2.replace("A</x:source>", "A</x:source><x:target>[0]</x:target>")),
    (
        "a.jsonl",
        JSONL,
        ['A "é"', "B", "C", "D"],
        JSONL.replace('"A \\"\\u00e9\\""', '"[0]"')
        .replace('"B"', '"[1]"')
        .replace('"C"', '"[2]"')
        .replace('"D"', '"[3]"'),
    ),
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(("name", "content", "texts", "filled"), FILES)
def test_a_file_comes_back_with_its_texts_translated(
    name: str, content: str, texts: list[str], filled: str | None, encoding: str
) -> None:
    data = content.encode(encoding)
    file = read_file(name, data, "en", "es")
    assert [slot.text for slot in file.slots] == texts
    if filled is not None:
        said = ["" if text == "" else f"[{number}]" for number, text in enumerate(texts)]
        assert file.fill(said).decode(encoding) == filled


@pytest.mark.parametrize(
    ("before", "text", "lines"),
    [
        ("A\nB", "one two three four", ["one two", "three four"]),
        ("A\r\nB\r\nC", "one two three four", ["one two", "three", "four"]),
        ("A\nB", 'a <font color="red">bc</font>', ["a", '<font color="red">bc</font>']),
        ("A\nB", "Oui !", ["Oui !"]),
        ("A", "one two", ["one two"]),
        ("A\nB", "", [""]),
    ],
)
def test_a_subtitle_has_as_many_lines_as_before(before: str, text: str, lines: list[str]) -> None:
    times = "1\n00:00:01,000 --> 00:00:02,000\n"
    file = read_file("a.srt", (times + before).encode(), "en", "es")
    assert file.fill([text]).decode() == times + ("\r\n" if "\r" in before else "\n").join(lines)


def test_a_subtitle_may_be_very_long() -> None:
    data = "00:00:01,000 --> 00:00:02,000\n" + "a\n" * 50_000
    (slot,) = (file := read_file("a.srt", data.encode(), "en", "es")).slots
    assert len(file.fill([slot.text]).splitlines()) == len(
        file.fill(["<a " * 30_000 + " b" * 50_000]).splitlines()
    )


def test_a_memory_of_an_unknown_language_gives_what_is_not_in_the_target_language() -> None:
    assert [slot.text for slot in read_file("a.tmx", TMX.encode(), None, "es").slots][1:] == ["C", "E", "G"]


KINDS = ".txt, .html, .htm, .srt, .tmx, .xliff, .xlf, .jsonl"
BOMB = """<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c SYSTEM "/etc/passwd">]>
<tu><tuv lang="en"><seg>&a;&c;</seg></tuv></tu>"""


def test_entities_of_a_file_are_neither_read_nor_opened() -> None:
    file = read_file("a.tmx", BOMB.encode(), "en", "es")
    assert file.fill(["&a;"]).decode().count("&") == 3


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "a",
            b"",
            f"a file without a suffix cannot be read, but {KINDS}.",
        ),
        (
            "a.pdf",
            b"",
            f"a file .pdf cannot be read, but {KINDS}.",
        ),
        ("a.txt", b"\xe9", "the file is not UTF-8. Save it as UTF-8."),
        ("a.txt", b"\xff\xfea", "the file is not UTF-16-LE. Save it as UTF-8."),
        (
            "a.html",
            b"<meta charset='iso-8859-1'>",
            "the file says that it is iso-8859-1. Save it as UTF-8, and let it say so.",
        ),
        ("a.txt", b"", "the file has nothing to translate."),
        ("a.srt", b"Hello", "the file has nothing to translate."),
        ("a.jsonl", b'{"a": 1}\n{', "line 2 of the file is not JSON."),
        ("a.jsonl", b"[" * 100_000, "line 1 of the file is not JSON."),
        (
            "a.xlf",
            XLIFF2.replace("es-ES", "de").encode(),
            "the file is for trgLang = 'de', and 'es' was asked.",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_told(name: str, data: bytes, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_file(name, data, "en", "es")
    assert str(raised.value) == message


def test_any_file_can_be_cut() -> None:
    seed = random.randrange(10**9)
    chance = random.Random(seed)
    for name, content, *_ in FILES * 20:
        size = chance.randrange(len(content))
        broken = content[:size] + "".join(chance.sample("<>/\"'&;[]{}\n-\\ ", 3)) + content[size + 3 :]
        try:
            file = read_file(name, broken.encode(), "en", "es")
            file.fill(["x"] * len(file.slots))
        except UsageError:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}: {name}: {broken!r}") from error


def test_empty_lines_before_json_take_linear_time() -> None:
    file = read_file("a.jsonl", b"\n" * 500_000 + b'{"text": "hi"}\n  "there"\n', "en", "es")
    assert [slot.text for slot in file.slots] == ["hi", "there"]

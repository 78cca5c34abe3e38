"""Parallel text: split on line feeds alone, aligned whatever is in it, and every pair accounted for."""

import gzip
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pellucid.config.schema import DataConfig
from pellucid.data.corpus import Pair, Report, fingerprint, fingerprint_of, read_rows
from pellucid.data.examples import encode_pairs
from pellucid.data.sifting import hold_out, read_pairs, source_hash, text_of
from pellucid.errors import PellucidError, UsageError


def corpus(folder: Path, source: bytes, target: bytes) -> tuple[str, str]:
    (folder / "a.en").write_bytes(source)
    (folder / "a.de").write_bytes(target)
    return str(folder / "a.en"), str(folder / "a.de")


def texts(pairs: list[Pair]) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in pairs]


def counts(report: Report) -> dict[str, int]:
    return {name: count for name, count in asdict(report).items() if count}


def test_moses_files_gzip_and_tables_give_the_same_pairs(tmp_path: Path) -> None:
    source, target = corpus(tmp_path, b"one\ntwo\n", b"eins\nzwei\n")
    for name in (source, target):
        Path(name + ".gz").write_bytes(gzip.compress(Path(name).read_bytes()))
    table = tmp_path / "a.tsv"
    table.write_bytes(b"one\teins\ntwo\tzwei\n")
    expected = [("one", "eins"), ("two", "zwei")]
    for files in ((source, target), (source + ".gz", target), (source, target + ".gz"), (str(table),)):
        pairs, report = read_pairs(text_of([files], DataConfig()))
        assert texts(pairs) == expected
        assert (pairs[1].line, pairs[1].origin) == (2, f"{files[0]}:2")
        assert counts(report) == {"read": 2, "kept": 2}


def test_the_same_pair_in_another_language_is_no_duplicate(tmp_path: Path) -> None:
    files = corpus(tmp_path, b"taxi\n", b"taxi\n")
    with pytest.raises(UsageError, match="names 2 pairs of languages for 1 corpora"):
        read_pairs(text_of([files], DataConfig(languages=(("en", "de"), ("de", "en")))))
    for languages, kept in (((), 1), ((("en", "de"),), 1), ((("en", "de"), ("en", "fr")), 2)):
        for remove in (True, False):
            pairs, report = read_pairs(
                text_of([files, files], DataConfig(languages=languages, remove_duplicates=remove))
            )
            assert report.duplicates == 2 - kept
            assert [pair.language for pair in pairs] == [0, kept - 1][: kept if remove else 2]


@pytest.mark.parametrize("inside", ["\u2028", "\x85", "\r", "\x0b", "\x1c", "\0"])
def test_lines_are_split_on_line_feeds_alone(tmp_path: Path, inside: str) -> None:
    files = corpus(tmp_path, f"one{inside}more\ntwo".encode(), b"eins\nzwei\n")
    pairs, report = read_pairs(text_of([files], DataConfig()))
    assert texts(pairs) == [(f"one{inside}more", "eins"), ("two", "zwei")]
    assert counts(report) == {"read": 2, "kept": 2}


def test_a_byte_order_mark_and_carriage_returns_at_line_ends_are_removed(tmp_path: Path) -> None:
    mark = b"\xef\xbb\xbf"
    files = corpus(tmp_path, mark + b"one\r\ntwo\r\n" + mark + b"three\n", b"eins\nzwei\ndrei\n")
    expected = [("one", "eins"), ("two", "zwei"), ("\ufeffthree", "drei")]  # only at the start it is a mark
    for sides in (files, files[::-1]):
        pairs, report = read_pairs(text_of([sides], DataConfig()))
        assert [pair[:: 1 if sides == files else -1] for pair in texts(pairs)] == expected
        assert counts(report) == {"read": 3, "kept": 3, "crlf": 2}


@pytest.mark.parametrize("nothing", ["", " ", "\t", "\u00a0\u3000", "\r"])
def test_empty_lines_drop_the_pair_and_are_counted(tmp_path: Path, nothing: str) -> None:
    files = corpus(tmp_path, f"{nothing}\ntwo\nthree\n".encode(), f"eins\n{nothing}\ndrei\n".encode())
    pairs, report = read_pairs(text_of([files], DataConfig()))
    assert [(pair.source, pair.line) for pair in pairs] == [("three", 3)]
    assert (report.read, report.empty, report.kept) == (3, 2, 1)


def test_bad_utf8_is_an_error_or_replaced_or_skipped_as_chosen(tmp_path: Path) -> None:
    lines = [b"line %d" % number for number in range(1, 11)]
    files = corpus(tmp_path, b"\n".join([*lines[:6], b"caf\xe9 x", *lines[7:]]), b"\n".join(lines))
    for sides in (files, files[::-1]):
        with pytest.raises(PellucidError) as error:
            read_pairs(text_of([sides], DataConfig()))
        assert str(error.value) == (
            f"{files[0]}:7: not UTF-8: byte 0xe9 at position 4 of the line. "
            'Correct the line, or set [data] bad_utf8 = "replace" or "skip".'
        )
    pairs, report = read_pairs(text_of([files], DataConfig(bad_utf8="replace")))
    assert texts(pairs)[6] == ("caf\ufffd x", "line 7")
    assert (report.bad_utf8, report.kept) == (1, 10)
    for sides in (files, files[::-1]):
        pairs, report = read_pairs(text_of([sides], DataConfig(bad_utf8="skip")))
        assert [pair.target for pair in pairs] == [f"line {n}" for n in (1, 2, 3, 4, 5, 6, 8, 9, 10)]
        assert all(pair.source == pair.target for pair in pairs)
        assert (report.bad_utf8, report.kept) == (1, 9)
    (tmp_path / "a.jsonl").write_bytes(
        b'{"source": "caf\xe9", "target": "x"}\n{"source": "a", "target": "b"}\n'
    )
    with pytest.raises(PellucidError, match=r"a\.jsonl:1: not UTF-8: byte 0xe9 at position 4"):
        read_pairs(text_of([[str(tmp_path / "a.jsonl")]], DataConfig()))
    for policy, kept in (("skip", 1), ("replace", 2)):
        pairs, report = read_pairs(text_of([[str(tmp_path / "a.jsonl")]], DataConfig(bad_utf8=policy)))
        assert (report.bad_utf8, report.kept, len(pairs)) == (1, kept, kept)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-20], lambda data: b"plain text", lambda data: data[:50] + b"x" * 50]
)
def test_damaged_gzip_is_an_error_with_the_file(tmp_path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    source, target = corpus(tmp_path, b"one\n" * 1000, b"eins\n" * 1000)
    whole = gzip.compress(bytes(range(33, 127)) * 100 + b"\n")
    (tmp_path / "a.en.gz").write_bytes(damage(whole))
    with pytest.raises(PellucidError, match=r"a\.en\.gz: damaged or cut short \(.+\)\. Copy the file again"):
        read_pairs(text_of([(source + ".gz", target)], DataConfig()))


def test_a_table_has_two_columns(tmp_path: Path) -> None:
    table, zipped = tmp_path / "a.tsv", tmp_path / "my a.tsv.gz"
    three = b"one\teins\n\ntwo\tzwei\tCC-BY\n"
    for path, content, where in (
        (table, three, f"{table}:3: 3 columns"),
        (zipped, gzip.compress(three), f"{zipped}:3: 3 columns"),
        (table, b"one\n", f"{table}:1: 1 column"),
    ):
        path.write_bytes(content)
        message = re.escape(
            f"{where}, but a line must have 2: source, tab, target. Correct the line, or keep"
        )
        with pytest.raises(PellucidError, match=f"^{message}"):
            read_pairs(text_of([(str(path),)], DataConfig()))
    table.write_bytes(b"one\teins\n\n")
    _, report = read_pairs(text_of([(str(table),)], DataConfig()))
    assert (report.read, report.empty, report.kept) == (2, 1, 1)


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (
            b"1\n2\n3\n",
            b"1\n2\n",
            "a.en has 3 lines and SOURCE/a.de has 2: line by line they "
            "must belong together, and line 3 has none. "
            "Look ",
        ),
        (b"\n", b"eins\n", "a.en: no pair is left (1 pair read, 0 kept; 1 empty). Look at the "),
        (None, b"eins\n", "a.en: no such file. Give the path of parallel text, as --source and --target "),
        (
            "\ufeffone\n".encode("utf-16-le"),
            b"eins\n",
            "a.en: this is UTF-16, not UTF-8. Convert it: iconv -f UTF-16 -t UTF-8 SOURCE/a.en > NEW",
        ),
        (
            b"one\rtwo\r",
            b"eins\rzwei\r",
            "a.en: its lines end in carriage returns alone, as on old Macs. Convert it: tr '\\r' '\\n' < ",
        ),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, source: bytes | None, target: bytes, message: str) -> None:
    files = corpus(tmp_path, source or b"", target)
    if source is None:
        Path(files[0]).unlink()
        with pytest.raises(PellucidError, match=r"a\.en: no such file"):
            fingerprint([files])
    expected = f"{tmp_path}/{message}".replace("SOURCE", str(tmp_path))
    with pytest.raises(PellucidError, match=f"^{re.escape(expected)}"):
        read_pairs(text_of([files], DataConfig()))
    assert read_pairs(text_of([], DataConfig())) == ([], Report())


def test_files_below_the_working_folder_are_named_as_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for read in (
        lambda files: read_pairs(text_of([files], DataConfig())),
        lambda files: fingerprint([files]),
    ):
        with pytest.raises(PellucidError, match=r"^nowhere/a\.tsv: no such file"):
            read([str(tmp_path / "nowhere" / "a.tsv")])
        with pytest.raises(PellucidError, match=r"^https://a\.org/a\.tsv: no such file"):
            read(["https://a.org/a.tsv"])
    (tmp_path / "a.tsv").write_text("one\teins\n")
    assert read_pairs(text_of([[str(tmp_path / "a.tsv")]], DataConfig()))[0][0].origin == "a.tsv:1"


def test_duplicates_and_identical_sides_are_counted_and_duplicates_removed_on_request(tmp_path: Path) -> None:
    files = corpus(tmp_path, b"one\none\none\nok\n", b"eins\neins\nein\nok\n")
    pairs, report = read_pairs(text_of([files], DataConfig()))
    assert (len(pairs), report.duplicates, report.identical) == (4, 1, 1)
    pairs, report = read_pairs(text_of([files], DataConfig(remove_duplicates=True)))
    assert [pair.line for pair in pairs] == [1, 3, 4]
    assert str(report) == "4 pairs read, 3 kept; 1 repeated, 1 with target = source"


def test_fingerprint_follows_the_bytes_and_not_the_folder(tmp_path: Path) -> None:
    first, second = tmp_path / "x", tmp_path / "y"
    first.mkdir()
    second.mkdir()
    files, same = corpus(first, b"one\n", b"eins\n"), corpus(second, b"one\n", b"eins\n")
    assert fingerprint([files]) == fingerprint([same])
    assert set(fingerprint([files])) == {"a.en", "a.de"}
    assert set(fingerprint([files, same])) == {"x/a.en", "x/a.de", "y/a.en", "y/a.de"}
    assert fingerprint([files])["a.en"] == "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806"
    corpus(second, b"one!\n", b"eins\n")
    assert fingerprint([files]) != fingerprint([same])


@dataclass(frozen=True)
class Letters:
    """A stand-in for a Vocabulary: a token for each letter."""

    languages: tuple[tuple[str, str], ...] = ()
    source_size = target_size = 2**17
    unknown_id: int = 1

    def encode_source(self, text: str, to: str | None) -> list[int]:
        tag = [9] if len(self.languages) > 1 else []
        return [*tag, *(ord(letter) for letter in text if letter not in " \u200b"), 3]

    encode_target = encode_source

    def count_tags(self, target: list[int]) -> int:
        return int(target[:1] == [9])


def pairs_of(*sides: tuple[str, str]) -> list[Pair]:
    return [Pair(source, target, 0, line, "a.en") for line, (source, target) in enumerate(sides, 1)]


def test_encoding_drops_the_too_long_and_the_unequal() -> None:
    pairs = pairs_of(
        *[("a" * 9, "b" * 9), ("a" * 10, "b"), ("a", "b" * 10), ("a", "b" * 7), ("ab", "b" * 8)],
        *[("\u200b", "b"), ("a" * 7, "b")],
    )
    data = DataConfig(max_length=10, max_ratio=3)
    examples, report = encode_pairs(pairs, Letters(), data, Report(read=9, kept=7, empty=2))  # type: ignore[arg-type]
    assert examples.origins() == ("a.en:1", "a.en:5")
    assert list(examples)[1][0] == [97, 98, 3]
    assert counts(report) == {"read": 9, "kept": 2, "empty": 3, "too_long": 2, "ratio": 2}
    assert str(report) == "9 pairs read, 2 kept; 3 empty, 2 too long, 2 of unequal length"
    with pytest.raises(PellucidError, match=r"a\.en: no pair is left \(1 pair read, 0 kept; 1 too long\)"):
        encode_pairs(pairs[1:2], Letters(), data)  # type: ignore[arg-type]
    several = Letters((("en", "de"), ("en", "fr")))  # a language tag alone is an empty source
    examples, report = encode_pairs(pairs_of(("\u200b", "b"), ("a", "b")), several, DataConfig())  # type: ignore[arg-type]
    assert (len(examples), report.empty) == (1, 1)


def test_the_shares_of_unknown_tokens_are_of_each_side() -> None:
    pairs = pairs_of(("ab", "abcd"), ("cd", "efab"))
    for token, shares in (
        (ord("a"), "25.00% of the source, 25.00% of the target"),
        (ord("e"), "12.50% of the target"),
        (ord("z"), ""),
    ):
        vocabulary = Letters(unknown_id=token)
        examples, _ = encode_pairs(pairs, vocabulary, DataConfig())  # type: ignore[arg-type]
        assert examples.figures.unknown == shares


@pytest.mark.timeout(60)  # reading it takes milliseconds
def test_a_line_of_a_million_characters_costs_no_tokenising(tmp_path: Path) -> None:
    files = corpus(tmp_path, b"." * 10**6 + b"\nok\n", b"a\ngut\n")
    for sides in (files, files[::-1]):
        pairs, report = read_pairs(text_of([sides], DataConfig()))
        assert (len(pairs), report.too_long) == (1, 1)
    assert len(read_pairs(text_of([corpus(tmp_path, b"." * 100, b"a")], DataConfig(max_length=5)))[0]) == 1


def test_a_word_that_moves_to_the_other_side_changes_the_fingerprint() -> None:
    hashes = {fingerprint_of(pairs) for pairs in ([("a b", "c")], [("a", "b c")], [("a", "b"), ("c", "")])}
    assert len(hashes) == 3


def test_two_sources_into_one_language_have_no_tag_and_may_be_one_word() -> None:
    vocabulary = SimpleNamespace(
        languages=(("en", "es"), ("fr", "es")),
        encode_source=lambda text, *more: [5, 3],
        encode_target=lambda text, *more: [6, 3],
        count_tags=lambda target: 0,
        **dict(source_size=9, target_size=9, unknown_id=1),
    )
    pairs = [Pair("a", "b", 1, 1, "f")]
    assert encode_pairs(pairs, vocabulary, DataConfig())[1].kept == 1  # type: ignore[arg-type]


def test_no_more_is_held_out_than_asked() -> None:
    sources = np.array([source_hash(f"source {number // 3}") for number in range(30)], np.uint64)
    for count in range(3, 12):
        assert hold_out(sources, count).sum() == count // 3 * 3


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="pipes have names like /dev/fd/3")
def test_lines_of_pipes_are_counted_in_one_reading() -> None:
    ends = list[int]()
    for text in (b"1\n2\n3\n4\n", b"1\n2\n"):
        end, write = os.pipe()
        os.write(write, text)
        os.close(write)
        ends.append(end)
    one, other = (f"/dev/fd/{end}" for end in ends)
    with pytest.raises(PellucidError, match=f"{one} has 4 lines and {other} has 2: .* line 3 has none"):
        [*read_rows([one, other])]

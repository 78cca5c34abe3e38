"""The command line in this process: its help, its errors, and `translate`, line by line."""

import errno
import json
import signal
from pathlib import Path

import pytest
from command import VERBS, Command

from pellucid.cli.lines import put

# Help and errors


def test_without_a_verb_the_help(pellucid: Command) -> None:
    outcome = pellucid()
    assert outcome.code == 2 and outcome.out == ""
    assert all(f"    {verb}" in outcome.err for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_each_help_shows_an_example(pellucid: Command, verb: str) -> None:
    outcome = pellucid(verb, "--help")
    assert outcome.code == 0 and outcome.err == ""
    assert f"\n  pellucid {verb} " in outcome.out.partition("\nexample")[2]


@pytest.mark.parametrize(
    "words",
    ["transalte demo", "translate demo --bean 3", "translate demo --beam three", "translate demo --bea 3"],
)
def test_an_unknown_verb_or_argument_is_code_2(pellucid: Command, words: str) -> None:
    assert pellucid(*words.split()).code == 2  # the last: no option may be abbreviated


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("tranlate demo", "pellucid: error: there is no verb 'tranlate'. Did you mean \"translate\"?"),
        ("xyzzy", "pellucid: error: there is no verb 'xyzzy'."),
        (
            "translate demo --bean=3",
            'pellucid translate: error: unrecognized arguments: --bean=3. Did you mean "--beam"?',
        ),
        ("--verson", 'pellucid: error: unrecognized arguments: --verson. Did you mean "--version"?'),
        ("translate demo --to es --to fr", "pellucid translate: error: --to is given twice. Leave one out."),
        (
            "explain demo a --html a --html a",
            "pellucid explain: error: --html is given twice. Leave one out.",
        ),
    ],
)
def test_what_was_probably_meant(pellucid: Command, words: str, message: str) -> None:
    outcome = pellucid(*words.split())
    assert outcome.code == 2 and outcome.err.splitlines()[-1] == message
    assert outcome.err.startswith(f"usage: {message.partition(': error')[0]} [-h]"), "of the verb"


@pytest.mark.parametrize("verb", ["data", "example", "exercise", "experiment"])
def test_a_verb_that_has_a_list_needs_a_name_or_that_list(pellucid: Command, verb: str) -> None:
    outcome = pellucid(verb)
    assert outcome.code == 2 and "error: one of the arguments NAME --list" in outcome.err
    assert "argument --list: not allowed with argument NAME" in pellucid(verb, "some", "--list").err


def test_a_folder_without_a_model(pellucid: Command, tmp_path: Path) -> None:
    manifest = tmp_path / "MANIFEST.json"
    outcome = pellucid("translate", tmp_path, stdin=b"a b\n")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"pellucid: {manifest}: No such file or directory. This is not the folder")
    for words in (["translate"], ["average", tmp_path / "out"]):
        outcome = pellucid(*words, tmp_path / "nowhere")
        remedy = "Name a model folder or hf://OWNER/NAME, or write demo.\n"
        assert outcome == (1, "", f"pellucid: {tmp_path / 'nowhere'}: no such folder. {remedy}")
        manifest.write_text("")
        assert f"{manifest}: this is a file. {remedy}" in pellucid(*words, manifest).err
    outcome = pellucid("explain", "", "a b c")
    assert outcome.code == 2
    assert outcome.err.endswith("error: argument MODEL: it is empty: name a model folder, or write demo\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--beam 0", "--beam 0 must be a whole number from 1 to 1000."),
        ("--n-best 3", "--n-best 3 is more than --beam 2, the number of hypotheses to follow."),
        ("--top-k 3", "--top-k 3 needs --sample. Set that too, or leave --top-k out."),
        ("--prefix ж", "--prefix ж contains words or characters that the vocabulary does not have"),
        ("--to de", "the model does not name its languages, so 'de' cannot be chosen. Leave it out."),
        ("--precision int4", "--precision int4 is not one of auto, fp32, bf16, fp16, int8. Choose one"),
        ("--device cuda:99", "--device cuda:99 cannot be used: "),
    ],
)
def test_wrong_options_are_code_2_before_any_line_is_read(
    pellucid: Command, toy_model: Path, arguments: str, message: str
) -> None:
    outcome = pellucid("translate", toy_model, *arguments.split(), stdin=b"a\n" * ("prefix" in arguments))
    assert (outcome.code, outcome.out) == (2, "") and outcome.err.startswith(f"pellucid: {message}")


@pytest.mark.parametrize("number", [[], [signal.SIGTERM]])  # of Ctrl-C; of the signal that a training notes
def test_an_interruption_has_the_exit_code_of_its_signal(
    pellucid: Command, monkeypatch: pytest.MonkeyPatch, number: list[int]
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt(*number)

    monkeypatch.setattr("pellucid.cli.data.fetch", interrupted)
    code = 143 if number else 130
    assert pellucid("data", "multi30k-en-de") == (code, "", "pellucid: interrupted.\n")


def test_sigterm_leaves_nothing_behind(
    pellucid: Command, toy_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def terminated(*arguments: object) -> None:
        folder = next(each for each in arguments if isinstance(each, Path))
        (folder / "half").write_text("written")
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("pellucid.interop.exporting.write_ctranslate2", terminated)
    before = signal.getsignal(signal.SIGTERM)
    outcome = pellucid("export", "ctranslate2", toy_model, tmp_path / "out")
    assert outcome == (143, "", "pellucid: interrupted.\n")
    assert list(tmp_path.iterdir()) == [] and signal.getsignal(signal.SIGTERM) == before


def test_the_page_of_verify_replaces_its_own_and_nothing_else(
    pellucid: Command, toy_model: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text("my notes")
    code, _, said = pellucid("verify", toy_model, "--html", page)
    assert code == 1 and "Pellucid did not write it" in said and page.read_text() == "my notes"
    page.unlink()
    assert [pellucid("verify", toy_model, "--html", page)[0] for _ in range(2)] == [0, 0]


@pytest.mark.parametrize(("verb", "code"), [("inspect", 0), ("leak", 1), ("verify", 1)])
def test_only_a_verb_that_only_prints_may_lose_its_reader(
    pellucid: Command, toy_model: Path, monkeypatch: pytest.MonkeyPatch, verb: str, code: int
) -> None:
    def left(*arguments: object) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("pellucid.cli.command.drop_output", lambda: None)
    monkeypatch.setattr(f"pellucid.cli.{verb}.put", left)
    outcome = pellucid(verb, toy_model)
    assert outcome == (code, "", "pellucid: standard output: Broken pipe.\n" * code)


# translate


def test_a_text_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    put(["one\nline", "two"])
    assert capsys.readouterr().out == "one line\ntwo\n"


def test_one_line_out_for_every_line_in(pellucid: Command, toy_model: Path) -> None:
    lines = ["a b c", "", "   ", "d\u2028e f", "g\u0085h i", "j\rk", "l m\r", "n o"]
    outcome = pellucid("translate", toy_model, stdin="\n".join(lines).encode())
    unknown = "pellucid: warning: standard input:5: the model has no word 'g\\x85h'. It knows 16 words, "
    assert outcome.code == 0 and outcome.err.startswith(unknown) and outcome.err.count("\n") == 1
    translations = outcome.out.split("\n")
    assert len(translations) == len(lines) + 1 and translations[-1] == ""
    assert [not line.strip() for line in lines] == [line == "" for line in translations[:-1]]
    assert pellucid("translate", toy_model) == (0, "", "")


def test_a_byte_order_mark_and_crlf_change_nothing(pellucid: Command) -> None:
    translate = "translate", "demo", "--to", "es"  # to its vocabulary, the mark would be an unknown word
    plain = pellucid(*translate, stdin=b"I like cats\nHow are you\n")
    assert plain.code == 0 and plain.err == ""
    assert pellucid(*translate, stdin=b"\xef\xbb\xbfI like cats\r\nHow are you\r\n") == plain
    later = pellucid(*translate, stdin=b"I like cats\n\xef\xbb\xbfHow are you\n")
    assert "standard input:2: the model has no " in later.err, "only the first line has a mark"


def test_n_best_lines_count_from_zero(pellucid: Command, toy_model: Path) -> None:
    outcome = pellucid("translate", toy_model, "--beam", 3, "--n-best", 2, stdin=b"a b c\n\nd e f\n")
    rows = [line.split(" ||| ") for line in outcome.out.splitlines()]
    assert [row[0] for row in rows] == ["0", "0", "1", "2", "2"]
    assert rows[2] == ["1", "", "0.0000"]
    assert float(rows[0][2]) >= float(rows[1][2])


def test_options_reach_the_search(pellucid: Command, toy_model: Path) -> None:
    assert pellucid("translate", toy_model, "--prefix", "p p", stdin=b"a b c\n").out.startswith("p p")
    sample = "--sample", "--temperature", 3.0, "--seed"
    drawn = [pellucid("translate", toy_model, *sample, seed, stdin=b"a b c\n").out for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    "options", ["--sample --temperature 3 --seed 7", "--sample --n-best 2", "--beam 3 --n-best 2"]
)
def test_when_lines_arrive_changes_nothing(
    pellucid: Command, toy_model: Path, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    def texts() -> list[list[str]]:
        """Each line out without its score, whose last digits depend on the line's neighbours."""
        outcome = pellucid(
            "translate", toy_model, *options.split(), stdin=b"a b c\na b c\nd e\n\na b c\nf g\n"
        )
        assert outcome.code == 0
        return [line.split(" ||| ")[:2] for line in outcome.out.splitlines()]

    at_once = texts()
    for block in (1, 7, 13):  # bytes that arrive together
        monkeypatch.setattr("pellucid.cli.lines._ARRIVAL", block)
        assert texts() == at_once


def test_a_line_that_is_not_utf8_stops_or_is_skipped_or_mended(pellucid: Command, toy_model: Path) -> None:
    stdin = b"a b\nb \xff c\nd e\n"
    stopped = pellucid("translate", toy_model, stdin=stdin)
    assert stopped.code == 1 and stopped.out.count("\n") == 1, "the line before it is translated"
    where = "pellucid: standard input:2: not UTF-8: byte 0xff at position 3 of the line."
    assert stopped.err.startswith(where) and "--bad-utf8 replace" in stopped.err
    skipped = pellucid("translate", toy_model, "--bad-utf8", "skip", stdin=stdin)
    assert skipped.code == 0 and skipped.out.split("\n")[1] == "" and skipped.out.count("\n") == 3
    mended = pellucid("translate", toy_model, "--bad-utf8", "replace", stdin=stdin)
    assert mended == pellucid("translate", toy_model, stdin="a b\nb \ufffd c\nd e\n".encode())
    assert pellucid("translate", toy_model, stdin="a b\n".encode("utf-16")).err == (
        "pellucid: standard input: this is UTF-16, not UTF-8. "
        "Convert it: ... | iconv -f UTF-16 -t UTF-8 | pellucid ...\n"
    )


def test_a_million_characters_are_cut_and_it_says_so(pellucid: Command, toy_model: Path) -> None:
    stdin = b"\n" * 70_000 + b"c " * 500_000 + b"\na b\n"
    outcome = pellucid("translate", toy_model, "--beam", 1, "--max-length", 2, stdin=stdin)
    assert outcome.code == 0 and outcome.out.count("\n") == 70_002
    cut, unfinished = outcome.err.splitlines()
    assert cut.startswith("pellucid: warning: standard input:70001: too long, only its beginning was ")
    assert unfinished.startswith(
        "pellucid: warning: standard input:70001, 70002: the translation reached its limit of tokens"
    )


def test_a_json_object_a_line(pellucid: Command, toy_model: Path) -> None:
    stdin, how = b"a b c\n\na b c d e ZZ\n", ("translate", toy_model, "--beam", 3)
    outcome = pellucid(*how, "--json", "--n-best", 2, stdin=stdin)
    rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert [row["text"] for row in rows] == pellucid(*how, stdin=stdin).out.splitlines()
    assert [row["unknown"] for row in rows] == [[], [], ["ZZ"]]
    assert all(row["finished"] and not row["truncated"] for row in rows)
    best = [[each["text"], each["score"]] for each in rows[0]["hypotheses"]]
    assert best[0] == [rows[0]["text"], rows[0]["score"]] and len(best) == 2 and best[0][1] > best[1][1]
    for row, line in ((rows[0], "a b c"), (rows[2], "a b c d e")):  # alone, and in a batch with a longer one
        assert row["alignment"]["source_words"][: len(line.split())] == line.split()
        assert " ".join(row["alignment"]["target_words"]) == row["text"].replace(" ⁇ ", " <unk> ")
    pharaoh = pellucid("explain", toy_model, "a b c", "--target", rows[0]["text"], "--alignment").out
    assert " ".join(f"{one}-{other}" for one, other in rows[0]["alignment"]["links"]) == pharaoh.strip()
    assert rows[1]["alignment"] == {"links": [], "source_words": [], "target_words": []}
    plain = [json.loads(line) for line in pellucid(*how, "--json", stdin=stdin).out.splitlines()]
    assert plain == [{name: row[name] for name in row if name != "hypotheses"} for row in rows]
    ensemble = pellucid("translate", toy_model, toy_model, "--json", stdin=b"a b c\n").out
    assert json.loads(ensemble)["alignment"] is None, "no single model looked"


def test_however_lines_arrive_messages_number_them_from_the_first(
    pellucid: Command, toy_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pellucid.cli.lines._ARRIVAL", 4)
    unknown = pellucid("translate", toy_model, stdin=b"a b\nc d\nZZ a\nb a\nZZ\n").err
    assert unknown.startswith("pellucid: warning: standard input:3, 5: the model has no word 'ZZ'.")
    bad = pellucid("translate", toy_model, stdin=b"a b\nc d\n\xff\n").err
    assert bad.startswith("pellucid: standard input:3: not UTF-8: byte 0xff at position 1 of the line.")


def test_the_json_in_the_docs_is_what_is_printed(pellucid: Command) -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
    shown = json.loads(next(line for line in page.splitlines() if line.startswith('{"text": "Me gustan')))
    found = json.loads(pellucid("translate", "demo", "--to", "es", "--json", stdin=b"I like cats\n").out)
    assert found.pop("score") == pytest.approx(shown.pop("score"), abs=1e-4)
    assert found == shown

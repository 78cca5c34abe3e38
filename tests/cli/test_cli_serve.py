"""pellucid serve: what it refuses at the start."""

import socket
import sys

import pytest
from command import Command


def test_a_missing_extra_is_told_in_one_line(pellucid: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pellucid.serve.running", raising=False)  # the one that imports uvicorn
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    outcome = pellucid("serve", "demo")
    message = 'serving needs uvicorn. Install it: pip install "pellucid[serve]"'
    assert (outcome.code, outcome.err) == (1, f"pellucid: {message}\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere"], 1, "nowhere: no such folder. Name a model folder or hf://OWNER/NAME, or write demo."),
        (["demo:en-de"], 2, "demo does not translate en-de, but en-hi, fr-en, en-es, en-fr."),
        (["demo:en-fr", "demo"], 2, "demo and demo both translate en-fr. Leave one out, or "),
        (["demo", "--limit", "texs=5"], 2, '--limit texs=5: there is no such limit. Did you mean "texts"?'),
        (["demo", "--limit", "texts=0"], 2, "[limits] texts = 0 must be a whole number, 1 or more."),
        (["demo", "--keys", "no"], 1, "--keys no: No such file or directory. Name a file with one key on "),
        (["demo", "--host", "::1:2"], 1, "::1:2:0: "),
        (["demo", "--host", ""], 1, "--host '' names no address. Give 127.0.0.1, or 0.0.0.0 for all of this"),
    ],
)  # fmt: skip
def test_a_wrong_start_is_told(arguments: list[str], code: int, message: str, pellucid: Command) -> None:
    outcome = pellucid("serve", *arguments, "--port", 0)
    assert outcome.code == code and outcome.err.startswith(f"pellucid: {message}"), outcome.err


def test_a_port_has_sixteen_bits(pellucid: Command) -> None:
    outcome = pellucid("serve", "demo", "--port", 65536)
    assert outcome == (1, "", "pellucid: --port 65536 must be a whole number from 0 to 65535.\n")


def test_a_port_that_is_taken_is_told(pellucid: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = pellucid("serve", "demo", "--port", port)
    assert outcome.code == 1
    assert (
        outcome.err
        == f"pellucid: 127.0.0.1:{port}: Address already in use. Choose another --host or --port.\n"
    )

"""Models on a hub, with the genuine client and a stand-in for the hub's side of its interface."""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import short_runs

import pellucid
from pellucid.interop.card import OURS, UNKNOWN
from pellucid.interop.hub import _own

COMMIT = "0123456789" * 4


class Hub(BaseHTTPRequestHandler):
    """Keeps files by repository; each request is what huggingface_hub sends."""

    stored: dict[str, dict[str, bytes]]

    def do_GET(self) -> None:
        if found := re.match(r"/api/models/([^/]+/[^/?]+)(/revision/[^/?]+)?(\?|$)", self.path):
            if found[1] not in self.stored:
                return self.answer(404, b"{}", {"X-Error-Code": "RepoNotFound"})
            files = [
                {"rfilename": name, "path": name, "type": "file", "size": len(content), "oid": "0" * 40}
                for name, content in self.stored[found[1]].items()
            ]
            return self.say({"id": found[1], "sha": COMMIT, "siblings": files})
        if (found := re.match(r"/api/models/([^/]+/[^/]+)/tree/", self.path)) and found[1] in self.stored:
            files = [
                {"path": name, "type": "file", "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
                for name, content in self.stored[found[1]].items()
            ]
            return self.answer(200, json.dumps(files).encode())
        found = re.match(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", self.path)
        if found is None or found[2] not in self.stored.get(found[1], {}):
            return self.answer(404, b"{}", {"X-Error-Code": "EntryNotFound"})
        content = self.stored[found[1]][found[2]]
        tag = hashlib.sha1(content).hexdigest()
        return self.answer(200, content, {"ETag": f'"{tag}"', "X-Repo-Commit": COMMIT})

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/api/repos/create"):
            name = json.loads(body)
            self.stored.setdefault(f"anna/{name['name']}", {})
            return self.say({"url": f"{self.address}/anna/{name['name']}"})
        if "/preupload/" in self.path:
            files = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                for file in json.loads(body)["files"]
            ]
            return self.say({"files": files})
        if found := re.match(r"/api/models/([^/]+/[^/]+)/commit/main", self.path):
            for line in body.decode().splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    content = base64.b64decode(entry["value"]["content"])
                    self.stored[found[1]][entry["value"]["path"]] = content
            return self.say({"commitUrl": f"{self.address}/{found[1]}/commit/{COMMIT}", "commitOid": COMMIT})
        return self.say({})  # the card's header is checked

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def say(self, value: object) -> None:
        self.answer(200, json.dumps(value).encode())

    def answer(self, code: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, dict[str, bytes]]]:
    """What is on the hub, whose address commands find in their environment."""
    Hub.stored = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, value in {
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_address[1]}",
        "HF_HOME": str(tmp_path / "cache"),
        "HF_TOKEN": "hf_secret",
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_OFFLINE": "0",
    }.items():
        monkeypatch.setenv(name, value)
    yield Hub.stored
    server.shutdown()
    server.server_close()


def command(*arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run pellucid in a new process, because huggingface_hub reads the environment once."""
    line = [sys.executable, "-m", "pellucid", *map(str, arguments)]
    return subprocess.run(
        line, capture_output=True, text=True, input="ab\n", timeout=120, env=dict(os.environ)
    )


def test_a_model_is_given_away_and_used(
    stored: dict[str, dict[str, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = pellucid.train(
        short_runs.config(tmp_path / "data", {"training.steps": 2}), tmp_path / "run", show=False
    )
    refused = command("push", run, "anna/letters")
    assert refused.returncode == 2 and "nothing says under which licence" in refused.stderr and not stored
    done = command("push", run, "anna/letters", "--licence", "cc-by-4.0")
    assert done.returncode == 0 and done.stdout.endswith(f"/anna/letters/commit/{COMMIT}\n"), done.stderr
    files = stored["anna/letters"]
    assert {"MANIFEST.json", "README.md", "config.toml", "weights.safetensors"} < {*files}
    assert "metrics.jsonl" not in files and not any("/" in name for name in files)
    card = files["README.md"].decode()
    assert '\nlicense: "cc-by-4.0"\n' in card and "pellucid.load('hf://anna/letters')" in card
    files |= {"tf_model.h5": b"x" * 100, "deep/README.md": b"x"}  # of other programs
    here, there = command("translate", run), command("translate", "hf://anna/letters")
    assert there.returncode == 0 and there.stdout == here.stdout, there.stderr
    assert not [*(tmp_path / "cache").rglob("tf_model.h5")]
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    without = command("translate", "hf://anna/letters")
    assert without.returncode == 0 and without.stdout == here.stdout, without.stderr
    never = command("translate", "hf://anna/others")
    assert never.returncode == 1 and "Look at the name and the connection" in never.stderr


def test_only_a_model_with_one_licence_is_uploaded(
    stored: dict[str, dict[str, bytes]], tmp_path: Path
) -> None:
    empty = command("push", tmp_path, "anna/nothing", "--licence", "mit")
    assert empty.returncode == 1 and "there is no model" in empty.stderr
    (tmp_path / "model.safetensors").write_bytes(b"x")
    (tmp_path / "README.md").write_text("---\nlicense: apache-2.0\n---\n")
    other = command("push", tmp_path, "anna/theirs", "--licence", "mit")
    assert other.returncode == 2 and "says apache-2.0, not mit" in other.stderr and not stored
    done = command("push", "demo", "anna/demo")  # whose manifest says it
    assert done.returncode == 0 and "Apache-2.0" in stored["anna/demo"]["README.md"].decode(), done.stderr


def test_the_card_of_an_exported_folder_says_its_licence_and_its_name(
    stored: dict[str, dict[str, bytes]], tmp_path: Path
) -> None:
    text = f"---\n---\n{OURS}\n{UNKNOWN}\nfrom_pretrained({tmp_path.name!r}) and ''\n"
    (tmp_path / "model.safetensors").write_bytes(b"x")
    (tmp_path / "README.md").write_text(text, "utf-8")
    done = command("push", tmp_path, "anna/theirs", "--licence", "mit")
    assert done.returncode == 0, done.stderr
    card = stored["anna/theirs"]["README.md"].decode()
    assert card.endswith(f"{OURS}\nmit.\nfrom_pretrained('anna/theirs') and ''\n")


def test_all_parts_of_the_weights_belong_to_a_model() -> None:
    pickles = ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"]
    files = ["config.json", "encoder.onnx", "encoder.onnx.data", *pickles]
    assert _own([*files, "tf_model.h5", "training_args.bin"]) == files
    assert _own([*files, "model.safetensors"]) == [*files[:3], "model.safetensors"]


def test_what_is_not_there_is_told(stored: dict[str, dict[str, bytes]]) -> None:
    for name in ("anna/nothing", "no name"):
        ended = command("translate", f"hf://{name}")
        assert ended.returncode == 1 and f"hf://{name}: " in ended.stderr and "hf auth login" in ended.stderr
        assert "Traceback" not in ended.stderr

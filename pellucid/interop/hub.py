"""Models on a hub of models: `hf://OWNER/NAME` downloads one, `push` gives one away (huggingface_hub)."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.errors import PellucidError, Setting, UsageError
from pellucid.folder.load import load_config
from pellucid.folder.manifest import MANIFEST, is_sealed, read_manifest, verify
from pellucid.interop.card import CARD, OURS, UNKNOWN, card_of, licence_in

if TYPE_CHECKING:
    from huggingface_hub import HfApi

PREFIX = "hf://"
# A model's own files, of ours, of transformers and of CTranslate2; what else lies there is for others.
PARTS = ("*.toml", "*.json", "*.model", "*.spm", "*.txt", "model.bin", "*.onnx", "*.onnx.data", CARD)
WEIGHTS = "*.safetensors", "pytorch_model*.bin"  # the first that is there


def folder_on_hub(model: str) -> Path:
    """Download a model of the hub, "hf://OWNER/NAME" or "hf://OWNER/NAME@REVISION", and return its folder.
    What was downloaded before comes from huggingface_hub's cache, and without a network is used as it is."""
    name, _, chosen = model.removeprefix(PREFIX).partition("@")
    revision = chosen or None
    with _hub(model) as hub:
        try:
            files = hub.list_repo_files(name, revision=revision)
        except Exception as error:  # of any library below; one with a response is the hub's own answer
            if hasattr(error, "response") or not (folder := _downloaded(name, revision)):
                raise
            return folder
        kept = _own([file for file in files if "/" not in file])
        return Path(hub.snapshot_download(name, revision=revision, allow_patterns=kept))


def _downloaded(name: str, revision: str | None) -> Path | None:
    """Return the folder of a model in huggingface_hub's cache, or None."""
    from huggingface_hub import try_to_load_from_cache

    found = (try_to_load_from_cache(name, file, revision=revision) for file in ("config.toml", "config.json"))
    return next((Path(file).parent for file in found if isinstance(file, str)), None)


def push(folder: str | Path, name: str, private: bool = False, licence: str = "") -> str:
    """Upload a model folder, or an exported one, to the hub as OWNER/NAME, in one commit; return its address.

    A run's checkpoints and logs stay here. licence: if the model card names none.
    """
    folder = Path(folder)
    files = _own([path.name for path in folder.iterdir()])
    if is_sealed(folder):
        verify(folder, "model")
        files = [*read_manifest(folder, "model")["files"], MANIFEST]
    if not {*files} - {CARD}:
        raise PellucidError(f"{folder}: there is no model. Name a model folder, or an exported one.")
    card = _card(folder, name, licence)
    with _hub(f"{PREFIX}{name}") as hub:
        from huggingface_hub import CommitOperationAdd

        added = [CommitOperationAdd(each, folder / each) for each in files if each != CARD]
        hub.create_repo(name, private=private, exist_ok=True)
        added.append(CommitOperationAdd(CARD, card.encode()))
        return str(hub.create_commit(name, added, commit_message="A model, by pellucid push").commit_url)


def _own(files: list[str]) -> list[str]:
    """Return those files that a model consists of."""
    weights = next((each for each in WEIGHTS if any(fnmatch(file, each) for file in files)), "")
    return [file for file in files if any(fnmatch(file, part) for part in (*PARTS, weights))]


def _card(folder: Path, name: str, licence: str) -> str:
    """Return the model card to upload. Raise an error if it names no licence."""
    path = folder / CARD
    card = path.read_text("utf-8", "replace") if path.exists() else ""
    if is_sealed(folder) and (OURS in card or not card):
        manifest = read_manifest(folder, "model")
        manifest["provenance"]["licence"] = licence or manifest["provenance"].get("licence")
        card = card_of(load_config(folder), manifest, "pellucid", f"{PREFIX}{name}")
    elif licence and licence_in(card) not in ("", licence):
        raise UsageError("{} says {}, not {}. Change one of them.", path, licence_in(card), licence)
    elif licence and not licence_in(card):
        if not card.startswith("---\n"):
            card = f"---\n---\n{card}"
        card = card.replace("---\n", f"---\nlicense: {json.dumps(licence)}\n", 1)
        if OURS in card:  # an exported folder's
            here, there = (f"from_pretrained({each!r})" for each in (folder.absolute().name, name))
            card = card.replace(UNKNOWN, f"{licence}.").replace(here, there)
    if not licence_in(card):
        raise UsageError(
            "{}: nothing says under which licence the model may be used. It follows from that of its text. "
            "Give one with {}, as hubs call it.",
            path,
            Setting("licence", "cc-by-4.0"),
        )
    return card


@contextmanager
def _hub(model: str) -> Iterator["HfApi"]:
    """Yield the hub's interface, and turn its errors into ours."""
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]
    except ImportError:
        raise PellucidError(f'{model}: this needs huggingface_hub: pip install "pellucid[hub]"') from None
    try:
        yield HfApi()
    except (HTTPError, OSError, ValueError) as error:  # its own errors are among these
        if isinstance(error, PellucidError):
            raise
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise PellucidError(
            f"{model}: {reason}. Look at the name and the connection; for a private model, or to upload one, "
            "log in first: hf auth login"
        ) from None

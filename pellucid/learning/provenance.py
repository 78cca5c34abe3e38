"""What a model is and what made it, as its manifest says."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from pellucid.folder.version import __version__


def what_is(manifest: Mapping[str, Any]) -> str:
    """Name a model by its manifest: "step 1747", or "average of steps 1500, 1747"."""
    if "step" in manifest:  # a checkpoint
        return f"step {manifest['step']}"
    provenance = manifest["provenance"]
    return str(provenance.get("what") or f"step {provenance['steps']}")


def average_of(steps: Sequence[int]) -> str:
    """Name an average of these steps: "average of steps 1500, 1747"."""
    return f"average of step{'s' * (len(steps) > 1)} {', '.join(map(str, steps))}"


def versions() -> dict[str, str]:
    """Return the version of each package that computes."""
    others = {name: version(name) for name in ("torch", "sentencepiece", "sacrebleu")}
    return {"pellucid": __version__} | others

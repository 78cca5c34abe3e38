"""Verify a model: do its files, its pieces and everything that computes with it agree with each other?"""

import time
from dataclasses import dataclass
from pathlib import Path

from pellucid.errors import PellucidError
from pellucid.interop.importing import load_folder
from pellucid.probes.checks import CHECKS, NotTried, Subject
from pellucid.seeing.viewed import Viewed


@dataclass(frozen=True)
class Check:
    """What was checked; "holds", "FAULT" or "not tried"; and the figures, the fault or the reason."""

    name: str
    found: str
    said: str


@dataclass(frozen=True)
class Sheet(Viewed):
    """The results of all checks of a model."""

    model: str
    checks: list[Check]
    seconds: float

    @property
    def faults(self) -> list[Check]:
        """Return the checks that found a fault, the nearest to its cause first."""
        return [check for check in self.checks if check.found == "FAULT"]


def verify(folder: Path, original: Path | None = None) -> Sheet:
    """Check a model folder. original: the folder of transformers that it was imported from, if it is at
    hand."""
    begun, checks = time.monotonic(), list[Check]()
    try:
        subject = Subject(folder, original, load_folder(folder))
    except PellucidError as fault:
        return Sheet(str(folder), [Check("files", "FAULT", str(fault))], time.monotonic() - begun)
    hashes = len(subject.loaded.manifest["files"])  # which were compared
    checks.append(
        Check("files", "holds", f"they can be read, and {hashes} have the SHA-256 of MANIFEST.json")
    )
    for name, check in CHECKS.items():
        try:
            checks.append(Check(name, "holds", check(subject)))
        except NotTried as reason:
            checks.append(Check(name, "not tried", str(reason)))
        except (PellucidError, RuntimeError) as fault:
            checks.append(Check(name, "FAULT", str(fault)))
    return Sheet(str(folder), checks, time.monotonic() - begun)

"""Build the packages of a release into dist/, check each, and say what was seen: `make dist`."""

import argparse
import os
import shutil
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from hatch_build import TARGETS, this_system
from tools.dist.building import ROOT, Refused, build_sdist, build_wheels, run
from tools.dist.contents import KERNELS, check_description, check_sdist, check_wheel
from tools.dist.installing import try_sdist, try_wheel, version_of

DIST = ROOT / "dist"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")  # as the classifiers in pyproject.toml


def main(pythons: list[str]) -> None:
    """Build and check; raise an error at the first package that must not be released."""
    began = time.monotonic()

    def say(what: str, seen: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {what}: {seen}", flush=True)

    sdist = build_sdist(DIST)
    say(sdist.name, check_sdist(sdist))
    wheels = {}
    with tempfile.TemporaryDirectory() as folder:
        for target, wheel in build_wheels(sdist, DIST, Path(folder)):
            say(wheel.name, check_wheel(wheel, target, sdist))
            wheels[target] = wheel
    say("description", check_description([sdist, *wheels.values()]))
    say("ARM kernels", check_arm(wheels["linux-aarch64"]))
    ours = wheels[this_system()]
    say(sdist.name, try_sdist(pythons[0], sdist, ours))
    tried = set()
    for python in pythons:
        version = version_of(python)
        if version is None:
            raise Refused(f"{python}: there is no such Python here")
        tried.add(version.rpartition(".")[0])
        for seen in try_wheel(python, ours):
            say(f"Python {version}", seen)
    if lacking := set(VERSIONS) - tried:
        say("Python", f"not tried: {', '.join(sorted(lacking))}. PYTHONS names interpreters to try with.")
    say("dist", f"{len(TARGETS) + 1} packages are ready")


def check_arm(wheel: Path) -> str:
    """The wheel's own ARM kernels, run by qemu, translate as this machine's do, to the last bit."""
    run(["sh", str(ROOT / "tools" / "dist" / "install_qemu.sh")], ROOT)
    if not shutil.which("qemu-aarch64"):
        return "not run: qemu-aarch64 is not installed here"
    with tempfile.TemporaryDirectory() as folder:
        library = zipfile.ZipFile(wheel).extract(KERNELS, folder)
        test = ["-m", "pytest", "-q", "tests/decoding/test_engine_arm.py"]
        told = run([sys.executable, *test], ROOT, PELLUCID_ARM_KERNELS=library)
    if "1 passed" not in told:
        raise Refused(f"the ARM kernels were not run: {told}")
    return "under qemu, 50 sentences with beams 1 and 4 are those of this machine, to the last bit"


def found_pythons() -> list[str]:
    """Return the interpreters of the versions that we name, as far as they are on the path."""
    return [f"python{each}" for each in VERSIONS if version_of(f"python{each}")] or [sys.executable]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pythons", nargs="*", help="the interpreters to try the wheel with (default: those on the path)")
    try:
        main(parser.parse_args().pythons or found_pythons())
    except Refused as refused:
        sys.exit(f"not to be released: {refused}")

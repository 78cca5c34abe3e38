"""What is in a package: its files, its description, and its kernels, which must run on the oldest system that
the wheel's name promises."""

import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import lief
from packaging.metadata import Metadata
from packaging.utils import parse_wheel_filename

from hatch_build import TARGETS, kinds_for
from pellucid.learning.compiled import KERNELS as TRAINING
from tools.dist.building import ROOT, expect, run

KERNELS = "pellucid/decoding/kernels.bin"
GLIBC = (2, 28)  # as in the wheels' names


@dataclass(frozen=True)
class Format:
    """What a library for a system may be: its processor, and the libraries that each such system has."""

    processor: str
    libraries: tuple[str, ...]


KIND = {"linux": "ELF", "macos": "MACHO", "windows": "PE"}
FORMATS = {
    "linux-x86_64": Format("X86_64", ("libc.so.6", "libm.so.6")),
    "linux-aarch64": Format("AARCH64", ("libc.so.6", "libm.so.6")),
    "macos-x86_64": Format("X86_64", ("/usr/lib/libSystem.B.dylib",)),
    "macos-arm64": Format("ARM64", ("/usr/lib/libSystem.B.dylib",)),
    "windows-x86_64": Format("AMD64", ("kernel32.dll", "api-ms-win-crt-")),
    "windows-arm64": Format("ARM64", ("kernel32.dll", "api-ms-win-crt-")),
}


def check_sdist(sdist: Path) -> str:
    """Every file that git tracks is in the sdist, and nothing else but its description."""
    tracked = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")[:-1]
    with tarfile.open(sdist) as archive:
        files = {each.name.partition("/")[2] for each in archive if each.isfile()}
    odd = sorted(files ^ {*tracked, "PKG-INFO"})
    expect(not odd, f"these files are only in git or only in the sdist: {', '.join(odd)}")
    return f"{len(tracked)} files, those that git tracks; {_size(sdist)}"


def check_description(packages: list[Path]) -> str:
    """A package index shows the description, and accepts its classifiers and its fields."""
    told = run([sys.executable, "-m", "twine", "check", "--strict", *map(str, packages)], ROOT)
    expect(told.count("PASSED") == len(packages), told)
    described = {_description(each) for each in packages}
    expect(len(described) == 1, "the packages have different descriptions")
    about = Metadata.from_email(described.pop(), validate=True)
    urls = ", ".join(f"{name} {address}" for name, address in (about.project_urls or {}).items())
    needs = sum(each.marker is None for each in about.requires_dist or [])
    return f"Python {about.requires_python}, {needs} dependencies; addresses: {urls or 'none given'}"


def check_wheel(wheel: Path, target: str, sdist: Path) -> str:
    """The name is that of the system; the files are the package's and the kernels, and those are for it."""
    name, version, _, tags = parse_wheel_filename(wheel.name)
    expect({str(tag) for tag in tags} == {f"py3-none-{TARGETS[target][1]}"}, f"{wheel.name}: another tag")
    with zipfile.ZipFile(wheel) as archive:
        expect(archive.testzip() is None, f"{wheel.name}: damaged")
        files = {each for each in archive.namelist() if not each.startswith(f"{name}-{version}.dist-info/")}
        kernels = archive.read(KERNELS) if KERNELS in files else b""
    with tarfile.open(sdist) as archive:
        source = {each.name.partition("/")[2] for each in archive if each.isfile()}
    odd = sorted(files ^ {KERNELS, *(each for each in source if each.startswith("pellucid/"))})
    expect(not odd, f"{wheel.name}: these files are lacking, or too many: {', '.join(odd)}")
    return f"{_size(wheel)}; kernels {' '.join(kinds_for(target))}, {check_kernels(kernels, target)}"


def check_kernels(library: bytes, target: str) -> str:
    """The kernels are for this system's processor, every kind of them, and need nothing that it may lack."""
    lief.logging.disable()
    parsed = lief.parse(list(library))
    expect(parsed is not None, f"{target}: the kernels are no library")
    allowed, system = FORMATS[target], target.partition("-")[0]
    expect(parsed.format.name == KIND[system], f"{target}: the kernels are in the format {parsed.format.name}")
    head = parsed.header
    found = head.machine_type if system == "linux" else head.cpu_type if system == "macos" else head.machine
    expect(found.name == allowed.processor, f"{target}: the kernels are for {found.name}")
    offered = {each.name.removeprefix("_") for each in parsed.exported_functions}
    verbs = ("begin", "help", "pack", *TRAINING)
    wanted = {f"{kind}_{verb}" for kind in kinds_for(target) for verb in verbs}
    missing = sorted((wanted | {"checksum", "processor"}) - offered)
    expect(not missing, f"{target}: the kernels lack {', '.join(missing)}")
    foreign = [each for each in _needs(parsed, target) if not each.startswith(allowed.libraries)]
    expect(not foreign, f"{target}: the kernels need {', '.join(foreign)}")
    return _oldest(parsed, target)


def _needs(parsed: "lief.Binary", target: str) -> list[str]:
    """Return the names of the libraries that this one opens."""
    if "linux" in target:
        return list(parsed.libraries)
    if "macos" in target:  # whose first command is the library's own name
        return [each.name for each in parsed.libraries if each.name != "@rpath/kernels.bin"]
    return [each.name.lower() for each in parsed.imports]


def _oldest(parsed: "lief.Binary", target: str) -> str:
    """Say on which systems the library runs; raise an error if the wheel's name promises older ones."""
    if "linux" in target:
        symbols = [each.name for needs in parsed.symbols_version_requirement for each in needs.get_auxiliary_symbols()]
        newest = max(tuple(map(int, each.removeprefix("GLIBC_").split("."))) for each in symbols)
        expect(newest <= GLIBC, f"{target}: the kernels need {', '.join(symbols)}")
        return f"no symbol newer than glibc {'.'.join(map(str, newest))}"
    if "macos" in target:
        oldest = parsed.build_version.minos
        expect(tuple(oldest) <= (11, 0, 0), f"{target}: the kernels need macOS {oldest}")
        signed = parsed.has_code_signature
        expect(signed or "arm64" not in target, f"{target}: not signed, so that macOS would refuse it")
        return f"macOS {oldest[0]} or newer{', signed' if signed else ''}"
    return f"only {', '.join(sorted({each.partition('-crt')[0] for each in _needs(parsed, target)}))} of Windows"


def _description(package: Path) -> bytes:
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as archive:
            return archive.read(next(each for each in archive.namelist() if each.endswith("/METADATA")))
    with tarfile.open(package) as source:
        found = source.extractfile(next(each for each in source if each.name.count("/") == 1 and each.name.endswith("/PKG-INFO")))
        return found.read() if found else b""


def _size(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f} MB"

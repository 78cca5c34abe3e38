"""The build's own step: compile the kernels of the engine and of training with the clang of `ziglang`.

The library goes beside its source, also where the package is installed as editable. Where it cannot be built,
a line says why and the package is installed without it: PyTorch then computes, and there is no int8.
"""

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zlib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).parent
SOURCES = [ROOT / "pellucid" / part for part in ("decoding/kernels.c", "learning/fused.c")]
HEADER = SOURCES[0].with_name("vectors.h")
LIBRARY = SOURCES[0].with_name("kernels.bin")
FLAGS = ["-std=c11", "-O3", "-Wall", "-Wextra", "-ffp-contract=off", "-fno-math-errno"]
FLAGS += ["-fvisibility=hidden"]
# The functions that tell Python which kinds run here, and of which source the library is.
CHECKSUM = zlib.crc32(b"".join(source.read_bytes() for source in [*SOURCES, HEADER]))
DISPATCH = ["-DDISPATCH", f"-DCHECKSUM={CHECKSUM}u"]
# For each kind of kernels, what the compiler may use: the names that pellucid/decoding/library.py knows.
X86 = {
    "avx512": ["-mcpu=x86_64_v4+avx512vnni", "-mprefer-vector-width=512"],
    "avxvnni": ["-mcpu=x86_64_v3+avxvnni"],
    "avx2": ["-mcpu=x86_64_v3"],
    "plain": ["-mcpu=x86_64", *DISPATCH],
}
ARM = {"neon": ["-mcpu=generic+v8_2a+dotprod+fullfp16"], "plain": ["-mcpu=generic", *DISPATCH]}
# zig's name of a system and its processor, the oldest system that a wheel for it promises to run on.
TARGETS = {
    "linux-x86_64": ("x86_64-linux-gnu.2.28", "manylinux_2_28_x86_64"),
    "linux-aarch64": ("aarch64-linux-gnu.2.28", "manylinux_2_28_aarch64"),
    "macos-x86_64": ("x86_64-macos.11.0", "macosx_11_0_x86_64"),
    "macos-arm64": ("aarch64-macos.11.0", "macosx_11_0_arm64"),
    "windows-x86_64": ("x86_64-windows-gnu", "win_amd64"),
    "windows-arm64": ("aarch64-windows-gnu", "win_arm64"),
}


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]  # the name that hatch looks for
    """Compile before the wheel is packed; PELLUCID_TARGET names another system to build for."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        target = os.environ.get("PELLUCID_TARGET") or this_system()
        try:
            compile_kernels(target, LIBRARY)
        except (BuildError, OSError) as error:
            LIBRARY.unlink(missing_ok=True)
            self.app.display_warning(
                f"The engine's kernels were not built ({error}): PyTorch will compute, and there is no int8."
            )
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(target)}"
        build_data["artifacts"].append(str(LIBRARY.relative_to(ROOT)))


class CustomMetadataHook(MetadataHookInterface):  # the name that hatch looks for
    """Say where the project lives, which PELLUCID_ADDRESS names at a release. A description far from the
    repository needs whole addresses: the README's links lead to the files of this version."""

    def update(self, metadata: dict[str, Any]) -> None:
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        address, version = os.environ.get("PELLUCID_ADDRESS", "").rstrip("/"), metadata["version"]
        if address:
            metadata["urls"] = {
                "Source": address,
                "Documentation": f"{address}/blob/v{version}/docs/README.md",
                "Changes": f"{address}/blob/v{version}/CHANGELOG.md",
                "Issues": f"{address}/issues",
            }
            readme = whole_links(readme, address, f"v{version}")
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}


def whole_links(text: str, address: str, tag: str) -> str:
    """Return Markdown whose links to files of the repository are whole addresses."""

    def whole(found: re.Match[str]) -> str:
        how = "raw" if found[1].endswith((".png", ".svg")) else "blob"
        return f"]({address}/{how}/{tag}/{found[1]})"

    return re.sub(r"\]\((?![a-z]+:|#)([^)\s]+)\)", whole, text)


class BuildError(Exception):
    """Why there are no kernels, in a line."""


def compile_kernels(target: str, library: Path, extra: tuple[str, ...] = ()) -> None:
    """Compile every kind of kernels for this system into one library."""
    if target not in TARGETS:
        raise BuildError(f"there are none for {target}, but for {', '.join(TARGETS)}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        objects = [
            compile_kind(target, source, kind, folder, extra)
            for source in SOURCES
            for kind in kinds_for(target)
        ]
        built = f"{folder}/library"
        # A name of its own: without it, the library would carry the path of this folder.
        named = ["-Wl,-install_name,@rpath/kernels.bin"] if "macos" in target else []
        zig(["-target", TARGETS[target][0], "-shared", "-s", *named, *extra, *objects, "-o", built], folder)
        library.unlink(missing_ok=True)  # a process that has the old one open keeps it
        library.write_bytes(Path(built).read_bytes())


def kinds_for(target: str) -> dict[str, list[str]]:
    """Return the kinds of kernels for this system, each with its compiler flags."""
    return X86 if "x86_64" in target else ARM


def compile_kind(target: str, source: Path, kind: str, folder: str, extra: tuple[str, ...] = ()) -> str:
    """Compile one kind of kernels into an object file in this folder; return the file's path."""
    built = f"{folder}/{source.stem}-{kind}.o"
    position = [] if "windows" in target else ["-fPIC"]
    flags = ["-target", TARGETS[target][0], *FLAGS, *kinds_for(target)[kind], *position, *extra]
    zig([*flags, f"-DISA={kind}", "-c", str(source), "-o", built], folder)
    return built


def zig(arguments: list[str], folder: str) -> None:
    """Run zig's C compiler: that of the package ziglang, or the program zig where there is only that. Its
    cache is thrown away with the folder, unless the environment names another place."""
    caches = {"ZIG_GLOBAL_CACHE_DIR": f"{folder}/all", "ZIG_LOCAL_CACHE_DIR": f"{folder}/here"}
    environment, program = caches | os.environ, [sys.executable, "-m", "ziglang"]
    if importlib.util.find_spec("ziglang") is None and (found := shutil.which("zig")):
        program = [found]
    command = [*program, "cc", *arguments]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    if result.returncode:
        lines = result.stderr.strip().splitlines() or [f"the compiler ended with {result.returncode}"]
        raise BuildError(next((line for line in lines if "error" in line), lines[-1]))


def this_system() -> str:
    """Return the name of the system that builds."""
    system = {"darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)
    machine = platform.machine().lower().replace("amd64", "x86_64")
    if machine in ("aarch64", "arm64"):
        machine = "aarch64" if system == "linux" else "arm64"
    return f"{system}-{machine}"


def platform_tag(target: str) -> str:
    """Return the wheel's tag: for the system that is named, or else for this one."""
    if target == this_system() and not os.environ.get("PELLUCID_TARGET"):
        return sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return TARGETS[target][1]


if __name__ == "__main__":  # what a developer runs after a change of the kernels, without installing again
    compile_kernels(os.environ.get("PELLUCID_TARGET") or this_system(), LIBRARY)
    print(LIBRARY)

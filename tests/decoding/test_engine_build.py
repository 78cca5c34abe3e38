"""The kernels' build: what it says where it cannot, and the kernels under the compiler's sanitizers."""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pellucid.decoding import library
from pellucid.learning import compiled

ROOT = Path(__file__).parents[2]
SOURCE, FUSED = ROOT / "pellucid" / "decoding" / "kernels.c", ROOT / "pellucid" / "learning" / "fused.c"
PLAIN_FLAGS = ["-std=c11", "-O1", "-g", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-Wno-psabi"]
# Between what a thread says to the others and what it says next, they have the time to act.
LINGERING = (
    "-D__atomic_store_n(...)=(nanosleep(&(struct timespec){0, 50000}, 0), __atomic_store_n(__VA_ARGS__))"
)
BUILT = {
    (system, processor)
    for system in ("linux", "darwin", "win32")
    for processor in ("x86_64", "amd64", "aarch64", "arm64")
}
UNDER_SANITIZERS = """
import ctypes, sys
from dataclasses import replace
import numpy as np
import reference_engine as reference
import torch
from pellucid.decoding import native
from pellucid.decoding.library import Kernels
from pellucid.config.schema import ModelConfig
from random_models import random_model, random_sources, room_for, run, steps
kernels = Kernels(ctypes.CDLL(sys.argv[1]), "plain")
torch.get_num_threads = lambda: 2  # for the engine alone: PyTorch's own threads look like races

def take_apart(self, shape, dtype):  # arrays of a block of their own, whose ends the sanitizer watches
    size = native.bytes_in(shape, dtype)
    block = np.empty(size + 64, np.uint8)
    start = -block.ctypes.data % 64
    return block[start : start + size].view(dtype).reshape(shape)

native.State._take = take_apart
for seed, (width, heads, hidden, size, norm) in enumerate(
    [(6, 1, 5, 9, "last"), (72, 3, 100, 70, "first"), (130, 5, 64, 1030, "last")]
):
    config = ModelConfig(vocabulary=size, width=width, heads=heads, hidden=hidden, norm=norm,
                         activation="gelu" if norm == "first" else "relu", encoder_layers=2, decoder_layers=2)
    numbers = np.random.default_rng(seed)
    model, sources = random_model(config, seed), random_sources(config, numbers)
    room = replace(room_for(sources, 3, 5, 6), threads=2)
    given = steps(config, sources, room, numbers)
    found = run(native.State(native.Weights(model, "int8", kernels), room), sources, given)
    expected = run(reference.State(reference.Weights(model), room), sources, given)
    assert all(np.array_equal(a[name], b[name]) for a, b in zip(found, expected, strict=True) for name in a)
    for precision in ("fp32", "bf16"):
        run(native.State(native.Weights(model, precision, kernels), room), sources, given)
print("clean")
"""
# gcc has no square root of a vector.
ROOT_OF = (
    "-D__builtin_elementwise_sqrt(x)=({ f32v r = (x); for (int i = 0; i < 16; i++) r[i] = sqrtf(r[i]); r; })"
)
FUSED_UNDER_SANITIZERS = """
import ctypes, itertools, random, sys
import torch
from learners import batch, learner
from pellucid.learning import compiled, fused
import test_fused
library = ctypes.CDLL(sys.argv[1])
compiled.library_and_kind = lambda: (library, "plain")
rates = dict(dropout=0.3, attention_dropout=0.2, activation_dropout=0.1)
chance = random.Random(7)
for number, threads in itertools.product(range(6), (1, 3)):
    compiled.torch = type("Torch", (), dict(vars(torch), get_num_threads=staticmethod(lambda: threads)))
    model = test_fused.random_model(chance, (torch.float32, torch.bfloat16)[number % 2], **rates)
    test_fused.pass_of(model, test_fused.random_batch(chance, model, 70 if number == 0 else 20))
for precision, consistency in itertools.product(("fp32", "bf16"), (0.0, 5.0)):
    taught = learner(precision=precision, consistency=consistency)
    taught.learn([batch(3, 4, 6)], 1)
print("clean")
"""


def test_a_system_without_kernels_is_named(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    from hatch_build import BuildError, compile_kernels, platform_tag

    with pytest.raises(BuildError, match=r"there are none for plan9-vax, but for linux-x86_64, "):
        compile_kernels("plan9-vax", tmp_path / "kernels.bin")
    assert not (tmp_path / "kernels.bin").exists()
    assert platform_tag("windows-arm64") == "win_arm64"


def test_the_kernels_compile_for_arm(tmp_path: Path) -> None:
    """The fastest kind alone, without a warning: most developers have another processor."""
    pytest.importorskip("hatchling")
    pytest.importorskip("ziglang", reason="ziglang, which compiles the kernels, is not installed here")
    from hatch_build import compile_kind

    for source in (SOURCE, FUSED):
        assert Path(compile_kind("linux-aarch64", source, "neon", str(tmp_path), ("-Werror",))).exists()


def test_what_is_shipped_is_what_python_calls() -> None:
    """The names and order of the structures' fields in C are those in Python."""
    ours = ("Linear", "Norm", "Model", "Team", "Work", "Memory", "Step")
    known = [(SOURCE, library, name) for name in ours]
    known += [(FUSED, compiled, each.__name__) for each in {compiled.Dropout, *compiled.KERNELS.values()}]
    for source, module, name in known:
        text = source.read_text(encoding="utf-8")
        body = text[: text.index(f"}} {name};")].rpartition("typedef struct {")[2]
        fields = re.findall(r"(\w+)\s*[,;]", re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL))
        assert fields == [field[0] for field in getattr(module, name)._fields_], name


SANITIZERS = [("address,undefined", ("asan", "ubsan"), []), ("thread", ("tsan",), [LINGERING])]


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("gcc") and shutil.which("setarch")), reason="needs gcc and setarch")
@pytest.mark.parametrize(
    ("source", "script", "sanitizers", "runtimes", "more"),
    [
        *((SOURCE, UNDER_SANITIZERS, *each) for each in SANITIZERS),
        (FUSED, FUSED_UNDER_SANITIZERS, *SANITIZERS[0]),
    ],
)
def test_the_sanitizers_find_nothing(
    source: Path, script: str, sanitizers: str, runtimes: tuple[str, ...], more: list[str], tmp_path: Path
) -> None:
    """No access outside a buffer, no overflow, no shift or alignment that C leaves open; and nothing that a
    thread of the engine writes while another reads or writes it, nor a meeting that threads miss."""
    built = tmp_path / "kernels.bin"
    flags = [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all", ROOT_OF, *more]
    flags += ["-DISA=plain", "-DDISPATCH", "-DCHECKSUM=0", "-shared"]
    subprocess.run(["gcc", *PLAIN_FLAGS, *flags, str(source), "-lm", "-o", str(built)], check=True)
    where = [["gcc", f"-print-file-name=lib{name}.so"] for name in runtimes]
    environment = os.environ | {
        "LD_PRELOAD": " ".join(subprocess.check_output(each, text=True).strip() for each in where),
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests" / "learning"))),
    }
    result = subprocess.run(  # at fixed addresses, as the thread sanitizer needs them
        ["setarch", "-R", sys.executable, "-c", script, str(built)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (result.stdout, result.returncode) == ("clean\n", 0), result.stderr[-3000:]


@pytest.mark.skipif(
    (sys.platform, platform.machine().lower()) not in BUILT, reason="ziglang has no package for this system"
)
def test_the_kernels_are_built_here() -> None:
    """Other tests of the kernels are skipped without them: a build that fails must not pass unseen."""
    assert library.LIBRARY.exists(), "python hatch_build.py builds the kernels, or says why it cannot"

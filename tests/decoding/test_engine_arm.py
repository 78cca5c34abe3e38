"""The ARM kernels under qemu-user: int8 translations equal to this machine's, to the last bit. They are built
here, or those of the library that PELLUCID_ARM_KERNELS names, such as a wheel's.

The kernels run in a process of their own, which shares no memory with Python: each page that they touch is
fetched when its access fails, and the bytes that a call changed are sent back at its end.
"""

import ctypes
import os
import shutil
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
import torch
from test_engine_translation import said

from pellucid.data import phrasebook
from pellucid.decoding import engine
from pellucid.decoding.library import has_kernels
from pellucid.translator import load

PAGE, FETCH, STORE, DONE = 4096, *range(3)  # as in the source that follows
SERVER = """
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
typedef int64_t i64;
void neon_begin(i64 model, i64 work, i64 memory, i64 step, int32_t job);
void neon_pack(int32_t kind, i64 matrix, i64 rows, i64 given, i64 K, i64 packed, i64 scale, i64 shift, i64);
enum { PAGE = 4096, MOST = 1 << 15, FETCH = 0, STORE, DONE };
static char *pages[MOST], before[MOST][PAGE];
static int count;

static void get(void *to, i64 size) {
    for (i64 some; size; to = (char *)to + some, size -= some)
        if ((some = read(0, to, size)) <= 0) _exit(0);
}
static void say(i64 what, const char *where, i64 size) {
    i64 head[2] = {what, (i64)where};
    if (write(1, head, sizeof head) != sizeof head || write(1, where, size) != size) _exit(2);
}
static void fetch(int number, siginfo_t *about, void *context) {
    char *page = (char *)((uintptr_t)about->si_addr / PAGE * PAGE);
    const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    if (count == MOST || mmap(page, PAGE, PROT_READ | PROT_WRITE, how, -1, 0) != page) _exit(3);
    say(FETCH, page, 0);
    get(page, PAGE);
    memcpy(before[count], page, PAGE);
    pages[count++] = page;
}
int main(void) {
    sigaction(SIGSEGV, &(struct sigaction){.sa_sigaction = fetch, .sa_flags = SA_SIGINFO}, 0);
    for (i64 a[10];; say(DONE, 0, 0)) {
        get(a, sizeof a);
        if (a[0]) neon_pack(a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
        else neon_begin(a[1], a[2], a[3], a[4], a[5]);
        while (count) {
            char *page = pages[--count];
            if (memcmp(page, before[count], PAGE)) say(STORE, page, PAGE);
            munmap(page, PAGE);
        }
    }
}
"""


class Remote:
    """Kernels that a process under qemu runs."""

    kind = "neon"

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process, self.calls = process, Counter[str]()

        self.begin, self.pack = (partial(self._call, name) for name in ("begin", "pack"))

    def _call(self, name: str, *arguments: int) -> None:
        self.calls[name] += 1
        numbers = [name == "pack", *arguments]
        self._put(struct.pack("10q", *numbers, *[0] * (10 - len(numbers))))
        given: dict[int, bytes] = {}
        while True:
            what, where = struct.unpack("2q", self._get(16))
            if what == DONE:
                return
            if what == FETCH:
                given[where] = ctypes.string_at(where, PAGE)
                self._put(given[where])
            else:  # only what changed: Python may have written to the same page meanwhile
                old, new = (np.frombuffer(each, np.uint8) for each in (given[where], self._get(PAGE)))
                page = np.ctypeslib.as_array((ctypes.c_uint8 * PAGE).from_address(where))
                page[old != new] = new[old != new]

    def _get(self, size: int) -> bytes:
        assert self._process.stdout
        got = self._process.stdout.read(size)
        assert len(got) == size, f"the kernels' process ended with {self._process.wait()}"
        return got

    def _put(self, data: bytes) -> None:
        assert self._process.stdin
        self._process.stdin.write(data)
        self._process.stdin.flush()


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    pytest.importorskip("hatchling")
    pytest.importorskip("ziglang", reason="ziglang, which compiles the kernels, is not installed here")
    from hatch_build import SOURCES, compile_kind, zig

    folder = tmp_path_factory.mktemp("arm")
    program, source = folder / "server", folder / "server.c"
    source.write_text(SERVER)
    if library := os.environ.get("PELLUCID_ARM_KERNELS"):
        kernels = str(shutil.copy(library, folder / "kernels.so"))
        kind = ["aarch64-linux-gnu.2.28", f"-Wl,-rpath,{folder}"]
    else:
        kernels = compile_kind("linux-aarch64", SOURCES[0], "neon", str(folder))
        kind = ["aarch64-linux-musl", "-static"]
    arguments = ["-O1", "-Wall", "-Werror", str(source), kernels, "-o", str(program)]
    zig(["-target", *kind, *arguments], str(folder))
    command, pipe = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", program], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        yield Remote(process)


def sentences(count: int) -> list[str]:
    """Some of the demo's held-out sentences, in every direction, each with its target language."""
    phrases = {f">>{each.target_language}<< {each.source}" for each in phrasebook.split()["held-out"]}
    return sorted(phrases)[:: len(phrases) // count][:count]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("qemu-aarch64"), reason="needs qemu-aarch64, of qemu-user")
@pytest.mark.skipif(not has_kernels(), reason="the kernels are not built here")
def test_arm_translates_as_this_machine_does(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, threads = sentences(50), torch.get_num_threads()
    torch.set_num_threads(1)  # helpers need memory that is shared
    try:
        here = load("demo", device="cpu", precision="int8")
        monkeypatch.setattr(engine, "kernels", lambda: remote)
        there = load("demo", device="cpu", precision="int8")
        for beam in (1, 4):
            both = [said(each.translate(texts, beam=beam, n_best=beam)) for each in (here, there)]
            assert [text for text, one, other in zip(texts, *both, strict=True) if one != other] == []
    finally:
        torch.set_num_threads(threads)
    assert remote.calls["begin"] > 20 and remote.calls["pack"] > 10, "another's kernels were called"

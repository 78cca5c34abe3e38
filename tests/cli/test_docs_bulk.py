"""The page on large files: its commands run and print what it shows; and the example on a cluster."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import toy
from command import Command
from documents import ROOT, check_link, eighty_columns, links, run_blocks

__all__ = ["eighty_columns"]
PAGE = ROOT / "docs" / "bulk.md"
# A worker is killed when it is given its second batch, once.
MORTAL = """
import os, signal, sys
import bulk_on_ray, ray

HERE = os.getcwd()  # a worker is elsewhere

class Mortal(bulk_on_ray.Translate):
    used = False

    def __call__(self, batch):
        if self.used and not os.path.exists(f"{HERE}/killed"):
            open(f"{HERE}/killed", "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
        self.used = True
        return super().__call__(batch)

bulk_on_ray.BLOCK = 100
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
for source, out in (("in.txt", "out.txt"), ("in.parquet", "out.parquet")):
    bulk_on_ray.main(bulk_on_ray.parsed([sys.argv[1], source, out, "--beam", "1"]), Mortal)
    os.rename("killed", f"killed-{out}")
"""


@pytest.mark.usefixtures("eighty_columns")
def test_every_block_runs_and_prints(pellucid: Command) -> None:
    run_blocks(PAGE, pellucid)


def test_its_links_lead_somewhere_and_pages_lead_to_it() -> None:
    for link in links(PAGE):
        check_link(link, PAGE)
    for page in ("README.md", "docs/README.md", "docs/cli.md"):
        assert "bulk.md)" in (ROOT / page).read_text("utf-8")


@pytest.mark.slow
@pytest.mark.timeout(900)  # Ray starts a dozen processes
def test_on_a_cluster_each_line_is_there_once_though_a_worker_is_killed(
    pellucid: Command, toy_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ray", reason='needs Ray: pip install -c constraints.txt -e ".[scale]"')
    import pyarrow
    import pyarrow.parquet

    monkeypatch.chdir(tmp_path)
    chance = random.Random(1)
    lines = ["", "a\u2028b", *(toy.sentence(chance) for _ in range(1000)), "c\r"]
    Path("in.txt").write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode())
    table = pyarrow.table({"id": [[each] for each in range(1000)], "text": lines[2:-1]})
    pyarrow.parquet.write_table(table, "in.parquet", row_group_size=100)
    ended = subprocess.run(
        [sys.executable, "-c", MORTAL, str(toy_model)],
        env=os.environ
        | {"PYTHONPATH": f"{ROOT / 'examples'}{os.pathsep}{ROOT}", "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        encoding="utf-8",
        timeout=800,
    )
    assert ended.returncode == 0, ended.stderr
    command = "translate", toy_model, "--source", "in.txt", "--out", "expected.txt", "--beam", 1
    assert pellucid(*command).code == 0
    assert Path("out.txt").read_bytes() == Path("expected.txt").read_bytes()
    rows = pyarrow.parquet.read_table("out.parquet").to_pylist()
    assert [row["id"] for row in rows] == [[each] for each in range(1000)]
    expected = Path("expected.txt").read_text("utf-8").split("\n")[2:-2]
    assert [row["translation"] for row in rows] == expected

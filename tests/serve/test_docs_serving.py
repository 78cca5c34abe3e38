"""docs/serving.md: its commands work and print what it shows; what is in deploy/ fits the server."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from documents import ROOT, blocks, check_link, links, table_rows
from served import Server, serving

from pellucid.cli.arguments import command_line
from pellucid.serve.admission import Limits

PAGE = ROOT / "docs" / "serving.md"
ADDRESS = "http://127.0.0.1:5000"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server"), "demo") as server:
        yield server


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_its_requests_are_answered_as_it_shows(server: Server) -> None:
    printed, count = "", 0
    for block in blocks(PAGE):
        if block.info == "json":
            assert json.loads(printed) == json.loads(block.text)
        for line in block.text.splitlines() if block.info == "sh" else ():
            assert line.startswith("curl -s ") and ADDRESS in line
            command = shlex.split(line.replace(ADDRESS, server.url))
            done = subprocess.run([*command, "--fail"], capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, f"{line}\n{done.stdout}"
            printed, count = done.stdout, count + 1
    assert count >= 10


def test_its_commands_are_understood_and_its_start_is_printed(server: Server) -> None:
    lines = [line for block in blocks(PAGE) if not block.info for line in block.text.splitlines()]
    started = [line for line in lines if line.startswith("pellucid serve")]
    for line in started:
        command_line().parse_args(shlex.split(line)[1:])
    shown = [line.removesuffix("…") for line in lines if line.startswith("pellucid: ")]
    log = server.log().replace(server.url, ADDRESS)
    assert len(started) == 4 and len(shown) == 3 and all(line in log for line in shown)


def test_it_names_every_limit_and_leads_somewhere() -> None:
    text = PAGE.read_text("utf-8")
    rows = {row[0].split("`")[1]: row[1] for row in table_rows(text) if len(row) == 3 and "`" in row[0]}
    limits = {limit.name: f"{limit.default:,g}" if limit.name == "seconds" else f"{limit.default:,}"
              for limit in fields(Limits)}  # fmt: skip
    assert rows == limits
    for link in links(PAGE):
        check_link(link, PAGE)


def test_what_is_in_deploy_fits_the_server(server: Server) -> None:
    deployment, service = yaml.safe_load_all((ROOT / "deploy" / "kubernetes.yaml").read_text("utf-8"))
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    for name in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert server.client.get(container[name]["httpGet"]["path"]).status_code == 200
    assert service["spec"]["selector"].items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
    text = (ROOT / "Containerfile").read_text("utf-8")
    entry = json.loads(re.findall("^ENTRYPOINT (.*)$", text, re.MULTILINE)[0])
    arguments = command_line().parse_args([*entry[1:], *container["args"]])
    assert container["ports"][0]["containerPort"] == arguments.port and f"EXPOSE {arguments.port}" in text
    assert f"USER {pod['securityContext']['runAsUser']}:" in text
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(ROOT / "deploy" / "pellucid.service")
    grace = pod["terminationGracePeriodSeconds"], int(unit["Service"]["TimeoutStopSec"])
    assert min(grace) > Limits().seconds + 5


def test_the_image_has_what_the_build_needs() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line[0] == "!"}
    assert kept == {"constraints.txt", "hatch_build.py", "LICENSE", "pellucid", "pyproject.toml", "README.md"}
    assert all(Path(ROOT, name).exists() for name in kept)

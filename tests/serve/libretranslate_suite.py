"""Run LibreTranslate's own tests of its interface against our server.

    python tests/serve/libretranslate_suite.py FOLDER

FOLDER is a clone of github.com/LibreTranslate/LibreTranslate. Its tests run as they are, but for one fixture:
instead of Flask's client inside LibreTranslate's process, they get a client of HTTP.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from served import serving

CONFTEST = """
import os
from types import SimpleNamespace
import httpx, pytest

@pytest.fixture
def client():
    def ask(verb):
        def asked(path, **fields):
            answer = httpx.request(verb, os.environ["ADDRESS"] + path, **fields)
            body = answer.json() if answer.headers["content-type"] == "application/json" else None
            return SimpleNamespace(status_code=answer.status_code, data=answer.content, json=body)
        return asked
    return SimpleNamespace(get=ask("GET"), post=ask("POST"))
"""


def run(clone: Path) -> int:
    """Return the exit status of their tests, which write what happens."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), "demo") as server:
        for test in (clone / "libretranslate/tests/test_api").glob("test_*.py"):
            shutil.copy(test, folder)
        Path(folder, "conftest.py").write_text(CONFTEST, "utf-8")
        Path(folder, "pytest.ini").write_text("[pytest]\n", "utf-8")
        command = [sys.executable, "-m", "pytest", "-v", "--rootdir", folder, folder]
        return subprocess.run(command, env=os.environ | {"ADDRESS": server.url}).returncode


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1])))

"""What plug-ins of browsers ask and are answered."""

from typing import Any

import httpx
import pytest
from deepl_suite import serve

KEY = {"authorization": "Bearer mock_server"}
AUTO: dict[str, Any] = {"source_lang": "auto", "target_lang": "de-DE"}
X = {"detected_source_lang": "en", "text": "[x]"}
BEAM = {"text": "Protonenstrahl", "src": "en"}
WRONG = "target_lang = 'xx' is not supported, but DE, DE-FORMAL, DE-INFORMAL, EN."
CASES: list[tuple[str, dict[str, Any], int, Any]] = [
    ("/imme", AUTO | {"text_list": ["x", "x"]}, 200, {"translations": [X, X]}),
    ("/imme", AUTO | {"text_list": []}, 200, {"translations": []}),
    ("/imme", {"text_list": ["x"], "target_lang": "xx"}, 400, {"error": WRONG}),
    ("/kiss", {"text": "proton beam", "from": "auto", "to": "de"}, 200, BEAM),
    ("/kiss", {"texts": ["proton beam", "proton beam"], "from": "en", "to": "de"}, 200, [BEAM, BEAM]),
    ("/kiss", {"to": "de"}, 400, {"error": "the field 'text' is missing."}),
    (
        "/deeplx",
        {"text": "<p>x", "source_lang": "", "target_lang": "de", "tag_handling": "html"},
        200,
        {"code": 200, "data": "<p>[x]", "alternatives": [], "source_lang": "EN", "target_lang": "DE"},
    ),
    ("/deeplx", {"text": "x", "target_lang": "xx"}, 400, {"code": 400, "message": WRONG}),
]


@pytest.fixture(scope="module")
def address() -> str:
    return f"http://127.0.0.1:{serve({'en': 'proton beam', 'de': 'Protonenstrahl'})}"


@pytest.mark.parametrize(("path", "fields", "status", "expected"), CASES)
def test_plugins_are_answered(path: str, fields: Any, status: int, expected: Any, address: str) -> None:
    answer = httpx.post(address + path, json=fields, headers=KEY)
    assert (answer.status_code, answer.json()) == (status, expected)

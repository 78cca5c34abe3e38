"""Assemble a page: one style sheet, one script, data, and a policy that allows nothing else."""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from pellucid.reading.words import visible


def html_page(title: str, body: str, style: str, script: str, data: str = "") -> str:
    """Return a complete HTML page. `title` is plain text; `body` and `data` are HTML, and the elements in
    `data` only hold data for the script."""
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'"
    return f"""<!doctype html>
<html lang=en>
<meta charset=utf-8>
<meta http-equiv=Content-Security-Policy content="{policy}; form-action 'none'">
<meta name=viewport content="width=device-width, initial-scale=1">
<title>{escape(visible(title))} · Pellucid</title>
<style>{style}</style>
{body}
{data}
<script>{script}</script>
</html>
"""


def styles(names: Sequence[str]) -> str:
    """Return the style sheets of these names as one text."""
    return "\n".join(page_file(f"{name}.css") for name in names)


def json_block(name: str, value: Any) -> str:
    """Return a <script> element with this id that holds a value as JSON. "<" is escaped, so that no text in
    the value can close the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    safe = text.replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{safe}</script>'


def fill(name: str, /, **texts: str) -> str:
    """Return a template from the page's folder with each $word replaced by the HTML given for it."""
    return Template(page_file(name)).substitute(texts)


@cache
def page_file(name: str) -> str:
    """Return the text of a file in the page's folder."""
    return (files("pellucid.page") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

"""The description of the routes in OpenAPI, made from their table, and a page that shows it."""

import html
import json
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from pellucid.folder.version import __version__
from pellucid.serve.routes import Route

ERRORS = {
    "400": "a field is wrong",
    "408": "the request came too slowly",
    "413": "the request is too large",
    "415": "the body has another type",
    "429": "a limit of the client is reached",
    "503": "it cannot be done in time",
}
STYLE = "body{font:1rem/1.5 sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}pre{overflow:auto}"


def describe(routes: Sequence[Route]) -> dict[str, Any]:
    """Return the description of all routes that say what they are about."""
    paths: dict[str, Any] = {}
    for route in routes:
        if route.about:
            paths.setdefault(route.path, {})[route.verb.lower()] = _operation(route)
    return {"openapi": "3.1.0", "info": {"title": "Pellucid", "version": __version__}, "paths": paths}


def _operation(route: Route) -> dict[str, Any]:
    answer = {"description": "the answer", "content": {route.gives: {"schema": _schema(route.returns)}}}
    responses: dict[str, Any] = {"200": answer}
    operation = {"summary": route.about, "responses": responses}
    if route.verb == "POST":
        error = {"application/json": {"schema": {"type": "object"}}}
        responses |= {code: {"description": about, "content": error} for code, about in ERRORS.items()}
        content = {kind: {"schema": _schema(route.body)} for kind in route.accepts}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _schema(kind: Any) -> dict[str, Any]:
    return TypeAdapter(kind).json_schema()


def page(routes: Sequence[Route]) -> str:
    """Return a page that shows the description, without any script."""
    shown = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Pellucid</title><style>{STYLE}</style>"
    ]
    shown.append("<h1>Pellucid</h1><p>For programs: <a href=spec>OpenAPI</a>.</p>")
    for route in routes:
        if route.about:
            shown.append(f"<h2><code>{route.verb} {route.path}</code></h2><p>{html.escape(route.about)}</p>")
            for title, kind in (("comes", route.body), ("goes", route.returns)):
                written = html.escape(json.dumps(_schema(kind), indent=1, ensure_ascii=False))
                shown.append(f"<h3>What {title}</h3><pre>{written}</pre>")
    return "".join(shown)

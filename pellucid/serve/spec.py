"""The description of the routes in OpenAPI, made from their table, and a page that shows it."""

import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter

from pellucid.folder.version import __version__
from pellucid.serve.routes import Route

ERRORS = {
    "400": "a field is wrong",
    "403": "the key is missing or wrong, or the server does not do this",
    "408": "the request came too slowly",
    "413": "the request is too large",
    "415": "the body has another type",
    "429": "a limit of the client is reached",
    "503": "it cannot be done in time",
}
STYLE = "body{font:1rem/1.5 sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}pre{overflow:auto}"


def describe(routes: Sequence[Route]) -> dict[str, Any]:
    """Return the description of all routes of which it is said what they return."""
    paths, told = dict[str, Any](), [route for route in routes if route.returns]
    kinds = dict.fromkeys(kind for route in told for kind in (route.body, route.returns))
    adapters: Any = [(kind, "validation", TypeAdapter(kind)) for kind in kinds]
    schemas, shared = TypeAdapter.json_schemas(adapters, ref_template="#/components/schemas/{model}")
    for route in told:
        for verb in route.verbs.lower().split():
            paths.setdefault(route.path, {})[verb] = _operation(route, verb, schemas)
    about = {"title": "Pellucid", "version": __version__}
    return {"openapi": "3.1.0", "info": about, "paths": paths, "components": {"schemas": shared["$defs"]}}


def _operation(route: Route, verb: str, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    returned, body = (schemas[kind, "validation"] for kind in (route.returns, route.body))
    answer = {"description": "the answer", "content": {route.gives: {"schema": returned}}}
    error = {"application/json": {"schema": {"type": "object"}}}
    errors = {code: {"description": about, "content": error} for code, about in ERRORS.items()}
    operation = {"summary": route.about, "responses": {"200": answer, **errors}}
    if verb == "post":
        needed = any(each.is_required() for each in route.body.model_fields.values())
        content = {kind: {"schema": body} for kind in route.accepts}
        operation["requestBody"] = {"required": needed, "content": content}
    return operation


def page(routes: Sequence[Route]) -> str:
    """Return a page that shows the description, without any script."""
    shown = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Pellucid</title><style>{STYLE}</style>"
        "<h1>Pellucid</h1><p>For programs: <a href=spec>OpenAPI</a>.</p>"
    ]
    for route in routes:
        if route.returns:
            shown.append(f"<h2><code>{route.verbs} {route.path}</code></h2><p>{html.escape(route.about)}</p>")
            for title, kind in (("comes", route.body), ("goes", route.returns)):
                schema = json.dumps(TypeAdapter(kind).json_schema(), indent=1, ensure_ascii=False)
                shown.append(f"<h3>What {title}</h3><pre>{html.escape(schema)}</pre>")
    return "".join(shown)

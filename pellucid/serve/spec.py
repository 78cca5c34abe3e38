"""The description of the routes in OpenAPI, made from their table, and a page that shows it."""

import html
import json
from collections.abc import Collection, Mapping, Sequence
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
STYLE = (
    "body{font:1rem/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}table{border-spacing:0}"
    "td,th{text-align:left;vertical-align:top;padding:.1rem 1rem .1rem 0;overflow-wrap:anywhere}"
)
COLUMNS = ("name", "type", "default", "meaning")
BOUNDS = {
    "exclusiveMinimum": "&gt;",
    "minimum": "≥",
    "maximum": "≤",
    "minItems": "at least",
    "maxItems": "at most",
}


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
    """Return a page that shows the description, with tables of fields, without any script."""
    about, told = describe(routes), {route.path: route.verbs for route in routes if route.returns}
    shown = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Pellucid</title><style>{STYLE}</style>"
        "<h1>Pellucid</h1><p>For programs: <a href=spec>OpenAPI</a>. A field of a request without a default "
        "is needed.</p>"
    ]
    for path, verbs in told.items():
        operation = about["paths"][path][verbs.lower().split()[-1]]
        shown.append(f"<h2><code>{verbs} {path}</code></h2><p>{html.escape(operation['summary'])}</p>")
        for title, part in (("Comes", operation.get("requestBody")), ("Goes", operation["responses"]["200"])):
            if part:
                kinds, (content, *_) = " or ".join(part["content"]), part["content"].values()
                shown.append(f"<p>{title} as {kinds}: {_kind(content['schema'])}.</p>")
    for name, schema in about["components"]["schemas"].items():
        shown.append(f"<h2 id={name}>{_title(name)}</h2><p>{html.escape(schema.get('description', ''))}</p>")
        if fields := schema["properties"]:
            rows = "".join(_row(each, field, schema.get("required", ())) for each, field in fields.items())
            shown.append(f"<table><tr><th>{'<th>'.join(COLUMNS)}{rows}</table>")
    return "".join(shown)


def _title(name: str) -> str:
    """Return the name of a schema, with the module where several have it: libretranslate Translate."""
    return " ".join(name.split("__")[-2:])


def _row(name: str, field: Mapping[str, Any], needed: Collection[str]) -> str:
    default = "" if name in needed else f"<code>{html.escape(json.dumps(field.get('default')))}</code>"
    cells = f"<code>{name}</code>", _kind(field), default, html.escape(field.get("description", ""))
    return f"<tr><td>{'<td>'.join(cells)}"


def _kind(schema: Mapping[str, Any]) -> str:
    """Return what a schema allows, in words; a type that has a table is a link to it."""
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"<a href=#{name}>{_title(name)}</a>"
    if "anyOf" in schema:
        return " or ".join(map(_kind, schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"<code>{html.escape(json.dumps(each))}</code>" for each in schema["enum"])
    said = schema.get("type", "anything")
    if "prefixItems" in schema:
        said = f"list of {', '.join(map(_kind, schema['prefixItems']))}"
    elif "items" in schema:
        said += f" of {_kind(schema['items'])}"
    elif isinstance(inside := schema.get("additionalProperties"), Mapping):
        said += f" of {_kind(inside)}"
    bounds = [f"{sign} {schema[name]:g}" for name, sign in BOUNDS.items() if name in schema]
    return f"{said} ({', '.join(bounds)})" if bounds else said

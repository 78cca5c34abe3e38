"""What a route is: a row of a table. This module reads the request for it, and turns errors into answers."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from pydantic import ConfigDict
from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from pellucid.folder.manifest import jsonable
from pellucid.serve.admission import Refusal
from pellucid.serve.body import Body
from pellucid.serve.service import Service

JSON, FORM, FILES = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"


class Anything(Body):
    """The body of a route that needs no field."""

    model_config = ConfigDict(extra="ignore")


@dataclass(frozen=True)
class Asked:
    """A request that was read: its fields, and its client, for whom limits hold."""

    body: Any  # of the route's class
    client: str
    request: Request


def as_error(status: int, message: str) -> dict[str, Any]:
    """Return the body of an error, as most interfaces write it."""
    return {"error": message}


@dataclass(frozen=True)
class Route:
    """A row of the table of routes.

    verbs: the methods of HTTP, with spaces between.
    answer: returns what becomes JSON, or a response. Its docstring describes the route.
    body, returns: the types of what comes, which is checked, and of what goes. Without the latter, OpenAPI
    does not name the route.
    accepts, gives: the types of content that may come, and the one that goes.
    error: makes the body of an error from a status and a message.
    """

    verbs: str
    path: str
    answer: Callable[[Service, Asked], Awaitable[Any]]
    body: type[Body] = Anything
    returns: Any = None
    accepts: Sequence[str] = (JSON,)
    gives: str = JSON
    error: Callable[[int, str], Any] = as_error
    is_open: bool = False  # without a key, where others need one

    @property
    def about(self) -> str:
        """Return what the route does, for its description."""
        return " ".join((self.answer.__doc__ or "").split())


class Json(Response):
    """A response in JSON. What UTF-8 cannot say, half of a surrogate pair, becomes a question mark."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the bytes of the body."""
        return json.dumps(jsonable(content), ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


async def read(service: Service, route: Route, request: Request) -> Asked:
    """Read a request, its query too, and raise an error if it is too large, too slow, or not what the route
    accepts, or if its key is wrong. A field that comes several times is a list.

    A key stands in the header Authorization, behind a word, or in the field api_key."""
    fields, kind = _fields(request.query_params.multi_items()), FORM
    if request.method == "POST" or (FORM in route.accepts and "content-type" in request.headers):
        more, kind = await _read_body(service, route, request)
        kind = FORM if fields else kind
        fields = fields | more if isinstance(more, dict) else more
    body = route.body.of(fields, written=kind != JSON)
    client = request.client.host if request.client else ""
    if service.keys.are_needed and not route.is_open:
        words = request.headers.get("authorization", "").split() or [""]
        client = service.keys.client(f"{getattr(body, 'api_key', None) or words[-1]}")
    return Asked(body, client, request)


async def _read_body(service: Service, route: Route, request: Request) -> tuple[Any, str]:
    """Return what a body says, and its type."""
    limits = service.limits
    kind, _, about = request.headers.get("content-type", JSON).lower().partition(";")
    if (kind := kind.strip()) not in route.accepts:
        raise Refusal(415, f"the body is {kind}, and {' or '.join(route.accepts)} is expected.")
    if kind != FILES and "charset" in about and "utf-8" not in about and "utf8" not in about:
        raise Refusal(415, f"the body is not UTF-8, but{about}.")
    try:
        async with asyncio.timeout(limits.seconds):
            body = await _limited(request, limits.body_bytes)
        if not body:
            return {}, kind
        if kind == JSON:
            return json.loads(body.decode(), parse_constant=_refuse_constant), kind
        if kind == FORM:
            return _fields(parse_qsl(body.decode(), keep_blank_values=True, errors="strict")), kind
        return _fields((await _parse_files(request, body)).multi_items()), kind
    except TimeoutError:
        raise Refusal(408, f"the request did not arrive within {limits.seconds:g} seconds.") from None
    except Refusal:
        raise
    except (ValueError, RecursionError, MultiPartException) as error:
        raise Refusal(400, f"the body is not valid {kind}: {_reason(error)}.") from None


async def _limited(request: Request, most: int) -> bytes:
    """Return the body. Raise an error as soon as it is known to be too large."""
    refusal = Refusal(413, f"the body has more than {most} bytes. Send less at once.")
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length) > most:
        raise refusal
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise refusal
    return bytes(body)


async def _parse_files(request: Request, body: bytes) -> FormData:
    async def once() -> AsyncGenerator[bytes, None]:
        yield body

    return await MultiPartParser(request.headers, once(), max_part_size=len(body)).parse()


def _fields(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return fields by name; a name that comes several times has a list."""
    fields = dict[str, list[Any]]()
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return {name: values if len(values) > 1 else values[0] for name, values in fields.items()}


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _reason(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else f"{error}"


async def unless_gone(request: Request, answer: Awaitable[Any]) -> Any:
    """Wait for an answer. If the client goes away before, cancel it and raise ClientDisconnect."""
    answering, watching = asyncio.ensure_future(answer), asyncio.ensure_future(_is_gone(request))
    watching.add_done_callback(lambda _: answering.cancel())
    try:
        return await answering
    except asyncio.CancelledError:
        if watching.done():
            raise ClientDisconnect from None
        raise
    finally:
        watching.cancel()


async def _is_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        continue

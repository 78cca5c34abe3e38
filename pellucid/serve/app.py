"""The application: the table of all routes, their errors, the log, and the figures."""

import logging
import time
from collections.abc import Awaitable, Callable
from functools import cache, partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount
from starlette.routing import Route as Path
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from pellucid.errors import PellucidError
from pellucid.serve import deepl, explaining, libretranslate, ours, pages, plugins
from pellucid.serve.admission import Refusal
from pellucid.serve.metrics import Metrics
from pellucid.serve.routes import Asked, Json, Route, as_error, read, unless_gone
from pellucid.serve.service import Service
from pellucid.serve.spec import describe, page

LOG = logging.getLogger("pellucid.serve")
GONE = 499  # the status in the log if the client went away; it gets no answer
PAGES = StaticFiles(packages=[("pellucid", "page")])
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
# Pages of other sites may ask and read the answers, as they may with LibreTranslate; no cookie lets them in.
FOREIGN_PAGES = Middleware(
    CORSMiddleware,
    allow_origins=["*"],
    allow_headers=["authorization", "content-type"],
    allow_methods=["GET", "POST"],
    expose_headers=["retry-after"],
)


async def health(service: Service, asked: Asked) -> dict[str, str]:
    """Say that the process lives."""
    return {"status": "ok"}


async def ready(service: Service, asked: Asked) -> Response:
    """Say whether requests are accepted."""
    return Json({"status": "ready" if service.is_ready else "stopping"}, 200 if service.is_ready else 503)


def make_app(service: Service) -> Starlette:
    """Return the application."""
    metrics = Metrics(service)

    async def figures(service: Service, asked: Asked) -> Response:
        """Return the figures for Prometheus."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")

    async def spec(service: Service, asked: Asked) -> dict[str, Any]:
        return described()

    async def docs(service: Service, asked: Asked) -> Response:
        return HTMLResponse(shown())

    table = [
        *ours.ROUTES,
        *explaining.ROUTES,
        *libretranslate.ROUTES,
        *deepl.ROUTES,
        *plugins.ROUTES,
        *pages.ROUTES,
        Route("GET", "/health", health, returns=dict[str, str], is_open=True),
        Route("GET", "/ready", ready, returns=dict[str, str], is_open=True),
        Route("GET", "/metrics", figures, returns=str, gives="text/plain", is_open=True),
        Route("GET", "/spec", spec, is_open=True),
        Route("GET", "/docs", docs, is_open=True),
    ]
    described, shown = cache(partial(describe, table)), cache(partial(page, table))

    async def unknown(request: Request, error: Exception) -> Response:
        """Answer if there is no such route or verb, as the interface does whose path is the nearest."""
        assert isinstance(error, HTTPException)
        nearest = [row.error for row in table if row.path.split("/")[1] == request.url.path.split("/")[1]]
        metrics.count("unknown", error.status_code, 0.0)
        body = (nearest or [as_error])[0](error.status_code, error.detail)
        return Json(body, error.status_code, {**HEADERS, **(error.headers or {})})

    paths = [Path(row.path, _endpoint(service, row, metrics), methods=row.verbs.split()) for row in table]
    routes = [*paths, Mount("/page", what_pages_load)]
    return Starlette(routes=routes, middleware=[FOREIGN_PAGES], exception_handlers={HTTPException: unknown})


async def what_pages_load(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with a script or a style of the pages, and with nothing else that lies beside them."""
    if not scope["path"].endswith((".js", ".css")):
        raise HTTPException(404)
    await PAGES(scope, receive, send)


def _endpoint(service: Service, route: Route, metrics: Metrics) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers the requests of a route, each with a line in the log and in the figures."""

    async def answer(request: Request) -> Response:
        began = time.perf_counter()
        response = await _answer(service, route, request)
        seconds = time.perf_counter() - began
        metrics.count(route.path, response.status_code, seconds)
        LOG.info({"route": route.path, "status": response.status_code, "seconds": round(seconds, 4)})
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    return answer


async def _answer(service: Service, route: Route, request: Request) -> Response:
    """Return the answer to a request, or an error in the form of the route's interface."""
    try:
        asked = await read(service, route, request)
        made = await unless_gone(request, route.answer(service, asked))
        return made if isinstance(made, Response) else Json(made)
    except ClientDisconnect:
        return Response(status_code=GONE)
    except Refusal as refusal:
        after = {} if refusal.retry_after is None else {"retry-after": str(refusal.retry_after)}
        return Json(route.error(refusal.status, str(refusal)), refusal.status, after)
    except PellucidError as error:
        return Json(route.error(400, str(error)), 400)
    except Exception:  # of our own making: the client learns that much, and the log where it was
        LOG.exception({"route": route.path})
        return Json(route.error(500, "the server made a mistake, which is in its log."), 500)

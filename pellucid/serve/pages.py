"""The pages at / and /look, and the files that they load. What they may load stands in them."""

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from pellucid.page.assembly import fill, json_block
from pellucid.page.document import look_page
from pellucid.serve.service import Service

HEADERS = {"content-security-policy": "frame-ancestors 'none'", "x-content-type-options": "nosniff"}


def pages(service: Service) -> list[BaseRoute]:
    """Return the routes of the pages: they need no key, but what their scripts ask does."""

    async def translate(request: Request) -> HTMLResponse:
        page = fill("translate.html", pairs=json_block("pairs", [*service.languages.pairs]))
        return HTMLResponse(page, headers=HEADERS)

    async def look(request: Request) -> HTMLResponse:
        return HTMLResponse(look_page(), headers=HEADERS)

    files = Mount("/page", StaticFiles(packages=[("pellucid", "page")]))
    return [Route("/", translate), Route("/look", look), files]

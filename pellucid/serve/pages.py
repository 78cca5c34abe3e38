"""The pages at / and /look. What they may load stands in them."""

from starlette.responses import HTMLResponse

from pellucid.page.assembly import fill, json_block
from pellucid.page.document import look_page
from pellucid.serve.routes import Asked, Route
from pellucid.serve.service import Service

POLICY = {"content-security-policy": "frame-ancestors 'none'"}


async def translate(service: Service, asked: Asked) -> HTMLResponse:
    """Return the page that translates as one types."""
    page = fill("translate.html", pairs=json_block("pairs", [*service.languages.pairs]))
    return HTMLResponse(page, headers=POLICY)


async def look(service: Service, asked: Asked) -> HTMLResponse:
    """Return the page that looks inside a model."""
    return HTMLResponse(look_page(), headers=POLICY)


# They need no key, but what their scripts ask does.
ROUTES = [Route("GET", "/", translate, is_open=True), Route("GET", "/look", look, is_open=True)]

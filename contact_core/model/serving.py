"""What the server of a page answers: to whom, and a page that suits narrow windows."""

from __future__ import annotations

import gzip
import logging
import re
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import websockets.asyncio.server
from websockets.http11 import Request, Response

from contact_core.model.drawing import for_any_locale

LOCAL = ("127.0.0.1", "localhost", "::1")
"""Hosts that nobody else reaches."""
OURS = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
"""Pages that may talk to one on this machine."""
GOODBYE = 0.5
"""How long a browser may take to answer that the page ends [s]; a frozen one never does."""
UNDER_WAY = 2
"""Messages that are sent before the first of them has arrived."""
FRONT, CLOCK = ("/", "/index.html"), "/clock"
CLOSED_PANEL = """<script>
// Where the panel is a sheet over the view, it is closed until a person opens it.
if (matchMedia("(max-width: 36em)").matches) {
  const timer = setInterval(() => {
    const words = [...document.querySelectorAll("#root *")];
    const bar = words.find((word) => !word.children.length && word.textContent === "TITLE");
    if (bar) {
      clearInterval(timer);
      bar.click();
    }
  }, 100);
}
</script>
"""


@contextmanager
def served_our_way(host: str, title: str) -> Iterator[None]:
    """Let a page opened in the block refuse pages of other sites, suit narrow windows and end soon.

    A browser lets any site connect to this machine, and tells which one it was.

    Args:
        host: Address the page listens on; unless it is local, the page's own address is welcome
            too, which the browser tells as the host.
        title: Of its panel, on whose bar it is.
    """
    serve = websockets.asyncio.server.serve
    local = host in LOCAL

    def guarded(*args: Any, process_request: Any, **options: Any) -> Any:
        def answer(connection: Any, request: Request) -> Response | None:
            origin, own = request.headers.get("Origin"), request.headers.get("Host")
            known = not local and origin in (f"http://{own}", f"https://{own}")
            if not (origin is None or known or OURS.fullmatch(origin)):
                response: Response = connection.respond(HTTPStatus.FORBIDDEN, "of another site\n")
                return response
            if request.path == CLOCK:
                told: Response = connection.respond(HTTPStatus.OK, f"{1e3 * time.time():.0f}")
                return told
            _send_newest(connection)
            page: Response | None = process_request(connection, request)
            if page is not None and request.path.partition("?")[0] in FRONT:
                _fit(page, title)
            return page

        # Whoever connects and says nothing, as a scan of ports does, is no error of ours.
        quiet = logging.getLogger(f"{__name__}.websockets")
        quiet.setLevel(logging.CRITICAL)
        ours = {"process_request": answer, "close_timeout": GOODBYE, "logger": quiet}
        return serve(*args, **(options | ours))

    websockets.asyncio.server.serve = guarded  # type: ignore[misc, assignment]
    try:
        yield
    finally:
        websockets.asyncio.server.serve = serve  # type: ignore[misc]


def _send_newest(connection: Any) -> None:
    """Send a browser nothing more before it has what was sent, but for the last few.

    Kernels and routers would keep seconds of what is past; Viser keeps the newest of everything.
    """
    send, arrivals = connection.send, deque[Any]()

    async def send_newest(message: Any) -> None:
        while len(arrivals) >= UNDER_WAY:
            await arrivals.popleft()
        await send(message)
        arrivals.append(await connection.ping())

    connection.send = send_newest


def _fit(page: Response, title: str) -> None:
    """Make Viser's page one for narrow windows, and for browsers of any locale."""
    packed = page.headers.get("Content-Encoding") == "gzip"
    body = (gzip.decompress(page.body) if packed else page.body).decode()
    body = for_any_locale(body.replace("</body>", f"{CLOSED_PANEL.replace('TITLE', title)}</body>"))
    page.body = gzip.compress(body.encode()) if packed else body.encode()
    if "Content-Length" in page.headers:
        del page.headers["Content-Length"]
        page.headers["Content-Length"] = str(len(page.body))

"""Pages of Chromium that are watched: nothing they ask for leaves the machine, and nothing goes wrong unheard."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, Playwright, Route

ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
# What has no address outside of the page and the files beside it.
LOCAL = ("about:", "blob:", "chrome-error:", "data:", "file:")
NOTHING: frozenset[str] = frozenset()
BY_THE_LOAD = re.compile(r"Plugin \S+ (is taking too long|\(with \d+ dependants\) took \S+ms) to activate\.")
"""What JupyterLab complains of on a busy machine."""
WIDE = {"width": 1400, "height": 900}


def program() -> str:
    """Debian's Chromium: without a window of its own if there is that, as a page opens in half the time."""
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert path, "the browser tests need Debian's Chromium: make chromium"
    return path


def launched(playwright: Playwright) -> Browser:
    """Debian's Chromium, which is to keep to itself."""
    return playwright.chromium.launch(executable_path=program(), args=list(ARGUMENTS))


@contextmanager
def watched_page(
    browser: Browser, server: str = "", forgiven: frozenset[str] = NOTHING, **context: Any
) -> Iterator[Page]:
    """A page that may ask nobody but `server`, and complains of nothing, but for the lines that are forgiven."""
    made = browser.new_context(**{"viewport": WIDE, "reduced_motion": "reduce", **context})
    faults: list[str] = []
    keep_inside(made, server, faults)
    page = made.new_page()

    def told(kind: str, text: str) -> None:
        line = text.partition("\n")[0]
        if kind in ("error", "warning", "uncaught") and line not in forgiven and not BY_THE_LOAD.fullmatch(line):
            faults.append(f"{kind}: {text}")

    page.on("console", lambda message: told(message.type, message.text))
    page.on("pageerror", lambda error: told("uncaught", str(error)))
    try:
        yield page
    finally:
        made.close()
    assert not faults, "\n".join(faults)


def keep_inside(context: BrowserContext, server: str, faults: list[str]) -> None:
    """Let no request and no socket of the pages out, and note each that would have left."""
    own = (*LOCAL, *((f"{server}/", f"{server.replace('http', 'ws', 1)}/") if server else ()))

    def refused(route: Route) -> None:
        faults.append(f"request: {route.request.url}")
        route.abort()

    context.route(lambda address: not address.startswith(own), refused)
    context.on(
        "page",
        lambda page: page.on(
            "websocket", lambda socket: None if socket.url.startswith(own) else faults.append(f"socket: {socket.url}")
        ),
    )

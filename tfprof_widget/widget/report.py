"""Writes a page, or a block of a notebook's output, that shows the widget without a kernel."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from html import escape
from typing import Any

from tfprof_widget.lib.static_files import static_bytes
from tfprof_widget.output.html import as_html
from tfprof_widget.widget.scriptless import static_html
from tfprof_widget.widget.shown import Shown

# The page may run the opener and the code that the opener unpacks, and nothing else, whatever names a profile holds.
_POLICY = (
    "default-src 'none'; script-src 'sha256-{opener}' blob:; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ max-width: 1600px; margin: 16px auto; padding: 0 16px; font: 13px/18px system-ui, sans-serif }}
h1 {{ position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }}
@media print {{ :root {{ color-scheme: light }} body {{ margin: 0; padding: 0 }} }}
</style></head>
<body><main><h1>{title}</h1><!--block--></main></body></html>
"""
# The notice on the code of other packages, for people who read a saved result.
_LICENCES = (
    "<!-- tfprof_widget (Apache-2.0) with code of other packages; their licences are at the end of the parts "
    "'panels' and 'charts', base64 of gzip, and in tfprof_widget/static/THIRD_PARTY_NOTICES.txt -->"
)
_OPENER = "<!--opener-->"
# What one result of a notebook has for all.
CARRIED = ("carried", "charts")
FASTEST, SMALLEST = 1, 9
# Up to so many bytes are packed as well as can be in some tens of milliseconds.
MOST_SLOWLY = 500_000


def report(shown: Shown, traits: Mapping[str, Any] | None = None) -> str:
    """A page that shows the graphs; with the `traits` of a live widget it starts from what that shows.

    >>> from tfprof_widget.demo import demo_profile
    >>> report(Shown.of_profile(demo_profile()))[:15]
    '<!doctype html>'
    """
    page = _PAGE.format(policy=_policy(), title=as_html(shown.title or "tfprof"))
    return page.replace("<!--block-->", block(shown, traits))


def block(shown: Shown, traits: Mapping[str, Any] | None = None, live: str = "", is_carrier: bool = True) -> str:
    """The graphs as a piece of HTML, which hides while the live widget with the id `live` is on the page.

    The code of the charts and of the picture of the graph is half of it: one result of a notebook is the carrier, which
    has it for the others. These name its version.
    """
    history = shown.history.to_browser if shown.history is not None else {}
    values = {"title": shown.title, "view": shown.view, "_about": shown.about, "_history": history, **shown.options}
    values |= traits or {}
    described = [dict(graph.to_browser) for graph in shown.graphs]
    columns = [graph.pop("columns") for graph in described]
    state = {"traits": values, "graphs": described, "version": code_version()}
    assets = {name: part for name, part in _assets().items() if is_carrier or name not in CARRIED}
    parts = {
        **assets,
        "state": gzip.compress(json.dumps(state).encode(), mtime=0),
        **{f"columns-{index}": gzip.compress(each, _effort(each), mtime=0) for index, each in enumerate(columns)},
    }
    scripts = "".join(_part(name, content) for name, content in parts.items())
    return (
        f'<div data-tfprof="{escape(live)}"><div data-static>{static_html(shown, values)}</div>{_LICENCES}{scripts}'
        f"<script>{_opener()}</script></div>"
    )


def _effort(content: bytes) -> int:
    return SMALLEST if len(content) <= MOST_SLOWLY else FASTEST


@cache
def _assets() -> Mapping[str, bytes]:
    """The parts that are the same in every result."""
    return {
        "widget": gzip.compress(static_bytes("widget.js"), SMALLEST, mtime=0),
        "panels": static_bytes("panels.js.gz"),
        **{name: static_bytes(f"{name}.js.gz") for name in CARRIED},
        # The opener is in the result itself.
        "page": gzip.compress(page_template().replace(_opener(), _OPENER).encode(), mtime=0),
    }


@cache
def code_version() -> str:
    """Tells this code from that of other versions in the same notebook: the parts of one use each other."""
    code = b"".join(static_bytes(name) for name in ("widget.js", *(f"{name}.js.gz" for name in ("panels", *CARRIED))))
    return hashlib.sha256(code).hexdigest()[:16]


def page_template() -> str:
    """The page with marks for the title, the static part and the packed parts, which the front end fills in."""
    inside = (
        f"<div data-tfprof><div data-static><!--static--></div>{_LICENCES}<!--parts-->"
        f"<script>{_opener()}</script></div>"
    )
    return _PAGE.format(policy=_policy(), title="<!--title-->").replace("<!--block-->", inside)


@cache
def _opener() -> str:
    return static_bytes("opener.js").decode()


def _policy() -> str:
    opener = base64.b64encode(hashlib.sha256(_opener().encode()).digest()).decode()
    return _POLICY.format(opener=opener)


def _part(name: str, content: bytes) -> str:
    version = f' data-version="{code_version()}"' if name in CARRIED else ""
    return f'<script type="text/plain" data-part="{name}"{version}>{base64.b64encode(content).decode()}</script>'

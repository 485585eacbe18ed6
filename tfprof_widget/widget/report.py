"""Writes a page, or a block of a notebook's output, that shows the widget without a kernel."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from tfprof_widget.engine.evaluate import evaluate
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.output.costs import cost_image
from tfprof_widget.output.html import as_html, table
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import OPTIONS, VIEWS, Options
from tfprof_widget.widget.shown import Shown


@cache
def static_bytes(name: str) -> bytes:
    """The content of a file that `make build` made.

    >>> static_bytes("no such file")
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: static/no such file is missing: run `make build`, or install the wheel
    """
    try:
        return (files("tfprof_widget") / "static" / name).read_bytes()
    except OSError:
        raise ProfileError(f"static/{name} is missing: run `make build`, or install the wheel") from None


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
</style></head>
<body><!--block--></body></html>
"""
# The notice on the code of other packages, for people who read a saved result.
_LICENCES = (
    "<!-- tfprof_widget (Apache-2.0) with code of other packages; their licences are at the end of the parts "
    "'panels' and 'charts', base64 of gzip, and in tfprof_widget/static/THIRD_PARTY_NOTICES.txt -->"
)
FASTEST, SMALLEST = 1, 9


def report(shown: Shown, traits: Mapping[str, Any] | None = None) -> str:
    """A page that shows the graphs; with the `traits` of a live widget it starts from what that shows.

    >>> from tfprof_widget.demo import demo_profile
    >>> report(Shown.of_profile(demo_profile()))[:15]
    '<!doctype html>'
    """
    page = _PAGE.format(policy=_policy(), title=as_html(shown.title or "tfprof"))
    return page.replace("<!--block-->", block(shown, traits))


def block(shown: Shown, traits: Mapping[str, Any] | None = None, live: str = "", has_charts: bool = True) -> str:
    """The graphs as a piece of HTML, which hides while the live widget with the id `live` is on the page.

    The code of the charts is half of it: one result of a notebook has it for the others, which name its version.
    """
    values = {"title": shown.title, "view": shown.view, "_about": shown.about, **shown.options, **(traits or {})}
    described = [dict(graph.to_browser) for graph in shown.graphs]
    columns = [graph.pop("columns") for graph in described]
    state = {"traits": values, "graphs": described, "charts": charts_version()}
    assets = _assets() if has_charts else {name: part for name, part in _assets().items() if name != "charts"}
    parts = {
        **assets,
        "state": gzip.compress(json.dumps(state).encode(), mtime=0),
        **{f"columns-{index}": gzip.compress(each, FASTEST, mtime=0) for index, each in enumerate(columns)},
    }
    scripts = "".join(_part(name, content) for name, content in parts.items())
    return (
        f'<div data-tfprof="{escape(live)}"><div data-static>{_static(shown, values)}</div>{_LICENCES}{scripts}'
        f"<script>{_opener()}</script></div>"
    )


@cache
def _assets() -> Mapping[str, bytes]:
    """The parts that are the same in every result."""
    return {
        "widget": gzip.compress(static_bytes("widget.js"), SMALLEST, mtime=0),
        "panels": static_bytes("panels.js.gz"),
        "charts": static_bytes("charts.js.gz"),
        "page": gzip.compress(page_template().encode(), mtime=0),
    }


@cache
def charts_version() -> str:
    """Tells this code of the charts from that of other versions in the same notebook."""
    return hashlib.sha256(static_bytes("charts.js.gz")).hexdigest()[:16]


def page_template() -> str:
    """The page with marks for the title, the static part and the packed parts, which the front end fills in."""
    inside = (
        f"<div data-tfprof><div data-static><!--static--></div>{_LICENCES}<!--parts-->"
        f"<script>{_opener()}</script></div>"
    )
    return _PAGE.format(policy=_policy(), title="<!--title-->").replace("<!--block-->", inside)


def _opener() -> str:
    return static_bytes("opener.js").decode()


def _policy() -> str:
    opener = base64.b64encode(hashlib.sha256(_opener().encode()).digest()).decode()
    return _POLICY.format(opener=opener)


def _part(name: str, content: bytes) -> str:
    version = f' data-version="{charts_version()}"' if name == "charts" else ""
    return f'<script type="text/plain" data-part="{name}"{version}>{base64.b64encode(content).decode()}</script>'


def _static(shown: Shown, values: Mapping[str, Any]) -> str:
    """What a reader sees without scripts: how the graph was measured, the costs by op type, and the rows."""
    graph = shown.graphs[values.get("graph", 0)]
    view, reason = static_view(graph.profile, values)
    facts = " · ".join([*map(str, graph.facts_of(view.options)), shown.about])
    lines = "".join(f"<p>{as_html(line)}</p>" for line in (facts, *graph.notes, reason) if line)
    return f"<h2>{as_html(shown.title or 'tfprof')}</h2>{lines}{cost_image(view)}{table(view)}"


def static_view(profile: ProfileData, values: Mapping[str, Any]) -> tuple[ViewData, str]:
    """The view that the traits ask for; or the scope view and the reason why that one cannot be made.

    >>> from tfprof_widget.demo import demo_profile
    >>> view, reason = static_view(demo_profile(), {"view": "op", "show_name_regexes": ["["]})
    >>> view.view, reason[:18]
    ('scope', 'show_name_regexes:')
    """
    options = {option.name: values[option.name] for option in OPTIONS if option.name in values}
    try:
        return evaluate(profile, values["view"] if values["view"] in VIEWS else "scope", Options.of(**options)), ""
    except (ProfileError, ValueError) as error:
        return evaluate(profile, "scope", Options.of()), str(error)

"""One page of HTML with several views of a profile: no scripts, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tfprof_widget.engine.view import View
from tfprof_widget.output.html import table

# Nothing may be fetched or run, whatever a name in a profile says.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark }
body { margin: 24px; font: 13px/18px system-ui, -apple-system, "Segoe UI", sans-serif }
h1 { font-size: 18px } h2 { font-size: 14px; margin: 24px 0 4px }
"""


def page(title: str, lines: Sequence[str], views: Sequence[View]) -> str:
    """The page: a title, some lines of text, and a table a view.

    >>> from tfprof_widget.demo import demo_profile
    >>> "<h2>op</h2>" in page("A <step>", ["measured once"], [demo_profile().view("op")])
    True
    """
    tables = "".join(f"<h2>{view.view}</h2>{table(view)}" for view in views)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><style>{_STYLE}</style></head>'
        f"<body><h1>{escape(title)}</h1>{paragraphs(lines)}{tables}</body></html>"
    )


def paragraphs(lines: Sequence[str]) -> str:
    """Lines of text, a paragraph each.

    >>> paragraphs(["1 < 2"])
    '<p>1 &lt; 2</p>'
    """
    return "".join(f"<p>{escape(line)}</p>" for line in lines)

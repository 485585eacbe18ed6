"""Makes the README of a checkout the description of a package: an index has none of the files beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

ELSEWHERE = r"(?!https?:|mailto:)"
CODE = r"^```.*?^```$|`[^`\n]+`"
PICTURE = rf"<picture>.*?</picture>\n*|<img\b[^>]*\bsrc=[\"']{ELSEWHERE}[^>]*>\n*|!\[[^\]]*\]\({ELSEWHERE}[^)]*\)\n*"
COMMENT = r"<!--.*?-->\n*"
LINK = rf"\[(?P<text>(?:[^\[\]`]|`[^`]*`)*)\]\({ELSEWHERE}(?!#)[^)]*\)"
PARTS = re.compile(f"(?P<code>{CODE})|{COMMENT}|{PICTURE}|{LINK}", re.DOTALL | re.MULTILINE)


class PortableReadme(MetadataHookInterface):
    """Gives hatchling the description."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Hatchling calls this with the [project] table, to be completed."""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": portable(readme)}


def portable(markdown: str) -> str:
    """The text without comments and the repository's pictures, and with the words of links to its files; code stays.

    >>> portable("![The widget](widget.png)\\n\\nSee [the engine](docs/engine.md), not `[a](b)`.")
    'See the engine, not `[a](b)`.'
    """
    return PARTS.sub(lambda found: found["code"] or found["text"] or "", markdown)

"""What the tests need to know of a Markdown page: its blocks of code, headings, links and the paths that it names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
# What a reader does not see, but the block below it needs: a comment that opens with this word.
GIVEN = "given"

BLOCK = re.compile(
    rf"^<!-- {GIVEN}\n(?P<given>.*?)^-->$|^```(?P<language>[^\n`]*)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
INLINE_CODE = re.compile(r"`[^`\n]+`")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
LINKS = (
    re.compile(r"\]\((?P<target>[^)\s]+)\)"),
    re.compile(r"\b(?:href|src|srcset)=[\"'](?P<target>[^\"']+)[\"']"),
    re.compile(r"<(?P<target>[a-z][a-z+.-]*:[^>\s]+)>"),
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, or what is given to the next one."""

    language: str
    code: str
    line: int


def pages() -> list[Path]:
    """What people read."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").glob("*.md")])


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page.

    >>> list(blocks("Do\\n\\n```sh\\nmake\\n```\\n"))
    [Block(language='sh', code='make\\n', line=4)]
    """
    for found in BLOCK.finditer(page):
        kind = "given" if found["given"] is not None else "code"
        yield Block(
            found["language"] or GIVEN * (kind == "given"), found[kind], page[: found.start(kind)].count("\n") + 1
        )


def prose(page: str) -> str:
    """A page without its code."""
    return INLINE_CODE.sub("", BLOCK.sub("", page))


def anchors(page: str) -> set[str]:
    """The anchors that GitHub gives the headings of a page.

    >>> sorted(anchors("# The `op` view\\n\\n## Why not?\\n\\n## Why not?\\n"))
    ['the-op-view', 'why-not', 'why-not-1']
    """
    seen: Counter[str] = Counter()
    found = set()
    for heading in HEADING.findall(BLOCK.sub("", page)):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def links(page: str) -> list[str]:
    """Where a page leads.

    >>> links('[a](b.md#c), <https://d.org>, <img src="e.png">, `[f](g)`')
    ['b.md#c', 'e.png', 'https://d.org']
    """
    return [found["target"] for link in LINKS for found in link.finditer(prose(page))]


def named_paths(page: str) -> list[str]:
    """The files and folders of the repository that a page names in its prose, and all other sources.

    >>> named_paths("It is in `docs/wire.md`, not in `docs/<name>.md`; see `engine/scope.py`.")
    ['docs/wire.md', 'engine/scope.py']
    """
    folders = "|".join(sorted(path.name for path in ROOT.iterdir() if path.is_dir()))
    named = rf"`((?:{folders})/[\w./-]*|[\w-]+/[\w./-]*\.(?:py|tsx?))`"
    return re.findall(named, BLOCK.sub("", page))

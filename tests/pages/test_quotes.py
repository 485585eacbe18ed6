"""What the pages in docs quote is what the package says: each quote is in a text of its source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
QUOTES = [
    quote
    for page in sorted((ROOT / "docs").glob("*.md"))
    for quote in re.findall(r"^> (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
]
ELLIPSIS, GAP = "…", "\0"


def test_quotes_are_what_the_package_says() -> None:
    """Those whose like nothing in the source says; one of a few letters would be found anywhere."""
    said = {quote: quote.replace(ELLIPSIS, GAP).strip(f"{GAP} ") for quote in QUOTES}
    assert [quote for quote, part in said.items() if len(part) <= 10 or not any(part in text for text in texts())] == []


@cache
def texts() -> tuple[str, ...]:
    """The texts in the source, with gaps for what is filled in."""
    python = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "tfprof_widget").rglob("*.py"))]
    scripts = [
        re.sub(r"\$\{[^}]*\}", GAP, path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / "js" / "src").rglob("*.ts*"))
        if ".test." not in path.name
    ]
    return (*(text for source in python for text in python_texts(source)), *scripts)


def python_texts(source: str) -> Iterator[str]:
    """The strings of a module, f-strings as a whole."""
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        match pending.pop():
            case ast.JoinedStr(values=parts):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else GAP for part in parts)
            case ast.Constant(value=str(text)):
                yield text
            case node:
                pending.extend(ast.iter_child_nodes(node))

"""What the pages in docs quote is what the package says: each quote is in a text of its source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUOTES = [
    quote
    for page in sorted((ROOT / "docs").glob("*.md"))
    for quote in re.findall(r"^> (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
]
ELLIPSIS, GAP = "…", "\0"


def test_there_are_quotes() -> None:
    assert len(QUOTES) > 20


@pytest.mark.parametrize("quote", QUOTES)
def test_a_quote_is_what_the_package_says(quote: str) -> None:
    said = quote.replace(ELLIPSIS, GAP).strip(f"{GAP} ")
    assert len(said) > 10
    assert any(said in text for text in texts()), f"nothing in the source says {quote!r}"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('f"a {b!r} of " "it"', ["a \0 of it"]),
        ('"plain"', ["plain"]),
        ("7", []),
    ],
)
def test_texts_of_python_have_gaps_for_what_differs(source: str, found: list[str]) -> None:
    assert list(python_texts(source)) == found


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

"""Finds the statements of the user's code that advice may change, and makes patches that change their text."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import ndiff
from itertools import islice

from tfprof_widget.lib.text import is_of_library
from tfprof_widget.lib.threads import files_with_source, parse_python, source_lines
from tfprof_widget.profiles.cell import CellTimes, CodeLine, OwnCode
from tfprof_widget.profiles.data import ProfileTables
from tfprof_widget.profiles.program import ModelLayer

MOST_STATEMENTS, MOST_LINES = 200, 60
"""So many statements are kept, and none that is longer; what is to be copied is to be read first."""

LARGEST_FILE = 2**20
"""A longer file is hardly the user's own program; to read it would take too long."""

METHODS = (
    *("map", "interleave", "flat_map", "from_generator", "batch", "padded_batch", "shuffle", "cache", "repeat"),
    *("compile", "fit", "function"),
)
"""The methods and functions whose calls advice may change, or after which a pipeline goes on."""

_MENTIONS = re.compile(rf"\.({'|'.join(METHODS)})\b|Callback\b")


def own_statements(
    tables: ProfileTables, cells: Iterable[CellTimes], name: Callable[[str], str] = str
) -> tuple[CodeLine, ...]:
    """The statements that advice may change, in the files whose lines were seen and in the cells of this notebook.

    `name` gives the name of a notebook's cell, such as `In[2]`, for its file; tables and cells have these names.

    >>> from tfprof_widget.demo import demo_profile
    >>> [each.source for each in own_statements(demo_profile(), ()) if each.file == "train.py"]  # which is not here
    []
    """
    seen = set(_lines_seen(tables, cells))
    layers = frozenset(layer.type for layer in tables.model_layers)
    files = {name(file): file for file in files_with_source() if _is_cell(file)}
    files = {**{file: file for file in sorted({file for file, _ in seen}) if file not in files}, **files}
    found = (
        each
        for named, file in files.items()
        for each in _statements(file, named, {line for of, line in seen if of == named}, layers)
    )
    return tuple(islice(found, MOST_STATEMENTS))


def _is_cell(file: str) -> bool:
    """Whether IPython ran a cell as this file: a pipeline may be made in any."""
    return "ipykernel" in file or file.startswith(("<ipython-input", "<%%tfprof"))


def _lines_seen(tables: ProfileTables, cells: Iterable[CellTimes]) -> Iterator[tuple[str, int]]:
    """The user's own lines that are known from looks at Python, callbacks, pipelines and the making of ops."""
    traces = tables.traces
    places = [
        (traces.strings[file], line) for file, line in zip(traces.file.tolist(), traces.line.tolist(), strict=True)
    ]
    for cell in cells:
        lines = [*cell.looks.lines, *(phase.line for phase in cell.phases if phase.line is not None)]
        places += [(line.file, line.line) for line in lines]
        places += [(time.file, time.line) for time in (*cell.outside, *cell.between)]
    for function in (function for pipeline in tables.pipelines for function in pipeline):
        if function.line is not None:
            places.append((function.line.file, function.line.line))
    return ((file, line) for file, line in places if file and not is_of_library(file))


def _statements(file: str, named: str, seen: set[int], layers: frozenset[str]) -> Iterator[CodeLine]:
    lines = source_lines(file)
    text = "".join(lines)
    if len(text) > LARGEST_FILE or not (_MENTIONS.search(text) or "def " in text):
        return
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for function, first, last in _of_body(tree.body, "<module>", seen, layers):
        if last - first < MOST_LINES:
            yield CodeLine(named, first, function, "".join(lines[first - 1 : last]).rstrip("\n"))


def _of_body(
    body: Iterable[ast.AST], function: str, seen: set[int], layers: frozenset[str]
) -> Iterator[tuple[str, int, int]]:
    """Each statement that counts, with the function that it is in, and its first and last line."""
    for node in body:
        first, last = _extent(node)
        if _counts(node, seen, layers):
            yield function, first, last
        name = getattr(node, "name", function) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, block, None)
            if isinstance(inner, list):
                yield from _of_body(inner, name, seen, layers)


def _extent(node: ast.AST) -> tuple[int, int]:
    """The first and the last line of a statement; of a function and a loop, down to its body."""
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])  # type: ignore[attr-defined]
    body = getattr(node, "body", None)
    if isinstance(body, list) and not isinstance(node, ast.ClassDef):
        return first, max(node.lineno, body[0].lineno - 1)  # type: ignore[attr-defined]
    return first, getattr(node, "end_lineno", None) or first


def _counts(node: ast.AST, seen: set[int], layers: frozenset[str]) -> bool:
    if isinstance(node, ast.ClassDef):
        return any("Callback" in ast.unparse(base) for base in node.bases)
    if isinstance(node, ast.FunctionDef):
        decorators = (ast.unparse(each) for each in node.decorator_list)
        return (
            node.lineno in seen
            or any(_extent(node)[0] <= line <= node.lineno for line in seen)
            or any("function" in each for each in decorators)
        )
    if isinstance(node, ast.For):
        return node.lineno in seen
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return):
        return False
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    is_called = any(isinstance(call.func, ast.Attribute) and call.func.attr in METHODS for call in calls)
    return is_called or any(last_name(call.func) in layers for call in calls)


def last_name(node: ast.AST) -> str:
    """The last part of a name such as `keras.layers.Dense`; empty for what is no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@dataclass(frozen=True)
class CodeChange:
    """Lines of the user's code, as they are and as they should be; `effect` says what else changes.

    >>> print(CodeChange(CodeLine("In[3]", 2, "<module>"), ("x = 1",), ("x = 2",), "x is larger"))
    change In[3]:2 (x is larger):
      - x = 1
      + x = 2
    """

    line: CodeLine
    before: tuple[str, ...]
    after: tuple[str, ...]
    effect: str

    @property
    def lines(self) -> list[str]:
        """The lines that stay, go and come, not indented, each after its mark: two blanks, `- ` or `+ `."""
        before, after = (textwrap.dedent("\n".join(lines)).splitlines() for lines in (self.before, self.after))
        return [line for line in ndiff(before, after) if not line.startswith("?")]

    def __str__(self) -> str:
        return "\n  ".join([f"change {self.line.place} ({self.effect}):", *self.lines])


@dataclass(frozen=True)
class Statement:
    """A statement with its tree: the `text` is without the `indent` that it has in its file."""

    line: CodeLine
    text: str
    node: ast.stmt
    indent: str = ""

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """The calls of methods of these names; all of any method if none is given."""
        for node in ast.walk(self.node):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and (not names or called.attr in names):
                yield node  # type: ignore[misc]

    def offset(self, line: int, column: int) -> int:
        """Where a place of the tree, which counts bytes, is in the text."""
        lines = self.text.splitlines(keepends=True)
        return sum(map(len, lines[: line - 1])) + len(lines[line - 1].encode()[:column].decode())

    def end(self, node: ast.expr) -> int:
        """Where a node ends in the text."""
        return self.offset(node.end_lineno or 1, node.end_col_offset or 0)

    def with_argument(self, call: ast.Call, argument: str) -> tuple[int, str]:
        """The insertion that gives a call another argument."""
        closing = self.end(call) - 1
        given = self.text[:closing].rstrip()
        comma = "" if given.endswith((",", "(")) else ","
        return len(given), f"{comma}{' ' if given[-1] != '(' else ''}{argument}"

    def changed(self, insertions: Iterable[tuple[int, str]], effect: str) -> CodeChange | None:
        """The patch that inserts these texts; None if there are none, or the outcome is no statement."""
        text = self.text
        for at, added in sorted(insertions, reverse=True):
            text = f"{text[:at]}{added}{text[at:]}"
        return self.replaced(text, effect)

    def replaced(self, text: str, effect: str) -> CodeChange | None:
        """The patch that has this text in place of the statement."""
        if text == self.text or _parsed(text) is None:
            return None
        return self.of_lines(0, self.text.splitlines(), text.splitlines(), effect)

    def of_lines(self, first: int, before: Sequence[str], after: Sequence[str], effect: str) -> CodeChange:
        """The patch of some lines of the statement alone, from `first` on."""
        line = CodeLine(self.line.file, self.line.line + first, self.line.function)
        here, there = (tuple(f"{self.indent}{each}" for each in lines) for lines in (before, after))
        return CodeChange(line, here, there, effect)


def _parsed(text: str) -> ast.stmt | None:
    """The statement of a text, or the head of one whose body is left out."""
    for rest in ("", "\n    pass"):
        try:
            body = parse_python(f"{text}{rest}").body
        except (SyntaxError, ValueError, RecursionError):
            continue
        return body[0] if len(body) == 1 else None
    return None


def parsed_statements(code: OwnCode) -> Iterator[Statement]:
    """The statements that can be read by themselves.

    >>> [each.text for each in parsed_statements(OwnCode((CodeLine("a.py", 7, "f", "    x = 1"),)))]
    ['x = 1']
    """
    for line in code.statements:
        text = textwrap.dedent(line.source)
        node = _parsed(text)
        if node is not None:
            yield Statement(line, text, node, line.source[: len(line.source) - len(line.source.lstrip(" \t"))])


def statements_at(code: OwnCode, file: str, line: int) -> Iterator[Statement]:
    """Those that begin at a line.

    >>> len(list(statements_at(OwnCode((CodeLine("a.py", 7, "f", "x = 1"),)), "a.py", 7)))
    1
    """
    return (each for each in parsed_statements(code) if (each.line.file, each.line.line) == (file, line))


def only_one(found: Iterable[tuple[Statement, ast.Call]]) -> tuple[Statement, ast.Call] | None:
    """The one that there is; None if there are several, for nothing tells which of them ran.

    Of several cells of a notebook the last counts: the others are mostly the same cell as it was run before.
    """
    several = list(found)
    cells = [int(told[1]) for each, _ in several if (told := _CELL.fullmatch(each.line.file))]
    if cells and len(cells) == len(several):
        several = [each for each, number in zip(several, cells, strict=True) if number == max(cells)]
    return several[0] if len({(each.line.file, each.line.line) for each, _ in several}) == 1 else None


_CELL = re.compile(r"In\[(\d+)\]")


def line_of_layer(code: OwnCode, layer: ModelLayer, others: Iterable[ModelLayer]) -> CodeLine | None:
    """The line that makes a layer: it names the layer, or it is the only one to make one of a type that is there once.

    >>> code = OwnCode((CodeLine("a.py", 7, "main", "layers = [\\n  Dense(8),\\n  LSTM(64)]"),))
    >>> lstm = ModelLayer("lstm", "lstm", "LSTM")
    >>> line_of_layer(code, lstm, [lstm]).place
    'a.py:9'
    """
    made = [
        (statement, call, next((each.value for each in call.keywords if each.arg == "name"), None))
        for statement in parsed_statements(code)
        for call in ast.walk(statement.node)
        if isinstance(call, ast.Call) and last_name(call.func) == layer.type
    ]
    found = [each for each in made if isinstance(each[2], ast.Constant) and each[2].value == layer.name]
    if not found and sum(other.type == layer.type for other in others) == 1:
        found = made
    only = only_one((statement, call) for statement, call, _ in found)
    if only is None:
        return None
    statement, call = only
    return replace(statement.line, line=statement.line.line + call.lineno - 1, source="")

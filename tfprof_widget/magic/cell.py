"""Runs a `%%tfprof` cell as IPython would without the magic, and calls back when it has ended."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import takewhile
from types import CodeType, FrameType
from typing import Any, NamedTuple

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

from tfprof_widget.lib.errors import shortened
from tfprof_widget.lib.threads import parse_python
from tfprof_widget.magic.arguments import who_runs

_CELL_MAGIC = "get_ipython().run_cell_magic('tfprof', "
_LINE_MAGIC = "get_ipython().run_line_magic('tfprof', "
_EVENTS = ("pre_execute", "post_execute")


def unwrapped(lines: list[str], transform: Callable[[str], str]) -> list[str]:
    """A `%%tfprof` cell as the cell itself, with the statement that starts the profile in place of the magic's line.

    IPython hands the code below a cell magic to the magic as a string. Run from there it would lose its top-level
    `await`, its line numbers, its place in the history. Here it is the cell that IPython runs.

    >>> unwrapped(["get_ipython().run_cell_magic('tfprof', '--all', 'await train()')"], str)
    ["get_ipython().run_line_magic('tfprof', '--all')\\n", 'await train()']
    """
    call = _magic_call("".join(lines))
    if call is None:
        return lines
    arguments, code = call
    transformed = transform(code)
    dropped = _blank_lines_above(code) - _blank_lines_above(transformed)
    return [f"{_LINE_MAGIC}{arguments!r})\n", *["\n"] * dropped, *transformed.splitlines(keepends=True)]


def _blank_lines_above(code: str) -> int:
    return len(list(takewhile(lambda line: not line.strip(), code.splitlines())))


def _magic_call(cell: str) -> tuple[str, str] | None:
    """The arguments and the code to run of a cell that is one well-formed `%%tfprof`; None for all others.

    A cell with a wrong line stays a cell magic, which refuses it.
    """
    if not cell.startswith(_CELL_MAGIC):
        return None
    match parse_python(cell).body:
        case [ast.Expr(ast.Call(args=[_, ast.Constant(str(arguments)), ast.Constant(str(code))]))]:
            who = who_runs(arguments)
            if who == "nobody":
                return arguments, ""
            return (arguments, code) if code.strip() and who == "IPython" else None
    return None


def running_cell() -> FrameType | None:
    """The frame in which IPython runs the cell that this is called from, None outside any cell."""
    return next((frame for frame in _stack() if frame.f_code is InteractiveShell.run_cell_async.__code__), None)


LONGEST_LINE = 60
"""So many letters of a cell's first line are in the title of its result."""


class CellSource(NamedTuple):
    """The cell that runs: what its run is called, its id in the notebook, and its text."""

    label: str
    cell: str
    source: str

    def title(self, out: str = "") -> str:
        """What a result is called that has no name: the variable that takes it, the cell's number, its first line.

        >>> CellSource("In[7]", "", "# train a classifier\\nmodel.fit(x)").title("prof")
        'prof · In[7] · train a classifier'
        """
        first = next((line.strip().lstrip("#% ") for line in self.source.splitlines() if line.strip("#% \t")), "")
        return " · ".join(filter(None, (out, self.label, shortened(first, LONGEST_LINE))))


_OWN_LINE = re.compile(r"\s*%%?tfprof(\s|$)")


def cell_source(shell: InteractiveShell, code: str = "") -> CellSource:
    """What the running cell is called, its id where the front end tells one, and its text without the magic's line.

    `code` is what the magic runs if that is not the rest of the cell: it stands for the cell.
    """
    frame = running_cell()
    variables = frame.f_locals if frame is not None else {}
    lines = [line for line in str(variables.get("raw_cell") or "").splitlines() if not _OWN_LINE.match(line)]
    cell = str(variables.get("cell_id") or cell_id(shell) or "")
    source = code.strip() or "\n".join(lines).strip()
    number = len(shell.user_ns.get("In", ())) - 1  # IPython 9 counts on before it runs a cell, earlier ones after it
    return CellSource(f"In[{number}]", f"{cell}: {source}" if cell and code else cell, source)


def cell_id(shell: Any) -> str | None:
    """The name of the cell that runs, as JupyterLab and Notebook 7 tell it; None elsewhere.

    >>> cell_id(None)
    """
    parent: Any = getattr(shell, "get_parent", dict)()
    cell = parent.get("metadata", {}).get("cellId") if isinstance(parent, dict) else None
    return cell if isinstance(cell, str) and cell else None


def restore_first_line(shell: InteractiveShell) -> None:
    """Show the magic's line in tracebacks, as a comment, in place of the statement that starts the profile."""
    for frame in _stack():
        name = frame.f_code.co_filename
        if frame.f_globals is shell.user_global_ns and frame.f_code.co_name == "<module>":
            entry = linecache.cache.get(name)
            if entry and len(entry) == 4 and entry[2] and entry[2][0].startswith(_LINE_MAGIC):
                arguments = ast.literal_eval(entry[2][0].removeprefix(_LINE_MAGIC).rstrip()[:-1])
                entry[2][0] = f"# %%tfprof {arguments}\n"
            return


class EndOfCell:
    """Calls `then` once, when the cell that `frame` runs has ended, however it ended.

    Cells run within the cell (`%run`, `%%capture`, `run_cell`) end too, but then the outer one is still on the stack.
    """

    def __init__(self, shell: InteractiveShell, frame: FrameType, then: Callable[[], None]) -> None:
        self._shell = shell
        self._frame = frame
        self._thread = threading.get_ident()
        self._then = then
        for event in _EVENTS:  # if IPython does not announce a cell's end, the next cell's beginning shows it
            shell.events.register(event, self._look)

    def _look(self) -> None:
        if threading.get_ident() != self._thread or any(frame is self._frame for frame in _stack()):
            return
        for event in _EVENTS:
            self._shell.events.unregister(event, self._look)
        self._then()


def _stack() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


Run = Callable[[dict[str, Any] | None], Any]


def compiled_code(shell: InteractiveShell, code: str) -> Run:
    """A function that runs the code with the given local variables and returns the value of its last expression."""
    source = shell.transform_cell(code)
    name = f"<%tfprof {code}>" if len(code.splitlines()) == 1 else "<%%tfprof>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)  # for tracebacks
    tree = shell.transform_ast(shell.compile.ast_parse(source, filename=name))
    value = [tree.body.pop()] if tree.body and isinstance(tree.body[-1], ast.Expr) else []
    statements = _code(shell, tree, name, "exec")
    expressions = [_code(shell, ast.Expression(each.value), name, "eval") for each in value]

    def run(local_ns: dict[str, Any] | None) -> Any:
        __tracebackhide__ = True
        variables = shell.user_ns if local_ns is None else local_ns
        exec(statements, shell.user_global_ns, variables)
        return eval(expressions[0], shell.user_global_ns, variables) if expressions else None

    return run


def _code(shell: InteractiveShell, tree: ast.Module | ast.Expression, name: str, mode: str) -> CodeType:
    flags = shell.compile.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # with what `from __future__` has changed so far
    code: CodeType = compile(tree, name, mode, flags, dont_inherit=True)
    if code.co_flags & inspect.CO_COROUTINE:
        raise UsageError("%tfprof cannot await; %%tfprof on the first line of the cell can")
    return code

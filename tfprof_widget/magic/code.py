"""Compiles the code of `%tfprof expression` as IPython compiles a cell, to be run within the magic."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable
from types import CodeType
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

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

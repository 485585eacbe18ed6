"""Python code read and parsed while another thread does so, which Python 3.11 does not keep apart."""

from __future__ import annotations

import ast
import gc
import linecache
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.lib.test_pause_gc import called_deep
from tfprof_widget.lib.threads import parse_python, source_line

CODE = "\n".join(f"x{number} = [a + (b * c(d, *e, **f)) for a in g if h]" for number in range(20))


@pytest.fixture
def call_at_collections() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Calls a function whenever the collector begins in the midst of `ast.parse`; the collector runs very often."""
    functions: list[Callable[[], None]] = []

    def collect(phase: str, _: Any) -> None:
        if phase == "start" and sys._getframe(1).f_code is ast.parse.__code__:
            for function in functions:
                function()

    thresholds = gc.get_threshold()
    gc.callbacks.append(collect)
    gc.set_threshold(10)
    yield functions.append
    gc.set_threshold(*thresholds)
    gc.callbacks.remove(collect)


def test_a_tree_that_another_thread_builds_is_waited_for(
    call_at_collections: Callable[[Callable[[], None]], None],
) -> None:
    is_inside, is_parsed = threading.Event(), threading.Event()
    errors: list[SystemError] = []

    def give_way() -> None:
        if threading.current_thread() is user and not is_inside.is_set():
            is_inside.set()
            is_parsed.wait(0.2)  # it waits to the end, as the tree of this thread is to be built first

    def parse_until_collected() -> None:
        try:
            for _ in range(100):
                if not is_inside.is_set():
                    called_deep(30, lambda: ast.parse(CODE))  # depths must differ to spoil each other
        except SystemError as error:
            errors.append(error)
        is_inside.set()  # from Python 3.12 on the collector does not run while a tree is built

    user = threading.Thread(target=parse_until_collected)
    call_at_collections(give_way)
    user.start()
    is_inside.wait()
    tree = parse_python(CODE)
    is_parsed.set()
    user.join()
    assert errors == []
    assert ast.dump(tree) == ast.dump(ast.parse(CODE))


def test_the_collector_does_not_run_while_a_tree_is_built(
    call_at_collections: Callable[[Callable[[], None]], None],
) -> None:
    calls: list[str] = []
    call_at_collections(lambda: calls.append("collected"))
    parse_python(CODE)
    assert calls == []
    assert gc.isenabled()


def test_a_count_that_another_thread_has_spoilt_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, answers = ast.parse, iter([SystemError("AST constructor recursion depth mismatch (before=48, after=29)")])

    def spoilt(*source: Any, **mode: Any) -> Any:
        for error in answers:
            raise error
        return parse(*source, **mode)

    monkeypatch.setattr(ast, "parse", spoilt)
    assert ast.dump(parse_python("1 + 1", "eval")) == ast.dump(parse("1 + 1", mode="eval"))


def test_lines_that_another_thread_takes_away_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As linecache does: of two threads that read a file at once, the later one first removes what is there."""
    getlines, answers = linecache.getlines, iter([KeyError(__file__), None])

    def taken_away(file: str) -> list[str]:
        error = next(answers)
        if error is not None:
            raise error
        return getlines(file)

    monkeypatch.setattr(linecache, "getlines", taken_away)
    assert source_line(__file__, 1).startswith('"""Python code read and parsed')

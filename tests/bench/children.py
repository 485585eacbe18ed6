"""Calls functions in processes of their own, so that native tfprof and this package cannot disturb each other."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Literal, Self, TypeVar

Result = TypeVar("Result")


class Child:
    """A fresh interpreter, which calls what it is told to; a context manager."""

    def __init__(self) -> None:
        self._process, self._connection = _start("spawn", _answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._process.join()

    def call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """What the function returns there."""
        self._connection.send((function, arguments))
        result: Result = _received(self._connection)
        return result


def call(function: Callable[..., Result], *arguments: Any) -> Result:
    """What the function returns in a fresh interpreter."""
    with Child() as child:
        return child.call(function, *arguments)


def call_in_copy(function: Callable[..., Result], *arguments: Any) -> Result:
    """What the function returns in a copy of this process, which has all that this one has and leaves it as it is."""
    process, connection = _start("fork", _answer_once, function, arguments)
    result: Result = _received(connection)
    process.join()
    return result


def _start(method: Literal["spawn", "fork"], target: Callable[..., None], *given: Any) -> tuple[Any, Connection]:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *given))
    process.start()
    theirs.close()
    return process, ours


def _received(connection: Connection) -> Any:
    try:
        return connection.recv()
    except EOFError:
        raise RuntimeError("a child of the benchmark died; it said why above") from None


def _answer(connection: Connection) -> None:
    while True:
        try:
            function, arguments = connection.recv()
        except EOFError:
            return
        connection.send(function(*arguments))


def _answer_once(connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    connection.send(function(*arguments))

"""Calls functions in processes of their own: native tfprof allows one profiler a process, and keeps what it has read."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Literal, TypeVar

Result = TypeVar("Result")


def call(function: Callable[..., Result], *arguments: Any) -> Result:
    """What the function returns in a fresh interpreter."""
    return _call("spawn", function, *arguments)


def call_in_copy(function: Callable[..., Result], *arguments: Any) -> Result:
    """What the function returns in a copy of this process, which has all that this one has and leaves it as it is."""
    return _call("fork", function, *arguments)


def _call(method: Literal["spawn", "fork"], function: Callable[..., Result], *arguments: Any) -> Result:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_send_result, args=(theirs, function, arguments))
    process.start()
    theirs.close()
    try:
        result: Result = ours.recv()
    except EOFError:
        raise RuntimeError(f"{function.__name__} failed in its process; see above") from None
    finally:
        process.join()
    return result


def _send_result(connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    connection.send(function(*arguments))

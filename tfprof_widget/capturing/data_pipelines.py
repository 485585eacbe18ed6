"""Finds the functions that the stages of a dataset call, and the user's code behind generators and adapters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from types import CodeType, FunctionType, GeneratorType, MethodType
from typing import Any

from tfprof_widget.lib.text import is_of_library
from tfprof_widget.profiles.cell import CodeLine
from tfprof_widget.profiles.pipeline import DataFunction

MOST_LOOKED_AT, DEEPEST = 300, 8
"""So many objects behind a generator are looked at for the user's code."""

_PYTHON = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})


def stages_of(dataset: Any) -> Iterator[Any]:
    """A dataset and those before it, from that whose elements are taken to the sources.

    >>> list(stages_of(None))
    [None]
    """
    waiting, known = [dataset], set[int]()
    while waiting:
        each = waiting.pop(0)
        if id(each) not in known:
            known.add(id(each))
            yield each
            if each is not None:
                waiting += each._inputs()


def pipeline_of(dataset: Any, scopes: Mapping[str, str], names: Any, types: Any) -> tuple[DataFunction, ...]:
    """The functions of a dataset's stages, in the order of `stages_of`; only the first function of a stage counts.

    `scopes` are the scopes of functions by the runtime's names, which `names` gives; `types` gives the op types in a
    function's graph, and in those that it calls.
    """
    found = []
    for stage in stages_of(dataset):
        for wrapper in tuple(stage._functions())[:1]:
            kind = type(stage).__name__.strip("_").removesuffix("Dataset")
            code = users_code(wrapper._func)
            name = code.function if code is not None else getattr(wrapper._func, "__name__", "")
            is_python = not _PYTHON.isdisjoint(types(wrapper.function.graph)) or name == "flat_map_fn"
            scope = scopes.get(names(wrapper.function), "")
            found.append(DataFunction(kind, name, scope, code, is_python))
    return tuple(found)


def users_code(called: Any) -> CodeLine | None:
    """Where the user defined what is called: the function itself, or what an adapter of a library calls for it.

    >>> users_code(len) is None
    True
    """
    known: set[int] = set()
    waiting = [(called, 0)]
    while waiting and len(known) < MOST_LOOKED_AT:
        each, depth = waiting.pop(0)
        if id(each) in known:
            continue
        known.add(id(each))
        code = _code_of(each)
        if code is not None and not is_of_library(code.co_filename):
            name = type(each).__name__ if code.co_name == "__getitem__" else code.co_name
            return CodeLine(code.co_filename, code.co_firstlineno, name)
        if depth < DEEPEST:
            with suppress(Exception):  # objects may have odd attributes
                waiting += [(inner, depth + 1) for inner in _behind(each)]
    return None


def _code_of(found: Any) -> CodeType | None:
    """The code of a function, a generator, or of the method by which an object gives its items."""
    if isinstance(found, MethodType):
        found = found.__func__
    if isinstance(found, GeneratorType):
        return found.gi_code
    if isinstance(found, FunctionType):
        return found.__code__
    method = vars(type(found)).get("__getitem__")
    return method.__code__ if isinstance(method, FunctionType) else None


def _behind(found: Any) -> Iterator[Any]:
    """What a function or object refers to."""
    if isinstance(found, MethodType):
        yield found.__self__
        found = found.__func__
    if isinstance(found, partial):
        yield from (found.func, *found.args)
    elif isinstance(found, FunctionType):
        for cell in found.__closure__ or ():
            with suppress(ValueError):  # it is empty
                yield cell.cell_contents
    elif isinstance(found, GeneratorType):
        yield from found.gi_frame.f_locals.values() if found.gi_frame is not None else ()
    elif isinstance(found, list | tuple):
        yield from found[:10]
    elif not isinstance(found, str | bytes | int | float | type):
        yield from getattr(found, "__dict__", {}).values()

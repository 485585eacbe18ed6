"""Keeps the functions called while something is captured, and finds what they, and stages of tf.data, call in turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from itertools import chain, count
from pathlib import Path
from types import CodeType, FunctionType, GeneratorType, MethodType
from typing import Any
from weakref import WeakValueDictionary

from tfprof_widget.ingest.flops.operation import computes_nothing
from tfprof_widget.ingest.parts.names import data_scope
from tfprof_widget.lib.text import is_of_library
from tfprof_widget.profiles.cell import CodeLine, OwnCode
from tfprof_widget.profiles.program import DataFunction

TRACED_TIMES = "experimental_get_tracing_count"
"""The method of a tf.function that tells how often it was traced."""

MOST_PIPELINES = 20

REPEATING = frozenset({"While", "StatelessWhile", "For", "NextIteration", "ReduceDataset", "MapDefun"})
"""The types of ops that run others again and again, so that a function's graph does not tell how many ops will run."""


class CalledFunctions:
    """The functions called so far, by the names that the runtime has for them.

    They are kept until the capture is over: TensorFlow drops a function with the last reference to it. The functions
    that they call in turn are found in their graphs. Functions of datasets are kept only once they may be in a
    recording: each call of `predict` makes a dataset with functions of its own, which take half a megabyte.
    """

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        self._known: dict[str, Any] = {}
        self.pipelines: list[tuple[DataFunction, ...]] = []
        self._data: dict[str, Any] = {}
        self._unrecorded: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self._code: dict[str, Any] = {}
        self._repeats: dict[str, bool] = {}
        self._traced_times: dict[int, int] = {}

    def add(self, function: Any, label: str = "") -> str:
        """Keep a function (an AtomicFunction of TensorFlow's) and a label for it; returns its name."""
        text = _name_of(function)
        if text not in self._known:
            self._known[text] = function
            if label:
                self.labels[text] = label
        return text

    def add_of_data(self, dataset: Any, *, is_recorded: bool = True) -> None:
        """Take the functions that a dataset calls, such as that of a `map`; those of two places have two labels.

        They are kept if ops are recorded now, or once they will be while the dataset is there.
        """
        wrappers = [wrapper for stage in stages_of(dataset) for wrapper in stage._functions()]
        for wrapper in wrappers:
            function = wrapper.function
            name = _name_of(function)
            if name in self._data:
                continue
            (self._data if is_recorded else self._unrecorded)[name] = function
            if name in self.labels:
                continue
            code = getattr(wrapper._func, "__code__", wrapper._func)
            scope = data_scope(name)
            labels = chain([scope], (f"{scope}_{number}" for number in count(1)))
            self.labels[name] = next(label for label in labels if self._code.setdefault(label, code) is code)
        pipeline = pipeline_of(dataset, self.labels, _name_of, op_types)
        if pipeline not in self.pipelines and len(self.pipelines) < MOST_PIPELINES:
            self.pipelines.append(pipeline)

    def keep_data(self) -> None:
        """Keep the functions of all datasets that are there: from now on ops are recorded."""
        self._data.update(self._unrecorded)
        self._unrecorded.clear()

    def were_traced(self, function: Any) -> bool:
        """Whether a tf.function has been traced since this was last asked of it, or ever; False of what is none.

        >>> CalledFunctions().were_traced(len)
        False
        """
        try:  # not `suppress`, which takes longer than all of this
            times = int(getattr(function, TRACED_TIMES)())
        except Exception:
            return False
        before = self._traced_times.get(id(function), 0)
        self._traced_times[id(function)] = times
        return times != before

    def repeats(self, name: str) -> bool:
        """Whether the function of this name, which was added, or one that it calls, runs ops again and again."""
        if name not in self._repeats:
            self._repeats[name] = not REPEATING.isdisjoint(op_types(self._known[name].graph))
        return self._repeats[name]

    @property
    def compute(self) -> bool:
        """Whether any has an op that does something, and so should be found in a trace."""
        graphs = [function.graph for function in self._known.values()]
        return any(not computes_nothing(op.type) for graph in graphs for op in graph.get_operations())

    def told(self, kind_of: Mapping[str, str]) -> dict[str, Any]:
        """The fields of a profile that are about these functions: pipelines, and the signatures for `own_code`.

        A kind of steps has a signature if several functions were built for it; `kind_of` has the kinds of functions by
        the runtime's names.
        """
        built: dict[str, list[Any]] = {}
        for name, kind in kind_of.items():
            if name in self._known:
                built.setdefault(kind, []).append(self._known[name])
        found = {kind: signature_of(functions) for kind, functions in built.items() if len(functions) > 1}
        signatures = {kind: text for kind, text in found.items() if text}
        return {"pipelines": tuple(self.pipelines), "own_code": OwnCode(signatures=signatures)}

    def graphs(self, executed: AbstractSet[str]) -> list[tuple[str, Any]]:
        """The FuncGraphs of the functions of these names, in the order first called."""
        return [(name, function.graph) for name, function in self._known.items() if name in executed]

    def data_graphs(self) -> list[tuple[str, Any]]:
        """The FuncGraphs of the functions that datasets call, and that may have been recorded."""
        return [(name, function.graph) for name, function in self._data.items()]


def signature_of(functions: Sequence[Any]) -> str:
    """The argument for `tf.function` that lets one function stand for all these, as text; empty if there is none.

    Sizes that differ are None, and numbers of Python become tensors.

    >>> signature_of([])
    ''
    """
    try:
        calls = [list(function.function_type.parameters.values()) for function in functions]
        merged = [_merged([each.type_constraint for each in same]) for same in zip(*calls, strict=True)]
    except Exception:  # functions of other versions, or called with other arguments
        return ""
    return f"input_signature=[{', '.join(merged)}]" if merged and all(merged) else ""


def _merged(types: Sequence[Any]) -> str:
    """The tensor that all these types of an argument are, as text; empty if they are no tensors of one type."""
    values = [getattr(each, "value", None) for each in types]
    if all(type(each) is int for each in values):
        return "tf.TensorSpec([], tf.int32)"
    if all(type(each) in (int, float) for each in values):
        return "tf.TensorSpec([], tf.float32)"
    names = {type(each).__name__ for each in types}
    kinds = {each.dtype.name for each in types}
    ranks = {each.shape.rank for each in types}
    if names != {"TensorSpec"} or len(kinds) > 1:
        return ""
    if len(ranks) > 1 or None in ranks:
        return f"tf.TensorSpec(None, tf.{kinds.pop()})"
    sizes = (set(same) for same in zip(*(each.shape.as_list() for each in types), strict=True))
    shape = ", ".join(str(same.pop()) if len(same) == 1 else "None" for same in sizes)
    return f"tf.TensorSpec([{shape}], tf.{kinds.pop()})"


def _name_of(function: Any) -> str:
    name = function.name
    return name.decode() if isinstance(name, bytes) else str(name)


def op_types(graph: Any) -> Iterator[str]:
    """The type of each op of a graph, and of the functions that it calls.

    >>> list(op_types(None))
    []
    """
    waiting, known = [graph], set[int]()
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in known:
            continue
        known.add(id(each))
        yield from (operation.type for operation in each.get_operations())
        waiting += [getattr(function, "graph", None) for function in getattr(each, "_functions", {}).values()]


def free_name(name: str, function: Any, taken: Collection[str]) -> str:
    """The name of a function of Python's, or one that tells it from those that have it already.

    >>> free_name("f", None, {"f", "f (2)"})
    'f (3)'
    """
    candidates = chain([name], _names_with_line(name, function), (f"{name} ({number})" for number in count(2)))
    return next(candidate for candidate in candidates if candidate not in taken)


def _names_with_line(name: str, function: Any) -> Iterator[str]:
    """The name of a function of Python's with the line where it begins, which tells it from others of the name.

    Files of a notebook's cells have numbers for names, which tell nothing. What has no line gives no name.

    >>> list(_names_with_line("f", None))
    []
    """
    code = getattr(getattr(function, "python_function", None), "__code__", None)
    if code is not None:
        file = Path(code.co_filename)
        is_named = not file.stem.isdecimal() and not file.name.startswith("<")
        yield f"{name} ({file.name}:{code.co_firstlineno})" if is_named else f"{name} (line {code.co_firstlineno})"


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
    known = {id(called)}
    waiting = deque([(called, 0)])
    while waiting:
        each, depth = waiting.popleft()
        code = _code_of(each)
        if code is not None and not is_of_library(code.co_filename):
            name = type(each).__name__ if code.co_name == "__getitem__" else code.co_name
            return CodeLine(code.co_filename, code.co_firstlineno, name)
        if depth < DEEPEST:
            with suppress(Exception):  # objects may have odd attributes
                for inner in _behind(each):
                    if len(known) >= MOST_LOOKED_AT:
                        break
                    if id(inner) not in known:
                        known.add(id(inner))
                        waiting.append((inner, depth + 1))
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

"""Keeps the functions that are called while something is captured, and finds which ops they and what they call have."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from itertools import chain, count
from pathlib import Path
from typing import Any

from tfprof_widget.capturing.data_pipelines import pipeline_of, stages_of
from tfprof_widget.ingest.flops.operation import computes_nothing
from tfprof_widget.ingest.parts.names import data_scope
from tfprof_widget.profiles.pipeline import DataFunction

TRACED_TIMES = "experimental_get_tracing_count"
"""The method of a tf.function that tells how often it was traced."""

MOST_PIPELINES = 20

REPEATING = frozenset({"While", "StatelessWhile", "For", "NextIteration", "ReduceDataset", "MapDefun"})
"""The types of ops that run others again and again, so that a function's graph does not tell how many ops will run."""


class CalledFunctions:
    """The functions called so far, by the names that the runtime has for them.

    They are kept until the capture is over: TensorFlow drops a function with the last reference to it. The functions
    that they call in turn are found in their graphs.
    """

    def __init__(self) -> None:
        self.labels: dict[str, str] = {}
        self._known: dict[str, Any] = {}
        self.pipelines: list[tuple[DataFunction, ...]] = []
        self._data: dict[str, Any] = {}
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

    def add_of_data(self, dataset: Any) -> None:
        """Keep the functions that a dataset calls, such as that of a `map`; those of two places have two labels."""
        wrappers = [wrapper for stage in stages_of(dataset) for wrapper in stage._functions()]
        for wrapper in wrappers:
            function = wrapper.function
            name = _name_of(function)
            if name in self._data:
                continue
            self._data[name] = function
            code = getattr(wrapper._func, "__code__", wrapper._func)
            scope = data_scope(name)
            labels = chain([scope], (f"{scope}_{number}" for number in count(1)))
            self.labels[name] = next(label for label in labels if self._code.setdefault(label, code) is code)
        pipeline = pipeline_of(dataset, self.labels, _name_of, op_types)
        if pipeline not in self.pipelines and len(self.pipelines) < MOST_PIPELINES:
            self.pipelines.append(pipeline)

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

    def graphs(self, executed: AbstractSet[str]) -> list[tuple[str, Any]]:
        """The FuncGraphs of the functions of these names, in the order first called."""
        return [(name, function.graph) for name, function in self._known.items() if name in executed]

    def data_graphs(self) -> list[tuple[str, Any]]:
        """The FuncGraphs of the functions that datasets call."""
        return [(name, function.graph) for name, function in self._data.items()]


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

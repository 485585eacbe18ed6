"""Finds the variables that the graphs of live tf.functions capture, each once, under a name of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tfprof_widget.ingest.tf_graph import is_tf_graph


@dataclass(frozen=True)
class Variable:
    """A variable; its shape is None of unknown rank, and -1 an unknown dimension."""

    name: str
    shape: tuple[int, ...] | None
    is_trainable: bool


@dataclass
class Variables:
    """The variables met so far; two of one name get different ones.

    `names` are better names than TensorFlow's for some, by the identity of their handles.
    """

    names: Mapping[int, str] = field(default_factory=dict)
    known: dict[int, tuple[Any, Variable]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def captured_by(self, graph: Any) -> Iterator[tuple[Variable, str]]:
        """The variables that a FuncGraph captures, and the names of its inputs for them."""
        of_handle = {id(variable.handle): variable for variable in _living(graph) if hasattr(variable, "handle")}
        for captured, placeholder in graph.captures:
            variable = of_handle.get(id(captured))
            if variable is not None:
                yield self._variable(captured, variable), placeholder.op.name

    def _variable(self, handle: Any, variable: Any) -> Variable:
        found = self.known.get(id(handle))
        if found is None:
            # the handle is kept, so that no other gets its id
            found = self.known[id(handle)] = (handle, self._read(handle, variable))
        return found[1]

    def _read(self, handle: Any, variable: Any) -> Variable:
        name = base = self.names.get(id(handle)) or variable.name.partition(":")[0] or "variable"
        number = 0
        while name in self.taken:
            number += 1
            name = f"{base}_{number}"
        self.taken.add(name)
        rank = variable.shape.rank
        shape = None if rank is None else tuple(-1 if size is None else int(size) for size in variable.shape.as_list())
        return Variable(name, shape, bool(variable.trainable))


def captures_resources(graph: Any) -> bool:
    """Whether this is the graph of a function that takes variables, or other resources, from outside.

    >>> captures_resources("graph")
    False
    """
    captures = getattr(graph, "captures", ())
    return is_tf_graph(graph) and any(captured.dtype.name == "resource" for captured, _ in captures)


def _living(graph: Any) -> Iterator[Any]:
    """The variables of a FuncGraph that are still there: it keeps no hold of them."""
    for reference in getattr(graph, "_weak_variables", ()):
        variable = reference()
        if variable is not None:
            yield variable

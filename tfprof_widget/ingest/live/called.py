"""Finds the functions that ops call, and the names that ops of several functions and their inputs have."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tfprof_widget.ingest.live.graph import LiveGraph
from tfprof_widget.ingest.parts.names import python_name

DATASET = "Dataset"
"""The types of ops that make datasets, or run through one, have this in them."""
_MUST_COMPILE = "_XlaMustCompile"
_BODIES = {"body": "body", "cond": "cond", "then_branch": "then", "else_branch": "else", "branches": "branch"}

_IMPLEMENTS, _PREFERRED = "api_implements", "api_preferred_device"
_BACKWARD = "__inference___backward_"
_NUMBER = re.compile(r"_\d+$", re.ASCII)
_ROLES = (_BACKWARD, "__inference_", "__forward_")


@dataclass(frozen=True)
class CalledFunction:
    """A function that an op calls.

    If the function is one of several that do the same, such as those of Keras 2 for a layer `GRU`, `does` is the same
    text in all of them. Grappler takes one of them by the device, and does not inline it, so that its ops are executed
    without the name of the call. `executed` has the names of ops that are executed under other ones than the graph's.
    """

    name: str
    graph: Any
    does: str = ""
    executed: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_backward(self) -> bool:
        """Whether this computes the gradients of what another function computed."""
        return self.name.startswith(_BACKWARD)


def called_function(operation: Any, name: str) -> CalledFunction | None:
    """The function with this name that an op calls; of several that do the same, the one that Grappler takes."""
    holder = operation.graph
    while holder is not None and holder._get_function(name) is None:
        holder = getattr(holder, "outer_graph", None)
    found = None if holder is None else holder._get_function(name)
    graph = getattr(found, "graph", None)
    if graph is None:
        return None
    definition = _definition(found) if "PartitionedCall" in operation.type else None
    if definition is None or _IMPLEMENTS not in definition.attr:
        return CalledFunction(name, graph)
    taken = _taken(holder, definition)
    graph, definition = (graph, definition) if taken is None else (taken.graph, _definition(taken))
    does = definition.attr[_IMPLEMENTS].s.decode()
    return CalledFunction(definition.signature.name, graph, does, _names_in(definition, graph))


def _definition(function: Any) -> Any:
    return getattr(function, "cached_definition", None) or getattr(function, "definition", None)


def _taken(holder: Any, called: Any) -> Any | None:
    """The function that Grappler takes instead of the called one; None if it takes the called one."""
    config = sys.modules["tensorflow"].config
    device = b"GPU" if config.list_logical_devices("GPU") else b"CPU"
    if called.attr[_PREFERRED].s == device:
        return None
    role = _role(called.signature.name)
    for name, function in getattr(holder, "_functions", {}).items():
        definition = _definition(function) if _role(name) == role else None
        if definition is None or definition.attr[_IMPLEMENTS].s != called.attr[_IMPLEMENTS].s:
            continue
        if definition.attr[_PREFERRED].s == device and getattr(function, "graph", None) is not None:
            return function
    return None


def _role(name: str) -> str:
    return next((role for role in _ROLES if name.startswith(role)), "")


def _names_in(definition: Any, graph: Any) -> dict[str, str]:
    """The names in a function's definition of ops that have other names in its graph.

    An op that has the name of one of the function's results gets a number there.
    """
    names = {operation.name for operation in graph.get_operations()}
    added = [(node.name, node.op) for node in definition.node_def if node.name not in names]
    of_graph = {(_NUMBER.sub("", name), op): name for name, op in added}
    ops = [(operation.name, operation.type) for operation in graph.get_operations()]
    return {op[0]: of_graph[op] for op in ops if op in of_graph}


def called_names(node: Any) -> Iterator[tuple[str, str]]:
    """The functions that a node calls, by attribute; branches in a list also have a number."""
    for attribute in _BODIES | {"f": ""}:
        if attribute not in node.attr:
            continue
        value = node.attr[attribute]
        if value.HasField("func"):
            yield attribute, value.func.name
        for number, function in enumerate(value.list.func):
            yield f"{attribute}:{number}", function.name


def is_compiled(call: Any) -> bool:
    """Whether XLA compiles the function that an op calls."""
    return _MUST_COMPILE in call.attr and bool(call.attr[_MUST_COMPILE].b)


def body_name(attribute: str) -> str:
    """The prefix that the runtime gives to the names of a body's ops, without its number."""
    return _BODIES.get(attribute.partition(":")[0], attribute) + "/_/"


Claimed = dict[str, dict[str, str]]
"""For each executed name the functions that have it: what they do, and their names in Python."""


def common_scopes(graph: Any, function: str, read: Callable[[Any], LiveGraph]) -> dict[str, str]:
    """Scopes for executed names that ops of several functions have, because these are not inlined.

    A trace does not tell such ops apart, so that they are one node, in a scope that is named after the functions.
    `graph` is that of the function that calls them, which is named `function`; `read` reads a graph.
    """
    claimed: Claimed = {}
    _claim(graph, claimed, {}, read)
    if not claimed:
        return {}
    for node in read(graph).definition.node:
        if node.name in claimed and node.op != "Placeholder":
            claimed[node.name][""] = function
    shared = {name: sorted(set(functions.values())) for name, functions in claimed.items() if len(functions) > 1}
    return {name: "_or_".join(functions) for name, functions in shared.items()}


def _claim(graph: Any, claimed: Claimed, known: dict[int, Any], read: Callable[[Any], LiveGraph]) -> None:
    """Add the executed names of the ops of all called functions that are not inlined."""
    known[id(graph)] = graph
    live = read(graph)
    for node, operation in zip(live.definition.node, live.operations, strict=True):
        for _, name in called_names(node):
            called = called_function(operation, name) if DATASET not in node.op else None
            if called is None:
                continue
            for each in called.graph.get_operations() if called.does else ():
                if each.type != "Placeholder":
                    executed = called.executed.get(each.name, each.name)
                    claimed.setdefault(executed, {})[called.does] = python_name(called.name)
            if id(called.graph) not in known:
                _claim(called.graph, claimed, known, read)


def source_of(written: str, sources: Mapping[str, str]) -> str:
    """The source, in a graph of several functions, of the input `name`, `name:port` or `^name` in one of them.

    >>> source_of("x:1", {"x": "call/x"}), source_of("^x", {"x": "call/x:1"})
    ('call/x:1', '^call/x')
    """
    if written.startswith("^"):
        return "^" + sources.get(written[1:], written[1:]).partition(":")[0]
    found = sources.get(written)
    if found is not None:
        return found
    name, _, port = written.partition(":")
    found = sources.get(name, name)
    return f"{found.partition(':')[0]}:{port}" if port not in ("", "0") else found

"""Reads the graphs of live tf.functions into one graph named by layer, also ops in called functions and bodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tfprof_widget.ingest.live.graph import LiveGraph, is_tf_graph, read_tf_graph
from tfprof_widget.ingest.live.op_log import READING, Reading, live_op_log
from tfprof_widget.ingest.parts.names import (
    CALL,
    CALLS,
    NO_BETTER_NAMES,
    BetterNames,
    Layers,
    forward_nodes,
    python_name,
    scopes_of,
)
from tfprof_widget.ingest.parts.nodes import FunctionGraphs
from tfprof_widget.ingest.parts.stacks import NodeDetails, StackBuilder
from tfprof_widget.lib.errors import error_text
from tfprof_widget.lib.messages import NodeDef, SealedAttribute, SealedGraph, SealedNode
from tfprof_widget.profiles.options import TRAINABLE_VARIABLES


@dataclass(frozen=True)
class Variable:
    """A variable; its shape is None if the rank is unknown, and -1 is an unknown dimension."""

    name: str
    shape: tuple[int, ...] | None
    is_trainable: bool


@dataclass
class Variables:
    """The variables met so far; two with one name get different names.

    `names` has better names than TensorFlow's for some variables, by the identity of their handles.
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
            # the handle is kept alive, so that no other object gets its id
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
    """Whether this is the graph of a function that captures variables or other resources."""
    captures = getattr(graph, "captures", ())
    return is_tf_graph(graph) and any(captured.dtype.name == "resource" for captured, _ in captures)


def _living(graph: Any) -> Iterator[Any]:
    """The variables of a FuncGraph that are still alive: the graph does not keep them alive."""
    for reference in getattr(graph, "_weak_variables", ()):
        variable = reference()
        if variable is not None:
            yield variable


_MUST_COMPILE = "_XlaMustCompile"
_BODIES = {"body": "body", "cond": "cond", "then_branch": "then", "else_branch": "else", "branches": "branch"}
_BARE = frozenset({"gradients"})
_LARGEST_CONSTANT = 1000
_LEFT_OUT = {"Placeholder": "shape", "Const": "value"}


def read_functions(
    functions: Iterable[tuple[str, Any]],
    stacks: StackBuilder,
    better_names: BetterNames = NO_BETTER_NAMES,
    reading: Reading = READING,
) -> FunctionGraphs:
    """Read functions, given as the runtime's name and the FuncGraph; a note says what of one could not be read.

    An op keeps its name if it has a scope, such as a layer's. An op without a scope, in a function that others call, is
    put into a scope with the function's name; so is an op whose name another function uses for another op. Functions
    that a function calls directly get that function's better name too, if it has one. A variable is one node, however
    many functions use it.
    """
    reader = _Reader(stacks, better_names.functions, reading, variables=Variables(better_names.variables))
    reader.layers.add(better_names.layers)
    for name, graph in functions:
        with reader.losing_no_more_than(name):
            reader.read(name, graph)
    found = forward_nodes({node.name: node.op for node in reader.definition.node})
    reader.op_log.forward.update({name: of for name, of in found.items() if of in reader.op_log.stack})
    return FunctionGraphs(reader.definition, reader.op_log, reader.nodes, reader.layers, reader.compiled)


@dataclass(frozen=True)
class _Body:
    """A graph at one place where it is called: the prefix of its ops' executed names, and the caller's inputs.

    `scope` is the scope of ops without one. `owner` is the same for a function that was traced again. `label` names the
    functions that it calls; without it they have their own names. `bare` are names that belong to no layer: those of
    ops without a scope, in this graph and in the graphs of which it is a body.
    """

    graph: Any
    prefix: str
    scope: str
    owner: str
    label: str
    arguments: Mapping[str, str]
    bare: frozenset[str]
    scopes: frozenset[str] = frozenset()


@dataclass
class _Reader:
    """Grows the one graph."""

    stacks: StackBuilder
    labels: Mapping[str, str]
    reading: Reading
    definition: SealedGraph = field(default_factory=lambda: SealedGraph())
    op_log: NodeDetails = field(default_factory=NodeDetails)
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    taken: dict[str, tuple[str, str]] = field(default_factory=dict)
    variables: Variables = field(default_factory=Variables)
    layers: Layers = field(default_factory=Layers)
    read_before: dict[int, tuple[LiveGraph, NodeDetails]] = field(default_factory=dict)
    added: set[str] = field(default_factory=set)
    compiled: dict[str, frozenset[str]] = field(default_factory=dict)

    @contextmanager
    def losing_no_more_than(self, function: str) -> Iterator[None]:
        """Note an error that ends the reading of a function, and go on with the other functions."""
        try:
            yield
        except Exception as error:  # an error of TensorFlow
            self.reading.note(
                f"the graph of {python_name(function)} could not be read ({error_text(error)}): "
                "its ops have no layers, shapes and lines here"
            )

    def read(self, name: str, graph: Any) -> None:
        """Add a function that Python called."""
        label = self.labels.get(name, "")
        self.nodes[name] = {}
        captured = self._captured(graph)
        self.layers.add_variables(captured.values())
        owner = label or python_name(name)
        self._walk(_Body(graph, "", "", owner, label, captured, _BARE), self.nodes[name])
        itself = (CALL, owner)
        self.nodes[name][name] = next(
            node for node in _candidates(owner, owner) if self.taken.setdefault(node, itself) == itself
        )

    def _walk(self, body: _Body, nodes: dict[str, str]) -> dict[str, str]:
        """Add the ops of a graph, and of what they call; returns the name of each of its tensors in the one graph."""
        live, op_log = self._read_once(body.graph)
        names = [node.name for node in live.definition.node]
        bare = body.bare.union(name for name in names if "/" not in name)
        body = replace(body, scopes=body.scopes | scopes_of(names), bare=bare)
        sources = dict(body.arguments)
        for node, operation in zip(live.definition.node, live.operations, strict=True):
            if node.name in sources:
                continue
            executed = body.prefix + node.name
            inputs = [_source(each, sources) for each in node.input]
            called = dict(_called(node))
            if node.op in CALLS and "f" in called:
                sources |= self._walk_call(body, executed, operation, called["f"], inputs, nodes)
                continue
            display = self._named(node, body)
            nodes[executed] = sources[node.name] = display
            self._add(display, node, inputs, op_log)
            for attribute, function in called.items():
                given = inputs[1:] if attribute in ("then_branch", "else_branch") or "branch" in attribute else inputs
                self._walk_inner(body, executed + "/" + _body_name(attribute), operation, function, given, nodes, "")
        return sources

    def _walk_call(
        self, body: _Body, executed: str, operation: Any, function: str, inputs: list[str], nodes: dict[str, str]
    ) -> dict[str, str]:
        label = body.label or python_name(function)
        found = self._walk_inner(body, executed + "/", operation, function, inputs, nodes, label)
        if found is None:
            return {}
        nodes.setdefault(executed, label)
        if _is_compiled(operation.node_def):
            within = frozenset(node for each, node in nodes.items() if each.startswith(executed + "/"))
            self.compiled.setdefault(nodes[executed], within)
        graph, sources = found
        outputs = [_source(_written(tensor), sources) for tensor in graph.outputs]
        name = operation.name
        return {f"{name}:{slot}": source for slot, source in enumerate(outputs)} | (
            {name: outputs[0]} if outputs else {}
        )

    def _walk_inner(
        self,
        body: _Body,
        prefix: str,
        operation: Any,
        function: str,
        inputs: list[str],
        nodes: dict[str, str],
        label: str,
    ) -> tuple[Any, dict[str, str]] | None:
        graph = _graph_of(operation, function)
        if graph is None:
            return None
        given = [each for each in inputs if not each.startswith("^")]
        arguments = {tensor.op.name: source for tensor, source in zip(graph.inputs, given, strict=False)}
        bare = _BARE if label else body.bare
        inner = _Body(graph, prefix, label or body.scope, label or body.owner, "", arguments, bare)
        with self.losing_no_more_than(function):
            return graph, self._walk(inner, nodes)
        return None

    def _read_once(self, graph: Any) -> tuple[LiveGraph, NodeDetails]:
        found = self.read_before.get(id(graph))
        if found is None:
            live = read_tf_graph(graph)
            found = self.read_before[id(graph)] = (live, live_op_log(live, {}, self.stacks, self.reading))
        return found

    def _captured(self, graph: Any) -> dict[str, str]:
        """The nodes of captured variables, by the names of the function's inputs for them."""
        found = {}
        for variable, placeholder in self.variables.captured_by(graph):
            found[placeholder] = variable.name
            if variable.name in self.added:
                continue
            self.added.add(variable.name)
            self.taken[variable.name] = ("VarHandleOp", "")
            self.definition.node.append(_variable_node(variable))
            if variable.is_trainable:
                self.op_log.types[variable.name] = [TRAINABLE_VARIABLES]
        return found

    def _named(self, node: Any, body: _Body) -> str:
        """The name in the one graph of an op."""
        is_layers = node.name.partition("/")[0] not in body.bare
        name = self.layers.name(node.name, body.scopes)
        name = name if is_layers or not body.scope else f"{body.scope}/{name}"
        for candidate in _candidates(name, body.owner):
            kind, owner = self.taken.setdefault(candidate, (node.op, body.owner))
            if kind == node.op and (is_layers or owner == body.owner):
                return candidate
        raise AssertionError("candidates never end")

    def _add(self, name: str, node: Any, inputs: Sequence[str], op_log: NodeDetails) -> None:
        if name in self.added:
            return
        self.added.add(name)
        added = SealedNode.FromString(node.SerializeToString(deterministic=True))
        added.name = name
        added.input[:] = inputs
        if node.op in _LEFT_OUT:
            kept = [each for each in added.attr if not _is_left_out(node.op, each)]
            added.attr[:] = kept
        self.definition.node.append(added)
        original = node.name
        if original in op_log.float_ops:
            self.op_log.float_ops[name] = op_log.float_ops[original]
        if original in op_log.stack:
            self.op_log.stack[name] = op_log.stack[original]


def _is_left_out(op: str, sealed: bytes) -> bool:
    """Whether an attribute is useless or harmful: the shape of a placeholder would count as parameters."""
    attribute = SealedAttribute.FromString(sealed)
    return attribute.key == _LEFT_OUT[op] and (op != "Const" or len(attribute.value) > _LARGEST_CONSTANT)


def _variable_node(variable: Variable) -> SealedNode:
    node = NodeDef(name=variable.name, op="VarHandleOp")
    shape = node.attr["shape"].shape
    shape.unknown_rank = variable.shape is None
    for size in variable.shape or ():
        shape.dim.add(size=size)
    return SealedNode.FromString(node.SerializeToString())


def _candidates(name: str, owner: str) -> Iterator[str]:
    yield name
    yield f"{owner}/{name}"
    number = 1
    while True:
        yield f"{owner}/{name}_{number}"
        number += 1


def _called(node: Any) -> Iterator[tuple[str, str]]:
    """The functions that a node calls, by attribute; branches in a list also have a number."""
    for attribute in _BODIES | {"f": ""}:
        if attribute not in node.attr:
            continue
        value = node.attr[attribute]
        if value.HasField("func"):
            yield attribute, value.func.name
        for number, function in enumerate(value.list.func):
            yield f"{attribute}:{number}", function.name


def _is_compiled(call: Any) -> bool:
    return _MUST_COMPILE in call.attr and bool(call.attr[_MUST_COMPILE].b)


def _body_name(attribute: str) -> str:
    """The prefix that the runtime gives to the names of a body's ops, without its number."""
    return _BODIES.get(attribute.partition(":")[0], attribute) + "/_/"


def _graph_of(operation: Any, function: str) -> Any | None:
    graph = operation.graph
    while graph is not None:
        found = graph._get_function(function)
        if found is not None:
            return getattr(found, "graph", None)
        graph = getattr(graph, "outer_graph", None)
    return None


def _written(tensor: Any) -> str:
    return f"{tensor.op.name}:{tensor.value_index}"


def _source(written: str, sources: Mapping[str, str]) -> str:
    """The input in the one graph for the input `name`, `name:port` or `^name` of a graph."""
    if written.startswith("^"):
        return "^" + sources.get(written[1:], written[1:]).partition(":")[0]
    found = sources.get(written)
    if found is not None:
        return found
    name, _, port = written.partition(":")
    found = sources.get(name, name)
    return f"{found.partition(':')[0]}:{port}" if port not in ("", "0") else found

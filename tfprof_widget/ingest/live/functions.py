"""Reads the graphs of live tf.functions into one graph named by layer, also ops in called functions and bodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import inf
from types import MappingProxyType
from typing import Any

from tfprof_widget.ingest.live.called import (
    DATASET,
    CalledFunction,
    body_name,
    called_function,
    called_names,
    common_scopes,
    is_compiled,
    source_of,
)
from tfprof_widget.ingest.live.graph import LiveGraph, Variables, read_tf_graph
from tfprof_widget.ingest.live.op_log import READING, Reading, live_op_log
from tfprof_widget.ingest.parts.names import (
    CALL,
    CALLS,
    NO_BETTER_NAMES,
    TAPE,
    BetterNames,
    Layers,
    data_scope,
    forward_nodes,
    python_name,
    scopes_of,
)
from tfprof_widget.ingest.parts.nodes import FunctionGraphs, defined_as
from tfprof_widget.ingest.parts.stacks import NodeDetails, StackBuilder
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.errors import error_text
from tfprof_widget.lib.messages import SealedGraph, SealedNode
from tfprof_widget.profiles.options import TRAINABLE_VARIABLES

_BARE = frozenset({"gradients"})


def read_functions(
    functions: Iterable[tuple[str, Any]],
    stacks: StackBuilder,
    better_names: BetterNames = NO_BETTER_NAMES,
    reading: Reading = READING,
    data_functions: Iterable[tuple[str, Any]] = (),
    costs: Mapping[str, float] = MappingProxyType({}),
) -> FunctionGraphs:
    """Read functions, given as the runtime's name and the FuncGraph; a note says what of one could not be read.

    An op keeps its name if it has a scope, such as a layer's. An op without a scope, in a function that others call, is
    put into a scope with the function's name; so is an op whose name another function uses for another op. Functions
    that a function calls directly get that function's better name too, if it has one. A variable is one node, however
    many functions use it; any other node that several use is as in the costliest, by `costs`. All ops of
    `data_functions`, and of functions of datasets in a function, are in the scope `tf.data`, each in a scope with the
    function's name.
    """
    reader = _Reader(stacks, better_names.functions, reading, costs, variables=Variables(better_names.variables))
    reader.layers.add(better_names.layers)
    for name, graph in functions:
        with reader.losing_no_more_than(name):
            reader.read(name, graph)
    for name, graph in data_functions:
        with reader.losing_no_more_than(name):
            reader.read_data_function(name, graph)
    definition, op_log = reader.definition(), reader.op_log
    known = {node.name: node for node in definition.node}
    found = forward_nodes({node.name: node.op for node in definition.node})
    found |= {name: version.forward for name, version in reader.versions.items() if version.forward}
    op_log.forward.update({name: of for name, of in found.items() if of in op_log.stack})
    return FunctionGraphs(
        definition,
        op_log,
        reader.nodes,
        reader.layers,
        reader.compiled,
        reader.data,
        reader.mixed,
        {name: reader.elsewhere(versions) for name, versions in reader.of_function.items()},
        {name: reader.otherwise(versions, known) for name, versions in reader.of_function.items()},
    )


@dataclass
class _Version:
    """A node as it is in one function, in which the op times add up to `cost`; `forward` is its forward node there."""

    cost: float
    node: Any
    inputs: Sequence[str]
    op_log: NodeDetails
    forward: str = ""


@dataclass(frozen=True)
class _Body:
    """A graph at one place where it is called: the prefix of its ops' executed names, and the caller's inputs.

    `scope` is the scope of ops without one. `owner` is the same for a function that was traced again. `label` names the
    functions that it calls; without it they have their own names. `bare` are names that belong to no layer: those of
    ops without a scope, in this graph and in the graphs of which it is a body; in a body that `is_closed`, such as a
    function of `tf.data`, all names are such. `executed` has the names of ops that are executed under other ones.
    `common` has scopes for ops that are executed under a name that ops of other functions have too; in a body that
    `is_shared` all ops are such.
    """

    graph: Any
    prefix: str
    scope: str
    owner: str
    label: str
    arguments: Mapping[str, str]
    bare: frozenset[str]
    scopes: frozenset[str] = frozenset()
    is_closed: bool = False
    executed: Mapping[str, str] = field(default_factory=dict)
    common: Mapping[str, str] = field(default_factory=dict)
    is_shared: bool = False


@dataclass
class _Reader:
    """Grows the one graph."""

    stacks: StackBuilder
    labels: Mapping[str, str]
    reading: Reading
    costs: Mapping[str, float]
    op_log: NodeDetails = field(default_factory=NodeDetails)
    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    data: dict[str, dict[str, str]] = field(default_factory=dict)
    taken: dict[str, tuple[str, str]] = field(default_factory=dict)
    variables: Variables = field(default_factory=Variables)
    layers: Layers = field(default_factory=Layers)
    read_before: dict[int, tuple[LiveGraph, NodeDetails, dict[str, str]]] = field(default_factory=dict)
    versions: dict[str, _Version] = field(default_factory=dict)
    of_function: dict[str, dict[str, _Version]] = field(default_factory=dict)
    own: dict[str, _Version] = field(default_factory=dict)
    compiled: dict[str, frozenset[str]] = field(default_factory=dict)
    cost: float = 0.0
    common: Mapping[str, str] = field(default_factory=dict)
    shared: dict[str, tuple[Any, int]] = field(default_factory=dict)
    mixed: set[str] = field(default_factory=set)
    float_ops: dict[str, set[int]] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

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
        self.own = self.of_function[name] = {}
        self.cost = self.costs.get(name, 0.0)
        captured = self._captured(graph)
        self.layers.add_variables(captured.values())
        owner = label or python_name(name)
        self.common = common_scopes(graph, python_name(name), lambda each: self._read_once(each)[0])
        self.places = {}
        self._walk(_Body(graph, "", "", owner, label, captured, _BARE, common=self.common), self.nodes[name])
        itself = (CALL, owner)
        self.nodes[name][name] = next(
            node for node in _candidates(owner, owner) if self.taken.setdefault(node, itself) == itself
        )

    def read_data_function(self, name: str, graph: Any) -> None:
        """Add a function that `tf.data` calls."""
        if name in self.data:
            return
        self.data[name] = {}
        self.own = {}
        self.cost = self.costs.get(name, self.cost)
        scope = self.labels.get(name) or data_scope(name)
        self.common, self.places = {}, {}
        self._walk(_Body(graph, "", scope, scope, "", self._captured(graph), _BARE, is_closed=True), self.data[name])

    def _walk(self, body: _Body, nodes: dict[str, str]) -> dict[str, str]:
        """Add the ops of a graph, and of what they call; returns the name of each of its tensors in the one graph."""
        live, op_log, forward = self._read_once(body.graph)
        names = [node.name for node in live.definition.node]
        bare = body.bare.union(name for name in names if "/" not in name)
        body = replace(body, scopes=body.scopes | scopes_of(names), bare=bare)
        sources = dict(body.arguments)
        for node, operation in zip(live.definition.node, live.operations, strict=True):
            if node.name in sources:
                continue
            own_name = body.executed.get(node.name, node.name)
            executed = body.prefix + own_name
            if own_name in body.common:
                scope = body.common[own_name]
                place = replace(body, scope=scope, owner=scope, is_closed=True, is_shared=True)
            else:
                place = body
            inputs = [source_of(each, sources) for each in node.input]
            called = dict(called_names(node))
            if node.op in CALLS and "f" in called:
                sources |= self._walk_call(place, executed, operation, called["f"], inputs, nodes)
                continue
            display = self._named(node, place)
            nodes[executed] = sources[node.name] = display
            self._add(display, node, inputs, op_log)
            if place.is_shared:
                self._share(display, operation, op_log.stack.get(node.name, ABSENT))
            for attribute, function in called.items():
                if DATASET in node.op:
                    self._read_data_of(operation, function)
                    continue
                given = inputs[1:] if attribute in ("then_branch", "else_branch") or "branch" in attribute else inputs
                inner = executed + "/" + body_name(attribute)
                self._walk_inner(place, inner, called_function(operation, function), given, nodes, "")
        # Names are those in this graph: another function's node may have the name that a gradient is named after.
        for name, of in forward.items():
            version = self.own.get(sources.get(name, ""))
            if version is not None and version.op_log is op_log:
                version.forward = sources.get(of, "")
        return sources

    def _read_data_of(self, operation: Any, function: str) -> None:
        """Add the function of a dataset that is made in a graph."""
        called = called_function(operation, function)
        if called is not None:
            around = self.own, self.cost, self.common, self.places
            with self.losing_no_more_than(function):
                self.read_data_function(function, called.graph)
            self.own, self.cost, self.common, self.places = around

    def _walk_call(
        self, body: _Body, executed: str, operation: Any, function: str, inputs: list[str], nodes: dict[str, str]
    ) -> dict[str, str]:
        called = called_function(operation, function)
        if called is None:
            return {}
        around = f"{body.scope}/" if body.is_closed else ""
        if called.does:
            scope = self.layers.name(operation.name, body.scopes).rpartition("/")[0]
            place = self.places.setdefault(called.does, around + (f"{scope}/" if scope else ""))
            label = (TAPE if called.is_backward else "") + place + python_name(called.name)
        else:
            label = body.label or around + python_name(function)
        found = self._walk_inner(body, executed + "/", called, inputs, nodes, label)
        if found is None:
            return {}
        if called.does:
            self._add(label, operation.node_def, inputs, self._read_once(body.graph)[1])
            within = [name for name in nodes if name.startswith(executed + "/")]
            for name in within:
                nodes.setdefault(name.removeprefix(executed + "/"), nodes[name])
        nodes.setdefault(executed, label)
        if is_compiled(operation.node_def):
            compiled = frozenset(node for each, node in nodes.items() if each.startswith(executed + "/"))
            self.compiled.setdefault(nodes[executed], compiled)
        outputs = [source_of(f"{tensor.op.name}:{tensor.value_index}", found) for tensor in called.graph.outputs]
        name = operation.name
        return {f"{name}:{slot}": source for slot, source in enumerate(outputs)} | (
            {name: outputs[0]} if outputs else {}
        )

    def _walk_inner(
        self,
        body: _Body,
        prefix: str,
        called: CalledFunction | None,
        inputs: list[str],
        nodes: dict[str, str],
        label: str,
    ) -> dict[str, str] | None:
        """Add the ops of a called function or a body; `label` is the scope of a function's ops that have none."""
        if called is None:
            return None
        given = [each for each in inputs if not each.startswith("^")]
        arguments = {tensor.op.name: source for tensor, source in zip(called.graph.inputs, given, strict=False)}
        bare = _BARE if label else body.bare
        scope, owner = label or body.scope, label or body.owner
        is_closed = body.is_closed or bool(called.does)
        common = self.common if called.does else {}
        inner = _Body(called.graph, prefix, scope, owner, "", arguments, bare, is_shared=body.is_shared)
        inner = replace(inner, is_closed=is_closed, executed=called.executed, common=common)
        with self.losing_no_more_than(called.name):
            return self._walk(inner, nodes)
        return None

    def _read_once(self, graph: Any) -> tuple[LiveGraph, NodeDetails, dict[str, str]]:
        """A graph with its op log, and the forward node of each gradient in it."""
        found = self.read_before.get(id(graph))
        if found is None:
            live = read_tf_graph(graph)
            forward = forward_nodes({node.name: node.op for node in live.definition.node})
            found = self.read_before[id(graph)] = (live, live_op_log(live, {}, self.stacks, self.reading), forward)
        return found

    def _captured(self, graph: Any) -> dict[str, str]:
        """The nodes of captured variables, by the names of the function's inputs for them."""
        found = {}
        for variable, placeholder in self.variables.captured_by(graph):
            found[placeholder] = variable.name
            if variable.name in self.versions:
                continue
            self.versions[variable.name] = _Version(inf, variable.node(), (), NodeDetails())
            self.taken[variable.name] = ("VarHandleOp", "")
            if variable.is_trainable:
                self.op_log.types[variable.name] = [TRAINABLE_VARIABLES]
        return found

    def _named(self, node: Any, body: _Body) -> str:
        """The name in the one graph of an op."""
        is_layers = not body.is_closed and node.name.partition("/")[0] not in body.bare
        name = self.layers.name(node.name, body.scopes)
        name = name if is_layers or not body.scope else f"{body.scope}/{name}"
        for candidate in _candidates(name, body.owner):
            kind, owner = self.taken.setdefault(candidate, (node.op, body.owner))
            if kind == node.op and (is_layers or owner == body.owner):
                return candidate
        raise AssertionError("candidates never end")

    def _add(self, name: str, node: Any, inputs: Sequence[str], op_log: NodeDetails) -> None:
        """Add a node; of several functions that have it, it is as in the costliest."""
        if name in self.own:
            return
        version = self.own[name] = _Version(self.cost, node, inputs, op_log)
        self.float_ops.setdefault(name, set()).add(op_log.float_ops.get(node.name, 0))
        known = self.versions.get(name)
        if known is None or self.cost > known.cost:
            self.versions[name] = version

    def _share(self, name: str, operation: Any, stack: int) -> None:
        """Keep what ops that are one node have in common: their shapes, and the outer frames of their stacks."""
        shapes = [str(tensor.shape) for tensor in (*operation.inputs, *operation.outputs)]
        known, outer = self.shared.get(name, (shapes, stack))
        if known != shapes:
            self.mixed.add(name)
        self.shared[name] = (shapes, self.stacks.common(outer, stack))

    def elsewhere(self, versions: Mapping[str, _Version]) -> dict[str, tuple[int, str]]:
        """The stack and the forward node of each node that a function made elsewhere than the op log says."""
        stack, forward = self.op_log.stack, self.op_log.forward
        found = {}
        for name, version in versions.items():
            if version is not self.versions[name] and name not in self.shared:
                place = version.op_log.stack.get(version.node.name, ABSENT), version.forward or forward.get(name, "")
                if place != (stack.get(name, ABSENT), forward.get(name, "")):
                    found[name] = place
        return found

    def otherwise(self, versions: Mapping[str, _Version], known: Mapping[str, SealedNode]) -> list[SealedNode]:
        """The nodes that a function defines otherwise than the known ones, which are those of the one graph."""
        others = (name for name, version in versions.items() if version is not self.versions[name])
        found = (self._defined(name, versions[name]) for name in others if name not in self.mixed)
        return [node for node in found if node != known[node.name]]

    def _defined(self, name: str, version: _Version) -> SealedNode:
        """A node of one function as a node of the one graph; little of it is kept if it stands for unlike ops."""
        is_mixed = name in self.mixed
        return defined_as(name, version.node, () if is_mixed else version.inputs, has_attributes=not is_mixed)

    def definition(self) -> SealedGraph:
        """The one graph; what is known of its nodes is added to the op log.

        What TensorFlow counts of a node is taken if it counts the same in all functions.
        """
        found = SealedGraph()
        for name, version in self.versions.items():
            node, op_log = version.node, version.op_log
            found.node.append(self._defined(name, version))
            if node.name in op_log.float_ops and name not in self.mixed and len(self.float_ops[name]) == 1:
                self.op_log.float_ops[name] = op_log.float_ops[node.name]
            stack = self.shared[name][1] if name in self.shared else op_log.stack.get(node.name, ABSENT)
            if stack != ABSENT:
                self.op_log.stack[name] = stack
        return found


def _candidates(name: str, owner: str) -> Iterator[str]:
    yield name
    yield f"{owner}/{name}"
    number = 1
    while True:
        yield f"{owner}/{name}_{number}"
        number += 1

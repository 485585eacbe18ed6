"""Tells which nodes belong to the forward pass, to the backward pass and to the update of variables."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.engine.code import forward_name
from tfprof_widget.lib.arrays import ABSENT, Flags, Integers
from tfprof_widget.profiles.data import ProfileData, lists_taken
from tfprof_widget.profiles.program import BACKWARD, INPUT, TRANSFERS, UPDATE
from tfprof_widget.profiles.tables import Lists

TAPE = "gradient_tape/"
_OF_BACKWARD = re.compile(rf"{TAPE}|(^|/)gradients(_\d+)?/")
_APPLIES = re.compile(r"(Resource)?(Sparse)?Apply\w+")
_ASSIGNS = re.compile(rf"{_APPLIES.pattern}|Assign\w*|(Resource)?Scatter(Nd)?(Update|Add|Sub|Mul|Div|Min|Max)")
_READS = re.compile("ReadVariableOp|ResourceGather(Nd)?")
_IDLE = re.compile("NoOp")
_VARIABLES = re.compile(r"VarHandleOp|Variable(V2)?|TemporaryVariable")
_INPUT = re.compile(r".*IteratorGetNext\w*|.*Queue(TryDequeue|Dequeue)\w*|Reader(Read|ReadUpTo)(V2)?")
_TRANSFERS = re.compile(
    r"(?i).*memcpy.*|Copy(Host)?|_(Host)?(Send|Recv)(V2)?|_?Xla(Send|Recv).*|Recv\w*"
    r"|Collective\w+|_?Nccl\w+|Horovod\w+|(m?n|r)ccl\w*.*"
    r"|(all-reduce|all-gather|reduce-scatter|all-to-all|collective-(permute|broadcast)|ragged-all-to-all)"
    r"(-start|-done)?(\.\d+)?|(copy-(start|done)|(send|recv)(-done)?|infeed|outfeed)(\.\d+)?"
)
DATA_SCOPE = "tf.data/"


@dataclass(frozen=True, eq=False)
class GraphRoles:
    """The passes of a graph as flags over its nodes, and the edges of the graph, with those of control.

    `needed` marks what the backward pass depends on: the forward pass with the loss, but not metrics.

    >>> from tfprof_widget.demo import demo_profile
    >>> roles = GraphRoles.of(demo_profile())
    >>> int(roles.backward.sum()), int(roles.update.sum())
    (32, 5)
    """

    profile: ProfileData
    backward: Flags
    needed: Flags
    update: Flags
    sources: Lists
    consumers: Lists

    @classmethod
    def of(cls, profile: ProfileData) -> GraphRoles:
        """The passes of a profile's graph, which are found once."""
        return profile.cache.kept("roles", lambda: _passes(profile))

    @cached_property
    def assigns(self) -> Flags:
        """The nodes that change variables."""
        return of_types(self.profile, _ASSIGNS)

    @cached_property
    def reads(self) -> Flags:
        """The nodes that read variables."""
        return of_types(self.profile, _READS)

    @cached_property
    def idle(self) -> Flags:
        """The nodes that only wait for others."""
        return of_types(self.profile, _IDLE)

    @cached_property
    def variables(self) -> Flags:
        """The nodes that are variables."""
        return of_types(self.profile, _VARIABLES)

    @cached_property
    def forward(self) -> dict[int, int]:
        """The forward node of each node of the backward pass of which it is known.

        It is that of the traces, or the one that the name tells, or that of which the node takes the output, as a
        `ReluGrad` takes that of its `Relu`.
        """
        nodes, told = self.profile.nodes, self.profile.traces.forward
        row_of = {name: row for row, name in enumerate(nodes.names)}
        found: dict[int, int] = {}
        for node in np.flatnonzero(self.backward).tolist():
            of = told.get(node, ABSENT)
            if of in (ABSENT, node):
                of = row_of.get(forward_name(nodes.names[node]) or "", ABSENT)
            if of in (ABSENT, node):
                op = nodes.ops[nodes.op[node]]
                taken = (each for each in self.sources[node].tolist() if not self.backward[each])
                of = next((each for each in taken if op.startswith(nodes.ops[nodes.op[each]])), ABSENT)
            if of not in (ABSENT, node):
                found[node] = of
        return found

    def reached(self, start: Flags, edges: Lists, entered: Flags) -> Flags:
        """The nodes that can be reached from some, without these, through nodes that may be entered."""
        open_nodes, found = entered & ~start, np.zeros(len(start), np.bool_)
        frontier = np.flatnonzero(start)
        while len(frontier):
            beside = lists_taken(edges, frontier).values
            frontier = np.unique(beside[open_nodes[beside]])
            found[frontier], open_nodes[frontier] = True, False
        return found

    def codes(self) -> NDArray[np.int8]:
        """The place of each node in ROLES."""
        nodes = self.profile.nodes
        code = np.zeros(len(nodes), np.int8)
        code[self.backward], code[self.update] = BACKWARD, UPDATE
        code[of_types(self.profile, _TRANSFERS)] = TRANSFERS
        is_data = np.array([name.startswith(DATA_SCOPE) for name in nodes.names], np.bool_)
        code[of_types(self.profile, _INPUT) | is_data] = INPUT
        return code


def of_types(profile: ProfileData, types: re.Pattern[str]) -> Flags:
    """Whether the op type of each node matches."""
    ops = np.array([types.fullmatch(op) is not None for op in profile.nodes.ops], np.bool_)
    return ops[profile.nodes.op] if len(ops) else np.zeros(len(profile.nodes), np.bool_)


def _passes(profile: ProfileData) -> GraphRoles:
    count, inputs = len(profile.nodes), profile.nodes.inputs
    taker = np.repeat(np.arange(count), np.diff(inputs.start))
    is_known = inputs.values >= 0
    source, taker = inputs.values[is_known].astype(np.int64), taker[is_known]
    none = np.zeros(count, np.bool_)
    graph = GraphRoles(profile, none, none, none, _grouped(taker, source, count), _grouped(source, taker, count))
    backward = np.array([_OF_BACKWARD.search(name) is not None for name in profile.nodes.names], np.bool_)
    backward[[node for node, of in profile.traces.forward.items() if node != of]] = True
    backward &= ~graph.variables
    if not backward.any():
        return replace(graph, update=of_types(profile, _APPLIES))
    needed = graph.reached(backward, graph.sources, ~backward)
    # Sums of gradients have names of their own. What reads a variable depends on what assigned it only by control.
    ends = graph.assigns | graph.reads | graph.variables | graph.idle
    summed = needed & graph.reached(backward, graph.consumers, ~ends)
    graph = replace(graph, backward=backward | summed, needed=needed & ~summed)
    return replace(graph, update=_update(graph))


def _grouped(owner: Integers, values: Integers, count: int) -> Lists:
    """The values of each owner."""
    order = np.argsort(owner, kind="stable")
    return Lists(np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))]), values[order])


def _update(graph: GraphRoles) -> Flags:
    """What makes variables of gradients, what is there for its sake alone, and the assigning of what it reads."""
    stops = graph.backward | graph.needed | graph.variables | graph.idle
    after = graph.reached(graph.backward, graph.consumers, ~stops)
    assigned = (after & graph.assigns) | of_types(graph.profile, _APPLIES)
    update: Flags = assigned | graph.reached(assigned, graph.sources, after)
    while True:
        before = int(update.sum())
        _add_what_only_it_takes(graph, update, stops)
        own = _own_variables(graph, update)
        assigning = np.flatnonzero(graph.assigns & ~stops)
        taken = lists_taken(graph.sources, assigning)
        owner = np.repeat(assigning, np.diff(taken.start))
        update[owner[own[taken.values]]] = True
        if int(update.sum()) == before:
            return update | own


def _add_what_only_it_takes(graph: GraphRoles, update: Flags, stops: Flags) -> None:
    """Add the nodes all of whose consumers belong to the update, however many such nodes follow each other."""
    new = np.flatnonzero(update)
    while len(new):
        near = np.unique(lists_taken(graph.sources, new).values)
        near = near[~(update | stops)[near]]
        consumers = lists_taken(graph.consumers, near)
        owner = np.repeat(np.arange(len(near)), np.diff(consumers.start))
        others = np.bincount(owner[~(update | graph.idle)[consumers.values]], minlength=len(near))
        new = near[others == 0]
        update[new] = True


def _own_variables(graph: GraphRoles, update: Flags) -> Flags:
    """The variables that the update reads and the forward pass does not."""
    found = np.zeros(len(update), np.bool_)
    for variable in np.flatnonzero(graph.variables).tolist():
        readers = graph.consumers[variable]
        taking = lists_taken(graph.consumers, readers[graph.reads[readers]]).values
        found[variable] = (update[readers].any() or update[taking].any()) and not graph.needed[readers].any()
    return found

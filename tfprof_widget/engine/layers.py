"""Builds the tree of the layers view: layers of models, modules or scopes, and rows for nodes without a layer."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property

import numpy as np

from tfprof_widget.engine.measures import Measures
from tfprof_widget.engine.roles import DATA_SCOPE, TAPE, GraphRoles, of_types
from tfprof_widget.engine.tree import ROOT_NAME, Tree, prefix_sums
from tfprof_widget.lib.arrays import ABSENT, Flags, Floats, Integers
from tfprof_widget.lib.text import is_of_library
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import PASSES
from tfprof_widget.profiles.program import INPUT, UPDATE, ModelLayer, NodeLayers

NO_LAYER = "no layer"
OUTSIDE = ("loss", "metrics", "input", "optimizer", "other")
"""The rows for nodes that belong to no layer."""
_LOSS, _METRICS, _OF_INPUT, _OPTIMIZER, _OTHER = range(len(OUTSIDE))

WHOLE = 0.9
"""A scope with so large a part of the forward pass is not one of its layers."""

SCOPE = "scope"
"""The type of an outermost scope, which is a row in graphs without known layers."""

_DATA = re.compile(r".*(Iterator|Dataset|Queue).*|_(Arg|Retval)")
_GRADIENTS = re.compile(r"/gradients(_\d+)?/")
_REPLICA = re.compile(r"(^|/)replica_\d+/")
_CONTROL = re.compile(r"((while|cond)(_\d+)?/)+")
"""The scopes of a loop or condition that is around a model."""

_NO_SCOPES = ("eager", DATA_SCOPE.rstrip("/"))
_SEVERAL = -2


def node_layers(profile: ProfileData) -> NodeLayers:
    """The layer and role of each node: stored in the profile, or else found by names and edges.

    >>> from tfprof_widget.demo import demo_profile
    >>> found = node_layers(demo_profile())
    >>> found.names[:2], found.types[0], found.names[-4:]
    (('layer1', 'layer2'), 'scope', ('no layer', 'loss', 'optimizer', 'other'))
    """
    return profile.node_layers or profile.cache.kept("node layers", lambda: _Finder(profile).found())


class _InOrder(Tree):
    """A tree whose order by name is the order of its places."""

    @cached_property
    def name_rank(self) -> Integers:
        """The position of each place."""
        return np.arange(len(self))


def layers_tree(profile: ProfileData) -> Tree:
    """The tree of layers in the order of the model."""
    found = node_layers(profile)
    row = found.layer + 1
    order = np.argsort(row, kind="stable")
    return _InOrder(
        names=(ROOT_NAME, *found.names),
        parent=np.concatenate([[ABSENT], found.parent + 1]).astype(np.int32),
        rows=order.astype(np.int32),
        row_start=prefix_sums(np.bincount(row, minlength=len(found.names) + 1)),
    )


def with_passes(profile: ProfileData, found: Measures) -> Measures:
    """The measures with the time of each pass.

    >>> from tfprof_widget.demo import demo_profile
    >>> from tfprof_widget.engine.measures import measures
    >>> from tfprof_widget.profiles.options import Options
    >>> demo = demo_profile()
    >>> found = with_passes(demo, measures(demo, Options.of()))
    >>> {name: int(found.columns[name].sum()) for name in PASSES}
    {'forward_micros': 109836, 'backward_micros': 145228, 'update_micros': 65738}
    """
    role, micros = node_layers(profile).role, found.columns["micros"]
    passes = {name: np.where(role == code, micros, 0) for code, name in enumerate(PASSES)}
    return replace(found, columns={**found.columns, **passes})


class _Finder:
    """Finds the layer of each node."""

    def __init__(self, profile: ProfileData) -> None:
        self.profile = profile
        self.names = profile.nodes.names
        self.roles = GraphRoles.of(profile)
        self.code = self.roles.codes()
        self.layers = profile.model_layers or tuple(self._scopes())
        self.place = {layer.path: place for place, layer in enumerate(self.layers)}
        self._known: dict[str, int] = {"": ABSENT}

    def found(self) -> NodeLayers:
        """The rows and columns."""
        layer = np.array([self._by_name(name) for name in self.names], np.int64).reshape(len(self.names))
        if any(each.is_module for each in self.layers):
            self._fill_modules(layer)
        self._fill_backward(layer)
        self._fill_variables(layer)
        is_update = (self.code == UPDATE) & ~self.roles.variables
        owner = self._owners(layer, is_update)
        layer[is_update] = np.where(owner[is_update] >= 0, owner[is_update], ABSENT)
        layer[(self.code == INPUT) | (self.roles.update & self.roles.variables)] = ABSENT
        return self._rows(layer, self._outside(layer))

    def _scopes(self) -> list[ModelLayer]:
        """The outermost scopes of the forward pass as layers, in the order in which the graph was built.

        A scope that takes nearly all of the pass, with its gradients, and has several scopes in it that share this, is
        the whole model: its inner scopes are layers. If most of the pass is of ops without a scope, these are layers.
        """
        roles = self.roles
        is_forward = ~(roles.backward | roles.update | roles.variables | of_types(self.profile, _DATA))
        if roles.needed.any():
            is_forward &= roles.needed
        inside, took = np.flatnonzero(is_forward), self._took()
        found: list[ModelLayer] = []
        kept, around = 0, ""
        while True:
            inside, scopes, alone = self._parted(inside, around)
            times = {scope: float(took[nodes].sum()) for scope, nodes in scopes.items()}
            singly = sum(float(took[node]) for node in alone.values())
            whole = sum(times.values()) + singly
            if not around and 2 * singly > whole:
                scopes |= {name: [node] for name, node in alone.items() if took[node] and name not in scopes}
            for scope in sorted(scopes, key=lambda scope: int(self.profile.nodes.identity[scopes[scope]].min())):
                kind = SCOPE if scope in times else self.profile.nodes.ops[self.profile.nodes.op[alone[scope]]]
                found.append(ModelLayer(around + scope, scope, kind, around.rstrip("/")))
            if not around or (len(times) > 1 and 2 * singly < whole):
                kept = len(found)
            largest = max(times, key=times.__getitem__, default="")
            if times.get(largest, 0) < WHOLE * whole or not whole:
                return found[:kept]
            around += f"{largest}/"

    def _parted(self, inside: Integers, around: str) -> tuple[Integers, dict[str, list[int]], dict[str, int]]:
        """The nodes that are in a scope, those of each scope in it, and those that are in none of these by name."""
        variables = {self.names[node] for node in np.flatnonzero(self.roles.variables).tolist()}
        inside = np.array([node for node in inside.tolist() if self.names[node].startswith(around)], np.int64)
        scopes: dict[str, list[int]] = {}
        alone: dict[str, int] = {}
        for node in inside.tolist():
            scope, inner, _ = self.names[node].removeprefix(around).partition("/")
            if inner and scope and scope not in _NO_SCOPES and around + scope not in variables:
                scopes.setdefault(scope, []).append(node)
            elif not inner:
                alone[scope] = node
        return inside, scopes, alone

    def _took(self) -> Floats:
        """The time of each node with that of its gradient, in the steps that do most of the work."""
        totals = self.profile.step_totals
        shown = np.isin(totals.step, self.profile.steps_named(self.profile.main_kind))
        nanos = totals.cpu_nanos.astype(np.float64) + totals.accelerator_nanos
        took: Floats = np.bincount(totals.node[shown], nanos[shown], len(self.names)).astype(np.float64, copy=False)
        for node, of in self.roles.forward.items():
            took[of] += took[node]
        return took

    def _by_name(self, name: str) -> int:
        """The innermost layer whose scope contains a name; a gradient tape puts its own scope around the layers'."""
        if _GRADIENTS.search(name):
            return ABSENT  # the forward node tells
        if "replica_" in name:
            name = _REPLICA.sub(r"\1", name)
        for part in name.split(TAPE):
            found = self._in_scope(part)
            if found == ABSENT and (around := _CONTROL.match(part)):
                found = self._in_scope(part[around.end() :])
            if found != ABSENT:
                return found
        return ABSENT

    def _in_scope(self, scope: str) -> int:
        passed = []
        while scope not in self._known:
            passed.append(scope)
            self._known.update({scope: self.place[scope]} if scope in self.place else {})
            scope = scope if scope in self._known else scope.rpartition("/")[0]
        self._known.update(dict.fromkeys(passed, self._known[scope]))
        return self._known[scope]

    def _fill_backward(self, layer: Integers) -> None:
        """Give each backward node without a layer the layer of its forward node.

        A sum of gradients gets the layer of a backward node that reads it, or else of one that it reads.
        """
        sources, consumers = self.roles.sources, self.roles.consumers
        missing = [node for node in np.flatnonzero(self.roles.backward).tolist() if layer[node] == ABSENT]
        for node in missing:
            layer[node] = layer[self.roles.forward.get(node, node)]
        backward = self.roles.backward
        for node in missing:
            if layer[node] == ABSENT and self.profile.nodes.ops[self.profile.nodes.op[node]] == "AddN":
                near = (*consumers[node].tolist(), *sources[node].tolist())
                beside = (each for each in near if backward[each] and layer[each] >= 0)
                layer[node] = layer[next(beside, node)]

    def _fill_variables(self, layer: Integers) -> None:
        """Give variables without a layer that of the op which takes them, or takes what is read of them."""
        consumers = self.roles.consumers
        for variable in np.flatnonzero(self.roles.variables & (layer == ABSENT)).tolist():
            takers = [*consumers[variable].tolist()]
            takers += [each for reader in takers for each in consumers[reader].tolist()]
            needed = (int(layer[each]) for each in takers if self.roles.needed[each] and layer[each] != ABSENT)
            layer[variable] = next(needed, ABSENT)

    def _owners(self, layer: Integers, is_update: Flags) -> Integers:
        """The layer whose variables a node helps to update; ABSENT if there is none, _SEVERAL if there are several.

        A node that only the updates of one layer need belongs to that layer.
        """
        sources, consumers = self.roles.sources, self.roles.consumers
        assigns = self.roles.assigns
        owner = np.full(len(layer), ABSENT, np.int64)
        for node in np.flatnonzero(is_update & assigns).tolist():
            owner[node] = next((layer[each] for each in sources[node] if self.roles.variables[each]), ABSENT)
        is_base = owner >= 0
        waiting = {
            node: sum(is_update[each] for each in consumers[node]) for node in np.flatnonzero(is_update).tolist()
        }
        ready = [node for node, count in waiting.items() if not count]
        while ready:
            node = ready.pop()
            for source in sources[node].tolist():
                if not is_update[source]:
                    continue
                if not is_base[source] and owner[node] != ABSENT:
                    owner[source] = owner[node] if owner[source] in (ABSENT, owner[node]) else _SEVERAL
                waiting[source] -= 1
                if not waiting[source]:
                    ready.append(source)
        return owner

    def _fill_modules(self, layer: Integers) -> None:
        """Give ops without a scope to the module whose variables they read, with the other ops made in the same call.

        Ops count as made in the same call if their stacks have the same functions of the user. If a loop calls one
        module after another, an op belongs to the last module before it.
        """
        sources = self.roles.sources
        nodes, variables, reads = self.profile.nodes, self.roles.variables, self.roles.reads
        free = (layer == ABSENT) & ~(self.roles.backward | self.roles.update | variables | self.roles.idle)
        for node in np.flatnonzero(free & reads).tolist():
            layer[node] = next((layer[each] for each in sources[node].tolist() if variables[each]), ABSENT)
        order = np.flatnonzero(free)[np.argsort(nodes.identity[free], kind="stable")].tolist()
        last: dict[tuple[int, ...], int] = {}
        unknown: dict[tuple[int, ...], list[int]] = {}
        for node in order:
            read = (layer[each] for each in sources[node].tolist() if reads[each] or variables[each])
            own = int(layer[node]) if layer[node] >= 0 else next((int(each) for each in read if each >= 0), ABSENT)
            made = self._makers(node)
            if own == ABSENT:
                own = last.get(made, ABSENT)
                if own == ABSENT:
                    unknown.setdefault(made, []).append(node)
            elif made:
                last[made] = own
                layer[unknown.pop(made, [])] = own  # such as the ops of a module before it reads its first variable
            layer[node] = own

    def _makers(self, node: int) -> tuple[int, ...]:
        """The codes of the user's functions in the stack that made a node; empty if they are not known."""
        stack = int(self.profile.traces.stack[node])
        return self._user_functions[stack] if stack >= 0 else ()

    @cached_property
    def _user_functions(self) -> list[tuple[int, ...]]:
        traces = self.profile.traces
        codes: dict[tuple[int, int], int] = {}
        own = [not is_of_library(traces.strings[file]) for file in traces.file.tolist()]
        places = list(zip(traces.file.tolist(), traces.function.tolist(), strict=True))
        return [
            tuple(codes.setdefault(places[frame], len(codes)) for frame in traces.stacks[stack].tolist() if own[frame])
            for stack in range(len(traces.stacks))
        ]

    def _outside(self, layer: Integers) -> Integers:
        """The place in OUTSIDE of the nodes without a layer."""
        roles, code = self.roles, np.full(len(layer), _OTHER)
        is_free = layer == ABSENT
        if not is_free.all():
            code[roles.reached(~is_free, roles.consumers, is_free & roles.needed) | (roles.backward & is_free)] = _LOSS
        code[[at for at, name in enumerate(self.names) if is_free[at] and name.startswith("compile_loss/")]] = _LOSS
        kept = roles.assigns & is_free & ~(roles.update | roles.backward)
        kept |= roles.reached(kept, roles.sources, is_free & (code == _OTHER))
        kept |= roles.reached(kept, roles.consumers, is_free & (code == _OTHER))
        code[kept & (code == _OTHER)] = _METRICS
        code[self.code == UPDATE] = _OPTIMIZER
        code[self.code == INPUT] = _OF_INPUT
        return code

    def _rows(self, layer: Integers, outside: Integers) -> NodeLayers:
        """The rows in preorder, with the rows of no layer last; a lone model without ops of its own gets no row."""
        within: dict[str, list[int]] = {}
        for place, each in enumerate(self.layers):
            within.setdefault(each.within if each.within in self.place else "", []).append(place)
        top = within.get("", [])
        lone = top[0] if len(top) == 1 and self.layers[top[0]].path in within else ABSENT
        row_of = np.full(len(self.layers) + 1, ABSENT, np.int64)
        names: list[str] = []
        types: list[str] = []
        parent: list[int] = []

        def add(name: str, kind: str, above: int) -> int:
            names.append(name)
            types.append(kind)
            parent.append(above)
            return len(names) - 1

        waiting = [(place, ABSENT) for place in reversed(top)]
        while waiting:
            place, above = waiting.pop()
            each = self.layers[place]
            if place != lone or (layer == place).any():
                row_of[place] = add(each.name, each.type, above)
                above = above if place == lone else int(row_of[place])
            waiting += [(inner, above) for inner in reversed(within.pop(each.path, []))]
        rows, free = row_of[layer], np.flatnonzero(layer == ABSENT)
        if len(free):
            above = add(NO_LAYER, "", ABSENT)
            for code in np.unique(outside[free]).tolist():
                rows[free[outside[free] == code]] = add(OUTSIDE[code], "", above)
        columns = (np.array(parent, np.int32), rows.astype(np.int32), self.code)
        return NodeLayers(tuple(names), tuple(types), *columns)

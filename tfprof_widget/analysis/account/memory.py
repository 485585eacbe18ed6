"""Tells what the memory of each device was held for at the peak of a step: weights, activations and other kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from tfprof_widget.analysis.steady import SteadySteps
from tfprof_widget.engine.layers import node_layers
from tfprof_widget.engine.roles import GraphRoles
from tfprof_widget.ingest.parts.nodes import definitions_of
from tfprof_widget.lib.arrays import ABSENT, Integers
from tfprof_widget.lib.text import is_of_library
from tfprof_widget.profiles.cell import CodeLine, HeldMemory
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.program import BACKWARD, FORWARD, INPUT, UPDATE

KINDS = ("weights", "gradients", "optimizer state", "activations", "inputs", "temporary", "unknown")

# The bytes of an element by TensorFlow's number of its type; of types that are not here, as strings, nothing is known.
_WIDTHS = {
    **dict.fromkeys((4, 6, 10, 11, 12), 1),
    **dict.fromkeys((5, 14, 17, 19), 2),
    **dict.fromkeys((1, 3, 13, 22), 4),
    **dict.fromkeys((2, 8, 9, 23), 8),
    18: 16,
}


def held_memory(profile: ProfileData) -> list[HeldMemory]:
    """What is held on each device at its peak in the steady step that holds most there, by kind, the largest first.

    Variables are there all the time: their bytes are known by their shapes.

    >>> from tfprof_widget.demo import demo_profile
    >>> sorted({(each.kind, each.device) for each in held_memory(demo_profile())})
    [('activations', '/job:localhost/replica:0/task:0/device:cpu:0'), ...]
    """
    if profile.held_memory is not None:
        return list(profile.held_memory)
    return profile.cache.kept("held memory", lambda: _Holders(profile).found())


VARIABLES = ("weights", "optimizer state")
"""The kinds of what is held before a step begins, and after it."""


def held_variables(profile: ProfileData) -> list[HeldMemory]:
    """What variables hold, on each device the largest first.

    >>> from tfprof_widget.demo import demo_profile
    >>> [(each.node, each.bytes) for each in held_variables(demo_profile())][0]
    ('layer1/w', 401408)
    """
    return profile.cache.kept("held variables", lambda: sorted(_variables(profile), key=_by_size))


def _variables(profile: ProfileData) -> Iterable[HeldMemory]:
    if profile.held_memory is None:
        return _Holders(profile).of_variables()
    return (each for each in profile.held_memory if each.kind in VARIABLES)


def _by_size(held: HeldMemory) -> tuple[str, int, str]:
    return held.device, -held.bytes, held.node


class _Holders:
    def __init__(self, profile: ProfileData) -> None:
        self.profile = profile
        self.role = node_layers(profile).role
        self.roles = GraphRoles.of(profile)

    def found(self) -> list[HeldMemory]:
        held = [*self.of_variables(), *self._of_steps()]
        order = {kind: place for place, kind in enumerate(KINDS)}
        return sorted(held, key=lambda each: (each.device, order[each.kind], -each.bytes, each.node))

    def of_variables(self) -> Iterator[HeldMemory]:
        """What variables hold, by their shapes."""
        nodes, variables = (
            self.profile.nodes,
            np.flatnonzero(self.roles.variables & (self.profile.nodes.parameters > 0)),
        )
        names = {nodes.names[node] for node in variables.tolist()}
        types = {name: _width(each) for name, each in definitions_of(self.profile.graphs, names).items()}
        for node in variables.tolist():
            name = nodes.names[node]
            size = int(nodes.parameters[node]) * types.get(name, 4)
            if size:
                kind = "optimizer state" if self.roles.update[node] else "weights"
                yield HeldMemory(self._device(int(nodes.device[node])), kind, size, name, self._line(node))

    def _device(self, device: int) -> str:
        """The device; where it is not known, that on which most ran."""
        if device != ABSENT:
            return self.profile.nodes.devices[device]
        ran = Counter(self.profile.executions.device.tolist())
        ran.pop(ABSENT, None)
        return self.profile.nodes.devices[ran.most_common(1)[0][0]] if ran else ""

    def _of_steps(self) -> Iterator[HeldMemory]:
        """What the ops of a step hold on each device when most is held there."""
        profile = self.profile
        allocations, executions = profile.allocations, profile.executions
        if not len(allocations.execution):
            return
        step, device = executions.step[allocations.execution], executions.device[allocations.execution]
        steady = SteadySteps.of(profile).steps
        counted = np.flatnonzero(np.isin(step, steady) & (device != ABSENT))
        order: Integers = counted[np.lexsort((allocations.micros[counted], device[counted], step[counted]))]
        bounds = np.flatnonzero(np.diff(step[order]) | np.diff(device[order])) + 1
        most: dict[int, tuple[int, Integers]] = {}
        for rows in np.split(order, bounds) if len(order) else ():
            held = np.cumsum(allocations.bytes[rows])
            peak, of = int(held.argmax()), int(device[rows[0]])
            if int(held[peak]) > most.get(of, (0, rows))[0]:
                most[of] = int(held[peak]), rows[: peak + 1]
        for of, (_, rows) in most.items():
            yield from self._at_peak(profile.nodes.devices[of], rows)

    def _at_peak(self, device: str, rows: Integers) -> Iterator[HeldMemory]:
        profile = self.profile
        allocations, executions = profile.allocations, profile.executions
        execution, size = np.unique(allocations.execution[rows], return_inverse=True)
        held = np.zeros(len(execution), np.int64)
        np.add.at(held, size, allocations.bytes[rows])
        at = int(allocations.micros[rows[-1]])
        by_node: Counter[tuple[int, str]] = Counter()
        for each, of in zip(execution.tolist(), held.tolist(), strict=True):
            end = int(executions.start_micros[each] + executions.duration_micros[each])
            by_node[int(executions.node[each]), self._kind(int(executions.node[each]), is_over=end < at)] += of
        for (node, kind), of in by_node.items():
            if of > 0:
                name = profile.nodes.names[node]
                yield HeldMemory(device, kind, of, name, self._line(node), profile.memory_in_part)

    def _kind(self, node: int, *, is_over: bool) -> str:
        """For what the memory of an op is held; that of one that still runs at the peak may be a scratch of its own."""
        role = int(self.role[node])
        if role == INPUT or self.profile.nodes.ops[self.profile.nodes.op[node]] in ("Placeholder", "_Arg"):
            return "inputs"
        if role == UPDATE or (not is_over and not self._has_output(node)):
            return "temporary"
        if role == BACKWARD:
            return "gradients"
        return "activations" if role == FORWARD else "unknown"

    def _has_output(self, node: int) -> bool:
        return bool(len(self.roles.consumers[node]))

    def _line(self, node: int) -> CodeLine | None:
        """The user's innermost line that made a node, or its forward node."""
        traces = self.profile.traces
        stack = int(traces.stack[self.roles.forward.get(node, node)])
        frames = traces.stacks[stack].tolist() if stack >= 0 else ()
        for frame in reversed(frames):
            file = traces.strings[traces.file[frame]]
            if not is_of_library(file):
                return CodeLine(file, int(traces.line[frame]), traces.strings[traces.function[frame]])
        return None


def _width(definition: object) -> int:
    attributes = getattr(definition, "attr", {})
    return _WIDTHS.get(attributes["dtype"].type, 0) if "dtype" in attributes else 4

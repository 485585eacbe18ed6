"""Reads a ProfileProto, worker by worker."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from tfprof_widget.ingest.parts.nodes import NodeTable, Shapes
from tfprof_widget.ingest.parts.runs import RunTable
from tfprof_widget.ingest.parts.stacks import Frames, NodeDetails, StackBuilder, StacksOfSteps
from tfprof_widget.ingest.saved_steps import Phase, StoredExecutions
from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER
from tfprof_widget.lib.errors import ProfileError

if TYPE_CHECKING:
    from tfprof_widget.lib.messages import GraphDef, ProfileNode, ProfileProto

Port = TypeVar("Port")

# A profile lacks few of the inputs that its nodes count. More gaps are damage, which could take all memory.
MOST_MISSING = 2**20


@dataclass(frozen=True, eq=False)
class StoredProfile:
    """A ProfileProto as columns, with a graph of its nodes: their names, ops, inputs and attributes."""

    nodes: NodeTable
    graph: GraphDef
    op_log: NodeDetails
    runs: list[tuple[int, RunTable]] = field(default_factory=list)
    misses_accelerator_stream: bool = False
    stacks_of_steps: list[StacksOfSteps] = field(default_factory=list)
    float_ops: dict[tuple[str, int], int] = field(default_factory=dict)


def read_stored_profile(
    profile: ProfileProto,
    shapes: Shapes,
    stacks: StackBuilder,
    known: Container[str] = (),
    known_steps: Container[int] = (),
    known_float_ops: Mapping[str, int] = MappingProxyType({}),
) -> StoredProfile:
    """The columns of a ProfileProto, without nodes and steps that are known already.

    Where a node is known to take another number of float operations in other profiles, what it took is told by step.

    >>> from tfprof_widget.lib.messages import ProfileNode, ProfileProto
    >>> profile = ProfileProto(nodes={0: ProfileNode(name="a", op="Add")})
    >>> read_stored_profile(profile, Shapes(), StackBuilder()).nodes.ops
    ['Add']
    """
    _check(profile)
    nodes = _first_of_each_name(node for _, node in sorted(profile.nodes.items()))
    new = [node for node in nodes if node.name not in known]
    graph = _graph(profile, new)
    strings = {number: stacks.string(number, text) for number, text in sorted(profile.id_to_string.items())}
    frames = Frames(strings, stacks, source="profile")
    return StoredProfile(
        nodes=NodeTable(
            names=[node.name for node in new],
            ops=[node.op for node in new],
            inputs=[list(node.input) for node in graph.node],
            shape=[shapes.index(tuple(node.shape)) if node.shape else ABSENT for node in new],
            output_shapes=[_output_shapes(node, shapes) for node in new],
            placed={node.name: node.canonical_device for node in new if _ran_as_kernels_only(node)},
        ),
        graph=graph,
        op_log=_op_log(nodes, frames),
        runs=list(_runs(profile, nodes, known_steps)),
        misses_accelerator_stream=profile.miss_accelerator_stream,
        stacks_of_steps=list(_stacks_of_steps(profile, frames, known_steps)),
        float_ops=dict(_float_ops(profile, nodes, known_steps, known_float_ops)),
    )


def _ran_as_kernels_only(node: ProfileNode) -> bool:
    """Whether the node has a device, but nothing that it did there beside its kernels."""
    ran = node.execs.values()
    return bool(node.canonical_device and any(each.accelerator_execs for each in ran)) and not any(
        each.cpu_execs for each in ran
    )


def _check(profile: ProfileProto) -> None:
    """Refuse numbers that no program writes: steps below 0, and numbers of inputs or outputs with endless gaps."""
    missing = 0
    for node in profile.nodes.values():
        for ports in (node.inputs, node.output_shapes):
            missing += max(ports, default=-1) + 1 - len(ports)
            if missing > MOST_MISSING or min(ports, default=0) < 0:
                raise ProfileError(
                    f"profile: node {node.name!r} has an input or output {max(ports, key=abs)}, which no node has; "
                    "the file is damaged: save the profile again"
                )
        _check_steps(node.execs)
    _check_steps(profile.steps)


def _check_steps(steps: Iterable[int]) -> None:
    first = min(steps, default=0)
    if first < 0:
        raise ProfileError(f"profile: it has a step {first}, below 0; the file is damaged: save the profile again")


def _first_of_each_name(nodes: Iterable[ProfileNode]) -> list[ProfileNode]:
    found: dict[str, ProfileNode] = {}
    for node in nodes:
        found.setdefault(node.name, node)
    return list(found.values())


def _graph(profile: ProfileProto, nodes: list[ProfileNode]) -> GraphDef:
    """The graph of the nodes; an input that the profile lacks has an empty name."""
    from tfprof_widget.lib.messages import GraphDef

    graph = GraphDef()
    names = {number: node.name for number, node in profile.nodes.items()}
    for node in nodes:
        definition = graph.node.add(name=node.name, op=node.op)
        sources = {index: names.get(source, "") for index, source in node.inputs.items()}
        definition.input.extend(_in_order(sources, ""))
        for name, value in node.attrs.items():
            definition.attr[name].CopyFrom(value)
    return graph


def _output_shapes(node: ProfileNode, shapes: Shapes) -> tuple[int, ...]:
    found = {index: shapes.index(tuple(shape.int64_values)) for index, shape in node.output_shapes.items()}
    return tuple(_in_order(found, shapes.index(())))


def _in_order(found: dict[int, Port], missing: Port) -> list[Port]:
    return [found.get(index, missing) for index in range(max(found, default=-1) + 1)]


def _op_log(nodes: list[ProfileNode], frames: Frames) -> NodeDetails:
    known: dict[bytes, int] = {}
    columns = NodeDetails()
    for node in nodes:
        columns.types[node.name] = list(node.op_types)
        if node.float_ops:
            columns.float_ops[node.name] = node.float_ops
        if node.HasField("trace"):
            code = node.trace.SerializeToString()
            if code not in known:
                known[code] = frames.stack(code, node.name)
            columns.stack[node.name] = known[code]
    return columns


def _float_ops(
    profile: ProfileProto, nodes: list[ProfileNode], known_steps: Container[int], known: Mapping[str, int]
) -> Iterator[tuple[tuple[str, int], int]]:
    """What nodes took in steps in which it was not the known count, or else their own, times their runs."""
    for node in nodes:
        if known.get(node.name, node.float_ops) != node.float_ops:
            for step, found in node.execs.items():
                if step not in known_steps:
                    took = node.float_ops * found.run_count
                    yield (node.name, step), max(-LARGEST_INTEGER, min(took, LARGEST_INTEGER))
    for stored in profile.float_ops:
        if len(stored.nodes) != len(stored.float_ops):
            raise ProfileError("profile: a step lacks float operations of nodes; the file is damaged: save it again")
        for number, float_ops in zip(stored.nodes, stored.float_ops, strict=True):
            if number in profile.nodes and stored.step not in known_steps:
                yield (profile.nodes[number].name, stored.step), float_ops


def _stacks_of_steps(profile: ProfileProto, frames: Frames, known_steps: Container[int]) -> Iterator[StacksOfSteps]:
    for stored in profile.other_stacks:
        read = [frames.stack(code.SerializeToString(), "a function") for code in stored.traces]
        if len(stored.nodes) != len(stored.trace) or not all(ABSENT <= trace < len(read) for trace in stored.trace):
            raise ProfileError("profile: it does not tell the traces of each node; the file is damaged: save it again")
        names = (profile.nodes[node].name if node in profile.nodes else "" for node in stored.nodes)
        places = {name: ([*read, ABSENT][trace], "") for name, trace in zip(names, stored.trace, strict=True)}
        yield StacksOfSteps(frozenset(step for step in stored.steps if step not in known_steps), places)


def _runs(
    profile: ProfileProto, nodes: list[ProfileNode], known_steps: Container[int]
) -> Iterator[tuple[int, RunTable]]:
    """The runs of each step, phase by phase: a node's own device depends on the order of its executions."""
    steps = {step: StoredExecutions() for step in profile.steps if step not in known_steps}
    for node in nodes:
        for step, found in node.execs.items():
            if step not in known_steps:
                steps.setdefault(step, StoredExecutions()).add(node, found)
    for phase in Phase:
        for step, executions in sorted(steps.items()):
            yield step, executions.run(phase)


def by_worker(profile: ProfileProto) -> dict[str, ProfileProto]:
    """The profile of each worker by name, with the worker's own step numbers; empty if there are no workers.

    >>> from tfprof_widget.lib.messages import ProfileNode, ProfileProto
    >>> message = ProfileProto(steps=[0, 1], step_workers=["a", "b"], worker_steps=[7, 7])
    >>> {worker: list(part.steps) for worker, part in by_worker(message).items()}
    {'a': [7], 'b': [7]}
    """
    if not len(profile.steps) == len(profile.step_workers) == len(profile.worker_steps):
        if not profile.step_workers and not profile.worker_steps:
            return {}
        raise ProfileError("profile: it does not tell the worker of each step; the file is damaged: save it again")
    return {worker: _of_worker(profile, worker) for worker in dict.fromkeys(profile.step_workers)}


def _of_worker(profile: ProfileProto, worker: str) -> ProfileProto:
    own = {
        step: number
        for step, number, each in zip(profile.steps, profile.worker_steps, profile.step_workers, strict=True)
        if each == worker
    }
    part = type(profile)()
    part.CopyFrom(profile)
    for name in ("steps", "step_workers", "worker_steps", "transfers", "float_ops", "account"):
        part.ClearField(name)
    for stored in part.other_stacks:
        stored.steps[:] = [own[step] for step in stored.steps if step in own]
    for name in ("transfers", "float_ops"):
        for stored in getattr(profile, name):
            if stored.step in own:
                getattr(part, name).add().CopyFrom(stored)
                getattr(part, name)[-1].step = own[stored.step]
    part.steps.extend(own.values())
    for node in part.nodes.values():
        _keep(node, own)
    if worker != profile.step_workers[0]:
        part.ClearField("kernel_runs")  # they are those of all workers
    del part.allocators[:]
    for allocator in profile.allocators:
        if allocator.name.startswith(f"{worker}/"):
            part.allocators.add().CopyFrom(allocator)
            part.allocators[-1].name = allocator.name.removeprefix(f"{worker}/")
    return part


def _keep(node: ProfileNode, own: dict[int, int]) -> None:
    """Keep only what the node did in these steps, under their new numbers, and the device that it ran on."""
    execs = {own[step]: found for step, found in node.execs.items() if step in own}
    kept = type(node)()
    for step, found in execs.items():
        kept.execs[step].CopyFrom(found)
    node.ClearField("execs")
    for step, found in kept.execs.items():
        node.execs[step].CopyFrom(found)
    ran_on = sorted({device for found in execs.values() for device in found.cpu_execs})
    if ran_on and node.canonical_device not in ran_on:
        node.canonical_device = ran_on[0]

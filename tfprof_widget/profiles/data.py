"""Defines the data of a profile with its cache of results, and reads the names of steps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from threading import Lock
from typing import Any, TypeVar

import numpy as np

from tfprof_widget.lib.arrays import ABSENT, Flags, Indices, Integers
from tfprof_widget.profiles.cell import CellTimes, HeldMemory, OwnCode, RecordedSteps
from tfprof_widget.profiles.devices import Accelerator, Allocator, KernelRuns
from tfprof_widget.profiles.kept_run import KeptRun
from tfprof_widget.profiles.program import (
    DataFunction,
    ModelLayer,
    MovedBytes,
    NodeLayers,
    PipelineStage,
    StageSettings,
)
from tfprof_widget.profiles.tables import (
    Allocations,
    Checkpoint,
    CodeStacks,
    ExecutedKernel,
    Executions,
    Lists,
    Nodes,
    OtherGraphs,
    OtherStacks,
    Outputs,
    RecordedRuns,
    StepTotals,
    Transfers,
)

Found = TypeVar("Found")
Table = TypeVar("Table", Executions, Allocations, Outputs, StepTotals, Transfers)

# Enough for a few views of a few steps: at most three hundred megabytes for a graph of 100,000 nodes.
RECENT = 24
# If results are larger, fewer of them are kept, but never fewer than two views need.
MOST_BYTES = 10**9
FEWEST = 8


class ResultCache:
    """Keeps results by key. If two threads ask at once, both may compute the result, and both get a whole one.

    >>> cache = ResultCache()
    >>> cache.kept("tree", lambda: "grown"), cache.kept("tree", lambda: "grown again")
    ('grown', 'grown')
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}
        self._recent: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[ResultCache], tuple[()]]:
        """Pickle or copy the cache as an empty one: results can be computed again."""
        return ResultCache, ()

    def kept(self, key: Hashable, make: Callable[[], Found]) -> Found:
        """The result that is kept under this key, or the one that `make` gives now."""
        if key not in self._kept:
            self._kept[key] = make()
        found: Found = self._kept[key]
        return found

    def recent(self, key: Hashable, make: Callable[[], Found], most: int = RECENT) -> Found:
        """As `kept`, but of all results asked for in this way only the last `most` are held."""
        with self._lock:
            if key in self._recent:
                self._recent.move_to_end(key)
                found: Found = self._recent[key]
                return found
        made = make()
        with self._lock:
            self._recent[key] = made
            for key in self._too_many(most):
                del self._recent[key]
        return made

    def _too_many(self, most: int) -> list[Hashable]:
        """The results to drop. Results may have grown columns since they were kept, so all are measured again."""
        if len(self._recent) <= min(FEWEST, most):
            return []
        counted: dict[int, int] = {}
        latest = list(reversed(self._recent))
        for place, key in enumerate(latest):
            _count(self._recent[key], counted)
            if place >= most or (place >= FEWEST and sum(counted.values()) > MOST_BYTES):
                return latest[place:]
        return []


def _count(value: Any, counted: dict[int, int]) -> None:
    """Add up the bytes of the columns that a result refers to; a column that several results share counts once."""
    if id(value) in counted:
        return
    if isinstance(value, np.ndarray | bytes):
        counted[id(value)] = value.nbytes if isinstance(value, np.ndarray) else len(value)
        return
    parts = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    counted[id(value)] = 0
    for part in tuple(parts.values()):
        _count(part, counted)


# Follows the name of a kind in the name of its first run, in which TensorFlow traces, compiles and tunes.
WARM_UP = " (warm-up)"
EAGER = "eager ops"
# Follows the name of a kind in steps that took less than a third as long as most, as that of a small last batch does.
SHORTER = " (shorter)"
# Follows the name of a kind in its first steps, which are slower than later ones, if later ones were recorded too.
EARLY = " (early)"
# Follows the name of a kind in steps of which only a part was recorded, as recording them whole would cost too much.
PARTIAL = " (in part)"
# Follows it in a first run of which only a part was recorded: its ops are other ones than those of a later part.
FIRST_PART = " (warm-up, in part)"
FIRST = (WARM_UP, FIRST_PART)


def kind_of_steps(name: str) -> str:
    """The kind of the steps of this name, without what follows it.

    >>> kind_of_steps("train (warm-up, in part)"), kind_of_steps("train")
    ('train', 'train')
    """
    mark = next((mark for mark in (*FIRST, SHORTER, EARLY, PARTIAL) if name.endswith(mark)), "")
    return name.removesuffix(mark)


@dataclass(frozen=True, eq=False)
class ProfileTables:
    """A graph's nodes and what was measured of them, as tables of columns. A stage takes and gives such tables.

    `step_names` has the name of the run of each step, empty if it is not known. `graphs` are the graphs as they were
    read: they hold the attributes of nodes, for which there is no column. `checkpoint` holds values of variables.
    `kernels` maps the name of a node to the kernel that ran for it, if this is not the node's own op. `compiled` maps
    the name of a function that XLA compiled into one op to the nodes of the function. `transfers` are the tensors that
    devices got from each other. `step_workers` has the worker of each step; it is empty if there was one process only.
    With workers, a step number appears once for each worker that ran it. `runs` are the runs in which the executions
    were recorded. With `one_clock`, the times of all tasks are on the same clock. `main_kind` is the name of the steps
    that do most of the work, if it is known how often each kind of step ran, as after a capture. `cells` say how the
    time of the captured cell was spent, one for each process that ran it. `model_layers` are the layers of the models
    that ran, in their order; `node_layers` gives nodes layers and roles where names and edges no longer tell them, and
    `recorded_steps` the parts of steps where executions no longer do. `pipelines` are the functions in the stages of
    the datasets that were iterated, and `data_stages` tell how stages were set. With `memory_in_part`, allocations of
    large tensors only were recorded. `skipped` says of files that were not loaded which they are, and why.
    `allocator_peaks` tell how much memory each allocator had in use at most, `accelerators` what the accelerators can
    do, and `kernel_runs` which kernels ran on them for which nodes. `other_stacks` says in which steps nodes have other
    stacks than in `traces`, and `other_graphs` in which steps they are defined otherwise than in `graphs`.
    `input_shapes` are the shapes that executions took in, as TensorFlow writes them, such as `(float[2,3];int32[])`;
    the first entry is empty, for executions of which they are not known. `kept_run` is
    what a file says of its run for comparisons. `thread_names` has the names of threads by their numbers, as far as
    they are known; it does not name streams, which threads of accelerators are. `own_code` is what advice may change
    of the user's code. `moved_bytes` are what nodes take in and put out, where shapes no longer tell it.
    """

    nodes: Nodes
    steps: tuple[int, ...]
    step_names: tuple[str, ...]
    executions: Executions
    outputs: Outputs
    allocations: Allocations
    step_totals: StepTotals
    traces: CodeStacks
    graphs: tuple[Any, ...]
    misses_accelerator_stream: bool = False
    checkpoint: Checkpoint | None = field(default=None, repr=False)
    kernels: Mapping[str, ExecutedKernel] = field(default_factory=dict, repr=False)
    compiled: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    transfers: Transfers = field(default_factory=Transfers.none, repr=False)
    step_workers: tuple[str, ...] = ()
    runs: RecordedRuns = field(default_factory=RecordedRuns.none, repr=False)
    one_clock: bool = False
    main_kind: str = ""
    cells: tuple[CellTimes, ...] = field(default=(), repr=False)
    model_layers: tuple[ModelLayer, ...] = field(default=(), repr=False)
    node_layers: NodeLayers | None = field(default=None, repr=False)
    recorded_steps: RecordedSteps | None = field(default=None, repr=False)
    pipelines: tuple[tuple[DataFunction, ...], ...] = field(default=(), repr=False)
    data_stages: tuple[StageSettings, ...] = field(default=(), repr=False)
    memory_in_part: bool = False
    held_memory: tuple[HeldMemory, ...] | None = field(default=None, repr=False)
    pipeline_stages: tuple[PipelineStage, ...] | None = field(default=None, repr=False)
    skipped: tuple[str, ...] = ()
    allocator_peaks: tuple[Allocator, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    kernel_runs: tuple[KernelRuns, ...] = field(default=(), repr=False)
    other_stacks: OtherStacks = field(default_factory=OtherStacks.none, repr=False)
    other_graphs: OtherGraphs = field(default_factory=OtherGraphs.none, repr=False)
    input_shapes: tuple[str, ...] = field(default=("",), repr=False)
    kept_run: KeptRun | None = field(default=None, repr=False)
    thread_names: tuple[str, ...] = field(default=(), repr=False)
    own_code: OwnCode = field(default_factory=OwnCode, repr=False)
    moved_bytes: MovedBytes | None = field(default=None, repr=False)

    def having(self, **changed: Any) -> ProfileTables:
        """These tables with the given ones in place of their own.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().having(step_names=("train",)).step_names
        ('train',)
        """
        return ProfileTables(**{**table_values(self), **changed})

    def steps_named(self, name: str) -> list[int]:
        """The indices of the steps of this name.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().steps_named("")
        [0]
        """
        return [step for step, each in enumerate(self.step_names) if each == name]

    def traces_in(self, steps: Iterable[int]) -> CodeStacks:
        """The stacks of the nodes in some steps, given by index; those of the costliest function if the steps differ.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo = demo_profile()
        >>> demo.traces_in([0]) is demo.traces
        True
        """
        return self.other_stacks.given_to(self.traces, self.other_stacks.group_of(steps))

    @property
    def cell(self) -> CellTimes | None:
        """The times of the captured cell, of several processes' those of the one that took longest; None if not known.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().cell is None
        True
        """
        return max(self.cells, key=lambda cell: cell.nanos, default=None)

    @property
    def workers_of_steps(self) -> tuple[str, ...]:
        """The worker of each step; an empty name for each if there was one process only.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().workers_of_steps
        ('',)
        """
        return self.step_workers or ("",) * len(self.steps)

    @property
    def has_traces(self) -> bool:
        """Whether the Python stack of any node is known, which the code view needs.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().has_traces
        True
        """
        return self.traces.are_known


def rows_taken(table: Table, rows: Integers) -> Table:
    """Some rows of a table; fields that are no arrays, as names of devices, stay."""
    columns: dict[str, Any] = {name: column for name, column in vars(table).items() if isinstance(column, np.ndarray)}
    return replace(table, **{name: column[rows] for name, column in columns.items()})


def lists_taken(lists: Lists, which: Integers, filled: Flags | None = None) -> Lists:
    """Some of the lists; those that `filled` does not mark are empty.

    >>> lists_taken(Lists.of([[7, 8], [], [9]]), np.array([2, 0])).values.tolist()
    [9, 7, 8]
    """
    length = np.diff(lists.start)[which]
    if filled is not None:
        length = np.where(filled, length, 0)
    start = np.concatenate([[0], np.cumsum(length)])
    position = np.repeat(lists.start[which] - start[:-1], length) + np.arange(start[-1])
    return Lists(start, lists.values[position])


def nodes_alone(tables: ProfileTables, is_kept: Flags) -> ProfileTables:
    """The tables with some nodes and what was measured of these; the graph lacks their inputs among the others."""
    kept, nodes = np.flatnonzero(is_kept), tables.nodes
    new = np.append(np.where(is_kept, np.cumsum(is_kept) - 1, ABSENT), ABSENT).astype(np.int32)  # of ABSENT: ABSENT
    inputs = lists_taken(nodes.inputs, kept)
    names = tuple(nodes.names[node] for node in kept.tolist())
    executions = np.flatnonzero(is_kept[tables.executions.node])
    executed = np.full(len(tables.executions), ABSENT, np.int32)
    executed[executions] = np.arange(len(executions))
    traces, *of_groups = [
        _stacks_alone(each, kept, new) for each in (tables.traces, *tables.other_stacks.all_given_to(tables.traces))
    ]
    return tables.having(
        nodes=replace(
            nodes,
            names=names,
            op=nodes.op[kept],
            types=lists_taken(nodes.types, kept),
            device=nodes.device[kept],
            shape=nodes.shape[kept],
            output_shapes=lists_taken(nodes.output_shapes, kept),
            inputs=replace(inputs, values=new[inputs.values]),
            input_ports=lists_taken(Lists(nodes.inputs.start, nodes.input_ports), kept).values.astype(np.int32),
            parameters=nodes.parameters[kept],
            float_ops=nodes.float_ops[kept],
            native_float_ops=None if nodes.native_float_ops is None else nodes.native_float_ops[kept],
            identity=np.argsort(np.argsort(nodes.identity[kept])).astype(np.int32),
        ),
        executions=_of_nodes(rows_taken(tables.executions, executions), new),
        outputs=_of_executions(tables.outputs, executed),
        allocations=_of_executions(tables.allocations, executed),
        step_totals=_of_nodes(rows_taken(tables.step_totals, np.flatnonzero(is_kept[tables.step_totals.node])), new),
        transfers=_of_nodes(rows_taken(tables.transfers, np.flatnonzero(new[tables.transfers.node] >= 0)), new),
        traces=traces,
        other_stacks=OtherStacks.beside(traces, tables.other_stacks.group.tolist(), of_groups),
        kernels={name: tables.kernels[name] for name in names if name in tables.kernels},
        compiled={name: tables.compiled[name] for name in names if name in tables.compiled},
        runs=RecordedRuns.none(),  # they count all executions of a run
        moved_bytes=None,
    )


OfNodes = TypeVar("OfNodes", Executions, StepTotals, Transfers)
OfExecutions = TypeVar("OfExecutions", Outputs, Allocations)


def _of_nodes(table: OfNodes, new: Indices) -> OfNodes:
    return replace(table, node=new[table.node])


def _of_executions(table: OfExecutions, new: Indices) -> OfExecutions:
    found = rows_taken(table, np.flatnonzero(new[table.execution] >= 0))
    return replace(found, execution=new[found.execution])


def _stacks_alone(traces: CodeStacks, kept: Integers, new: Indices) -> CodeStacks:
    """The stacks of the nodes that are kept; a gradient keeps its forward node if that is kept too."""
    forward = {int(new[node]): int(new[of]) for node, of in traces.forward.items() if min(new[node], new[of]) >= 0}
    return replace(traces, stack=traces.stack[kept], forward=forward)


def table_values(tables: ProfileTables) -> dict[str, Any]:
    """The tables by name.

    >>> from tfprof_widget.demo import demo_profile
    >>> list(table_values(demo_profile()))[:2]
    ['nodes', 'steps']
    """
    return {column.name: getattr(tables, column.name) for column in fields(ProfileTables)}


@dataclass(frozen=True, eq=False, repr=False)
class ProfileData(ProfileTables):
    """Tables that no stage changes any more, with a cache of results computed from them."""

    cache: ResultCache = field(default_factory=ResultCache, init=False, repr=False)

    def __repr__(self) -> str:
        counts = {"node": len(self.nodes), "execution": len(self.executions), "step": len(self.steps)}
        return f"{type(self).__name__}({', '.join(_counted(count, noun) for noun, count in counts.items())})"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"

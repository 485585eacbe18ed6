"""Gathers graphs, functions, runs, op logs and saved profiles into one set of tables."""

from __future__ import annotations

import re
import warnings
from collections.abc import Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, replace
from operator import attrgetter
from os import PathLike
from typing import Any, Literal, TypeVar

from tfprof_widget.ingest.assemble import tables_of
from tfprof_widget.ingest.live.functions import read_functions
from tfprof_widget.ingest.live.graph import (
    CHECKPOINT_VARIABLES,
    LiveGraph,
    OutputShapes,
    captures_resources,
    completed_output_shapes,
    is_tf_graph,
    open_checkpoint,
    read_tf_graph,
)
from tfprof_widget.ingest.live.op_log import READING, Reading, live_op_log
from tfprof_widget.ingest.parts.names import NO_BETTER_NAMES, BetterNames, may_be_node, names_before_optimizer
from tfprof_widget.ingest.parts.nodes import NodeTable, Shapes, read_graph
from tfprof_widget.ingest.parts.runs import NodeNames, RunTable
from tfprof_widget.ingest.parts.stacks import NodeDetails, StackBuilder, StacksOfSteps, last_entries, read_op_log
from tfprof_widget.ingest.parts.transfers import TransferRows, stored_transfers
from tfprof_widget.ingest.run_metadata import ReadRun, RunDetails, read_run
from tfprof_widget.ingest.saved_account import with_account, with_kept_run
from tfprof_widget.ingest.saved_profile import read_stored_profile
from tfprof_widget.ingest.xspace.reader import TraceTable
from tfprof_widget.ingest.xspace.resolve import costs_of_functions, resolve
from tfprof_widget.ingest.xspace.threads import ThreadNames
from tfprof_widget.lib.errors import ProfileError, ProfileWarning, value_error
from tfprof_widget.lib.messages import SealedGraph, as_message, as_sealed
from tfprof_widget.lib.threads import pause_gc
from tfprof_widget.profiles.data import ProfileTables
from tfprof_widget.profiles.devices import Accelerator, Allocator, KernelRuns, added_up, fullest, misses_streams
from tfprof_widget.profiles.options import check_step
from tfprof_widget.profiles.program import StageSettings
from tfprof_widget.profiles.tables import Checkpoint, ExecutedKernel

Told = TypeVar("Told", Accelerator, Allocator)
_KERNEL_RUNS = attrgetter(*KernelRuns._fields)

_FOLDED = "ConstantFolding/"
_FED_OR_FETCHED = re.compile(r"_(?:arg|retval)_(.+)_\d+_\d+", re.DOTALL)


def _stored(kind: type[Told], message: Any) -> Told:
    """What a saved profile says of an accelerator: the fields of its message are those of the class."""
    told = ((each.name, getattr(message, each.name)) for each in fields(kind))
    values: dict[str, Any] = {name: value if isinstance(value, str | int) else tuple(value) for name, value in told}
    return kind(**values)


def check_belonging(ran: Iterable[str], graph: Container[str]) -> None:
    """Refuse a run if none of its nodes belongs to the graph; warn if most of them do not.

    >>> check_belonging(["loss/_0__cf__0", "_retval_loss_0_0"], {"loss"})
    >>> check_belonging(["x"], {"loss"})
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: run_meta: none of its 1 nodes is in the graph (such as 'x'); it was ...
    """
    named = [name for name in map(_stem, ran) if not name.startswith("_")]
    strange = [name for name in named if not _belongs(name, graph)]
    if strange and len(strange) == len(named):
        raise ProfileError(
            f"run_meta: none of its {len(named)} nodes is in the graph (such as {strange[0]!r}); "
            "it was recorded from another graph: pass the graph of the session that ran"
        )
    if len(strange) > len(named) // 2:
        warnings.warn(
            f"run_meta: {len(strange)} of its {len(named)} nodes are not in the graph "
            f"(such as {strange[0]!r}); was it recorded from another graph?",
            ProfileWarning,
            stacklevel=5,
        )


def _stem(name: str) -> str:
    """The name from which the runtime made this one; a name that starts with `_` is the runtime's own."""
    fed = _FED_OR_FETCHED.fullmatch(name)
    return fed[1] if fed else name.removeprefix(_FOLDED)


def _belongs(name: str, graph: Container[str]) -> bool:
    while name:
        if name in graph:
            return True
        name = name.rpartition("/")[0]
    return False


class Gathered:
    """Collects graphs, steps and op logs; `tables` gives the tables of everything that was added so far.

    If a part of a live graph cannot be read, a note says so. Shapes that a live graph does not know are completed from
    its runs: always for counting FLOPs, and for showing inputs unless `completes_shapes` is false.
    """

    def __init__(self, *, completes_shapes: bool = True, reading: Reading = READING) -> None:
        self.completes_shapes = completes_shapes
        self.reading = reading
        self.shapes = Shapes()
        self.stacks = StackBuilder()
        self.nodes = NodeTable()
        self.names = NodeNames()
        self.op_logs: list[NodeDetails] = []
        self.runs: list[tuple[int, RunTable]] = []
        self.step_names: dict[int, str] = {}
        self.graphs: list[Any] = []
        self.checkpoint: Checkpoint | None = None
        self.misses_accelerator_stream = False
        self.transfers = TransferRows()
        self.allocators: list[Allocator] = []
        self.accelerators: set[Accelerator] = set()
        self.kernel_runs: list[KernelRuns] = []
        self.data_stages: dict[str, StageSettings] = {}
        self.memory_in_part = False
        self.details = RunDetails()
        self._kernels: dict[str, ExecutedKernel] = {}
        self._compiled: dict[str, frozenset[str]] = {}
        self._in_graph: set[str] = set()
        self._ghosts: set[str] = set()
        self._added: set[tuple[int, bytes]] = set()
        self._live: LiveGraph | None = None
        self._live_op_log: NodeDetails | None = None
        self._function_op_log: NodeDetails | None = None
        self._function_stacks: list[StacksOfSteps] = []
        self._input_shapes, self._threads = {"": 0}, ThreadNames()
        self._graphs_of_steps: dict[int, SealedGraph] = {}
        self._float_ops: dict[tuple[str, int], int] = {}
        self._saved_float_ops: dict[str, int] = {}
        self._saved_stacks: list[StacksOfSteps] = []
        self._saved: list[Any] = []

    def add_graph(self, graph: Any) -> None:
        """Add the nodes that are new in `graph`; None adds nothing.

        A tf.Graph has an op log of its own; what a given op log says of a node is taken before it.
        """
        if graph is None:
            return
        with pause_gc():
            if is_tf_graph(graph):
                if self._live is not None and self._live.is_still(graph):
                    return
                self._live, self._live_op_log = read_tf_graph(graph), None
                self.details = replace(self.details, keeps_shapes=True)
                graph = self._live.definition
            sealed = as_sealed(graph, "GraphDef", "graph")
            columns = read_graph(sealed, self.shapes, self._known())
        self._add_nodes(columns, sealed)

    def add_functions(
        self,
        functions: Iterable[tuple[str, Any]],
        traces: Sequence[TraceTable] = (),
        better_names: BetterNames = NO_BETTER_NAMES,
        data_functions: Iterable[tuple[str, Any]] = (),
    ) -> None:
        """Add functions with their captured variables, the functions that they call, and their runs in the traces.

        `functions` and `data_functions`, which `tf.data` calls, are pairs of the runtime's name and the FuncGraph. As
        with a tf.Graph, what a given op log says of a node is taken before what the functions say.
        """
        with pause_gc():
            graphs = read_functions(
                functions, self.stacks, better_names, self.reading, data_functions, costs_of_functions(traces)
            )
            columns = read_graph(graphs.definition, self.shapes, self._known())
            found = resolve(traces, graphs, columns, self.shapes, self._input_shapes, self._threads)
        for node, op in found.ops.items():
            if op.stack:
                graphs.op_log.stack.setdefault(node, self.stacks.of_lines(op.stack))
            if op.float_ops:
                graphs.op_log.float_ops.setdefault(node, round(op.float_ops / op.runs))
        self._function_op_log = graphs.op_log
        self._add_nodes(columns, graphs.definition)
        self.runs += found.runs
        self.step_names.update(found.step_names)
        self.allocators += [allocator for trace in traces for allocator in trace.allocators]
        self.accelerators.update(each for trace in traces for each in trace.accelerators)
        self.memory_in_part |= any(not trace.accelerators for trace in traces)
        self.data_stages.update((each.node, each) for trace in traces for each in trace.stages)  # the last ones hold
        self.kernel_runs += found.kernel_runs
        for step, transfer in found.transfers:
            self.transfers.add(step, [transfer])
        self.misses_accelerator_stream |= any(misses_streams(run.devices) for _, run in found.runs)
        self._kernels, self._compiled = found.kernels, found.compiled
        self._function_stacks += found.stacks_of_steps
        self._graphs_of_steps.update(found.graphs_of_steps)
        self._float_ops.update(found.float_ops)

    def add_op_log(self, op_log: Any) -> None:
        """Add what `op_log` says of the nodes that were added so far; None adds nothing."""
        if op_log is None:
            return
        with pause_gc():
            sealed = as_sealed(op_log, "OpLogProto", "op_log")
            if self.is_live:
                sealed = last_entries(sealed)
            self.op_logs.append(read_op_log(sealed, self.stacks, self._known()))

    def add_checkpoint(self, path: str | PathLike[str] | None) -> None:
        """Take values of variables from a TensorFlow checkpoint; None adds nothing."""
        if path is not None:
            self.checkpoint = open_checkpoint(path)

    def add_profile(self, profile: Any, but_steps: Iterable[int] = ()) -> None:
        """Add a saved profile, a ProfileProto: its nodes and steps that are new, and what it says of its nodes.

        Steps in `but_steps` are left out too.
        """
        with pause_gc():
            message = as_message(profile, "ProfileProto", "profile")
            known_steps = {step for step, _ in self.runs} | set(but_steps)
            known = self._known(), known_steps, self._saved_float_ops
            stored = read_stored_profile(message, self.shapes, self.stacks, *known)
            sealed = as_sealed(stored.graph, "GraphDef", "profile")
        self._add_nodes(stored.nodes, sealed)
        self._saved_float_ops = stored.op_log.float_ops | self._saved_float_ops
        self.op_logs.append(replace(stored.op_log, float_ops=self._saved_float_ops))
        self._saved_stacks += stored.stacks_of_steps
        self._float_ops.update(stored.float_ops)
        self._saved.append(message)
        self.runs.extend((step, run.over(self.names)) for step, run in stored.runs)
        self.allocators += [_stored(Allocator, each) for each in message.allocators]
        self.accelerators.update(_stored(Accelerator, each) for each in message.accelerators)
        self.kernel_runs += [KernelRuns(*_KERNEL_RUNS(each)) for each in message.kernel_runs]
        for step, transfer in stored_transfers(message):
            if step in message.steps and step not in known_steps:
                self.transfers.add(step, [transfer])
        self.misses_accelerator_stream |= stored.misses_accelerator_stream

    def read(self, run_meta: Any) -> ReadRun:
        """Read a RunMetadata, which may be added later, and keep the details that it has of nodes.

        >>> from tfprof_widget.demo import recorded
        >>> len(Gathered().read(recorded("run_meta")).table)
        31
        """
        with pause_gc():
            sealed = as_sealed(run_meta, "RunMetadata", "run_meta")
            return read_run(sealed, self.details, self._in_graph).over(self.names)

    def add_step(self, step: int, run_meta: Any, name: str = "", *, belongs: bool = False) -> None:
        """Add a run; several runs of one step are added up, but the same run twice is refused.

        `name` is the name of what ran, for `run_name_regexes`. It is checked that the run is one of the graph, unless
        `belongs` says that this is known.

        A node that the graph lacks is added with its name as its op, as in native tfprof. If the run belongs, the node
        is added with the op that ran: bodies of loops and functions have such nodes.
        """
        self.add_run(step, self.read(run_meta), name, belongs=belongs)

    def add_run(self, step: int, read: ReadRun, name: str = "", *, belongs: bool = False) -> None:
        """Add a run that was read before, as `add_step` does."""
        check_step(step)
        with pause_gc():
            run = read.table_over(self.names, self.shapes)
        digest = (step, run.digest)
        if len(run) and digest in self._added:
            raise value_error(
                f"step {step}: this run_meta is already in the profile under that step, "
                "and would count twice; give each run a step of its own"
            )
        if belongs:
            run = self._as_before_optimizer(run)
        nodes = [node for node in run.executed if may_be_node(node)]
        if self._in_graph and not belongs:
            check_belonging(nodes, self._in_graph)
        for node in nodes:
            if node not in self._in_graph and node not in self._ghosts:
                self._ghosts.add(node)
                self.nodes.add(node, (belongs and self.details.ops.get(node)) or node)
        self.runs.append((step, run))
        self.transfers.add(step, read.transfers)
        self.allocators = list(fullest([*self.allocators, *read.allocators]))
        self.misses_accelerator_stream |= misses_streams(run.devices)
        self._added.add(digest)
        self.step_names[step] = name or self.step_names.get(step, "")
        self._live_op_log = None  # the op log depends on shapes, which this run may complete

    def _as_before_optimizer(self, run: RunTable) -> RunTable:
        """The run with the executions of nodes that Grappler made given to the nodes that it made them from."""
        made = {
            name: before
            for name in run.executed
            if name not in self._in_graph
            and (before := next((each for each in names_before_optimizer(name) if each in self._in_graph), None))
        }
        if not made:
            return run
        for name, before in made.items():
            self.details.take_kernel_of(name, before)
            self.names.code(before)
        return run.renamed(self.names, made)

    @property
    def is_live(self) -> bool:
        """Whether a graph of this process was added; such a graph tells of its nodes what an op log would."""
        return self._live is not None or self._function_op_log is not None

    @property
    def formulas(self) -> Literal["all", "ran", "registered"]:
        """Which FLOP formulas count: with an op log but no live graph for what ran only; a saved profile has counts."""
        if self.is_live or not self.op_logs:
            return "all"
        return "registered" if self._saved else "ran"

    def tables(self) -> ProfileTables:
        """The tables of everything added so far."""
        with pause_gc():
            op_logs, nodes = list(self.op_logs), self.nodes
            completed: dict[str, OutputShapes] = {}
            if self._live is not None:
                completed = completed_output_shapes(self._live, self.details.shapes)
                if self._live_op_log is None:
                    self._live_op_log = live_op_log(self._live, completed, self.stacks, self.reading)
            live = (self._function_op_log, self._live_op_log)
            op_logs += [known.beside(self.op_logs) for known in live if known is not None]
            if completed and self.completes_shapes:
                nodes = nodes.with_output_shapes(completed, self.shapes)
            if self.checkpoint is not None:
                op_logs.append(NodeDetails(types={name: [CHECKPOINT_VARIABLES] for name in self.checkpoint.shapes}))
            tables = tables_of(
                nodes,
                self.runs,
                self.step_names,
                op_logs,
                self.shapes.known,
                self.stacks,
                self.transfers,
                [*(each.beside(self.op_logs) for each in self._function_stacks), *self._saved_stacks],
                self._graphs_of_steps,
                self._float_ops,
                input_shapes=tuple(self._input_shapes),
                thread_names=self._threads.names,
                graphs=tuple(self.graphs),
                misses_accelerator_stream=self.misses_accelerator_stream,
                checkpoint=self.checkpoint,
                kernels=self.details.rewired(nodes) | self.details.kernels(self._in_graph) | self._kernels,
                compiled=self._compiled,
                allocator_peaks=fullest(self.allocators),
                accelerators=tuple(sorted(self.accelerators)),
                kernel_runs=added_up(self.kernel_runs),
                data_stages=tuple(self.data_stages.values()),
                memory_in_part=self.memory_in_part,
            )
            # What explains the cell and is kept of its run is of one capture, and can be put beside nothing else.
            return with_kept_run(with_account(tables, *self._saved), *self._saved) if len(self._saved) == 1 else tables

    def _add_nodes(self, columns: NodeTable, sealed: Any) -> None:
        self.nodes.extend(columns)
        self._in_graph.update(columns.names)
        if columns.names:
            self.graphs.append(sealed)

    def _known(self) -> AbstractSet[str]:
        return self._in_graph | self._ghosts if self._ghosts else self._in_graph


def gathered_of(graph: Any, run_metas: Any, op_log: Any, checkpoint: Any, *, with_called: bool) -> Gathered:
    """All that is in a graph, runs, an op log and a checkpoint, each of which may be None.

    `run_metas` is one run, a list of them, or a dict from step to one or more. A function's graph is read with its
    variables and the functions that it calls if that is asked for.

    >>> gathered_of(b"", None, None, None, with_called=True).tables().steps
    ()
    """
    if hasattr(graph, "get_concrete_function"):
        raise ProfileError(
            "graph: got a tf.function, which has a graph for each kind of arguments; "
            "give one of them, f.get_concrete_function(...).graph, or profile a call with %%tfprof"
        )
    gathered = Gathered()
    if with_called and captures_resources(graph):
        gathered.add_functions([(graph.name, graph)])
    else:
        gathered.add_graph(graph)
    if not isinstance(run_metas, Mapping):
        listed = run_metas if isinstance(run_metas, list | tuple) else [] if run_metas is None else [run_metas]
        run_metas = dict(enumerate(listed))
    for step, given in run_metas.items():
        for run_meta in given if isinstance(given, list | tuple) else [given]:
            gathered.add_step(step, run_meta)
    gathered.add_op_log(op_log)
    gathered.add_checkpoint(checkpoint)
    return gathered

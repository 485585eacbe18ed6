"""Gathers graphs, functions, runs, op logs and saved profiles into one set of tables."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Container, Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from os import PathLike
from typing import Any, Literal

from tfprof_widget.ingest.assemble import tables_of
from tfprof_widget.ingest.live.functions import read_functions
from tfprof_widget.ingest.live.graph import (
    CHECKPOINT_VARIABLES,
    LiveGraph,
    OutputShapes,
    completed_output_shapes,
    is_tf_graph,
    open_checkpoint,
    read_tf_graph,
)
from tfprof_widget.ingest.live.op_log import READING, Reading, live_op_log
from tfprof_widget.ingest.parts.names import NO_BETTER_NAMES, BetterNames, ExecutedNames, may_be_node
from tfprof_widget.ingest.parts.nodes import NodeTable, Shapes, read_graph
from tfprof_widget.ingest.parts.runs import NodeNames, RunTable
from tfprof_widget.ingest.parts.stacks import NodeDetails, StackBuilder, last_entries, read_op_log
from tfprof_widget.ingest.parts.transfers import TransferRows, stored_transfers
from tfprof_widget.ingest.run_metadata import KernelLabels, ReadRun, executed_ops
from tfprof_widget.ingest.saved_profile import read_stored_profile
from tfprof_widget.ingest.xspace.executions import named_transfers, tensor_sizes
from tfprof_widget.ingest.xspace.reader import TraceTable
from tfprof_widget.ingest.xspace.resolve import _compiled, _kernels, _take_executed, is_compiled, resolved_runs
from tfprof_widget.lib.errors import ProfileError, ProfileWarning
from tfprof_widget.lib.messages import as_message, as_sealed
from tfprof_widget.lib.safely import pause_gc
from tfprof_widget.profiles.data import ProfileTables
from tfprof_widget.profiles.devices import misses_streams
from tfprof_widget.profiles.options import check_step
from tfprof_widget.profiles.tables import Checkpoint, ExecutedKernel

_FOLDED = "ConstantFolding/"
_FED_OR_FETCHED = re.compile(r"_(?:arg|retval)_(.+)_\d+_\d+", re.DOTALL)


def check_belonging(ran: Iterable[str], graph: Container[str]) -> None:
    """Refuse a run of which no node belongs to the graph; warn of one of which most do not.

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
    """The name that the runtime made this one of; one that starts with `_` is the runtime's own."""
    fed = _FED_OR_FETCHED.fullmatch(name)
    return fed[1] if fed else name.removeprefix(_FOLDED)


def _belongs(name: str, graph: Container[str]) -> bool:
    while name:
        if name in graph:
            return True
        name = name.rpartition("/")[0]
    return False


OpsOf = Callable[[set[str]], Mapping[str, str]]


class Gathered:
    """Graphs, steps and op logs as they come; `tables` gives those of all that came so far.

    What a live graph does not give is noted. Shapes that it does not know are completed from its runs: always where
    FLOPs are counted, and where inputs are shown unless `completes_shapes` is false.

    >>> gathered = Gathered()
    >>> gathered.add_graph(b"")
    >>> gathered.tables().nodes.names
    ()
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
        self.kernels: dict[str, ExecutedKernel] = {}
        self.transfers = TransferRows()
        self._in_graph: set[str] = set()
        self._ghosts: set[str] = set()
        self._added: set[tuple[int, bytes]] = set()
        self._live: LiveGraph | None = None
        self._live_op_log: NodeDetails | None = None
        self._function_op_log: NodeDetails | None = None
        self._completed: dict[str, OutputShapes] = {}

    def add_graph(self, graph: Any) -> None:
        """Add the nodes that are new in `graph`; None adds nothing.

        A tf.Graph brings its own op log; what a given one says of a node goes before it.
        """
        if graph is None:
            return
        with pause_gc():
            if is_tf_graph(graph):
                if self._live is not None and self._live.is_still(graph):
                    return
                self._live, self._live_op_log = read_tf_graph(graph), None
                graph = self._live.definition
            sealed = as_sealed(graph, "GraphDef", "graph")
            columns = read_graph(sealed, self.shapes, self._known())
        self._add_nodes(columns, sealed)

    def add_function(self, graph: Any) -> None:
        """Add the graph of a function with the variables that it captures, and with what it calls.

        As with a tf.Graph, what a given op log says of a node goes before what is known of it here.
        """
        with pause_gc():
            found = read_functions([(graph.name, graph)], self.stacks, reading=self.reading)
            sealed = as_sealed(found.definition, "GraphDef", "graph")
            columns = read_graph(sealed, self.shapes, self._known())
        self._function_op_log = found.op_log
        self._add_nodes(columns, sealed)

    def add_op_log(self, op_log: Any) -> None:
        """Add what `op_log` says of the nodes that are known by now; None adds nothing."""
        if op_log is None:
            return
        with pause_gc():
            sealed = as_sealed(op_log, "OpLogProto", "op_log")
            if self.is_live:
                sealed = last_entries(sealed)
            self.op_logs.append(read_op_log(sealed, self.stacks, self._known()))

    def add_checkpoint(self, path: str | PathLike[str] | None) -> None:
        """Take variables' values from a TensorFlow checkpoint; None adds nothing."""
        if path is not None:
            self.checkpoint = open_checkpoint(path)

    def add_profile(self, profile: Any, but_steps: Iterable[int] = ()) -> None:
        """Add a saved profile, a ProfileProto: the nodes and steps in it that are new, and what it says of its nodes.

        `but_steps` are left out as well.
        """
        with pause_gc():
            message = as_message(profile, "ProfileProto", "profile")
            known_steps = {step for step, _ in self.runs} | set(but_steps)
            stored = read_stored_profile(message, self.shapes, self.stacks, self._known(), known_steps)
            sealed = as_sealed(stored.graph, "GraphDef", "profile")
        self._add_nodes(stored.nodes, sealed)
        self.op_logs.append(stored.op_log)
        self.runs.extend((step, run.over(self.names)) for step, run in stored.runs)
        for step, transfer in stored_transfers(message):
            if step in message.steps and step not in known_steps:
                self.transfers.add(step, [transfer])
        self.misses_accelerator_stream |= stored.misses_accelerator_stream

    def add_step(self, step: int, run_meta: Any, name: str = "", *, belongs: bool = False) -> None:
        """Add a run; several runs of one step are added up, but the same run twice is refused.

        `name` tells what ran, for `run_name_regexes`. That the run is one of the graph is checked, unless it is known
        that it `belongs`.

        A node that the graph lacks is added with its name for an op, as natively; of a run that belongs, with the op
        that ran, for the bodies of loops and functions are such nodes.
        """
        labels = KernelLabels()
        with pause_gc():
            sealed = as_sealed(run_meta, "RunMetadata", "run_meta")
            read = ReadRun.of(sealed)
            labels.read(sealed, self._in_graph)
        self.add_run(step, read, name, ops_of=partial(executed_ops, sealed) if belongs else None)
        self.add_kernels(labels)
        if self._live is not None:
            message = as_message(run_meta, "RunMetadata", "run_meta")
            self._completed = completed_output_shapes(self._live, [message]) | self._completed
            self._live_op_log = None

    def add_run(self, step: int, read: ReadRun, name: str = "", *, ops_of: OpsOf | None = None) -> None:
        """Add a run that is read already, as `add_step` does; `ops_of` tells the ops of nodes of a run that belongs."""
        check_step(step)
        with pause_gc():
            run = read.columns_over(self.names, self.shapes)
        digest = (step, run.digest)
        if len(run) and digest in self._added:
            raise ValueError(
                f"step {step}: this run_meta is already in the profile under that step, "
                "and would count twice; give each run a step of its own"
            )
        nodes = [node for node in read.columns.executed if may_be_node(node)]
        if self._in_graph and ops_of is None:
            check_belonging(nodes, self._in_graph)
        ghosts = [node for node in nodes if node not in self._in_graph and node not in self._ghosts]
        ran = ops_of(set(ghosts)) if ops_of is not None and ghosts else {}
        for node in ghosts:
            self._ghosts.add(node)
            self.nodes.add(node, ran.get(node, node))
        self.runs.append((step, run))
        self.transfers.add(step, read.transfers)
        self.misses_accelerator_stream |= misses_streams(run.devices)
        self._added.add(digest)
        self.step_names[step] = name or self.step_names.get(step, "")

    def add_kernels(self, labels: KernelLabels) -> None:
        """Add what the labels of runs tell of kernels that is new."""
        self.kernels = labels.kernels(self._in_graph) | self.kernels

    @property
    def is_live(self) -> bool:
        """Whether a graph of this process is among them, which tells of its nodes what an op log would."""
        return self._live is not None or self._function_op_log is not None

    @property
    def formulas(self) -> Literal["all", "registered"]:
        """Whose FLOP formulas count: an op log that comes without a live graph says all there is to say."""
        return "registered" if self.op_logs and not self.is_live else "all"

    def tables(self) -> ProfileTables:
        """The tables of everything added so far."""
        with pause_gc():
            op_logs, nodes = list(self.op_logs), self.nodes
            if self._live is not None and self._live_op_log is None:
                self._live_op_log = live_op_log(self._live, self._completed, self.stacks, self.reading)
            for known in (self._function_op_log, self._live_op_log):
                if known is not None:
                    op_logs.append(known.beside(self.op_logs))
            if self._completed and self.completes_shapes:
                nodes = nodes.with_output_shapes(self._completed, self.shapes)
            if self.checkpoint is not None:
                saved = NodeDetails(types={name: [CHECKPOINT_VARIABLES] for name in self.checkpoint.shapes})
                op_logs.append(saved)
            return tables_of(
                nodes,
                self.runs,
                self.step_names,
                op_logs,
                self.shapes.known,
                self.stacks,
                self.transfers,
                graphs=tuple(self.graphs),
                misses_accelerator_stream=self.misses_accelerator_stream,
                checkpoint=self.checkpoint,
                kernels=self.kernels,
            )

    def _add_nodes(self, columns: NodeTable, sealed: Any) -> None:
        self.nodes.extend(columns)
        self._in_graph.update(columns.names)
        if columns.names:
            self.graphs.append(sealed)

    def _known(self) -> AbstractSet[str]:
        return self._in_graph | self._ghosts if self._ghosts else self._in_graph


def tables_of_functions(
    functions: Iterable[tuple[str, Any]],
    traces: Iterable[TraceTable],
    words: BetterNames = NO_BETTER_NAMES,
    reading: Reading = READING,
) -> tuple[ProfileTables, int]:
    """The tables of what the traces hold, and how many events TensorFlow dropped.

    `functions` are the FuncGraphs by the runtime's names for them; a step is in one trace only. What cannot be read of
    a function is noted.

    >>> from tfprof_widget.ingest.xspace.reader import read_xspace
    >>> tables, dropped = tables_of_functions([], [read_xspace(b"")])
    >>> tables.nodes.names, dropped
    ((), 0)
    """
    shapes, stacks = Shapes(), StackBuilder()
    with pause_gc():
        graphs = read_functions(functions, stacks, words, reading)
        sealed = as_sealed(graphs.definition, "GraphDef", "graph")
        columns = read_graph(sealed, shapes)
        runs: list[tuple[int, RunTable]] = []
        ops: dict[str, str] = {}
        variants: dict[str, str] = {}
        kernels: dict[str, ExecutedKernel] = {}
        names: dict[int, str] = {}
        executed: dict[str, None] = {}
        dropped = 0
        transfers = TransferRows()
        executed_names = ExecutedNames(graphs.nodes, graphs.layers)
        sizes = partial(tensor_sizes, columns=columns, shapes=shapes.known, graph=sealed)
        for trace in traces:
            named = resolved_runs(trace, executed_names, ops)
            for step, transfer in named_transfers(trace.exchanges, executed_names, sizes):
                transfers.add(step, [transfer])
            runs += named.runs
            ops = named.ops
            variants |= named.variants
            kernels = _kernels(named) | kernels
            dropped += trace.dropped
            names.update(trace.step_names)
            executed.update(dict.fromkeys(label.op for label in trace.labels if is_compiled(label)))
        _take_executed(columns, ops, variants)
        stack, forward = graphs.op_log.stack, graphs.op_log.forward
        stack.update({name: stack[node] for name, node in variants.items() if node in stack})
        forward.update({name: forward[node] for name, node in variants.items() if node in forward})
        misses = any(misses_streams(run.devices) for _, run in runs)
        tables = tables_of(
            *(columns, runs, names, [graphs.op_log], shapes.known, stacks, transfers),
            graphs=(sealed,),
            misses_accelerator_stream=misses,
            kernels=kernels,
            compiled=_compiled(graphs, executed, ops),
        )
        return tables, dropped

"""Gathers what is given of a graph and its runs, one piece after another, for a Profile to be assembled from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.ingest.belonging import check_belonging
from tfprof_widget.ingest.checkpoints import CHECKPOINT_VARIABLES, open_checkpoint
from tfprof_widget.ingest.collector import collector_paused
from tfprof_widget.ingest.devices import misses_streams
from tfprof_widget.ingest.executed_kernels import KernelLabels
from tfprof_widget.ingest.graph_def import GraphColumns, read_graph
from tfprof_widget.ingest.live_op_log import READING, Reading, live_op_log
from tfprof_widget.ingest.op_log import OpLogColumns, Stacks, last_entries, read_op_log
from tfprof_widget.ingest.read_runs import ReadRun
from tfprof_widget.ingest.run_columns import NodeNames, RunColumns
from tfprof_widget.ingest.run_metadata import executed_ops, may_be_node
from tfprof_widget.ingest.shapes import Shapes
from tfprof_widget.ingest.stored_profile import read_stored_profile
from tfprof_widget.ingest.tf_functions import read_functions
from tfprof_widget.ingest.tf_graph import LiveGraph, is_tf_graph, read_tf_graph
from tfprof_widget.ingest.tf_shapes import OutputShapes, completed_output_shapes
from tfprof_widget.ingest.transfers import TransferRows, stored_transfers
from tfprof_widget.ingest.wire import as_message, as_sealed
from tfprof_widget.options import check_step
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Checkpoint, Kernel

OpsOf = Callable[[set[str]], Mapping[str, str]]


class Parts:
    """Graphs, steps and op logs as they come; `assemble` makes the profile of all that came so far.

    What a live graph does not give is noted. Shapes that it does not know are completed from its runs: always where
    FLOPs are counted, and where inputs are shown unless `completes_shapes` is false.

    >>> parts = Parts()
    >>> parts.add_graph(b"")
    >>> parts.assemble()
    Profile(0 nodes, 0 executions, 0 steps)
    """

    def __init__(self, *, completes_shapes: bool = True, reading: Reading = READING) -> None:
        self.completes_shapes = completes_shapes
        self.reading = reading
        self.shapes = Shapes()
        self.stacks = Stacks()
        self.nodes = GraphColumns()
        self.names = NodeNames()
        self.op_logs: list[OpLogColumns] = []
        self.runs: list[tuple[int, RunColumns]] = []
        self.step_names: dict[int, str] = {}
        self.graphs: list[Any] = []
        self.checkpoint: Checkpoint | None = None
        self.misses_accelerator_stream = False
        self.kernels: dict[str, Kernel] = {}
        self.transfers = TransferRows()
        self._in_graph: set[str] = set()
        self._ghosts: set[str] = set()
        self._added: set[tuple[int, bytes]] = set()
        self._live: LiveGraph | None = None
        self._live_op_log: OpLogColumns | None = None
        self._function_op_log: OpLogColumns | None = None
        self._completed: dict[str, OutputShapes] = {}

    def add_graph(self, graph: Any) -> None:
        """Add the nodes that are new in `graph`; None adds nothing.

        A tf.Graph brings its own op log; what a given one says of a node goes before it.
        """
        if graph is None:
            return
        with collector_paused():
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
        with collector_paused():
            found = read_functions([(graph.name, graph)], self.stacks, reading=self.reading)
            sealed = as_sealed(found.definition, "GraphDef", "graph")
            columns = read_graph(sealed, self.shapes, self._known())
        self._function_op_log = found.op_log
        self._add_nodes(columns, sealed)

    def add_op_log(self, op_log: Any) -> None:
        """Add what `op_log` says of the nodes that are known by now; None adds nothing."""
        if op_log is None:
            return
        with collector_paused():
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
        with collector_paused():
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
        with collector_paused():
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
        with collector_paused():
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

    def assemble(self) -> Profile:
        """The profile of everything added so far."""
        with collector_paused():
            op_logs, nodes = list(self.op_logs), self.nodes
            if self._live is not None and self._live_op_log is None:
                self._live_op_log = live_op_log(self._live, self._completed, self.stacks, self.reading)
            for known in (self._function_op_log, self._live_op_log):
                if known is not None:
                    op_logs.append(known.beside(self.op_logs))
            if self._completed and self.completes_shapes:
                nodes = nodes.with_output_shapes(self._completed, self.shapes)
            if self.checkpoint is not None:
                saved = OpLogColumns(types={name: [CHECKPOINT_VARIABLES] for name in self.checkpoint.shapes})
                op_logs.append(saved)
            profile = assemble(
                nodes,
                self.runs,
                self.step_names,
                op_logs,
                self.shapes.known,
                self.stacks,
                tuple(self.graphs),
                misses_accelerator_stream=self.misses_accelerator_stream,
            )
        transfers = self.transfers.joined(profile.nodes.names, profile.steps)
        return replace(profile, checkpoint=self.checkpoint, kernels=self.kernels, transfers=transfers)

    def _add_nodes(self, columns: GraphColumns, sealed: Any) -> None:
        self.nodes.extend(columns)
        self._in_graph.update(columns.names)
        if columns.names:
            self.graphs.append(sealed)

    def _known(self) -> AbstractSet[str]:
        return self._in_graph | self._ghosts if self._ghosts else self._in_graph

"""The Profile: everything known of a graph and its runs, as columns; views of it are made on demand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

from tfprof_widget.errors import ProfileError
from tfprof_widget.memory import Memory
from tfprof_widget.tables import (
    Allocations,
    Checkpoint,
    Executions,
    Kernel,
    Nodes,
    Outputs,
    Runs,
    StepTotals,
    Traces,
    Transfers,
)

if TYPE_CHECKING:
    import pandas

    from tfprof_widget.advisor.advice import Advice
    from tfprof_widget.cluster.summary import ClusterSummary
    from tfprof_widget.engine.view import View
    from tfprof_widget.flops.coverage import FlopsCoverage
    from tfprof_widget.widget import TfprofWidget


@dataclass(frozen=True, eq=False)
class Profile:
    """A graph's nodes and what was measured of them, as tables of columns.

    `step_names` tell what ran in each step, empty where that is not known. `graphs` are the graphs as they
    were read, for what no column holds (the attributes of nodes), and `checkpoint` holds variables' values.
    `kernels` are what ran in place of nodes' own ops, by name, where a run tells; `compiled` are, by the names of
    functions that XLA compiled to one op each, the nodes that it stands for. `transfers` are what devices got from
    each other. `step_workers` says of each step which worker ran it, and is empty where all are one process's; a step
    number then stands once for each worker that ran it. `runs` are what the executions were recorded in.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> profile
    Profile(81 nodes, 30 executions, 1 step)
    >>> profile.view("op", show_name_regexes=["MatMul"]).names
    ('MatMul',)
    """

    nodes: Nodes
    steps: tuple[int, ...]
    step_names: tuple[str, ...]
    executions: Executions
    outputs: Outputs
    allocations: Allocations
    step_totals: StepTotals
    traces: Traces
    graphs: tuple[Any, ...]
    misses_accelerator_stream: bool = False
    checkpoint: Checkpoint | None = field(default=None, repr=False)
    kernels: Mapping[str, Kernel] = field(default_factory=dict, repr=False)
    compiled: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)
    transfers: Transfers = field(default_factory=Transfers.none, repr=False)
    step_workers: tuple[str, ...] = ()
    runs: Runs = field(default_factory=Runs.none, repr=False)
    memory: Memory = field(default_factory=Memory, repr=False)

    @classmethod
    def from_protos(
        cls,
        graph: Any = None,
        run_metas: Any = (),
        op_log: Any = None,
        checkpoint: str | PathLike[str] | None = None,
        *,
        own_formulas: bool = True,
    ) -> Profile:
        """Build a profile from a GraphDef, RunMetadata and an OpLogProto: messages or their bytes.

        `run_metas` is one RunMetadata, a list of them (steps 0, 1, ...), or a dict from step to one or more.
        A tf.Graph is taken too, with its own traces, variables and FLOPs; what an `op_log` says goes before these.
        `checkpoint` is the path of a TensorFlow checkpoint: its variables get the type `_checkpoint_variables`, and
        `tensor_value` shows their values. That takes TensorFlow. The graph of a tf.function is taken with the variables
        that it captures, under their names, and with the ops of the functions that it calls.

        Unless an `op_log` comes without a tf.Graph, our own formulas count the float operations for which TensorFlow
        has none. With `own_formulas` false only TensorFlow's do, and a function's graph is read as it is, as native
        tfprof does.

        >>> Profile.from_protos(b"")
        Profile(0 nodes, 0 executions, 0 steps)
        """
        from tfprof_widget.flops.filling import assembled, with_registered_flops
        from tfprof_widget.ingest.parts import Parts
        from tfprof_widget.ingest.tf_variables import captures_resources

        if hasattr(graph, "get_concrete_function"):
            raise ProfileError(
                "graph: got a tf.function, which has a graph for each kind of arguments; "
                "give that of one, f.get_concrete_function(...).graph, or see it run with %%tfprof"
            )
        parts = Parts()
        if own_formulas and captures_resources(graph):
            parts.add_function(graph)
        else:
            parts.add_graph(graph)
        for step, run_meta in _by_step(run_metas):
            parts.add_step(step, run_meta)
        parts.add_op_log(op_log)
        parts.add_checkpoint(checkpoint)
        return assembled(parts) if own_formulas else with_registered_flops(parts.assemble())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Profile:
        """Read a profile that was saved, here or by native tfprof, or anything else that `tfprof_widget.load` reads.

        >>> Profile.load("no_such_file")
        Traceback (most recent call last):
            ...
        tfprof_widget.errors.ProfileError: cannot read 'no_such_file': there is no such file; ...
        """
        from tfprof_widget.loading.load import load

        return load(path)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the profile as a ProfileProto, as native tfprof does; a name that ends in `.gz` is compressed.

        It holds times in whole microseconds: a view of what is loaded again is one with `timing="tfprof"`.

        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from tfprof_widget.demo import demo_profile
        >>> with TemporaryDirectory() as directory:
        ...     demo_profile().save(Path(directory, "profile_0"))
        ...     Profile.load(Path(directory, "profile_0"))
        Profile(81 nodes, 30 executions, 1 step)
        """
        from tfprof_widget.output.saved import save

        save(self, path)

    @property
    def workers_of_steps(self) -> tuple[str, ...]:
        """The worker of each step, without a name where all are one process's.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().workers_of_steps
        ('',)
        """
        return self.step_workers or ("",) * len(self.steps)

    @property
    def has_traces(self) -> bool:
        """Whether it is known of any node in which Python stack it was created, as the code view needs.

        >>> Profile.from_protos(b"").has_traces
        False
        """
        return bool((self.traces.stack >= 0).any())

    def flops_coverage(self, **options: Any) -> FlopsCoverage:
        """For which share of the time float operations are known, and which op types lack a formula or shapes.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().flops_coverage().op_types[0].op
        'MatMul'
        """
        from tfprof_widget.flops.coverage import flops_coverage

        return flops_coverage(self, **options)

    def advice(self) -> Advice:
        """What every checker says of the profile, as the widget's tab shows it: print it, or take its `reports`.

        >>> from tfprof_widget.demo import demo_profile
        >>> [checker for checker, reports in demo_profile().advice().reports.items() if reports]
        ['ExpensiveOperationChecker']
        """
        from tfprof_widget.advisor.advice import advice_on

        return advice_on(self)

    def cluster(self) -> ClusterSummary | None:
        """What the tasks of a cluster did, sent each other and waited for; None of one task that moved nothing.

        >>> from tfprof_widget.demo import demo_profile
        >>> print(demo_profile().cluster())
        None
        """
        from tfprof_widget.cluster.summary import summary

        return summary(self)

    def with_flops(self, *, multiply_accumulates: bool = False) -> Profile:
        """The profile with float operations wherever there is a formula, or with multiply-accumulates in their place.

        >>> from tfprof_widget.demo import demo_profile
        >>> profile = demo_profile()
        >>> row = profile.nodes.names.index("gradients/layer1/MatMul_grad/MatMul_1")
        >>> int(profile.nodes.float_ops[row]) // int(profile.with_flops(multiply_accumulates=True).nodes.float_ops[row])
        2
        """
        from tfprof_widget.flops.filling import with_flops

        return with_flops(self, multiply_accumulates=multiply_accumulates)

    def view(self, view: str = "scope", **options: Any) -> View:
        """The rows of one of tfprof's views under the given options; what is not given takes its default.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().view("op", order_by="micros", max_depth=0).names
        ('MatMul',)
        """
        from tfprof_widget.engine.evaluate import evaluate
        from tfprof_widget.options import Options
        from tfprof_widget.output.destination import parse_output

        if parse_output(options.get("output", "")).is_file:
            raise ValueError(
                "output: a view is not written when it is made; "
                "write its .text(), use its write_timeline or write_pprof, or use profile()"
            )
        return evaluate(self, view, Options.of(**options))

    def compare(self, view: str = "op", measure: str = "micros", **options: Any) -> pandas.DataFrame:
        """What each row of a view costs with each worker, the largest difference first; times are in microseconds.

        Of two workers there is the difference and the ratio, of more the mean and the slowest one's ratio to it. One
        whose name begins with before, base or old comes first, and is what the others are compared with.

        >>> from tfprof_widget import merge
        >>> from tfprof_widget.demo import demo_profile
        >>> list(merge({"after": demo_profile(), "before": demo_profile()}).compare("op"))
        ['name', 'before', 'after', 'difference', 'ratio']
        """
        from tfprof_widget.options import Options
        from tfprof_widget.output.comparison import compare

        return compare(self, view, measure, Options.of(**options))

    def widget(self, view: str = "scope", title: str = "", **options: Any) -> TfprofWidget:
        """The profile to look at in a notebook: tables, charts and timeline, with live options.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().widget("op", min_micros=10).min_micros
        10
        """
        from tfprof_widget.widget import TfprofWidget

        return TfprofWidget(self, view=view, title=title, **options)

    def __repr__(self) -> str:
        counts = {"node": len(self.nodes), "execution": len(self.executions), "step": len(self.steps)}
        return f"Profile({', '.join(_counted(count, noun) for noun, count in counts.items())})"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _by_step(run_metas: Any) -> list[tuple[int, Any]]:
    if run_metas is None:
        return []
    if isinstance(run_metas, Mapping):
        return [
            (step, run_meta)
            for step, given in run_metas.items()
            for run_meta in (given if isinstance(given, list | tuple) else [given])
        ]
    if isinstance(run_metas, list | tuple):
        return list(enumerate(run_metas))
    return [(0, run_metas)]

"""The Profile and its views, with the methods by which users look at them; `load` and `merge`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from os import PathLike
from typing import TYPE_CHECKING, Any

from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.data import ProfileData, table_values

if TYPE_CHECKING:
    import pandas

    from tfprof_widget.analysis.advisor.runner import Advice
    from tfprof_widget.analysis.cluster.summary import ClusterSummary
    from tfprof_widget.analysis.coverage import FlopsCoverage
    from tfprof_widget.ingest.files.find import AnyPath, Source
    from tfprof_widget.ingest.merging.merge import Captured
    from tfprof_widget.lib.messages import GraphNodeProto, MultiGraphNodeProto
    from tfprof_widget.widget.traits import TfprofWidget


class View(ViewData):
    """The rows of one of tfprof's views: text, messages, tables and files are made of them.

    >>> from tfprof_widget.demo import demo_profile
    >>> view = demo_profile().view("scope", max_depth=2, order_by="micros")
    >>> len(view), view.names[:2]
    (14, ('_TFProfRoot', 'gradients'))
    """

    profile: Profile

    @classmethod
    def of(cls, data: ViewData) -> View:
        """The rows as users hold them."""
        return cls(**{column.name: getattr(data, column.name) for column in fields(ViewData)})

    def to_dataframe(self) -> pandas.DataFrame:
        """The rows as a pandas DataFrame: names, depth, parent row, own and total values.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().view("op", order_by="micros").to_dataframe()[["name", "micros"]].head(1).values.tolist()
        [['MatMul', 123.195]]
        """
        from tfprof_widget.output.tabular import view_frame

        return view_frame(self)

    def text(self) -> str:
        """What tfprof prints for this view: help on the columns, then the rows."""
        from tfprof_widget.output.text import report

        return report(self)

    def proto(self) -> GraphNodeProto | MultiGraphNodeProto:
        """The rows as tfprof's message: a GraphNodeProto for scope and graph view, else a MultiGraphNodeProto."""
        from tfprof_widget.output.protos import view_proto

        return view_proto(self)

    def write_timeline(self, path: str | PathLike[str]) -> list[str]:
        """Write a timeline for chrome://tracing or Perfetto, and return the names of the files written.

        Of the graph view it shows when each op ran, of scope and code view the tree. The file is `path` exactly; with
        `{step}` in it there is one a step.

        >>> import tempfile
        >>> from tfprof_widget.demo import demo_profile
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     written = demo_profile().view("graph").write_timeline(f"{directory}/run_{{step}}.json")
        >>> written[0].rpartition("/")[2]
        'run_0.json'
        """
        from tfprof_widget.output.destination import write_timeline

        return write_timeline(self, path)

    def write_pprof(self, path: str | PathLike[str]) -> None:
        """Write a code view for the `pprof` tool, gzipped, with the measures that are selected.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().view("op").write_pprof("run.pb.gz")
        Traceback (most recent call last):
            ...
        ValueError: output pprof: the op view has no pprof output; choose the view code
        """
        from tfprof_widget.output.destination import write_pprof

        write_pprof(self, path)

    def __repr__(self) -> str:
        from tfprof_widget.output.text import summary

        return summary(self)

    def _repr_html_(self) -> str:
        from tfprof_widget.output.html import table

        return table(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class Profile(ProfileData):
    """A graph's nodes and what was measured of them: tables of columns, and tfprof's views of them.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> profile
    Profile(81 nodes, 30 executions, 1 step)
    >>> profile.view("op", show_name_regexes=["MatMul"]).names
    ('MatMul',)
    """

    @classmethod
    def of(cls, data: ProfileData) -> Profile:
        """The data as users hold it, with what was computed of it so far."""
        if isinstance(data, cls):
            return data
        profile = cls(**table_values(data))
        object.__setattr__(profile, "cache", data.cache)
        return profile

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
        from tfprof_widget.ingest.assemble import assemble
        from tfprof_widget.ingest.flops.counting import count_float_ops
        from tfprof_widget.ingest.gathered import Gathered
        from tfprof_widget.ingest.live.functions import captures_resources

        if hasattr(graph, "get_concrete_function"):
            raise ProfileError(
                "graph: got a tf.function, which has a graph for each kind of arguments; "
                "give that of one, f.get_concrete_function(...).graph, or see it run with %%tfprof"
            )
        gathered = Gathered()
        if own_formulas and captures_resources(graph):
            gathered.add_functions([(graph.name, graph)])
        else:
            gathered.add_graph(graph)
        for step, run_meta in _by_step(run_metas):
            gathered.add_step(step, run_meta)
        gathered.add_op_log(op_log)
        gathered.add_checkpoint(checkpoint)
        formulas = gathered.formulas if own_formulas else "registered"
        return cls.of(assemble(gathered.tables(), count_float_ops(formulas)))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Profile:
        """Read a profile that was saved, here or by native tfprof, or anything else that `tfprof_widget.load` reads.

        >>> Profile.load("no_such_file")
        Traceback (most recent call last):
            ...
        tfprof_widget.ProfileError: cannot read 'no_such_file': there is no such file; ...
        """
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

    def flops_coverage(self, **options: Any) -> FlopsCoverage:
        """For which share of the time float operations are known, and which op types lack a formula or shapes.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().flops_coverage().op_types[0].op
        'MatMul'
        """
        from tfprof_widget.analysis.coverage import flops_coverage

        return flops_coverage(self, **options)

    def advice(self) -> Advice:
        """What every checker says of the profile, as the widget's tab shows it: print it, or take its `reports`.

        >>> from tfprof_widget.demo import demo_profile
        >>> [checker for checker, reports in demo_profile().advice().reports.items() if reports]
        ['ExpensiveOperationChecker']
        """
        from tfprof_widget.analysis.advisor.runner import advice_on

        return advice_on(self)

    def cluster(self) -> ClusterSummary | None:
        """What the tasks of a cluster did, sent each other and waited for; None of one task that moved nothing.

        >>> from tfprof_widget.demo import demo_profile
        >>> print(demo_profile().cluster())
        None
        """
        from tfprof_widget.analysis.cluster.summary import summary

        return summary(self)

    def with_flops(self, *, multiply_accumulates: bool = False) -> Profile:
        """The profile with float operations wherever there is a formula, or with multiply-accumulates in their place.

        >>> from tfprof_widget.demo import demo_profile
        >>> profile = demo_profile()
        >>> row = profile.nodes.names.index("gradients/layer1/MatMul_grad/MatMul_1")
        >>> int(profile.nodes.float_ops[row]) // int(profile.with_flops(multiply_accumulates=True).nodes.float_ops[row])
        2
        """
        from tfprof_widget.ingest.assemble import assemble
        from tfprof_widget.ingest.flops.counting import count_float_ops

        return self.of(assemble(self, count_float_ops("multiply_accumulates" if multiply_accumulates else "all")))

    def view(self, view: str = "scope", **options: Any) -> View:
        """The rows of one of tfprof's views under the given options; what is not given takes its default.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().view("op", order_by="micros", max_depth=0).names
        ('MatMul',)
        """
        from tfprof_widget.engine.evaluate import evaluate
        from tfprof_widget.output.destination import parse_output
        from tfprof_widget.profiles.options import Options

        if parse_output(options.get("output", "")).is_file:
            raise ValueError(
                "output: a view is not written when it is made; "
                "write its .text(), use its write_timeline or write_pprof, or use profile()"
            )
        return View.of(evaluate(self, view, Options.of(**options)))

    def compare(self, view: str = "op", measure: str = "micros", **options: Any) -> pandas.DataFrame:
        """What each row of a view costs with each worker, the largest difference first; times are in microseconds.

        Of two workers there is the difference and the ratio, of more the mean and the slowest one's ratio to it. One
        whose name begins with before, base or old comes first, and is what the others are compared with.

        >>> from tfprof_widget import merge
        >>> from tfprof_widget.demo import demo_profile
        >>> list(merge({"after": demo_profile(), "before": demo_profile()}).compare("op"))
        ['name', 'before', 'after', 'difference', 'ratio']
        """
        from tfprof_widget.analysis.comparison import compare
        from tfprof_widget.profiles.options import Options

        return compare(self, view, measure, Options.of(**options))

    def widget(self, view: str = "scope", title: str = "", **options: Any) -> TfprofWidget:
        """The profile to look at in a notebook: tables, charts and timeline, with live options.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().widget("op", min_micros=10).min_micros
        10
        """
        from tfprof_widget.widget.traits import TfprofWidget

        return TfprofWidget(self, view=view, title=title, **options)


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


def load(source: Source, *, checkpoint: AnyPath | None = None, client: Any = None) -> Profile:
    """Load a profile from files: saved profiles, graphs, run metadata and op logs, together or alone; or XSpaces.

    `source` is a path, a pattern, a directory, any URL that fsspec knows, or a list of these. What a file is, it
    tells by its content: binary, text or gzip. Run metadata are steps by the number in `run_meta_<step>`, else 0,
    1, ... as they come. A step that is in several of the files counts once: as run metadata, or else as the first
    saved profile has it. In a directory, files that are none of all this are passed over. `checkpoint` is one of
    TensorFlow's. XSpaces are the `.xplane.pb` files of TensorFlow's own profiler; of a log directory of TensorBoard's
    the newest run is loaded. `client` is a `distributed.Client`: then the workers of its Dask cluster read the run
    metadata, which must lie where they can read it too.

    >>> from importlib.resources import files
    >>> recorded = files("tfprof_widget") / "recorded"
    >>> load(str(recorded))
    Profile(81 nodes, 30 executions, 1 step)
    >>> load([str(recorded / "graph.binpb"), str(recorded / "run_meta.binpb")]).has_traces
    False
    """
    from tfprof_widget.ingest.files.loading import loaded

    return Profile.of(loaded(source, checkpoint=checkpoint, client=client))


def merge(profiles: Mapping[str, ProfileData | Captured] | Iterable[ProfileData | Captured]) -> Profile:
    """One profile of several: of workers by name, or else of the parts of one profile.

    A mapping from names gives each profile's steps to the worker of that name; the options `worker_regexes` and
    `across_workers` tell them apart and put them together again. Two recordings of one program, such as one before a
    change and one after it, are compared that way too. Without names the profiles are parts: their steps stay what
    they are, and runs of one step are added up. In which order profiles come, and whether some were merged before,
    makes no difference, and no run may be in two of them. A capture counts as its profile.

    Runs of a step come in the order in which they started.

    >>> from tfprof_widget.demo import demo_profile
    >>> both = merge({"before": demo_profile(), "after": demo_profile()})
    >>> both.steps, both.step_workers
    ((0, 0), ('after', 'before'))
    >>> both.view("op").text() == demo_profile().view("op").text()
    True
    """
    from tfprof_widget.ingest.merging import merge as merging

    return Profile.of(merging.merge(profiles))

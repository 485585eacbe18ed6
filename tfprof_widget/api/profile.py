"""Defines Profile, with the methods by which users look at one, and the functions `load` and `merge`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from tfprof_widget.api.accounted import Accounted
from tfprof_widget.api.view import View
from tfprof_widget.lib.errors import value_error
from tfprof_widget.profiles.data import ProfileData, table_values

if TYPE_CHECKING:
    import altair
    import pandas

    from tfprof_widget.analysis.advisor.runner import Advice
    from tfprof_widget.analysis.cluster.summary import ClusterSummary
    from tfprof_widget.analysis.coverage import FlopsCoverage
    from tfprof_widget.ingest.files.find import AnyPath, Source
    from tfprof_widget.ingest.merging.merge import Captured
    from tfprof_widget.widget.traits import TfprofWidget


class Profile(ProfileData, Accounted):
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
        """A Profile of the same tables; it takes over the results that were computed from them so far."""
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
        `graph` may also be a tf.Graph, whose stacks, variables and FLOPs are read; an `op_log` takes precedence over
        these. `checkpoint` is the path of a TensorFlow checkpoint: its variables get the type `_checkpoint_variables`,
        and `tensor_value` shows their values; to read it, TensorFlow must be installed. The graph of a tf.function is
        read with the variables that it captures, under their names, and with the ops of the functions that it calls.

        Formulas of our own count the float operations for which TensorFlow has no formula; with an `op_log` and no
        tf.Graph only of what ran, and not with `timing="tfprof"`. With `own_formulas=False` there are only TensorFlow's
        formulas, and a function's graph is read without variables and called functions, as native tfprof reads it.

        >>> Profile.from_protos(b"")
        Profile(0 nodes, 0 executions, 0 steps)
        """
        from tfprof_widget.ingest.assemble import assemble
        from tfprof_widget.ingest.flops.counting import count_float_ops
        from tfprof_widget.ingest.gathered import gathered_of

        gathered = gathered_of(graph, run_metas, op_log, checkpoint, with_called=own_formulas)
        formulas = gathered.formulas if own_formulas else "registered"
        return cls.of(assemble(gathered.tables(), count_float_ops(formulas)))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Profile:
        """Read a profile that this package or native tfprof saved, or any file that `tfprof_widget.load` reads.

        >>> Profile.load("no_such_file")
        Traceback (most recent call last):
            ...
        tfprof_widget.ProfileError: cannot read 'no_such_file': there is no such file; ...
        """
        return load(path)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the profile as a ProfileProto, as native tfprof does; a path that ends in `.gz` is compressed.

        The file holds times in whole microseconds: once loaded, its views are those with `timing="tfprof"`.

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
    def _accounted(self) -> ProfileData:
        return self

    def step_times(self) -> pandas.DataFrame:
        """Every run of the busiest kind in the captured cell, as `Capture.steps` gives them; `steps` are their numbers.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().step_times()
        Traceback (most recent call last):
            ...
        tfprof_widget.ProfileError: no cell was captured: only %%tfprof and tfprof_widget.capture() see ...
        """
        from tfprof_widget.output.account import steps_frame

        return steps_frame(self)

    def flops_coverage(self, **options: Any) -> FlopsCoverage:
        """The share of the time for which float operations are known, and the op types that lack a formula or shapes.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().flops_coverage().op_types[0].op
        'MatMul'
        """
        from tfprof_widget.analysis.coverage import flops_coverage

        return flops_coverage(self, **options)

    def advice(self) -> Advice:
        """What every checker says of the profile, as in the widget's advice tab: print it, or take its `reports`.

        >>> from tfprof_widget.demo import demo_profile
        >>> [checker for checker, reports in demo_profile().advice().reports.items() if reports]
        ['ExpensiveOperationChecker']
        """
        from tfprof_widget.analysis.advisor.runner import advice_on

        return advice_on(self)

    def cluster(self) -> ClusterSummary | None:
        """What the tasks of a cluster did, sent each other and waited for; None for one task without transfers.

        >>> from tfprof_widget.demo import demo_profile
        >>> print(demo_profile().cluster())
        None
        """
        from tfprof_widget.analysis.cluster.summary import summary

        return summary(self)

    def allocators(self) -> pandas.DataFrame:
        """How many bytes each allocator had in use at most, and how many its device has; without rows if none told.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().allocators().columns.tolist()
        ['allocator', 'device', 'peak_bytes', 'capacity_bytes']
        """
        from tfprof_widget.output.tabular import allocators_frame

        return allocators_frame(self)

    def devices(self) -> pandas.DataFrame:
        """What each accelerator can do: clock, cores, memory, bandwidth, FLOP/s; 0 or empty where none is told.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().devices().columns.tolist()[:5]
        ['device', 'model', 'clock_hertz', 'cores', 'memory_bytes']
        """
        from tfprof_widget.output.tabular import devices_frame

        return devices_frame(self)

    def device_steps(self) -> pandas.DataFrame:
        """What each accelerator did in each step, which adds up: compute, wait for collectives or copies, or nothing.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().device_steps().columns.tolist()[4:]
        ['step_micros', 'compute_micros', 'collectives_micros', 'copies_micros', 'idle_micros']
        """
        from tfprof_widget.output.tabular import device_steps_frame

        return device_steps_frame(self)

    def device_kernels(self) -> pandas.DataFrame:
        """The kernels that ran for each node, their launches, and how late they began; 0, empty or NaN if not told.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().device_kernels().columns.tolist()[:6]
        ['node', 'device', 'stream', 'kernel', 'grid', 'block']
        """
        from tfprof_widget.output.tabular import device_kernels_frame

        return device_kernels_frame(self)

    def with_flops(self, *, multiply_accumulates: bool = False) -> Profile:
        """The profile with float operations counted by every formula there is, or with multiply-accumulates instead.

        >>> from tfprof_widget.demo import demo_profile
        >>> profile = demo_profile()
        >>> row = profile.nodes.names.index("gradients/layer1/MatMul_grad/MatMul_1")
        >>> int(profile.nodes.float_ops[row]) // int(profile.with_flops(multiply_accumulates=True).nodes.float_ops[row])
        2
        """
        from tfprof_widget.ingest.assemble import assemble
        from tfprof_widget.ingest.flops.counting import count_float_ops

        is_captured = bool(self.main_kind)
        stage = count_float_ops("multiply_accumulates" if multiply_accumulates else "all", of_what_ran=is_captured)
        return self.of(assemble(self, stage))

    def cone(self, *name_regexes: str) -> Profile:
        """The nodes whose names match, all that they depend on, and what was measured of these.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().cone("layer1/Relu").view("graph").names[:2]
        ('_TFProfRoot', 'layer1/Relu')
        """
        from tfprof_widget.engine.graph import cone
        from tfprof_widget.ingest.assemble import assemble

        return self.of(assemble(cone(self, name_regexes)))

    def view(self, view: str = "scope", **options: Any) -> View:
        """The rows of one of tfprof's views; options that are not given have their defaults.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().view("op", order_by="micros", max_depth=0).names
        ('MatMul',)
        """
        from tfprof_widget.engine.evaluate import evaluate
        from tfprof_widget.output.destination import parse_output
        from tfprof_widget.profiles.options import Options

        if parse_output(options.get("output", "")).is_file:
            raise value_error(
                "output: Profile.view writes no file; "
                "write the view's .text(), use its write_timeline or write_pprof, or use profile()"
            )
        return View.of(evaluate(self, view, Options.of(**options)))

    def compare(self, view: str = "op", measure: str = "micros", **options: Any) -> pandas.DataFrame:
        """What each row of a view costs with each worker, the largest difference first; times are in microseconds.

        Two workers are compared by difference and ratio; of more workers there are the mean and the ratio of the
        slowest to the mean. A worker whose name begins with before, base or old comes first: the others are compared
        with it.

        >>> from tfprof_widget import merge
        >>> from tfprof_widget.demo import demo_profile
        >>> list(merge({"after": demo_profile(), "before": demo_profile()}).compare("op"))
        ['name', 'before', 'after', 'difference', 'ratio']
        """
        from tfprof_widget.analysis.comparison import compare
        from tfprof_widget.profiles.options import Options

        return compare(self, view, measure, Options.of(**options))

    def chart(
        self,
        chart: str = "op types",
        view: str = "op",
        *,
        metric: str = "time",
        theme: str = "light",
        width: float = 6.5,
        title: str | None = None,
        span: tuple[float, float] | None = None,
        **options: Any,
    ) -> altair.LayerChart | altair.Chart:
        """A chart of a view, `width` inches wide, to go on with in altair, or to save as SVG, PNG or PDF.

        `chart` is one of "overview", "layers", "op types", "scopes", "steps", "memory", "timeline", "workers",
        "roofline" and "advice", `metric` one of "time", "memory", "count" and "rate". Of the timeline the `span` is
        drawn, two times in seconds.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().chart("scopes", title="Where the time goes").to_dict()["title"]["text"]
        ['Where the time goes']
        """
        from tfprof_widget.charts.chart import Subject
        from tfprof_widget.charts.kinds import described
        from tfprof_widget.charts.pictures import altair_chart, pixels

        subject = Subject(self.view(view, **options), metric, width=pixels(width), span=span)
        return altair_chart(described(chart, subject, theme, title))

    def widget(self, view: str = "overview", title: str = "", **options: Any) -> TfprofWidget:
        """A widget that shows the profile in a notebook: tables, charts and timeline, with live options.

        >>> from tfprof_widget.demo import demo_profile
        >>> demo_profile().widget("op", min_micros=10).min_micros
        10
        """
        from tfprof_widget.widget.traits import TfprofWidget

        return TfprofWidget(self, view=view, title=title, **options)


def load(
    source: Source,
    *,
    checkpoint: AnyPath | None = None,
    client: Any = None,
    errors: Literal["raise", "skip"] = "raise",
) -> Profile:
    """Load a profile from files: saved profiles, graphs, run metadata and op logs, together or alone; or XSpaces.

    `source` is a path, a pattern, a directory, any URL that fsspec knows, or a list of these. Files are recognised by
    their content, which may be binary, text or gzip; in a directory, other files are passed over. The step of a run
    metadata file is the number in its name, `run_meta_<step>`, else 0, 1, ... in the order of the files. If several
    files hold the same step, it is read once: from the run metadata, else from the first saved profile. XSpaces are
    the `.xplane.pb` files of TensorFlow's own profiler; from a log directory of TensorBoard the newest run is loaded.
    A directory that `tfprof run` wrote to gives its tasks as workers.
    `checkpoint` is the path of a TensorFlow checkpoint. With `client`, a `distributed.Client`, the workers of its Dask
    cluster read the run metadata, or the tasks of jobs, so these must lie where the workers can read them. A damaged
    file is an error; with `errors="skip"` the others are loaded, a warning names what was skipped, and `skipped` of the
    profile says why.

    >>> from importlib.resources import files
    >>> recorded = files("tfprof_widget") / "recorded"
    >>> load(str(recorded))
    Profile(81 nodes, 30 executions, 1 step)
    """
    from tfprof_widget.ingest.files.loading import loaded

    return Profile.of(loaded(source, checkpoint=checkpoint, client=client, errors=errors))


def merge(profiles: Mapping[str, ProfileData | Captured] | Iterable[ProfileData | Captured]) -> Profile:
    """Merge several profiles into one: those of several workers, or the parts of one profile.

    A mapping from names to profiles makes each name a worker; the options `worker_regexes` and `across_workers` choose
    workers and put their steps together. Two recordings of one program, such as before and after a change, are
    compared that way too. Profiles without names are parts of one: steps keep their numbers, and the runs of a step
    are added up, in the order in which they started. The result does not depend on the order of the profiles, nor on
    earlier merges. No run may be in two profiles. A capture counts as its profile.

    >>> from tfprof_widget.demo import demo_profile
    >>> both = merge({"before": demo_profile(), "after": demo_profile()})
    >>> both.steps, both.step_workers
    ((0, 0), ('after', 'before'))
    """
    from tfprof_widget.ingest.merging import merge as merging

    return Profile.of(merging.merge(profiles))

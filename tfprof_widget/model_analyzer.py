"""Offers the functions of `tf.compat.v1.profiler` and its `Profiler`, with the numbers that native tfprof gives."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from tfprof_widget.api.profile import Profile
from tfprof_widget.api.view import View
from tfprof_widget.engine.evaluate import check_options, evaluate
from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.ingest.flops.counting import count_float_ops
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.live.graph import default_graph
from tfprof_widget.lib.errors import ProfileWarning, warn_user
from tfprof_widget.lib.messages import MultiGraphNodeProto
from tfprof_widget.option_builder import ProfileOptionBuilder, of_mapping
from tfprof_widget.output.destination import STEP, Destination, check_output, deliver, parse_output
from tfprof_widget.output.text import banner, said_lacking
from tfprof_widget.profiles.options import Options, check_view

if TYPE_CHECKING:
    from tfprof_widget.lib.messages import AdviceProto, GraphNodeProto


def __getattr__(name: str) -> Any:
    """Ready-made options under their older names: a new dict each time, since users change them."""
    ready_made = {
        "ALL_ADVICE": _all_advice,
        "MORE_ADVICE": _more_advice,
        "TRAINABLE_VARS_PARAMS_STAT_OPTIONS": ProfileOptionBuilder.trainable_variables_parameter,
        "FLOAT_OPS_OPTIONS": ProfileOptionBuilder.float_operation,
        "PRINT_ALL_TIMING_MEMORY": ProfileOptionBuilder.time_and_memory,
    }
    if name not in ready_made:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return ready_made[name]()


def profile(
    graph: Any = None,
    run_meta: Any = None,
    op_log: Any = None,
    cmd: str = "scope",
    options: Mapping[str, Any] | None = None,
) -> GraphNodeProto | MultiGraphNodeProto:
    """Profile a graph (a tf.Graph, GraphDef or bytes) and, if given, what one run of it measured.

    Prints as `options["output"]` says and returns the message that native tfprof does.

    >>> from tfprof_widget import ProfileOptionBuilder
    >>> from tfprof_widget.demo import recorded
    >>> options = ProfileOptionBuilder(ProfileOptionBuilder.time_and_memory()).with_empty_output().build()
    >>> profile(recorded("graph"), recorded("run_meta"), cmd="op", options=options).children[0].name
    'MatMul'
    """
    asked = _asked(cmd, ProfileOptionBuilder.trainable_variables_parameter() if options is None else options)
    run_metas = [run_meta] if _has_content(run_meta) else []
    found = _profile_of(graph, run_metas, op_log)
    if not len(found.nodes):
        warnings.warn("there is nothing to profile: give a graph, a run_meta or both", ProfileWarning, stacklevel=2)
    return cast("GraphNodeProto | MultiGraphNodeProto", _show(found, asked))


class Profiler:
    """Collects the steps of a graph and shows tfprof's views of them; a process may have several.

    >>> from tfprof_widget.demo import recorded
    >>> profiler = Profiler(recorded("graph"))
    >>> profiler.add_step(10, recorded("run_meta"))
    >>> profiler.profile.steps
    (10,)
    """

    def __init__(self, graph: Any = None, op_log: Any = None) -> None:
        self._graph = graph if graph is not None else default_graph()
        # Native's Profiler reads the shapes of the graph before it has any run.
        self._gathered = Gathered(completes_shapes=False)
        self._gathered.add_graph(self._graph)
        self._gathered.add_op_log(op_log)
        self._profile: Profile | None = None

    @property
    def profile(self) -> Profile:
        """The profile of the steps added so far."""
        if self._profile is None:
            tables = self._gathered.tables()
            self._profile = Profile.of(assemble(tables, count_float_ops("registered")))
        return self._profile

    def add_step(self, step: int, run_meta: Any) -> None:
        """Add what one run measured; `step` names it in the option `step`, and may group several runs."""
        self._gathered.add_graph(self._graph)
        self._gathered.add_step(step, run_meta)
        self._profile = None

    def profile_name_scope(self, options: Mapping[str, Any]) -> GraphNodeProto:
        """The scope view of the steps added so far."""
        return cast("GraphNodeProto", _show(self.profile, _asked("scope", options)))

    def profile_graph(self, options: Mapping[str, Any]) -> GraphNodeProto:
        """The graph view of the steps added so far."""
        return cast("GraphNodeProto", _show(self.profile, _asked("graph", options)))

    def profile_operations(self, options: Mapping[str, Any]) -> MultiGraphNodeProto:
        """The op view of the steps added so far."""
        return cast("MultiGraphNodeProto", _show(self.profile, _asked("op", options)))

    def profile_python(self, options: Mapping[str, Any]) -> MultiGraphNodeProto:
        """The code view of the steps added so far."""
        return cast("MultiGraphNodeProto", _show(self.profile, _asked("code", options)))

    def advise(self, options: Mapping[str, Mapping[str, str]] | None = None) -> AdviceProto:
        """Let checkers look at the steps added so far, and print what they find; see the function `advise`."""
        return _advise(self.profile, options)

    def serialize_to_string(self) -> bytes:
        """The profile as a ProfileProto's bytes, as native tfprof writes it."""
        from tfprof_widget.output.saved import profile_proto

        return bytes(profile_proto(self.profile).SerializeToString())


def advise(
    graph: Any = None,
    run_meta: Any = None,
    options: Mapping[str, Mapping[str, str]] | None = None,
    tfprof_options: Mapping[str, Mapping[str, str]] | None = None,
) -> AdviceProto:
    """Let checkers look at a graph and what one run of it measured; prints what they find.

    `tfprof_options` is the older name of `options`.

    By default these are native tfprof's, `ALL_ADVICE`; ask for `ALL_ADVICE | MORE_ADVICE` to have all there are.

    >>> from tfprof_widget.demo import recorded
    >>> found = advise(recorded("graph"), recorded("run_meta"), {"OperationChecker": {}})
    <BLANKLINE>
    OperationChecker:
    >>> list(found.checkers)
    ['OperationChecker']
    """
    run_metas = [run_meta] if _has_content(run_meta) else []
    return _advise(_profile_of(graph, run_metas), tfprof_options if options is None else options)


def print_model_analysis(
    graph: Any,
    run_meta: Any = None,
    op_log: Any = None,
    tfprof_cmd: str = "scope",
    tfprof_options: Mapping[str, Any] | None = None,
) -> GraphNodeProto | MultiGraphNodeProto:
    """`profile` under its older name, with the older names of its arguments."""
    return profile(graph, run_meta, op_log, tfprof_cmd, tfprof_options)


def _profile_of(graph: Any, run_metas: list[Any], op_log: Any = None) -> Profile:
    """The profile as native tfprof makes it: float operations only by formulas that TensorFlow registers."""
    return Profile.from_protos(graph if graph is not None else default_graph(), run_metas, op_log, own_formulas=False)


def _asked(view: str, options: Mapping[str, Any]) -> tuple[str, Options, Destination]:
    """The view, options and destination that the user asks for, checked before anything is read."""
    chosen = Options.of(**({"timing": "tfprof"} | of_mapping(options)))
    return view, chosen, _destination(parse_output(chosen.output), check_view(view), chosen)


def _destination(asked: Destination, view: str, options: Options) -> Destination:
    """Where native tfprof writes: timelines to a file for each step, and nothing if the view has no such output."""
    try:
        check_output(asked, view, options)
    except ValueError as error:
        warnings.warn(f"nothing is written: {error}", ProfileWarning, stacklevel=5)
        return Destination("none")
    if asked.kind != "timeline" or STEP in asked.outfile:
        return asked
    return replace(asked, outfile=f"{asked.outfile}_{STEP if view == 'graph' else options.step}")


def _show(profile: Profile, asked: tuple[str, Options, Destination]) -> Any:
    view, options, destination = asked
    check_options(profile, options)
    if view == "code" and not profile.has_traces:
        return _no_code(options, destination)
    found = View.of(evaluate(profile, view, options))
    if lacking := said_lacking(found):
        warn_user(lacking)
    deliver(found, destination)
    return found.proto()


def _no_code(options: Options, destination: Destination) -> MultiGraphNodeProto:
    """An empty result, as in native tfprof; but a warning says why it is empty."""
    warnings.warn(
        "code view: there are no code traces; give an op_log with traces, or the tf.Graph itself",
        ProfileWarning,
        stacklevel=4,
    )
    if destination.kind == "stdout":
        sys.stdout.write(banner(options, ""))
    return MultiGraphNodeProto()


def _all_advice() -> dict[str, dict[str, str]]:
    """Native tfprof's checkers, so that `advise` by default returns what native's does."""
    from tfprof_widget.analysis.advisor.runner import NATIVE, NOT_PUBLIC

    return {checker: {} for checker in (*NATIVE, NOT_PUBLIC)}


def _more_advice() -> dict[str, dict[str, str]]:
    """The checkers that native tfprof does not have."""
    from tfprof_widget.analysis.advisor.runner import OWN

    return {checker: {} for checker in OWN}


def _advise(profile: Profile, options: Mapping[str, Mapping[str, str]] | None) -> AdviceProto:
    from tfprof_widget.analysis.advisor.runner import advise_on

    return advise_on(profile, _all_advice() if options is None else options)


def _has_content(run_meta: Any) -> bool:
    """Whether a RunMetadata has content: an empty one counts as none, as in native tfprof."""
    if isinstance(run_meta, bytes | bytearray | memoryview):
        return len(run_meta) > 0
    return run_meta is not None and (not hasattr(run_meta, "ByteSize") or run_meta.ByteSize() > 0)

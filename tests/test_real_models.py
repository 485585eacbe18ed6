"""Real models, really run: protos and printed text equal native tfprof's, from protos and from a tf.Graph."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import cache, partial
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.core.profiler.tfprof_log_pb2 import OpLogProto, ProfileProto
from tensorflow.python.profiler import tfprof_logger
from tensorflow.python.util import _pywrap_tfprof

import tfprof_widget as tfprof
from tests.oracle.models import MODELS
from tests.oracle.native import VIEWS, NativeAnswer, NativeTfprof, Request
from tests.oracle.random_options import COLUMNS, DEFAULTS, options_proto
from tests.oracle.rows import rows
from tests.oracle.stdout import with_stdout

pytestmark = pytest.mark.filterwarnings("ignore::tfprof_widget.ProfileWarning")

NativeBuilder: Any = tf.compat.v1.profiler.ProfileOptionBuilder
READY_MADE: dict[str, dict[str, Any]] = {
    "trainable_variables_parameter": NativeBuilder.trainable_variables_parameter(),
    "float_operation": NativeBuilder.float_operation(),
    "time_and_memory": NativeBuilder.time_and_memory(),
}
TIMES = {"order_by": "micros", "select": ["micros", "occurrence", "device"]}
OPTION_SETS: dict[str, dict[str, Any]] = READY_MADE | {
    "every column": {"select": COLUMNS, "order_by": "micros"},
    "the slowest": {"min_micros": 5, **TIMES},
    "what is shown": {"account_displayed_op_only": True, "max_depth": 3, "select": ["bytes", "params"]},
    "variables": {"account_type_regexes": ["_trainable_variables"], "select": ["op_types", "input_shapes"]},
    "gradients": {
        "start_name_regexes": [".*grad.*"],
        "hide_name_regexes": [".*_1"],
        "order_by": "occurrence",
    },
    "a parameter server": {"account_type_regexes": [".*ps.*task:1.*", "Mat.*"], **TIMES},
    "trimmed": {"trim_name_regexes": [".*conv.*", "Mul"], "order_by": "float_ops", "select": ["float_ops"]},
}

ASKED = [(view, options) for view in VIEWS for options in READY_MADE.values()]


@cache
def protos(model: str) -> tuple[Any, Any, Any]:
    """Graph, run metadata and op log as native's Python side makes them of a tf.Graph."""
    traced = MODELS[model]()
    op_log = tfprof_logger.merge_default_with_oplog(traced.graph, run_meta=traced.run_meta)
    return traced.graph.as_graph_def(add_shapes=True), traced.run_meta, op_log


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("option_set", OPTION_SETS)
@pytest.mark.parametrize("model", MODELS)
def test_a_model_from_its_protos(native: NativeTfprof, model: str, option_set: str, view: str) -> None:
    options = DEFAULTS | OPTION_SETS[option_set]
    graph, run_meta, op_log = (proto.SerializeToString() for proto in protos(model))
    answer = native.analyze(Request(view, options_proto(options)), graph, run_meta, op_log)
    ours, printed = with_stdout(partial(tfprof.profile, *protos(model), view, options))
    assert isinstance(answer, NativeAnswer)
    assert rows(ours.SerializeToString(), VIEWS[view]) == rows(answer.proto, VIEWS[view])
    assert printed.decode() == answer.stdout.decode()


@pytest.mark.parametrize("model", MODELS)
def test_a_tf_graph(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], model: str) -> None:
    """We go first: native adds the shapes that the run showed to the graph that it is given, and we must not."""
    traced = MODELS[model]()
    returned = recorded_results(monkeypatch)

    def answers(profile: Any) -> Iterator[tuple[Any, str]]:
        for view, options in ASKED:
            capfd.readouterr()
            message = profile(traced.graph, traced.run_meta, cmd=view, options=options)
            yield message, capfd.readouterr().out

    ours, printed = zip(*answers(tfprof.profile), strict=True)
    _, expected_printed = zip(*answers(tf.compat.v1.profiler.profile), strict=True)
    for (view, _), message, expected in zip(ASKED, ours, returned, strict=True):
        assert rows(message.SerializeToString(), VIEWS[view]) == rows(expected, VIEWS[view]), view
    assert printed == expected_printed


def recorded_results(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What native's core returns from now on: its Python side cuts off what nests over 100 deep."""
    returned: list[bytes] = []
    analyze = _pywrap_tfprof.PrintModelAnalysis

    def recording(*arguments: Any) -> bytes:
        returned.append(analyze(*arguments))
        return returned[-1]

    monkeypatch.setattr(_pywrap_tfprof, "PrintModelAnalysis", recording)
    return returned


@pytest.mark.parametrize("model", MODELS)
def test_the_op_log_of_a_tf_graph(model: str) -> None:
    """A serialized profile holds all of the op log: stacks, types and float ops, node by node."""
    traced = MODELS[model]()

    def serialized(profiler: Any) -> Any:
        profiler.add_step(3, traced.run_meta)
        return ProfileProto.FromString(profiler.serialize_to_string())

    ours = serialized(tfprof.Profiler(traced.graph))
    theirs = serialized(tf.compat.v1.profiler.Profiler(traced.graph))  # gone at once: native allows no second
    assert call_stacks(ours) == call_stacks(theirs)
    assert without_call_stacks(ours) == without_call_stacks(theirs)


def call_stacks(profile: Any) -> dict[str, list[tuple[str, int, str, str]]]:
    """File, line, function and source line of each node's frames."""
    string = profile.id_to_string
    return {
        node.name: [
            (string[frame.file_id], frame.lineno, string[frame.function_id], string[frame.line_id])
            for frame in node.trace.traces
        ]
        for node in profile.nodes.values()
    }


def without_call_stacks(profile: Any) -> dict[str, str]:
    """Each node and the rest of the message as text, which shows a difference in its line."""
    nodes = {}
    for node in profile.nodes.values():
        node.ClearField("trace")
        nodes[node.name] = str(node)
    return nodes | {"": f"{profile.steps} {profile.has_trace} {profile.miss_accelerator_stream}"}


@pytest.mark.parametrize("view", VIEWS)
def test_an_op_log_beside_a_tf_graph(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], view: str
) -> None:
    """What the op log says of a node goes first, and the graph says the rest; of two entries the last counts.

    Native reads traces of one's own by the wrong strings, so there are none here but one without frames.
    """
    traced = MODELS["mnist"]()
    first, second, third, *_ = (
        each for each in traced.graph.get_operations() if each.type in ("MatMul", "Relu", "Mul")
    )
    op_log = OpLogProto()
    op_log.log_entries.add(name=first.name, types=["forgotten"], float_ops=5)
    op_log.log_entries.add(name=first.name, types=["mine"])
    op_log.log_entries.add(name=second.name, float_ops=77).code_def.SetInParent()
    op_log.log_entries.add(name=third.name, types=["mine", "ours"])
    op_log.log_entries.add(name="not in the graph", types=["mine"])
    returned = recorded_results(monkeypatch)

    def answers(profile: Any) -> Iterator[tuple[Any, str]]:
        for options in (*READY_MADE.values(), DEFAULTS | {"account_type_regexes": ["mine"], "select": COLUMNS}):
            capfd.readouterr()
            message = profile(traced.graph, traced.run_meta, deepcopy(op_log), view, options)
            yield message, capfd.readouterr().out

    ours, printed = zip(*answers(tfprof.profile), strict=True)
    _, expected_printed = zip(*answers(tf.compat.v1.profiler.profile), strict=True)
    assert [rows(each.SerializeToString(), VIEWS[view]) for each in ours] == [
        rows(each, VIEWS[view]) for each in returned
    ]
    assert printed == expected_printed


def test_a_tf_graph_keeps_its_figures_beside_an_op_log() -> None:
    """Variables, float operations and lines are those without the op log, with our own formulas too."""
    traced = MODELS["mnist"]()
    op_log = OpLogProto()
    op_log.log_entries.add(name=traced.graph.get_operations()[0].name, types=["mine"])
    alone, beside = (tfprof.Profile.from_protos(traced.graph, traced.run_meta, given) for given in (None, op_log))
    assert beside.nodes.float_ops.tolist() == alone.nodes.float_ops.tolist()
    assert beside.traces.stack.tolist() == alone.traces.stack.tolist()
    assert "_trainable_variables" in beside.nodes.type_names


@pytest.mark.parametrize("name", READY_MADE)
def test_the_ready_made_options(name: str) -> None:
    assert getattr(tfprof.ProfileOptionBuilder, name)().items() >= READY_MADE[name].items()

"""What is read of a live tf.Graph is what native tfprof's own logger reads of it, which is left unchanged."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.framework import ops
from tensorflow.python.profiler import tfprof_logger
from tensorflow.python.util import tf_stack

from tests.oracle.models import MODELS, Traced
from tfprof_widget.api.profile import Profile
from tfprof_widget.ingest.live.graph import (
    OutputShapes,
    _read_shape,
    completed_output_shapes,
    default_graph,
    is_tf_graph,
    read_tf_graph,
    read_trainable_variables,
)
from tfprof_widget.ingest.live.op_log import read_flops
from tfprof_widget.ingest.live.stacks import read_traces
from tfprof_widget.ingest.run_metadata import RunDetails, read_run
from tfprof_widget.lib.errors import ProfileWarning
from tfprof_widget.lib.messages import as_sealed
from tfprof_widget.profiles.tables import CodeStacks

v1: Any = tf.compat.v1
Frame = tuple[str, int, str, str]


def convolutions() -> None:
    image = v1.placeholder(tf.float32, [2, 8, 8, 3])
    kernel = v1.get_variable("kernel", [3, 3, 3, 4])
    planes = [v1.nn.conv2d(image, kernel, [1, stride, stride, 1], "SAME") for stride in (1, 1, 2)]
    biased = v1.nn.bias_add(planes[0], v1.get_variable("bias", [4]))
    pools = [v1.nn.max_pool(biased, [1, size, size, 1], [1, 2, 2, 1], "SAME") for size in (2, 3)]
    pools.append(v1.nn.avg_pool(biased, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"))
    v1.nn.max_pool(v1.transpose(biased, [0, 3, 1, 2]), [1, 1, 2, 2], [1, 1, 2, 2], "SAME", "NCHW")
    v1.nn.depthwise_conv2d(image, tf.ones([3, 3, 3, 2]), [1, 1, 1, 1], "SAME")
    tf.raw_ops.Dilation2D(input=image, filter=tf.ones([3, 3, 3]), strides=[1] * 4, rates=[1] * 4, padding="SAME")
    v1.nn.conv3d(tf.ones([1, 4, 4, 4, 2]), tf.ones([2, 2, 2, 2, 5]), [1] * 5, "SAME")
    v1.gradients(tf.add_n([tf.reduce_sum(each) for each in [*planes, *pools]]), [image, kernel])


def every_other_formula() -> None:
    a, b = tf.ones([4, 4]), tf.fill([4, 4], 2.0)
    for first, second in ((False, False), (True, False), (False, True)):
        tf.matmul(tf.ones([4, 4]), b, transpose_a=first, transpose_b=second)
        tf.matmul(tf.ones([4, 2]), tf.ones([4, 4]), transpose_a=True, transpose_b=second)
        tf.matmul(tf.ones([3, 4, 4]), tf.ones([3, 4, 4]), transpose_a=first, transpose_b=second)
    for unary in ("Reciprocal", "Square", "Rsqrt", "Log", "Neg"):
        getattr(tf.raw_ops, unary)(x=a)
    for binary in ("Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Pow", "SquaredDifference"):
        getattr(tf.raw_ops, binary)(x=a, y=b)
    for comparison in ("GreaterEqual", "Greater", "LessEqual", "Less", "Equal", "NotEqual"):
        getattr(tf.raw_ops, comparison)(x=a, y=b[0])
    tf.raw_ops.RsqrtGrad(y=a, dy=b)
    tf.raw_ops.L2Loss(t=a)
    tf.raw_ops.L2Loss(t=tf.ones([0]))  # counts -1
    tf.raw_ops.Softmax(logits=a)
    tf.raw_ops.BiasAddGrad(out_backprop=a)
    for reduction in (tf.reduce_mean, tf.reduce_sum, tf.argmax, tf.argmin):
        for shape in ([4, 4], [2, 8]):
            reduction(tf.ones(shape), 0)
    for part in tf.split(tf.ones([8, 4]), [2, 6]):
        tf.reduce_sum(part, 0)  # two outputs of one op, of other shapes
    with v1.control_dependencies([a.op, b.op]):
        tf.add_n([a, b, a])  # control inputs count as well
    counter = v1.get_variable("counter", [3], use_resource=False)
    v1.assign_add(counter, tf.ones([3]))
    v1.assign_sub(counter, tf.ones([3]))


def variables() -> None:
    shared = tf.Variable(tf.ones([2]), name="shared")
    v1.get_variable("reference", [3], use_resource=False)
    v1.get_variable("resource", [3], use_resource=True)
    v1.get_variable("frozen", [3], trainable=False)
    v1.add_to_collection("trainable_variables", shared)


def functions_branches_and_imports() -> None:
    def squared(value: Any) -> Any:
        return tf.square(value) + 1.0 if tf.reduce_sum(value) > 0 else value

    anything = v1.placeholder(tf.float32)
    tf.function(squared)(anything)
    tf.cond(tf.reduce_sum(anything) > 0, lambda: tf.sqrt(anything), lambda: anything * 2.0)
    with tf.Graph().as_default() as other:
        tf.split(tf.nn.softmax(v1.placeholder(tf.float32, [None, 4])), 2, axis=1)
    v1.import_graph_def(other.as_graph_def(add_shapes=True), name="imported")
    tf.unique(tf.reshape(anything, [-1]))
    tf.no_op()


def code_without_names() -> None:
    code = compile("make()\n", "", "exec")
    exec(code.replace(co_name="", co_firstlineno=0), {"make": tf.no_op})


def built(build: Callable[[], None]) -> Traced:
    with tf.Graph().as_default() as graph:
        build()
    return Traced(graph, None)


def run_of_unknown_shapes() -> Traced:
    """A run of a graph that contradicts it, is silent on outputs, and counts some of them otherwise."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        tf.square(x, name="contradicted")
        tf.square(v1.placeholder(tf.float32, name="anything"), name="of_unknown_rank")
        tf.unique(tf.reshape(x, [-1], name="flat"), name="unique")
        tf.split(x, 2, axis=1, name="halves")
        tf.matmul(x, x, transpose_a=True, name="product")
    run_meta = config_pb2.RunMetadata()
    seen: list[tuple[str, list[list[int]]]] = [
        ("x", [[5, 4]]),
        ("x", [[6, 4]]),
        ("contradicted", [[5, 3]]),
        ("anything", [[]]),
        ("of_unknown_rank", [[2, 3]]),
        ("flat", [[20, 1]]),
        ("unique", [[7], [20]]),
        ("halves", [[5, 2]]),
        ("product", []),
        ("elsewhere", [[1]]),
    ]
    nodes = run_meta.step_stats.dev_stats.add(device="/cpu:0").node_stats
    for name, shapes in seen:
        node = nodes.add(node_name=name)
        for slot, shape in enumerate(shapes):
            output = node.output.add(slot=slot)
            for size in shape:
                output.tensor_description.shape.dim.add(size=size)
    return Traced(graph, run_meta)


BUILDS = (
    convolutions,
    every_other_formula,
    variables,
    functions_branches_and_imports,
    code_without_names,
)
SOURCES: dict[str, Callable[[], Traced]] = {
    **MODELS,
    **{build.__name__: partial(built, build) for build in BUILDS},
    "run_of_unknown_shapes": run_of_unknown_shapes,
}


@dataclass(frozen=True)
class Logged:
    """What was read of one graph, by us, and then by native, which changes the graph."""

    changed: bool
    definition: Any
    traces: dict[str, list[Frame]]
    strings: tuple[str, ...]
    flops: dict[str, int]
    flops_of_run: dict[str, int]
    shapes_of_run: dict[str, OutputShapes]
    variables: tuple[str, ...]


@cache
def both(source: str) -> tuple[Logged, Logged]:
    traced = SOURCES[source]()
    ours = read_ours(traced)
    return ours, read_native(traced)


def shapes_in(*run_metas: Any) -> dict[str, list[tuple[bytes, ...]]]:
    details = RunDetails(keeps_shapes=True)
    for run_meta in run_metas:
        read_run(as_sealed(run_meta, "RunMetadata", "run_meta"), details)
    return details.shapes


def read_ours(traced: Traced) -> Logged:
    before = traced.graph.as_graph_def(add_shapes=True)
    live = read_tf_graph(traced.graph)
    completed = completed_output_shapes(live, shapes_in(traced.run_meta) if traced.run_meta else {})
    traces = read_traces(live.operations)
    shapes = {node.name: known for node, known in zip(live.definition.node, live.output_shapes, strict=True)}
    return Logged(
        flops=read_flops(live),
        flops_of_run=read_flops(live, completed),
        changed=traced.graph.as_graph_def(add_shapes=True) != before,
        definition=live.definition,
        traces={node.name: frames for node, frames in zip(live.definition.node, stacks(traces), strict=True)},
        strings=traces.strings,
        shapes_of_run=shapes | completed,
        variables=read_trainable_variables(traced.graph),
    )


def stacks(traces: CodeStacks) -> Iterator[list[Frame]]:
    names = traces.strings
    frames = [
        (names[file], int(line), names[function], names[source])
        for file, line, function, source in zip(traces.file, traces.line, traces.function, traces.source, strict=True)
    ]
    for stack in traces.stack:
        yield [] if stack < 0 else [frames[frame] for frame in traces.stacks[int(stack)]]


def read_native(traced: Traced) -> Logged:
    entries, strings = tfprof_logger._get_logged_ops(traced.graph)
    definition = without_function_shapes(traced.graph.as_graph_def(add_shapes=True))
    entries_of_run, _ = tfprof_logger._get_logged_ops(traced.graph, traced.run_meta, add_trace=False)
    names = list(strings)
    return Logged(
        flops=counted(entries),
        flops_of_run=counted(entries_of_run),
        changed=False,
        definition=definition,
        traces={
            name: [
                (names[each.file_id], each.lineno, names[each.function_id], names[each.line_id])
                for each in entry.code_def.traces
            ]
            for name, entry in entries.items()
        },
        strings=tuple(names),
        shapes_of_run={
            node.name: tuple(
                None if shape.unknown_rank else tuple(dim.size for dim in shape.dim)
                for shape in node.attr["_output_shapes"].list.shape
            )
            for node in traced.graph.as_graph_def(add_shapes=True).node
        },
        variables=tuple(name for name, entry in entries.items() if "_trainable_variables" in entry.types),
    )


def counted(entries: dict[str, Any]) -> dict[str, int]:
    return {name: entry.float_ops for name, entry in entries.items() if entry.float_ops}


def without_function_shapes(definition: Any) -> Any:
    for function in definition.library.function:
        function.attr.pop("_input_shapes", None)
        for node in function.node_def:
            node.attr.pop("_output_shapes", None)
        for argument in (*function.signature.input_arg, *function.signature.output_arg):
            del argument.handle_data[:]
    return definition


each_source = pytest.mark.parametrize("source", SOURCES)


@each_source
def test_definition_is_natives(source: str) -> None:
    ours, native = both(source)
    assert without_function_shapes(ours.definition) == native.definition


@each_source
def test_traces_are_natives(source: str) -> None:
    ours, native = both(source)
    assert ours.traces == native.traces
    assert ours.strings == native.strings


@each_source
def test_flops_are_natives(source: str) -> None:
    ours, native = both(source)
    assert ours.flops == native.flops
    assert ours.flops_of_run == native.flops_of_run


@each_source
def test_shapes_that_a_run_completes_are_natives(source: str) -> None:
    ours, native = both(source)
    assert ours.shapes_of_run == native.shapes_of_run


@each_source
def test_trainable_variables_are_natives(source: str) -> None:
    ours, native = both(source)
    assert sorted(ours.variables) == sorted(native.variables)


@each_source
def test_graph_is_left_as_it_is(source: str) -> None:
    ours, _ = both(source)
    assert not ours.changed


def test_sources_hold_what_they_are_for() -> None:
    assert len({node.op for node in both("every_other_formula")[1].definition.node}) > 30
    native = both("run_of_unknown_shapes")[1]
    assert native.shapes_of_run["x"] == ((5, 4),)
    assert native.shapes_of_run["contradicted"] == ((-1, 4),)
    assert native.shapes_of_run["of_unknown_rank"] == ((2, 3),)
    assert native.flops.keys() < native.flops_of_run.keys()
    assert [] in both("functions_branches_and_imports")[1].traces.values()
    assert ("none", -1, "none", "none") in both("code_without_names")[1].traces["NoOp"]
    assert all(len(set(both(source)[1].strings)) > 3 for source in SOURCES)


def test_shapes_are_completed_run_after_run() -> None:
    first = run_of_unknown_shapes()
    second = config_pb2.RunMetadata()
    second.step_stats.dev_stats.add().node_stats.add(node_name="halves").output.add()
    live = read_tf_graph(first.graph)
    together = completed_output_shapes(live, shapes_in(second, first.run_meta))
    assert together == completed_output_shapes(live, shapes_in(first.run_meta))
    assert together["x"] == ((5, 4),)


@pytest.mark.parametrize(("shape", "expected"), [([None, 3], (-1, 3)), ([], ()), (None, None)])
def test_shapes_are_read_where_tensors_have_no_quicker_way(shape: Any, expected: Any) -> None:
    """TensorFlow's tensors cannot do without; another version's have the public shape."""
    assert _read_shape(SimpleNamespace(shape=tf.TensorShape(shape))) == expected


def test_our_formulas_count_where_tensorflows_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A product of 2 by 3 and 3 by 4 is 2 * 2 * 3 * 4 float operations."""
    with tf.Graph().as_default() as graph:
        tf.matmul(v1.placeholder(tf.float32, [2, 3]), v1.placeholder(tf.float32, [3, 4]), name="product")
    monkeypatch.delattr(ops, "_stats_registry")
    with pytest.warns(ProfileWarning, match="float operations that TensorFlow counts of a graph are missing"):
        profile = Profile.from_protos(graph)
    assert profile.with_flops().nodes.float_ops[profile.nodes.names.index("product")] == 48


def test_formula_of_the_users_own_sees_completed_shapes() -> None:
    def formula(graph: Any, node: Any) -> Any:
        operation = graph.get_operation_by_name(node.name)
        seen = [operation.inputs[0], *operation.outputs, graph.get_tensor_by_name(f"{node.name}:0")]
        return ops.OpStats("flops", sum(tensor.get_shape().num_elements() or 0 for tensor in seen))

    ops.RegisterStatistics("Betainc", "flops")(formula)
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None], name="x")
        tf.math.betainc(x, x, x, name="beta")
    live = read_tf_graph(graph)
    assert read_flops(live) == {}
    assert read_flops(live, {"x": ((7,),), "beta": ((7,),)}) == {"beta": 21}


def test_formula_of_the_users_own_is_asked_for_each_node() -> None:
    ops.RegisterStatistics("Lgamma", "flops")(lambda _, node: ops.OpStats("flops", int(node.name[-1])))
    with tf.Graph().as_default() as graph:
        for name in ("count_3", "count_4"):
            tf.math.lgamma(1.0, name=name)
    assert read_flops(read_tf_graph(graph)) == {"count_3": 3, "count_4": 4}


def test_operation_without_frames_has_no_stack() -> None:
    files: set[str] = set()

    class Filter(tf_stack.StackTraceFilter):  # type: ignore[misc]
        def get_filtered_filenames(self) -> set[str]:
            return files

    with tf.Graph().as_default() as graph:
        for _ in range(2):
            with Filter():
                operation = tf.no_op()
            files.update(frame.filename for frame in operation.traceback)
    assert read_traces(graph.get_operations()).stack.tolist() == [0, -1]


def test_formula_that_fails_is_named_and_counts_nothing() -> None:
    with tf.Graph().as_default() as graph:
        empty = tf.zeros([2, 4, 4, 0])
        tf.raw_ops.Conv2DBackpropInput(
            input_sizes=[2, 4, 4, 0], filter=tf.zeros([3, 3, 0, 2]), out_backprop=tf.zeros([2, 4, 4, 2]),
            strides=[1, 1, 1, 1], padding="SAME", name="of_no_channels",
        )  # fmt: skip
        tf.square(tf.ones([3]) + tf.reduce_sum(empty), name="square")
    with pytest.raises(ZeroDivisionError):
        tfprof_logger._get_logged_ops(graph)
    with pytest.warns(ProfileWarning, match=r"Conv2DBackpropInput failed.*ZeroDivision.*'of_no_channels'"):
        flops = read_flops(read_tf_graph(graph))
    assert flops["square"] == 3
    assert "of_no_channels" not in flops


def test_default_graph_is_of_graph_mode_only() -> None:
    assert tf.executing_eagerly()
    assert default_graph() is None
    with tf.Graph().as_default() as graph:
        assert default_graph() is graph


def test_only_a_graph_is_one() -> None:
    assert is_tf_graph(tf.Graph())
    assert is_tf_graph(tf.function(tf.square).get_concrete_function(tf.ones([2])).graph)
    assert not is_tf_graph(tf.Graph().as_graph_def())
    with pytest.raises(TypeError, match=r"graph: got GraphDef; give a tf\.Graph"):
        read_tf_graph(tf.Graph().as_graph_def())


def test_asking_imports_no_tensorflow() -> None:
    code = (
        "from tfprof_widget.ingest.live.graph import default_graph, is_tf_graph\n"
        "from tfprof_widget.ingest.live import functions, op_log, stacks\n"
        "import sys\n"
        "print(is_tf_graph(object()), default_graph(), 'tensorflow' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown == "False None False\n"

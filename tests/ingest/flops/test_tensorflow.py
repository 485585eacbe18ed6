"""Our formulas count what TensorFlow's own do, wherever it has one, and need no TensorFlow for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf

from tfprof_widget.api.profile import Profile
from tfprof_widget.ingest.live.graph import read_tf_graph
from tfprof_widget.ingest.live.op_log import _registered_formulas, read_flops

tf1 = tf.compat.v1
raw = tf.raw_ops

UNARY = ("Reciprocal", "Square", "Rsqrt", "Log", "Neg", "Softmax", "L2Loss")
BINARY = (
    *("Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Pow", "SquaredDifference"),
    *("GreaterEqual", "Greater", "LessEqual", "Less", "Equal", "NotEqual"),
)
NHWC = {"strides": [1, 2, 2, 1], "padding": "SAME"}


def build(rows: int | None) -> None:
    """An op of each type that TensorFlow has a formula for; with `rows` None the first dimension is unknown."""
    matrix = tf1.placeholder(tf.float32, [rows, 5], "matrix")
    vector = tf1.placeholder(tf.float32, [5], "vector")
    image = tf1.placeholder(tf.float32, [rows, 9, 7, 3], "image")
    volume = tf1.placeholder(tf.float32, [rows, 4, 9, 7, 3], "volume")
    for op in UNARY:
        getattr(raw, op)(**{"logits" if op == "Softmax" else "t" if op == "L2Loss" else "x": matrix})
    for op in BINARY:
        getattr(raw, op)(x=matrix, y=vector)
    raw.RsqrtGrad(y=matrix, dy=matrix)
    raw.Mean(input=matrix, axis=[0])
    raw.Sum(input=matrix, axis=[1])
    raw.ArgMax(input=matrix, dimension=1)
    raw.ArgMin(input=matrix, dimension=0)
    raw.BiasAdd(value=matrix, bias=vector)
    raw.BiasAddGrad(out_backprop=matrix)
    raw.AddN(inputs=[matrix, matrix, matrix])
    raw.MatMul(a=matrix, b=tf.ones([5, 6]))
    raw.MatMul(a=matrix, b=matrix, transpose_a=True)
    raw.MatMul(a=matrix, b=tf.ones([6, 5]), transpose_b=True)
    batched = tf.reshape(image, [-1, 7, 3]) if rows is None else tf.ones([rows, 7, 3])
    raw.BatchMatMul(x=batched, y=batched, adj_y=True)
    raw.BatchMatMulV2(x=batched, y=tf.ones([1, 3, 4]))
    raw.BatchMatMulV3(x=batched, y=tf.ones([1, 3, 4]), Tout=tf.float32)
    kernel = tf.ones([3, 2, 3, 8])
    convolved = raw.Conv2D(input=image, filter=kernel, **NHWC)
    raw.Conv2DBackpropInput(input_sizes=tf.shape(image), filter=kernel, out_backprop=convolved, **NHWC)
    raw.Conv2DBackpropFilter(input=image, filter_sizes=[3, 2, 3, 8], out_backprop=convolved, **NHWC)
    raw.DepthwiseConv2dNative(input=image, filter=kernel, **NHWC)
    raw.Dilation2D(input=image, filter=tf.ones([3, 2, 3]), rates=[1, 1, 1, 1], **NHWC)
    raw.Conv3D(input=volume, filter=tf.ones([2, 3, 2, 3, 8]), strides=[1] * 5, padding="VALID")
    pooled = {"ksize": [1, 3, 2, 1], **NHWC}
    largest = raw.MaxPool(input=image, **pooled)
    mean = raw.AvgPool(value=image, **pooled)
    raw.MaxPoolGrad(orig_input=image, orig_output=largest, grad=largest, **pooled)
    raw.AvgPoolGrad(orig_input_shape=tf.shape(image), grad=mean, **pooled)
    variable = tf1.Variable(tf.ones([4, 5]), use_resource=False)
    tf1.assign_add(variable, tf.ones([4, 5]))
    tf1.assign_sub(variable, tf.ones([4, 5]))


@pytest.fixture(scope="module")
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as built:
        build(4)
        yield built


def counted(profile: Profile) -> dict[str, int]:
    counts = zip(profile.nodes.names, profile.nodes.float_ops.tolist(), strict=True)
    return {name: count for name, count in counts if count}


def test_every_formula_of_tensorflows_is_asked(graph: tf.Graph) -> None:
    used = {operation.type for operation in graph.get_operations()}
    of_tensorflow = {op for op, each in _registered_formulas().items() if each.__module__.startswith("tensorflow.")}
    assert len(of_tensorflow) >= 45  # as many as TensorFlow 2.12 has; 2.21 has one more
    assert of_tensorflow <= used


def test_a_graph_def_counts_what_tensorflow_counts_of_the_live_graph(graph: tf.Graph) -> None:
    of_tensorflow = read_flops(read_tf_graph(graph))
    ours = counted(Profile.from_protos(graph.as_graph_def(add_shapes=True)))
    assert len(of_tensorflow) >= 46
    assert {name: ours.get(name) for name in of_tensorflow} == of_tensorflow


def test_what_tensorflow_has_a_formula_for_keeps_its_count(graph: tf.Graph) -> None:
    with_ours, registered = Profile.from_protos(graph), Profile.from_protos(graph, own_formulas=False)
    assert counted(registered) == read_flops(read_tf_graph(graph))
    assert counted(with_ours).items() >= counted(registered).items()


def test_only_what_can_be_known_is_counted_of_an_unknown_batch() -> None:
    with tf.Graph().as_default() as graph:
        build(None)
    ours = counted(Profile.from_protos(graph))
    assert counted(Profile.from_protos(graph, own_formulas=False)).items() <= ours.items()
    assert not [name for name in ours if name.startswith(("Conv2D", "Softmax", "AddN"))]


def test_no_tensorflow_is_needed(graph: tf.Graph, tmp_path: Path) -> None:
    path = tmp_path / "graph.pb"
    path.write_bytes(graph.as_graph_def(add_shapes=True).SerializeToString())
    program = (
        "import sys; from pathlib import Path; from tfprof_widget import Profile\n"
        f"profile = Profile.from_protos(Path({str(path)!r}).read_bytes())\n"
        "print(int(profile.nodes.float_ops.sum()), 'tensorflow' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert int(told[0]) == sum(counted(Profile.from_protos(graph)).values())
    assert told[1] == "False"

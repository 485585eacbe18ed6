"""Profiles of real runs count function and loop bodies, unknown batches, and what fused kernels did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.profiler.tfprof_output_pb2 import GraphNodeProto

import tfprof_widget as tfprof
from tests.analysis.advisor.advice import run_of
from tests.ingest.spaces import Space
from tests.oracle.native import NativeAnswer, NativeTfprof, Request
from tests.oracle.random_options import options_proto
from tests.sketches import profile_of, protos_of
from tfprof_widget.analysis.coverage import flops_coverage
from tfprof_widget.api.profile import Profile
from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.ingest.flops.counting import count_float_ops
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.xspace.reader import read_xspace
from tfprof_widget.lib.errors import ProfileError, ProfileWarning
from tfprof_widget.lib.messages import GraphDef

tf1 = tf.compat.v1

BATCH, FEATURES, UNITS, ROUNDS = 4, 5, 6, 7


def run(build: Callable[[Any], Any]) -> tuple[tf.Graph, Any]:
    """The graph that `build` makes of a placeholder of an unknown batch, and the metadata of a run."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, FEATURES], "x")
        fetched = build(x)
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            run_meta = tf1.RunMetadata()
            options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
            session.run(fetched, {x: np.ones([BATCH, FEATURES])}, options, run_meta)
    return graph, run_meta


def float_ops(profile: Profile) -> dict[str, int]:
    """What each node of which a run tells counted in all its executions."""
    view = profile.view("scope", max_depth=100, account_type_regexes=[".*"])
    own = zip(view.names, view.own["float_ops"].tolist(), view.own["runs"].tolist(), strict=True)
    return {name: count // view.scale for name, count, runs in own if count and runs}


def dense(x: Any, units: int = UNITS, name: str = "dense") -> Any:
    with tf1.variable_scope(name):
        weights = tf1.get_variable("weights", [x.shape[-1], units])
        bias = tf1.get_variable("bias", [units])
        return tf.nn.relu(tf.nn.bias_add(tf.matmul(x, weights, name="product"), bias, name="sum"), name="relu")


PRODUCT = 2 * BATCH * FEATURES * UNITS


def test_a_dense_layer_of_an_unknown_batch() -> None:
    """Whether the layer is one kernel or three, it takes the same; native counts 0."""
    graph, run_meta = run(dense)
    profile = Profile.from_protos(graph, run_meta)
    assert sum(float_ops(profile).values()) == PRODUCT + 2 * BATCH * UNITS
    assert profile.flops_coverage().share == 1
    assert profile.flops_coverage().without_formula == ()


def test_what_a_kernel_stands_for_counts_in_one_place() -> None:
    profile = Profile.from_protos(*run(lambda x: dense(tf.reshape(x, [BATCH, FEATURES]))))
    of_layer = [of(profile, f"dense/{name}") for name in ("product", "sum", "relu")]
    assert sum(of_layer) == PRODUCT + 2 * BATCH * UNITS
    assert of_layer[2] in (BATCH * UNITS, PRODUCT + 2 * BATCH * UNITS)


def test_what_is_fed_tells_its_shape() -> None:
    graph, run_meta = run(lambda x: tf.reduce_sum(x, name="sum"))
    assert of(Profile.from_protos(graph, run_meta), "sum") == BATCH * FEATURES - 1
    assert of(Profile.from_protos(graph, run_meta, own_formulas=False), "sum") == 0


def taking_in(function: Callable[[Any], Any], *shape: int | None, **kernels: tuple[str, str]) -> Profile:
    """A function whose nodes ran one after another: the type of each kernel, and the shapes that it took in."""
    space = Space()
    for place, (name, (op, shapes)) in enumerate(kernels.items()):
        space.add("pool", f"{name}:{op}", 1000 + 100 * place, 10, shape=shapes)
    graph = tf.function(function, input_signature=[tf.TensorSpec(shape)]).get_concrete_function().graph
    gathered = Gathered()
    gathered.add_functions([("__inference_f_1", graph)], [read_xspace(space.message)])
    return Profile.of(assemble(gathered.tables(), count_float_ops("all")))


def test_what_a_kernel_took_in_is_what_its_source_put_out() -> None:
    def function(x: Any) -> Any:
        return tf.reduce_sum(tf.nn.relu(x, name="relu"), name="sum")

    profile = taking_in(function, None, None, 3, relu=("Relu", ""), sum=("Sum", "(float[2,7,3];int32[3])"))
    assert of(profile, "relu") == 42
    assert of(profile, "sum") == 41


def test_swapped_operands_tell_no_shape_of_another_source() -> None:
    """The runtime may put a constant first; the kernel that did so is met before one that did not."""

    def function(x: Any) -> Any:
        y = tf.nn.relu(x, name="relu")
        return tf.equal(y, 0.0, name="equal"), tf.reduce_sum(y, name="sum")

    kernels = {"equal": ("Equal", "(float[];float[7,3])"), "sum": ("Sum", "(float[7,3];int32[2])")}
    assert of(taking_in(function, None, 3, relu=("Relu", ""), **kernels), "relu") == 21


def test_a_graph_def_and_a_run_suffice() -> None:
    graph, run_meta = run(dense)
    profile = Profile.from_protos(graph.as_graph_def().SerializeToString(), run_meta.SerializeToString())
    assert sum(float_ops(profile).values()) == PRODUCT + 2 * BATCH * UNITS


def test_multiply_accumulates_of_a_fused_layer() -> None:
    profile = Profile.from_protos(*run(dense)).with_flops(multiply_accumulates=True)
    assert sum(float_ops(profile).values()) == PRODUCT // 2


def test_counting_twice_changes_nothing() -> None:
    profile = Profile.from_protos(*run(dense))
    assert profile.with_flops().nodes.float_ops.tolist() == profile.nodes.float_ops.tolist()


def test_a_loop_counts_its_rounds() -> None:
    def build(x: Any) -> Any:
        weights = tf1.get_variable("weights", [FEATURES, FEATURES])
        return tf.while_loop(
            lambda number, _: number < ROUNDS, lambda number, y: (number + 1, tf.tanh(tf.matmul(y, weights))), [0, x]
        )[1]

    tf1.enable_control_flow_v2()
    counted = float_ops(Profile.from_protos(*run(build)))
    of_products = sum(count for name, count in counted.items() if "MatMul" in name)
    assert of_products == ROUNDS * 2 * BATCH * FEATURES * FEATURES
    assert sum(count for name, count in counted.items() if "Tanh" in name) == ROUNDS * BATCH * FEATURES


def test_a_fused_layer_in_a_loop_counts_its_rounds() -> None:
    def build(x: Any) -> Any:
        weights, bias = tf1.get_variable("weights", [FEATURES, FEATURES]), tf1.get_variable("bias", [FEATURES])

        def layer(number: Any, y: Any) -> Any:
            return number + 1, tf.nn.relu(tf.nn.bias_add(tf.matmul(y, weights), bias))

        return tf.while_loop(lambda number, _: number < ROUNDS, layer, [0, x])[1]

    tf1.enable_control_flow_v2()
    counted = float_ops(Profile.from_protos(*run(build)))
    of_layer = sum(count for name, count in counted.items() if name.rpartition("/")[2] in ("MatMul", "BiasAdd", "Relu"))
    assert of_layer == ROUNDS * (2 * BATCH * FEATURES * FEATURES + 2 * BATCH * FEATURES)


def test_function_bodies_count_by_call() -> None:
    def build(x: Any) -> Any:
        weights = tf1.get_variable("weights", [FEATURES, FEATURES])
        twice = tf.function(lambda y: tf.tanh(tf.matmul(y, weights, transpose_b=True)))
        return twice(twice(x))

    counted = float_ops(Profile.from_protos(*run(build)))
    assert sum(counted.values()) == 2 * (2 * BATCH * FEATURES * FEATURES + BATCH * FEATURES)


def test_the_compatible_api_counts_as_native_does() -> None:
    graph, run_meta = run(dense)
    options = tfprof.ProfileOptionBuilder(tfprof.ProfileOptionBuilder.float_operation()).with_empty_output().build()
    ours = tfprof.profile(graph, run_meta, cmd="op", options=options)
    native = tf1.profiler.profile(graph, run_meta, cmd="op", options=options)
    assert ours.total_float_ops == native.total_float_ops


def test_what_an_op_log_says_is_not_added_to() -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.nn.relu(tf.ones([3, 4]), name="relu")
    _, _, op_log = protos_of("relu = Relu() +mine")
    profile = Profile.from_protos(graph.as_graph_def(add_shapes=True), op_log=op_log)
    assert profile.nodes.float_ops.sum() == 0
    assert profile.with_flops().nodes.float_ops.sum() == 12


def logged(build: Callable[[Any], Any]) -> tuple[bytes, bytes, bytes]:
    """A graph, a run of it, and the op log that TensorFlow writes of the graph."""
    graph, run_meta = run(build)
    with TemporaryDirectory() as directory:
        with graph.as_default():
            tf1.profiler.write_op_log(graph, directory)
        op_log = Path(directory, "tfprof_log").read_bytes()
    definition = graph.as_graph_def(add_shapes=True)
    return definition.SerializeToString(), run_meta.SerializeToString(), op_log


def test_beside_an_op_log_what_ran_counts_by_the_shapes_of_the_run(native: NativeTfprof) -> None:
    """TensorFlow's op log has no count for a product of an unknown batch, and native tfprof adds none."""
    graph, run_meta, op_log = logged(dense)
    profile = Profile.from_protos(graph, run_meta, op_log)
    assert sum(float_ops(profile).values()) == PRODUCT + 2 * BATCH * UNITS
    assert profile.flops_coverage().share == 1
    of_native = profile.view("scope", max_depth=100, account_type_regexes=[".*"], timing="tfprof")
    options = {"max_depth": 100, "step": -1, "order_by": "name", "select": ["float_ops"], "output": "none"} | {
        f"{kind}_regexes": [".*"] for kind in ("account_type", "start_name", "show_name")
    }
    answer = native.analyze(Request("scope", options_proto(options)), graph, run_meta, op_log)
    assert isinstance(answer, NativeAnswer)
    assert GraphNodeProto.FromString(answer.proto).total_float_ops == int(of_native.total["float_ops"][0])


def test_zeros_of_ops_that_work_are_not_covered() -> None:
    graph, run_meta, op_log = logged(dense)
    coverage = Profile.from_protos(graph, run_meta, op_log, own_formulas=False).flops_coverage()
    assert coverage.share < 1
    assert {each.lacks for each in coverage.op_types if each.op in ("MatMul", "Relu")} == {"count"}
    assert "not counted in the op log: " in coverage.text()
    assert (
        Profile.from_protos(graph, run_meta, op_log).with_flops(multiply_accumulates=True).flops_coverage().share == 1
    )


@pytest.fixture
def take_back() -> Iterator[list[Callable[[], None]]]:
    registered: list[Callable[[], None]] = []
    yield registered
    for each in registered:
        each()


def relus() -> Profile:
    with tf.Graph().as_default() as graph:
        tf.nn.relu(tf.ones([3, 4]), name="relu")
        tf.matmul(tf.ones([2, 3]), tf.ones([3, 4]), name="product")
    return Profile.from_protos(graph)


def of(profile: Profile, name: str) -> int:
    return int(profile.nodes.float_ops[profile.nodes.names.index(name)])


def test_a_registered_formula_counts_in_later_profiles(take_back: list[Callable[[], None]]) -> None:
    before = relus()
    take_back.append(tfprof.register_flops("Relu", lambda operation: 7 * operation.output_size))
    take_back.append(tfprof.register_flops("MatMul", lambda operation: 1))
    after = relus()
    assert (of(before, "relu"), of(after, "relu")) == (12, 84)
    assert (of(before, "product"), of(after, "product")) == (48, 1)


def test_a_registered_formula_counts_in_the_compatible_api(take_back: list[Callable[[], None]]) -> None:
    with tf.Graph().as_default() as graph:
        tf.nn.relu(tf.ones([3, 4]))
    options = tfprof.ProfileOptionBuilder(tfprof.ProfileOptionBuilder.float_operation()).with_empty_output().build()
    assert tfprof.profile(graph, cmd="op", options=options).total_float_ops == 0
    take_back.append(tfprof.register_flops("Relu", lambda operation: operation.output_size))
    assert tfprof.profile(graph, cmd="op", options=options).total_float_ops == 12


def test_a_formula_that_fails_is_told_of_and_counts_nothing(take_back: list[Callable[[], None]]) -> None:
    take_back.append(tfprof.register_flops("Relu", lambda operation: operation.attributes["no such"]))
    with pytest.warns(ProfileWarning, match=r"the FLOP formula of Relu failed .*: KeyError: 'no such' \(at 'relu'\)"):
        assert of(relus(), "relu") == 0


@pytest.mark.parametrize(("op", "formula", "error"), [("", len, ValueError), ("Relu", 3, TypeError)])
def test_what_is_no_formula_is_refused(op: str, formula: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^register_flops: the "):
        tfprof.register_flops(op, formula)


def test_the_batch_of_a_gradient_that_takes_in_sizes_first() -> None:
    """A last batch that is smaller leaves the batch unknown in the graph, and so what the gradient puts out."""
    layers = [
        keras.Input([8, 8, 1]),
        keras.layers.Conv2D(4, 3, padding="same"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(8, 3, padding="same", name="second"),
        keras.layers.GlobalAveragePooling2D(),
    ]
    model = keras.Sequential(layers)
    model.compile("sgd", "mse")
    with tfprof.capture(trace_all=True) as prof:
        model.fit(np.ones([168, 8, 8, 1]), np.zeros([168, 8]), batch_size=16, verbose=0, shuffle=False)
    nodes = prof.profile.nodes
    counted = {
        name.rpartition("/")[2]: int(count)
        for name, count in zip(nodes.names, nodes.float_ops, strict=True)
        if "/second/" in name and name.endswith(("Conv2DBackpropInput", "Conv2DBackpropFilter"))
    }
    products = 2 * (3 * 3 * 4 * 8) * (4 * 4) * 16
    assert counted["Conv2DBackpropInput"] == products
    assert counted["Conv2DBackpropFilter"] >= products  # and a bias, where one kernel does both


def test_products_of_gradients_whose_length_the_graph_does_not_know() -> None:
    """A dense layer on sequences: its weights' gradient is [4, 16 * 5] x [16 * 5, 3], whose 16 * 5 no graph knows."""
    model = keras.Sequential([keras.Input([None, 4]), keras.layers.Dense(4), keras.layers.Dense(3, name="last")])
    model.compile("sgd", "mse")
    given, wanted = np.ones([168, 5, 4]), np.zeros([168, 5, 3])
    with tfprof.capture(trace_all=True) as prof:
        model.fit(given, wanted, batch_size=16, verbose=0, shuffle=False)
    nodes = prof.profile.nodes
    counted = {
        name.rpartition("last/")[2]: int(count)
        for name, count in zip(nodes.names, nodes.float_ops, strict=True)
        if name.startswith("gradient_tape/") and "last/Tensordot/MatMul/" in name
    }
    products = 2 * (16 * 5) * 4 * 3
    assert counted == {"Tensordot/MatMul/MatMul": products, "Tensordot/MatMul/MatMul_1": products}


@pytest.mark.parametrize("op", ["_MklTranspose", "_MklReshape", "_MklConcatV2", "_MklSlice", "_FusedRecv"])
def test_kernels_that_only_move_count_nothing(op: str) -> None:
    profile = profile_of(f"moved = {op}() 3us")
    assert profile.flops_coverage().without_formula == ()


def test_a_function_library_that_is_damaged_is_told_of() -> None:
    """It is read only where nodes ran that are in none but functions, as those of a loop."""
    graph, run_meta = run(
        lambda x: tf.while_loop(lambda y: tf.reduce_sum(y) < 9.0, lambda y: (tf.tanh(y) + 1,), [x])[0]
    )
    whole = graph.as_graph_def(add_shapes=True).SerializeToString()
    Profile.from_protos(whole, run_meta)
    with pytest.raises(ProfileError, match=r"graph: .*functions, cannot be read"):
        Profile.from_protos(whole + b"\x12\x02\xff\xff", run_meta)


def test_coverage_is_by_time_and_names_what_is_missing() -> None:
    profile = profile_of("""
        a = MatMul()  60us 6flops
        b = Svd()     30us
        c = Relu()    9us
        d = Reshape() 1us
        e = NoSuch()
    """)
    coverage = tfprof.flops_coverage(profile)
    assert coverage.share == pytest.approx(0.61)
    assert coverage.without_formula == ("Svd",)
    assert coverage.without_shapes == ("Relu",)
    assert next((each.op, each.micros, each.float_ops) for each in coverage.op_types) == ("MatMul", 60.0, 6)
    assert str(coverage).splitlines() == [
        "float operations are known for 61.0% of the op time",
        "no formula: Svd (30.0%)",
        "shapes not known: Relu (9.0%)",
    ]
    assert tfprof.flops_coverage(profile.view("op", account_type_regexes=["MatMul"])).share == 1
    assert coverage.to_dataframe()["lacks"].tolist() == ["", "formula", "shapes", ""]


RECORDED_STAGES = (
    *("AssertCardinality", "DirectedInterleave", "GroupByWindow", "IgnoreErrors", "MapAndBatch", "PaddedBatchV2"),
    *("Prefetch", "Random", "RebatchV2", "Shard", "ShuffleAndRepeat", "TakeWhile", "Unbatch", "Window", "Zip"),
)
"""As TensorFlow 2.21 names stages of pipelines that a loop of Python goes through."""


def test_stages_of_input_lack_no_formula_and_ops_of_their_maps_may() -> None:
    ran = {f"tf.data/Root/{op}": op for op in (*RECORDED_STAGES, "DecodeImage")}
    graph = GraphDef(node=[{"name": name, "op": op} for name, op in ran.items()])
    run_meta = run_of({"/job:localhost/replica:0/task:0/device:cpu:0": [(name, 1000, 10) for name in ran]})
    assert flops_coverage(Profile.from_protos(graph, [run_meta])).without_formula == ("DecodeImage",)

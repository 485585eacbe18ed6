"""TensorFlow 2 and Keras 3 programs are profiled by windows of steps; counts of ops are told by hand."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src.backend.tensorflow import trainer as keras_trainer
from tensorflow.python.eager.polymorphic_function import atomic_function, polymorphic_function
from tensorflow.python.profiler.internal import _pywrap_profiler

from tfprof_widget.capturing import windows
from tfprof_widget.capturing.function_hooks import hooked_functions
from tfprof_widget.capturing.function_recorder import FunctionRecorder
from tfprof_widget.capturing.recorded import Recorded, Runs
from tfprof_widget.capturing.sampling import EVERYTHING, Adaptive, Policy, Steps
from tfprof_widget.profiles import Profile

BATCH, CLASSES = 16, 10
HOOKED = [
    (atomic_function.AtomicFunction, "call_flat"),
    (polymorphic_function.Function, "__call__"),
    (keras_trainer.TensorFlowTrainer, "make_train_function"),
    (keras_trainer.TensorFlowTrainer, "make_test_function"),
    (keras_trainer.TensorFlowTrainer, "make_predict_function"),
    (_pywrap_profiler, "ProfilerSession"),
]


def function(python: Callable[..., Any], **options: Any) -> Any:
    return tf.function(python, **options)


class Captured:
    """What was captured, once the block is over."""

    recorded: Recorded

    @property
    def profile(self) -> Profile:
        (graph,) = self.recorded.graphs
        return graph.profile

    @property
    def runs(self) -> dict[str, Runs]:
        (graph,) = self.recorded.graphs
        return {runs.name: runs for runs in graph.runs}

    def counts(self, *names: str) -> Counter[str]:
        """How often each type of op was executed in the steps of these names."""
        profile = self.profile
        steps = [place for place, name in enumerate(profile.step_names) if name in names]
        nodes = profile.executions.node[np.isin(profile.executions.step, steps)]
        return Counter(profile.nodes.ops[op] for op in profile.nodes.op[nodes].tolist())

    def nodes(self, *names: str) -> Counter[str]:
        """How often each node was executed in the steps of these names."""
        profile = self.profile
        steps = [place for place, name in enumerate(profile.step_names) if name in names]
        nodes = profile.executions.node[np.isin(profile.executions.step, steps)]
        return Counter(profile.nodes.names[node] for node in nodes.tolist())


@contextmanager
def capturing(policy: Policy = EVERYTHING) -> Iterator[Captured]:
    captured = Captured()
    recorder = FunctionRecorder(policy)
    try:
        with hooked_functions(recorder):
            yield captured
    finally:
        captured.recorded = recorder.recorded()


def small_model() -> Any:
    model = keras.Sequential(
        [
            keras.layers.Input((8, 8, 3)),
            keras.layers.Conv2D(4, 3, activation="relu", name="conv"),
            keras.layers.BatchNormalization(name="norm"),
            keras.layers.Flatten(),
            keras.layers.Dense(CLASSES, name="dense"),
        ],
        name="small",
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def data(batches: int) -> tuple[Any, Any]:
    count = BATCH * batches
    return np.ones([count, 8, 8, 3], np.float32), np.zeros([count], np.int64)


def like(counts: Counter[str], *parts: str) -> int:
    """How many executions are of types that have all these parts: kernels may be fused, or oneDNN's."""
    return sum(number for op, number in counts.items() if all(part in op for part in parts))


@pytest.fixture(scope="module")
def fitted() -> Captured:
    """A fit of two epochs of three steps, then an evaluation and a prediction of three steps each."""
    model = small_model()
    x, y = data(3)
    with capturing() as captured:
        model.fit(x, y, batch_size=BATCH, epochs=2, verbose=0)
        model.evaluate(x, y, batch_size=BATCH, verbose=0)
        model.predict(x, batch_size=BATCH, verbose=0)
    return captured


TRAIN, TEST, PREDICT = "fit: train_step", "evaluate: test_step", "predict: predict_step"


def test_steps_are_told_apart_by_what_they_do(fitted: Captured) -> None:
    seen = {name: (runs.seen, runs.traced) for name, runs in fitted.runs.items() if name != windows.EAGER}
    assert seen == {TRAIN: (6, 6), TEST: (3, 3), PREDICT: (3, 3)}
    names = Counter(name for name in fitted.profile.step_names if name != windows.EAGER)
    warm = " (warm-up)"
    assert names == {
        TRAIN: 5,
        TRAIN + warm: 1,
        TEST: 2,
        TEST + warm: 1,
        PREDICT: 2,
        PREDICT + warm: 1,
    }
    assert fitted.recorded.warnings == ()
    assert fitted.runs[TRAIN].warm_up_seconds > fitted.runs[TRAIN].traced_seconds / 5 > 0


@pytest.mark.parametrize(
    ("name", "steps", "convolutions", "of_filters", "products", "batches"),
    [
        # a dense layer multiplies once forward, once for its weights' and once for its inputs' gradient
        (TRAIN, 5, 1, 1, 3, 1),
        (TEST, 2, 1, 0, 1, 1),
        (PREDICT, 2, 1, 0, 1, 0),  # which is handed its batches
    ],
)
def test_ops_of_a_model_are_as_many_as_by_hand(
    fitted: Captured, name: str, steps: int, convolutions: int, of_filters: int, products: int, batches: int
) -> None:
    counts = fitted.counts(name)
    assert like(counts, "Conv2DBackpropFilter") == of_filters * steps
    assert like(counts, "Conv2D") == (convolutions + of_filters) * steps
    assert like(counts, "MatMul") == products * steps
    assert counts["IteratorGetNext"] == batches * steps


def test_names_are_by_layer(fitted: Captured) -> None:
    nodes = fitted.nodes(TRAIN)
    assert not [name for name in nodes if "PartitionedCall" in name]
    dense = {name for name in nodes if name.startswith("small/dense/")}
    assert "small/dense/BiasAdd" in dense
    assert {name for name in nodes if name.startswith("gradient_tape/small/dense/MatMul/")} == {
        "gradient_tape/small/dense/MatMul/MatMul",
        "gradient_tape/small/dense/MatMul/MatMul_1",
    }


def test_what_steps_have_unnamed_is_in_their_own_scope(fitted: Captured) -> None:
    """Metrics are computed outside of any layer, and otherwise in training and in testing."""
    assert {name for name in fitted.nodes(TRAIN) if name.startswith("train_step/")}
    assert not {name for name in fitted.nodes(TRAIN) if name.startswith("test_step/")}
    assert {name for name in fitted.nodes(TEST) if name.startswith("test_step/")}


def test_shapes_are_those_of_the_layers(fitted: Captured) -> None:
    nodes = fitted.profile.nodes

    def shapes(name: str) -> list[tuple[int, ...]]:
        return [nodes.shapes[code] for code in nodes.output_shapes[nodes.names.index(name)].tolist()]

    assert shapes("small/conv/convolution") == [(BATCH, 6, 6, 4)]
    assert shapes("small/dense/MatMul") == [(BATCH, CLASSES)]
    multiplied = nodes.inputs[nodes.names.index("small/dense/MatMul")].tolist()
    assert [nodes.names[source].rpartition("/")[2] for source in multiplied] == ["Reshape", "ReadVariableOp"]


def test_parameters_are_those_of_the_model(fitted: Captured) -> None:
    model = small_model()
    nodes = fitted.profile.nodes
    of_model = {name: int(count) for name, count in zip(nodes.names, nodes.parameters, strict=True) if count}
    of_model = {name: count for name, count in of_model.items() if name.startswith("small/")}
    expected = {variable.path: int(np.prod(variable.shape)) for variable in model.variables}
    assert of_model == expected
    assert sum(of_model.values()) == model.count_params() == 3 * 3 * 3 * 4 + 4 + 4 * 4 + 144 * 10 + 10
    trainable = fitted.profile.view("scope", account_type_regexes=["_trainable_variables"], max_depth=9)
    counts = {name: int(own) for name, own in zip(trainable.names, trainable.own["params"], strict=True) if own}
    assert set(counts) == {variable.path for variable in model.trainable_variables}


def test_float_operations_are_those_of_the_formulas(fitted: Captured) -> None:
    nodes = fitted.profile.nodes
    float_ops = dict(zip(nodes.names, nodes.float_ops.tolist(), strict=True))
    assert float_ops["small/dense/MatMul"] == 2 * BATCH * 144 * CLASSES
    assert float_ops["small/conv/convolution"] == 2 * BATCH * 6 * 6 * 4 * 3 * 3 * 3
    assert float_ops["gradient_tape/small/dense/MatMul/MatMul_1"] == 2 * BATCH * 144 * CLASSES


def test_input_pipeline_is_a_scope_of_its_own(fitted: Captured) -> None:
    pipeline = {name for name in fitted.nodes(TRAIN) if name.startswith("tf.data/")}
    assert "tf.data/Root/Prefetch" in pipeline
    assert not {name for name in pipeline if "Iterator" in name}


def forward(x: Any, weights: Any) -> Any:
    return tf.nn.relu(tf.matmul(x, weights))  # THE FORWARD LINE


def test_custom_loop_with_a_tape() -> None:
    weights = tf.Variable(tf.ones([4, 4]), name="weights")

    @function
    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(forward(x, weights))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    x = tf.ones([2, 4])
    with capturing() as captured:
        for _ in range(5):
            train(x)
    assert {name: (runs.seen, runs.traced) for name, runs in captured.runs.items() if name == "train"} == {
        "train": (5, 5)
    }
    counts = captured.counts("train")
    # x needs no gradient, so one product forward and one back
    assert (like(counts, "MatMul"), counts["Relu"], counts["ReluGrad"], counts["AssignSubVariableOp"]) == (8, 4, 4, 4)
    nodes = captured.profile.nodes
    parameters = {name: int(count) for name, count in zip(nodes.names, nodes.parameters, strict=True) if count}
    assert parameters == {"weights": 16}
    line = 1 + Path(__file__).read_text(encoding="utf-8").splitlines().index(
        "    return tf.nn.relu(tf.matmul(x, weights))  # THE FORWARD LINE"
    )
    rows = captured.profile.view("code", max_depth=200)
    frame = f"{Path(__file__).name}:{line}:forward"
    runs = dict(zip(rows.names, rows.total["runs"].tolist(), strict=True))
    assert runs[frame] == 3 * 5  # the variable is read too
    assert runs[f"{frame} (gradient)"] == 2 * 5


def test_ops_run_one_by_one() -> None:
    x = tf.ones([3, 3])
    with capturing() as captured:
        for _ in range(7):
            x = tf.matmul(x, x)
        tf.nn.sigmoid(x)
    assert captured.nodes(windows.EAGER) == {"eager/MatMul": 7, "eager/Sigmoid": 1}
    assert list(captured.runs) == [windows.EAGER]


def test_function_called_by_a_function_keeps_its_scope() -> None:
    @function
    def helper(x: Any) -> Any:
        return tf.matmul(x, x)

    @function
    def outer(x: Any) -> Any:
        return helper(x) + helper(2.0 * x) + tf.matmul(x, 3.0 * x)

    x = tf.ones([3, 3])
    outer(x)  # traced before
    with capturing() as captured:
        outer(x)
        outer(x)
    nodes = captured.nodes("outer", "outer (warm-up)")
    assert nodes["helper/MatMul"] == 4
    assert like(captured.counts("outer", "outer (warm-up)"), "MatMul") == 6
    assert captured.profile.traces.stack[captured.profile.nodes.names.index("helper/MatMul")] >= 0


def test_loop_and_condition_in_a_function() -> None:
    @function
    def looping(x: Any) -> Any:
        for _ in tf.range(3):
            x = tf.matmul(x, x)
        if tf.reduce_sum(x) > 0.0:
            x = tf.sin(x)
        return x

    with capturing() as captured:
        looping(tf.ones([2, 2]))
        looping(tf.ones([2, 2]))
    nodes = captured.nodes("looping")
    assert (nodes["while/MatMul"], nodes["cond/Sin"]) == (3, 1)


def test_hooks_are_gone_afterwards_also_from_models() -> None:
    before = [vars(owner)[name] for owner, name in HOOKED]
    model = small_model()
    x, y = data(1)
    with capturing():
        assert [vars(owner)[name] for owner, name in HOOKED] != before
        model.fit(x, y, batch_size=BATCH, verbose=0)
        hooked = model.train_function
    assert [vars(owner)[name] for owner, name in HOOKED] == before
    assert model.train_function is hooked.__wrapped__
    with capturing() as captured:
        model.fit(x, y, batch_size=BATCH, verbose=0)
    assert captured.runs[TRAIN].seen == 1


def test_error_of_the_user_comes_through() -> None:
    @function
    def failing(x: Any) -> Any:
        tf.debugging.assert_positive(x)
        return tf.square(x)

    with capturing() as captured:
        failing(tf.constant(1.0))
        with pytest.raises(tf.errors.InvalidArgumentError):
            failing(tf.constant(-1.0))
    assert captured.runs["failing"].seen == 1
    assert captured.nodes("failing (warm-up)")["Square"] == 1
    assert captured.recorded.warnings == ("1 step was not counted, having ended in an exception",)


def test_error_of_our_own_lets_the_program_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(windows.Windows, "add_step", fail)
    model = small_model()
    x, y = data(2)
    with capturing() as captured:
        history = model.fit(x, y, batch_size=BATCH, verbose=0)
    assert len(history.history["loss"]) == 1
    assert any("error of tfprof_widget itself (RuntimeError: broken)" in each for each in captured.recorded.warnings)


def test_profiler_that_is_active_already_is_told_of(tmp_path: Path) -> None:
    tf.profiler.experimental.start(str(tmp_path))
    try:
        with capturing() as captured:
            tf.function(lambda x: x + 1.0)(tf.constant(1.0))
    finally:
        tf.profiler.experimental.stop()
    (warning,) = captured.recorded.warnings
    assert "another session of TensorFlow's profiler was active" in warning
    assert "tf.profiler.experimental.start" in warning


def test_profiler_that_is_started_in_the_block_gets_its_session(tmp_path: Path) -> None:
    double = tf.function(lambda x: 2.0 * x)
    with capturing() as captured:
        double(tf.constant(1.0))
        tf.profiler.experimental.start(str(tmp_path))
        double(tf.constant(1.0))
        tf.profiler.experimental.stop()
        double(tf.constant(1.0))
    assert list(tmp_path.rglob("*.xplane.pb"))
    (runs,) = (runs for runs in captured.recorded.graphs[0].runs if runs.name != windows.EAGER)
    assert (runs.seen, runs.traced) == (3, 2)
    (warning,) = captured.recorded.warnings
    assert __file__ in warning


def test_adaptive_windows_leave_steps_out() -> None:
    double = tf.function(lambda x: 2.0 * x)
    x = tf.constant(1.0)
    with capturing(Adaptive()) as captured:
        for _ in range(1000):
            double(x)
    (runs,) = (runs for runs in captured.recorded.graphs[0].runs if runs.name != windows.EAGER)
    assert runs.seen == 1000
    assert 8 < runs.traced < 100
    assert runs.untraced_seconds > 0
    assert captured.recorded.overhead_seconds > 0


def test_range_of_steps_is_recorded_and_no_other() -> None:
    double = tf.function(lambda x: tf.square(x))
    x = tf.constant(1.0)
    with capturing(Steps(3, 5)) as captured:
        for _ in range(9):
            double(x)
    (runs,) = captured.recorded.graphs[0].runs
    assert (runs.seen, runs.traced) == (9, 2)
    assert captured.nodes(runs.name) == {"Square": 2}


def test_window_closes_when_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "EAGER_SECONDS", 0.1)
    with capturing() as captured:
        tf.square(2.0)
        time.sleep(0.3)
        tf.sin(2.0)
    assert "eager/Sin" not in captured.nodes(windows.EAGER)
    assert captured.recorded.warnings == ("ops outside of steps were recorded for 0.1 s at most",)
    assert "tfprof_widget" not in {thread.name for thread in threading.enumerate()}


def test_steps_of_several_threads() -> None:
    square = tf.function(tf.square)
    x = tf.constant(3.0)
    square(x)

    def work() -> None:
        for _ in range(20):
            square(x)

    with capturing() as captured:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    (runs,) = (runs for runs in captured.recorded.graphs[0].runs if runs.name != windows.EAGER)
    assert runs.seen == 60


def test_missing_internals_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(polymorphic_function.Function, "__call__")
    with capturing() as captured:
        tf.square(2.0)
    assert captured.recorded.warnings == ("this TensorFlow has no __call__, so what runs through it is missing here",)
    assert captured.nodes(windows.EAGER)["eager/Square"] == 1


def test_nothing_run_is_nothing_recorded() -> None:
    with capturing() as captured:
        pass
    assert captured.recorded.graphs == ()
    assert sys.modules["tensorflow"] is tf


def test_variables_of_a_functional_model_are_in_its_layers() -> None:
    """Keras names them without the model."""
    x = keras.layers.Input((4,))
    model = keras.Model(x, keras.layers.Dense(2, name="out")(x), name="functional")
    model.compile("sgd", "mse")
    with capturing() as captured:
        model.fit(np.ones([BATCH, 4]), np.ones([BATCH, 2]), batch_size=BATCH, verbose=0)
    nodes = captured.profile.nodes
    parameters = {name: int(count) for name, count in zip(nodes.names, nodes.parameters, strict=True) if count > 1}
    assert parameters == {"functional/out/kernel": 8, "functional/out/bias": 2}
    assert "functional/out/MatMul" in nodes.names

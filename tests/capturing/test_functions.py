"""The functions that Python calls are kept with their graphs: those traced before, loaded ones and backward passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from tests.capturing.program_steps import capturing, function, like
from tests.made import profile_of_tables
from tfprof_widget.capturing.called_functions import CalledFunctions
from tfprof_widget.capturing.function_hooks import hooked_functions
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.capturing.sampling import EVERYTHING
from tfprof_widget.profiles.data import EAGER


def called(recorder: FunctionSource, executed: set[str]) -> list[str]:
    return [name for name, _ in recorder.functions.graphs(executed)]


def test_function_traced_before_is_known_when_called() -> None:
    double = function(lambda x: 2.0 * x)
    concrete = double.get_concrete_function(tf.TensorSpec([], tf.float32))
    recorder = FunctionSource(EVERYTHING)
    with hooked_functions(recorder):
        double(tf.constant(1.0))
    name = concrete.name.decode()
    assert called(recorder, {name, "another"}) == [name]
    ((_, graph),) = recorder.functions.graphs({name})
    assert graph is concrete.graph


def test_function_that_is_only_traced_in_another_is_not_called() -> None:
    inner = function(lambda x: 2.0 * x)
    outer = function(lambda x: inner(x) + 1.0)
    functions: list[str] = []

    class Keeping(FunctionSource):
        def keep_function(self, function: Any) -> str:
            functions.append(super().keep_function(function))
            return functions[-1]

    with hooked_functions(Keeping(EVERYTHING)):
        outer(tf.constant(1.0))
    assert functions == [outer.get_concrete_function(tf.constant(1.0)).name.decode()]


def test_functions_are_kept_though_the_program_drops_them() -> None:
    with capturing() as captured:
        for _ in range(2):
            local = function(lambda x: tf.square(x))
            local(tf.constant(1.0))
            del local
    (graph,) = captured.recorded.graphs
    square = profile_of_tables(graph.tables).nodes.names.index("Square")
    assert profile_of_tables(graph.tables).traces.stack[square] >= 0
    assert like(captured.counts(*profile_of_tables(graph.tables).step_names), "Square") == 2


def test_backward_pass_of_a_function_under_an_eager_tape_is_under_the_forward_line() -> None:
    weights = tf.Variable(tf.ones([4, 4]), name="weights")

    @function
    def forward(x: Any) -> Any:
        return tf.matmul(x, weights)

    x = tf.ones([4, 4])
    with capturing() as captured:
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = forward(x)
            tape.gradient(loss, weights)
    counts = captured.nodes("forward", "forward (warm-up)")
    assert counts["MatMul"] == 3
    assert [name for name in counts if name.startswith("gradients/")] == []  # a step's time is without its gradient's
    counts = captured.nodes("gradient of forward", "gradient of forward (warm-up)")
    # the backward pass of a function computes the gradients of all its inputs, x too
    assert sum(number for name, number in counts.items() if name.startswith("gradients/MatMul_grad/")) == 2 * 3
    seen = {runs.name: runs.seen for runs in captured.recorded.graphs[0].kinds if runs.name != EAGER}
    assert seen == {"forward": 3, "gradient of forward": 3}
    rows = captured.profile.view("code", max_depth=300)
    total = dict(zip(rows.names, rows.total["runs"].tolist(), strict=True))
    (gradient,) = (count for name, count in total.items() if name.endswith(":forward (gradient)"))
    assert gradient == 2 * 3


def test_loaded_function_is_profiled(tmp_path: Path) -> None:
    module = tf.Module()
    module.v = tf.Variable(tf.ones([3]), name="v")
    module.scale = tf.function(lambda x: module.v * x, input_signature=[tf.TensorSpec([3], tf.float32)])
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    with capturing() as captured:
        loaded.scale(tf.ones([3]))
        loaded.scale(tf.ones([3]))
    counts = captured.counts(*captured.profile.step_names)
    assert counts["Mul"] == 2


def test_concrete_function_is_a_step_by_itself() -> None:
    concrete = function(lambda x: tf.square(x)).get_concrete_function(tf.TensorSpec([], tf.float32))
    with capturing() as captured:
        concrete(tf.constant(2.0))
        concrete(tf.constant(2.0))
    assert sum(runs.seen for runs in captured.recorded.graphs[0].kinds if runs.name != "eager ops") == 2
    assert captured.counts(*captured.profile.step_names)["Square"] == 2


def test_first_label_of_a_function_stays() -> None:
    class Function:
        name = b"__inference_step_1"

    functions = CalledFunctions()
    kept = Function()
    assert functions.add(kept, "train_step") == "__inference_step_1"
    functions.add(Function(), "test_step")
    assert functions.labels == {"__inference_step_1": "train_step"}

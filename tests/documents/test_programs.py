"""The documents' programs run as they are printed, with real sessions, and find what native or a calculation finds."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tensorflow.python.profiler import tfprof_logger

import tfprof_widget as tfprof
from tests.documents.mobilenet import layers
from tests.documents.session import document, node_rows
from tests.documents.tensorflow_1 import run_program, tf
from tests.oracle.models import cluster_target
from tests.oracle.native import NativeAnswer, NativeTfprof, Request, Step
from tests.oracle.random_options import options_proto
from tests.profile_context.saved import profiles_in
from tfprof_widget.cli import main


@pytest.fixture
def graph() -> Any:
    return tf.Graph()


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """The steps that the program adds to its Profiler from now on, as native's Profiler would take them."""
    steps: list[Step] = []
    add_step = tfprof.Profiler.add_step

    def recording(profiler: Any, step: int, run_meta: Any) -> None:
        graph = tf.get_default_graph()
        op_log = tfprof_logger.merge_default_with_oplog(graph)
        protos = (run_meta, graph.as_graph_def(add_shapes=True), op_log)
        steps.append(Step(step, *(proto.SerializeToString() for proto in protos)))
        add_step(profiler, step, run_meta)

    monkeypatch.setattr(tfprof.Profiler, "add_step", recording)
    return steps


def test_mnist_profile(
    native: NativeTfprof, graph: Any, added: list[Step], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python mnist_profile.py --steps 100 --out 100` saves what native would have saved."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["mnist_profile.py", "--steps", "100", "--out", "100"])
    with pytest.raises(SystemExit) as exited:
        run_program("mnist_profile", graph, tmp_path)

    assert not exited.value.code
    assert [step.step for step in added] == list(range(101))
    asked = tfprof.ProfileOptionBuilder.time_and_memory() | {
        "step": -1,
        "output": f"file:outfile={tmp_path / 'native.txt'}",
        "select": ["micros", "bytes", "occurrence"],
        "order_by": "micros",
    }
    answer = native.profile_steps(Request("op", options_proto(asked)), added[0].graph, added[0].op_log, added)
    assert isinstance(answer, NativeAnswer)
    saved = (tmp_path / "test-100.txt").read_bytes()
    assert b"MatMul" in saved
    assert saved == answer.file


def train_loop(graph: Any) -> Callable[[], None]:
    """A loop that knows of no profiler."""
    with graph.as_default():
        images = tf.placeholder(tf.float32, [None, 12], name="images")
        loss = tf.reduce_mean(tf.square(tf.matmul(images, tf.get_variable("weights", [12, 4]))))
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        init = tf.global_variables_initializer()

    def loop() -> None:
        with tf.Session(graph=graph) as session:
            session.run(init)
            for _ in range(30):
                session.run(train_op, {images: np.ones([8, 12])})

    return loop


def test_profile_context(graph: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_program("profile_context", graph, tmp_path, train_loop=train_loop(graph))

    assert profiles_in(tmp_path / "train_dir") == {"profile_20": list(range(10, 21))}
    *op_views, scope_view = capsys.readouterr().out.split("Model Analysis Report")[1:]
    assert len(op_views) == 3
    assert all(re.search(r"^MatMul .*us", view, re.MULTILINE) for view in op_views)
    assert "weights (12x4, 48/48 params)" in scope_view


def test_the_profile_that_the_context_dumped_at_the_command_line(
    graph: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_program("profile_context", graph, tmp_path, train_loop=train_loop(graph))
    capsys.readouterr()
    words = f"op --profile_path={tmp_path}/train_dir/profile_20 -select micros,bytes,occurrence -order_by micros"
    assert main(words.split()) == 0
    # The gradient has two products, of which the one by the images is of no use, and never runs.
    assert re.search(r"^MatMul .*2\|3$", capsys.readouterr().out, re.MULTILINE)


def test_option_builder(graph: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with graph.as_default(), tf.name_scope("rnn"):
        state = tf.zeros([2, 3])
        for _ in range(3):
            state = tf.tanh(tf.matmul(state, tf.fill([3, 3], 0.5)))
    run_meta = tf.RunMetadata()
    with tf.Session(graph=graph) as session:
        session.run(state, None, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_meta)

    run_program("option_builder", graph, tmp_path, run_meta=run_meta)
    printed = capsys.readouterr().out
    assert re.search(r"^_TFProfRoot \(--/.*\n  rnn \(0B/", printed, re.MULTILINE)


def test_mobilenet_flops(
    graph: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []
    profile = tfprof.profile

    def recording(*arguments: Any, **keywords: Any) -> Any:
        found.append(profile(*arguments, **keywords))
        return found[-1]

    monkeypatch.setattr(tfprof, "profile", recording, raising=False)
    run_program("mobilenet_flops", graph, tmp_path)

    expected, parameters = Counter[str](), 0
    for layer in layers(alpha=0.75, side=32):
        expected[layer.op] += layer.float_ops
        parameters += layer.parameters
    flops, params = found
    by_type = {node.name: node.float_ops for node in _nodes(flops)}
    assert {op: by_type[op] for op in expected} == expected
    assert params.total_parameters == parameters
    assert capsys.readouterr().out.endswith(f"{flops.total_float_ops:,} --- 2,585,560\n")


def _nodes(node: Any) -> list[Any]:
    return [node, *(below for child in node.children for below in _nodes(child))]


def test_op_log(graph: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with graph.as_default(), tf.variable_scope("pool_logit"):
        images = tf.placeholder(tf.float32, [None, 64])
        product = tf.matmul(tf.nn.relu(images), tf.get_variable("DW", [64, 10]))
        logits = tf.nn.bias_add(product, tf.get_variable("biases", [10]))
        init = tf.global_variables_initializer()
    run_meta, full = tf.RunMetadata(), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    (tmp_path / "my_op_log_dir").mkdir()
    with tf.Session(graph=graph) as sess:
        sess.run(init)
        sess.run([product, logits], {images: np.ones([128, 64])}, full, run_meta)
        run_program("op_log", graph, tmp_path, sess=sess, run_meta=run_meta)
    tf.io.write_graph(graph, str(tmp_path), "graph.pbtxt")
    (op_log,) = (tmp_path / "my_op_log_dir").iterdir()

    paths = f"--graph_path={tmp_path}/graph.pbtxt --op_log_path={op_log}"
    assert main(f"scope {paths} -account_type_regexes pool_logit -max_depth 4 -select params".split()) == 0
    assert node_rows(capsys.readouterr().out, {"pool_logit/DW", "pool_logit/biases"}) == document("""
        _TFProfRoot (--/650 params)
          pool_logit/DW (64x10, 640/640 params)
          pool_logit/biases (10, 10/10 params)
    """)
    # The run has told that there are 128 images, which the graph does not know.
    assert main(f"op {paths} -account_type_regexes .* -min_float_ops 1 -select float_ops".split()) == 0
    assert re.search(r"^MatMul +163.84k float_ops", capsys.readouterr().out, re.MULTILINE)


def test_print_model_analysis(graph: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with graph.as_default():
        loss = tf.reduce_sum(tf.square(tf.matmul(tf.ones([8, 12]), tf.get_variable("weights", [12, 4]))))
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        init = tf.global_variables_initializer()
    run_program("print_model_analysis", graph, tmp_path, train_op=train_op, init=init)

    parameters, float_ops, times = capsys.readouterr().out.split("Model Analysis Report")[1:]
    assert "weights (12x4, 48/48 params)" in parameters
    assert "total_params: 48\n" in parameters
    assert "MatMul (768/768 flops)" in float_ops
    assert re.search(r"^  MatMul \(128B/128B, .*us/", times, re.MULTILINE)


def test_how_balanced_variables_are_on_parameter_servers(
    graph: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with graph.as_default(), tf.variable_scope("", use_resource=False):
        with tf.device("/job:ps/task:0"):
            first = tf.get_variable("first", [5, 5])
        with tf.device("/job:ps/task:1"):
            second = tf.get_variable("second", [59, 1])
        with tf.device("/job:worker/task:0"):
            train_op = tf.reduce_sum(first) + tf.reduce_sum(second)
        init = tf.global_variables_initializer()
    with tf.Session(cluster_target(), graph=graph) as session:
        session.run(init)
        output_dir, self = str(tmp_path), SimpleNamespace(_sess=session)
        run_program("run_meta", graph, tmp_path, self=self, train_op=train_op, output_dir=output_dir)
    tf.io.write_graph(graph, str(tmp_path), "graph.pbtxt")

    def parameters(task: int) -> str:
        paths = f"--graph_path {tmp_path}/graph.pbtxt --run_meta_path {tmp_path}/run_meta"
        line = f"scope {paths} -select device,params -account_type_regexes .*ps.*task:{task}.* -max_depth 1"
        assert main(line.split()) == 0
        return capsys.readouterr().out

    # Looks like ps task 1 is holding twice more parameters than task 0.
    assert "_TFProfRoot (--/25 params" in parameters(0)
    assert "_TFProfRoot (--/59 params" in parameters(1)

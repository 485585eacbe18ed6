"""What docs/other-tools.md says of this package and of others is what tests show, those named here or below."""

from __future__ import annotations

import ast
import importlib
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.profiler.tfprof_output_pb2 import MultiGraphNodeProto
from tensorflow.python.eager import context
from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

from tests.oracle.native import NativeAnswer, NativeTfprof, Request
from tests.oracle.random_options import DEFAULTS, options_proto
from tests.pages.markdown import ROOT
from tests.sketches import protos_of
from tfprof_widget.api.profile import Profile

HERE = Path(__file__).relative_to(ROOT).as_posix()

# What shows a row of the table.
EVIDENCE = {
    "Works with TensorFlow 2.21": (
        "tests/slow/test_differential.py::test_a_random_profile",
        "tests/packaging/test_wheel.py::test_profile_without_tensorflow",
        "tests/ingest/test_xspace_xprof.py::test_operations_are_those_of_xprof",
        f"{HERE}::test_tensorflow_lacks_what_profiler_ui_calls",
    ),
    "Keras `fit` and `tf.function`": (
        "tests/notebooks/test_keras.py::test_steps_are_told_apart_and_counted",
        "tests/notebooks/test_function_loop.py::test_ops_are_those_counted_by_hand",
        "tests/ingest/test_xspace_xprof.py::test_op_types_of_the_profile_are_those_of_xprof",
        f"{HERE}::test_run_metadata_of_a_function_has_no_times",
    ),
    "Session runs": (
        "tests/notebooks/test_mnist.py::test_ops_are_those_counted_by_hand",
        "tests/capturing/test_sessions.py::test_totals_equal_native_tfprof",
    ),
    "The line of your code that made an op": (
        "tests/browser/test_jupyter.py::test_the_code_view_shows_the_line_of_the_cell",
        "tests/ingest/test_tf_graph.py::test_traces_are_natives",
        f"{HERE}::test_traces_of_tensorflows_profiler_name_no_lines_and_lack_cheap_ops",
    ),
    "Ops that TensorFlow finds cheap": (
        "tests/capturing/test_cheap_ops.py::test_ops_known_to_be_cheap_are_recorded_too",
        f"{HERE}::test_traces_of_tensorflows_profiler_name_no_lines_and_lack_cheap_ops",
    ),
    "Executions shorter than 1 µs": (
        "tests/test_known_shortcomings.py"
        "::test_nanoseconds_are_counted_where_native_counts_each_execution_as_at_least_a_microsecond",
        f"{HERE}::test_native_counts_an_execution_as_a_microsecond_at_least",
    ),
    "FLOPs of `Relu`, or of an unknown batch": (
        "tests/ingest/flops/test_profiles.py::test_a_dense_layer_of_an_unknown_batch",
        f"{HERE}::test_native_has_no_float_operations_without_a_formula_or_a_batch",
    ),
    "More than 100 op types": (
        "tests/test_known_shortcomings.py::test_an_op_view_has_every_op_type",
        f"{HERE}::test_native_cuts_an_op_view_off",
    ),
    "An invalid regex": (
        "tests/test_known_shortcomings.py::test_an_invalid_regex_is_refused_and_no_empty_result",
        "tests/browser/test_controls.py::test_an_invalid_regex_turns_red_and_keeps_the_last_good_rows",
        f"{HERE}::test_native_answers_a_regex_that_is_none_with_no_rows",
    ),
    "A run metadata cut in half": (
        "tests/test_known_shortcomings.py::test_a_run_metadata_cut_in_half_is_refused_and_not_half_counted",
        f"{HERE}::test_native_counts_half_a_run_metadata",
    ),
    "To change an option": (
        "tests/browser/test_controls.py::test_dragging_min_micros_takes_rows_and_bars_away",
        "tests/browser/test_exports.py::test_the_page_lives_on_in_a_file",
    ),
    "Opened again later": (
        "tests/browser/test_jupyter.py::test_a_notebook_reopened_without_a_kernel_shows_its_result",
        "tests/browser/test_exports.py::test_the_page_lives_on_in_a_file",
        "tests/ingest/files/test_saved_profiles.py::test_native_shows_of_our_file_what_we_show",
    ),
}


def test_every_row_has_its_evidence() -> None:
    page = (ROOT / "docs" / "other-tools.md").read_text(encoding="utf-8")
    table = page.partition("\n| | tfprof-widget |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1].strip() for line in table.splitlines()[2:]]
    assert rows == list(EVIDENCE)


def test_evidence_is_tests() -> None:
    for path, _, name in (test.partition("::") for tests in EVIDENCE.values() for test in tests):
        assert re.fullmatch(r"tests/.*\btest_\w+\.py", path)
        module = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}, f"{path}::{name}"


# What others do.


def native_op_view(native: NativeTfprof, sketch: str, cut: int | None = None, **options: Any) -> Any:
    """Native's op view of a drawn profile, of whose run metadata the first `cut` bytes are given."""
    graph, (run_meta,), _ = protos_of(sketch)
    request = Request("op", options_proto({**DEFAULTS, "output": "none", "select": ["micros"], **options}))
    answer = native.analyze(request, graph.SerializeToString(), run_meta.SerializeToString()[:cut], b"")
    assert isinstance(answer, NativeAnswer)
    node = MultiGraphNodeProto()
    with suppress(DecodeError):  # as TensorFlow does, which prints it and returns what was read
        node.ParseFromString(answer.proto)
    return node


def test_native_counts_an_execution_as_a_microsecond_at_least(native: NativeTfprof) -> None:
    assert native_op_view(native, "a = Op() 100ns+100ns").total_exec_micros == 2


def test_native_cuts_an_op_view_off(native: NativeTfprof) -> None:
    sketch = "\n".join(f"n{number} = Op{number:03}() 1us" for number in range(150))
    node, count = native_op_view(native, sketch, max_depth=1000), 0
    while node.children:
        (node,) = node.children
        count += 1
    assert count == 100


def test_native_answers_a_regex_that_is_none_with_no_rows(native: NativeTfprof) -> None:
    assert native_op_view(native, "a = Op() 5us", show_name_regexes=["Op"]).children
    assert not native_op_view(native, "a = Op() 5us", show_name_regexes=["a("]).children


def test_native_counts_half_a_run_metadata(native: NativeTfprof) -> None:
    sketch = "\n".join(f"n{number} = Op() 1us" for number in range(50))
    _, (run_meta,), _ = protos_of(sketch)
    whole, half = native_op_view(native, sketch), native_op_view(native, sketch, run_meta.ByteSize() // 2)
    assert 0 < half.total_exec_micros < whole.total_exec_micros == 50


def test_native_has_no_float_operations_without_a_formula_or_a_batch() -> None:
    tf1 = tf.compat.v1
    run_meta, full = tf1.RunMetadata(), tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        batch = tf1.placeholder(tf.float32, [None, 3])
        product = tf.nn.relu(batch @ tf.ones([3, 5]))
        session.run(product, {batch: [[1, 2, 3]] * 4}, options=full, run_metadata=run_meta)
    options = {**tf1.profiler.ProfileOptionBuilder.float_operation(), "output": "none"}
    assert tf1.profiler.profile(graph, run_meta, cmd="op", options=options).total_float_ops == 0
    assert Profile.from_protos(graph, run_meta).nodes.float_ops.sum() == 2 * 4 * 3 * 5 + 4 * 5


def test_run_metadata_of_a_function_has_no_times() -> None:
    square = tf.function(lambda x: x @ x)
    context.context().enable_run_metadata()
    try:
        square(tf.ones([4, 4]))
        run_meta = context.context().export_run_metadata()
    finally:
        context.context().disable_run_metadata()
    assert run_meta.function_graphs
    assert not run_meta.step_stats.dev_stats


def test_traces_of_tensorflows_profiler_name_no_lines_and_lack_cheap_ops(tmp_path: Path) -> None:
    def scale(x: Any, factor: Any) -> Any:
        for _ in range(5):
            factor = factor * 0.5
        return factor * (x @ x)[0]

    scaled = tf.function(scale)
    x, factor = tf.ones([256, 256]), tf.ones([])

    def recorded(folder: Path) -> Counter[str]:
        """How many events of each op type there are of ten calls."""
        for _ in range(400):  # TensorFlow learns which ops are cheap
            scaled(x, factor)
        tf.profiler.experimental.start(str(folder))
        try:
            for _ in range(10):
                scaled(x, factor)
        finally:
            tf.profiler.experimental.stop()
        (trace,) = folder.rglob("*.xplane.pb")
        assert Path(__file__).name.encode() not in trace.read_bytes()
        events = (
            plane.event_metadata[event.metadata_id].name
            for plane in XSpace.FromString(trace.read_bytes()).planes
            for line in plane.lines
            for event in line.events
        )
        return Counter("MatMul" if "MatMul" in name else name.rpartition(":")[2] for name in events)

    # An op that once had to wait for the processor is taken for a dear one, and recorded, in some dozens of calls.
    counts = (recorded(tmp_path / str(attempt)) for attempt in range(10))
    assert any((found["MatMul"], found["Mul"]) == (10, 0) for found in counts)


def test_tensorflow_lacks_what_profiler_ui_calls() -> None:
    assert not hasattr(tf, "gfile")
    assert not hasattr(importlib.import_module("tensorflow.python.pywrap_tensorflow"), "Profile")

"""Stack traces are told apart without being written out, and only where that is proven to be right."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from threading import Thread
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework.func_graph import FuncGraph
from tensorflow.python.profiler import tfprof_logger
from tensorflow.python.util import tf_stack

from tfprof_widget.capturing.kept_code import KeptCode, keeping_code
from tfprof_widget.ingest.live import captures
from tfprof_widget.ingest.live.captures import Keeping, places
from tfprof_widget.ingest.live.stacks import CODE_IS_GONE, IMPORTED, read_traces
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.profiles.tables import CodeStacks

v1: Any = tf.compat.v1


def place_of(trace: object) -> bytes | None:
    (place,) = places([trace])
    return place


@pytest.fixture
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        for _ in range(5):
            tf.square(tf.add(1.0, 2.0))
        matrix = tf.ones([2, 2])
        tf.compat.v1.gradients(tf.matmul(matrix, matrix), matrix)
    return graph


def test_traces_are_told_apart_as_tensorflow_does(graph: Any) -> None:
    """Where the tests run, the fast way must be the one taken: no place is None."""
    traces = [operation.traceback for operation in graph.get_operations()]
    found = places(traces)
    assert None not in found
    assert max(Counter(found).values()) >= 5
    for trace, where in zip(traces, found, strict=True):
        assert [other == where for other in found] == [other == trace for other in traces]


def test_trace_of_another_kind_is_compared(graph: Any) -> None:
    """A part of a trace is a C++ object laid out otherwise."""
    trace = graph.get_operations()[0].traceback
    assert type(trace[1:]) is type(trace)
    assert place_of(trace[1:]) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("INSTANCE", 0),  # the reference count, which points nowhere
        ("INSTANCE", 8),  # the Python type
        ("POINTERS", slice(0, 8)),  # the C++ type: agrees for all
        ("POINTERS", slice(24, 40)),  # the capture without map, filter and level
        ("POINTERS", slice(24, 72)),  # all but the level
        ("POINTERS", slice(8, 76)),  # the written frames too, which come later
    ],
)
def test_memory_laid_out_otherwise_is_not_trusted(
    graph: Any, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captures, name, value)
    operations = graph.get_operations()
    assert place_of(operations[0].traceback) is None
    notes: list[str] = []
    assert set(read_traces(operations, notes.append).stack.tolist()) == {ABSENT}
    assert notes == [f"{len(operations)} ops have no line of code: {CODE_IS_GONE}"]


@pytest.mark.parametrize("reader", [None, lambda addresses, sizes: None])
def test_stacks_are_compared_where_tensorflow_keeps_their_code(
    graph: Any, reader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As TensorFlow 2.12 does; where memory cannot be read either."""
    monkeypatch.setattr(captures, "_keeping", lambda stacks: Keeping(of_few=True, of_many=True))
    monkeypatch.setattr(captures, "_reader", lambda: reader)
    traces = read_traces(graph.get_operations())
    entries, strings = tfprof_logger._get_logged_ops(graph)
    assert traces.strings == tuple(strings)
    for stack, entry in zip(traces.stack, entries.values(), strict=True):
        lines = traces.line[traces.stacks[stack]].tolist()
        assert lines == [each.lineno for each in entry.code_def.traces]


def test_whose_code_tensorflow_keeps() -> None:
    """Seen with 2.21: a newer one that keeps all needs none of what is done about it."""
    assert captures._keeping(tf_stack) == Keeping(of_few=False, of_many=True)


def make_constants(count: int, prefix: str, code: list[Any] | None = None) -> None:
    """Make an op a piece of code, within few frames; the code is freed when it has run, unless it is kept in a list."""

    def make() -> None:
        for number in range(count):
            each = compile("tf.constant(1.0)", f"{prefix}{number}.py", "exec")
            exec(each, {"tf": tf})
            if code is not None:
                code.append(each)

    graph = tf.compat.v1.get_default_graph()

    def work() -> None:
        with graph.as_default():
            make()

    thread = Thread(target=work)
    thread.start()
    thread.join()


def files(traces: CodeStacks) -> list[list[str]]:
    """Of each op the files whose names begin with `early` or `late`."""
    found = []
    for stack in traces.stack.tolist():
        frames = traces.stacks[stack].tolist() if stack != ABSENT else []
        names = [traces.strings[traces.file[frame]] for frame in frames]
        found.append([name for name in names if name.startswith(("early", "late"))])
    return found


def test_trace_that_was_written_out_is_compared_by_its_frames() -> None:
    """Its code may be gone, and other code have come to stand in its place: then a trace of that has the same bytes."""
    with tf.Graph().as_default():
        traces = [tf.constant(1.0).op.traceback for _ in range(2)]
    first, second = places(traces)
    assert first == second is not None
    assert len(traces[0]) > 0  # which writes it out
    assert places(traces) == [None, second]


def test_stack_of_code_that_is_gone_is_not_known() -> None:
    notes: list[str] = []
    with tf.Graph().as_default() as graph:
        make_constants(20, "early")
    others = [compile("tf.constant(1.0)", f"late{number}.py", "exec") for number in range(99)]
    traces = read_traces(graph.get_operations(), notes.append)
    assert files(traces) == [[]] * 20
    assert notes == [f"20 ops have no line of code: {CODE_IS_GONE}"]
    assert len(others) == 99


def test_stack_of_code_that_is_still_there_but_has_run_is_not_trusted() -> None:
    """Nothing tells it from other code that came to stand in its place."""
    code: list[Any] = []
    with tf.Graph().as_default() as graph:
        make_constants(3, "early", code)
    assert files(read_traces(graph.get_operations(), lambda _: None)) == [[]] * 3


def test_stack_of_a_function_that_is_still_there_is_known() -> None:
    graph = tf.Graph()

    def make() -> None:
        with graph.as_default():
            tf.constant(1.0)

    thread = Thread(target=make)
    thread.start()
    thread.join()
    traces = read_traces(graph.get_operations())
    assert __file__ in [traces.strings[file] for file in traces.file.tolist()]


def test_stack_of_code_that_was_kept_is_known() -> None:
    kept = KeptCode()
    with tf.Graph().as_default() as graph, keeping_code(kept):
        make_constants(20, "late")
    traces = read_traces(graph.get_operations(), kept=kept.positions(graph))
    assert files(traces) == [[f"late{number}.py"] for number in range(20)]


def test_ops_made_before_code_was_kept_do_not_take_the_lines_of_those_after() -> None:
    """Code that runs later may stand where the code of an earlier op was, and TensorFlow takes the two for one."""
    kept = KeptCode()
    with tf.Graph().as_default() as graph:
        make_constants(20, "early")
        with keeping_code(kept):
            make_constants(20, "late")
        make_constants(20, "early")
    traces = read_traces(graph.get_operations(), lambda _: None, kept.positions(graph))
    assert files(traces) == [[]] * 20 + [[f"late{number}.py"] for number in range(20)] + [[]] * 20


def test_stack_that_was_read_while_its_code_lived_stays_known() -> None:
    kept = KeptCode()
    with tf.Graph().as_default() as graph, keeping_code(kept):
        make_constants(1, "late")
    before = read_traces(graph.get_operations(), kept=kept.positions(graph))
    assert files(before) == [["late0.py"]]
    del kept
    assert read_traces(graph.get_operations()).strings == before.strings


def test_hook_leaves_no_frame_in_a_stack() -> None:
    def make() -> list[tuple[str, str]]:
        with tf.Graph().as_default():
            operation = tf.constant(1.0).op
        return [(each.filename, each.name) for each in operation.traceback]

    plain = make()
    with keeping_code(KeptCode()), keeping_code(KeptCode()):
        hooked = make()
    assert hooked == plain


def test_a_wrong_address_is_an_answer_and_no_crash() -> None:
    read = captures._reader()
    assert read is not None
    here = np.array([7], np.uint64)
    assert read(np.array([here.ctypes.data], np.uint64), np.array([8], np.uint64)) == here.tobytes()
    assert read(np.array([here.ctypes.data, 1], np.uint64), np.array([8, 8], np.uint64)) is None


def test_more_than_one_call_takes() -> None:
    read = captures._reader()
    assert read is not None
    numbers = np.arange(2 * captures.MOST_AT_ONCE + 3, dtype=np.uint64)
    addresses = numbers.ctypes.data + np.arange(len(numbers), dtype=np.uint64) * 8
    assert read(addresses, np.full_like(addresses, 8)) == numbers.tobytes()


def test_traces_of_one_line_differ_by_their_filter() -> None:
    with tf.Graph().as_default() as graph:
        for context in (nullcontext(), tf_stack.CurrentModuleFilter()):
            with context:
                tf.no_op()
    traces = read_traces(graph.get_operations())
    whole, filtered = (traces.stacks[stack] for stack in traces.stack)
    here = traces.strings.index(__file__)
    assert here in traces.file[whole]
    assert filtered.tolist() == [frame for frame in whole if traces.file[frame] != here]


def test_of_an_imported_graph_a_note_says_that_it_has_no_lines() -> None:
    with v1.Graph().as_default():
        v1.get_variable("w", [2])
        exported = v1.train.export_meta_graph()
    with v1.Graph().as_default() as imported:
        v1.train.import_meta_graph(exported)
        operations = [each for each in imported.get_operations() if each.name.startswith("w")]
        own = [tf.constant(1).op for _ in operations]
    notes: list[str] = []
    read_traces([*operations, *own], notes.append)
    assert notes == []
    assert set(read_traces([*operations, own[0]], notes.append).stack.tolist()) == {ABSENT, 0}
    assert notes == [IMPORTED]


def test_a_function_that_tensorflow_rewrote_is_no_imported_graph() -> None:
    """Those of datasets, under a strategy, are: their lines are known, or else the code view says that they lack."""
    with v1.Graph().as_default() as built:
        tf.constant(1.0, name="a")
    with FuncGraph("rewritten").as_default() as graph:
        v1.import_graph_def(built.as_graph_def(), name="")
    notes: list[str] = []
    assert read_traces(graph.get_operations(), notes.append).stack.tolist() == [ABSENT]
    assert notes == []

"""Stack traces are told apart without being written out, and only where that is proven to be right."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.profiler import tfprof_logger
from tensorflow.python.util import tf_stack

from tfprof_widget.ingest import tf_captures
from tfprof_widget.ingest.tf_captures import places
from tfprof_widget.ingest.tf_traces import read_traces


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
    monkeypatch.setattr(tf_captures, name, value)
    assert place_of(graph.get_operations()[0].traceback) is None
    traces = read_traces(graph.get_operations())
    entries, strings = tfprof_logger._get_logged_ops(graph)
    assert traces.strings == tuple(strings)
    for stack, entry in zip(traces.stack, entries.values(), strict=True):
        lines = traces.line[traces.stacks[stack]].tolist()
        assert lines == [each.lineno for each in entry.code_def.traces]


def test_memory_that_may_not_be_read_is_done_without(graph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf_captures, "_reader", lambda: lambda addresses, size: None)
    assert place_of(graph.get_operations()[0].traceback) is None
    monkeypatch.setattr(tf_captures, "_reader", lambda: None)
    assert place_of(graph.get_operations()[0].traceback) is None


def test_traces_that_take_no_level_are_compared(graph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in TensorFlow 2.12."""
    extract_stack = tf_stack.extract_stack
    monkeypatch.setattr(tf_stack, "extract_stack", lambda: extract_stack())
    assert place_of(graph.get_operations()[0].traceback) is None


def test_a_wrong_address_is_an_answer_and_no_crash() -> None:
    read = tf_captures._reader()
    assert read is not None
    here = np.array([7], np.uint64)
    content = read(np.array([here.ctypes.data], np.uint64), 8)
    assert content is not None
    assert content.view(np.uint64).item() == 7
    assert read(np.array([here.ctypes.data, 1], np.uint64), 8) is None


def test_more_than_one_call_takes() -> None:
    read = tf_captures._reader()
    assert read is not None
    numbers = np.arange(2 * tf_captures.MOST_AT_ONCE + 3, dtype=np.uint64)
    content = read(numbers.ctypes.data + np.arange(len(numbers), dtype=np.uint64) * 8, 8)
    assert content is not None
    assert np.array_equal(content.view(np.uint64).ravel(), numbers)


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

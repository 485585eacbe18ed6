"""Ops that a TensorFlow of another version names otherwise are missed with a note, not silently."""

from __future__ import annotations

import re
from typing import Any

import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tfprof_widget.capturing import function_source
from tfprof_widget.capturing.tf_profiler import TfProfiler


def renamed(xspace: bytes) -> bytes:
    """The same recording, with `MatMul#MatMul` for `MatMul:MatMul`."""
    return re.sub(rb"(\w):(_?[A-Z])", rb"\1#\2", xspace)


@pytest.mark.parametrize("is_renamed", [True, False])
def test_names_that_are_not_recognised_are_told_of(is_renamed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    close = TfProfiler.close

    def closed(self: Any) -> bytes:
        return renamed(close(self)) if is_renamed else close(self)

    monkeypatch.setattr(TfProfiler, "close", closed)
    one = tf.ones([8, 8])
    product = tf.function(lambda: tf.matmul(one, one, transpose_a=True))
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(3):
            product()
    assert (function_source.UNRECOGNISED in prof.measurement.warnings) == is_renamed


def test_functions_without_ops_are_no_reason_for_a_note() -> None:
    nothing = tf.function(lambda x: x)
    one = tf.constant(1.0)
    with tfprof.capture(trace_all=True) as prof:
        nothing(one)
    assert function_source.UNRECOGNISED not in prof.recorded.warnings

"""Ops that Grappler made count as the graph nodes that it made them from: in name, line and float operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.compat import v1

import tfprof_widget as tfprof
from tfprof_widget import Profile
from tfprof_widget.lib.arrays import ABSENT

QUERY, KEY = [None, 4, 16, 32], [None, 4, 48, 32]
PRODUCT = 2 * 8 * 4 * 16 * 48 * 32
ELEMENTS = 8 * 4 * 16 * 48


def attend(query: Any, key: Any) -> Any:
    """Grappler folds the transposes into the products, adds all at once, and composes the three of `loss`."""
    with tf.name_scope("attention"):
        scores = tf.matmul(query, tf.transpose(key, [0, 1, 3, 2]))
        back = tf.matmul(tf.transpose(scores, [0, 1, 3, 2]), query)
    with tf.name_scope("loss"):
        loss = tf.exp(tf.sqrt(tf.abs(scores)))
    with tf.name_scope("sums"):
        total = tf.add(tf.add(scores * 3.0, loss), scores * 5.0, name="total")
    return tf.reduce_sum(total) + tf.reduce_sum(back)


def by_function() -> Profile:
    called = tf.function(attend, input_signature=[tf.TensorSpec(QUERY), tf.TensorSpec(KEY)])
    query, key = tf.ones([8, 4, 16, 32]), tf.ones([8, 4, 48, 32])
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(3):
            called(query, key)
    return prof.profile


def by_session() -> Profile:
    graph = tf.Graph()
    with graph.as_default():
        query, key = v1.placeholder(tf.float32, QUERY), v1.placeholder(tf.float32, KEY)
        result = attend(query, key)
    with v1.Session(graph=graph) as session, tfprof.capture(trace_all=True) as prof:
        for _ in range(3):
            session.run(result, {query: np.ones([8, 4, 16, 32]), key: np.ones([8, 4, 48, 32])})
    return prof.profile


@pytest.mark.parametrize("captured", [by_function, by_session])
def test_ops_of_grappler_are_those_that_it_made_them_from(captured: Callable[[], Profile]) -> None:
    profile = captured()
    nodes = profile.nodes
    ran = [nodes.names[node] for node in sorted(set(profile.executions.node.tolist()))]
    assert [name for name in ran if "Optimizer" in name or "composition" in name] == []
    float_ops = dict(zip(nodes.names, nodes.float_ops.tolist(), strict=True))
    assert (float_ops["attention/MatMul"], float_ops["attention/MatMul_1"]) == (PRODUCT, PRODUCT)
    assert float_ops["loss/Exp"] == 3 * ELEMENTS
    without_line = [name for name in ran if profile.traces.stack[nodes.names.index(name)] == ABSENT]
    assert [name for name in without_line if not name.startswith("_")] == []

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


IMAGES = [None, 16, 16, 1]
BATCH, CHANNELS, CLASSES = 8, 4, 10
ACTIVATIONS = BATCH * 16 * 16 * CHANNELS
CONVOLUTION = 2 * ACTIVATIONS * 3 * 3
LAST = 2 * BATCH * 16 * 16 * CHANNELS * CLASSES + BATCH * CLASSES


def classify(images: Any, kernel: Any, bias: Any, weights: Any, offset: Any) -> Any:
    """Grappler fuses a convolution with its bias and activation, and a product with its bias; a lone one stays."""
    hidden = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(images, kernel, 1, "SAME"), bias))
    logits = tf.nn.bias_add(tf.matmul(tf.reshape(hidden, [-1, 16 * 16 * CHANNELS]), weights), offset)
    return tf.reduce_sum(logits) + tf.reduce_sum(tf.nn.conv2d(hidden, tf.ones([3, 3, CHANNELS, 1]), 1, "SAME"))


SIZES = ([3, 3, 1, CHANNELS], [CHANNELS], [16 * 16 * CHANNELS, CLASSES], [CLASSES])


def classified_by_function() -> tfprof.Capture:
    variables = [tf.Variable(tf.ones(size)) for size in SIZES]
    called = tf.function(lambda images: classify(images, *variables), input_signature=[tf.TensorSpec(IMAGES)])
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(3):
            called(tf.ones([BATCH, 16, 16, 1]))
    return prof


def classified_by_session() -> tfprof.Capture:
    graph = tf.Graph()
    with graph.as_default():
        images = v1.placeholder(tf.float32, IMAGES)
        made = [v1.get_variable(f"v{size}", initializer=tf.ones(shape)) for size, shape in enumerate(SIZES)]
        result = classify(images, *made)
        initializer = v1.global_variables_initializer()
    with v1.Session(graph=graph) as session:
        session.run(initializer)
        with tfprof.capture(trace_all=True) as prof:
            for _ in range(3):
                session.run(result, {images: np.ones([BATCH, 16, 16, 1])})
    return prof


@pytest.mark.parametrize("captured", [classified_by_function, classified_by_session])
def test_fused_kernels_say_what_they_are_made_of(captured: Callable[[], tfprof.Capture]) -> None:
    prof = captured()
    view = prof.profile.view("op", order_by="micros")
    runs = dict(zip(view.names, view.own["runs"].tolist(), strict=True))
    float_ops = dict(zip(view.names, view.own["float_ops"] // view.scale, strict=True))
    ran = {name for name in view.names if runs[name]}
    assert ran >= {"Conv2D + BiasAdd + Relu", "MatMul + BiasAdd", "Conv2D"}
    assert [name for name in ran if name.startswith(("_Mkl", "_Fused")) or name in ("Relu", "BiasAdd")] == []
    assert float_ops["Conv2D + BiasAdd + Relu"] == CONVOLUTION + 2 * ACTIVATIONS
    assert (float_ops["MatMul + BiasAdd"], float_ops["Conv2D"]) == (LAST, CONVOLUTION)
    named = [line for line in str(prof.profile.advice()).splitlines() if line.startswith("top 1 operation type: ")]
    assert named[0].partition(",")[0].removeprefix("top 1 operation type: ") in ran
    assert prof.profile.flops_coverage().share == 1
    found = prof.profile.view("op", account_type_regexes=["Relu"], min_occurrence=1)
    assert "Conv2D + BiasAdd + Relu" in found.names


def test_what_native_reads_too_keeps_the_types_of_the_graph() -> None:
    with tf.Graph().as_default() as graph:
        images = v1.placeholder(tf.float32, IMAGES)
        result = classify(images, *map(tf.ones, SIZES))
        with v1.Session() as session:
            run_meta = v1.RunMetadata()
            options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
            session.run(result, {images: np.ones([BATCH, 16, 16, 1])}, options, run_meta)
    view = Profile.from_protos(graph, run_meta).view("op", order_by="micros", timing="tfprof")
    assert not [name for name in view.names if "+" in name]


def test_shapes_are_known_behind_what_grappler_removed() -> None:
    """Word vectors, as t1_word2vec trains them: TensorFlow's gradients are full of Identities that no run has."""
    words, width, batch, sampled = 500, 32, 16, 8
    with tf.Graph().as_default() as graph:
        centre, near = v1.placeholder(tf.int32, [None]), v1.placeholder(tf.int32, [None, 1])
        vectors, weights = (v1.get_variable(name, [words, width]) for name in ("vectors", "weights"))
        biases = v1.get_variable("biases", [words])
        found = tf.nn.embedding_lookup(vectors, centre)
        loss = tf.reduce_mean(tf.nn.nce_loss(weights, biases, near, found, sampled, words))
        train = v1.train.GradientDescentOptimizer(1.0).minimize(loss)
        initializer = v1.global_variables_initializer()
    fed = {centre: np.arange(batch), near: np.arange(batch)[:, None]}
    with v1.Session(graph=graph) as session:
        session.run(initializer)
        with tfprof.capture(trace_all=True) as prof:
            for _ in range(3):
                session.run(train, fed)
    nodes, coverage = prof.profile.nodes, prof.profile.flops_coverage()
    assert (coverage.without_shapes, coverage.share) == ((), 1)
    float_ops = dict(zip(nodes.names, nodes.float_ops.tolist(), strict=True))
    products = [count for name, count in float_ops.items() if "/nce_loss/MatMul_grad/MatMul" in name]
    assert products == [2 * batch * sampled * width] * 2
    assert float_ops["GradientDescent/update_vectors/ResourceScatterAdd"] == batch * width
    assert float_ops["GradientDescent/update_biases/ResourceScatterAdd"] == batch + sampled

"""Small real models as tf.Graph, each run once under FULL_TRACE: a graph and its run metadata."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from tests.ports import free_ports

v1: Any = tf.compat.v1
Array = NDArray[np.float32]


@dataclass(frozen=True)
class Traced:
    """A tf.Graph and the RunMetadata of a step of it."""

    graph: Any
    run_meta: Any


def mnist_net() -> Traced:
    """Convolution, pooling, two dense layers, SGD; the batch size is unknown to the graph."""

    def build() -> Any:
        images = v1.placeholder(tf.float32, [None, 28, 28, 1], name="images")
        labels = v1.placeholder(tf.int64, [None], name="labels")
        hidden = _convolution(images, 4, name="conv1")
        hidden = tf.nn.max_pool2d(hidden, 4, 4, "SAME", name="pool1")
        with v1.name_scope("classifier"):
            hidden = tf.nn.relu(_dense(tf.reshape(hidden, [-1, 7 * 7 * 4]), 16, name="fc1"))
            logits = _dense(hidden, 10, name="logits")
        loss = v1.losses.sparse_softmax_cross_entropy(labels, logits)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        return train, {images: np.zeros([8, 28, 28, 1]), labels: np.zeros([8])}

    return _trace(build)


def small_resnet() -> Traced:
    """Three residual blocks with batch normalisation, trained with momentum."""

    def build() -> Any:
        hidden = _convolution(tf.zeros([2, 8, 8, 3]), 4, name="unit_init")
        for block in range(3):
            with v1.variable_scope(f"unit_{block}"):
                hidden += _normalised(_convolution(_normalised(hidden, "bn1"), 4, "sub1"), "bn2")
        logits = _dense(tf.reduce_mean(hidden, [1, 2]), 10, name="pool_logit")
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(tf.ones_like(logits), logits))
        return v1.train.MomentumOptimizer(0.1, 0.9).minimize(loss), {}

    return _trace(build)


def recurrent_net() -> Traced:
    """A loop over five time steps and its gradient's, as functions that the runtime inlines: ghost nodes."""
    return _trace(_recurrent_step)


def recurrent_net_in_frames() -> Traced:
    """The same as Enter, Switch and NextIteration nodes of the graph itself: one node runs many times."""
    v1.disable_control_flow_v2()
    try:
        return _trace(_recurrent_step)
    finally:
        v1.enable_control_flow_v2()


def transformer_block() -> Traced:
    """Attention of two heads, two dense layers, layer norms; einsum and batched matmul."""

    def build() -> Any:
        tokens = v1.placeholder(tf.int32, [None, 6], name="tokens")
        table = v1.get_variable("embedding", [11, 8])
        hidden = tf.nn.embedding_lookup(table, tokens)
        with v1.variable_scope("block"):
            hidden = _layer_norm(hidden + _attention(hidden), "norm1")
            with v1.variable_scope("mlp"):
                inner = tf.nn.gelu(_dense(hidden, 16, name="up"))
                hidden = _layer_norm(hidden + _dense(inner, 8, name="down"), "norm2")
        loss = tf.reduce_mean(tf.einsum("btd,vd->btv", hidden, table))
        return v1.train.AdamOptimizer().minimize(loss), {tokens: np.ones([3, 6])}

    return _trace(build)


def parameter_servers() -> Traced:
    """Variables on two parameter servers, the work on one worker, all in this process on the loopback."""

    def build() -> Any:
        with tf.device("/job:ps/task:0"):
            first = v1.get_variable("first", [4, 6])
        with tf.device("/job:ps/task:1"):
            second = v1.get_variable("second", [6, 2])
        with tf.device("/job:worker/task:0"):
            output = tf.matmul(tf.nn.relu(tf.matmul(tf.ones([3, 4]), first)), second)
            loss = tf.reduce_sum(output)
        return v1.train.GradientDescentOptimizer(0.1).minimize(loss), {}

    return _trace(build, target=cluster_target())


MODELS: dict[str, Callable[[], Traced]] = {
    "mnist": mnist_net,
    "resnet": small_resnet,
    "rnn": recurrent_net,
    "rnn in frames": recurrent_net_in_frames,
    "transformer": transformer_block,
    "parameter servers": parameter_servers,
}


def _recurrent_step() -> Any:
    inputs = tf.ones([5, 2, 3])
    weights = v1.get_variable("weights", [6, 3])

    def step(time: Any, state: Any) -> Any:
        joined = tf.concat([inputs[time], state], axis=1)
        return time + 1, tf.tanh(tf.matmul(joined, weights))

    _, state = v1.while_loop(lambda time, _: time < 5, step, (0, tf.zeros([2, 3])), name="rnn")
    return v1.train.AdamOptimizer().minimize(tf.reduce_sum(state)), {}


def _trace(build: Callable[[], tuple[Any, dict[Any, Any]]], target: str = "") -> Traced:
    graph, run_meta = tf.Graph(), v1.RunMetadata()
    with graph.as_default(), v1.variable_scope("", use_resource=False):
        train, feed = build()
        initialise = v1.global_variables_initializer()
        with v1.Session(target) as session:
            session.run(initialise)
            options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
            session.run(train, feed, options, run_meta)
    return Traced(graph, run_meta)


def cluster_target() -> str:
    """What a session connects to for a cluster of two parameter servers and a worker, all in this process."""
    addresses = [f"127.0.0.1:{port}" for port in free_ports(3)]
    cluster = {"ps": addresses[:2], "worker": addresses[2:]}
    for task in range(2):
        tf.distribute.Server(cluster, job_name="ps", task_index=task)
    return str(tf.distribute.Server(cluster, job_name="worker", task_index=0).target)


def _convolution(inputs: Any, channels: int, name: str) -> Any:
    with v1.variable_scope(name):
        kernel = v1.get_variable("kernel", [3, 3, inputs.shape[-1], channels])
        bias = v1.get_variable("bias", [channels], initializer=v1.zeros_initializer())
        return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(inputs, kernel, 1, "SAME"), bias))


def _dense(inputs: Any, units: int, name: str) -> Any:
    with v1.variable_scope(name):
        weights = v1.get_variable("weights", [inputs.shape[-1], units])
        return tf.tensordot(inputs, weights, 1) + v1.get_variable("bias", [units])


def _normalised(inputs: Any, name: str) -> Any:
    with v1.variable_scope(name):
        scale = v1.get_variable("scale", inputs.shape[-1:])
        offset = v1.get_variable("offset", inputs.shape[-1:])
        return v1.nn.fused_batch_norm(inputs, scale, offset)[0]


def _layer_norm(inputs: Any, name: str) -> Any:
    with v1.variable_scope(name):
        mean, variance = tf.nn.moments(inputs, [-1], keepdims=True)
        scale = v1.get_variable("scale", inputs.shape[-1:])
        return scale * (inputs - mean) * tf.math.rsqrt(variance + 1e-6)


def _attention(inputs: Any) -> Any:
    with v1.variable_scope("attention"):
        query, key, value = (
            tf.transpose(tf.reshape(_dense(inputs, 8, name=name), [-1, 6, 2, 4]), [0, 2, 1, 3])
            for name in ("query", "key", "value")
        )
        weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / 2.0)
        return tf.reshape(tf.transpose(tf.matmul(weights, value), [0, 2, 1, 3]), [-1, 6, 8])

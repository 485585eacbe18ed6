"""The models whose steps are edited: session graphs and Keras models, each with edits that leave the names of nodes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

STEPS = 40
WIDTH = 128


@dataclass(frozen=True)
class Cell:
    """Runs of a model: `run` makes one step of a session, or all steps of a fit, which has no `mark`.

    `mark` is the name of a node by which the session's graph is known.
    """

    run: Callable[[], object]
    mark: str = ""


@dataclass(frozen=True)
class Edit:
    """A change of a model: what is given to its maker, and a regex of the nodes that it is about.

    With `threads`, it is about the number of inter-op threads instead; `key` is a key of what_if that stands for it.
    """

    name: str
    given: Mapping[str, Any]
    about: str = ""
    key: str = ""
    threads: int = 0

    def is_about(self, node: str) -> bool:
        """Whether the edit is about this node."""
        return bool(self.about) and re.fullmatch(self.about, node) is not None


@dataclass(frozen=True)
class Model:
    """A model: makes a cell that runs some steps, and the edits of it."""

    make: Callable[..., Cell]
    edits: tuple[Edit, ...]
    given: Mapping[str, Any] = field(default_factory=dict)


def _session(build: Callable[[Any], Any], threads: int, devices: int = 1) -> Cell:
    import tensorflow.compat.v1 as tf

    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(1)
        fed = tf.placeholder(tf.float32, [64, WIDTH], name="fed")
        fetched = build(fed)
        initial = tf.global_variables_initializer()
        mark = tf.no_op(name=f"graph_{id(graph)}").name
    config = tf.ConfigProto(
        inter_op_parallelism_threads=threads, intra_op_parallelism_threads=1, device_count={"CPU": devices}
    )
    session = tf.Session(graph=graph, config=config)
    session.run(initial)
    batch = np.random.default_rng(0).random((64, WIDTH), np.float32)

    return Cell(lambda: session.run(fetched, {fed: batch}), mark)


def _dense(tf: Any, name: str, hidden: Any, width: int, *, act: str = "tanh", is_identity: bool = False) -> Any:
    """A dense layer whose product is named after it; as identity it only hands its input on, under the same name."""
    with tf.variable_scope(name):
        if is_identity:
            return tf.identity(hidden, name="act")
        weights = tf.get_variable("w", [hidden.shape[-1], width])
        product = tf.matmul(hidden, weights, name="product")
        return {"tanh": tf.tanh, "relu": tf.nn.relu, "linear": tf.identity}[act](product, name="act")


def sequential(
    narrow: int = -1, identity: int = -1, wide: int = -1, act: str = "tanh", loss: str = "sort", threads: int = 2
) -> Cell:
    """Train eight dense layers by gradient descent."""
    import tensorflow.compat.v1 as tf

    def build(fed: Any) -> Any:
        hidden = fed
        for layer in range(8):
            width = WIDTH // 2 if layer == narrow else 2 * WIDTH if layer == wide else WIDTH
            hidden = _dense(tf, f"layer{layer}", hidden, width, act=act, is_identity=layer == identity)
        with tf.variable_scope("loss"):
            squared = tf.square(hidden, name="square")
            cost = tf.sort(squared, name="sorted") if loss == "sort" else tf.identity(squared, name="sorted")
            cost = tf.reduce_mean(cost, name="mean")
        return tf.train.GradientDescentOptimizer(1e-3).minimize(tf.reduce_mean(squared) + 0.0 * cost)

    return _session(build, threads)


def branching(short: int = 6, narrow: bool = False, other: bool = False, head: bool = True, threads: int = 2) -> Cell:
    """Two branches of six and three layers from the same input, joined again."""
    import tensorflow.compat.v1 as tf

    def build(fed: Any) -> Any:
        long = fed
        for layer in range(6):
            width = WIDTH // 2 if narrow and layer == 2 else WIDTH
            long = _dense(tf, f"long{layer}", long, width, is_identity=layer >= short)
        brief = fed
        for layer in range(3):
            brief = _dense(tf, f"brief{layer}", brief, WIDTH, is_identity=other)
        with tf.variable_scope("join"):
            joined = tf.add(long, brief, name="sum")
            joined = tf.sort(joined, name="head") if head else tf.identity(joined, name="head")
            return tf.reduce_sum(joined, name="total")

    return _session(build, threads)


def wide(gone: int = 0, narrow: int = 0, head: bool = True, deep: int = 2, threads: int = 2) -> Cell:
    """Eight branches of two layers, joined again."""
    import tensorflow.compat.v1 as tf

    def build(fed: Any) -> Any:
        found = []
        for branch in range(8):
            hidden = fed
            for layer in range(deep):
                width = WIDTH // 2 if branch < narrow and layer == 0 else WIDTH
                hidden = _dense(tf, f"branch{branch}_{layer}", hidden, width, is_identity=branch < gone)
            found.append(hidden)
        with tf.variable_scope("join"):
            joined = tf.add_n(found, name="sum")
            joined = tf.sort(joined, name="head") if head else tf.identity(joined, name="head")
            return tf.reduce_sum(joined, name="total")

    return _session(build, threads)


def recurrent(gates: int = 4, act: str = "tanh", project: bool = True, before: int = WIDTH, threads: int = 2) -> Cell:
    """An LSTM-like loop of twelve iterations, by `while_loop`, between two projections."""
    import tensorflow.compat.v1 as tf

    def build(fed: Any) -> Any:
        given = _dense(tf, "given", _dense(tf, "first", fed, before), WIDTH)
        with tf.variable_scope("cell"):
            weights = [tf.get_variable(f"w{gate}", [WIDTH, WIDTH]) for gate in range(4)]

        def body(number: Any, state: Any, memory: Any) -> Any:
            parts = []
            for gate in range(4):
                if gate < gates:
                    part = tf.matmul(state, weights[gate], name=f"gate{gate}")
                else:
                    part = tf.identity(state, name=f"gate{gate}")
                parts.append(tf.tanh(part, name=f"act{gate}") if act == "tanh" else tf.identity(part, f"act{gate}"))
            memory = memory * parts[0] + parts[1] * parts[2]
            return number + 1, parts[3] * memory + given, memory

        _, state, _ = tf.while_loop(lambda number, *_: number < 12, body, [tf.constant(0), given, given], name="loop")
        return tf.reduce_sum(_dense(tf, "last", state, WIDTH, is_identity=not project), name="total")

    return _session(build, threads)


def data_parallel(gone: int = -1, tower: int = 2, narrow: int = -1, head: bool = True, threads: int = 2) -> Cell:
    """Two towers of four layers on two devices, whose results are averaged."""
    import tensorflow.compat.v1 as tf

    def build(fed: Any) -> Any:
        found = []
        for place in range(2):
            with tf.device(f"/cpu:{place}"):
                hidden = fed + float(place)
                for layer in range(4):
                    is_gone = layer == gone and place < tower
                    width = WIDTH // 2 if layer == narrow else WIDTH
                    hidden = _dense(tf, f"tower{place}_{layer}", hidden, width, is_identity=is_gone)
                found.append(hidden)
        with tf.device("/cpu:0"), tf.variable_scope("mean"):
            mean = tf.add_n(found, name="sum") / 2.0
            mean = tf.sort(mean, name="head") if head else tf.identity(mean, name="head")
            return tf.reduce_sum(mean, name="total")

    return _session(build, threads, devices=2)


def _fitted(layers: list[Any], shape: tuple[int, ...], *, slow: bool, waits: float) -> Cell:
    import keras
    import tensorflow as tf

    class Waiting(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            until = time.perf_counter() + waits
            while time.perf_counter() < until:
                pass

    model = keras.Sequential([keras.Input(shape), *layers], name="model")
    model.compile("sgd", "mse")
    data = np.random.default_rng(0).random((32, *shape), np.float32)
    target = np.zeros((32, *model.output_shape[1:]), np.float32)

    def item(number: Any) -> Any:
        if slow:
            drawn = tf.random.stateless_uniform((20_000,), [1, tf.cast(number, tf.int32)])
            return tf.constant(data) + 0.0 * tf.reduce_sum(tf.sort(drawn)), tf.constant(target)
        return tf.constant(data), tf.constant(target)

    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.inject_prefetch = False
    batches = tf.data.Dataset.range(STEPS).map(item).with_options(options)
    callbacks = [Waiting()] if waits else []

    return Cell(lambda: model.fit(batches, epochs=1, verbose=0, shuffle=False, callbacks=callbacks))


def keras_dense(
    width: int = 256, act: str = "tanh", gone: bool = False, slow: bool = False, waits: float = 0.0
) -> Cell:
    """Fit dense layers."""
    from keras import layers

    middle = layers.Activation("linear", name="d1") if gone else layers.Dense(256, activation=act, name="d1")
    found = [
        layers.Dense(256, activation=act, name="d0"),
        middle,
        layers.Dense(width, activation=act, name="d2"),
        layers.Dense(256, activation=act, name="d3"),
        layers.Dense(8, name="d4"),
    ]
    return _fitted(found, (256,), slow=slow, waits=waits)


def keras_conv(
    filters: int = 16, normal: bool = True, pool: bool = False, slow: bool = False, waits: float = 0.0
) -> Cell:
    """Fit a small convolutional network."""
    from keras import layers

    found = [
        layers.Conv2D(8, 3, activation="relu", name="c0"),
        layers.BatchNormalization(name="norm") if normal else layers.Activation("linear", name="norm"),
        layers.Conv2D(filters, 3, activation="relu", name="c1"),
        layers.AveragePooling2D(2, name="pool") if not pool else layers.AveragePooling2D(4, name="pool"),
        layers.Flatten(name="flat"),
        layers.Dense(32, activation="relu", name="d0"),
        layers.Dense(8, name="d1"),
    ]
    return _fitted(found, (20, 20, 1), slow=slow, waits=waits)


def _layers(*numbers: int) -> str:
    return "|".join(f".*layer{number}/.*" for number in numbers)


_WIDE = (
    Edit("a branch to identity", {"gone": 1}, "branch0_.*"),
    Edit("four branches to identity", {"gone": 4}, "branch[0-3]_.*"),
    Edit("four layers half as wide", {"narrow": 4}, "branch[0-3]_.*"),
    Edit("sort to identity", {"head": False}, "join/.*"),
    Edit("inter_op=1", {"threads": 1}, threads=1),
)
MODELS: dict[str, Model] = {
    "sequential": Model(
        sequential,
        (
            Edit("layer 3 half as wide", {"narrow": 3}, _layers(3, 4)),
            Edit("layer 6 twice as wide", {"wide": 6}, _layers(6, 7)),
            Edit("layer 5 to identity", {"identity": 5}, _layers(5)),
            Edit("tanh to relu", {"act": "relu"}, ".*layer\\d/act.*"),
            Edit("sort to identity", {"loss": "none"}, ".*loss/.*"),
        ),
    ),
    "branching": Model(
        branching,
        (
            Edit("long branch half as long", {"short": 3}, "long[345]/.*"),
            Edit("long branch without its last layer", {"short": 5}, "long5/.*"),
            Edit("a layer half as wide", {"narrow": True}, "long[23]/.*"),
            Edit("short branch to identity", {"other": True}, "brief.*"),
            Edit("sort to identity", {"head": False}, "join/.*"),
            Edit("inter_op=1", {"threads": 1}, threads=1),
        ),
    ),
    "wide, 2 threads": Model(wide, _WIDE),
    "wide, 8 threads": Model(wide, _WIDE, {"threads": 8}),
    "LSTM while": Model(
        recurrent,
        (
            Edit("a gate to identity", {"gates": 3}, ".*/gate3.*"),
            Edit("two gates to identity", {"gates": 2}, ".*/gate[23].*"),
            Edit("tanh to identity", {"act": "linear"}, ".*/act\\d.*"),
            Edit("projection to identity", {"project": False}, "last/.*"),
            Edit("first layer half as wide", {"before": WIDTH // 2}, "first/.*|given/.*"),
        ),
    ),
    "data parallel": Model(
        data_parallel,
        (
            Edit("a layer of one tower to identity", {"gone": 1, "tower": 1}, "tower0_1/.*"),
            Edit("a layer of both towers to identity", {"gone": 1}, "tower._1/.*"),
            Edit("a layer half as wide", {"narrow": 2}, "tower._[23]/.*"),
            Edit("sort to identity", {"head": False}, "mean/.*"),
            Edit("inter_op=1", {"threads": 1}, threads=1),
        ),
    ),
    "Keras dense": Model(
        keras_dense,
        (
            Edit("a layer half as wide", {"width": 128}, ".*/d2/.*|.*/d3/.*|sgd/.*"),
            Edit("a layer to identity", {"gone": True}, ".*/d1/.*|sgd/.*"),
            Edit("tanh to relu", {"act": "relu"}, ".*(Tanh|Relu|/d[0-3]/.*Add).*"),
            Edit("input made ready", {"slow": False}, key="input"),
            Edit("callback removed", {"waits": 0.0}, key="python"),
        ),
        {"slow": True, "waits": 0.001},
    ),
    "Keras conv": Model(
        keras_conv,
        (
            Edit("half as many filters", {"filters": 8}, ".*/c1/.*|.*/pool/.*|.*/flat/.*|.*/d0/.*|sgd/.*"),
            Edit("normalization to identity", {"normal": False}, ".*/norm/.*|sgd/.*"),
            Edit("pool four times as much", {"pool": True}, ".*/pool/.*|.*/flat/.*|.*/d0/.*|sgd/.*|.*/c1/Relu.*"),
            Edit("input made ready", {"slow": False}, key="input"),
            Edit("callback removed", {"waits": 0.0}, key="python"),
        ),
        {"slow": True, "waits": 0.001},
    ),
}

"""Bytes and float operations of what really ran, in a function and in a session, are those counted by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.analysis.account.test_roofline import machine

BATCH, WIDTH, CLASSES = 64, 128, 32


def in_a_function() -> Callable[[], object]:
    weights = tf.Variable(tf.ones([WIDTH, CLASSES]))
    images = tf.ones([BATCH, WIDTH])
    step = tf.function(lambda images: tf.tanh(tf.matmul(images, weights)))
    return lambda: step(images)


def in_a_session() -> Callable[[], object]:
    with tf.Graph().as_default() as graph:
        images = tf.compat.v1.placeholder(tf.float32, [None, WIDTH])
        weights = tf.compat.v1.get_variable("weights", [WIDTH, CLASSES], use_resource=True)
        result = tf.tanh(tf.matmul(images, weights))
        session = tf.compat.v1.Session(graph=graph)
        session.run(weights.initializer)
    values = np.ones([BATCH, WIDTH], np.float32)
    return lambda: session.run(result, {images: values})


@pytest.mark.parametrize("made", [in_a_function, in_a_session])
def test_work_of_a_product_and_of_what_follows(made: Callable[[], Callable[[], object]]) -> None:
    run = made()
    run()
    with tfprof.capture(trace_all=True) as prof:
        for _ in range(4):
            run()
    rows = {row["name"]: row for row in prof.roofline(machine(), by="type").to_dict("records")}
    product = next(row for name, row in rows.items() if "MatMul" in name)
    follows = next(row for name, row in rows.items() if "Tanh" in name)
    assert product["float_ops"] == 2 * BATCH * WIDTH * CLASSES
    assert product["bytes_moved"] == 4 * (BATCH * WIDTH + WIDTH * CLASSES + BATCH * CLASSES)
    assert follows["bytes_moved"] == 4 * 2 * BATCH * CLASSES
    assert product["known"] == follows["known"] == 1
    assert product["bound"] in ("compute", "memory", "overhead")
    assert sum(row["micros"] for row in rows.values()) == pytest.approx(
        prof.view("op").to_dataframe()["micros"].sum(), rel=1e-6
    )

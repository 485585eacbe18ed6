"""The training that a strategy mirrors, recorded step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ROWS, COLUMNS, STEPS = 500, 300, 12


def recorded(
    strategy: Any, changed: Callable[[Any], Any] = lambda inputs: inputs, *, first: bool = False, **asked: Any
) -> Any:
    """What is captured of it as `asked`; `changed` makes each replica's inputs others.

    The `first` step, in which devices meet, is captured too if it is asked for.
    """
    import tensorflow as tf

    import tfprof_widget as tfprof

    with strategy.scope():
        weights = tf.Variable(tf.ones([ROWS, COLUMNS]))

    def replica(inputs: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(changed(inputs) @ weights)
        gradient = tape.gradient(loss, weights)
        weights.assign_sub(0.01 * tf.distribute.get_replica_context().all_reduce("sum", gradient))
        return loss

    step = tf.function(lambda inputs: strategy.run(replica, args=(inputs,)))
    inputs = tf.ones([64, ROWS])
    if not first:
        step(inputs)
    with tfprof.capture(every=1, **asked) as prof:
        for _ in range(STEPS):
            step(inputs)
    return prof

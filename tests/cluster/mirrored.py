"""A MirroredStrategy of two CPUs in a process of its own, as logical devices are made before anything else runs."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Any

ROWS, COLUMNS, STEPS = 500, 300, 4


def main() -> None:
    """Train, and print the links of the cluster's summary."""
    import tensorflow as tf

    import tfprof_widget as tfprof
    from tfprof_widget.cluster.summary import summary

    cpu, *_ = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        weights = tf.Variable(tf.ones([ROWS, COLUMNS]))

    def train(inputs: Any) -> Any:
        def replica(inputs: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(inputs @ weights)
            gradient = tape.gradient(loss, weights)
            weights.assign_sub(0.01 * tf.distribute.get_replica_context().all_reduce("sum", gradient))
            return loss

        return strategy.run(replica, args=(inputs,))

    step = tf.function(train)
    inputs = tf.ones([64, ROWS])
    step(inputs)
    with tfprof.capture(every=1) as prof:
        for _ in range(STEPS):
            step(inputs)
    found = summary(prof.profile)
    print(json.dumps([asdict(each) for each in found.links] if found else None), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()

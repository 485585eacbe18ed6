"""A coordinator of a ParameterServerStrategy, in a process of its own: prints what a capture has of its steps."""

from __future__ import annotations

import json
import os
import sys

STEPS, ROWS, COLUMNS = 60, 64, 300


def main(cluster: str) -> None:
    """Train on the servers of a cluster; the process ends at once, for TensorFlow's own end of it may wait."""
    import tensorflow as tf

    import tfprof_widget as tfprof

    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(json.loads(cluster)), rpc_layer="grpc"
    )
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        weights = tf.Variable(tf.ones([COLUMNS, COLUMNS]) * 0.001)

    @tf.function  # type: ignore[untyped-decorator]
    def step(inputs: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape, tf.name_scope("layer"):
            loss = tf.reduce_mean(tf.nn.tanh(inputs @ weights))
        weights.assign_sub(0.01 * tape.gradient(loss, weights))
        return loss

    def train(steps: int) -> None:
        inputs = tf.ones([ROWS, COLUMNS])
        for _ in range(steps):
            coordinator.schedule(step, args=(inputs,))
        coordinator.join()

    train(4)
    with tfprof.capture() as prof:
        train(STEPS)
    profile = prof.profile
    summary = profile.cluster()
    assert summary is not None
    product = profile.nodes.names.index("layer/matmul")
    code = profile.view("code").to_dataframe()
    told = {
        "shown": prof.measurement.shown,
        "runs": [(runs.name, runs.seen, runs.traced) for runs in prof.measurement.runs],
        "busy": {task.task: task.busy_nanos for task in summary.tasks},
        "float_ops": int(profile.nodes.float_ops[product]),
        "lines": code["name"].tolist(),
        "warnings": prof.measurement.warnings,
        "nodes": profile.nodes.names,
    }
    print(json.dumps(told), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

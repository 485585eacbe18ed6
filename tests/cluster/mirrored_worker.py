"""A worker of a MultiWorkerMirroredStrategy that captures its own steps, and leaves what it recorded in a file."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROWS, COLUMNS, STEPS = 500, 300, 4


def main(workers: str, index: str, slow: str, path: str) -> None:
    """Train; the slow worker is late in each of its steps."""
    task = {"type": "worker", "index": int(index)}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": json.loads(workers)}, "task": task})
    import tensorflow as tf

    import tfprof_widget as tfprof
    from tfprof_widget.parallel.parcels import packed

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weights = tf.Variable(tf.ones([ROWS, COLUMNS]))

    def train(inputs: Any) -> Any:
        def replica(inputs: Any) -> Any:
            if index == slow:
                inputs = inputs + tf.numpy_function(nap, [], tf.float32)
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
    Path(path).write_bytes(packed(prof.recorded))
    print("done", flush=True)
    os._exit(0)  # TensorFlow's own end of a worker may crash


def nap() -> Any:
    """Be late."""
    time.sleep(0.2)
    return np.float32(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

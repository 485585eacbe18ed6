"""One task of a cluster in a process of its own: it serves until its input ends, and so no longer than its parent."""

from __future__ import annotations

import json
import os
import sys


def main(cluster: str, job: str, task: str, threads: str = "0") -> None:
    """Serve; the line that is written says that it has begun. Ops run in so many threads, 0 for TensorFlow's choice."""
    import tensorflow as tf

    config = tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=int(threads), inter_op_parallelism_threads=int(threads)
    )
    spec = tf.train.ClusterSpec(json.loads(cluster))
    server = tf.distribute.Server(spec, job_name=job, task_index=int(task), config=config)
    print(server.target, flush=True)
    sys.stdin.read()
    os._exit(0)  # a server cannot be stopped


if __name__ == "__main__":
    main(*sys.argv[1:])

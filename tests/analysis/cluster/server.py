"""One task of a cluster in a process of its own: it serves until its input ends, and so no longer than its parent."""

from __future__ import annotations

import json
import os
import sys


def main(cluster: str, job: str, task: str) -> None:
    """Serve; the line that is written says that it has begun."""
    import tensorflow as tf

    server = tf.distribute.Server(tf.train.ClusterSpec(json.loads(cluster)), job_name=job, task_index=int(task))
    print(server.target, flush=True)
    sys.stdin.read()
    os._exit(0)  # a server cannot be stopped


if __name__ == "__main__":
    main(*sys.argv[1:])

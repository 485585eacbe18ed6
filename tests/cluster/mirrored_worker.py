"""A worker of a MultiWorkerMirroredStrategy that captures its own steps, and leaves what it recorded in a file."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.cluster.mirrored_training import recorded


def main(workers: str, index: str, slow: str, path: str) -> None:
    """Train; the slow worker is late in each of its steps."""
    task = {"type": "worker", "index": int(index)}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": json.loads(workers)}, "task": task})
    import tensorflow as tf

    from tfprof_widget.parallel.parcels import packed

    strategy = tf.distribute.MultiWorkerMirroredStrategy()

    def late(inputs: Any) -> Any:
        return inputs + tf.numpy_function(nap, [], tf.float32)

    prof = recorded(strategy, late) if index == slow else recorded(strategy)
    Path(path).write_bytes(packed(prof.recorded))
    print("done", flush=True)
    os._exit(0)  # TensorFlow's own end of a worker may crash


def nap() -> Any:
    """Be late."""
    time.sleep(0.2)
    return np.float32(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

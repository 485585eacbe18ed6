"""A worker of a MultiWorkerMirroredStrategy that captures its own steps: prints the result, or saves it to a file."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np

from tests.analysis.cluster.mirrored_training import recorded


def main(workers: str, index: str, slow: str, path: str = "") -> None:
    """Train; the slow worker is late in each of its steps. Ops are recorded if there is a file for them."""
    task = {"type": "worker", "index": int(index)}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": json.loads(workers)}, "task": task})
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()

    def late(inputs: Any) -> Any:
        return inputs + tf.numpy_function(nap, [], tf.float32)

    prof = recorded(strategy, *([late] if index == slow else []), collectives=bool(path))
    if path:
        prof.save(path)
    print(json.dumps(str(prof)), flush=True)
    sys.stdin.read()  # others may still take tensors of this worker: it lives until all have printed
    os._exit(0)  # TensorFlow's own end of a worker may crash


def nap() -> Any:
    """Be late."""
    time.sleep(0.2)
    return np.float32(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

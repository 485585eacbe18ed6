"""Records XSpaces of small programs, and what xprof's framework-op statistics say of each.

xprof is large and brings a hundred megabytes of others, so it is asked in an environment of its own:

    python -m venv xprof-environment && xprof-environment/bin/pip install xprof
    python -m tests.ingest.make_recorded xprof-environment/bin/python
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent / "recorded"

# Runs where xprof is: prints the rows (type, operation, occurrences) of its first table, of all ops but idle time.
ASK = """
import importlib.metadata, json, sys
from xprof.convert import raw_to_tool_data
answer, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], "framework_op_stats", {})
table = json.loads(answer)[0]
names = [column["id"] for column in table["cols"]]
rows = [dict(zip(names, (cell["v"] for cell in row["c"]))) for row in table["rows"]]
rows = sorted([row["type"], row["operation"], int(row["occurrences"])] for row in rows if row["type"] != "IDLE")
print(json.dumps({"xprof": importlib.metadata.version("xprof"), "operations": rows}))
"""


def fit() -> Callable[[], Any]:
    """Three steps of a small Keras model."""
    import keras
    import numpy as np

    model = keras.Sequential(
        [
            keras.layers.Input((8, 8, 3)),
            keras.layers.Conv2D(4, 3, activation="relu", name="conv"),
            keras.layers.BatchNormalization(name="norm"),
            keras.layers.Flatten(),
            keras.layers.Dense(10, name="dense"),
        ],
        name="small",
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    x, y = np.ones([48, 8, 8, 3], np.float32), np.zeros([48], np.int64)
    return lambda: model.fit(x, y, batch_size=16, verbose=0)


def loop() -> Callable[[], Any]:
    """Three steps of a custom loop, with a loop, a condition and a tape in the function."""
    import tensorflow as tf

    weights = tf.Variable(tf.ones([4, 4]), name="weights")

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            for _ in tf.range(3):
                x = tf.nn.relu(tf.matmul(x, weights))
            if tf.reduce_sum(x) > 0.0:
                x = tf.sin(x)
            loss = tf.reduce_mean(x)
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    train = tf.function(step)
    return lambda: [train(batch) for batch in tf.data.Dataset.from_tensors(tf.ones([2, 4])).repeat(3)]


def recorded(run: Callable[[], Any]) -> bytes:
    """The XSpace of a program that has run before."""
    from tensorflow.python.profiler.internal import _pywrap_profiler

    from tfprof_widget.capturing.tf_profiler import TfProfiler

    run()
    profiler = TfProfiler(_pywrap_profiler.ProfilerSession)
    profiler.open()
    run()
    return profiler.close()


def main(xprof_python: str) -> None:
    """Write all files anew."""
    RECORDED.mkdir(exist_ok=True)
    for make in (fit, loop):
        xspace = recorded(make())
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "recorded.xplane.pb")
            path.write_bytes(xspace)
            command = [xprof_python, "-c", ASK, str(path)]
            answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        rows = ",\n".join(json.dumps(row) for row in answer["operations"])
        text = f'{{"xprof": "{answer["xprof"]}", "operations": [\n{rows}\n]}}\n'
        (RECORDED / f"{make.__name__}.json").write_text(text, encoding="utf-8")
        (RECORDED / f"{make.__name__}.xplane.pb.gz").write_bytes(gzip.compress(xspace, mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])

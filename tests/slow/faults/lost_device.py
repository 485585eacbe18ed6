"""A session on a cluster of two tasks on this machine, of which one is killed in a run: `python lost_device.py`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import Any, NoReturn

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
sys.path.insert(0, str(Path(__file__).parents[3]))

import tensorflow as tf

import tfprof_widget as tfprof
from tests.ports import free_ports

FOR_EVER = 2**31 - 1
v1: Any = tf.compat.v1


def addresses() -> list[str]:
    return [f"127.0.0.1:{port}" for port in free_ports(2)]


def serve(task: int, cluster: list[str]) -> Any:
    return tf.distribute.Server({"worker": cluster}, job_name="worker", task_index=task)


def lose(cluster: list[str], worker: Any) -> NoReturn:
    """Lose a worker in a captured run, and tell how that went; ends before TensorFlow waits to close the session."""
    from tests.slow.faults.hooks import hooks

    server = serve(0, cluster)
    with tf.Graph().as_default() as graph, tf.device("/job:worker/task:1"):
        turns = v1.placeholder(tf.int32, [])
        last = tf.while_loop(lambda turn: turn < turns, lambda turn: turn + 1, [0])[0]
    session = v1.Session(server.target, graph=graph)
    before = hooks()
    try:
        with tfprof.capture(trace_all=True) as prof:
            session.run(last, {turns: 10})
            with tempfile.TemporaryDirectory() as directory:  # another profiler does not make a run fail
                tf.profiler.experimental.start(directory)
                session.run(last, {turns: 10})
                tf.profiler.experimental.stop()
            threading.Timer(1.0, worker.kill).start()
            session.run(last, {turns: FOR_EVER})
    except tf.errors.OpError as error:
        told = {
            "error": type(error).__name__,
            "message": str(error),
            "line": traceback.extract_tb(error.__traceback__)[0].line,
            "hooks are gone": hooks() == before,
            "seen": prof.measurement.runs_seen,
            "executed": len(prof.profile.executions),
            "warnings": prof.measurement.warnings,
        }
        print(json.dumps(told), flush=True)
        os._exit(0)
    raise AssertionError("the run should have failed")


def main() -> None:
    if sys.argv[1:]:
        worker = serve(1, sys.argv[1:])
        print("ready", flush=True)
        worker.join()
    cluster = addresses()
    command = [sys.executable, __file__, *cluster]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as worker:
        try:
            assert worker.stdout is not None
            worker.stdout.readline()
            lose(cluster, worker)
        finally:
            worker.kill()


if __name__ == "__main__":
    main()

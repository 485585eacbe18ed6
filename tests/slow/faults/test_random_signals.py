"""Ctrl-C at random moments of scripts, cells and a kernel: it comes through, and no hook is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.notebooks.kernel import running_kernel, shown
from tests.slow.share import share

SIGNALS = int(os.environ.get("TFPROF_SIGNALS", share(2000, 10)))
"""How many; ten kinds of captures get the same number each."""

SECONDS = 6 * 3600

SET_UP = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
import tfprof_widget as tfprof
from tests.slow.faults.hooks import hooks
%load_ext tfprof_widget
square, one = tf.function(tf.square), tf.constant(1.0)
square(one)
with tfprof.capture(trace_all=True):
    square(one)
before = hooks()
"""
CELL = """%%tfprof --quiet
square(one)
print("begun", flush=True)
while True:
    square(one)
"""
"""It makes no tensor: an interrupt in `tf.constant` can crash TensorFlow 2.21, once in 269 tries without a profile."""

# Which of functions, importers, handler and threads are not as before, and whether the runs until then are there.
LEFT = """
after = hooks()
print([now for then, now in zip(before, after) if now != then], tfprof.last().measurement.runs_seen > 0)
"""


def test_signals_at_random_moments() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.slow.faults.random_signals", str(SIGNALS), "7"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["faults"] == {}
    assert sum(told["interrupted"].values()) >= SIGNALS
    assert min(told["interrupted"].values()) >= SIGNALS // 10


def test_a_kernel_goes_on_after_each_interrupt() -> None:
    with running_kernel() as kernel:
        kernel.run(SET_UP)
        for _ in range(share(20, 1)):
            outputs, reply = kernel.run(CELL, interrupt_at="begun")
            assert reply.get("ename") == "KeyboardInterrupt", (outputs, reply)
            assert any("KeyboardInterrupt" in text for _, text in shown(outputs)), outputs
            outputs, reply = kernel.run(LEFT)
            assert shown(outputs) == [("stdout", "[] True\n")], (outputs, reply)

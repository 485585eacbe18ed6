"""A small model to run sessions of, and captures of such runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from tests.made import profile_of_tables
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording
from tfprof_widget.capturing.sampling import EVERYTHING, Policy
from tfprof_widget.capturing.session_hooks import hooked_sessions
from tfprof_widget.capturing.session_source import SessionSource

v1: Any = tf.compat.v1
FULL_TRACE = v1.RunOptions.FULL_TRACE
THREE = np.ones([3], np.float32)
# For each session: the one thread of a machine of one core would wait for ever for another run of it.
TWO_THREADS = v1.ConfigProto(inter_op_parallelism_threads=2, use_per_session_threads=True)


class Model:
    """Fetches: `loss` of the placeholder `x`; `train`, which adds one to `count`; `init`."""

    def __init__(self) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.x = v1.placeholder(tf.float32, [None], name="x")
            self.loss = tf.reduce_sum(tf.square(self.x), name="loss")
            self.counter = v1.get_variable("counter", [], initializer=tf.zeros_initializer(), use_resource=True)
            with tf.control_dependencies([self.loss]):
                added = self.counter.assign_add(1.0, read_value=False)
            self.train = tf.group(added, name="train")
            self.count = self.counter.read_value()
            v1.train.create_global_step()
            self.init = tf.group(v1.global_variables_initializer(), name="initialize")

    def session(self) -> Any:
        session = v1.Session(graph=self.graph, config=TWO_THREADS)
        session.run(self.init)
        return session


@dataclass
class Captured:
    """What was captured, once the block is over."""

    results: list[Recording] = field(default_factory=list)

    @property
    def recorded(self) -> Recording:
        (recorded,) = self.results
        return recorded

    @property
    def graph(self) -> GraphRecording:
        (graph,) = self.recorded.graphs
        return graph

    @property
    def runs(self) -> dict[str, tuple[int, int]]:
        """How many runs of each name were seen and traced, of all graphs."""
        return {runs.name: (runs.seen, runs.traced) for graph in self.recorded.graphs for runs in graph.kinds}

    def of(self, name: str) -> KindOfRun:
        (runs,) = [runs for graph in self.recorded.graphs for runs in graph.kinds if runs.name == name]
        return runs

    def executed(self, step: int) -> set[str]:
        """The nodes that ran in a step of the one graph."""
        profile = profile_of_tables(self.graph.tables)
        ran = profile.executions.step == profile.steps.index(step)
        return {profile.nodes.names[node] for node in profile.executions.node[ran]}


@contextmanager
def captured(policy: Policy = EVERYTHING, **settings: Any) -> Iterator[Captured]:
    """Capture the sessions of the block."""
    recorder, captured = SessionSource(policy, **settings), Captured()
    try:
        with hooked_sessions(recorder):
            yield captured
    finally:
        captured.results.append(recorder.recorded())

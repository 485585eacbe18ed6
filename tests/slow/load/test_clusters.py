"""Clusters of real processes: nothing is said of balanced ones, and a slow worker and a slow link are named."""

from __future__ import annotations

import json
import math
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.analysis.cluster.real import Cluster
from tests.forked import process
from tests.ports import free_ports
from tests.slow.share import share
from tfprof_widget.analysis.advisor.cluster import cluster as findings
from tfprof_widget.analysis.cluster.routes import spread
from tfprof_widget.analysis.cluster.summary import ClusterSummary, summary
from tfprof_widget.analysis.cluster.tasks import Tasks
from tfprof_widget.analysis.cluster.waits import Activity, Waits, waited_for
from tfprof_widget.analysis.steady import SteadySteps
from tfprof_widget.api.profile import Profile

tf1 = tf.compat.v1
STEPS = 25
SIZE = 400
SLOW = "/job:worker/replica:0/task:1"
SERVER = "/job:ps/replica:0/task:0"
BYTES_A_SECOND = 30_000_000
"""What the slow link carries; others carry some 1,000 MB a second, most within a factor of 2.4: that cubed is 14."""

TIMES_SPREAD = 3


@dataclass(frozen=True)
class Shape:
    """How many servers and workers there are, in how many threads each works (0: any), and how many are tried."""

    servers: int
    workers: int
    threads: int
    clusters: int


SHAPES = {
    "2 tasks": Shape(1, 1, 0, share(20, 0)),
    "3 tasks": Shape(1, 2, 0, share(20, 1)),
    "8 tasks": Shape(2, 6, 1, share(5, 0)),
}
CLUSTERS = [(name, number) for name, shape in SHAPES.items() for number in range(shape.clusters)]


@contextmanager
def throttled(port: int) -> Iterator[int]:
    """A port that leads to another, and brings back no more bytes a second than the slow link carries."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=_serve, args=(server, port), daemon=True).start()
        yield server.getsockname()[1]


def _serve(server: socket.socket, port: int) -> None:
    while True:
        try:
            client, _ = server.accept()
        except OSError:  # it is closed
            return
        target = socket.create_connection(("127.0.0.1", port))
        Thread(target=_copy, args=(client, target, math.inf), daemon=True).start()
        Thread(target=_copy, args=(target, client, BYTES_A_SECOND), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket, bytes_a_second: float) -> None:
    try:
        while data := source.recv(2**16):
            time.sleep(len(data) / bytes_a_second)
            target.sendall(data)
    except OSError:
        pass
    target.close()


@contextmanager
def started(shape: Shape, *, slow_link: bool = False) -> Iterator[Cluster]:
    """A cluster of processes; over the slow link the second worker gets the first server's tensors."""
    with ExitStack() as stack:
        ports = free_ports(shape.servers + shape.workers)
        addresses = [f"127.0.0.1:{port}" for port in ports]
        cluster = {"ps": addresses[: shape.servers], "worker": addresses[shape.servers :]}
        behind = cluster
        if slow_link:
            through = stack.enter_context(throttled(ports[0]))
            behind = {**cluster, "ps": [f"127.0.0.1:{through}", *cluster["ps"][1:]]}
        servers = []
        for job, tasks in cluster.items():
            for task in range(len(tasks)):
                known = behind if (job, task) == ("worker", 1) else cluster
                words = [json.dumps(known), job, str(task), str(shape.threads)]
                servers.append(stack.enter_context(process("tests.analysis.cluster.server", *words)))
        for server in servers:
            assert server.stdout.readline().startswith("grpc://")
        yield cluster


def recorded(cluster: Cluster, *, extra: int = 0) -> Profile:
    """What a session records of steps in which all workers train all variables; the slow one has extra products."""
    with tf.Graph().as_default() as graph:
        variables = []
        for number in range(2 * len(cluster["ps"])):
            with tf.device(f"/job:ps/task:{number % len(cluster['ps'])}"):
                variables.append(tf1.get_variable(f"variable{number}", [SIZE, SIZE]))
        updates = []
        for worker in range(len(cluster["worker"])):
            with tf.device(f"/job:worker/task:{worker}"), tf1.name_scope(f"worker{worker}"):
                hidden = tf.random.uniform([256, SIZE])
                square = tf.random.uniform([500, 500])
                for _ in range(extra if worker == 1 else 0):
                    square = tf.matmul(square, square, name="slow") / 250.0
                hidden += 1e-9 * tf.reduce_mean(square)
                for variable in variables:
                    hidden = tf.tanh(tf.matmul(hidden, variable))
                gradients = tf.gradients(tf.reduce_mean(hidden * hidden), variables)
            for variable, gradient in zip(variables, gradients, strict=True):
                with tf.device(variable.device):
                    updates.append(variable.assign_sub(0.01 * gradient))
        start, train = tf1.global_variables_initializer(), tf.group(*updates)
    with tf1.Session(f"grpc://{cluster['worker'][0]}", graph=graph) as session:
        session.run(start)
        with tfprof.capture(every=1) as prof:
            for _ in range(STEPS):
                session.run(train)
    found: Profile = prof.profile
    return found


def summed(profile: Profile) -> ClusterSummary:
    found = summary(profile, SteadySteps.of(profile).steps.tolist())
    assert found is not None
    return found


def beyond(profile: Profile) -> Any:
    """For how many nanoseconds longer the slow worker was waited for than the others, in each step."""
    activity = Activity(profile, tuple(SteadySteps.of(profile).steps.tolist()))
    waited, names = waited_for(activity, Waits.of(activity)).longest, Tasks.of(profile).names
    slow = names.index(SLOW)
    like = [task for task, name in enumerate(names) if "worker" in name and task != slow]
    return waited[:, slow] - waited[:, like].mean(axis=1)


def told(profile: Profile) -> str:
    """What is said of the cluster: of stragglers, links and transfers that hold it up."""
    return " ".join(map(str, findings(profile)))


@pytest.mark.parametrize(("shape", "number"), CLUSTERS)
def test_nothing_is_said_of_a_balanced_cluster_and_a_slow_worker_is_named(shape: str, number: int) -> None:
    """The slow worker is late by three times the spread of the balanced cluster, or more."""
    chosen = SHAPES[shape]
    with started(chosen) as cluster:
        balanced = recorded(cluster)
        print(f"{shape} {number}, balanced: {told(balanced) or 'nothing is said'}")
        assert told(balanced) == ""
        assert (summed(balanced).straggler, summed(balanced).slow_link) == (None, None)
        if chosen.workers < 2:
            return
        late = recorded(cluster, extra=10 * chosen.workers)
    times = float(np.median(beyond(late))) / spread(beyond(balanced))
    straggler = summed(late).straggler
    print(f"{shape} {number}: late by {times:.1f} times the spread; {straggler and straggler.text}")
    assert times >= TIMES_SPREAD
    assert straggler is not None
    assert (straggler.task, straggler.works_longer) == (SLOW, True)


@pytest.mark.parametrize(("shape", "number"), share([each for each in CLUSTERS if SHAPES[each[0]].workers > 1], []))
def test_a_slow_link_is_named(shape: str, number: int) -> None:
    """With one worker there is no other link between the same jobs to compare with."""
    with started(SHAPES[shape], slow_link=True) as cluster:
        profile = recorded(cluster)
    found = summed(profile).slow_link
    print(f"{shape} {number}, throttled: {found}")
    assert found is not None
    print(f"{shape} {number}: {found.usual / found.rate:.0f} times as slow, others within {found.factor:.1f}")
    assert (found.source, found.target) == (SERVER, SLOW)
    assert found.usual >= found.rate * found.factor**TIMES_SPREAD
    assert f"Data from {SERVER} to {SLOW} travels at" in told(profile)

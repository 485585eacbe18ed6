"""Clusters and sweeps started as ever, but for `tfprof run` before each: the directory has every task; many writers."""

from __future__ import annotations

import json
import subprocess
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tfprof_widget as tfprof
from tests.jobs.programs import RUN, Outcome, ended, run, started
from tests.jobs.states import LIVE, task
from tests.ports import free_ports
from tests.slow.share import share
from tfprof_widget.jobs.directory import JobDirectory
from tfprof_widget.jobs.table import table

ROWS, COLUMNS, STEPS = 32, 48, 60

# A session for each worker, with its variable on a server; servers wait until they are killed.
SESSIONS = f"""
import json, os
import tensorflow.compat.v1 as tf
tf.disable_eager_execution()
config = json.loads(os.environ["TF_CONFIG"])
me, index = config["task"]["type"], config["task"]["index"]
server = tf.distribute.Server(config["cluster"], job_name=me, task_index=index)
if me == "ps":
    server.join()
with tf.device(tf.train.replica_device_setter(cluster=config["cluster"], worker_device=f"/job:worker/task:{{index}}")):
    weights = tf.get_variable("weights", [{COLUMNS}, {COLUMNS}])
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_mean(tf.matmul(tf.ones([{ROWS}, {COLUMNS}]), weights) ** 2)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)
own = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{{index}}"])  # else it waits for workers that ended
with tf.train.MonitoredTrainingSession(master=server.target, is_chief=index == 0, config=own) as session:
    for _ in range({STEPS}):
        session.run(train)
print("trained", flush=True)
"""
COORDINATOR = f"""
import json, os, sys
import tensorflow as tf
config = json.loads(os.environ["TF_CONFIG"])
resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
if config["task"]["type"] != "chief":
    server = tf.distribute.Server(
        resolver.cluster_spec(), job_name=resolver.task_type, task_index=resolver.task_id, protocol="grpc"
    )
    server.join()
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    weights = tf.Variable(tf.ones([{COLUMNS}, {COLUMNS}]))

@tf.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.matmul(x, weights) ** 2)
    weights.assign_sub(0.01 * tape.gradient(loss, weights))
    return loss

for _ in range(4 * {STEPS}):
    coordinator.schedule(train, args=(tf.ones([{ROWS}, {COLUMNS}]),))
    coordinator.join()
print("trained", flush=True)
"""
MIRRORED = f"""
import tensorflow as tf
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    weights = tf.Variable(tf.ones([{COLUMNS}, {COLUMNS}]))

@tf.function
def train():
    def replica():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.matmul(tf.ones([{ROWS}, {COLUMNS}]), weights) ** 2)
        gradient = tape.gradient(loss, weights)
        total = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, gradient)
        weights.assign_sub(0.01 * total)
    strategy.run(replica)

for _ in range({STEPS}):
    train()
print("trained", flush=True)
"""
SWEEP = """
import multiprocessing, sys

def work(lr):
    import tensorflow as tf
    w = tf.Variable(tf.ones([64, 64]))

    @tf.function
    def train(x):
        w.assign_sub(lr * tf.matmul(x, w))

    for _ in range(20 + round(100 * lr)):
        train(tf.ones([64, 64]))
    sys.exit(round(100 * lr) % 3)

if __name__ == "__main__":
    kinds = ["fork", "spawn"] * (int(sys.argv[1]) // 2)
    made = [multiprocessing.get_context(kind).Process(target=work, args=(n / 100,)) for n, kind in enumerate(kinds)]
    for process in made:
        process.start()
    for process in made:
        process.join()
    print([process.exitcode for process in made])
"""

WHOLE = share((True,), ())
"""Clusters take a minute each, and are left to `make test-slow`."""


def cluster(folder: Path, source: str, jobs: Mapping[str, int], *, kills: str = "") -> dict[str, Outcome]:
    """What the tasks of a cluster printed; those of the job that waits for ever are ended once the others are over."""
    (folder / "train.py").write_text(source, encoding="utf-8")
    ports = iter(free_ports(sum(jobs.values())))
    addresses = {job: [f"127.0.0.1:{next(ports)}" for _ in range(count)] for job, count in jobs.items()}
    processes: dict[str, subprocess.Popen[str]] = {}
    for job, count in jobs.items():
        for index in range(count):
            config = {"cluster": addresses, "task": {"type": job, "index": index}}
            words = [*RUN, "--out", "jobs", "--interval", "2", "train.py"]
            processes[f"{job}-{index}"] = started(words, folder, {"TF_CONFIG": json.dumps(config)})
    try:
        found = {name: ended(each) for name, each in processes.items() if not name.startswith(kills or "\0")}
        for name, each in processes.items():
            if name not in found:
                each.terminate()
                found[name] = ended(each)
    finally:
        for each in processes.values():
            if each.poll() is None:
                each.kill()
                each.communicate()
    return found


def tasks(folder: Path) -> dict[str, dict[str, Any]]:
    """The states of all tasks, by their names; all are of one job."""
    found = {path.parent.name: json.loads(path.read_bytes()) for path in folder.glob("jobs/*/*/state.json")}
    assert len({path.parent.parent for path in folder.glob("jobs/*/*/state.json")}) == 1
    return found


def loaded(folder: Path) -> Any:
    """The profile of all tasks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tfprof.ProfileWarning)
        return tfprof.load(folder / "jobs")


def parameters(profile: Any) -> dict[str, int]:
    """How many parameters each variable has; those of a step counter and the like are single numbers."""
    columns = zip(profile.nodes.names, profile.nodes.parameters.tolist(), strict=True)
    return {name: count for name, count in columns if count > 1}


@pytest.mark.parametrize("_", WHOLE)
def test_sessions_with_parameter_servers(_: bool, tmp_path: Path) -> None:
    outcomes = cluster(tmp_path, SESSIONS, {"ps": 2, "worker": 3}, kills="ps")
    assert {name: each.code for name, each in outcomes.items() if name.startswith("worker")} == dict.fromkeys(
        ["worker-0", "worker-1", "worker-2"], 0
    ), outcomes
    states = tasks(tmp_path)
    assert states.keys() == outcomes.keys()
    assert all(state["status"] == "interrupted" for name, state in states.items() if name.startswith("ps"))
    profile = loaded(tmp_path)
    assert {worker.partition("/")[0] for worker in profile.step_workers} == {"worker-0", "worker-1", "worker-2"}
    assert parameters(profile) == {"weights": COLUMNS * COLUMNS}
    sent = {size for size in profile.transfers.bytes.tolist() if size}
    assert COLUMNS * COLUMNS * 4 in sent  # the weights, as floats


@pytest.mark.parametrize("_", WHOLE)
def test_coordinator_with_parameter_servers(_: bool, tmp_path: Path) -> None:
    jobs = {"chief": 1, "worker": 2, "ps": 1}
    (tmp_path / "train.py").write_text(COORDINATOR, encoding="utf-8")
    outcomes = cluster(tmp_path, COORDINATOR, jobs, kills=("worker", "ps"))  # type: ignore[arg-type]
    assert outcomes["chief-0"].code == 0, outcomes["chief-0"]
    states = tasks(tmp_path)
    assert states.keys() == {"chief-0", "worker-0", "worker-1", "ps-0"}
    assert states["chief-0"]["steps"] >= 4 * STEPS
    profile = loaded(tmp_path)
    assert len(profile.steps) > 0


@pytest.mark.parametrize("_", WHOLE)
def test_mirrored_workers(_: bool, tmp_path: Path) -> None:
    outcomes = cluster(tmp_path, MIRRORED, {"worker": 2})
    assert all("trained" in each.out for each in outcomes.values()), outcomes
    states = tasks(tmp_path)
    assert {name: state["steps"] for name, state in states.items()} == {"worker-0": STEPS, "worker-1": STEPS}
    for outcome in outcomes.values():  # ops are recorded where that is dared
        assert "--collectives" in outcome.err


@pytest.mark.parametrize("count", share((8,), ()))
def test_sweep_of_processes(count: int, tmp_path: Path) -> None:
    (tmp_path / "sweep.py").write_text(SWEEP, encoding="utf-8")
    outcome = run("--follow", "--out", "jobs", "sweep.py", str(count), folder=tmp_path)
    codes = [number % 3 for number in range(count)]
    assert outcome.out == f"{codes}\n", outcome
    states = {name: state for name, state in tasks(tmp_path).items() if state.get("steps")}
    assert sorted(state["steps"] for state in states.values()) == list(range(20, 20 + count))
    seen = {
        task.state.live.steps - 20: task for task in JobDirectory(tmp_path / "jobs").look() if task.state.live.steps
    }
    assert [seen[number].state.exit_code for number in range(count)] == codes
    assert [seen[number].status for number in range(count)] == ["failed" if code else "ended" for code in codes]
    assert set(loaded(tmp_path).step_workers) == states.keys()


def test_64_writers_are_all_told_right_and_quickly(tmp_path: Path) -> None:
    """A refresh takes less than 100 ms of work: of several the quickest, as others may work beside it."""
    statuses: Sequence[Any] = ("ended", "failed", "interrupted")
    expected = {}
    for number in range(64):
        job, name, status = f"job-{number % 8}", f"worker-{number // 8}", statuses[number % 3]
        strip = tuple(0.1 for _ in range(200))
        task(tmp_path, job, name, status=status, live=replace(LIVE, steps=number + 1, strip=strip))
        expected[f"{job}/{name}"] = (status, number + 1)
    directory, taken = JobDirectory(tmp_path), []
    for _ in range(10):
        began = time.thread_time()
        seen = directory.look()
        lines = table(seen)
        taken.append(time.thread_time() - began)
    assert {each.name: (each.status, each.state.live.steps) for each in seen} == expected
    assert len(lines) == 65
    assert min(taken) < 0.1

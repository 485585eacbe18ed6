"""A session against a real cluster: two parameter servers and two workers, each a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tests.analysis.cluster.clusters import PS0, PS1, WORKER0, WORKER1, device
from tests.analysis.cluster.real import Cluster, serving
from tfprof_widget.analysis.cluster.clocks import UNKNOWN, Clocks, aligned_start_nanos, aligned_transfer_nanos
from tfprof_widget.analysis.cluster.exchanges import Producers
from tfprof_widget.analysis.cluster.routes import FEWEST_STEPS
from tfprof_widget.analysis.cluster.summary import ClusterSummary, summary
from tfprof_widget.analysis.cluster.tasks import Tasks
from tfprof_widget.api.profile import Profile

tf1 = tf.compat.v1
TASKS = (PS0, PS1, WORKER0, WORKER1)
FLOAT = 4
STEPS = 12
FIRST, SECOND = (1000, 300), (300, 700)


class Model(NamedTuple):
    """A step in which both workers train the two variables."""

    graph: Any
    start: Any
    train: Any


def model(cluster: Cluster, slow: int) -> Model:
    """The first variable is on the first server, the second on the second; the slow worker has more to multiply."""
    with tf.Graph().as_default() as graph:
        with tf.device("/job:ps/task:0"):
            first = tf1.get_variable("first", FIRST)
        with tf.device("/job:ps/task:1"):
            second = tf1.get_variable("second", SECOND)
        updates = []
        for worker in range(2):
            with tf.device(f"/job:worker/task:{worker}"), tf1.name_scope(f"worker{worker}"):
                inputs = tf.random.uniform([64, FIRST[0]])
                if worker == slow:
                    square = tf.random.uniform([1000, 1000])
                    for _ in range(4):
                        square = tf.matmul(square, square, name="slow") / 500.0
                    inputs += 1e-9 * square[:64]
                hidden = tf.nn.relu(tf.matmul(inputs, first))
                gradients = tf.gradients(tf.reduce_mean(tf.matmul(hidden, second)), [first, second])
            for variable, gradient in zip((first, second), gradients, strict=True):
                with tf.device(variable.device):
                    updates.append(variable.assign_sub(0.01 * gradient))
        return Model(graph, tf1.global_variables_initializer(), tf.group(*updates, name="train"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with serving(ps=2, worker=2) as started:
        yield started


@pytest.fixture(scope="module")
def profile(cluster: Cluster) -> Profile:
    """That of steps in which the second worker is slow."""
    built = model(cluster, slow=1)
    with tf1.Session(f"grpc://{cluster['worker'][0]}", graph=built.graph) as session:
        session.run(built.start)
        with tfprof.capture(every=1) as prof:
            for _ in range(STEPS):
                session.run(built.train)
    found: Profile = prof.profile
    return found


@pytest.fixture(scope="module")
def found(profile: Profile) -> ClusterSummary:
    summed = summary(profile)
    assert summed is not None
    return summed


def test_one_profile_has_all_tasks(profile: Profile) -> None:
    assert Tasks.of(profile).names == TASKS
    ran = {profile.nodes.devices[each] for each in profile.executions.device.tolist()}
    assert ran == {device(task).lower() for task in TASKS}


def test_devices_are_types_to_account_by(profile: Profile) -> None:
    """As in the tfprof documents: `.*ps.*task:0.*` are the first server's parameters."""
    for task, shape in ((0, FIRST), (1, SECOND)):
        view = profile.view("scope", account_type_regexes=[f".*ps.*task:{task}.*"], max_depth=0)
        assert int(view.grand_total["params"][0]) // view.scale == shape[0] * shape[1]


def test_every_variable_goes_to_every_worker_and_a_gradient_back(found: ClusterSummary) -> None:
    """With the bytes of their shapes, in floats."""
    sizes = {PS0: FIRST[0] * FIRST[1] * FLOAT, PS1: SECOND[0] * SECOND[1] * FLOAT}
    sent = {(each.source, each.target): each.bytes for each in found.links if each.bytes}
    assert sent == {
        **{(server, worker): size for server, size in sizes.items() for worker in (WORKER0, WORKER1)},
        **{(worker, server): size for server, size in sizes.items() for worker in (WORKER0, WORKER1)},
    }
    assert {each.kind for each in found.links} == {"RecvTensor"}


def test_each_transfer_took_time_and_knows_the_node_that_made_it(profile: Profile) -> None:
    large = profile.transfers.bytes > 0
    assert (profile.transfers.duration_nanos[large] > 0).all()
    assert (profile.transfers.node[large] >= 0).all()
    assert (Producers.of(profile).execution[large] >= 0).all()


def test_a_slow_worker_is_the_straggler(found: ClusterSummary) -> None:
    assert found.straggler is not None
    assert found.straggler.task == WORKER1
    assert found.steps >= FEWEST_STEPS
    waited = {each.task: each.waited_for_nanos for each in found.tasks}
    assert max(waited, key=waited.__getitem__) == WORKER1


def test_each_task_has_a_budget(profile: Profile) -> None:
    """Nothing runs in the first worker while the second one, which has more to multiply, computes."""
    budget = profile.time_budget()
    assert tuple(budget.tasks) == TASKS
    for each in (budget, *budget.tasks.values()):
        assert sum(each.cell.values()) == pytest.approx(each.cell_seconds, abs=1e-6)
        assert sum(each.step.values()) == pytest.approx(each.step_seconds, abs=1e-6)
        assert each.cell["other"] < 0.05 * each.cell_seconds
    assert budget.tasks[WORKER0].step["idle"] > budget.tasks[WORKER1].step["idle"]


def test_clocks_of_one_machine_are_alike_within_the_error_told(profile: Profile) -> None:
    clocks = Clocks.of(profile)
    assert (clocks.error != UNKNOWN).all()
    assert (abs(clocks.offset) <= clocks.error).all()


def test_no_tensor_comes_before_it_was_made(profile: Profile) -> None:
    made = Producers.of(profile).execution
    known = made >= 0
    ready = (aligned_start_nanos(profile) + profile.executions.duration_nanos)[made[known]]
    # Half a nanosecond is rounded for each clock.
    assert (ready <= (aligned_transfer_nanos(profile) + profile.transfers.duration_nanos)[known] + 1).all()


def test_parameters_are_told_by_task(found: ClusterSummary) -> None:
    held = {each.task: (each.variables, each.parameters) for each in found.tasks}
    assert held == {PS0: (1, 300_000), PS1: (1, 210_000), WORKER0: (0, 0), WORKER1: (0, 0)}
    assert found.parameter_balance is not None
    assert (found.parameter_balance.largest, found.parameter_balance.mean) == (300_000.0, 255_000.0)


def test_the_parts_of_a_step_add_up(found: ClusterSummary) -> None:
    for each in found.tasks:
        assert each.busy_nanos + each.idle_nanos == found.wall_nanos
        assert each.wait_nanos <= each.idle_nanos
    assert sum(each.sent_bytes for each in found.tasks) == sum(each.received_bytes for each in found.tasks)

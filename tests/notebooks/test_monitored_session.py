"""MonitoredTrainingSession with hooks, one of which asks for metadata of its own."""

from __future__ import annotations

import pytest

from tests.notebooks.notebook import Notebook, parted

GRAPH = """
with tf.Graph().as_default() as graph:
    image = tf1.placeholder(tf.float32, [32, 784], name="image")
    weights = tf1.get_variable("weights", [784, 10])
    loss = tf.reduce_mean(tf.square(tf.matmul(image, weights, name="logits")), name="loss")
    step = tf1.train.get_or_create_global_step()
    train = tf1.train.GradientDescentOptimizer(0.01).minimize(loss, step, name="train")

class Recording(tf1.train.SessionRunHook):
    def __init__(self):
        self.losses, self.nodes = [], []

    def before_run(self, run_context):
        options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
        return tf1.train.SessionRunArgs(loss, options=options)

    def after_run(self, run_context, run_values):
        self.losses.append(run_values.results)
        devices = run_values.run_metadata.step_stats.dev_stats
        self.nodes.append({node.node_name for device in devices for node in device.node_stats})

recording = Recording()
hooks = [tf1.train.StopAtStepHook(last_step=12), tf1.train.NanTensorHook(loss), recording]
"""
TRAINING = """%%tfprof {arguments} --out prof
with graph.as_default(), tf1.train.MonitoredTrainingSession(hooks=hooks) as session:
    while not session.should_stop():
        session.run(train, {{image: images[:32]}})
"""
TRAIN = "global_step/add, loss, train"
RECORDED = "[loss >= 0 and {'logits', 'loss'} <= nodes for loss, nodes in zip(recording.losses, recording.nodes)]"


@pytest.fixture(autouse=True)
def graph(notebook: Notebook) -> None:
    notebook.run_well(GRAPH)


def test_hooks_get_what_they_ask_for_and_every_step_is_traced(notebook: Notebook) -> None:
    outputs = notebook.run_well(TRAINING.format(arguments="--all"))
    assert parted(outputs)[0] == []
    assert notebook.runs()[TRAIN] == (12, 12)
    assert notebook.value(RECORDED) == [True] * 12
    by_hand = {"Square": 1, "Mean": 1, "ResourceApplyGradientDescent": 1, "AssignAddVariableOp": 1, "RandomUniform": 0}
    ran = notebook.value(f"counted(prof.profiles[0], {TRAIN!r})")
    assert {name: ran.get(name, 0) for name in by_hand} == by_hand


def test_hooks_get_what_they_ask_for_where_few_steps_are_traced(notebook: Notebook) -> None:
    notebook.run_well(TRAINING.format(arguments="--every 5"))
    assert notebook.runs()[TRAIN] == (12, 3)  # the first, the sixth and the eleventh
    assert notebook.value(RECORDED) == [True] * 12

"""A dynamic RNN over twelve steps, by while loops of both generations: what is in the loop runs twelve times."""

from __future__ import annotations

import pytest

from tests.notebooks.notebook import Notebook

# TensorFlow's own cells left with Keras 2.
GRAPH = """
tf1.{toggle}_control_flow_v2()

class Cell:
    state_size = output_size = 16

    def zero_state(self, batch_size, dtype):
        return tf.zeros([batch_size, 16], dtype)

    def __call__(self, inputs, state, scope=None):
        state = tf.tanh(tf.matmul(inputs, kernel) + tf.matmul(state, recurrent))
        return state, state

with tf.Graph().as_default() as graph:
    sequence = tf1.placeholder(tf.float32, [12, 4, 8], name="sequence")
    kernel, recurrent = tf1.get_variable("kernel", [8, 16]), tf1.get_variable("recurrent", [16, 16])
    _, state = tf1.nn.dynamic_rnn(Cell(), sequence, dtype=tf.float32, time_major=True)
    loss = tf.reduce_mean(state, name="loss")
    train = tf1.train.GradientDescentOptimizer(0.01).minimize(loss, name="train")
    start = tf1.global_variables_initializer()
tf1.enable_control_flow_v2()
session = tf1.Session(graph=graph)
session.run(start)
"""
TRAINING = """%%tfprof --all --out prof
for _ in range(6):
    session.run(loss, {sequence: np.ones((12, 4, 8), np.float32)})
    session.run(train, {sequence: np.ones((12, 4, 8), np.float32)})
"""


@pytest.mark.parametrize("toggle", ["enable", "disable"])
def test_ops_in_the_loop_are_counted_as_often_as_it_turns(notebook: Notebook, toggle: str) -> None:
    notebook.run_well(GRAPH.format(toggle=toggle))
    notebook.run_well(TRAINING)
    assert notebook.runs() == {"loss": (6, 6), "train": (6, 6)}
    for runs in ("loss", "train"):
        ran = notebook.value(f"counted(prof.profiles[0], {runs!r}, view='scope')")
        in_loop = {name.rpartition("/")[2]: number for name, number in ran.items() if name.startswith("rnn/while/")}
        by_hand = {"MatMul": 12, "MatMul_1": 12, "Tanh": 12, "Less": 13}  # the last turn only asks whether to go on
        assert {name: in_loop.get(name) for name in by_hand} == by_hand
        backward = [number for name, number in ran.items() if name.endswith("/TanhGrad")]
        assert backward == ([12] if runs == "train" else [])
        types = notebook.value(f"counted(prof.profiles[0], {runs!r}, view='op')")
        assert types["Tanh"] == 12
        assert not [name for name in types if "while" in name and "/" in name]

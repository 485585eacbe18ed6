"""Which op is which after an edit, on graphs that TensorFlow builds, with the truth from the edit itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.comparing.runs import ops_of
from tests.sketches import profile_of
from tfprof_widget.analysis.comparing.keeping import kept_run
from tfprof_widget.analysis.comparing.matching import matched
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.profiles.kept_run import GraphOps

WIDTHS = (64, 64, 64, 64, 10)
Truth = Callable[[int], int | None]


def network(widths: Sequence[int], first: int = 0) -> GraphOps:
    """Dense layers in the scopes in which Keras would put them, counted from `first` on, with an optimizer."""
    import tensorflow.compat.v1 as tf

    graph = tf.Graph()
    with graph.as_default():
        hidden = tf.placeholder(tf.float32, [32, 16], "x")
        for number, width in enumerate(widths, first):
            with tf.variable_scope(scope(number)):
                kernel = tf.get_variable("kernel", [hidden.shape[-1], width])
                bias = tf.get_variable("bias", [width])
                hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(hidden, kernel), bias))
        tf.train.AdamOptimizer().minimize(tf.reduce_mean(hidden * hidden, name="loss"))
    return kept_run(Profile.from_protos(graph)).ops


def scope(number: int) -> str:
    return f"dense_{number}" if number else "dense"


@pytest.mark.parametrize(
    ("widths", "first", "truth"),
    [
        (WIDTHS, 7, lambda layer: layer + 7),
        ((64, 48, 64, 64, 64, 10), 0, lambda layer: layer + (layer > 0)),
        ((64, 64, 48, 64, 64, 10), 5, lambda layer: layer + (layer > 1) + 5),
        ((64, 64, 96, 64, 10), 0, lambda layer: layer),
        ((64, 96, 64, 64, 10), 9, lambda layer: layer + 9),
    ],
    ids=["renamed", "one put in", "one put in, renamed", "another width", "another width, renamed"],
)
def test_layers_of_an_edited_network(widths: Sequence[int], first: int, truth: Truth) -> None:
    before, after = network(WIDTHS), network(widths, first)
    found = matched(before, after)
    rows = {name: row for row, name in enumerate(after.names)}

    def renamed(match: re.Match[str]) -> str:
        return scope(truth(int(match[1] or 0)) or 0)

    wanted = [rows[re.sub(r"dense(?:_(\d+))?(?=/|$)", renamed, name)] for name in before.names]
    assert found.after.tolist() == wanted


def test_a_layer_that_was_taken_out() -> None:
    before, after = network((64, 32, 48, 16, 10)), network((64, 32, 16, 10), first=3)
    found = matched(before, after)
    truth = {scope(0): scope(3), scope(1): scope(4), scope(3): scope(5), scope(4): scope(6)}
    for name, row in zip(before.names, found.after.tolist(), strict=True):
        layer = re.search(r"dense(_\d+)?(?=/)", name)
        if layer and layer[0] not in truth:
            assert row == ABSENT
        elif layer:
            assert re.search(rf"(?<!\w){truth[layer[0]]}(?=/)|update_{truth[layer[0]]}/", after.names[row])


def test_the_same_graph_is_matched_by_name() -> None:
    ops = network((8, 4))
    found = matched(ops, replace(ops, lines=(*ops.lines,)))
    assert found.after.tolist() == list(range(len(ops)))
    assert set(found.rungs) == {"name"}


def test_names_given_by_the_user_stand_in_any_order() -> None:
    before, after = ops_of(["conv/Conv", "head/MatMul", "tail/Mul"]), ops_of(["tail/Mul", "conv/Conv", "head/MatMul"])
    assert matched(before, after).after.tolist() == [1, 2, 0]


def test_a_model_in_a_new_scope_is_found_by_its_signature() -> None:
    sketch = "a/w = Const() 4x4\na/MatMul = MatMul(x, a/w) 8x4\na/Relu = Relu(a/MatMul) 8x4"
    before = kept_run(profile_of(f"x = Placeholder() 8x4\n{sketch}")).ops
    after = kept_run(profile_of(f"x = Placeholder() 8x4\n{sketch.replace('a/', 'model/block/')}")).ops
    found = matched(before, after)
    assert [after.names[row].replace("model/block/", "a/") for row in found.after.tolist()] == list(before.names)
    assert found.rungs[1:] == ("signature",) * 3


def test_an_op_of_another_type_is_not_the_same() -> None:
    before, after = ops_of(["a/Relu", "b/Mul"]), ops_of(["a/Relu", "b/Mul"], ["Gelu", "Mul"])
    assert matched(before, after).after.tolist() == [ABSENT, 1]


def test_nothing_of_another_program_is_the_same() -> None:
    before = ops_of([f"encoder/MatMul_{place}" for place in range(9)])
    after = ops_of([f"decoder/Conv_{place}" for place in range(9)])
    assert (matched(before, after).after == ABSENT).all()


def test_tens_of_thousands_of_ops_that_are_all_alike() -> None:
    """One more of them than before: nothing is unlike all others."""
    before = ops_of([f"add_{place}" for place in range(20_000)])
    after = ops_of([f"add_{place}" for place in range(20_001)])
    found = matched(before, after).after
    assert (found != ABSENT).all()
    assert (np.diff(found) > 0).all()

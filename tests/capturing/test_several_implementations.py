"""Keras 2 has two functions for a layer `GRU` or `LSTM`; Grappler takes one, whose ops run under names of their own."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfprof_widget as tfprof
from tfprof_widget import Profile
from tfprof_widget.ingest.live.called import called_function
from tfprof_widget.ingest.parts.names import CALLS, python_name
from tfprof_widget.lib.arrays import ABSENT

keras: Any = import_module("keras" if find_spec("tf_keras") is None else "tf_keras")

BATCH, TIMES, WORDS, FEATURES, UNITS = 4, 5, 7, 8, 6
OF_A_LOOP = {"Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch", "Identity"}
"""The ops by which the runtime runs a loop: no graph has them."""


def captured(*layers: Any, is_fitted: bool) -> Profile:
    words = keras.layers.Embedding(WORDS, FEATURES)
    model = keras.Sequential([words, *layers, keras.layers.Dense(WORDS)], name="net")
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    given = np.ones([BATCH * 3, TIMES], np.int32)
    with tfprof.capture(trace_all=True) as prof:
        if is_fitted:
            model.fit(given, given, batch_size=BATCH, verbose=0)
        else:
            call = tf.function(lambda each: model(each))
            for _ in range(3):
                call(given[:BATCH])
    return prof.profile


def gru(units: int = UNITS, **options: Any) -> Any:
    return keras.layers.GRU(units, return_sequences=True, **options)


def ran(profile: Profile) -> list[int]:
    """The nodes of TensorFlow's functions that ran, without those that run loops."""
    nodes = profile.nodes
    others = ("eager", "tf.data", "Fill/dims")  # the last one is of the first value of a layer's variable
    rows = sorted(set(profile.executions.node.tolist()))
    return [
        row for row in rows if nodes.ops[nodes.op[row]] not in OF_A_LOOP and not nodes.names[row].startswith(others)
    ]


def without_a_line(profile: Profile) -> list[str]:
    return [profile.nodes.names[row] for row in ran(profile) if profile.traces.stack[row] == ABSENT]


def float_ops(profile: Profile, end: str) -> dict[str, int]:
    nodes = profile.nodes
    counted = zip(nodes.names, nodes.float_ops.tolist(), strict=True)
    return {name: count for name, count in counted if name.endswith(end)}


@pytest.mark.parametrize("is_fitted", [True, False])
def test_ops_of_one_layer_have_its_name_and_lines(is_fitted: bool) -> None:
    profile = captured(gru(name="gru"), is_fitted=is_fitted)
    names = [profile.nodes.names[row] for row in ran(profile)]
    assert [
        name for name in names if "while/" in name and not name.startswith(("net/gru/", "gradient_tape/net/gru/"))
    ] == []
    assert len([name for name in names if name.startswith("net/gru/standard_gru/while/")]) > 8
    assert without_a_line(profile) == []
    if is_fitted:
        ended = "while/MatMul_1_grad/MatMul"  # the states' gradient: [BATCH, 3 UNITS] x [3 UNITS, UNITS]
        (name,) = float_ops(profile, ended)
        assert name.startswith("gradient_tape/net/gru/standard_gru/")
        assert float_ops(profile, ended)[name] == 2 * BATCH * UNITS * 3 * UNITS


@pytest.mark.parametrize("is_fitted", [True, False])
def test_no_layer_gets_the_time_of_another(is_fitted: bool) -> None:
    """The ops of two layers have the same names in a trace."""
    profile = captured(gru(), gru(FEATURES), is_fitted=is_fitted)
    within = [profile.nodes.names[row] for row in ran(profile) if "while/" in profile.nodes.names[row]]
    assert len(within) > 8
    assert {name.partition("/")[0] for name in within} == {"standard_gru"}
    assert without_a_line(profile) == []
    assert set(float_ops(profile, "while/BiasAdd_1").values()) == {0}  # of 6 units, or of 8


def test_layers_of_two_types_share_the_scope_of_both_functions() -> None:
    lstm = keras.layers.LSTM(UNITS, return_sequences=True)
    profile = captured(gru(), lstm, is_fitted=False)
    within = [profile.nodes.names[row] for row in ran(profile) if profile.nodes.names[row].endswith("while/split")]
    assert within == ["standard_gru_or_standard_lstm/while/split"]


@pytest.mark.parametrize(("accelerators", "taken"), [([], "standard_gru"), (["GPU:0"], "gpu_gru_with_fallback")])
def test_the_function_is_that_of_the_device(
    accelerators: list[str], taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keras calls one of its functions, and Grappler may take the other."""
    layer = gru()
    call = tf.function(lambda each: layer(each)).get_concrete_function(tf.TensorSpec([BATCH, TIMES, FEATURES]))
    (operation,) = (each for each in call.graph.get_operations() if each.type in CALLS)
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda _: accelerators)
    called = called_function(operation, operation.get_attr("f").name)
    assert called is not None
    assert python_name(called.name) == taken
    assert called.does.startswith("gru_")

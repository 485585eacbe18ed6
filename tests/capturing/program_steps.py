"""Small programs of TensorFlow 2 and Keras, and what was captured of their steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import keras
import numpy as np
import tensorflow as tf

from tests.made import profile_of_tables
from tfprof_widget.api.profile import Profile
from tfprof_widget.capturing import tallies, windows
from tfprof_widget.capturing.function_hooks import hooked_functions
from tfprof_widget.capturing.function_source import FunctionSource
from tfprof_widget.capturing.recorder import COST_UNKNOWN
from tfprof_widget.capturing.recording import KindOfRun, Recording
from tfprof_widget.capturing.sampling import EVERYTHING, Policy
from tfprof_widget.profiles.data import EAGER

BATCH, CLASSES = 16, 10
FOR_EVER = 3600.0
TRAIN, TEST, PREDICT = "fit: train_step", "evaluate: test_step", "predict: predict_step"

STEADY = {TRAIN: 5, TEST: 2, PREDICT: 2}
"""How many steps there are in `fit_evaluate_and_predict` after each kind's first."""

# A dense layer multiplies once forward, once for its weights' and once for its inputs' gradient.
OPS_OF_A_STEP = {
    TRAIN: {"Conv2D": 2, "Conv2DBackpropFilter": 1, "MatMul": 3},
    TEST: {"Conv2D": 1, "Conv2DBackpropFilter": 0, "MatMul": 1},
    PREDICT: {"Conv2D": 1, "Conv2DBackpropFilter": 0, "MatMul": 1},
}
PRODUCTS_OF_GRADIENTS = {
    "gradient_tape/small/dense/MatMul/MatMul",
    "gradient_tape/small/dense/MatMul/MatMul_1",
}


def function(python: Callable[..., Any], **options: Any) -> Any:
    return tf.function(python, **options)


class Captured:
    """What was captured, once the block is over."""

    recorded: Recording

    def __init__(self, recorder: FunctionSource) -> None:
        self.recorder = recorder

    @property
    def profile(self) -> Profile:
        (graph,) = self.recorded.graphs
        return profile_of_tables(graph.tables)

    @property
    def warnings(self) -> tuple[str, ...]:
        """All but one: most tests record every step, so that none is left to compare with."""
        return tuple(each for each in self.recorded.warnings if each != COST_UNKNOWN)

    @property
    def runs(self) -> dict[str, KindOfRun]:
        (graph,) = self.recorded.graphs
        return {runs.name: runs for runs in graph.kinds}

    @property
    def seen_and_traced(self) -> dict[str, tuple[int, int]]:
        """How many steps of each name were seen and traced, eager ops aside."""
        return {name: (runs.seen, runs.traced) for name, runs in self.runs.items() if name != EAGER}

    def counts(self, *names: str) -> Counter[str]:
        """How often each type of op was executed in the steps of these names."""
        profile = self.profile
        steps = [place for place, name in enumerate(profile.step_names) if name in names]
        nodes = profile.executions.node[np.isin(profile.executions.step, steps)]
        return Counter(profile.nodes.ops[op] for op in profile.nodes.op[nodes].tolist())

    def nodes(self, *names: str) -> Counter[str]:
        """How often each node was executed in the steps of these names."""
        profile = self.profile
        steps = [place for place, name in enumerate(profile.step_names) if name in names]
        nodes = profile.executions.node[np.isin(profile.executions.step, steps)]
        return Counter(profile.nodes.names[node] for node in nodes.tolist())


@contextmanager
def capturing(
    policy: Policy = EVERYTHING, *, eager_seconds: float = FOR_EVER, look_seconds: float = FOR_EVER, **settings: Any
) -> Iterator[Captured]:
    """Capture the steps of the block; how slow the machine is closes no window, and makes no step shorter than most."""
    limits: dict[str, Any] = {"LOOK_SECONDS": look_seconds, "MOST_SECONDS": FOR_EVER, "FULL_SECONDS": FOR_EVER}
    with (
        patch.multiple(windows, EAGER_SECONDS=eager_seconds, **limits),
        patch.object(tallies, "LOOK_SECONDS", look_seconds),
        patch.object(tallies, "LEAST_COMPARED", FOR_EVER),
    ):
        captured = Captured(FunctionSource(policy, **settings))
        try:
            with hooked_functions(captured.recorder):
                yield captured
        finally:
            captured.recorded = captured.recorder.recorded()


def small_model() -> Any:
    model = keras.Sequential(
        [
            keras.layers.Input((8, 8, 3)),
            keras.layers.Conv2D(4, 3, activation="relu", name="conv"),
            keras.layers.BatchNormalization(name="norm"),
            keras.layers.Flatten(),
            keras.layers.Dense(CLASSES, name="dense"),
        ],
        name="small",
    )
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def fit_evaluate_and_predict() -> Captured:
    """Of the small model: a fit of two epochs of three steps, an evaluation and a prediction of three steps each."""
    model = small_model()
    x, y = data(3)
    with capturing() as captured:
        model.fit(x, y, batch_size=BATCH, epochs=2, verbose=0)
        model.evaluate(x, y, batch_size=BATCH, verbose=0)
        model.predict(x, batch_size=BATCH, verbose=0)
    return captured


def ops_of_a_step(fitted: Captured, name: str) -> dict[str, float]:
    """How many ops of the types in OPS_OF_A_STEP a step after the first one executed."""
    counts = fitted.counts(name)
    return {op: like(counts, op) / STEADY[name] for op in OPS_OF_A_STEP[name]}


def data(batches: int) -> tuple[Any, Any]:
    count = BATCH * batches
    return np.ones([count, 8, 8, 3], np.float32), np.zeros([count], np.int64)


def like(counts: Counter[str], *parts: str) -> int:
    """How many executions are of types that have all these parts: kernels may be fused, or oneDNN's."""
    return sum(number for op, number in counts.items() if all(part in op for part in parts))

"""Random profiles, with batch norms and data formats strewn in: our advice is native tfprof's."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.analysis.advisor.advice import same_advice
from tests.oracle.native import NativeTfprof
from tests.oracle.random_profiles import random_profile

STEP_IDS = ((0,), (0, 1, 2), (7,), (100, 3, 3), (5, 2, 9, 4))

pytestmark = pytest.mark.filterwarnings("ignore::tfprof_widget.ProfileWarning")


@pytest.mark.parametrize("seed", range(1000, 1060))
def test_a_random_profile(native: NativeTfprof, seed: int) -> None:
    rng = Random(seed)
    profile = random_profile(seed, rng.choice(STEP_IDS))
    strew(rng, profile.graph)
    same_advice(native, profile.graph, profile.steps, profile.op_log)


def strew(rng: Random, graph: Any) -> None:
    for node in graph.node:
        if rng.random() < 0.1:
            node.attr["data_format"].s = rng.choice((b"NHWC", b"NCHW"))
        if rng.random() < 0.01:
            node.op = "FusedBatchNorm"
    if rng.random() < 0.5:
        graph.node.add(name="conv/BatchNorm/mul", op="Mul")

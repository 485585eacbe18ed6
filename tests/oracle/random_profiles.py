"""A random profile from a seed: a graph, an op log, and the run metadata of one or more steps."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from tests.oracle.random_graphs import random_graph
from tests.oracle.random_op_logs import random_op_log
from tests.oracle.random_steps import random_run_meta


@dataclass(frozen=True)
class RandomProfile:
    """TensorFlow's messages; the run metadata in the order in which the steps are added."""

    graph: Any
    steps: tuple[tuple[int, Any], ...]
    op_log: Any


def random_profile(seed: int, step_ids: tuple[int, ...] = (0,)) -> RandomProfile:
    """The profile of a seed, the same on every machine.

    >>> random_profile(1) == random_profile(1)
    True
    """
    rng = Random(seed)
    graph = random_graph(rng)
    steps = tuple((step, random_run_meta(rng, graph)) for step in step_ids)
    return RandomProfile(graph, steps, random_op_log(rng, graph))

"""Profiles of sketches with columns that no run would record, for numbers at the edge of what can be counted."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from tests.sketches import profile_of
from tfprof_widget.api.profile import Profile


def ran(steps: int, name: str = "a") -> str:
    """A node that ran in each of these steps."""
    return f"{name} = Op() {';'.join(['1us'] * steps)} | a.py:1:f"


@cache
def _drawn(sketch: str) -> Profile:
    """The profile of a sketch, which takes seconds to make if it has thousands of steps."""
    return profile_of(sketch)


def with_totals(sketch: str, **columns: list[int]) -> Profile:
    """The profile of a sketch with other totals: those of the first node step by step, then the next; 0 after all."""
    profile = _drawn(sketch)
    totals = profile.step_totals
    order = np.lexsort((totals.step, totals.node))
    changed: dict[str, Any] = {}
    for name, values in columns.items():
        changed[name] = np.zeros(len(order), np.int64)
        changed[name][order[: len(values)]] = values
    return replace(profile, step_totals=replace(totals, **changed))


def with_nodes(profile: Profile, **columns: list[int]) -> Profile:
    """The profile with other columns of nodes."""
    changed: dict[str, Any] = {name: np.array(values, np.int64) for name, values in columns.items()}
    return replace(profile, nodes=replace(profile.nodes, **changed))

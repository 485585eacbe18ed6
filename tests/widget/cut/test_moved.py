"""Rows that stand for several nodes move as much as these together, and their work is known if that of all is."""

from __future__ import annotations

import numpy as np

from tfprof_widget.analysis.account.roofline import moved_bytes
from tfprof_widget.demo import demo_profile
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.widget.cut import cut
from tfprof_widget.widget.cut_plan import Limits


def moved_in_all(profile: ProfileData) -> float:
    totals = profile.step_totals
    return float((moved_bytes(profile).of_one_run[totals.node] * totals.run_count).sum())


def test_a_cut_profile_moves_as_much() -> None:
    whole = demo_profile()
    small = cut(whole, Limits(nodes=40, step_totals=25, executions=10, allocations=10)).profile
    assert len(small.nodes) < len(whole.nodes)
    assert abs(moved_in_all(small) - moved_in_all(whole)) <= small.step_totals.run_count.sum()  # by rounding
    assert moved_in_all(whole) > 10**6


def test_executions_that_are_left_out_do_not_change_it() -> None:
    whole = demo_profile()
    small = cut(whole, Limits(nodes=100, step_totals=100, executions=3, allocations=10)).profile
    assert len(small.executions) == 3
    assert np.array_equal(moved_bytes(small).of_one_run, moved_bytes(whole).of_one_run)
    assert np.array_equal(moved_bytes(small).is_known, moved_bytes(whole).is_known)

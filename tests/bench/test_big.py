"""The large profile that is cut has what was asked for."""

from __future__ import annotations

from tests.bench.big import big_profile


def test_the_profile_has_what_was_asked_for() -> None:
    """Of each block's sixteen nodes two variables and a constant never ran."""
    profile = big_profile(nodes=1600, steps=3)
    assert (len(profile.nodes), len(profile.executions)) == (1600, 100 * 13 * 3)
    assert list(profile.nodes.names) == sorted(set(profile.nodes.names))
    assert profile.view("scope", step=2).total["runs"][0] == 1300

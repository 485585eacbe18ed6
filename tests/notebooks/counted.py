"""Counts what a profile holds, in the kernel that captured it."""

from __future__ import annotations

from tfprof_widget.api.profile import Profile

ALL_ROWS = 1_000_000  # for the rows of the op view are one below the other


def counted(profile: Profile, runs: str, measure: str = "runs", view: str = "op") -> dict[str, float]:
    """A measure of each type of op, or of each node, in one of the runs that match, without what has none of it."""
    rows = profile.view(view, run_name_regexes=[runs], max_depth=ALL_ROWS)
    amounts = (rows.own[measure] / rows.unit(measure)).tolist()
    return {name: amount for name, amount in zip(rows.names, amounts, strict=True) if amount}

"""Profiles made of others, or of tables, as the package makes them: by assembling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfprof_widget.api.profile import Profile
from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.xspace.reader import TraceTable
from tfprof_widget.profiles.cell import CellRuns, CellTimes, PythonTime
from tfprof_widget.profiles.data import ProfileTables


def profile_of_tables(tables: ProfileTables) -> Profile:
    """The profile of some tables."""
    return Profile.of(assemble(tables))


def tables_of_traces(*traces: TraceTable) -> ProfileTables:
    """The tables of what traces hold, without graphs of the functions in them."""
    gathered = Gathered()
    gathered.add_functions([], traces)
    return gathered.tables()


def changed(profile: ProfileTables, **tables: Any) -> Profile:
    """The profile with some of its tables changed."""
    return profile_of_tables(profile.having(**tables))


def cell_of(
    seconds: float,
    outside: Sequence[PythonTime] = (),
    between: Sequence[PythonTime] = (),
    *,
    step_seconds: float = 0.0,
    kind: str = "train",
) -> CellTimes:
    """A cell of so many seconds, with a step of this kind that was not traced."""
    nanos = round(1e9 * step_seconds)
    runs = CellRuns.of(kind, [0], [nanos], usual_nanos=nanos)
    parts = {"steps": nanos, "python": round(1e9 * seconds) - nanos}
    return CellTimes.of(parts, outside=tuple(outside), between=tuple(between), runs=(runs,))

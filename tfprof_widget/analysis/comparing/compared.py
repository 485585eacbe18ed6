"""Compares runs of cells before and after a change: a step, the whole cell, its parts, and ops in tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from tfprof_widget.analysis.comparing.aligned import AlignedRows, AlignedRuns, By
from tfprof_widget.analysis.comparing.change import OUTSIDE, TOO_COARSE, Change, Verdict, change
from tfprof_widget.analysis.comparing.statistics import AFTER, BEFORE, Differences, differences, quantile, run_shifts
from tfprof_widget.lib.arrays import NANOS_A_MICRO, Floats
from tfprof_widget.lib.text import fixed, listed
from tfprof_widget.profiles.kept_run import KeptRun

CALLED = 0.05
"""Rows are called different so that of those that are called so many are not."""

ALL_CALLED = 0.01
"""So improbable it must be by chance that all ops together changed, for them to be judged by how they did."""

OTHER_LOAD = 0.2
"""So many cores more that other processes keep busy on one side are a reason for a difference."""

ROUNDED = 10
"""Degrees of freedom are rounded to a tenth, to look few quantiles up."""

Status = Literal["matched", "added", "removed"]


@dataclass(frozen=True, eq=False)
class ComparedTable:
    """Rows with what they took before and after, the largest change of time first.

    Times are of a usual step, in microseconds. A ratio is of after / before. What is not known is NaN. `q` is the
    share of false calls among all rows called different that are at least as sure.
    """

    names: tuple[str, ...]
    before_names: tuple[str, ...]
    before_micros: Floats
    after_micros: Floats
    ratio: Floats
    low: Floats
    high: Floats
    verdicts: tuple[Verdict, ...]
    q: Floats
    matched_by: tuple[str, ...]
    status: tuple[Status, ...]

    def __len__(self) -> int:
        return len(self.names)


class ComparedRuns:
    """Runs before and after a change, with what can be told of it.

    `others` are groups of further runs of the same code, which tell how much runs of it differ.

    >>> from tfprof_widget.analysis.comparing.keeping import kept_run
    >>> from tfprof_widget.demo import demo_profile
    >>> compared = ComparedRuns([kept_run(demo_profile())], [kept_run(demo_profile())])
    >>> compared.step.verdict, set(compared.table("op").verdicts)
    ('cannot tell', {'cannot tell'})
    """

    subject = "a step"
    """What is compared, in sentences."""

    def __init__(
        self, before: Sequence[KeptRun], after: Sequence[KeptRun], others: Sequence[Sequence[KeptRun]] = ()
    ) -> None:
        self.before, self.after, self.others = tuple(before), tuple(after), tuple(map(tuple, others))

    @cached_property
    def fingerprint_differences(self) -> Mapping[str, tuple[str, str]]:
        """What differs in the surroundings, by name: what it was before, and after."""
        names = dict.fromkeys(name for run in (*self.before, *self.after) for name in run.fingerprint)
        found = {name: (_told(self.before, name), _told(self.after, name)) for name in names}
        steps = tuple(listed(sorted({run.step for run in group})) for group in (self.before, self.after))
        found["step"] = steps[0], steps[1]
        return {name: each for name, each in found.items() if each[0] != each[1]}

    @cached_property
    def step(self) -> Change:
        """By how much a step changed, of those that were not traced; of those that were, where all of some run were."""
        groups = (self.before, self.after, *self.others)
        is_untraced = all(len(run.step_seconds) for group in groups[:2] for run in group)
        seconds = [[run.step_seconds if is_untraced else run.traced_seconds for run in group] for group in groups]
        return self._unless_busy(change(seconds[BEFORE], seconds[AFTER], seconds[2:]))

    @cached_property
    def cell(self) -> Change:
        """By how much the wall time of the cell changed."""
        return self._of([[run.cell_seconds for run in group] for group in self._groups])

    @cached_property
    def parts(self) -> Mapping[str, Change]:
        """By how much each part of the cell changed; parts that take no time are left out.

        Of all parts together one is called different, where the code is the same, as seldom as the step is.
        """
        names = dict.fromkeys(name for run in (*self.before, *self.after) for name, took in run.parts.items() if took)
        return {
            name: self._of([[run.parts.get(name, 0.0) for run in group] for group in self._groups], len(names))
            for name in names
        }

    @property
    def _groups(self) -> tuple[tuple[KeptRun, ...], ...]:
        return (self.before, self.after, *self.others)

    def _of(self, seconds: Sequence[Sequence[float]], questions: int = 1) -> Change:
        known = [[[each] for each in group if each > 0] for group in seconds]
        return self._unless_busy(change(known[BEFORE], known[AFTER], known[2:], questions))

    def _unless_busy(self, found: Change) -> Change:
        if self.busier and found.verdict in ("slower", "faster"):
            return found.untold(self.busier)
        return found

    @cached_property
    def busier(self) -> str:
        """That other processes were busier on one side, which may be why runs differ; empty if they were not."""
        loads = [np.array([run.others_cores for run in group]) for group in (self.before, self.after)]
        loads = [each[np.isfinite(each)] for each in loads]
        if not all(len(each) for each in loads):
            return ""
        before, after = (float(each.mean()) for each in loads)
        error = math.sqrt(sum(float(each.var(ddof=1)) / len(each) for each in loads if len(each) > 1))
        if abs(after - before) <= max(OTHER_LOAD, 2 * error):
            return ""
        return f"other processes kept {fixed(before, 1)} cores busy before and {fixed(after, 1)} after"

    @cached_property
    def aligned(self) -> AlignedRuns:
        """The ops of all runs in common rows."""
        return AlignedRuns(self.before, self.after, self.others)

    @cached_property
    def _shifts(self) -> Floats:
        """What is taken off each run's log times: how much slower the run was as a whole, if that is chance.

        If the step changed and so did all ops together, ops are judged as they are: else those that did not change
        would be called different.
        """
        if len(self.aligned.group) == len(np.unique(self.aligned.group)):
            return np.zeros(len(self.aligned.group))  # it is not known what is chance
        shifts = run_shifts(np.log(self.aligned.rows("op").nanos))
        group = self.aligned.group
        together = differences(shifts[None, :], group, np.zeros(len(shifts)))
        sign = {"slower": 1.0, "faster": -1.0}.get(self.step.verdict, 0.0)
        if together.p[0] < ALL_CALLED and together.log_ratio[0] * sign > 0:
            return np.zeros(len(shifts))
        return shifts

    def table(self, by: By) -> ComparedTable:
        """The rows of a table, those first whose time changed most."""
        if by not in self._tables:
            rows = self.aligned.rows(by)
            found = differences(np.log(rows.nanos), self.aligned.group, self._shifts)
            self._tables[by] = self._sorted(rows, found)
        return self._tables[by]

    @cached_property
    def _tables(self) -> dict[By, ComparedTable]:
        return {}

    def _sorted(self, rows: AlignedRows, found: Differences) -> ComparedTable:
        group = self.aligned.group
        micros = [_geometric_mean(rows.nanos[:, group == side]) / NANOS_A_MICRO for side in (BEFORE, AFTER)]
        before, after = micros
        is_matched = np.isfinite(before) & np.isfinite(after)
        freedom = np.maximum(np.round(found.freedom * ROUNDED) / ROUNDED, 1 / ROUNDED)
        reach = _reach(freedom) * found.error
        q = np.where(is_matched & (not self.busier), found.q, np.nan)
        known = [np.nan_to_num(each) for each in micros]
        order = np.lexsort((-np.maximum(*known), -np.abs(known[AFTER] - known[BEFORE])))
        verdicts = [
            _verdict(*each)
            for each in zip(q[order].tolist(), found.log_ratio[order].tolist(), reach[order].tolist(), strict=True)
        ]
        places = order.tolist()
        has = np.isfinite(before), np.isfinite(after)
        status: list[Status] = [
            "matched" if has[0][row] and has[1][row] else "added" if has[1][row] else "removed" for row in places
        ]
        with np.errstate(invalid="ignore"):
            columns = (np.exp(found.log_ratio), np.exp(found.log_ratio - reach), np.exp(found.log_ratio + reach))
        return ComparedTable(
            names=tuple(rows.after_names[row] or rows.before_names[row] for row in places),
            before_names=tuple(rows.before_names[row] for row in places),
            before_micros=before[order],
            after_micros=after[order],
            ratio=columns[0][order],
            low=columns[1][order],
            high=columns[2][order],
            verdicts=tuple(verdicts),
            q=q[order],
            matched_by=tuple(
                (rows.rungs[row] or "") if each == "matched" else "" for row, each in zip(places, status, strict=True)
            ),
            status=tuple(status),
        )


def _verdict(q: float, log_ratio: float, reach: float) -> Verdict:
    if math.isnan(q):
        return "cannot tell"
    if q < CALLED:
        return "slower" if log_ratio > 0 else "faster"
    return "no difference seen" if reach < math.log(TOO_COARSE) else "cannot tell"


def _reach(freedom: Floats) -> Floats:
    """What Student's t stays within in 19 of 20 cases."""
    known, place = np.unique(freedom, return_inverse=True)
    return np.array([quantile(OUTSIDE, each) for each in known.tolist()])[place]


def _geometric_mean(nanos: Floats) -> Floats:
    known = np.isfinite(nanos)
    with np.errstate(invalid="ignore"):
        return np.asarray(
            np.exp(np.where(known, np.log(np.where(known, nanos, 1.0)), 0.0).sum(axis=1) / known.sum(axis=1))
        )


def _told(runs: Sequence[KeptRun], name: str) -> str:
    """What runs say under a name, each answer once."""
    return listed(sorted({run.fingerprint.get(name, "not known") for run in runs}))

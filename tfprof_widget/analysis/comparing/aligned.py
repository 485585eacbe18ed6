"""Brings the ops of several runs into one table: a row for each op, a column for each run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from tfprof_widget.analysis.comparing.matching import Rung, matched
from tfprof_widget.analysis.comparing.op_keys import without_counters
from tfprof_widget.analysis.comparing.statistics import AFTER, BEFORE
from tfprof_widget.lib.arrays import ABSENT, Flags, Floats, Indices
from tfprof_widget.profiles.cell import CodeLine
from tfprof_widget.profiles.kept_run import GraphOps, KeptRun

By = Literal["op", "layers", "scope", "code", "type"]
BY: tuple[By, ...] = ("op", "layers", "scope", "code", "type")
NO_LINE = "no line known"


@dataclass(frozen=True, eq=False)
class AlignedRows:
    """Rows of ops, or of groups of ops, with what each took in a usual step of each run, in nanoseconds.

    `before_names` and `after_names` are what a row is called on either side, empty where it is not; `rungs` says how
    the two were found to be the same.
    """

    before_names: tuple[str, ...]
    after_names: tuple[str, ...]
    rungs: tuple[Rung | None, ...]
    nanos: Floats


class AlignedRuns:
    """The ops of runs before and after a change, and of groups of further runs, in common rows.

    >>> from tfprof_widget.analysis.comparing.keeping import kept_run
    >>> from tfprof_widget.demo import demo_profile
    >>> runs = AlignedRuns([kept_run(demo_profile())], [kept_run(demo_profile())])
    >>> len(runs.rows("op").nanos), runs.rows("layers").after_names[:2]
    (30, ('layer1', 'layer2'))
    """

    def __init__(self, before: Sequence[KeptRun], after: Sequence[KeptRun], others: Sequence[Sequence[KeptRun]] = ()):
        groups = (before, after, *others)
        self.group: Indices = np.repeat(np.arange(len(groups)), [len(each) for each in groups]).astype(np.int32)
        self.runs = tuple(run for group in groups for run in group)
        self._before, self._after = _last_ops(before), _last_ops(after)
        found = matched(self._before, self._after)
        self._rung_of = found.rungs
        self._row_of_before = found.after.copy()
        removed = np.flatnonzero(found.after == ABSENT)
        self._row_of_before[removed] = len(self._after) + np.arange(len(removed))
        self._count = len(self._after) + len(removed)

    @cached_property
    def _nanos(self) -> Floats:
        """What each op took in each run, NaN where it did not run."""
        found = np.full((self._count, len(self.runs)), np.nan)
        known: list[tuple[GraphOps, GraphOps, Indices]] = []
        for column, (run, group) in enumerate(zip(self.runs, self.group.tolist(), strict=True)):
            reference = self._after if group == AFTER else self._before
            rows = _rows_in(reference, run.ops, known)
            rows = rows if group == AFTER else np.append(self._row_of_before, ABSENT)[rows]
            ran = np.isfinite(run.nanos) & (rows != ABSENT)
            found[rows[ran], column] = run.nanos[ran]
        return found

    @cached_property
    def _ran(self) -> Flags:
        of_both = self._nanos[:, np.isin(self.group, (BEFORE, AFTER))]
        return np.asarray(np.isfinite(of_both).any(axis=1))

    @cached_property
    def _before_row(self) -> Indices:
        """The row of each op in the graph before, ABSENT if it was added."""
        found = np.full(self._count, ABSENT, np.int32)
        found[self._row_of_before] = np.arange(len(self._before))
        return found

    def rows(self, by: By) -> AlignedRows:
        """The rows of a table that ran in any of the runs that are compared."""
        if by == "op":
            rows = np.flatnonzero(self._ran).tolist()
            names = self._labels(lambda ops: ops.names)
            return AlignedRows(
                tuple(names[0][row] for row in rows),
                tuple(names[1][row] for row in rows),
                tuple(self._rung(row) for row in rows),
                self._nanos[rows],
            )
        labels = {"layers": _layer_names, "code": _line_names, "type": _type_names, "scope": _scope_names}[by]
        return self._grouped(*self._labels(labels), nested=by == "scope")

    def _rung(self, row: int) -> Rung | None:
        before = int(self._before_row[row])
        return self._rung_of[before] if before != ABSENT else None

    def _labels(self, of: Callable[[GraphOps], Sequence[str]]) -> tuple[list[str], list[str]]:
        """What the op of each row is called before and after; empty where it is not."""
        before, after = [*of(self._before), ""], of(self._after)
        more = [""] * (self._count - len(after))
        return [before[row] for row in self._before_row.tolist()], [*after, *more]

    def _grouped(self, before: list[str], after: list[str], *, nested: bool) -> AlignedRows:
        """The rows with the same label added up; what a label was called before is said by most of its ops."""
        told: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for (own, other), count in Counter(zip(before, after, strict=True)).items():
            if own and other:
                for one, another in zip(_levels(own, nested), _levels(other, nested), strict=False):
                    told[one][another] += count
        renamed = {label: names.most_common(1)[0][0] for label, names in told.items()}
        of_label: defaultdict[str, list[int]] = defaultdict(list)
        for row in np.flatnonzero(self._ran).tolist():
            of_label[after[row] or _under_new_name(before[row], renamed, nested)].append(row)
        places: defaultdict[str, list[int]] = defaultdict(list)
        for label, rows in of_label.items():
            for each in _levels(label, nested):
                places[each] += rows
        old = {new: label for label, new in reversed(renamed.items())}
        summed = [np.nansum(self._nanos[rows], axis=0) for rows in places.values()]
        nanos = np.array(summed).reshape(len(places), len(self.runs))
        sides = [np.nansum(nanos[:, self.group == side], axis=1) > 0 for side in (BEFORE, AFTER)]
        names = [old.get(label, label) for label in places]
        return AlignedRows(
            tuple(name if ran else "" for name, ran in zip(names, sides[BEFORE].tolist(), strict=True)),
            tuple(label if ran else "" for label, ran in zip(places, sides[AFTER].tolist(), strict=True)),
            tuple(_rung_of_names(*pair) for pair in zip(names, places, strict=True)),
            np.where(nanos > 0, nanos, np.nan),
        )


def _last_ops(runs: Sequence[KeptRun]) -> GraphOps:
    """The ops of the last run that has some."""
    return next((run.ops for run in reversed(runs) if len(run.ops)), runs[-1].ops)


def _rows_in(reference: GraphOps, ops: GraphOps, known: list[tuple[GraphOps, GraphOps, Indices]]) -> Indices:
    """The row in the reference of each op of a graph; graphs that were looked at before are not matched again."""
    for one, other, rows in known:
        if one is reference and (other is ops or other.same_as(ops)):
            return rows
    rows = matched(ops, reference).after
    known.append((reference, ops, rows))
    return rows


def _levels(label: str, nested: bool) -> Iterable[str]:
    """The label, and if it is a path all paths above it, the outermost first."""
    if not nested:
        return (label,)
    parts = label.split("/")
    return ["/".join(parts[: level + 1]) for level in range(len(parts))] if label else []


def _under_new_name(label: str, renamed: dict[str, str], nested: bool) -> str:
    """What a label is called after the change; of a path that is gone, what is above it."""
    rest = ""
    while nested and label and label not in renamed:
        label, _, last = label.rpartition("/")
        rest = f"/{last}{rest}"
    return (renamed.get(label, label) + rest).lstrip("/")


def _rung_of_names(before: str, after: str) -> Rung:
    if before == after:
        return "name"
    return "name without counter" if without_counters(before) == without_counters(after) else "signature"


def _type_names(ops: GraphOps) -> list[str]:
    return [ops.types[code] for code in ops.type.tolist()]


def _layer_names(ops: GraphOps) -> list[str]:
    return [ops.layers[code] for code in ops.layer.tolist()]


def _scope_names(ops: GraphOps) -> list[str]:
    return [name.rpartition("/")[0] for name in ops.names]


def _line_names(ops: GraphOps) -> list[str]:
    """The lines by their text, as their numbers change when lines are put in above."""
    names = [*map(_line_name, ops.lines), NO_LINE]  # the last one for ABSENT
    return [names[code] for code in ops.line.tolist()]


def _line_name(line: CodeLine) -> str:
    return f"{line.function}: {line.source}" if line.source else f"{line.place}:{line.function}"

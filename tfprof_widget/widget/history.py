"""Describes the runs of a cell to the browser, and the comparison of two groups of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from functools import cached_property
from itertools import groupby
from typing import Any

from tfprof_widget.analysis.comparing.aligned import BY
from tfprof_widget.analysis.comparing.change import median_interval
from tfprof_widget.analysis.comparing.compared import ComparedRuns
from tfprof_widget.lib.errors import value_error
from tfprof_widget.lib.text import visible
from tfprof_widget.output.compared import change_json, differences_lines, headline_spans, row_json, sentence
from tfprof_widget.profiles.kept_run import KeptRun

MOST_ROWS = 100
MOST_OPS = 5000
"""With more ops the comparison is not made before somebody looks at it."""

Compare = Callable[[Sequence[KeptRun], Sequence[KeptRun]], ComparedRuns]


@dataclass(frozen=True, eq=False)
class ShownHistory:
    """The runs of a cell to show, the oldest first; `compare` compares two groups of them.

    `before` and `after` are the places of the runs that are compared at first, none if there is one run only. `given`
    is their comparison, if it was made before.
    """

    runs: tuple[KeptRun, ...]
    compare: Compare = ComparedRuns
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    given: ComparedRuns | None = None

    @classmethod
    def of(cls, runs: Sequence[KeptRun], compare: Compare = ComparedRuns) -> ShownHistory:
        """The runs of a cell; the last ones of the same code are compared with those of other code before them.

        >>> runs = [KeptRun(source=source) for source in ("f(1)", "f(1)", "f(2)", "f(3)", "f(3)")]
        >>> shown = ShownHistory.of(runs)
        >>> shown.before, shown.after
        ((2,), (3, 4))
        """
        places = [[place for place, _ in group] for _, group in groupby(enumerate(runs), lambda each: each[1].source)]
        if len(places) > 1:
            return cls(tuple(runs), compare, tuple(places[-2]), tuple(places[-1]))
        own = places[0] if places else []
        return cls(tuple(runs), compare, tuple(own[:-1]), tuple(own[-1:]) if len(own) > 1 else ())

    @classmethod
    def of_comparison(cls, compared: ComparedRuns) -> ShownHistory:
        """The runs of a comparison."""
        count = len(compared.before)
        runs = (*compared.before, *compared.after)
        return cls(runs, ComparedRuns, tuple(range(count)), tuple(range(count, len(runs))), compared)

    @cached_property
    def to_browser(self) -> Mapping[str, Any]:
        """What js/src/data/history.ts reads."""
        is_quick = self.given is not None or max((len(run.ops) for run in self.runs), default=0) <= MOST_OPS
        return {
            "runs": [_run(run) for run in self.runs],
            "before": list(self.before),
            "after": list(self.after),
            "comparison": self.described(self.before, self.after) if is_quick and self.before else None,
        }

    def described(self, before: Sequence[int], after: Sequence[int]) -> Mapping[str, Any]:
        """The comparison of runs at some places."""
        places = (*before, *after)
        if not (before and after) or not all(0 <= place < len(self.runs) for place in places):
            raise value_error("history: choose runs on both sides")
        sides = [[self.runs[place] for place in side] for side in (before, after)]
        is_given = self.given is not None and (tuple(before), tuple(after)) == (self.before, self.after)
        compared = self.given if is_given and self.given is not None else self.compare(*sides)
        tables = {by: compared.table(by) for by in BY}
        shown = {by: [row_json(each, row) for row in range(min(len(each), MOST_ROWS))] for by, each in tables.items()}
        return {
            "before": list(before),
            "after": list(after),
            "sentence": [list(span) for span in headline_spans(compared)],
            "notes": differences_lines(compared),
            "step": change_json(compared.step),
            "cell": {**change_json(compared.cell), "text": sentence(compared.cell.text("the whole cell"))},
            "parts": [{"name": name, **change_json(part)} for name, part in compared.parts.items()],
            "tables": shown,
            "rows": {by: len(table) for by, table in tables.items()},
            "diff": _diff(sides[0][-1], sides[1][-1]),
            "rival": sides[0][-1].label,
        }


def _diff(before: KeptRun, after: KeptRun) -> list[str]:
    sources = (before.source.splitlines(), after.source.splitlines())
    return list(unified_diff(*sources, before.title, after.title, lineterm=""))


def _run(run: KeptRun) -> dict[str, Any]:
    seconds = run.step_seconds if len(run.step_seconds) else run.traced_seconds
    median, low, high = median_interval(seconds)
    known = median == median
    return {
        "title": visible(run.title),
        "name": visible(run.name) if run.label else "",
        "taken": f"{run.taken:%Y-%m-%d %H:%M:%S} UTC" if run.taken else "",
        "seconds": median if known else None,
        "low": low if known else None,
        "high": high if known else None,
        "steps": len(seconds),
        "cell": run.cell_seconds if run.cell_seconds == run.cell_seconds else None,
        "version": hash(run.source) & 0xFFFFFFFF,
    }

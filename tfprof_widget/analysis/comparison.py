"""Compares workers row by row."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.engine.evaluate import evaluate
from tfprof_widget.engine.measures import MEASURES, measures_of
from tfprof_widget.engine.steps import by_worker, chosen_steps
from tfprof_widget.engine.sums import Sums
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.errors import value_error
from tfprof_widget.lib.text import short, visible
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import Options, one_of

if TYPE_CHECKING:
    import pandas

RATIOS = ("ratio", "slowest_to_mean")
# Workers with these names come first, and others are compared with them, as in js/src/analysis/devices.ts.
_BASE = re.compile(r"(before|base|baseline|old)\b", re.IGNORECASE | re.ASCII)
_NUMBER = re.compile(r"(\d+)", re.ASCII)


def compare(profile: ProfileData, view: str, measure: str, options: Options) -> pandas.DataFrame:
    """The rows of the view with a column for each worker, the largest difference first.

    Workers are sorted by name. One called before, base or old comes first, and the others are compared with it.

    >>> from tfprof_widget.demo import demo_profile
    >>> from tfprof_widget.ingest.merging.merge import merge
    >>> twice = merge({"a": demo_profile(), "b": demo_profile()})
    >>> compare(twice, "op", "micros", Options.of()).difference.abs().max().item()
    0.0
    """
    import pandas

    one_of("measure", measure, MEASURES)
    shown = evaluate(profile, view, options)
    costs = {worker: _costs(shown, steps, measure) for worker, steps in _workers(profile, options).items()}
    workers = list(costs)
    table = pandas.DataFrame({"name": list(shown.names), **costs})
    lowest, highest = table[workers].min(axis=1), table[workers].max(axis=1)
    if len(workers) == 2:
        first, second = (table[worker] for worker in workers)
        table["difference"], table["ratio"] = second - first, second / first.where(first != 0)
    else:
        mean = table[workers].mean(axis=1)
        table["mean"], table["slowest_to_mean"] = mean, highest / mean.where(mean != 0)
    order = np.argsort(-(highest - lowest).to_numpy(), kind="stable")
    return table.iloc[order].reset_index(drop=True)


def _workers(profile: ProfileData, options: Options) -> dict[str, tuple[int, ...]]:
    """The steps of each worker that the options choose, in the order of the columns."""
    groups = by_worker(profile, chosen_steps(profile, options)) if profile.step_workers else []
    found = {profile.step_workers[steps[0]]: steps for steps in groups}
    if len(found) == 1 and len(set(profile.step_workers)) > 1:
        raise value_error(f"compare: step and regexes leave one worker only, {next(iter(found))!r}; loosen them")
    if len(found) < 2 and not profile.steps:
        raise value_error(
            "compare: nothing ran in these profiles, and workers are told apart by their runs; "
            "compare the views of the profiles instead"
        )
    if len(found) < 2:
        raise value_error(
            "compare: there are no two workers to compare; merge profiles by name first, "
            "as in tfprof_widget.merge({'before': one, 'after': other}).compare(), "
            "or at the command line: tfprof compare before=FILE after=FILE"
        )
    if taken := sorted({"name", "difference", "mean", *RATIOS} & set(found)):
        raise value_error(f"compare: a worker is called {taken[0]!r}, as a column is; give it another name to merge")
    return {worker: found[worker] for worker in sorted(found, key=worker_order)}


def worker_order(worker: str) -> tuple[bool, list[str | int]]:
    """The sort key of a worker: the one that others are compared with first, then by name, with 2 before 10.

    >>> sorted(["worker 10", "worker 2", "before", "after"], key=worker_order)
    ['before', 'after', 'worker 2', 'worker 10']
    """
    # Text and numbers alternate, so that a number is compared with a number.
    parts = [int(part) if place % 2 else part for place, part in enumerate(_NUMBER.split(worker))]
    return _BASE.match(worker) is None, parts


def comparison_text(table: pandas.DataFrame, measure: str) -> str:
    """The table as text, each cost with its unit; invisible characters in names are written as escapes.

    >>> import pandas
    >>> print(comparison_text(pandas.DataFrame({"name": ["Add"], "a": [1.5], "ratio": [2.0]}), "micros"))
    name        a  ratio
    Add   1.50 µs   2.00
    """
    columns = [[visible(str(name)), *_cells(table[name], name, measure)] for name in table]
    widths = [max(map(len, column)) for column in columns]
    lines = zip(*columns, strict=True)
    return "\n".join(
        "  ".join(cell.rjust(width) if index else cell.ljust(width) for index, (cell, width) in enumerate(row)).rstrip()
        for row in (zip(line, widths, strict=True) for line in lines)
    )


def _cells(column: Any, name: Any, measure: str) -> list[str]:
    if name == "name":
        return [visible(str(each)) for each in column]
    if name in RATIOS:
        return ["-" if math.isnan(each) else f"{each:.2f}" for each in column.tolist()]
    return [short(measure, each) for each in column.tolist()]


def _costs(shown: ViewData, steps: tuple[int, ...], measure: str) -> Any:
    """The cost of each row in the steps of one worker: the total with all rows below; in op view the row's own cost."""
    found = measures_of(shown.profile, steps, exact=shown.options.timing == "exact")
    sums = Sums(shown.forest, found)
    column = sums.own(measure) if shown.view == "op" else sums.total(measure)
    return column[shown.places] / found.unit(measure)

"""Writes comparisons of runs as text, Markdown, HTML, DataFrames and JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from tfprof_widget.analysis.comparing.aligned import By
from tfprof_widget.analysis.comparing.change import TIMES, Change
from tfprof_widget.analysis.comparing.compared import ComparedRuns, ComparedTable
from tfprof_widget.lib.text import fixed, visible, written_seconds
from tfprof_widget.profiles.kept_run import KeptRun

if TYPE_CHECKING:
    import pandas

MOST_ROWS = 10
COLUMNS = ("before", "after", "ratio", "verdict", "matched by")
MICRO = 1e-6


def comparison_frame(table: ComparedTable) -> pandas.DataFrame:
    """The rows of a table as a DataFrame; `before_name` is what a row was called before.

    >>> from tfprof_widget.analysis.comparing.keeping import kept_run
    >>> from tfprof_widget.demo import demo_profile
    >>> compared = ComparedRuns([kept_run(demo_profile())], [kept_run(demo_profile())])
    >>> comparison_frame(compared.table("type")).ratio.tolist()[:2]
    [1.0, 1.0]
    """
    import pandas

    return pandas.DataFrame(
        {
            "name": list(table.names),
            "before_micros": table.before_micros,
            "after_micros": table.after_micros,
            "ratio": table.ratio,
            "low": table.low,
            "high": table.high,
            "verdict": list(table.verdicts),
            "q": table.q,
            "matched_by": list(table.matched_by),
            "status": list(table.status),
            "before_name": list(table.before_names),
        }
    )


Span = tuple[str, bool]
"""A piece of a sentence, and whether it is to stand out."""


def headline(compared: ComparedRuns) -> str:
    """What became of a step, from which runs to which, and of the ops.

    >>> from tfprof_widget.analysis.comparing.keeping import kept_run
    >>> from tfprof_widget.demo import demo_profile
    >>> headline(ComparedRuns([kept_run(demo_profile())], [kept_run(demo_profile())]))[-29:]
    ' Of 30 ops it cannot be told.'
    """
    return "".join(text for text, _ in headline_spans(compared))


def headline_spans(compared: ComparedRuns) -> list[Span]:
    """The same in pieces."""
    sides = [("From ", False), (titles(compared.before), True), (" to ", False), (titles(compared.after), True)]
    return [*sides, (" ", False), *compared.step.spans(compared.subject), (f". {_counted_ops(compared)}", False)]


def titles(runs: tuple[KeptRun, ...]) -> str:
    """What a group of runs is called.

    >>> titles((KeptRun(label="In[4]"), KeptRun(label="In[5]")))
    'In[4] and In[5]'
    >>> titles(tuple(KeptRun(label=f"In[{number}]") for number in (4, 5, 9)))
    'In[4] … In[9]'
    """
    found = list(dict.fromkeys(visible(run.title) for run in runs))
    if len(found) > 2:
        return f"{found[0]} … {found[-1]}"
    return " and ".join(found)


def _counted_ops(compared: ComparedRuns) -> str:
    table = compared.table("op")
    if not len(table):
        return "No op ran in a traced step."
    found = Counter(zip(table.status, table.verdicts, strict=True))
    parts = [
        *((found["matched", verdict], verdict) for verdict in ("slower", "faster")),
        *((table.status.count(status), word) for status, word in (("added", "new"), ("removed", "gone"))),
    ]
    changed = [_ops(count, word, place) for place, (count, word) in enumerate(each for each in parts if each[0])]
    if found["matched", "no difference seen"]:
        changed.append(f"in {_count(found['matched', 'no difference seen'])} no difference is seen")
    if found["matched", "cannot tell"]:
        changed.append(f"of {_count(found['matched', 'cannot tell'])} it cannot be told")
    return sentence(", ".join(changed))


def sentence(text: str) -> str:
    """A text with a capital letter and a full stop.

    >>> sentence("it cannot be told")
    'It cannot be told.'
    """
    return f"{text[0].upper()}{text[1:]}."


def _ops(count: int, word: str, place: int) -> str:
    counted = f"{count:,}" if place else _count(count)
    return f"{counted} {'is' if count == 1 else 'are'} {word}"


def _count(number: int) -> str:
    return f"{number:,} op{'s' * (number != 1)}"


def differences_lines(compared: ComparedRuns) -> list[str]:
    """What differs in the surroundings, a line each."""
    found = [
        f"note: {name} differs: {visible(before)} before, {visible(after)} after"
        for name, (before, after) in compared.fingerprint_differences.items()
    ]
    return [*found, *([f"note: {compared.busier}"] if compared.busier else [])]


def comparison_text(compared: ComparedRuns, by: By = "op") -> str:
    """The comparison as text: what differs in the surroundings, the step, the cell, its parts, and the first rows."""
    table = compared.table(by)
    rows = [[by, *COLUMNS], *(_cells(table, row) for row in range(min(len(table), MOST_ROWS)))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if 0 < place < 3 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    rest = [f"... {len(table) - MOST_ROWS:,} more rows: see .to_dataframe({by!r})"] if len(table) > MOST_ROWS else []
    told = [*differences_lines(compared), headline(compared), *_of_cell(compared)]
    return "\n".join([*told, *(lines if len(table) else []), *rest])


def _of_cell(compared: ComparedRuns) -> Iterator[str]:
    if not math.isnan(compared.cell.ratio):
        yield sentence(compared.cell.text("the whole cell"))
    changed = [(name, part) for name, part in compared.parts.items() if part.verdict in ("slower", "faster")]
    for name, part in changed:
        yield f"  {part.text(f'its part {name}')}"


def comparison_markdown(compared: ComparedRuns, by: By = "op") -> str:
    """The same as Markdown, as for the page of a pull request."""
    table = compared.table(by)
    head = [by, *COLUMNS]
    rows = [_cells(table, row) for row in range(min(len(table), MOST_ROWS))]
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in [head, *rows]]
    lines.insert(1, f"|{' --- |' * len(head)}")
    told = [*differences_lines(compared), headline(compared), *(each.strip() for each in _of_cell(compared))]
    return "\n\n".join([*told, "\n".join(lines)]) + "\n"


def comparison_html(compared: ComparedRuns, by: By = "op") -> str:
    """The same as HTML, without scripts."""
    table = compared.table(by)
    told = [*differences_lines(compared), headline(compared), *(each.strip() for each in _of_cell(compared))]
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in (by, *COLUMNS))
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in _cells(table, row))}</tr>"
        for row in range(min(len(table), MOST_ROWS))
    )
    paragraphs = "".join(f"<p>{escape(each)}</p>" for each in told)
    return (
        f'<div class="tfprof-comparison" translate="no">{paragraphs}'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cells(table: ComparedTable, row: int) -> list[str]:
    before, after = (float(column[row]) for column in (table.before_micros, table.after_micros))
    status = table.status[row]
    return [
        renamed(table, row),
        "-" if math.isnan(before) else written_seconds(before * MICRO),
        "-" if math.isnan(after) else written_seconds(after * MICRO),
        _ratio(*(float(column[row]) for column in (table.ratio, table.low, table.high))),
        {"added": "new", "removed": "gone"}.get(status) or table.verdicts[row],
        table.matched_by[row] or status,
    ]


def renamed(table: ComparedTable, row: int) -> str:
    """The name of a row, and if it had another one before, both."""
    before, name = visible(table.before_names[row]), visible(table.names[row])
    return name if before in ("", name) else f"{before} → {name}"


def _ratio(ratio: float, low: float, high: float) -> str:
    if math.isnan(ratio):
        return "-"
    if math.isnan(low):
        return f"{fixed(ratio, 2)} {TIMES}"
    return f"{fixed(low, 2)} to {fixed(high, 2)} {TIMES}"


def comparison_json(compared: ComparedRuns) -> dict[str, Any]:
    """The comparison as values for JSON: numbers that are not known are null."""
    table = compared.table("op")
    called = [row for row, verdict in enumerate(table.verdicts) if verdict in ("slower", "faster")]
    shown = [*called, *(row for row in range(len(table)) if row not in set(called))][: 10 * MOST_ROWS]
    return {
        "version": 1,
        "before": [run.title for run in compared.before],
        "after": [run.title for run in compared.after],
        "fingerprint_differences": {name: list(each) for name, each in compared.fingerprint_differences.items()},
        "text": headline(compared),
        "step": change_json(compared.step),
        "cell": change_json(compared.cell),
        "parts": {name: change_json(part) for name, part in compared.parts.items()},
        "ops": [row_json(table, row) for row in shown],
        "ops_left_out": len(table) - len(shown),
    }


def row_json(table: ComparedTable, row: int) -> dict[str, Any]:
    """A row of a table as values for JSON."""
    return {
        "name": table.names[row],
        "before_name": table.before_names[row],
        "before_micros": _known(table.before_micros[row]),
        "after_micros": _known(table.after_micros[row]),
        "ratio": _known(table.ratio[row]),
        "low": _known(table.low[row]),
        "high": _known(table.high[row]),
        "verdict": table.verdicts[row],
        "q": _known(table.q[row]),
        "matched_by": table.matched_by[row],
        "status": table.status[row],
    }


def change_json(found: Change) -> dict[str, Any]:
    """A change as values for JSON."""
    return {
        "verdict": found.verdict,
        **{name: _known(getattr(found, name)) for name in ("ratio", "low", "high", "smallest")},
        "before_seconds": _known(found.before_seconds),
        "after_seconds": _known(found.after_seconds),
        "runs": list(found.runs),
        "reason": found.reason,
    }


def _known(number: Any) -> float | None:
    value = float(number)
    return value if math.isfinite(value) else None

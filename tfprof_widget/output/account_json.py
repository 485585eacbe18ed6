"""Writes where the time went as JSON, for scripts and assistants: the answer first, and no longer than asked for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tfprof_widget.analysis.account.budget import TimeBudget, time_budget
from tfprof_widget.analysis.account.memory import held_memory
from tfprof_widget.analysis.account.pipeline import pipeline_stages
from tfprof_widget.analysis.account.python import line_times
from tfprof_widget.analysis.advisor.finding import Finding
from tfprof_widget.analysis.advisor.runner import advice_on
from tfprof_widget.analysis.steady import SteadySteps
from tfprof_widget.engine.evaluate import evaluate
from tfprof_widget.engine.view import ViewData
from tfprof_widget.lib.errors import shortened, value_error
from tfprof_widget.output.tabular import layer_types
from tfprof_widget.profiles.cell import CellTimes, CodeLine
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import MISSING_STREAMS, device_label
from tfprof_widget.profiles.options import PASSES, Options

SCHEMA = "tfprof_widget.account"
VERSION = 1
"""A reader of this version can read all that is written with it: names may be added, none changes its meaning."""

LIMIT_BYTES = 64_000

DIGITS = 9
"""The digits after the point: seconds are told to the nanosecond."""

_LEFT_OUT_BYTES = 400
"""So much room is kept to say of each list how many rows were left out."""

Rows = list[dict[str, Any]]


def account_json(profile: ProfileData, limit_bytes: int = LIMIT_BYTES, notes: Sequence[str] = ()) -> str:
    """The account of a profile as JSON text in ASCII; `notes` are told beside what is missing in the profile.

    Where it would take more bytes than the limit, the longest list loses its last rows, which matter least, again and
    again; `cut` says how many rows each list lost.

    >>> from tfprof_widget.demo import demo_profile
    >>> found = json.loads(account_json(demo_profile(), limit_bytes=4_000))
    >>> list(found)[:5], found["ops"][0]["op"], found["cut"]["ops"] > 0
    (['schema', 'version', 'budget', 'steps', 'layers'], 'MatMul', True)
    """
    budget = time_budget(profile)
    facts = {
        "schema": SCHEMA,
        "version": VERSION,
        "budget": {
            "cell_seconds": budget.cell_seconds,
            "cell": dict(budget.cell),
            "step_seconds": budget.step_seconds,
            "step": dict(budget.step),
        },
        "steps": _steps(profile),
    }
    lists = {
        "layers": list(_layers(profile)),
        "python_lines": list(_python_lines(profile.cell)),
        "phases": list(_phases(profile.cell)),
        "input_pipeline": list(_pipeline(profile)),
        "ops": list(_ops(profile)),
        "advice": list(_advice(profile)),
        "memory": list(_memory(profile)),
        "kinds": _costliest_first([{"kind": kind, "seconds": each} for kind, each in budget.kinds.items()]),
        "tasks": list(_tasks(budget)),
        "notes": [{"note": note} for note in (*budget.notes, *notes, *_missing(profile))],
    }
    return _written(facts, lists, limit_bytes)


def _steps(profile: ProfileData) -> dict[str, Any]:
    """How many runs of the busiest kind there were, and how long they took."""
    runs = profile.cell.runs_of(profile.main_kind) if profile.cell is not None else None
    if runs is None or not len(runs):
        return {"kind": profile.main_kind, "count": 0, "recorded": len(profile.steps)}
    later = runs.nanos[~runs.is_first]
    return {
        "kind": runs.kind,
        "count": len(runs),
        "recorded": int(runs.is_traced.sum()),
        "first_seconds": int(runs.nanos[0]) / 1e9,
        "median_seconds": float(np.median(later)) / 1e9 if len(later) else None,
        "slowest_seconds": int(later.max()) / 1e9 if len(later) else None,
    }


def _steady_view(profile: ProfileData, view: str) -> ViewData:
    return evaluate(profile, view, Options.of(order_by="micros", max_depth=1_000, **SteadySteps.of(profile).options))


def _seconds(view: ViewData, measure: str, row: int) -> float:
    return int(view.own[measure][row]) / view.unit(measure) / 1e6


def _layers(profile: ProfileData) -> Iterator[dict[str, Any]]:
    """What each layer takes in a step itself, without the layers within it; the costliest first."""
    view = _steady_view(profile, "layers")
    micros, types = view.own["micros"], layer_types(view)
    parameters, float_ops = view.own["params"], view.own["float_ops"]
    whole = max(int(micros.sum()), 1)
    for row in np.argsort(-micros, kind="stable").tolist():
        if micros[row] or parameters[row] or float_ops[row]:
            yield {
                "layer": "/".join(_path(view, row)),
                "type": types[row],
                "seconds": _seconds(view, "micros", row),
                **{each.removesuffix("_micros"): _seconds(view, each, row) for each in PASSES},
                "share": int(micros[row]) / whole,
                "parameters": int(parameters[row]) // view.unit("params"),
                "float_ops": int(float_ops[row]) // view.unit("float_ops"),
            }


def _path(view: ViewData, row: int) -> list[str]:
    """The names of the layers in which a row is, and its own."""
    found = []
    while row > 0:
        found.append(view.names[row])
        row = int(view.parent[row])
    return found[::-1]


def _python_lines(cell: CellTimes | None) -> Iterator[dict[str, Any]]:
    for each in line_times(cell.looks) if cell is not None else ():
        yield {
            **_place(each.line),
            "function": each.line.function,
            "source": each.line.source,
            "seconds": each.nanos / 1e9,
            "share": _share(each.nanos, cell),
            "samples": each.looks,
        }


def _share(nanos: int, cell: CellTimes | None) -> float:
    return nanos / max(cell.nanos, 1) if cell is not None else 0.0


def _place(line: CodeLine | None) -> dict[str, Any]:
    return {"file": line.file, "line": line.line} if line is not None else {"file": "", "line": 0}


def _phases(cell: CellTimes | None) -> Iterator[dict[str, Any]]:
    for each in sorted(cell.phases, key=lambda phase: -phase.nanos) if cell is not None else ():
        took = {"seconds": each.nanos / 1e9, "share": _share(each.nanos, cell), "times": each.times}
        yield {"phase": each.name, **took, **_place(each.line)}


def _pipeline(profile: ProfileData) -> Iterator[dict[str, Any]]:
    for each in pipeline_stages(profile):
        yield {
            "stage": each.stage,
            **_place(each.line),
            "seconds": each.seconds,
            "elements": each.elements,
            "parallelism": each.settings.parallelism,
            "used": each.used,
            "share": each.share,
            "bottleneck": each.is_bottleneck,
        }


def _ops(profile: ProfileData) -> Iterator[dict[str, Any]]:
    """What the ops of each type take in a step; the costliest first."""
    view = _steady_view(profile, "op")
    whole = max(int(view.own["micros"].sum()), 1)
    for row in np.argsort(-view.own["micros"], kind="stable").tolist():
        if view.own["micros"][row]:
            yield {
                "op": view.names[row],
                "seconds": _seconds(view, "micros", row),
                "share": int(view.own["micros"][row]) / whole,
                "runs": int(view.own["runs"][row]) / view.unit("runs"),
                "float_ops": int(view.own["float_ops"][row]) // view.unit("float_ops"),
            }


def _advice(profile: ProfileData) -> Rows:
    """What checkers found, those with a cause and a fix first."""
    found: Rows = []
    for checker, reports in advice_on(profile).reports.items():
        for each in reports:
            if isinstance(each, Finding):
                shown = {"see": str(each.evidence), "rows": list(each.evidence.selection)}
                patch = str(each.patch) if each.patch is not None else ""
                found.append({"checker": checker, "cause": each.cause, "fix": each.fix, "patch": patch, **shown})
            else:
                found.append({"checker": checker, "cause": each, "fix": "", "patch": "", "see": "", "rows": []})
    return sorted(found, key=lambda row: not row["fix"])


def _memory(profile: ProfileData) -> Iterator[dict[str, Any]]:
    held = Counter[tuple[str, str, bool]]()
    for each in held_memory(profile):
        held[device_label(each.device), each.kind, each.is_lower_bound] += each.bytes
    for (device, kind, is_lower_bound), size in held.most_common():
        yield {"device": device, "kind": kind, "bytes": size, "lower_bound": is_lower_bound}


def _tasks(budget: TimeBudget) -> Iterator[dict[str, Any]]:
    for task, each in budget.tasks.items():
        cell = {"cell_seconds": each.cell_seconds, "cell": dict(each.cell)}
        yield {"task": task, **cell, "step_seconds": each.step_seconds, "step": dict(each.step)}


def _missing(profile: ProfileData) -> Iterator[str]:
    """What a reader would look for in vain, and why."""
    if profile.cell is None:
        yield "no cell was captured: what surrounds the steps is not known"
    if not len(profile.executions):
        yield "no ops were recorded"
    if profile.misses_accelerator_stream:
        yield MISSING_STREAMS
    if profile.memory_in_part:
        yield "of memory, large tensors only were recorded, so that what ops hold is a lower bound"


def _costliest_first(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: -row["seconds"])


def _written(facts: Mapping[str, Any], lists: Mapping[str, Rows], limit_bytes: int) -> str:
    """The text, a row of a list a line; while it is too long, the longest list loses its last row."""
    head = [f"{_quoted(name)}: {_quoted(value)}" for name, value in facts.items()]
    rows = {name: [_quoted(row) for row in found] for name, found in lists.items()}
    left = {name: sum(len(row) + 2 for row in found) for name, found in rows.items()}
    fixed = sum(len(line) + 2 for line in head) + sum(len(name) + 10 for name in rows) + _LEFT_OUT_BYTES
    if fixed > limit_bytes:
        raise value_error(f"limit_bytes is {limit_bytes:,}, but the budget alone takes {fixed:,} bytes")
    while fixed + sum(left.values()) > limit_bytes:
        longest = max(left, key=lambda name: left[name])
        left[longest] -= len(rows[longest].pop()) + 2
    cut = {name: len(found) - len(rows[name]) for name, found in lists.items() if len(found) > len(rows[name])}
    told = [f"{_quoted(name)}: {_list(found)}" for name, found in rows.items()]
    return "{\n" + ",\n".join([*head, *told, f'"cut": {_quoted(cut)}']) + "\n}\n"


def _list(rows: Sequence[str]) -> str:
    return "\n".join(["[", ",\n".join(rows), "]"]) if rows else "[]"


def _quoted(value: Any) -> str:
    return json.dumps(_plain(value), allow_nan=False)


def _plain(value: Any) -> Any:
    """The value with rounded numbers, and long texts shortened; JSON has no number that is none."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, float):
        return round(value, DIGITS) if np.isfinite(value) else None
    return value

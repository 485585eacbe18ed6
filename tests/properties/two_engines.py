"""Puts one set of questions to both engines: Python's in this process, the browser's in Node."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from typing import Any

from hypothesis import settings

from tfprof_widget.api.profile import Profile
from tfprof_widget.api.view import View
from tfprof_widget.charts.costs import Costs, cost_rows
from tfprof_widget.engine.measures import MEASURES
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.output.tabular import layer_types
from tfprof_widget.output.text import blamed, hiding, left_out
from tfprof_widget.profiles.options import METRICS, PASSES
from tfprof_widget.widget.wire import encoded

TYPESCRIPT = Path(__file__).with_name("typescript_answers.mjs")


@dataclass(frozen=True)
class Question:
    """A view of a profile under some options, and the chart of its costs by each metric."""

    profile: Profile
    view: str
    options: dict[str, Any]
    with_costs: bool = False


def new_seed() -> int:
    """The same one where hypothesis takes the same examples in every run, else a new one."""
    return 0 if settings().derandomize else SystemRandom().randrange(2**32)


def answers_in_typescript(directory: Path, questions: Sequence[Question]) -> list[dict[str, Any]]:
    """The browser's answers; `directory` holds what is exchanged with Node."""
    profiles = list({id(question.profile): question.profile for question in questions}.values())
    files = {id(profile): f"columns-{number}" for number, profile in enumerate(profiles)}
    for profile in profiles:
        (directory / files[id(profile)]).write_bytes(encoded(profile))
    lines = [
        json.dumps(
            {
                "columns": files[id(question.profile)],
                "view": question.view,
                "options": question.options,
                "metrics": METRICS if question.with_costs else (),
            }
        )
        for question in questions
    ]
    (directory / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    subprocess.run(["node", TYPESCRIPT, directory], check=True, timeout=240)
    answers = (directory / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(answers) == len(questions)
    return [_read(answer) for answer in answers]


def _read(answer: str) -> dict[str, Any]:
    """An answer, whose whole doubles JSON does not tell from integers."""
    found: dict[str, Any] = json.loads(answer)
    for row in (row for rows in found.get("costs", {}).values() for row in rows):
        row.update({name: float(row[name]) for name in ("total", "value")})
    return found


def answer_in_python(question: Question) -> dict[str, Any]:
    """Our answer, in the same form."""
    try:
        view = question.profile.view(question.view, **question.options)
        metrics = METRICS if question.with_costs else ()
        return _described(view) | {"costs": {metric: cost_rows(Costs.of(view), metric) for metric in metrics}}
    except (ProfileError, ValueError) as error:
        return {"refused": str(error)}


def _described(view: View) -> dict[str, Any]:
    return {
        "names": list(view.names),
        "parent": view.parent.tolist(),
        "depth": view.depth.tolist(),
        "accounted": view.accounted.tolist(),
        "members": [view.members_of(row).tolist() for row in range(len(view))],
        "blamed": None if len(view) > (view.view != "op") else list(blamed(view)),
        "left_out": {measure: list(left_out(view, measure)) for measure in MEASURES},
        "hiding": hiding(view),
        "definitions": view.total["definitions"].tolist(),
        "hidden": view.total["hidden"].tolist(),
        "own": {measure: view.own[measure].tolist() for measure in MEASURES},
        "total": {measure: view.total[measure].tolist() for measure in MEASURES},
        "grand_total": {measure: int(view.grand_total[measure][0]) for measure in MEASURES},
        "unit": {measure: view.unit(measure) for measure in MEASURES},
        "passes": {name: view.own[name].tolist() for name in PASSES if view.view == "layers"},
        "types": layer_types(view) if view.view == "layers" else [],
    }


def in_units_of(answer: dict[str, Any], units: dict[str, int]) -> dict[str, Any]:
    """An answer with its values in other units, into which they go without a rest."""
    found = dict(answer, unit=units)
    for kind in ("own", "total", "grand_total", "left_out"):
        found[kind] = {
            measure: _converted(answer[kind][measure], answer["unit"][measure], units[measure]) for measure in MEASURES
        }
    found["passes"] = {
        name: _converted(values, answer["unit"]["micros"], units["micros"]) for name, values in answer["passes"].items()
    }
    return found


def _converted(values: Any, unit: int, other: int) -> Any:
    if isinstance(values, list):
        return [_converted(value, unit, other) for value in values]
    whole, rest = divmod(values * other, unit)
    assert rest == 0
    return whole

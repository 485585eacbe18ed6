"""The timeline of a view as the content of one file, or, where the name has `{step}`, of one a step."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace

from tfprof_widget.engine.evaluate import evaluate
from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.engine.view import View
from tfprof_widget.errors import ProfileWarning
from tfprof_widget.output.timeline.graph_timeline import graph_events
from tfprof_widget.output.timeline.trace_events import whole_trace
from tfprof_widget.output.timeline.tree_timeline import tree_events

STEP = "{step}"
EVENTS: dict[str, Callable[[View], Iterator[str]]] = {"graph": graph_events, "scope": tree_events, "code": tree_events}


def timeline_files(view: View, path: str) -> Iterator[tuple[str, bytearray]]:
    """The files of a view's timeline: exactly `path`, or one a step that is looked at, its id for `{step}`.

    >>> from tfprof_widget.demo import demo_profile
    >>> view = demo_profile().view("graph")
    >>> [name for path in ("run.json", "{step}.json") for name, _ in timeline_files(view, path)]
    ['run.json', '0.json']
    """
    profile = view.profile
    steps = chosen_steps(profile, view.options)
    if STEP not in path or not steps:
        yield path, _timeline(view)
        return
    for step in dict.fromkeys(profile.steps[index] for index in steps):
        yield path.replace(STEP, str(step)), _timeline(evaluate(profile, view.view, replace(view.options, step=step)))


def _timeline(view: View) -> bytearray:
    about = {"view": f"{view.view} view"}
    if view.view == "graph":
        about["steps"] = "The steps follow one another with a gap between them; how far apart they ran is not recorded."
    content = whole_trace(EVENTS[view.view](view), about)
    if b'"ph":"X"' not in content:
        warnings.warn(f"timeline: there is nothing in it: {_reason(view)}", ProfileWarning, stacklevel=2)
    return content


def _reason(view: View) -> str:
    if not (view.profile.executions.start_micros > 0).any():
        return "no run was recorded; give a run_meta of a run with RunOptions.FULL_TRACE"
    return "none of the shown nodes ran in the chosen step; loosen the filters or choose another step"

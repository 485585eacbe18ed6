"""Writes what explains a cell as tables: lines of Python, phases of Keras' loops, and steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfprof_widget.analysis.account.memory import held_memory
from tfprof_widget.analysis.account.pipeline import pipeline_stages
from tfprof_widget.analysis.account.python import line_times
from tfprof_widget.analysis.account.step import recorded_steps
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.cell import STEP_PARTS, CellTimes
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import device_label

if TYPE_CHECKING:
    import pandas

NO_CELL = "no cell was captured: only %%tfprof and tfprof_widget.capture() see what surrounds the steps"


def cell_of(profile: ProfileData) -> CellTimes:
    """The times of the captured cell, or an error that says where they come from.

    >>> from tfprof_widget.demo import demo_profile
    >>> cell_of(demo_profile())
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: no cell was captured: only %%tfprof and tfprof_widget.capture() see ...
    """
    if profile.cell is None:
        raise ProfileError(NO_CELL)
    return profile.cell


def python_frame(profile: ProfileData) -> pandas.DataFrame:
    """The user's lines in which Python was while no step ran, the costliest first."""
    import pandas

    cell = cell_of(profile)
    rows = [
        (each.line.file, each.line.line, each.line.function, each.line.source, each.nanos / 1e9, each.looks)
        for each in line_times(cell.looks)
    ]
    frame = pandas.DataFrame(rows, columns=["file", "line", "function", "source", "seconds", "samples"])
    frame.insert(5, "share", frame["seconds"] / max(cell.seconds, 1e-9))
    return frame


def phases_frame(profile: ProfileData) -> pandas.DataFrame:
    """The phases of Keras' loops."""
    import pandas

    cell = cell_of(profile)
    rows = [
        (each.name, each.nanos / 1e9, each.nanos / max(cell.nanos, 1), each.times, each.line.place if each.line else "")
        for each in cell.phases
    ]
    return pandas.DataFrame(rows, columns=["phase", "seconds", "share", "times", "line"])


def pipeline_frame(profile: ProfileData) -> pandas.DataFrame:
    """The stages of the input pipeline.

    >>> from tfprof_widget.demo import demo_profile
    >>> pipeline_frame(demo_profile()).columns.tolist()[:5]
    ['stage', 'line', 'seconds', 'elements', 'parallelism']
    """
    import pandas

    rows = [
        (
            each.stage,
            each.line.place if each.line is not None else "",
            each.seconds,
            each.elements,
            each.settings.parallelism,
            each.used,
            each.settings.buffer,
            each.settings.filled / each.settings.buffer if each.settings.buffer else float("nan"),
            each.settings.is_tuned,
            each.share,
            each.is_bottleneck,
        )
        for each in pipeline_stages(profile)
    ]
    names = ["stage", "line", "seconds", "elements", "parallelism", "used", "buffer", "filled", "tuned"]
    return pandas.DataFrame(rows, columns=[*names, "share", "bottleneck"])


def memory_frame(profile: ProfileData) -> pandas.DataFrame:
    """What memory is held for at the peak of each device.

    >>> from tfprof_widget.demo import demo_profile
    >>> memory_frame(demo_profile())["kind"].unique().tolist()[:3]
    ['weights', 'gradients', 'activations']
    """
    import pandas

    held = held_memory(profile)
    whole = {each.device: 0 for each in held}
    for each in held:
        whole[each.device] += each.bytes
    rows = [
        (
            device_label(each.device),
            each.kind,
            each.bytes,
            each.bytes / whole[each.device],
            each.node,
            each.line.place if each.line is not None else "",
            each.is_lower_bound,
        )
        for each in held
    ]
    return pandas.DataFrame(rows, columns=["device", "kind", "bytes", "share", "name", "line", "lower_bound"])


def steps_frame(profile: ProfileData) -> pandas.DataFrame:
    """All runs of the busiest kind, with the parts of those of which ops were recorded."""
    import pandas

    cell = cell_of(profile)
    runs = cell.runs_of(profile.main_kind)
    if runs is None:
        raise ProfileError("the cell has no steps: no session ran, and no function or Keras model was called there")
    columns = {
        "step": np.arange(len(runs)),
        "start": runs.start / 1e9,
        "seconds": runs.nanos / 1e9,
        "traced": runs.is_traced,
        "first": runs.is_first,
    }
    frame = pandas.DataFrame(columns)
    recorded = recorded_steps(profile)
    parts = np.full((len(runs), len(STEP_PARTS)), np.nan)
    workers = profile.workers_of_steps
    place = {
        profile.steps[step]: row
        for row, step in enumerate(recorded.step.tolist())
        if cell.worker in ("", workers[step]) and profile.step_names[step].startswith(profile.main_kind)
    }
    for row, step in enumerate(runs.step.tolist()):
        if step != ABSENT and step in place:
            parts[row] = recorded.parts[place[step]] / 1e9
    return frame.join(pandas.DataFrame(parts, columns=list(STEP_PARTS)))

"""Finds what takes the time of a captured cell beside its steps: callbacks, Python, saving, first runs, building."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import sqrt

import numpy as np

from tfprof_widget.analysis.account.python import building_line, line_times
from tfprof_widget.analysis.advisor.finding import LEAST_OF_CELL, Evidence, Finding
from tfprof_widget.analysis.advisor.patches import one_signature, seldom_called, several_steps, whole_batches
from tfprof_widget.analysis.own_statements import CodeChange
from tfprof_widget.analysis.steady import WORTHWHILE, SteadySteps
from tfprof_widget.lib.intervals import Intervals
from tfprof_widget.lib.text import is_of_library, written_percent, written_seconds
from tfprof_widget.profiles.cell import (
    BETWEEN,
    NEXT_BATCH,
    SAVING,
    STEP,
    VALIDATION,
    CellTimes,
    CodeLine,
    FitPhase,
    PythonLooks,
)
from tfprof_widget.profiles.data import FIRST, ProfileData, kind_of_steps

LIBRARYS_SHARE = 1 / 3
"""From this share on it is said that the library's own loop, or its calls, take the time: some of it they always do."""

VALIDATION_SHARE = 0.2
"""Validation takes a part of any fit that has one."""

MOST_CALLBACKS = 3

MOST_OF_A_LOOK = 0.02
"""A look stands for 5 ms, and for so long on a busy machine; for longer only if Python lets nobody look meanwhile."""

HALF = 0.5
"""A first step that takes so much of the cell makes its other figures unlike those of a longer training."""

_PHASES = frozenset({NEXT_BATCH, STEP, VALIDATION, SAVING, BETWEEN})


def of_cell(seconds: float, cell: CellTimes) -> str:
    """A time with that of the cell and its share.

    >>> of_cell(0.5, CellTimes.of({"steps": 2 * 10**9}))
    "500 ms of the cell's 2 s (25 %)"
    """
    share = written_percent(seconds / cell.seconds, 0)
    return f"{written_seconds(seconds)} of the cell's {written_seconds(cell.seconds)} ({share})"


def of_step(steady: SteadySteps, nanos: int, whose: str = "a step's") -> str:
    """A time of all steps, divided by their number, with the time of a step by the clock and its share."""
    share = written_percent(steady.of_wall(nanos), 0)
    return f"{steady.shown(nanos)} of {whose} {steady.shown(steady.clock)} ({share})"


def at(line: CodeLine | None, preposition: str = ", mostly at ") -> str:
    """The line with its preposition, if the line is known.

    >>> at(CodeLine("/home/me/train.py", 7, "main")), at(None)
    (', mostly at train.py:7', '')
    """
    return f"{preposition}{line.place}" if line is not None and line.file else ""


def python_between(profile: ProfileData) -> Iterator[Finding]:
    """Findings on what Python does while no step runs: callbacks, saving, validation, and the user's own lines."""
    cell = profile.cell
    if cell is None or not cell.nanos:
        return
    yield from _callbacks(profile, cell)
    yield from _phase(profile, cell, SAVING, LEAST_OF_CELL)
    yield from _phase(profile, cell, VALIDATION, VALIDATION_SHARE)
    yield from _between(profile, cell)


def _callbacks(profile: ProfileData, cell: CellTimes) -> Iterator[Finding]:
    found = [each for each in cell.phases if each.name not in _PHASES and _is_worth_saying(each.nanos, cell)]
    for phase in sorted(found, key=lambda each: -each.nanos)[:MOST_CALLBACKS]:
        name, _, method = phase.name.rpartition(".")
        line = _line_in(cell, phase)
        yield Finding(
            f"The callback {name} takes {of_cell(phase.nanos / 1e9, cell)} in {method}{at(line)}. No step runs "
            "meanwhile.",
            _timeline(profile),
            "Let the callback do less, or let it work less often: every 100 batches, or at the end of an epoch.",
            of_cell=phase.nanos / cell.nanos,
            line=line,
            patch=seldom_called(profile.own_code, phase.line, method) if phase.line is not None else None,
        )


def _is_worth_saying(nanos: int, cell: CellTimes) -> bool:
    return nanos >= LEAST_OF_CELL * cell.nanos


def _timeline(profile: ProfileData) -> Evidence:
    return Evidence("timeline", SteadySteps.of(profile).options)


def _line_in(cell: CellTimes, phase: FitPhase) -> CodeLine | None:
    """The line of a callback's method that was seen most often; where it was not seen, the one that defines it."""
    defined = phase.line
    if defined is None or is_of_library(defined.file):
        return None
    inside = (each.line for each in line_times(cell.looks) if each.line.file == defined.file)
    return next((line for line in inside if line.function == defined.function), defined)


_OF_PHASE = {
    SAVING: (
        "Saving takes",
        "Save less often (save_freq, or every few epochs), save weights only (save_weights_only=True), or save in the "
        "background (tf.train.CheckpointOptions(enable_async=True)).",
    ),
    VALIDATION: (
        "Validation takes",
        "Validate less often (validation_freq=...), on fewer batches (validation_steps=...), or on larger batches "
        "(validation_batch_size=...), which need less memory than in training.",
    ),
}


def _phase(profile: ProfileData, cell: CellTimes, name: str, least: float) -> Iterator[Finding]:
    place = next((at for at, each in enumerate(cell.phases) if each.name == name), None)
    if place is None:
        return
    phase, first = cell.phases[place], _first_runs_in(cell, place)
    nanos = phase.nanos - first  # a first run builds its function, which it has to do once, however much is done less
    if nanos < least * cell.nanos:
        return
    said, fix = _OF_PHASE[name]
    times = f"{phase.times:,} times" if phase.times > 1 else "once"
    beside = f", without {written_seconds(first / 1e9)} of first runs" if first >= LEAST_OF_CELL * cell.nanos else ""
    cause = f"{said} {of_cell(nanos / 1e9, cell)}{beside}; it runs {times}."
    yield Finding(cause, _timeline(profile), fix, of_cell=nanos / cell.nanos)


def _first_runs_in(cell: CellTimes, place: int) -> int:
    """The time of first runs, such as that of an `evaluate`, within the phase at this place, in nanoseconds."""
    own = cell.stretches.phase == place
    within = Intervals.of(cell.stretches.start[own], (cell.stretches.start + cell.stretches.nanos)[own])
    first = [(runs.start[runs.is_first], (runs.start + runs.nanos)[runs.is_first]) for runs in cell.runs]
    return sum(Intervals.of(start, end).shared(within) for start, end in first)


FIX_OF_CALLS = (
    "Give each call more to do: larger batches, several steps in one tf.function or session run, or for fit "
    "compile(steps_per_execution=...)."
)
_OF_DOING = {
    "python": "Do less there: make batches with tf.data, and print, plot, log and save less often.",
    "freed": "Loop once over dataset.repeat(epochs), with .prefetch(tf.data.AUTOTUNE) last, instead of over the "
    "dataset in each epoch; or use a smaller buffer in .shuffle().",
    "calls": FIX_OF_CALLS,
}


def _between(profile: ProfileData, cell: CellTimes) -> Iterator[Finding]:
    """A finding for each sort of Python between two runs that takes much of the cell, but for callbacks."""
    saving = sum(each.nanos for each in cell.phases if each.name == SAVING) / 1e9
    for time in cell.between:
        least = LIBRARYS_SHARE if time.doing == "calls" else LEAST_OF_CELL
        seconds = time.seconds - (saving if time.doing == "python" else 0.0)  # which is told by itself
        if time.doing not in _OF_DOING or _surely(seconds, cell.looks) < least * cell.seconds:
            continue
        place = f", mostly at {time.place}" if time.place else ""
        what = {
            "freed": f"when the loop at {time.place} ends, TensorFlow frees the iterator of its dataset, with all that "
            "its shuffle buffer holds",
            "calls": f"Python runs the library's own loop or calls{place}",
            "python": f"Python runs between one step and the next{place}",
        }[time.doing]
        yield Finding(
            f"No step runs for {of_cell(seconds, cell)}: {what}.",
            _timeline(profile),
            _OF_DOING[time.doing],
            of_cell=seconds / cell.seconds,
            line=CodeLine(time.file, time.line, time.function) if time.file else None,
            patch=several_steps(profile.own_code) if time.doing == "calls" else None,
        )


def _surely(seconds: float, looks: PythonLooks) -> float:
    """What is left of a time that looks told, if chance added twice its standard error to it."""
    each = min(float(np.median(looks.nanos)) / 1e9, MOST_OF_A_LOOK) if len(looks) else 0.0
    return seconds - 2 * sqrt(max(seconds, 0.0) * each)


FEWEST = 3
"""Two traces are common: for the first batch, and for the last batch of the epoch if it is smaller."""

_FIX_OF_BUILDING = (
    "Give tensors instead of Python numbers, make all batches the same size (drop_remainder=True) or give "
    "@tf.function an input_signature with None for sizes that vary, and create the function outside of loops."
)


def retracing(profile: ProfileData) -> Iterator[Finding]:
    """A finding for each function that is built again and again, and one for a first step that is half the cell."""
    cell = profile.cell
    told = set()
    for runs in cell.runs if cell is not None else ():
        again = runs.building[1:]
        count, seconds = int((again > 0).sum()) + 1, float(runs.nanos[1:][again > 0].sum()) / 1e9
        if cell is not None and count >= FEWEST and seconds >= LEAST_OF_CELL * cell.seconds:
            told.add(runs.kind)
            firsts = [re.escape(runs.kind + mark) for mark in FIRST if runs.kind + mark in profile.step_names]
            line = building_line(cell.looks)
            yield Finding(
                f"{runs.kind} was built {count:,} times in {len(runs):,} calls: rebuilding it took "
                f"{of_cell(seconds, cell)}{at(line)}.",
                Evidence("scope", {**({"run_name_regexes": firsts} if firsts else {}), "order_by": "micros"}),
                _FIX_OF_BUILDING,
                of_cell=seconds / cell.seconds,
                line=line,
                patch=_patch_of_building(profile, runs.kind),
            )
    yield from _traced_again(profile, told)
    if cell is not None:
        yield from _first_step(profile, cell)


def _patch_of_building(profile: ProfileData, kind: str) -> CodeChange | None:
    """One signature for all calls; for the function of a model, which has none, batches of one size."""
    code = profile.own_code
    return one_signature(code, kind) or (whole_batches(code) if kind.startswith("fit: ") else None)


def _traced_again(profile: ProfileData, told: set[str]) -> Iterator[Finding]:
    """A finding for each function of whose recorded calls many had to build it."""
    calls = Counter(map(kind_of_steps, profile.step_names))
    traced = Counter(kind_of_steps(name) for name in profile.step_names if name.endswith(FIRST))
    for name, count in traced.items():
        if count >= FEWEST and count >= WORTHWHILE * calls[name] and name not in told:
            firsts = [re.escape(name + mark) for mark in FIRST if name + mark in profile.step_names]
            yield Finding(
                f"{name} was built in {count} of {calls[name]} recorded calls, and building takes many times as long "
                "as a call.",
                Evidence("scope", {"run_name_regexes": firsts, "order_by": "micros"}),
                _FIX_OF_BUILDING,
                patch=_patch_of_building(profile, name),
            )


def _first_step(profile: ProfileData, cell: CellTimes) -> Iterator[Finding]:
    runs = cell.runs_of(profile.main_kind)
    if runs is None or not len(runs) or int(runs.nanos[0]) < HALF * cell.nanos:
        return
    building = int(runs.building[0]) / 1e9
    part = f"; building its function takes {written_seconds(building)} of that" if building else ""
    later = f" A later step takes {written_seconds(float(np.median(runs.nanos[1:])) / 1e9)}." if len(runs) > 1 else ""
    yield Finding(
        f"The first step of {runs.kind} takes {of_cell(int(runs.nanos[0]) / 1e9, cell)}{part}"
        f"{at(building_line(cell.looks))}.{later}",
        Evidence("scope", {"order_by": "micros"}),
        "Run more steps in this cell, or one step in a cell before it, to see what training takes: in the first step "
        "TensorFlow builds and optimizes the graph.",
        of_cell=int(runs.nanos[0]) / cell.nanos,
        is_needed=True,
    )

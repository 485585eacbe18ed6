"""Defines what is known of a capture while it runs, and of a task of a job, as small JSON that anybody may read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args

from tfprof_widget.lib.errors import shortened, value_error
from tfprof_widget.lib.text import written_seconds
from tfprof_widget.profiles.cell import CELL_PARTS

Phase = Literal["starting", "first runs", "running", "reading", "done"]
"""Nothing has run yet; no run but warm-ups, which trace and compile; later runs; the capture has ended, and what was
recorded is being read; all is over."""

Status = Literal["running", "ended", "failed", "interrupted", "silent"]
"""How a task stands. A file never says "silent": who reads it finds that no news came for SILENT_INTERVALS."""

MOST_STEPS = 200
"""So many of the last steps are told one by one."""
MOST_OPS = 8
MOST_NOTES = 8
OPS_IN_LINE = 3
MOST_LETTERS = 400
"""A text is cut to so many letters, so that a state stays small whatever the user's names are."""
SILENT_INTERVALS = 3
"""A task that has not been heard of for so many of its own intervals is silent."""
USUAL_INTERVAL = 10.0
DIGITS = 5
"""So many digits of a time are written: more would say nothing, and make the state longer."""

State = TypeVar("State")


@dataclass(frozen=True)
class LiveState:
    """How a capture stands that may still be running; times are in seconds.

    `what` is what is captured, such as the title of a cell or the name of a script. `seconds` is how long it has gone
    on. `runs` of all kinds have ended, of which `traced` were. `kind` is the kind of step that took most of the time:
    `steps` of it have ended; `first_seconds` is the median of its first steps after the warm-up and `step_seconds` that
    of the last ones, 0 if there is none yet; `strip` has the last steps one by one, oldest first. `under_way` is how
    long the run has gone on that has not ended yet, 0 if there is none. `parts` are those of the cell so far, with the
    names of CELL_PARTS, as `time_budget` has them. `costliest` are op types with their seconds in one traced run.

    >>> state = LiveState("train.py", "running", 2.5, kind="train", runs=5, steps=4, strip=(0.25, 0.5))
    >>> LiveState.of_json(state.to_json()) == state
    True
    """

    what: str = ""
    phase: Phase = "starting"
    seconds: float = 0.0
    runs: int = 0
    traced: int = 0
    kind: str = ""
    steps: int = 0
    first_seconds: float = 0.0
    step_seconds: float = 0.0
    strip: tuple[float, ...] = ()
    under_way: float = 0.0
    parts: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    costliest: tuple[tuple[str, float], ...] = ()
    notes: tuple[str, ...] = ()

    def line(self) -> str:
        """The state in a line: what was traced, and the costliest op types so far.

        >>> LiveState(runs=312, traced=14, costliest=(("MatMul", 0.0012), ("Conv2D", 8e-4))).line()
        'tfprof: 14 of 312 runs traced; MatMul 1.20 ms, Conv2D 800 µs a run'
        """
        costs = ", ".join(f"{op} {written_seconds(seconds)}" for op, seconds in self.costliest[:OPS_IN_LINE])
        return f"tfprof: {self.traced:,} of {self.runs:,} runs traced" + (f"; {costs} a run" if costs else "")

    def to_json(self) -> dict[str, Any]:
        """The state as JSON has it, of at most some 10,000 bytes.

        >>> LiveState("train.py", seconds=1 / 3).to_json()["seconds"]
        0.33333
        """
        return {
            **vars(self),
            "what": _short(self.what),
            "kind": _short(self.kind),
            **{name: _rounded(getattr(self, name)) for name in _TIMES},
            "strip": [_rounded(each) for each in self.strip[-MOST_STEPS:]],
            "parts": {part: _rounded(self.parts[part]) for part in CELL_PARTS if self.parts.get(part)},
            "costliest": [[_short(op), _rounded(seconds)] for op, seconds in self.costliest[:MOST_OPS]],
            "notes": [_short(note) for note in self.notes[:MOST_NOTES]],
        }

    @classmethod
    def of_json(cls, told: Any) -> LiveState:
        """The state of what `to_json` gave, or another version of tfprof; what is not understood counts as unknown.

        >>> LiveState.of_json({"what": "train.py", "steps": "many", "strip": [0.5, None, -1]})
        LiveState(what='train.py', ..., steps=0, ..., strip=(0.5,), ...)
        >>> LiveState.of_json([])
        Traceback (most recent call last):
            ...
        ValueError: this is no state of a capture: an object is expected, not a list
        """
        if not isinstance(told, Mapping):
            raise value_error(f"this is no state of a capture: an object is expected, not a {type(told).__name__}")
        parts = told.get("parts")
        return cls(
            what=_text(told.get("what")),
            phase=_one_of(Phase, told.get("phase"), "starting"),
            seconds=_number(told.get("seconds")),
            runs=int(_number(told.get("runs"))),
            traced=int(_number(told.get("traced"))),
            kind=_text(told.get("kind")),
            steps=int(_number(told.get("steps"))),
            first_seconds=_number(told.get("first_seconds")),
            step_seconds=_number(told.get("step_seconds")),
            under_way=_number(told.get("under_way")),
            strip=_items(told.get("strip"), MOST_STEPS, _positive),
            parts={part: _number(parts.get(part)) for part in CELL_PARTS if _number(parts.get(part))}
            if isinstance(parts, Mapping)
            else {},
            costliest=_items(told.get("costliest"), MOST_OPS, _op),
            notes=_items(told.get("notes"), MOST_NOTES, lambda note: _text(note) or None),
        )


_TIMES = ("seconds", "first_seconds", "step_seconds", "under_way")


@dataclass(frozen=True)
class TaskState:
    """How a task of a job stands: what `DIR/<job>/<task>/state.json` says, which has `live` and the rest side by side.

    `started` and `updated` are seconds since 1970 by the clock of the `host`. The task writes the file at least every
    `interval` seconds while it runs. `exit_code` is None while it runs, and where nobody could tell. `last_words` are
    the last lines that say how it ended, such as the exception.

    >>> state = TaskState(LiveState("train.py"), "sweep", "worker-1", updated=100.0, interval=10.0)
    >>> TaskState.of_json(state.to_json()) == state
    True
    >>> state.status_at(125.0), state.status_at(131.0)
    ('running', 'silent')
    """

    live: LiveState
    job: str = ""
    task: str = ""
    pid: int = 0
    host: str = ""
    started: float = 0.0
    updated: float = 0.0
    interval: float = USUAL_INTERVAL
    status: Status = "running"
    exit_code: int | None = None
    last_words: str = ""

    def status_at(self, now: float) -> Status:
        """The status as it looks at a moment, by the clock that `updated` is of."""
        is_silent = self.status == "running" and now - self.updated > SILENT_INTERVALS * max(self.interval, 1.0)
        return "silent" if is_silent else self.status

    def to_json(self) -> dict[str, Any]:
        """The state as JSON has it."""
        own = {name: value for name, value in vars(self).items() if name != "live"}
        texts = {name: _short(str(own[name])) for name in ("job", "task", "host", "last_words")}
        return {**self.live.to_json(), **own, **texts}

    @classmethod
    def of_json(cls, told: Any) -> TaskState:
        """The state of what `to_json` gave; what is not understood counts as unknown.

        >>> TaskState.of_json({"task": "a", "pid": "x", "status": "odd", "exit_code": True, "interval": 0}).exit_code
        """
        live = LiveState.of_json(told)
        code = told.get("exit_code")
        return cls(
            live,
            job=_text(told.get("job")),
            task=_text(told.get("task")),
            pid=int(_number(told.get("pid"))),
            host=_text(told.get("host")),
            started=_number(told.get("started")),
            updated=_number(told.get("updated")),
            interval=_number(told.get("interval")) or USUAL_INTERVAL,
            status=_one_of(Status, told.get("status"), "running"),
            exit_code=code if isinstance(code, int) and not isinstance(code, bool) else None,
            last_words=_text(told.get("last_words")),
        )


def _one_of(names: Any, told: Any, usual: Any) -> Any:
    return told if told in get_args(names) else usual


def _rounded(number: float) -> float:
    """A number with few digits: JSON has no infinity, and nobody reads more digits."""
    return float(f"{number:.{DIGITS}g}") if math.isfinite(number) else 0.0


def _short(text: str) -> str:
    return shortened(text, MOST_LETTERS)


def _text(told: Any) -> str:
    return _short(told) if isinstance(told, str) else ""


def _number(told: Any) -> float:
    """A number of at least 0; 0 for what is none."""
    found = _positive(told)
    return 0.0 if found is None else found


def _positive(told: Any) -> float | None:
    if isinstance(told, bool) or not isinstance(told, int | float):
        return None
    try:
        number = float(told)
    except OverflowError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _op(told: Any) -> tuple[str, float] | None:
    if not isinstance(told, Sequence) or isinstance(told, str) or len(told) != 2:
        return None
    name, seconds = _text(told[0]), _positive(told[1])
    return (name, seconds) if name and seconds is not None else None


def _items(told: Any, most: int, read: Callable[[Any], State | None]) -> tuple[State, ...]:
    """The items that could be read of a list, of which so many are looked at."""
    if not isinstance(told, list | tuple):
        return ()
    return tuple(found for found in map(read, islice(told, most)) if found is not None)

"""Defines what is known of a captured cell: how its wall time was spent, all its runs, its Python, and its code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.lib.arrays import ABSENT, Flags, Indices, Integers
from tfprof_widget.profiles.tables import Lists

CELL_PARTS = ("tracing", "first", "steps", "python", "input", "tfprof", "other")
"""The parts of a cell's wall time: building functions, first runs, other runs, Python while no run is under way, Python
that waits for a batch, what tfprof itself took, and what cannot be told."""

STEP_PARTS = ("forward", "backward", "update", "input", "transfers", "runtime", "idle")
"""The parts of a step's wall time: ops of the forward pass, of the backward pass and of the update of variables, the
wait for input, transfers between devices, gaps that are too short to mean anything, and longer ones."""

NEXT_BATCH, STEP, VALIDATION, SAVING, BETWEEN = "next batch", "step", "validation", "saving", "between"
"""The phases of every loop of Keras; each callback's method is another, such as `ModelCheckpoint.on_epoch_end`."""

FIRST_RUN, TRACED, RAISED, PARTLY_TRACED = 1, 2, 4, 8
"""Marks of a run: it is the first of its kind or built its function anew; its ops were recorded; it ended in an
exception; its ops were recorded in part."""


@dataclass(frozen=True)
class CodeLine:
    """A line of code with the function that it is in; `source` is its text, empty if that is not known.

    >>> CodeLine("project/train.py", 7, "main").place
    'train.py:7'
    """

    file: str
    line: int
    function: str
    source: str = ""

    @property
    def place(self) -> str:
        """The name of the file and the number of the line."""
        return f"{self.file.rpartition('/')[2]}:{self.line}"


_LATER = re.compile(r" \((in part|early|shorter)\)$")


@dataclass(frozen=True, eq=False)
class CellRuns:
    """The runs of one kind, a row each, in the order in which they began; `start` counts since the cell was entered.

    `building` is the part of `nanos` in which Python built the function. `step` is the number of the step in the
    profile that has the ops of a run, or ABSENT. Runs beyond those that are kept took `rest_nanos`. `usual_nanos` is
    what a run takes that is not traced, in the median; 0 if all were.

    >>> runs = CellRuns.of("train", [0, 9], [5, 1], {0: FIRST_RUN, 1: TRACED})
    >>> runs.is_first.tolist(), runs.is_traced.tolist(), runs.total_nanos
    ([True, False], [False, True], 6)
    """

    kind: str
    start: Integers
    nanos: Integers
    building: Integers
    mark: NDArray[np.int8]
    step: Indices
    rest_nanos: int = 0
    usual_nanos: int = 0

    @classmethod
    def of(
        cls,
        kind: str,
        start: Sequence[int] | Integers,
        nanos: Sequence[int] | Integers,
        mark: Mapping[int, int] = MappingProxyType({}),
        step: Mapping[int, int] = MappingProxyType({}),
        building: Mapping[int, int] = MappingProxyType({}),
        **sums: int,
    ) -> CellRuns:
        """The runs; what few of them have is given by their place."""
        began, took = np.asarray(start, np.int64), np.asarray(nanos, np.int64)
        columns = np.full((3, len(began)), [[0], [0], [ABSENT]], np.int64)
        for column, told in zip(columns, (building, mark, step), strict=True):
            column[list(told)] = list(told.values())
        order = np.argsort(began, kind="stable")
        built, marked, steps = columns[:, order]
        return cls(kind, began[order], took[order], built, marked.astype(np.int8), steps.astype(np.int32), **sums)

    def __len__(self) -> int:
        return len(self.start)

    @property
    def is_first(self) -> Flags:
        """Whether a run is the first of its kind, or built its function anew."""
        return (self.mark & FIRST_RUN) > 0

    @property
    def is_traced(self) -> Flags:
        """Whether the ops of a run were recorded."""
        return (self.mark & TRACED) > 0

    @property
    def is_steady(self) -> Flags:
        """Whether a run went as most do: it is no first run, was not recorded even in part, and raised nothing."""
        found: Flags = self.mark == 0
        return found

    @property
    def raised_seconds(self) -> float:
        """What the runs took that ended in an exception, or had not ended."""
        return int(self.nanos[(self.mark & RAISED) > 0].sum()) / 1e9

    @property
    def total_nanos(self) -> int:
        """What all runs took."""
        return int(self.nanos.sum()) + self.rest_nanos


@dataclass(frozen=True)
class FitPhase:
    """What a loop of Keras spent on one thing, such as a callback's method; `line` is where that is defined.

    `times` is how often it was done, and `nanos` is the time without other phases within it.
    """

    name: str
    nanos: int
    times: int
    line: CodeLine | None = None


@dataclass(frozen=True, eq=False)
class PhaseStretches:
    """When the phases of Keras' loops went on, a row each time: the phase's place, start in the cell, and length.

    A phase that another one interrupts has a row before and one after it. Of very many, these are the longest.
    """

    phase: Indices
    start: Integers
    nanos: Integers

    @classmethod
    def of(
        cls, phase: Sequence[int], start: Sequence[int] | Integers, nanos: Sequence[int] | Integers
    ) -> PhaseStretches:
        """The stretches with these columns.

        >>> len(PhaseStretches.of([0, 1], [5, 7], [2, 3]))
        2
        """
        return cls(np.asarray(phase, np.int32), np.asarray(start, np.int64), np.asarray(nanos, np.int64))

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, eq=False)
class PythonLooks:
    """What was seen of Python while no step ran: a row a look, with the time for which the look stands.

    `at` is the moment in nanoseconds since the cell was entered. `stack` is the place of the stack in `stacks`, whose
    values are the places of `lines`, outermost first. `part` is a place in CELL_PARTS. `gap` numbers the gaps between
    two runs; it is ABSENT before the first run of a kind and after the last run. `begun_at` is the user's line at which
    the cell was entered, if it is known.

    >>> len(PythonLooks.none())
    0
    """

    lines: tuple[CodeLine, ...]
    stacks: Lists
    at: Integers
    nanos: Integers
    stack: Indices
    part: NDArray[np.int8]
    gap: Indices
    begun_at: CodeLine | None = None

    @classmethod
    def none(cls) -> PythonLooks:
        """No looks."""
        number, index = np.zeros(0, np.int64), np.zeros(0, np.int32)
        return cls((), Lists.of([]), number, number, index, np.zeros(0, np.int8), index)

    def __len__(self) -> int:
        return len(self.at)

    def stack_lines(self, stack: int) -> list[CodeLine]:
        """The lines of a stack, outermost first."""
        return [self.lines[line] for line in self.stacks[stack].tolist()]


# What Python does while no run is under way: it runs ops one by one, waits for the next batch, is in a callback of
# Keras, in the library's code that makes the runs, frees the iterator of a dataset at the end of its loop, or anything
# else.
Doing = Literal["ops", "input", "callback", "calls", "freed", "python"]
DOINGS: tuple[str, ...] = get_args(Doing)


@dataclass(frozen=True)
class PythonTime:
    """What the thread of a cell did for some of the time in which no run was under way, and the user's line of it.

    For ops that run one by one the line is that of the loop around them, or of the `function` that a loop calls, or
    with `by_library` the line that calls a library which has the loop. The file is empty if no line is known.
    """

    doing: Doing
    seconds: float
    file: str = ""
    line: int = 0
    function: str = ""
    by_library: bool = False

    @property
    def place(self) -> str:
        """The line as text, empty if it is not known.

        >>> PythonTime("python", 1.5, "/home/me/train.py", 7).place
        'train.py:7'
        """
        return f"{self.file.rpartition('/')[2]}:{self.line}" if self.file else ""


@dataclass(frozen=True, eq=False)
class CellTimes:
    """How the wall time of a captured cell was spent, in nanoseconds; the `parts` are those of CELL_PARTS.

    The parts add up to `nanos`. `entered` is when the cell was entered, since 1970. `worker` is the process that ran
    it, empty if there was one only. `kinds` has the time that each kind of run took, and `runs` the runs themselves.
    `stretches` are those of the `phases`.
    `outside` is the time in which no run was under way, by what Python did then; `between` is the part of it between
    two runs, without what came before the first run of a kind. Both are empty if too little of them was seen.

    >>> cell = CellTimes.of({"steps": 7, "python": 2})
    >>> cell.nanos, cell.part("python"), cell.part("first")
    (9, 2, 0)
    """

    nanos: int
    parts: tuple[int, ...]
    worker: str = ""
    entered: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    runs: tuple[CellRuns, ...] = ()
    phases: tuple[FitPhase, ...] = ()
    stretches: PhaseStretches = field(default_factory=lambda: PhaseStretches.of([], [], []))
    outside: tuple[PythonTime, ...] = ()
    between: tuple[PythonTime, ...] = ()
    looks: PythonLooks = field(default_factory=PythonLooks.none)

    @classmethod
    def of(cls, parts: Mapping[str, int], **others: object) -> CellTimes:
        """The times of a cell with these parts; those that are not named are 0."""
        found = tuple(parts.get(part, 0) for part in CELL_PARTS)
        return cls(sum(found), found, **others)  # type: ignore[arg-type]

    @property
    def seconds(self) -> float:
        """The wall time of the cell in seconds."""
        return self.nanos / 1e9

    def part(self, name: str) -> int:
        """The time of a part."""
        return self.parts[CELL_PARTS.index(name)]

    def runs_of(self, kind: str) -> CellRuns | None:
        """The runs of a kind, also by the name of its steps that were recorded in part; None if there are none.

        >>> runs = CellRuns.of("train", [0], [5])
        >>> CellTimes.of({}, runs=(runs,)).runs_of("train (in part)") is runs
        True
        """
        named = {runs.kind: runs for runs in reversed(self.runs)}
        return named.get(kind) or named.get(_LATER.sub("", kind))

    def named(self, name: Callable[[str], str]) -> CellTimes:
        """The same with other names of files, such as `In[2]` for the file of a notebook's cell.

        >>> CellTimes.of({}, outside=(PythonTime("python", 1.5, "/tmp/7.py", 7),)).named(str.upper).outside[0].place
        '7.PY:7'
        """

        def line(each: CodeLine) -> CodeLine:
            return replace(each, file=name(each.file))

        def doing(times: tuple[PythonTime, ...]) -> tuple[PythonTime, ...]:
            return tuple(replace(each, file=name(each.file)) for each in times)

        begun = self.looks.begun_at
        lines = tuple(map(line, self.looks.lines))
        return replace(
            self,
            phases=tuple(replace(each, line=each.line and line(each.line)) for each in self.phases),
            outside=doing(self.outside),
            between=doing(self.between),
            looks=replace(self.looks, lines=lines, begun_at=begun and line(begun)),
        )

    def longer(self, nanos: int) -> CellTimes:
        """The times of the cell if it was so long in fact; what is more went to tfprof.

        >>> CellTimes.of({"steps": 7}).longer(9).part("tfprof")
        2
        """
        tfprof = CELL_PARTS.index("tfprof")
        more = max(nanos - self.nanos, 0)
        parts = tuple(each + more * (place == tfprof) for place, each in enumerate(self.parts))
        return replace(self, nanos=self.nanos + more, parts=parts)


@dataclass(frozen=True, eq=False)
class RecordedSteps:
    """The steps of which ops were recorded, a row each: their place in the profile, and the time of each part.

    `parts` has a column for each of STEP_PARTS, in nanoseconds as recorded, which add up to `nanos`, the wall time.
    """

    step: Indices
    nanos: Integers
    parts: Integers

    def __len__(self) -> int:
        return len(self.step)

    def among(self, steps: Sequence[int]) -> RecordedSteps:
        """Those of these steps, given by their places."""
        rows = np.isin(self.step, np.array(steps, np.int32))
        return RecordedSteps(self.step[rows], self.nanos[rows], self.parts[rows])


@dataclass(frozen=True)
class HeldMemory:
    """What a node holds on a device at the peak of a step, and for what; `line` is where the user made the node.

    With `is_lower_bound`, the device tells of large tensors only, so that all of this kind may be more.
    """

    device: str
    kind: str
    bytes: int
    node: str
    line: CodeLine | None
    is_lower_bound: bool = False


@dataclass(frozen=True)
class OwnCode:
    """Statements of the user's code that advice may change, and signatures that spare functions from being built again.

    The `source` of each of the `statements` is its whole text; of a function or loop, the text down to its body.
    `signatures` has the arguments for `tf.function`, by the name of the function: they take in all arguments that it
    was called with.

    >>> OwnCode().statements
    ()
    """

    statements: tuple[CodeLine, ...] = ()
    signatures: Mapping[str, str] = field(default_factory=dict)

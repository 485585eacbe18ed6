"""Writes and reads what explains a cell, and what is kept of its run, in fields that native tfprof ignores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.lib.arrays import ABSENT, LARGEST_INTEGER
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.cell import (
    CELL_PARTS,
    DOINGS,
    STEP_PARTS,
    CellRuns,
    CellTimes,
    CodeLine,
    FitPhase,
    HeldMemory,
    OwnCode,
    PhaseStretches,
    PythonLooks,
    PythonTime,
    RecordedSteps,
)
from tfprof_widget.profiles.data import ProfileTables
from tfprof_widget.profiles.kept_run import GraphOps, KeptRun
from tfprof_widget.profiles.program import ROLES, ModelLayer, NodeLayers, PipelineStage, StageSettings
from tfprof_widget.profiles.tables import Lists

if TYPE_CHECKING:
    from collections.abc import Sized

    from tfprof_widget.lib.messages import StoredAccount, StoredCell, StoredCellRuns, StoredKeptRun

Plain = TypeVar("Plain", ModelLayer, CodeLine, PythonTime, PipelineStage, StageSettings, HeldMemory)

_COLUMNS = ("start", "nanos", "building", "mark", "step")
_STRETCHES = ("phase", "start", "nanos")
_LOOKS = ("at", "nanos", "stack", "part", "gap")


def stored_account(
    tables: ProfileTables,
    recorded: RecordedSteps,
    layers: NodeLayers,
    held: Sequence[HeldMemory] = (),
    pipeline: Sequence[PipelineStage] = (),
) -> StoredAccount:
    """The message for the account of a captured cell, with what is found of its steps, layers, memory and input.

    >>> from tfprof_widget.demo import demo_profile
    >>> from tfprof_widget.engine.layers import node_layers
    >>> demo = demo_profile()
    >>> recorded = RecordedSteps(*(np.zeros(0, np.int64),) * 3)
    >>> len(stored_account(demo, recorded, node_layers(demo)).node_layer)
    81
    """
    from tfprof_widget.lib.messages import StoredAccount

    message = StoredAccount(
        main_kind=tables.main_kind,
        step_names=tables.step_names,
        divided=recorded.step.tolist(),
        nanos=recorded.nanos.tolist(),
        parts=recorded.parts.reshape(-1).tolist(),
        layer_names=layers.names,
        layer_types=layers.types,
        layer_parent=layers.parent.tolist(),
        node_layer=layers.layer.tolist(),
        node_role=layers.role.tolist(),
    )
    for layer in tables.model_layers:
        message.model_layers.add(**vars(layer))
    for stage in pipeline:
        values = {**_with_line(stage), **vars(stage.settings)}
        del values["settings"]
        message.pipeline.add(**values)
    for each in held:
        message.held_memory.add(**_with_line(each))
    for cell in tables.cells:
        _store(cell, message.cells.add())
    for statement in tables.own_code.statements:
        message.statements.add(**vars(statement))
    message.signatures.update(tables.own_code.signatures)
    return message


def _with_line(plain: PipelineStage | HeldMemory) -> dict[str, Any]:
    return {name: vars(value) if isinstance(value, CodeLine) else value for name, value in vars(plain).items()}


def _store(cell: CellTimes, message: StoredCell) -> None:
    looks, known = cell.looks, dict[CodeLine, int]()

    def place(line: CodeLine | None) -> int:
        return 0 if line is None else known.setdefault(line, len(known) + 1)

    message.worker, message.entered = cell.worker, cell.entered
    message.parts.extend(cell.parts)
    message.kinds.update(cell.kinds)
    for stack in range(len(looks.stacks)):
        message.stacks.add(lines=map(place, looks.stack_lines(stack)))
    for name in _LOOKS:
        getattr(message, name).extend(getattr(looks, name).tolist())
    message.begun_at = place(looks.begun_at)
    for phase in cell.phases:
        message.phases.add(name=phase.name, nanos=phase.nanos, times=phase.times, line=place(phase.line))
    for name in _STRETCHES:
        getattr(message, f"stretch_{name}").extend(getattr(cell.stretches, name).tolist())
    for doing in ("outside", "between"):
        for time in getattr(cell, doing):
            getattr(message, doing).add(**vars(time))
    for runs in cell.runs:
        columns = {name: getattr(runs, name).tolist() for name in _COLUMNS}
        message.runs.add(kind=runs.kind, rest_nanos=runs.rest_nanos, usual_nanos=runs.usual_nanos, **columns)
    for line in known:
        message.lines.add(**vars(line))


def with_account(tables: ProfileTables, message: Any) -> ProfileTables:
    """The tables with the account that was saved with them; as they are if there is none.

    >>> from tfprof_widget.demo import demo_profile
    >>> from tfprof_widget.lib.messages import ProfileProto
    >>> demo = demo_profile()
    >>> with_account(demo, ProfileProto()) is demo
    True
    """
    if not message.HasField("account"):
        return tables
    account, workers = message.account, message.step_workers or [""] * len(message.steps)
    numbers = message.worker_steps if message.step_workers else message.steps
    _check(len(account.step_names) == len(numbers) == len(workers), "the name of each step")
    place = {each: at for at, each in enumerate(zip(tables.workers_of_steps, tables.steps, strict=True))}
    names = list(tables.step_names)
    found: list[int] = []
    for worker, number, name in zip(workers, numbers, account.step_names, strict=True):
        found.append(place.get((worker, number), ABSENT))
        if found[-1] != ABSENT:
            names[found[-1]] = name
    return tables.having(
        main_kind=account.main_kind,
        step_names=tuple(names),
        cells=tuple(map(_cell, account.cells)),
        model_layers=tuple(_plain(ModelLayer, layer) for layer in account.model_layers),
        node_layers=_layers(account, len(tables.nodes)),
        recorded_steps=_recorded(account, found),
        held_memory=tuple(_plain(HeldMemory, each) for each in account.held_memory),
        pipeline_stages=tuple(_plain(PipelineStage, each) for each in account.pipeline),
        own_code=OwnCode(tuple(_plain(CodeLine, each) for each in account.statements), dict(account.signatures)),
    )


def _check(is_right: bool, what: str) -> None:
    if not is_right:
        raise ProfileError(f"profile: its account does not tell {what}; the file is damaged: save the profile again")


def _plain(kind: type[Plain], message: Any) -> Plain:
    names = {each.name for each in fields(kind)}
    values = {name: getattr(message, name) for name in names - {"settings"}}
    if "line" in values and not isinstance(values["line"], int):
        values["line"] = _plain(CodeLine, message.line) if message.HasField("line") else None
    if "settings" in names:
        values["settings"] = _plain(StageSettings, message)
    return kind(**values)


def _column(values: Sequence[int], kind: type[np.signedinteger[Any]], least: int, end: int, what: str) -> NDArray[Any]:
    found = np.array(values, np.int64)
    _check(not len(found) or (int(found.min()) >= least and int(found.max()) < end), what)
    return found.astype(kind)


def _layers(account: StoredAccount, nodes: int) -> NodeLayers | None:
    """The layers of nodes; None where other files of the same profile brought more nodes."""
    rows = len(account.layer_names)
    _check(rows == len(account.layer_types) == len(account.layer_parent), "the layers")
    _check(len(account.node_layer) == len(account.node_role), "the layer of each node")
    if len(account.node_layer) != nodes or not rows:
        return None
    parent = _column(account.layer_parent, np.int32, ABSENT, rows, "what a layer is in")
    _check(bool((parent < np.arange(rows)).all()), "what a layer is in")
    layer = _column(account.node_layer, np.int32, 0, rows, "the layer of a node")
    role = _column(account.node_role, np.int8, 0, len(ROLES), "the role of a node")
    return NodeLayers(tuple(account.layer_names), tuple(account.layer_types), parent, layer, role)


def _recorded(account: StoredAccount, places: Sequence[int]) -> RecordedSteps:
    count = len(account.divided)
    _check(len(account.nanos) == count and len(account.parts) == count * len(STEP_PARTS), "the parts of each step")
    step = np.append(np.array(places, np.int32), np.int32(ABSENT))[
        _column(account.divided, np.int32, 0, len(places), "which steps are divided")
    ]
    nanos = _column(account.nanos, np.int64, 0, LARGEST_INTEGER, "what a step took")
    parts = _column(account.parts, np.int64, 0, LARGEST_INTEGER, "the parts of a step").reshape(count, -1)
    return RecordedSteps(step[step >= 0], nanos[step >= 0], parts[step >= 0])


def _cell(message: StoredCell) -> CellTimes:
    lines = tuple(_plain(CodeLine, line) for line in message.lines)

    def line(place: int) -> CodeLine | None:
        _check(0 <= place <= len(lines), "a line")
        return lines[place - 1] if place else None

    _check(len(message.parts) == len(CELL_PARTS) and min(message.parts) >= 0, "the parts of the cell")
    return CellTimes(
        nanos=sum(message.parts),
        parts=tuple(message.parts),
        worker=message.worker,
        entered=message.entered,
        kinds=dict(message.kinds),
        runs=tuple(map(_runs, message.runs)),
        phases=tuple(FitPhase(each.name, each.nanos, each.times, line(each.line)) for each in message.phases),
        stretches=_stretches(message),
        outside=tuple(map(_doing, message.outside)),
        between=tuple(map(_doing, message.between)),
        looks=_looks(message, lines, line(message.begun_at)),
    )


def _doing(message: Any) -> PythonTime:
    _check(message.doing in DOINGS, "what Python did")
    return _plain(PythonTime, message)


def _stretches(message: StoredCell) -> PhaseStretches:
    phase, start, nanos = (getattr(message, f"stretch_{name}") for name in _STRETCHES)
    _check(len(phase) == len(start) == len(nanos), "when phases went on")
    return PhaseStretches(
        _column(phase, np.int32, 0, len(message.phases), "the phase of a stretch"),
        _column(start, np.int64, 0, LARGEST_INTEGER, "when a phase began"),
        _column(nanos, np.int64, 0, LARGEST_INTEGER, "what a phase took"),
    )


def _looks(message: StoredCell, lines: tuple[CodeLine, ...], begun_at: CodeLine | None) -> PythonLooks:
    _check(len({len(getattr(message, name)) for name in _LOOKS}) == 1, "each look at Python")
    stacks = Lists.of([_places(stack.lines, len(lines)) for stack in message.stacks])
    return PythonLooks(
        lines,
        stacks,
        _column(message.at, np.int64, 0, LARGEST_INTEGER, "when Python was looked at"),
        _column(message.nanos, np.int64, 0, LARGEST_INTEGER, "what a look stands for"),
        _column(message.stack, np.int32, 0, len(stacks), "a stack"),
        _column(message.part, np.int8, 0, len(CELL_PARTS), "the part of a look"),
        _column(message.gap, np.int32, ABSENT, LARGEST_INTEGER, "the gap of a look"),
        begun_at,
    )


def _places(written: Iterable[int], lines: int) -> list[int]:
    found = [each - 1 for each in written]
    _check(all(0 <= each < lines for each in found), "the lines of a stack")
    return found


def _runs(message: StoredCellRuns) -> CellRuns:
    _check(len({len(getattr(message, name)) for name in _COLUMNS}) == 1, "each run")
    _check(min(message.rest_nanos, message.usual_nanos) >= 0, "what runs took")
    return CellRuns(
        message.kind,
        _column(message.start, np.int64, 0, LARGEST_INTEGER, "when a run began"),
        _column(message.nanos, np.int64, 0, LARGEST_INTEGER, "what a run took"),
        _column(message.building, np.int64, 0, LARGEST_INTEGER, "what building took"),
        _column(message.mark, np.int8, 0, 16, "the mark of a run"),
        _column(message.step, np.int32, ABSENT, 2**31, "the step of a run"),
        message.rest_nanos,
        message.usual_nanos,
    )


_TEXTS = ("name", "label", "cell", "source", "step")
_NUMBERS = ("others_cores", "cell_seconds")
_TIMES = ("step_seconds", "traced_seconds", "nanos")
_OP_COLUMNS = {"type": "types", "shape": "shapes", "layer": "layers", "line": "lines"}
"""The columns of ops, and the table that each is an index into."""


def stored_kept_run(run: KeptRun) -> StoredKeptRun:
    """The message of a run.

    >>> from tfprof_widget.lib.messages import StoredKeptRun
    >>> read_kept_run(stored_kept_run(KeptRun(label="In[7]", nanos=np.zeros(0)))).label
    'In[7]'
    """
    from tfprof_widget.lib.messages import StoredKeptRun

    ops = run.ops
    message = StoredKeptRun(
        taken=run.taken.timestamp() if run.taken else 0.0,
        fingerprint=run.fingerprint,
        parts=run.parts,
        names=ops.names,
        types=ops.types,
        shapes=ops.shapes,
        layers=ops.layers,
        input_start=ops.inputs.start.tolist(),
        inputs=ops.inputs.values.tolist(),
        **{name: getattr(run, name) for name in (*_TEXTS, *_NUMBERS)},
        **{name: getattr(run, name).tolist() for name in _TIMES},
        **{name: getattr(ops, name).tolist() for name in _OP_COLUMNS},
    )
    for line in ops.lines:
        message.lines.add(**vars(line))
    return message


def with_kept_run(tables: ProfileTables, message: Any) -> ProfileTables:
    """The tables with what a saved profile keeps of its run; as they are if it keeps nothing.

    >>> from tfprof_widget.demo import demo_profile
    >>> from tfprof_widget.lib.messages import ProfileProto
    >>> demo = demo_profile()
    >>> with_kept_run(demo, ProfileProto()) is demo
    True
    """
    return tables.having(kept_run=read_kept_run(message.kept_run)) if message.HasField("kept_run") else tables


def read_kept_run(message: StoredKeptRun) -> KeptRun:
    """The run of a message; raises ProfileError if its columns do not fit each other.

    >>> from tfprof_widget.lib.messages import StoredKeptRun
    >>> read_kept_run(StoredKeptRun(names=["a"]))
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: profile: what is kept of its run is damaged; save it again, or ...
    """
    columns = {name: np.array(getattr(message, name), np.int32) for name in _OP_COLUMNS}
    inputs = Lists(np.array(message.input_start or [0], np.int64), np.array(message.inputs, np.int32))
    times = {name: np.array(getattr(message, name), np.float64) for name in _TIMES}
    count = len(message.names)
    tables: dict[str, Sized] = {name: getattr(message, table) for name, table in _OP_COLUMNS.items()}
    fits = (
        all(_indexes(column, count, len(tables[name])) for name, column in columns.items())
        and all(name == "line" or (column != ABSENT).all() for name, column in columns.items())
        and len(times["nanos"]) == count
        and _are_lists(inputs, count)
        and _indexes(inputs.values, len(inputs.values), count)
    )
    if not fits:
        raise ProfileError(
            "profile: what is kept of its run is damaged; save it again, or load the file with an older version"
        )
    values: dict[str, Any] = {name: getattr(message, name) for name in (*_TEXTS, *_NUMBERS)} | times
    return KeptRun(
        taken=datetime.fromtimestamp(message.taken, UTC) if 0 < message.taken < 1e11 else None,
        fingerprint=dict(message.fingerprint),
        parts=dict(message.parts),
        ops=GraphOps(
            names=tuple(message.names),
            types=tuple(message.types),
            shapes=tuple(message.shapes),
            layers=tuple(message.layers),
            lines=tuple(CodeLine(each.file, each.line, each.function, each.source) for each in message.lines),
            inputs=inputs,
            **columns,
        ),
        **values,
    )


def _indexes(column: NDArray[np.integer], count: int, most: int) -> bool:
    """Whether a column has so many indices of a table of this length; an index of -1 is of no row."""
    return len(column) == count and bool(((column >= ABSENT) & (column < most)).all())


def _are_lists(lists: Lists, count: int) -> bool:
    start: NDArray[np.int64] = lists.start
    return (
        len(lists) == count and start[0] == 0 and bool((np.diff(start) >= 0).all()) and start[-1] == len(lists.values)
    )

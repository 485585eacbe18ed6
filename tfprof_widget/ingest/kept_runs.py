"""Writes what is kept of a run of a cell into a saved profile, and reads it from there."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.profiles.cell import CodeLine
from tfprof_widget.profiles.data import ProfileTables
from tfprof_widget.profiles.kept_run import GraphOps, KeptRun
from tfprof_widget.profiles.tables import Lists

if TYPE_CHECKING:
    from collections.abc import Sized

    from tfprof_widget.lib.messages import StoredKeptRun

_TEXTS = ("name", "label", "cell", "source", "step")
_NUMBERS = ("others_cores", "cell_seconds")
_TIMES = ("step_seconds", "traced_seconds", "nanos")
_COLUMNS = {"type": "types", "shape": "shapes", "layer": "layers", "line": "lines"}
"""The columns of ops, and the table that each is an index into."""


def stored(run: KeptRun) -> StoredKeptRun:
    """The message of a run.

    >>> from tfprof_widget.lib.messages import StoredKeptRun
    >>> read_kept_run(stored(KeptRun(label="In[7]", nanos=np.zeros(0)))).label
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
        **{name: getattr(ops, name).tolist() for name in _COLUMNS},
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
    columns = {name: np.array(getattr(message, name), np.int32) for name in _COLUMNS}
    inputs = Lists(np.array(message.input_start or [0], np.int64), np.array(message.inputs, np.int32))
    times = {name: np.array(getattr(message, name), np.float64) for name in _TIMES}
    count = len(message.names)
    tables: dict[str, Sized] = {name: getattr(message, table) for name, table in _COLUMNS.items()}
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

"""Tells in sentences what went wrong with an XSpace, by its tracers' own words, and what helps."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from tfprof_widget.errors import shortened
from tfprof_widget.ingest.devices import RESTRICTED_COUNTERS
from tfprof_widget.ingest.xspace_events import tells_of_dropped

if TYPE_CHECKING:
    from tfprof_widget.ingest.xspace_columns import XSpaceColumns
    from tfprof_widget.messages import XSpace

MOST_NOTES = 5
_MOST_NAMED = 3
_LONGEST_TEXT = 300
_OF_NO_USE = "No GPU detected"
_FIXES = (
    (
        re.compile(r"load libcupti", re.IGNORECASE),
        "CUPTI comes with CUDA: install it, and put its directory on LD_LIBRARY_PATH before Python starts",
    ),
    (
        re.compile(r"cupti|privilege", re.IGNORECASE),
        RESTRICTED_COUNTERS,
    ),
)
_NUMBER = re.compile(r"\d+")


def read_notes(space: XSpace) -> tuple[str, ...]:
    """What the errors and warnings of an XSpace say, but for counts of dropped events, which are told apart.

    >>> from tfprof_widget.messages import XSpace
    >>> read_notes(XSpace(warnings=["the clock went back"]))
    ("TensorFlow's profiler says: the clock went back",)
    """
    texts = (" ".join(text.split()) for text in (*space.errors, *space.warnings))
    return _once_each(_note(text) for text in texts if text and _OF_NO_USE not in text and not tells_of_dropped(text))


def notes_on(traces: Iterable[XSpaceColumns], compiled: Collection[str]) -> tuple[str, ...]:
    """What is to be told of traces, and of the functions in them that XLA compiled.

    >>> notes_on([], ["train_step"])[0].partition(",")[0]
    "XLA compiled 'train_step' to one op"
    """
    notes = _once_each(note for trace in traces for note in trace.notes)
    if not compiled:
        return notes
    names = sorted(compiled)
    said = ", ".join(map(repr, names[:_MOST_NAMED])) + (" …" if len(names) > _MOST_NAMED else "")
    each = " each" if len(names) > 1 else ""
    return (
        *notes,
        f"XLA compiled {said} to one op{each}, which has all the time: the ops within show none. "
        "To see theirs, profile with jit_compile=False, which Keras's compile takes too",
    )


def _once_each(notes: Iterable[str]) -> tuple[str, ...]:
    """The first notes, and of those that differ only in numbers one."""
    found: dict[str, str] = {}
    for note in notes:
        found.setdefault(_NUMBER.sub("0", note), note)
    return tuple(found.values())[:MOST_NOTES]


def _note(text: str) -> str:
    fix = next((fix for pattern, fix in _FIXES if pattern.search(text)), "")
    said = f"TensorFlow's profiler says: {shortened(text, _LONGEST_TEXT)}"
    return f"{said.rstrip('.')}; {fix}" if fix else said

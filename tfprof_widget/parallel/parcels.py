"""Packs what was recorded into bytes that another process can unpack: columns, and nothing that lives here only."""

from __future__ import annotations

import io
import os
import pickle
import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from google.protobuf.message import Message

from tfprof_widget.capturing.recorded import Recorded
from tfprof_widget.messages import message_class
from tfprof_widget.output.source_lines import with_source_lines
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Traces

# Where a cell lies according to each kernel: the one it names holds the number of its process.
CELLS = "ipykernel/"


def packed(recorded: Recorded) -> bytes:
    """What was recorded, as bytes.

    >>> unpacked(packed(Recorded((), 1.5, 0.1, 0, ("a",)))).wall_seconds
    1.5
    """
    travelling = replace(
        recorded, graphs=tuple(replace(graph, profile=_travelling(graph.profile)) for graph in recorded.graphs)
    )
    parcel = io.BytesIO()
    _Pickler(parcel, protocol=5).dump(travelling)
    return parcel.getvalue()


def unpacked(parcel: bytes) -> Recorded:
    """What was recorded, from the bytes that `packed` made."""
    recorded = pickle.loads(parcel)
    assert isinstance(recorded, Recorded)
    return recorded


class _Pickler(pickle.Pickler):
    """Pickles messages by their names and bytes, as their classes belong to no module."""

    def reducer_override(self, value: Any) -> tuple[Callable[..., Any], tuple[Any, ...]] | Any:
        """How to make the value again; all but these are pickled as ever."""
        if isinstance(value, Message):
            return _message, (value.DESCRIPTOR.name, value.SerializeToString())
        return NotImplemented


def _message(name: str, content: bytes) -> Any:
    return message_class(name).FromString(content)


def _travelling(profile: Profile) -> Profile:
    """A profile with the texts of its source lines, for its files may be others elsewhere, and with no open files."""
    return replace(profile, traces=_told(profile.traces), checkpoint=None)


def _told(traces: Traces) -> Traces:
    here = os.path.join(tempfile.gettempdir(), f"ipykernel_{os.getpid()}", "")  # noqa: PTH118
    told = with_source_lines(traces)
    strings = tuple(CELLS + text.removeprefix(here) if text.startswith(here) else text for text in told.strings)
    return replace(told, strings=strings, live=frozenset())

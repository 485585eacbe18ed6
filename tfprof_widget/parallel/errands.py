"""Does on an engine what is asked, and packs what was recorded to travel."""

from __future__ import annotations

import io
import os
import pickle
import platform
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from google.protobuf.message import Message

from tfprof_widget.capturing.recording import Recording
from tfprof_widget.ingest.parts.stacks import with_source_lines
from tfprof_widget.lib.messages import message_class
from tfprof_widget.lib.version import __version__
from tfprof_widget.profiles.data import ProfileTables
from tfprof_widget.profiles.tables import CodeStacks


@dataclass(frozen=True)
class GetReady:
    """Teach the engine's shell the magics, and forget what was captured there before."""

    code: str

    def __call__(self) -> tuple[str, str, bool]:
        """The version of this package there, the engine's host, and whether the code would never be answered."""
        from IPython.core.getipython import get_ipython

        from tfprof_widget.api.capture import remember

        shell: Any = get_ipython()
        if shell.find_cell_magic("tfprof") is None:
            shell.run_line_magic("load_ext", "tfprof_widget")
        remember(None)
        return __version__, platform.node(), _awaits_in_vain(shell, self.code)


@dataclass(frozen=True)
class HandOver:
    """Hand over what was recorded of the cell."""

    def __call__(self) -> bytes | None:
        """The recording as bytes, None if there is none."""
        from tfprof_widget.api.capture import last

        capture = last()
        return None if capture is None else packed(capture.recorded)


def _awaits_in_vain(shell: Any, code: str) -> bool:
    """Whether code awaits on an engine of ipykernel 7, which lacks a thread there and breaks off without an answer."""
    lacks_thread = getattr(shell.kernel, "shell_channel_thread", shell) is None
    return lacks_thread and bool(shell.should_run_async(code, transformed_cell=shell.transform_cell(code)))


# Where a cell lies according to each kernel: the one it names holds the number of its process.
CELLS = "ipykernel/"


def packed(recorded: Recording) -> bytes:
    """What was recorded, as bytes.

    >>> unpacked(packed(Recording((), 1.5, 0.1, 0, ("a",)))).wall_seconds
    1.5
    """
    travelling = replace(
        recorded, graphs=tuple(replace(graph, tables=without_process(graph.tables)) for graph in recorded.graphs)
    )
    parcel = io.BytesIO()
    _Pickler(parcel, protocol=5).dump(travelling)
    return parcel.getvalue()


def unpacked(parcel: bytes) -> Recording:
    """What was recorded, from the bytes that `packed` made."""
    recorded = pickle.loads(parcel)
    assert isinstance(recorded, Recording)
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


def without_process(tables: ProfileTables) -> ProfileTables:
    """The stage that makes tables fit to travel: with the texts of source lines, and with no open files.

    >>> from tfprof_widget.demo import demo_profile
    >>> without_process(demo_profile()).checkpoint is None
    True
    """
    return tables.having(traces=_told(tables.traces), checkpoint=None)


def _told(traces: CodeStacks) -> CodeStacks:
    here = os.path.join(tempfile.gettempdir(), f"ipykernel_{os.getpid()}", "")  # noqa: PTH118
    told = with_source_lines(traces)
    strings = tuple(CELLS + text.removeprefix(here) if text.startswith(here) else text for text in told.strings)
    return replace(told, strings=strings, live=frozenset())

"""Holds the requests that are carried out on an engine, and packs recordings as bytes that can travel."""

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
    """The request to teach the engine's shell the magics, and to forget what was captured there before."""

    code: str

    def __call__(self) -> tuple[str, str, bool]:
        """Returns the package's version there, the engine's host, and whether the code would never be answered."""
        from IPython.core.getipython import get_ipython

        from tfprof_widget.api.capture import remember

        shell: Any = get_ipython()
        if shell.find_cell_magic("tfprof") is None:
            shell.run_line_magic("load_ext", "tfprof_widget")
        remember(None)
        return __version__, platform.node(), _awaits_in_vain(shell, self.code)


@dataclass(frozen=True)
class HandOver:
    """The request to hand over what was recorded of the cell."""

    def __call__(self) -> bytes | None:
        """Returns the recording as bytes; None if there is none."""
        from tfprof_widget.api.capture import last

        capture = last()
        return None if capture is None else packed(capture.recorded)


def _awaits_in_vain(shell: Any, code: str) -> bool:
    """Whether code has an `await` and the engine's ipykernel 7 lacks a thread, so that it would never answer."""
    lacks_thread = getattr(shell.kernel, "shell_channel_thread", shell) is None
    return lacks_thread and bool(shell.should_run_async(code, transformed_cell=shell.transform_cell(code)))


# The folder of cells in packed recordings: in each kernel the folder's name has the number of the process.
CELLS = "ipykernel/"


def packed(recorded: Recording) -> bytes:
    """A recording as bytes.

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
    """The recording in the bytes that `packed` made."""
    recorded = pickle.loads(parcel)
    assert isinstance(recorded, Recording)
    return recorded


class _Pickler(pickle.Pickler):
    """Pickles protobuf messages by name and bytes, since their classes belong to no module."""

    def reducer_override(self, value: Any) -> tuple[Callable[..., Any], tuple[Any, ...]] | Any:
        """How to make a message again; other values are pickled as usual."""
        if isinstance(value, Message):
            return _message, (value.DESCRIPTOR.name, value.SerializeToString())
        return NotImplemented


def _message(name: str, content: bytes) -> Any:
    return message_class(name).FromString(content)


def without_process(tables: ProfileTables) -> ProfileTables:
    """The stage that makes tables ready to travel: with the texts of source lines, and without open files.

    >>> from tfprof_widget.demo import demo_profile
    >>> without_process(demo_profile()).checkpoint is None
    True
    """
    return tables.having(traces=_ready_to_travel(tables.traces), checkpoint=None)


def _ready_to_travel(traces: CodeStacks) -> CodeStacks:
    """The stacks with their source lines, and with cells' files named alike on all engines."""
    here = os.path.join(tempfile.gettempdir(), f"ipykernel_{os.getpid()}", "")  # noqa: PTH118
    stacks = with_source_lines(traces)
    strings = tuple(CELLS + text.removeprefix(here) if text.startswith(here) else text for text in stacks.strings)
    return replace(stacks, strings=strings, live=frozenset())

"""Opens and closes sessions of TensorFlow's own profiler, notes what they lack, and ends them when others want one."""

from __future__ import annotations

import ctypes
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import time_ns
from types import ModuleType
from typing import Any

from tfprof_widget.capturing.collectives import CONTEXT
from tfprof_widget.capturing.hooks import patches_of
from tfprof_widget.ingest.flops.registry import EagerOp
from tfprof_widget.lib.safely import sweep_temporary, unmade_directory
from tfprof_widget.lib.text import LIBRARIES

# The level is an option of the profiler's session, but TensorFlow 2.21 refuses every value that Python can give.
LEVEL = "_ZN3tsl8profiler8internal13g_trace_levelE"
DEFAULT, VERBOSE = 2, 3


def record_cheap_ops(bindings: ModuleType) -> bool:
    """Let the session that has just begun record cheap ops too; gives False if this TensorFlow has no such level.

    `bindings` is the profiler's module, whose file is linked with TensorFlow's library.
    """
    try:
        level = ctypes.c_int.in_dll(ctypes.CDLL(bindings.__file__ or "missing"), LEVEL)
    except (AttributeError, OSError, ValueError):
        return False
    if level.value == DEFAULT:
        level.value = VERBOSE
    return level.value == VERBOSE


BINDINGS = "tensorflow.python.profiler.internal._pywrap_profiler"
PUBLIC = "tensorflow.python.profiler.profiler_v2"
SESSION_TYPE = "ProfilerSession"
EXECUTE = "tensorflow.python.eager.execute"
MOST_EAGER_OPS = 50_000
"""The most eager ops that are noted in a window: in the second that these are recorded, some 30,000 run."""
_OPTIONS: dict[str, int] = {}  # the session takes no options but the default ones, and warns of others


class ProfilerBusy(Exception):
    """Another session of the profiler is active; the text says who started it, if that is known."""


class ProfilerShared(Exception):
    """Another capture in this process records, and was asked to close its window after its step."""


class ProfilerDisk(Exception):
    """The profiler could not write its recording to a temporary directory; the text says which and why."""


class EagerOpNotes:
    """Notes of the ops that the thread of a capture runs one by one, while a window is open.

    TensorFlow calls the callbacks in a list of the thread after each op, and while it builds graphs; after ops that it
    executes the slow way, because an input is no tensor yet, only if it is told so. Nothing is noted where eager ops
    are asynchronous or run in other processes: to ask for a shape there waits for the op.

    >>> notes = EagerOpNotes([])
    >>> notes.begin()
    >>> notes.end()
    []
    """

    def __init__(self, callbacks: list[Callable[..., Any]] | None) -> None:
        self._callbacks = callbacks
        self._noted: list[EagerOp] = []
        self._execute: Any = None

    @classmethod
    def of_this_thread(cls) -> EagerOpNotes:
        """Notes of the ops of the thread that calls this; they stay empty if TensorFlow has no such callbacks."""
        try:
            context = sys.modules[CONTEXT].context()
            is_elsewhere = context._server_def is not None or context.is_async()
            callbacks = None if is_elsewhere else context._thread_local_data.op_callbacks
        except Exception:  # another TensorFlow
            callbacks = None
        return cls(callbacks if isinstance(callbacks, list) else None)

    def begin(self) -> None:
        """Note the ops from here on."""
        if self._callbacks is None:
            return
        self._callbacks.append(self._note)
        execute = sys.modules.get(EXECUTE)
        quick, calling = (getattr(execute, name, None) for name in ("quick_execute", "execute_with_callbacks"))
        if calling is not None and getattr(execute, "execute", None) is quick:
            self._execute = execute
            self._execute.execute = calling

    def end(self) -> Sequence[EagerOp]:
        """Note no more ops; returns those noted since the beginning."""
        if self._callbacks is not None and self._note in self._callbacks:
            self._callbacks.remove(self._note)
        if self._execute is not None:
            self._execute.execute, self._execute = self._execute.quick_execute, None
        noted, self._noted = self._noted, []
        return noted

    def _note(self, op: Any, inputs: Any, attributes: Any, outputs: Any, op_name: Any = None, graph: Any = None) -> Any:
        __tracebackhide__ = True
        if graph is not None:
            # TensorFlow takes what is returned in place of its own list, and hands it to the next callback.
            return None if len(self._callbacks or ()) < 2 else list(outputs)
        try:
            if len(self._noted) < MOST_EAGER_OPS:
                shapes = [[each._shape_tuple() for each in tensors] for tensors in (inputs, outputs)]
                name = op.decode() if isinstance(op, bytes) else op
                self._noted.append(EagerOp(time_ns(), name, attributes, *shapes))
        except Exception:  # a tensor of another kind; the op counts as one of unknown shapes
            return None
        return None


class TfProfiler:
    """TensorFlow's profiler, of which a process has one; `session_type` is TensorFlow's class of its sessions.

    `has_cheap_ops` says whether the last session records cheap ops too, and `started` when it began, in nanoseconds
    since the epoch. `eager_ops` are those that the thread that made this ran one by one in the last session.
    """

    def __init__(self, session_type: Any) -> None:
        self.session_type = session_type
        self.is_open = False
        self.has_cheap_ops = True
        self.started = 0
        self.eager_ops: Sequence[EagerOp] = ()
        self.others = ""
        self._session: Any = None
        self._directory = ""
        self._has_swept = False
        self._notes = EagerOpNotes.of_this_thread()

    def open(self) -> None:
        """Start recording, as soon as another capture that records has closed its window.

        Raises ProfilerShared if that takes a while, ProfilerBusy if someone else records, and ProfilerDisk if no
        temporary directory can be made.
        """
        try:
            directory = unmade_directory()
        except OSError as error:
            raise ProfilerDisk(_disk(error.strerror or str(error))) from None
        session = self._started(directory)
        self._session, self._directory, self.is_open = session, directory, True
        bindings = sys.modules.get(BINDINGS)
        self.has_cheap_ops = bindings is not None and record_cheap_ops(bindings)
        self._notes.begin()

    def close(self) -> bytes:
        """Stop recording; returns the XSpace, or raises ProfilerDisk."""
        session, directory = self._session, self._directory
        self._session, self._directory, self.is_open = None, "", False
        try:
            Path(directory).mkdir(mode=0o700)
            session.export_to_tb()
            return b"".join(path.read_bytes() for path in sorted(Path(directory).rglob("*.xplane.pb")))
        except Exception as error:  # TensorFlow's own, of many types
            raise ProfilerDisk(_disk(str(error).rpartition("; ")[2])) from None
        finally:
            self.eager_ops = self._notes.end()  # no sooner, so that all ops that were recorded are noted
            shutil.rmtree(directory, ignore_errors=True)
            if not self._has_swept:
                self._has_swept = True
                sweep_temporary()

    def _started(self, directory: str) -> Any:
        """A session that records; another capture that records is asked once to close its window."""
        for is_last in (False, True):
            session = self.session_type()
            self.started = time_ns()
            try:
                session.start(directory, dict(_OPTIONS))
            except Exception as error:
                if type(error).__name__ != "AlreadyExistsError":
                    raise
                holders = [each for each in _captures() if each.profiler is not self and each.profiler.is_open]
                if not holders:
                    raise ProfilerBusy(self._whose()) from None
                if is_last or not holders[0].hand_over():  # there is one session, and so one holder
                    raise ProfilerShared from None
            else:
                return session
        raise ProfilerShared

    def _whose(self) -> str:
        if self.others:
            return f"started by {self.others}"
        public = sys.modules.get(PUBLIC)
        if getattr(public, "_profiler", None) is not None:
            return "started before with tf.profiler.experimental.start, or by a TensorBoard callback"
        return "started by a profiler server or another library"


@dataclass(frozen=True)
class ProfilerTurns:
    """A replacement of TensorFlow's session type, by which a capture ends its session when others want one.

    `release` is called before anyone but a capture makes a session. Another capture calls `hand_over`, which says
    whether this capture has closed its window already.
    """

    profiler: TfProfiler
    release: Callable[[], None]
    hand_over: Callable[[], bool]

    def __call__(self, original: Any) -> Callable[..., Any]:
        """The function that takes the place of the original."""

        def make(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            self.profiler.others = _caller()
            self.release()
            return original(*arguments, **named)

        return make


def without_captures(session_type: Any) -> Any:
    """TensorFlow's own session type, given the function that captures put in its place.

    >>> without_captures(int)
    <class 'int'>
    """
    for patch in patches_of(session_type):
        session_type = patch.original
    return session_type


def _captures() -> Iterator[ProfilerTurns]:
    """The captures that are under way in this process."""
    for patch in patches_of(getattr(sys.modules.get(BINDINGS), SESSION_TYPE, None)):
        if isinstance(patch.replacement, ProfilerTurns):
            yield patch.replacement


def _disk(reason: str) -> str:
    """The directory for temporary files, and why writing there failed."""
    return f"{tempfile.tempdir or 'there is none'}: {reason}"


def _caller() -> str:
    """The line of the user's program that is running: the innermost frame outside of the libraries."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not any(f"/{library}/" in file.replace("\\", "/") for library in LIBRARIES):
            return f"{file}, line {frame.f_lineno}"
        if frame.f_back is None:
            break
        frame = frame.f_back
    return "TensorFlow itself"

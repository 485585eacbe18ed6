"""Opens and closes sessions of TensorFlow's own profiler, and makes way for anyone else who wants one."""

from __future__ import annotations

import ctypes
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import time_ns
from types import ModuleType
from typing import Any

from tfprof_widget.capturing.hooks import patches_of

# A profiler's session should take the level as an option, but TensorFlow 2.21 refuses every value that Python can give.
LEVEL = "_ZN3tsl8profiler8internal13g_trace_levelE"
DEFAULT, VERBOSE = 2, 3


def record_cheap_ops(bindings: ModuleType) -> bool:
    """Raise the level of the session that has just begun, until it ends; False where TensorFlow lets nobody do that.

    `bindings` are those of the profiler, whose file is linked with TensorFlow's library.
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
_OPTIONS: dict[str, int] = {}  # others than the default ones it does not take, and says so
_LIBRARIES = ("/tensorflow/", "/keras/", "/tf_keras/", "/tfprof_widget/")


class ProfilerBusy(Exception):
    """Another session of the profiler is active; says whose as far as that is known."""


class ProfilerShared(Exception):
    """Another capture of this process records, and was asked to make way after its step."""


class ProfilerDisk(Exception):
    """The profiler could not write what it recorded, which it does before it gives it; says where and why."""


class TfProfiler:
    """The profiler of this process, of which there is one; `session_type` is TensorFlow's own.

    Of the session that began last, `has_cheap_ops` says whether it records all ops, and `started` when it began, in
    nanoseconds since the epoch.
    """

    def __init__(self, session_type: Any) -> None:
        self.session_type = session_type
        self.is_open = False
        self.has_cheap_ops = True
        self.started = 0
        self.others = ""
        self._session: Any = None
        self._directory = ""

    def open(self) -> None:
        """Start recording, as soon as another capture makes way.

        Raises ProfilerShared if that takes a while, ProfilerBusy if someone else records, and ProfilerDisk where there
        is no place for it.
        """
        try:
            directory = tempfile.mkdtemp(prefix="tfprof_widget-")
        except OSError as error:
            raise ProfilerDisk(_disk(error.strerror or str(error))) from None
        try:
            session = self._started(directory)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        self._session, self._directory, self.is_open = session, directory, True
        bindings = sys.modules.get(BINDINGS)
        self.has_cheap_ops = bindings is not None and record_cheap_ops(bindings)

    def close(self) -> bytes:
        """Stop recording; returns the XSpace, or raises ProfilerDisk."""
        session, directory = self._session, self._directory
        self._session, self._directory, self.is_open = None, "", False
        try:
            session.export_to_tb()
            return b"".join(path.read_bytes() for path in sorted(Path(directory).rglob("*.xplane.pb")))
        except Exception as error:  # TensorFlow's own, of many types
            raise ProfilerDisk(_disk(str(error).rpartition("; ")[2])) from None
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _started(self, directory: str) -> Any:
        """A session that records; other captures are asked once to make way for it."""
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
    """A replacement of TensorFlow's session type: `release` is called before others than captures get a session.

    `hand_over` is what another capture calls; it says whether this one is out of the way already.
    """

    profiler: TfProfiler
    release: Callable[[], None]
    hand_over: Callable[[], bool]

    def __call__(self, original: Any) -> Callable[..., Any]:
        """What takes the place of the original."""

        def make(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            self.profiler.others = _caller()
            self.release()
            return original(*arguments, **named)

        return make


def without_captures(session_type: Any) -> Any:
    """TensorFlow's own session type, of what is in its place while others capture.

    >>> without_captures(int)
    <class 'int'>
    """
    for patch in patches_of(session_type):
        session_type = patch.original
    return session_type


def _captures() -> Iterator[ProfilerTurns]:
    """The captures that go on in this process."""
    for patch in patches_of(getattr(sys.modules.get(BINDINGS), SESSION_TYPE, None)):
        if isinstance(patch.replacement, ProfilerTurns):
            yield patch.replacement


def _disk(reason: str) -> str:
    """Where it was to be written, without the name that differs each time, and why that failed."""
    return f"{tempfile.tempdir or 'there is none'}: {reason}"


def _caller() -> str:
    """Where in the user's program the code is that is running: the innermost frame outside of the libraries."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not any(each in file.replace("\\", "/") for each in _LIBRARIES):
            return f"{file}, line {frame.f_lineno}"
        if frame.f_back is None:
            break
        frame = frame.f_back
    return "TensorFlow itself"

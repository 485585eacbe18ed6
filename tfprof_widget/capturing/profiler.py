"""Opens and closes sessions of TensorFlow's own profiler, and makes way for anyone else who wants one."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import time_ns
from typing import Any

from tfprof_widget.capturing.cheap_ops import record_cheap_ops

BINDINGS = "tensorflow.python.profiler.internal._pywrap_profiler"
PUBLIC = "tensorflow.python.profiler.profiler_v2"
SESSION = "ProfilerSession"
_OPTIONS: dict[str, int] = {}  # others than the default ones it does not take, and says so
_LIBRARIES = ("/tensorflow/", "/keras/", "/tf_keras/", "/tfprof_widget/")


class ProfilerBusy(Exception):
    """Another session of the profiler is active; says whose as far as that is known."""


class ProfilerDisk(Exception):
    """The profiler could not write what it recorded, which it does before it gives it; says where and why."""


class Profiler:
    """The profiler of this process, of which there is one; `session_type` is TensorFlow's own.

    Of the session that began last, `has_cheap_ops` says whether it records all ops, and `started` when it began, in
    nanoseconds since the epoch.

    >>> Profiler(None).is_open
    False
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
        """Start recording; raises ProfilerBusy if someone else records, ProfilerDisk where there is no place for it."""
        try:
            directory = tempfile.mkdtemp(prefix="tfprof_widget-")
        except OSError as error:
            raise ProfilerDisk(_disk(error.strerror or str(error))) from None
        try:
            session = self.session_type()
            self.started = time_ns()
            session.start(directory, dict(_OPTIONS))
        except Exception as error:
            shutil.rmtree(directory, ignore_errors=True)
            if type(error).__name__ != "AlreadyExistsError":
                raise
            raise ProfilerBusy(self._whose()) from None
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

    def making_way(self, make_way: Callable[[], None]) -> Callable[[Any], Callable[..., Any]]:
        """A replacement of TensorFlow's session type: calls `make_way` before others get a session."""

        def replace(original: Any) -> Callable[..., Any]:
            def make(*arguments: Any, **named: Any) -> Any:
                __tracebackhide__ = True
                self.others = _caller()
                make_way()
                return original(*arguments, **named)

            return make

        return replace

    def _whose(self) -> str:
        if self.others:
            return f"started by {self.others}"
        public = sys.modules.get(PUBLIC)
        if getattr(public, "_profiler", None) is not None:
            return "started before with tf.profiler.experimental.start, or by a TensorBoard callback"
        return "started by a profiler server or another library"


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

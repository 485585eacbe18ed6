"""Holds back Ctrl-C, detects forks, and writes files whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import tempfile
import threading
import time
from _signal import getsignal  # that of `signal` takes 1.5 µs more, to look for an enum of the handler
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from os import PathLike
from pathlib import Path
from types import FrameType
from typing import Any
from weakref import WeakSet

from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.urls import is_url, write_at

Handler = Callable[[int, FrameType | None], Any]

PACKAGE = __name__.partition(".")[0] + "."
HOOK = "__tracebackhide__"
"""Functions of this package that call the user's code have a local variable of this name."""


class Interrupts:
    """The handler of Ctrl-C while something is captured; it replaces `handler`.

    An interrupt takes effect at once while the user's code runs, or code that the user's code calls. While this
    package's code runs, the interrupt waits for `deliver`, which the package calls as soon as it is done.
    """

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.holders = 1
        self.is_reading = False
        self.received: tuple[int, FrameType | None] | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Pass the interrupt on, now or when the package's code is done."""
        if self.holders and not self.is_reading and is_own_code(frame):
            self.received = number, frame
        else:
            self.handler(number, frame)

    def deliver(self) -> None:
        """Raise an interrupt that has waited."""
        received, self.received = self.received, None
        if received is not None:
            self.handler(*received)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Raise interrupts at once in this block: it reads results, which takes long, and only these are lost."""
        self.is_reading = True
        try:
            yield
        finally:
            self.is_reading = False


def hold_interrupts() -> Interrupts | None:
    """Let interrupts wait while this package's code runs, until `release_interrupts`.

    Only the main thread gets interrupts. In other threads this does nothing and returns None.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        return None
    if isinstance(handler, Interrupts) and handler.holders:
        handler.holders += 1
        return handler
    held = Interrupts(handler)
    signal.signal(signal.SIGINT, held)
    return held


def release_interrupts(held: Interrupts | None) -> None:
    """Restore the handler of Ctrl-C once all holders have released it, and raise an interrupt that has waited.

    A handler that the user has set in the meantime stays.
    """
    if held is None:
        return
    current: object = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()  # no other thread may change handlers
    if held.holders == 1 and current is held and is_main:
        signal.signal(signal.SIGINT, held.handler)
    held.holders -= 1
    held.deliver()


def deliver_interrupt() -> None:
    """Raise an interrupt that has waited for this package's code."""
    handler = getsignal(signal.SIGINT)
    if isinstance(handler, Interrupts) and handler.received is not None:
        handler.deliver()


def is_own_code(frame: FrameType | None) -> bool:
    """Whether this package, and not the user's code, runs in this frame or called the code that runs in it.

    >>> is_own_code(None)
    False
    """
    innermost = frame
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(PACKAGE):
            return frame is innermost or HOOK not in frame.f_code.co_varnames
        frame = frame.f_back
    return False


@contextmanager
def postpone_ctrl_c() -> Iterator[None]:
    """Hold an interrupt back until the end of the block; only the main thread gets interrupts.

    >>> try:
    ...     with postpone_ctrl_c():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("done")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    done
    interrupted
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    received: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: received.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if received:
            handler(*received[-1])


FORKED = (
    "this process was forked off while its parent captured, and the capture is the parent's: "
    "put `with tfprof_widget.capture():` into what runs here to have one of its own"
)


class RecordingProcess:
    """The process in which this object is made. In its forks locks, threads and TensorFlow's profiler do not work.

    `is_another` says whether the caller runs in such a fork.

    >>> RecordingProcess().is_another
    False
    """

    def __init__(self) -> None:
        self.is_another = False
        _recording_processes().add(self)


@cache
def _recording_processes() -> WeakSet[RecordingProcess]:
    """The objects to mark in a fork: to ask for the number of the process at each run would take longer."""
    made = WeakSet[RecordingProcess]()

    def mark() -> None:
        for process in made:
            process.is_another = True

    os.register_at_fork(after_in_child=mark)
    return made


def write_whole(path: str | PathLike[str], content: bytes | bytearray) -> None:
    """Write a file so that a reader finds either the whole new file or the old one; the path may be a URL.

    >>> write_whole("/no/such/directory/file", b"")
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: cannot write '/no/such/directory/file': ...
    """
    if is_url(path):
        write_at(os.fspath(path), content)
        return
    try:
        if Path(path).exists() and not Path(path).is_file():
            Path(path).write_bytes(content)  # a pipe or a device, which must not be replaced
        else:
            _replace(Path(path).resolve(), content)  # a link stays a link
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        way_out = "choose a directory that exists and that you may write to"
        if getattr(error, "errno", None) in NO_ROOM:
            way_out = "make room there, or choose another disk"
        raise ProfileError(f"cannot write {os.fspath(path)!r}: {reason}; {way_out}") from None


NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
UNFINISHED = ".tfprof-"
"""How the names of files begin that are being written."""
SECONDS_OF_WRITERS = 3600
"""A file that has been unfinished for longer was left by a process that was killed while it wrote."""


def _replace(target: Path, content: bytes | bytearray) -> None:
    handle, beside = tempfile.mkstemp(prefix=UNFINISHED, dir=target.parent)
    try:
        _sweep(target.parent, os.fstat(handle).st_mtime)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        Path(beside).replace(target)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _sweep(directory: Path, now: float) -> None:
    """Remove what killed processes left unfinished; `now` is by the clock that dates files there."""
    for path in _left_behind(directory, UNFINISHED, now):
        with suppress(OSError):  # another process may sweep too
            path.unlink()


def _left_behind(directory: Path, prefix: str, now: float) -> Iterator[Path]:
    """What is in a directory under such names and is so old that who made it was killed; no links."""
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and not entry.is_symlink():
                with suppress(OSError):
                    if now - entry.stat(follow_symlinks=False).st_mtime > SECONDS_OF_WRITERS:
                        yield Path(entry.path)


TEMPORARY = "tfprof_widget-"
"""How the names of directories begin that TensorFlow's profiler writes to, for as long as it takes to read them."""


def unmade_directory() -> str:
    """A name for a directory among the temporary files, of which nothing is left if the process is killed before.

    `os.mkdir(name, 0o700)` makes it when there is something to write. Raises OSError where nothing can be made.

    >>> Path(unmade_directory()).exists()
    False
    """
    name = tempfile.mkdtemp(prefix=TEMPORARY)
    Path(name).rmdir()
    return name


def sweep_temporary() -> None:
    """Remove the directories among the temporary files that processes left which were killed while they read them."""
    for path in _left_behind(Path(tempfile.gettempdir()), TEMPORARY, time.time()):
        shutil.rmtree(path, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

"""Captures the program that runs in this process: from the import of TensorFlow to the end of the process."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from tfprof_widget.capturing.hooks import add_finder, remove_finder
from tfprof_widget.ingest.files.jobs import EXIT_CODE, exit_words
from tfprof_widget.jobs.reporter import Reporter
from tfprof_widget.jobs.settings import JobSettings, take_folder
from tfprof_widget.lib.safely import is_own_code

if TYPE_CHECKING:
    from tfprof_widget.profiles.live import Status

AWAITED = "tensorflow"
"""The capture begins when this is imported; Keras imports it too, if TensorFlow is what it runs on."""

DEADLY = (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGTERM,)
PATIENCE = 2.0
"""So long the main thread may take to notice a signal, before the thread that reports acts for it."""


def begin(folder: str) -> None:
    """Begin to capture this process, whose modules are looked for in `folder` first, if its environment asks for it."""
    settings = JobSettings.of(os.environ)
    if settings is None:
        return
    if not settings.follows:
        take_folder(folder, os.environ)
    RunningTask(settings).begin()


@dataclass(frozen=True)
class Ending:
    """How the program ended; `code` is None where that is not known yet.

    `words` say why. `bare_words` say it without what may tell of the source, such as the message of an error.
    """

    status: Status = "ended"
    code: int | None = None
    words: str = ""
    bare_words: str = ""
    error: BaseException | None = None


def of_error(error: BaseException) -> Ending:
    """The ending by an error that nobody caught.

    >>> of_error(ValueError("nan")).words
    'ValueError: nan'
    """
    interrupted = isinstance(error, KeyboardInterrupt)
    status: Status = "interrupted" if interrupted else "failed"
    return Ending(status, -signal.SIGINT if interrupted else 1, _told(error), type(error).__name__, error)


def of_exit(status: Any) -> Ending:
    """The ending that `sys.exit` asks for; its code is not known, as the program may think better of it.

    >>> of_exit(3).words, of_exit(None).status
    ('exit code 3', 'ended')
    """
    if status is None or (isinstance(status, int) and not status & 0xFF):
        return Ending()
    words = exit_words(status & 0xFF if isinstance(status, int) else 1)
    return Ending("failed", None, words if isinstance(status, int) else str(status), words)


def of_signal(number: int) -> Ending:
    """The ending by a signal.

    >>> of_signal(15).words
    'SIGTERM'
    """
    name = signal.Signals(number).name
    return Ending("interrupted", -number, name, name)


def _told(error: BaseException) -> str:
    """The error in a line, with the innermost place of the user's code."""
    told = traceback.format_exception_only(type(error), error)[-1].strip()
    frames = traceback.extract_tb(error.__traceback__)
    place = next((f" ({os.path.basename(each.filename)}:{each.lineno})" for each in reversed(frames)), "")  # noqa: PTH119
    return told + place


def note_exit_code(path: Path) -> None:
    """Let the C library write the code of this process to a file, as one byte, when the process is over.

    Python tells nobody the code of a `SystemExit` that was raised, and by the time that it is known, no Python runs any
    more. The GNU C library calls a function with the code then; `fputc` is one that fits. What it writes is flushed
    behind everything else, so the file stays empty where the process crashes on its way out. Elsewhere there is none.
    """
    with suppress(Exception):
        from ctypes import CDLL, c_char_p, c_void_p, cast

        library = CDLL(None)
        open_file, at_exit = library.fopen, library.on_exit
        open_file.argtypes, open_file.restype = [c_char_p, c_char_p], c_void_p
        at_exit.argtypes = [c_void_p, c_void_p]
        write_byte = cast(library.fputc, c_void_p)
        file = open_file(os.fsencode(path), b"wbe")
        if file:
            at_exit(write_byte, file)


class RunningTask:
    """The capture of this process, and what it writes meanwhile and at its end."""

    def __init__(self, settings: JobSettings) -> None:
        self.settings = settings
        self.pid = os.getpid()
        self.reporter = Reporter(settings, self.pid)
        self._capturing: Any = None
        self._capture: Any = None
        self._exit: Any = None
        self._ending: Ending | None = None
        self._exit_at_once = os._exit
        self._is_ending = self._is_over = self._is_left = self._is_postponed = False
        self._killed_by = 0
        self._lock = threading.RLock()
        self._finder = _Imported(self._start)

    def begin(self) -> None:
        """Watch for TensorFlow, and for the end of the process."""
        atexit.register(self._at_exit)
        add_finder(self._finder)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)
        self._note_exits()
        if self.settings.is_first:
            self._watch()

    def _watch(self) -> None:
        """Report from now on, in the thread that does so, also where the process is told to end."""
        self.reporter.start(self._is_told_to_end)
        if self.settings.follows and self.settings.is_first:
            self.settings.of_children(self.reporter.job).put(os.environ)
        if threading.current_thread() is threading.main_thread():
            for number in DEADLY:
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, self._told_to_end)

    def _start(self) -> None:
        """Begin the capture: TensorFlow is about to be imported."""
        remove_finder(self._finder)
        if self._is_ending or os.getpid() != self.pid:
            return
        try:
            from tfprof_widget.api.capture import capture

            settings = self.settings
            capturing = capture(
                name=settings.name or settings.title * settings.with_source,
                collectives=settings.collectives,
                **settings.sampling,
            )
            self._capturing, self._capture = capturing, capturing.__enter__()
        except Exception as error:
            self.reporter.say(f"the program runs, but is not captured ({type(error).__name__}: {error})")
            return
        self.reporter.capturing = capturing
        self.reporter.capture = self._capture
        if not self.settings.is_first:
            self._watch()

    def _at_exit(self) -> None:
        if os.getpid() != self.pid:
            return
        error = getattr(sys, "last_value", None)
        if error is not None:
            self.end(of_error(error))
        else:
            self.end(Ending() if self._exit is None else of_exit(*self._exit))
        if self._killed_by:
            self._die(self._killed_by)
        if self.reporter.directory is not None:
            note_exit_code(self.reporter.directory / EXIT_CODE)

    def end(self, ending: Ending) -> None:
        """End the capture and hand in what was captured; what fails is told, and changes nothing of how it ends."""
        with self._lock:
            if self._is_ending:
                return
            self._is_ending, self._ending = True, ending
        try:
            self._release_signals()
            remove_finder(self._finder)
            self.reporter.stop()
            self.reporter.look()
            if self._capturing is not None:
                self._capturing.__exit__(None, ending.error, None)
            elif not self.settings.is_first:
                return  # a process without TensorFlow, of which nothing is told
            words = ending.words if self.settings.with_source else ending.bare_words
            self.reporter.hand_in(ending.status, ending.code, words)
        except Exception as error:
            self.reporter.say(f"the profile is not complete ({type(error).__name__}: {error})")
        finally:
            self._is_over = True

    def _release_signals(self) -> None:
        """Let signals find the process as it would be; while what was captured is read they still wait."""
        self.reporter.forget_signals()

    def _told_to_end(self, number: int, frame: FrameType | None) -> None:
        """Take a signal that ends the process: hand in first."""
        if os.getpid() != self.pid:
            self._die(number)
        if self._is_ending and not self._is_over:
            self._killed_by = number
            return
        if is_own_code(frame) and self.reporter.pass_on(number):
            self._is_postponed = True  # it may hold locks that reading takes, as only its thread can release them
            return
        self.end(of_signal(number))
        self._die(number)

    def _is_told_to_end(self, number: int) -> None:
        """Take the same signal in the thread that reports, where the main thread is in a long call of a library.

        Where it was in code of this package, it gets the signal again, until it is not.
        """
        if number not in DEADLY or signal.getsignal(number) != self._told_to_end:
            return
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if self._is_ending:
                return
            if self._is_postponed:
                self._is_postponed = False
                signal.pthread_kill(threading.main_thread().ident or 0, number)
            time.sleep(0.05)
        self.end(replace(of_signal(number), code=128 + number))
        self._exit_at_once(128 + number)

    @staticmethod
    def _die(number: int) -> None:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _note_exits(self) -> None:
        """Let `sys.exit` tell what it was given, and `os._exit`, after which nothing else runs, hand in first."""
        original, at_once = sys.exit, self._exit_at_once

        def exit(status: Any = None, /) -> None:
            if threading.current_thread() is threading.main_thread():
                self._exit = (status,)
            original(status)

        def _exit(status: int) -> None:
            if os.getpid() == self.pid and isinstance(status, int):
                self._end_at_once(status & 0xFF)
            at_once(status)

        exit.__doc__, _exit.__doc__ = original.__doc__, at_once.__doc__
        sys.exit, os._exit = exit, _exit  # type: ignore[assignment]

    def _end_at_once(self, code: int) -> None:
        """Hand in before `os._exit`; if that has been done by somebody who did not know the code, tell the code."""
        with suppress(Exception):
            error = getattr(sys, "last_value", None)  # such as that which a hook of the program's was just shown
            self.end(replace(of_exit(code) if error is None else of_error(error), code=code))
            if self._ending is not None and self._ending.code is None and self.reporter.directory is not None:
                (self.reporter.directory / EXIT_CODE).write_bytes(bytes([code]))

    def _after_fork(self) -> None:
        """In a child, leave the parent's capture alone; begin another one, if children are followed."""
        if self._is_left:
            return
        self._is_left, was_captured = True, self._capturing is not None
        self.reporter.abandon()
        for number in DEADLY:
            if signal.getsignal(number) == self._told_to_end:
                signal.signal(number, signal.SIG_DFL)
        remove_finder(self._finder)
        if not self.settings.follows or not self.reporter.job:
            return
        child = RunningTask(self.settings.of_children(self.reporter.job))
        atexit.register(child._at_exit)
        os.register_at_fork(after_in_child=child._after_fork)
        child._note_exits()
        _let_multiprocessing_tell(child)
        if was_captured or AWAITED in sys.modules:
            child._start()
        else:
            add_finder(child._finder)


class _Imported(MetaPathFinder):
    """Finds no module, but calls `use` once TensorFlow is about to be imported."""

    def __init__(self, use: Callable[[], None]) -> None:
        self._use = use

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Nothing: the finders after this one find the module."""
        if fullname == AWAITED:
            self._use()
        return None


def _let_multiprocessing_tell(task: RunningTask) -> None:
    """Let a forked process of multiprocessing, which ends without atexit, end its capture."""
    util: Any = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.register_after_fork(task, _at_end_of_process)


def _at_end_of_process(task: RunningTask) -> None:
    from multiprocessing.util import Finalize

    Finalize(None, partial(_end_of_process, task), exitpriority=-100)


def _end_of_process(task: RunningTask) -> None:
    error = sys.exc_info()[1]  # in flight still, if there is one
    if isinstance(error, SystemExit):
        task.end(of_exit(error.code))
    else:
        task.end(Ending() if error is None else of_error(error))

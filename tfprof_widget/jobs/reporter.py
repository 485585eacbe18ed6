"""Reports on a task from a thread of its own: its state, snapshots of its profile, and what it was asked for."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread, current_thread
from time import monotonic, thread_time
from typing import Any

from tfprof_widget.ingest.files.jobs import REQUESTS, SNAPSHOT, STATE
from tfprof_widget.jobs.naming import claimed, host_name, task_name
from tfprof_widget.jobs.settings import JobSettings
from tfprof_widget.lib.safely import write_whole

LOOK_SECONDS = 1.0
"""Requests are looked for every so many seconds."""

SNAPSHOT_SHARE = 0.01
"""Making snapshots takes at most this share of the time."""

FIRST_INTERVALS = 3
"""The first snapshot comes after so many intervals: what it takes is not known before, and would be much of less."""

RARE = 6
"""A snapshot in which nothing new is traced, but times are, is written after so many intervals."""

MOST_BYTES = 256 << 20
"""After a snapshot of so many bytes there is none but the last."""

MOST_ANSWERED = 20


class Reporter:
    """What one process writes into the directory of jobs, or to the file that was asked for.

    `job` is the directory of the job, empty until there is one. `capture` and `capturing` are the running capture.
    """

    def __init__(self, settings: JobSettings, pid: int) -> None:
        self.settings, self.pid = settings, pid
        self.capture: Any = None
        self.capturing: Any = None
        self.started = time.time()
        self.job = settings.claimed
        self.directory: Path | None = None
        self.trouble = ""
        self._host = host_name() if settings.with_source else "process"
        self._over = Event()
        self._thread: Thread | None = None
        self._pipe: tuple[int, int] | None = None
        self._wakeup: int | None = None
        self._next_snapshot = self._next_state = 0.0
        self._traced = 0
        self._written = 0.0
        self._is_bounded = False
        self._known: set[str] = set()
        self._asked: list[str] = []
        self._answered: list[str] = []

    def start(self, told_to_end: Callable[[int], None]) -> None:
        """Report from now on; `told_to_end` is called with each signal that comes.

        A process that the user started has a directory at once, and another one when something has run: many are
        forked only to become another program.
        """
        if self.settings.is_first:
            self._arrive()
        with suppress(OSError, ValueError, RuntimeError):
            if current_thread().name == "MainThread":
                self._pipe = os.pipe()
                for end in self._pipe:
                    os.set_blocking(end, False)
                self._wakeup = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
        now = monotonic()
        self._next_state = now + self.settings.interval
        self._next_snapshot = now + FIRST_INTERVALS * self.settings.interval
        self._thread = Thread(target=self._report, args=(told_to_end,), name="tfprof jobs", daemon=True)
        with suppress(RuntimeError):  # there may be no room for another thread: then only the end is reported
            self._thread.start()

    def _arrive(self) -> None:
        """Make the task's directory, and say that the task is there."""
        self._claim()
        self._known = set(self._requests())
        self.write_state()

    def _claim(self) -> None:
        settings = self.settings
        if settings.is_file:
            return
        try:
            host, base = self._host, Path(settings.out)
            name = task_name(os.environ, settings.title, job=settings.job, pid=self.pid, now=self.started, host=host)
            if settings.claimed:
                job = Path(settings.claimed)
                name = type(name)(job.name, name.task)
                base = job.parent
            self.directory = claimed(base, name)
            self.job = str(self.directory.parent)
        except Exception as error:
            self.trouble = f"nothing can be written to {settings.out!r} ({_reason(error)})"

    def _report(self, told_to_end: Callable[[int], None]) -> None:
        """Write what is due until all is over."""
        while not self._over.is_set():
            for number in self._signals():
                told_to_end(number)
            if self._over.is_set() or os.getpid() != self.pid:
                return
            with suppress(Exception):  # the program goes on, whatever goes wrong here
                if self.directory is None and self._has_run():
                    self._arrive()
            with suppress(Exception):
                self._take_requests()
            with suppress(Exception):
                if self._is_answered() or self._is_due():
                    self.write_state()  # a snapshot may take long on a busy machine
                    self._snapshot()
            if monotonic() >= self._next_state:
                self._next_state = monotonic() + self.settings.interval
                self.write_state()

    def _signals(self) -> bytes:
        """The signals that came within a second."""
        seconds = min(LOOK_SECONDS, self.settings.interval) if self.capture is not None else self.settings.interval
        if self._pipe is None:
            self._over.wait(seconds)
            return b""
        with suppress(OSError, ValueError):
            if select.select([self._pipe[0]], [], [], seconds)[0]:
                return os.read(self._pipe[0], 64)
        return b""

    def pass_on(self, number: int) -> bool:
        """Tell the thread that reports of a signal; False where nobody would hear of it."""
        if self._pipe is None or self._thread is None or not self._thread.is_alive():
            return False
        try:
            return os.write(self._pipe[1], bytes([number])) > 0
        except OSError:
            return False

    def look(self) -> None:
        """Remember how the capture stands, which nobody can tell once it is over."""
        self._live()

    def stop(self) -> None:
        """Report no more; a snapshot that is being written is finished first."""
        self._over.set()
        if self._pipe is not None:
            with suppress(OSError):
                os.write(self._pipe[1], b"\0")
        if self._thread is not None and self._thread is not current_thread() and self._thread.is_alive():
            self._thread.join(60)

    def forget_signals(self) -> None:
        """Wake nobody any more when a signal comes."""
        if self._wakeup is not None and current_thread().name == "MainThread":
            with suppress(OSError, ValueError):
                current = signal.set_wakeup_fd(-1)
                if self._pipe is not None and current != self._pipe[1]:
                    signal.set_wakeup_fd(current)  # another one's
            self._wakeup = None

    def abandon(self) -> None:
        """In a fork: what reports is not here, and what wakes it belongs to the parent."""
        self._over = Event()
        self._over.set()
        if self._pipe is not None:
            self.forget_signals()
            for end in self._pipe:
                with suppress(OSError):
                    os.close(end)
            self._pipe = None
        self._thread = None

    def write_state(self, status: str = "running", code: int | None = None, words: str = "") -> None:
        """Write how the task stands; where that cannot be written, it is told at the end."""
        if self.directory is None:
            return
        told = {
            "what": self.settings.title if self.settings.with_source else "",
            **self._live(),
            "job": self.directory.parent.name,
            "task": self.directory.name,
            "pid": self.pid,
            "host": self._host if self.settings.with_source else "",
            "started": self.started,
            "updated": time.time(),
            "interval": self.settings.interval,
            "status": status,
            "exit_code": code,
            "last_words": words,
            "answered": self._answered[-MOST_ANSWERED:],
        }
        self._write(self.directory / STATE, json.dumps(told).encode())

    def _live(self) -> dict[str, Any]:
        live = None
        with suppress(Exception):
            live = self.capture.live() if self.capture is not None else None
        if live is not None:
            self._last = live.to_json()
            if not self.settings.with_source:
                self._last |= {"what": "", "notes": []}
        return dict(getattr(self, "_last", {"phase": "starting", "seconds": time.time() - self.started}))

    def _has_run(self) -> bool:
        live = self.capture.live() if self.capture is not None and not self.settings.is_file else None
        return live is not None and live.runs > 0

    def _is_due(self) -> bool:
        """Whether a snapshot is due: something was traced since the last one, or that was long ago."""
        if self.capture is None or self._is_bounded or monotonic() < self._next_snapshot:
            return False
        live = self.capture.live()
        if live is None or not live.traced:
            return False
        return bool(live.traced > self._traced) or monotonic() - self._written >= RARE * self.settings.interval

    def _snapshot(self) -> None:
        """Write the profile of what was captured so far."""
        self._next_snapshot = monotonic() + self.settings.interval
        began, working = monotonic(), thread_time()
        live = self.capture.live()
        try:
            so_far = self.capturing.so_far()
            if so_far is None or so_far.is_empty:
                return
            self._save(so_far)
            self._written, self._traced = monotonic(), live.traced if live is not None else 0
            self._answered += self._asked
            if self._asked:
                self._asked = []
                self.write_state()
        finally:
            taken = max(thread_time() - working, 0.0)
            self._next_snapshot = max(self._next_snapshot, began + taken / SNAPSHOT_SHARE)

    def _save(self, capture: Any) -> None:
        """Write a profile where it belongs."""
        path = Path(self.settings.out) if self.settings.is_file else self.profile_path
        if path is None:
            return
        told = capture if self.settings.with_source else capture.without_source()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)  # somebody may have removed it
            told.save(path)
            self._is_bounded = path.stat().st_size > MOST_BYTES
        except Exception as error:
            self.trouble = _reason(error)

    @property
    def profile_path(self) -> Path | None:
        """The file of the profile; None where no directory could be made."""
        return None if self.directory is None else self.directory / SNAPSHOT

    def _write(self, path: Path, content: bytes) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
        except Exception as error:
            self.trouble = _reason(error)

    def _requests(self) -> list[str]:
        """The names of the requests that lie there."""
        if not self.job:
            return []
        with suppress(OSError):
            return sorted(each for each in os.listdir(Path(self.job, REQUESTS)) if each.endswith(".json"))  # noqa: PTH208
        return []

    def _take_requests(self) -> None:
        """Trace the next steps, if somebody asked for that since the last look."""
        if self.capture is None:
            return
        for name in self._requests():
            if name in self._known:
                continue
            self._known.add(name)
            told = json.loads(Path(self.job, REQUESTS, name).read_bytes())
            steps = told.get("steps") if isinstance(told, dict) else None
            if isinstance(steps, int) and not isinstance(steps, bool) and 0 < steps <= 10_000:
                self.capturing.trace_next(steps)
                self._asked.append(name.removesuffix(".json"))

    def _is_answered(self) -> bool:
        return bool(self._asked) and self.capturing is not None and self.capturing.has_traced

    def hand_in(self, status: str, code: int | None, words: str) -> None:
        """Write the last profile and state, and tell the user where they are."""
        from tfprof_widget.jobs.summing_up import sum_up

        capture = self.capture
        is_empty = capture is None or capture.is_empty
        has_run = capture is not None and bool(capture.measurement.runs)
        if self.directory is None and has_run:
            self.trouble = ""
            self._claim()  # what could not be made at the start may be possible now
        if not is_empty:
            self.trouble = "" if self.directory is not None or self.settings.is_file else self.trouble
            self._save(capture)
            self._answered += self._asked
        if capture is not None and not is_empty:
            self._last = {**getattr(self, "_last", {}), "phase": "done"}
        self.write_state(status, code, words)
        if self.settings.is_first:
            sum_up(self, capture)

    def say(self, sentence: str) -> None:
        """Tell the user something, if there is somebody to tell."""
        with suppress(Exception):
            sys.stderr.write(f"tfprof: {sentence}\n")
            sys.stderr.flush()


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__

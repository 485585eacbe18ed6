"""Shows one line on how the capture of a long cell gets on, and takes it away at the end."""

from __future__ import annotations

import contextvars
import shutil
import sys
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress

from IPython.core.interactiveshell import InteractiveShell

from tfprof_widget.visible import visible

AFTER_SECONDS = 2.0
EVERY_SECONDS = 1.0
STOP_SECONDS = 1.0

Show = Callable[[str], None]


class ProgressLine:
    """Asks `progress` for a line from time to time, in a thread of its own, and shows it where it has changed.

    >>> shown = []
    >>> line = ProgressLine(lambda: "3 runs", shown.append, after=0.0)
    >>> line.start()
    >>> while not shown:
    ...     pass
    >>> line.stop()
    >>> shown
    ['3 runs', '']
    """

    def __init__(self, progress: Callable[[], str | None], show: Show, after: float = AFTER_SECONDS) -> None:
        self._progress = progress
        self._show = show
        self._after = after
        self._shown = ""
        self._ended = threading.Event()
        # In the cell's own context, by which a kernel knows to which cell an output belongs.
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._watch,), name="tfprof progress", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Take the line away; nothing is shown after this."""
        self._ended.set()
        self._thread.join(STOP_SECONDS)
        if self._shown and not self._thread.is_alive():
            self._show("")

    def _watch(self) -> None:
        wait = self._after
        with suppress(Exception):  # without the line the cell goes on all the same
            while not self._ended.wait(wait):
                line = visible(self._progress() or "")
                if line and line != self._shown and not self._ended.is_set():
                    self._show(line)
                    self._shown = line
                wait = EVERY_SECONDS


def line_display(shell: InteractiveShell) -> Show | None:
    """How to show a line that changes: one display of a notebook, a line of a terminal, else not at all."""
    if hasattr(shell, "kernel"):
        return _notebook_display(shell)
    return _show_in_terminal if sys.stderr.isatty() else None


def _notebook_display(shell: InteractiveShell) -> Show:
    publisher, display_id, shown = shell.display_pub, uuid.uuid4().hex, threading.Event()

    def show(line: str) -> None:
        data = {"text/plain": line} if line else {}
        publisher.publish(data=data, metadata={}, transient={"display_id": display_id}, update=shown.is_set())
        shown.set()

    return show


def _show_in_terminal(line: str) -> None:
    width = shutil.get_terminal_size().columns - 1  # a line that wraps could not be taken back
    sys.stderr.write(f"\r{line[:width]}\x1b[K")
    sys.stderr.flush()

"""A terminal that tests type into, with `tfprof` running in it."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from fcntl import ioctl
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).parent.parent.parent
TAB, ENTER, UP, CTRL_C, CTRL_D = "\t", "\r", "\x1b[A", "\x03", "\x04"
PATIENCE = 60.0
_ESCAPES = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")
# The editor has drawn its line and waits for keys.
_READY = "\x1b[?2004h"


class PseudoTerminal:
    """`tfprof` in a terminal of so many columns; a context manager."""

    def __init__(self, *words: str, columns: int = 120, environment: Mapping[str, str] | None = None) -> None:
        self.seen = ""
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            _become_tfprof(words, columns, environment or {})
        ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        os.close(self._terminal)

    def type(self, *keys: str) -> None:
        """Press keys."""
        os.write(self._terminal, "".join(keys).encode())

    def until(self, text: str) -> str:
        """What is shown from now until this text, without colours."""
        return plain(self.until_raw(text))

    def until_raw(self, text: str) -> str:
        """What comes from now until this text, with all that commands the terminal."""
        end = time.monotonic() + PATIENCE
        while text not in self.seen:
            self._read(end, text)
        shown, _, self.seen = self.seen.partition(text)
        return shown + text

    def prompt(self) -> str:
        """What is shown until the editor waits for keys."""
        return self.until(_READY).replace(_READY, "")

    def run(self, line: str) -> str:
        """What a line prints, after the line itself."""
        self.type(line, ENTER)
        self.until("\x1b[?2004l")  # the line is taken
        return self.prompt()

    def wait(self) -> int:
        """The exit code, once tfprof has ended."""
        while self._read(time.monotonic() + PATIENCE, "its end"):
            pass
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def _read(self, end: float, awaited: str) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], max(end - time.monotonic(), 0))
        assert ready, f"{awaited!r} did not come, but {self.seen!r}"
        try:
            content = os.read(self._terminal, 65536)
        except OSError:  # how Linux tells that nobody holds the other side
            content = b""
        assert content or awaited == "its end", f"{awaited!r} did not come, but {self.seen!r} and the end"
        self.seen += content.decode(errors="replace")
        return bool(content)


def plain(text: str) -> str:
    """A text without colours and cursor movements.

    >>> plain("\\x1b[1mscope\\x1b[0m\\r\\n")
    'scope\\n'
    """
    return _ESCAPES.sub("", text).replace("\r", "")


def environment_of(changes: Mapping[str, str]) -> dict[str, str]:
    """An environment in which `python -m tfprof_widget` is what is tested."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "PYTHONWARNINGS")}
    # No history is kept, unless a test says where.
    return {**kept, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "XDG_STATE_HOME": os.devnull, **changes}


def _become_tfprof(words: Sequence[str], columns: int, changes: Mapping[str, str]) -> None:
    told = {"PROMPT_TOOLKIT_NO_CPR": "1", "COLUMNS": str(columns)}  # nobody here answers where the cursor is
    try:
        os.execve(sys.executable, [sys.executable, "-m", "tfprof_widget", *words], environment_of({**told, **changes}))
    finally:
        os._exit(127)

"""Says how a program ended, and has its exit code noted at the very end of its process."""

from __future__ import annotations

import os
import signal
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfprof_widget.ingest.files.jobs import exit_words

if TYPE_CHECKING:
    from tfprof_widget.profiles.live import Status


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

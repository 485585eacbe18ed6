"""The one place where errors become a line on stderr and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tfprof_widget.errors import ProfileError, ProfileWarning, shortened
from tfprof_widget.visible import visible

DONE, BAD_INPUT, BAD_USAGE = 0, 1, 2
# What a shell reports of a process that SIGINT or SIGPIPE ended.
INTERRUPTED, READER_GONE = 130, 141


def attempt(action: Callable[[], int | None]) -> int:
    """Do it, and return the exit code: its own, if it has one, else that of how it went.

    >>> attempt(lambda: None)
    0
    """
    try:
        code = action()
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
        return READER_GONE
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except (ProfileError, OSError) as error:
        say(_reason(error))
        return BAD_INPUT
    except ValueError as error:
        say(_reason(error))
        return BAD_USAGE
    return code or DONE


def say(text: str) -> None:
    """A line to the user, beside the output."""
    sys.stdout.flush()
    sys.stderr.write(f"tfprof: {shortened(visible(' '.join(text.split())))}\n")
    sys.stderr.flush()


@contextmanager
def spoken_warnings() -> Iterator[None]:
    """Warnings about the input become lines to the user; all others stay what they are."""
    with warnings.catch_warnings():
        otherwise = warnings.showwarning

        def spoken(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, ProfileWarning):
                say(str(message))
            else:
                otherwise(message, category, *where, **more)

        warnings.simplefilter("always", ProfileWarning)
        warnings.showwarning = spoken
        yield


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{str(error.filename)!r}: {error.strerror}"
    return str(error)


def _forget_stdout() -> None:
    """Nobody reads on, as in `tfprof op | head`: spare the interpreter the complaint when it flushes at its end."""
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())

"""Defines what the package raises and warns of."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from tfprof_widget.lib.text import visible_lines

LONGEST_MESSAGE = 400
"""The most characters of what the package raises or warns of; a name or value in it may be as long as it likes."""
LONGEST_QUOTE = 80
"""The most characters of a value in a message that tells more after it."""
_PACKAGE = str(Path(__file__).parents[1])


class ProfileError(Exception):
    """Raised for an input that cannot be profiled: says which one, why, and what to do.

    >>> raise ProfileError("run_meta: truncated; write it again")
    Traceback (most recent call last):
    ...
    tfprof_widget.ProfileError: run_meta: truncated; write it again
    """

    __module__ = "tfprof_widget"  # tracebacks then show the name that users import

    def __init__(self, message: str) -> None:
        super().__init__(shortened(visible_lines(message)))


def shortened(message: str, most: int = LONGEST_MESSAGE) -> str:
    """The start and the end of a long message: it says at its start what is wrong, and a name in it may be very long.

    >>> shortened("node 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' is damaged", 20)
    "node 'aaaa…s damaged"
    """
    if len(message) <= most:
        return message
    half = most // 2
    return f"{message[:half]}…{message[half + 1 - most :]}"


def value_error(message: str) -> ValueError:
    """The error for a value that a user gave, to be raised: its message is short, however long the value.

    >>> raise value_error("step is 'ten', but must be a whole number")
    Traceback (most recent call last):
    ...
    ValueError: step is 'ten', but must be a whole number
    """
    return ValueError(shortened(visible_lines(message)))


class ProfileWarning(UserWarning):
    """Warns that an input was profiled, but not as the user may expect.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warnings.warn("step 3 has no step stats", ProfileWarning)
    >>> caught[0].category.__name__
    'ProfileWarning'
    """

    __module__ = "tfprof_widget"

    def __init__(self, message: str) -> None:
        super().__init__(shortened(visible_lines(message)))


def warn_user(message: str) -> None:
    """Warn at the line of the user's code that called the package.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("step 3 has no step stats")
    >>> str(caught[0].message), caught[0].filename
    ('step 3 has no step stats', '<doctest tfprof_widget.lib.errors.warn_user[1]>')
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, ProfileWarning, stacklevel=level)


def error_text(error: BaseException) -> str:
    """An error of another package in a few words, for a note.

    >>> error_text(KeyError("op"))
    "KeyError: 'op'"
    """
    return f"{type(error).__name__}: {error}"

"""What the package raises and warns of when its input is at fault."""

import sys
import warnings
from pathlib import Path

from tfprof_widget.visible import visible_lines

LONGEST_MESSAGE = 2000
_PACKAGE = str(Path(__file__).parent)


class ProfileError(Exception):
    """An input that cannot be profiled: says which one, why, and what to do.

    >>> raise ProfileError("run_meta: truncated; write it again")
    Traceback (most recent call last):
    ...
    tfprof_widget.errors.ProfileError: run_meta: truncated; write it again
    """

    def __init__(self, message: str) -> None:
        super().__init__(shortened(visible_lines(message)))


def shortened(message: str, most: int = LONGEST_MESSAGE) -> str:
    """A message with its start, where it says what is wrong, and its end: a name in it may have a million characters.

    >>> shortened("node 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' is damaged", 20)
    "node 'aaaa…s damaged"
    """
    if len(message) <= most:
        return message
    half = most // 2
    return f"{message[:half]}…{message[half + 1 - most :]}"


class ProfileWarning(UserWarning):
    """An input that was profiled, but not as its owner may expect.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warnings.warn("step 3 has no step stats", ProfileWarning)
    >>> caught[0].category.__name__
    'ProfileWarning'
    """

    def __init__(self, message: str) -> None:
        super().__init__(visible_lines(message))


def warn_user(message: str) -> None:
    """Warn at the line of the user's that called the package.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("step 3 has no step stats")
    >>> str(caught[0].message), caught[0].filename
    ('step 3 has no step stats', '<doctest tfprof_widget.errors.warn_user[1]>')
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, ProfileWarning, stacklevel=level)


def told(error: BaseException) -> str:
    """An error of another package's in a few words, for a note.

    >>> told(KeyError("op"))
    "KeyError: 'op'"
    """
    return f"{type(error).__name__}: {error}"

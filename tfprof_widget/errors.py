"""What the package raises and warns of when its input is at fault."""

from tfprof_widget.visible import visible_lines

LONGEST_MESSAGE = 2000


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

"""What the package raises and warns of when its input is at fault."""


class ProfileError(Exception):
    """An input that cannot be profiled: says which one, why, and what to do.

    >>> raise ProfileError("run_meta: truncated; write it again")
    Traceback (most recent call last):
    ...
    tfprof_widget.errors.ProfileError: run_meta: truncated; write it again
    """


class ProfileWarning(UserWarning):
    """An input that was profiled, but not as its owner may expect.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warnings.warn("step 3 has no step stats", ProfileWarning)
    >>> caught[0].category.__name__
    'ProfileWarning'
    """

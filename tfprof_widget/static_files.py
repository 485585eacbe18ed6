"""The files that `make build` puts beside the package for the browser: the widget, its opener, pictures and charts."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from tfprof_widget.errors import ProfileError


@cache
def static_bytes(name: str) -> bytes:
    """A built file.

    >>> static_bytes("no such file")
    Traceback (most recent call last):
        ...
    tfprof_widget.errors.ProfileError: static/no such file is missing: run `make build`, or install the wheel
    """
    try:
        return (files("tfprof_widget") / "static" / name).read_bytes()
    except OSError:
        raise ProfileError(f"static/{name} is missing: run `make build`, or install the wheel") from None

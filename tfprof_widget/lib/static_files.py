"""Reads the files that `make build` made: the bundles of the front end, and the specifications of the charts."""

from __future__ import annotations

from importlib.resources import files

from tfprof_widget.lib.errors import ProfileError


def static_bytes(name: str) -> bytes:
    """The content of a file that `make build` made.

    >>> static_bytes("no such file")
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: static/no such file is missing: run `make build`, or install the wheel
    """
    try:
        return (files("tfprof_widget") / "static" / name).read_bytes()
    except OSError:
        raise ProfileError(f"static/{name} is missing: run `make build`, or install the wheel") from None

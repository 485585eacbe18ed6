"""Puts names of files and directories in the order of the numbers in them."""

from __future__ import annotations

import re


def natural_order(name: str) -> list[tuple[int, str]]:
    """What names are sorted by, numbers in them by their values.

    >>> sorted(["profile_10", "profile_9"], key=natural_order)
    ['profile_9', 'profile_10']
    """
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]

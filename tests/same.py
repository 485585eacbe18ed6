"""Whether two profiles are the same in every table, column and text."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tfprof_widget.api.profile import Profile


def assert_same(profile: Profile, expected: Profile) -> None:
    """Compare whatever is not made of the rest."""
    for column in fields(Profile):
        if column.name != "cache":
            _compare(getattr(profile, column.name), getattr(expected, column.name), column.name)


def _compare(value: Any, expected: Any, name: str) -> None:
    assert type(value) is type(expected), name
    if isinstance(value, np.ndarray):
        assert value.dtype == expected.dtype, name
        np.testing.assert_array_equal(value, expected, name)
    elif is_dataclass(value) and not isinstance(value, type):
        for column in fields(value):
            _compare(getattr(value, column.name), getattr(expected, column.name), f"{name}.{column.name}")
    else:
        assert value == expected, name

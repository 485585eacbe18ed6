"""One dictionary of all entries of several, and how the codes of each become codes of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.tables import ABSENT, Indices

Entry = TypeVar("Entry", bound=Any)


def united(dictionaries: Sequence[Sequence[Entry]]) -> tuple[tuple[Entry, ...], list[Indices]]:
    """All entries in order, and for each dictionary the new code of each of its entries.

    >>> entries, codes = united([("b", "a"), ("c", "a")])
    >>> entries, [each.tolist() for each in codes]
    (('a', 'b', 'c'), [[1, 0], [2, 0]])
    """
    first, *others = dictionaries
    if all(each is first for each in others) and all(one < other for one, other in pairwise(first)):
        return tuple(first), [np.arange(len(first), dtype=np.int32)] * len(dictionaries)
    entries = sorted({entry for dictionary in dictionaries for entry in dictionary})
    code = {entry: place for place, entry in enumerate(entries)}
    return tuple(entries), [_codes(dictionary, code) for dictionary in dictionaries]


def recoded(codes: NDArray[np.integer], new: Indices) -> Indices:
    """The new codes of old ones; what is absent stays so.

    >>> recoded(np.array([1, -1]), np.array([5, 7], np.int32)).tolist()
    [7, -1]
    """
    found: Indices = np.append(new, np.int32(ABSENT))[codes]
    return found


def _codes(dictionary: Sequence[Entry], code: dict[Entry, int]) -> Indices:
    return np.fromiter(map(code.__getitem__, dictionary), np.int32, len(dictionary))

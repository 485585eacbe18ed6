"""Which names match tfprof's regexes: RE2's syntax, full matches, and time linear in the names."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import re2

from tfprof_widget.options import EVERYTHING
from tfprof_widget.tables import Flags

# A regex of these parts only cannot match a line end, so it may be run over all names joined as lines.
_WITHIN_A_LINE = re.compile(
    r"(?:[^\\\[\]()^$\x00-\x1f]|\\[^A-Za-z0-9\x00-\x1f]|\\[dw]|\((?!\?)|\(\?:|\)|\[[ -Z_-~]+\])*"
)
_LITERAL_THEN_ANYTHING = re.compile(r"((?:[^\\.+*?()|\[\]{}^$\n]|\\[^A-Za-z0-9\n])*)(\.\*|\Z)")

KEPT_MASKS = 64


class Names:
    """Names to match regexes against; the answer for each regex is kept.

    >>> names = Names(["a/b", "a/c"])
    >>> names.matching("show_name_regexes", ["a/b", "x.*"]).tolist()
    [True, False]
    >>> names.matching("show_name_regexes", ["a("])
    Traceback (most recent call last):
        ...
    ValueError: show_name_regexes: RE2 refuses 'a(': missing ): a(
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self._masks: dict[str, Flags] = {}

    def matching(self, option: str, regexes: Sequence[str]) -> Flags:
        """Whether each name matches one of the regexes in full; `option` is named when RE2 refuses one."""
        found = np.zeros(len(self.names), np.bool_)
        if tuple(regexes) == EVERYTHING:
            return ~found  # native takes this spelling for "all", names with line ends included
        for regex in regexes:
            found |= self.matching_one(option, regex)
        return found

    def matching_one(self, option: str, regex: str) -> Flags:
        """Whether each name matches the regex in full."""
        mask = self._masks.get(regex)
        if mask is None:
            mask = self._masks[regex] = self._match(compiled(option, regex), regex)
            if len(self._masks) > KEPT_MASKS:
                self._masks.pop(next(iter(self._masks)), None)  # the oldest: someone is typing
        return mask

    def _match(self, pattern: Any, regex: str) -> Flags:
        if self.names and not self._has_line_ends:
            literals = _literals(regex)
            if literals is not None:
                return self._filled(_holds(literals))
            if regex.isascii() and self._lines.isascii() and _WITHIN_A_LINE.fullmatch(regex):
                return self._match_lines(regex)
        return self._filled(lambda name: pattern.fullmatch(name) is not None)

    def _filled(self, holds: Callable[[str], bool]) -> Flags:
        return np.fromiter(map(holds, self.names), np.bool_, len(self.names))

    @cached_property
    def _has_line_ends(self) -> bool:
        return any("\n" in name for name in self.names)

    @cached_property
    def _lines(self) -> bytes:
        return "".join(f"{name}\n" for name in self.names).encode()

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(name) + 1 for name in self.names), initial=0))[:-1]

    def _match_lines(self, regex: str) -> Flags:
        """One pass of RE2 over all names, by runs of names that match: faster than a call a name."""
        found = np.zeros(len(self.names), np.bool_)
        options = re2.Options()
        options.never_capture = True
        options.log_errors = False
        runs = re2.compile(f"(?m)^(?:(?:{regex})\n)+".encode(), options)
        for run in runs.finditer(self._lines):
            first, end = (bisect_left(self._starts, position) for position in run.span())
            found[first:end] = True
        return found


def compiled(option: str, regex: str) -> Any:
    """The regex as RE2 understands it, or a ValueError with RE2's reason.

    >>> compiled("hide_name_regexes", "[[:alpha:]]+").fullmatch("abc") is not None
    True
    """
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(regex, options)
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(f"{option}: RE2 refuses {regex!r}: {text}") from None


def _literals(regex: str) -> list[str] | None:
    """The literal parts of a regex that has no other operator than `.*`, else None."""
    parts: list[str] = []
    position = 0
    while True:
        match = _LITERAL_THEN_ANYTHING.match(regex, position)
        if match is None:
            return None
        parts.append(re.sub(r"\\(.)", r"\1", match[1]))
        if not match[2]:
            return parts
        position = match.end()


def _holds(literals: list[str]) -> Callable[[str], bool]:
    """Whether a name is the literals in this order with anything between them."""
    if len(literals) == 1:
        return literals[0].__eq__
    first, *middle, last = literals
    if not middle:
        return lambda name: len(name) >= len(first) + len(last) and name.startswith(first) and name.endswith(last)
    if len(middle) == 1 and not first and not last:
        return lambda name: middle[0] in name

    def holds(name: str) -> bool:
        if not name.startswith(first):
            return False
        position = len(first)
        for literal in middle:
            position = name.find(literal, position)
            if position < 0:
                return False
            position += len(literal)
        return len(name) - len(last) >= position and name.endswith(last)

    return holds

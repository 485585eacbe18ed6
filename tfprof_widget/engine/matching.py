"""Matches names with regexes in RE2's syntax, in full and in linear time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
import re2

from tfprof_widget.lib.arrays import Flags, Integers
from tfprof_widget.lib.errors import LONGEST_QUOTE, shortened, value_error
from tfprof_widget.profiles.options import EVERYTHING

# A regex of these parts alone cannot match a line end, so it can be run over all names, joined as lines.
_WITHIN_A_LINE = re.compile(
    r"(?:[^\\\[\]()^$\x00-\x1f]|\\[^A-Za-z0-9\x00-\x1f]|\\[dw]|\((?!\?)|\(\?:|\)|\[[ -Z_-~]+\])*"
)
_LITERAL_THEN_ANYTHING = re.compile(r"((?:[^\\.+*?()|\[\]{}^$\n]|\\[^A-Za-z0-9\n])*)(\.\*|\Z)")

KEPT_MASKS = 64
_FEW = 8


class Names:
    """Names to match regexes with; the answer to each regex is kept.

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
            return ~found  # native tfprof takes this spelling as "all names", also names with line ends
        for regex in regexes:
            found |= self.matching_one(option, regex)
        return found

    def matching_one(self, option: str, regex: str) -> Flags:
        """Whether each name matches the regex in full."""
        mask = self._masks.get(regex)
        if mask is None:
            mask = self._masks[regex] = self._match(compiled(option, regex), regex)
            if len(self._masks) > KEPT_MASKS:
                self._masks.pop(next(iter(self._masks)), None)  # drop the oldest: a user types regexes letter by letter
        return mask

    def _match(self, pattern: Any, regex: str) -> Flags:
        if self.names and self._has_a_line_each:
            literals = _literals(regex)
            is_name = literals is not None and len(literals) == 1
            if not is_name and regex.isascii() and self._lines.isascii() and _WITHIN_A_LINE.fullmatch(regex):
                return self._match_few(literals[1]) if self._are_few(literals) else self._match_lines(regex)
            if literals is not None:
                return self._filled(_holds(literals))
        return self._filled(lambda name: pattern.fullmatch(name) is not None)

    def _filled(self, holds: Callable[[str], bool]) -> Flags:
        return np.fromiter(map(holds, self.names), np.bool_, len(self.names))

    @cached_property
    def _lines(self) -> bytes:
        return "\n".join([*self.names, ""]).encode()

    @cached_property
    def _ends(self) -> Integers:
        """The position of each line's end."""
        lengths = np.fromiter(map(len, self.names), np.int64, len(self.names))
        return np.cumsum(lengths + 1) - 1

    @cached_property
    def _has_a_line_each(self) -> bool:
        return self._lines.count(b"\n") == len(self.names)

    def _are_few(self, literals: list[str] | None) -> TypeGuard[list[str]]:
        """Whether these are of `.*literal.*`, whose literal is so rare that finding each is cheaper than a regex."""
        match literals:
            case ["", literal, ""]:
                return self._lines.count(literal.encode()) < len(self.names) // _FEW
        return False

    def _match_few(self, literal: str) -> Flags:
        """Whether each name contains the literal."""
        sought = literal.encode()
        positions = []
        position = self._lines.find(sought)
        while position >= 0:
            positions.append(position)
            position = self._lines.find(sought, position + 1)
        found = np.zeros(len(self.names), np.bool_)
        found[np.searchsorted(self._ends, positions)] = True
        return found

    def _match_lines(self, regex: str) -> Flags:
        """One pass of RE2 over all names, by runs of matching names: faster than a call for each name."""
        options = re2.Options()
        options.never_capture = True
        options.log_errors = False
        runs = re2.compile(f"(?m)^(?:(?:{regex})\n)+".encode(), options)
        spans = np.array([run.span() for run in runs.finditer(self._lines)], np.int64).reshape(-1, 2)
        first, end = np.searchsorted(self._ends, spans).T
        change = np.zeros(len(self.names) + 1, np.int8)
        change[first] += 1
        change[end] -= 1
        return np.cumsum(change[:-1], dtype=np.int8) > 0


def compiled(option: str, regex: str) -> Any:
    """The regex as RE2 understands it, or a ValueError with RE2's reason.

    >>> compiled("hide_name_regexes", "[[:alpha:]]+").fullmatch("abc") is not None
    True
    """
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(regex, options)
    except UnicodeEncodeError:
        quoted = shortened(ascii(regex), LONGEST_QUOTE)
        raise value_error(f"{option}: {quoted} is no text in UTF-8, as all names are; type it anew") from None
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        quoted, why = shortened(repr(regex), LONGEST_QUOTE), shortened(text, LONGEST_QUOTE)
        raise value_error(f"{option}: RE2 refuses {quoted}: {why}") from None


def _literals(regex: str) -> list[str] | None:
    """The literal parts of a regex whose only operator is `.*`; None for any other regex."""
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
    """A test whether a name consists of the literals in this order with anything between them."""
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

"""Decodes the events of an XSpace from its bytes, thousands at a time: objects for each take ten times as long."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.lib.arrays import ABSENT, Indices, Integers

# What stands before each value of an event or a stat: the number of the field in `protos/xplane.proto`, and its kind.
_METADATA, _OFFSET, _DURATION, _STAT = 0x08, 0x10, 0x18, 0x22
DOUBLE, UNSIGNED, SIGNED, TEXT, BYTES, REFERENCE = 0x11, 0x18, 0x20, 0x2A, 0x32, 0x38

_NUMBER, _EIGHT_BYTES, _CONTENT, _FOUR_BYTES = 0, 1, 2, 5
_MOST_BYTES_A_NUMBER = 10
_MORE = 0x80
_KIND_AND_MORE = 0x87
_MOST_IN_TABLE = 2**16
_AT_ONCE = 4096
"""So many events fit into a processor's cache with all that is computed of them, which makes it four times as fast."""

_ROOM = 64
"""So many bytes behind the start of an event or stat may be looked at before it is noticed that it ends earlier."""

Bytes = NDArray[np.uint8]


class IrregularSpace(ValueError):
    """Raised where events are not written as protobuf writes them: they are damaged, or their fields in another order.

    protobuf can tell, and write them anew.
    """


def number_at(data: bytes, at: int) -> tuple[int, int]:
    """The number that is written at a place, and where it ends.

    >>> number_at(bytes([0xAC, 0x02]), 0)
    (300, 2)
    """
    value = 0
    for place in range(_MOST_BYTES_A_NUMBER):
        byte = data[at + place]
        value |= (byte & ~_MORE) << (7 * place)
        if byte < _MORE:
            return value, at + place + 1
    raise IrregularSpace


def content_at(data: bytes, at: int) -> slice:
    """The content of the field that begins there.

    >>> content_at(bytes([0x0A, 1, 65]), 0)
    slice(2, 3, None)
    """
    _, at = number_at(data, at)
    size, content = number_at(data, at)
    return slice(content, content + size)


def divided(data: bytes, message: slice, number: int) -> tuple[list[int], bytes]:
    """Where the messages in the field of this number begin, in a message that lies there, and its other fields.

    This is all that is done for each event by itself.

    >>> starts, others = divided(bytes([0x0A, 1, 65, 0x0A, 0, 0x10, 7]), slice(0, 7), 1)
    >>> starts, list(others)
    ([0, 3], [16, 7])
    """
    at, end, wanted = message.start, message.stop, number << 3 | _CONTENT
    found: list[int] = []
    others: list[bytes] = []
    since = at  # the other fields that are not in `others` begin here
    while at < end:
        tag, start = data[at], at
        if tag & _KIND_AND_MORE != _CONTENT:
            at = _end_of_field(data, at)
            continue
        starts: list[int] = []
        while at < end and data[at] == tag:  # most fields are like the one before
            starts.append(at)
            size = data[at + 1]
            if size < _MORE:
                at += 2 + size
            elif (more := data[at + 2]) < _MORE:
                at += 3 + (size & ~_MORE | more << 7)
            else:
                at = content_at(data, at).stop
        if tag == wanted:
            found += starts
            others.append(data[since:start])
            since = at
    if at != end:
        raise IrregularSpace
    return found, b"".join([*others, data[since:end]])


def _end_of_field(data: bytes, at: int) -> int:
    tag, content = number_at(data, at)
    kind = tag & 7
    if kind == _CONTENT:
        return int(content_at(data, at).stop)
    if kind == _NUMBER:
        return number_at(data, content)[1]
    if kind in (_EIGHT_BYTES, _FOUR_BYTES):
        return content + (8 if kind == _EIGHT_BYTES else 4)
    raise IrregularSpace


class NumberCodes:
    """Finds the code of each of many numbers, ABSENT if it has none.

    >>> NumberCodes({7: 0, 300: 1}).of(np.array([300, 8, -1, 2**62])).tolist()
    [1, -1, -1, -1]
    """

    def __init__(self, codes: Mapping[int, int]) -> None:
        known = sorted(codes)
        self._known, self._codes = np.array(known, np.int64), np.array([codes[each] for each in known], np.int64)
        self._table: Integers | None = None
        if not known or (known[0] >= 0 and known[-1] < _MOST_IN_TABLE):
            self._table = np.full(known[-1] + 2 if known else 1, ABSENT, np.int64)
            self._table[self._known] = self._codes

    def of(self, numbers: Integers) -> Integers:
        """The codes of these numbers."""
        if self._table is not None:  # the last place stands for all beyond, and negative ones
            return self._table[np.minimum(numbers.view(np.uint64), np.uint64(len(self._table) - 1)).view(np.int64)]
        place = np.minimum(np.searchsorted(self._known, numbers), len(self._known) - 1)
        found: Integers = np.where(self._known[place] == numbers, self._codes[place], ABSENT)
        return found


class DecodedEvents(NamedTuple):
    """Some events in their order; times are in picoseconds."""

    metadata: Integers
    offset: Integers
    duration: Integers


class Stats(NamedTuple):
    """Some stats of events: the row of the event, the tag of the stat's value, and the value.

    The value of a text or of bytes is where its size is written.
    """

    event: Indices
    tag: Bytes
    value: Integers

    def taken(self, rows: Integers) -> Stats:
        """The stats in these rows.

        >>> Stats(np.arange(3), np.zeros(3), np.arange(3)).taken(np.array([2])).event.tolist()
        [2]
        """
        return Stats._make(column[rows] for column in self)

    @property
    def integers(self) -> Stats:
        """The stats that are integers.

        >>> Stats(np.arange(2), np.array([TEXT, SIGNED]), np.arange(2)).integers.event.tolist()
        [1]
        """
        return self.taken(np.flatnonzero((self.tag == SIGNED) | (self.tag == UNSIGNED)))


def decoded(data: bytes, starts: Integers, keys: NumberCodes) -> tuple[DecodedEvents, dict[int, Stats]]:
    """The events that begin at these places, and by their keys their stats with these numbers.

    >>> from tfprof_widget.lib.messages import XLine
    >>> stats = [{"metadata_id": 9, "int64_value": -1}, {"metadata_id": 8, "str_value": "x"}]
    >>> line = XLine(events=[{"metadata_id": 7, "offset_ps": 300, "stats": stats}]).SerializeToString()
    >>> events, stats = decoded(line, np.array([0]), NumberCodes({9: 2}))
    >>> [column.tolist() for column in events], [column.tolist() for column in stats[2]]
    ([[7], [300], [0]], [[0], [32], [-1]])
    """
    events = DecodedEvents(*(np.zeros(len(starts), np.int64) for _ in DecodedEvents._fields))
    found: defaultdict[int, list[Stats]] = defaultdict(list)
    if len(starts) and content_at(data, int(starts[-1])).stop + _ROOM > len(data):
        data += bytes(_ROOM)
    space = _Bytes(data)
    for first in range(0, len(starts), _AT_ONCE):
        part, key, stats = _decode(space, starts[first : first + _AT_ONCE], first, keys)
        for column, values in zip(events, part, strict=True):
            column[first : first + _AT_ONCE] = values
        for each in np.flatnonzero(np.bincount(key)).tolist():
            found[each].append(stats.taken(np.flatnonzero(key == each)))
    return events, {key: Stats._make(map(np.concatenate, zip(*found.pop(key), strict=True))) for key in list(found)}


_HIGH = np.uint64(0x8080808080808080)
_ONE = np.uint64(1)
# Each pair of neighbours becomes one number, by moving the higher one down over the bits that were taken out.
_JOINS = tuple(
    (np.uint64(low), np.uint64(high), np.uint64(by))
    for low, high, by in (
        (0x007F007F007F007F, 0x7F007F007F007F00, 1),
        (0x00003FFF00003FFF, 0x3FFF00003FFF0000, 2),
        (0x000000000FFFFFFF, 0x0FFFFFFF00000000, 4),
    )
)


class _Bytes:
    """Bytes from which many numbers are read at a time; `words` has the eight bytes that begin at each place."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.byte = np.frombuffer(data, np.uint8)
        self.words: NDArray[np.uint64] = np.ndarray((max(len(data) - 7, 0),), "<u8", data, strides=(1,))

    def numbers(self, at: Integers) -> tuple[Integers, Integers]:
        """The numbers that are written at these places, and where they end: seven bits a byte, the lowest first."""
        word = self.words[at]
        last = ~word & _HIGH
        last &= ~last + _ONE  # the highest bit of the last byte alone
        word &= last - _ONE
        word &= ~_HIGH
        for low, high, by in _JOINS:
            word = (word & low) | ((word & high) >> by)
        value = word.view(np.int64)
        end = at + (np.frexp(last.astype(np.float64))[1] >> 3)
        rows = np.flatnonzero(last == 0)
        if len(rows):
            value[rows], end[rows] = self._completed(value[rows], at[rows] + 8)
        return value, end

    def _completed(self, value: Integers, at: Integers) -> tuple[Integers, Integers]:
        """The numbers with the ninth byte, which lies there, and the tenth, which negative numbers have."""
        ninth, tenth = self.byte[at].astype(np.int64), self.byte[at + 1].astype(np.int64)
        has_tenth = ninth >= _MORE
        _check(~has_tenth | (tenth < _MORE))
        value |= (ninth & ~_MORE) << 56
        value |= np.where(has_tenth, tenth << 63, 0)
        return value, at + 1 + has_tenth

    def small_numbers(self, at: Integers) -> tuple[Integers, Integers]:
        """The same, quicker where most numbers take one byte."""
        value, end = self.byte[at].astype(np.int64), at + 1
        large = np.flatnonzero(value >= _MORE)
        if len(large):
            value[large], end[large] = self.numbers(at[large])
        return value, end

    def optional(self, tag: int, at: Integers, end: Integers) -> tuple[Integers, Integers]:
        """The numbers in the fields with this tag, 0 where another field is, and where they end."""
        rows = np.flatnonzero((self.byte[at] == tag) & (at < end))
        if len(rows) == len(at):
            return self.numbers(at + 1)
        value, after = np.zeros(len(at), np.int64), at.copy()
        value[rows], after[rows] = self.numbers(at[rows] + 1)
        return value, after


def _check(is_regular: NDArray[np.bool_]) -> None:
    if not is_regular.all():
        raise IrregularSpace


def _decode(space: _Bytes, starts: Integers, first: int, keys: NumberCodes) -> tuple[DecodedEvents, Bytes, Stats]:
    """The events that begin at these places, of which the first has this row, and their stats with the key of each."""
    size, at = space.small_numbers(starts + 1)
    end = at + size
    metadata, at = space.optional(_METADATA, at, end)
    offset, at = space.optional(_OFFSET, at, end)
    duration, at = space.optional(_DURATION, at, end)
    _check(at <= end)
    rows, at, stat_end = _stats(space, at, end)
    number, at = _number_of_stat(space, at, stat_end)
    key = keys.of(number)
    kept = np.flatnonzero((key >= 0) & (at < stat_end))
    tag, value = _values(space, at[kept], stat_end[kept])
    return (
        DecodedEvents(metadata, offset, duration),
        key[kept].astype(np.uint8),
        Stats((rows[kept] + first).astype(np.int32), tag, value),
    )


def _stats(space: _Bytes, at: Integers, end: Integers) -> tuple[Integers, Integers, Integers]:
    """For each stat its event, and where it begins and ends: first the first one of each event, then all the second."""
    rows = np.flatnonzero(at < end)
    at, end = at[rows], end[rows]
    found = [(rows[:0], at[:0], at[:0])]
    while len(rows):
        _check(space.byte[at] == _STAT)
        size, begin = space.small_numbers(at + 1)
        _check((size >= 0) & (size <= end - begin))
        at = begin + size
        found.append((rows, begin, at))
        more = np.flatnonzero(at < end)
        rows, at, end = rows[more], at[more], end[more]
    return tuple(map(np.concatenate, zip(*found, strict=True)))  # type: ignore[return-value]


def _number_of_stat(space: _Bytes, at: Integers, end: Integers) -> tuple[Integers, Integers]:
    """The number of each stat's name, and where it ends; it comes first."""
    _check((at < end) & (space.byte[at] == _METADATA))
    number, after = space.small_numbers(at + 1)
    _check(after <= end)
    return number, after


def _values(space: _Bytes, at: Integers, end: Integers) -> tuple[Bytes, Integers]:
    """The tag and the value of each stat, which ends there."""
    tag = space.byte[at]
    value, after = np.zeros(len(at), np.int64), at.copy()
    rows = np.flatnonzero((tag == UNSIGNED) | (tag == SIGNED) | (tag == REFERENCE))
    value[rows], after[rows] = space.numbers(at[rows] + 1)
    rows = np.flatnonzero((tag == TEXT) | (tag == BYTES))
    if len(rows):
        size, content = space.small_numbers(at[rows] + 1)
        _check((size >= 0) & (size <= end[rows] - content))
        value[rows], after[rows] = at[rows] + 1, content + size
    rows = np.flatnonzero(tag == DOUBLE)
    if len(rows):
        value[rows], after[rows] = space.words[at[rows] + 1].view(np.int64), at[rows] + 9
    _check(after == end)
    return tag, value


def texts_at(data: bytes, at: Integers) -> tuple[Integers, list[bytes]]:
    """The different texts that are written at these places, each after its size, and the index of each place's.

    >>> code, texts = texts_at(b"\x01a\x02bc\x01a", np.array([0, 2, 5]))
    >>> code.tolist(), texts
    ([0, 1, 0], [b'a', b'bc'])
    """
    size, start = _Bytes(data).small_numbers(at)
    known: dict[bytes, int] = {}
    places = (slice(*each) for each in zip(start.tolist(), (start + size).tolist(), strict=True))
    code = [known.setdefault(data[place], len(known)) for place in places]
    return np.array(code, np.int64), list(known)

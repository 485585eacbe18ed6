"""Writes events of the Trace Event Format as JSON, and a whole trace of them that a browser can still open."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from tfprof_widget.errors import ProfileError
from tfprof_widget.integers import NANOS_A_MICRO

# The longest string that Chromium's JavaScript engine holds, and so the longest JSON that a page of it can read.
LARGEST_TRACE = 2**29 - 24
_EVENTS_A_PART = 5000

Place = tuple[int, int]
"""A process and a thread of it, both counted from 0."""

as_json = json.dumps


def micros(nanos: int) -> str:
    """A time as the format counts it.

    >>> micros(5000), micros(1234567)
    ('5', '1234.567')
    """
    return repr(nanos / NANOS_A_MICRO) if nanos % NANOS_A_MICRO else str(nanos // NANOS_A_MICRO)


def slice_event(name: str, category: str, place: Place, start: int, duration: int, args: str) -> str:
    """Something that takes time; texts are JSON already.

    >>> slice_event('"a"', '"Op"', (0, 1), 5000, 2500, "{}")
    '{"ph":"X","name":"a","cat":"Op","pid":1,"tid":2,"ts":5,"dur":2.5,"args":{}}'
    """
    return (
        f'{{"ph":"X","name":{name},"cat":{category},{_at(place)},'
        f'"ts":{micros(start)},"dur":{micros(duration)},"args":{args}}}'
    )


def label_event(what: str, place: Place, text: str) -> str:
    """What is said of a process or thread: `process_name`, `process_labels` or `thread_name`.

    >>> label_event("thread_name", (0, 3), "lane 3")
    '{"ph":"M","name":"thread_name","pid":1,"tid":4,"args":{"name":"lane 3"}}'
    """
    key = what.partition("_")[2]
    return f'{{"ph":"M","name":"{what}",{_at(place)},"args":{{"{key}":{as_json(text)}}}}}'


def counter_event(name: str, process: int, at: int, value: int) -> str:
    """What a process counts, from a time on, in bytes.

    >>> counter_event("memory held", 0, 1500, 64)
    '{"ph":"C","name":"memory held","pid":1,"tid":1,"ts":1.5,"args":{"bytes":64}}'
    """
    return f'{{"ph":"C","name":"{name}",{_at((process, 0))},"ts":{micros(at)},"args":{{"bytes":{value}}}}}'


def flow_events(name: str, number: int, source: tuple[Place, int], target: tuple[Place, int]) -> Iterator[str]:
    """An arrow between two slices; each end is a place and a time within the slice."""
    for phase, (place, at) in (('"s"', source), ('"f","bp":"e"', target)):
        yield f'{{"ph":{phase},"name":{name},"cat":"DataFlow","id":{number},{_at(place)},"ts":{micros(at)}}}'


def _at(place: Place) -> str:
    # Written from 1 on: Perfetto takes process and thread 0 for the kernel's own.
    return f'"pid":{place[0] + 1},"tid":{place[1] + 1}'


def whole_trace(events: Iterable[str], about: dict[str, Any]) -> bytearray:
    """The trace of these events, which may be no larger than what a browser opens.

    >>> whole_trace(['{"ph":"M"}'], {}).decode()
    '{"displayTimeUnit":"ns","otherData":{},"traceEvents":[\\n{"ph":"M"}\\n]}\\n'
    """
    content = bytearray(b'{"displayTimeUnit":"ns","otherData":' + as_json(about).encode() + b',"traceEvents":[\n')
    remaining, separator = iter(events), b""
    while part := list(islice(remaining, _EVENTS_A_PART)):
        content += separator + ",\n".join(part).encode()
        separator = b",\n"
        if len(content) > LARGEST_TRACE:
            raise ProfileError(
                f"timeline: it would take more than {LARGEST_TRACE // 10**6} MB, which no browser opens; "
                "raise min_micros, choose one step, or show fewer nodes by show_name_regexes or max_depth"
            )
    return content + b"\n]}\n"

"""The timeline of a scope or code view: each row as long as its total, with the rows below it nested in it."""

from __future__ import annotations

from collections.abc import Iterator

from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.engine.view import View
from tfprof_widget.integers import NANOS_A_MICRO
from tfprof_widget.output.timeline.trace_events import as_json, label_event, micros, slice_event


def tree_events(view: View) -> Iterator[str]:
    """The events of the timeline: one thread, in which nesting is the tree; what took no time has no slice.

    >>> from tfprof_widget.demo import demo_profile
    >>> view = demo_profile().view("scope", max_depth=2, show_name_regexes=["layer2"])
    >>> [event.partition(',"args"')[0] for event in tree_events(view)][2:]
    ['{"ph":"X","name":"_TFProfRoot","cat":"scope","pid":1,"tid":1,"ts":0,"dur":320.802', ...
    """
    steps = len(chosen_steps(view.profile, view.options))
    yield label_event("process_name", (0, 0), f"{view.view} view")
    yield label_event("thread_name", (0, 0), "total time" + (f", mean of {steps} steps" if steps > 1 else ""))
    category = as_json(view.view)
    total, own, parent = (column.tolist() for column in (view.total["micros"], view.own["micros"], view.parent))
    # Where the next row below each starts, in the units of the columns: rounded only when written, so that
    # slices stay within the ones around them.
    reached = [0] * len(total)
    for row, (name, length, above) in enumerate(zip(view.names, total, parent, strict=True)):
        if length <= 0:
            continue
        start = reached[row] = reached[above] if above >= 0 else 0
        if above >= 0:
            reached[above] += length
        begin, end = (_nanos(each, view.time_scale) for each in (start, start + length))
        args = f'{{"own_micros":{micros(_nanos(own[row], view.time_scale))}}}'
        yield slice_event(as_json(name), category, (0, 0), begin, end - begin, args)


def _nanos(value: int, time_scale: int) -> int:
    return value * NANOS_A_MICRO // time_scale

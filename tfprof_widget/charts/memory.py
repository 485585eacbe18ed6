"""The chart of memory: what each device, or each allocator, held over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.analysis.account.memory import held_variables
from tfprof_widget.charts.chart import (
    ChartContent,
    ChartKind,
    Subject,
    as_in_rows,
    category_colours,
    legend,
    quantities,
)
from tfprof_widget.charts.moments import allocation_nanos, on_clock, step_starts
from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.lib.arrays import Floats, Integers
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.text import short_units, visible, written_seconds
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import device_label

if TYPE_CHECKING:
    import altair

ALLOCATORS_TITLE = "Memory in use by allocator"
# As many as a chart has pixels to show.
STRETCHES = 300
LIKE = 0.01
DASHES = [[1, 0], [7, 5], [2, 4], [10, 4, 2, 4]]
HEIGHT = 200


def _content(subject: Subject) -> ChartContent:
    profile = on_clock(subject.view.profile)
    steps = chosen_steps(profile, subject.view.options)
    step, curves = step_with_most_memory(profile, steps)
    if curves:
        title = memory_title(profile, step, len(steps) > 1)
        return ChartContent("memory", memory_rows(curves), HEIGHT, title, of="told")
    curves = _allocator_curves(profile)
    if not curves:
        raise ProfileError("there is no chart of memory, for no run recorded when memory was held")
    return ChartContent("memory", memory_rows(curves), HEIGHT, ALLOCATORS_TITLE, of="told")


def memory_title(profile: ProfileData, step: int, is_of_several: bool) -> str:
    """Of which step the memory is.

    >>> from tfprof_widget.demo import demo_profile
    >>> memory_title(demo_profile(), 0, True)
    'Memory over time, step 0, the one with the largest peak'
    """
    worker = profile.step_workers[step] if profile.step_workers else ""
    name = "".join(f" · {visible(each)}" for each in (profile.step_names[step], worker) if each)
    most = ", the one with the largest peak" if is_of_several else ""
    return f"Memory over time, step {profile.steps[step]}{name}{most}"


@dataclass(frozen=True, eq=False)
class MemoryCurve:
    """What was held by a device or allocator after each moment, and the peak."""

    name: str
    nanos: Sequence[int]
    held: Sequence[int]
    peak_nanos: int
    peak_bytes: int


def step_with_most_memory(profile: ProfileData, steps: Sequence[int]) -> tuple[int, list[MemoryCurve]]:
    """The one of these steps with the largest peak, the first of them, and its devices' curves; none without memory.

    >>> from tfprof_widget.demo import demo_profile
    >>> step, (curve,) = step_with_most_memory(demo_profile(), [0])
    >>> step, curve.name, curve.peak_bytes > 0
    (0, 'CPU:0', True)
    """
    found: tuple[int, list[MemoryCurve]] = (steps[0] if steps else 0, [])
    nanos = allocation_nanos(profile, step_starts(profile))
    step_of = profile.executions.step[profile.allocations.execution]
    for step in steps:
        rows = np.flatnonzero(step_of == step)
        curves = _curves(profile, rows, nanos) if len(rows) else []
        if curves and curves[0].peak_bytes > max((each.peak_bytes for each in found[1]), default=0):
            found = step, curves
    return found


def _curves(profile: ProfileData, rows: Integers, nanos: Integers) -> list[MemoryCurve]:
    """The curve of each device on which these allocations were made, the largest peak first."""
    device_of = profile.executions.device[profile.allocations.execution[rows]]
    devices = list(dict.fromkeys(device_of.tolist()))
    found = [_curve(profile, device, rows[device_of == device], nanos) for device in devices]
    return sorted(found, key=lambda curve: -curve.peak_bytes)


def _curve(profile: ProfileData, device: int, rows: Integers, nanos: Integers) -> MemoryCurve:
    # As recorded where the clock, which counts microseconds, shows no difference.
    rows = rows[np.argsort(nanos[rows], kind="stable")]
    moments, held = nanos[rows], np.cumsum(profile.allocations.bytes[rows])
    names = profile.nodes.devices
    name = names[device] if 0 <= device < len(names) else ""
    variables = sum(each.bytes for each in held_variables(profile) if each.device == name)
    # Variables are held before the step. Whatever else was is known only by its release.
    before = variables + max(0, -int(held.min()))
    held = held + before
    peak = int(held.argmax())
    label = device_label(name, names)
    # What is held when the step starts comes first.
    kept = _drawn_points(moments, held)
    first = min(0, int(moments[0]))
    return MemoryCurve(
        visible(label),
        [first, *moments[kept].tolist()],
        [before, *held[kept].tolist()],
        int(moments[peak]),
        int(held[peak]),
    )


def _drawn_points(nanos: Integers, held: Integers) -> list[int]:
    """Of so many stretches of time the largest value and the last, so that no peak is lost."""
    first, last = int(nanos[0]), int(nanos[-1])
    stretch = np.minimum(STRETCHES - 1, STRETCHES * (nanos - first) // ((last - first) or 1))
    starts = np.flatnonzero(np.diff(stretch, prepend=-1))
    kept: list[int] = []
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(nanos)], strict=True):
        largest = start + int(held[start:end].argmax())
        kept += dict.fromkeys((largest, end - 1))
    return kept


def _allocator_curves(profile: ProfileData) -> list[MemoryCurve]:
    peaks = [each for each in profile.allocator_peaks if each.nanos]
    started = min((each.nanos[0] for each in peaks), default=0)
    found = []
    for each in peaks:
        peak = each.nanos[each.bytes_in_use.index(max(each.bytes_in_use))] - started
        nanos = [nanos - started for nanos in each.nanos]
        found.append(MemoryCurve(visible(each.name), nanos, each.bytes_in_use, peak, each.peak_bytes))
    return found


def memory_rows(curves: Sequence[MemoryCurve]) -> dict[str, list[dict[str, Any]]]:
    """The rows of the curves, and of their peaks; curves that are alike are one.

    >>> memory_rows([MemoryCurve("CPU:0", [0, 2000], [0, 64], 2000, 64)])["peaks"][0]["label"]
    'peak 64 B'
    """
    curves = _without_like(curves)
    return {
        "memory": [row for curve in curves for row in _curve_rows(curve)],
        "peaks": [
            {
                **_row(curve, curve.peak_nanos, curve.peak_bytes),
                "label": f"peak {short_units(curve.peak_bytes, 'B')}",
            }
            for curve in curves
        ],
    }


def _without_like(curves: Sequence[MemoryCurve]) -> list[MemoryCurve]:
    """The curves, those that are alike as one: drawn over each other their colours would mix to grey."""
    groups: list[list[MemoryCurve]] = []
    for curve in curves:
        group = next((each for each in groups if _are_like(each[0], curve)), None)
        if group is None:
            groups.append([curve])
        else:
            group.append(curve)
    return [_together(group) for group in groups]


def _together(group: Sequence[MemoryCurve]) -> MemoryCurve:
    fullest = max(group, key=lambda each: each.peak_bytes)
    if len(group) == 1:
        return fullest
    name = f"{group[0].name} and {group[1].name}, alike"
    if len(group) > 2:
        name = f"{group[0].name} … {group[-1].name}, {len(group)} alike"
    return replace(fullest, name=name)


def _are_like(one: MemoryCurve, other: MemoryCurve) -> bool:
    """Whether two curves, in the mean over time, and their peaks are apart by less than a share of the peak."""
    peak = max(one.peak_bytes, other.peak_bytes)
    if abs(one.peak_bytes - other.peak_bytes) > LIKE * peak:
        return False
    times = np.unique(np.array([*one.nanos, *other.nanos], np.int64))
    apart = np.abs(_held_at(one, times) - _held_at(other, times))[:-1]
    return float((apart * np.diff(times)).sum()) <= LIKE * peak * float(times[-1] - times[0])


def _held_at(curve: MemoryCurve, times: Integers) -> Floats:
    """What is held from each of these times on."""
    held = np.array([0, *curve.held], np.float64)
    return held[np.searchsorted(np.array(curve.nanos, np.int64), times, side="right")]


def _curve_rows(curve: MemoryCurve) -> Iterator[dict[str, Any]]:
    ends = [*curve.nanos[1:], curve.nanos[-1]]
    for nanos, held, end in zip(curve.nanos, curve.held, ends, strict=True):
        yield {**_row(curve, nanos, held), "until": end / 1e9}


def _row(curve: MemoryCurve, nanos: int, held: int) -> dict[str, Any]:
    return {
        "device": curve.name,
        "told": f"{curve.name}: peak {short_units(curve.peak_bytes, 'B')} at {written_seconds(curve.peak_nanos / 1e9)}",
        "seconds": nanos / 1e9,
        "bytes": held,
        "when": written_seconds(nanos / 1e9),
        "exact": f"{held:,} B",
    }


def _drawn(*, alone: bool) -> altair.LayerChart:
    """Bytes over time, with a vertical line at the peak of each device; alone, the legend tells the peaks."""
    import altair as alt

    field = "told" if alone else "device"
    shown = legend()
    shown.symbolType, shown.symbolStrokeWidth, shown.symbolSize, shown.columns = "stroke", 2, 200, 2
    devices = alt.Color(
        f"{field}:N",
        scale=alt.Scale(domain=as_in_rows("peaks", field), range=category_colours()),
        legend=shown,
    )
    time = alt.X("seconds:Q", title=None, axis=quantities("'s'", ticks=8), scale=alt.Scale(nice=False))
    size = alt.Y("bytes:Q", title=None, axis=quantities("'B'", ticks=5))
    held = alt.Chart(alt.NamedData("memory"), height=HEIGHT).encode(x=time, y=size, color=devices)
    # Where curves lie over each other all colours have to be seen: dashes tell them apart, and three fills are grey.
    light = {"expr": "length(domain('color')) > 2 ? 0 : 0.25 / length(domain('color'))"}
    areas = held.mark_area(interpolate="step-after", opacity=light, aria=False).encode(
        y=alt.Y("bytes:Q", title=None, stack=None, axis=quantities("'B'", ticks=5))
    )
    dashes = alt.StrokeDash(
        f"{field}:N", scale=alt.Scale(domain=as_in_rows("peaks", field), range=DASHES), legend=shown
    )
    lines = held.mark_line(interpolate="step-after", strokeWidth=1.5, aria=False).encode(strokeDash=dashes)
    peaks = alt.Chart(alt.NamedData("peaks")).encode(x=time)
    rules = peaks.mark_rule(strokeDash=[3, 3], strokeWidth=1.5, aria=False).encode(color=devices)
    if alone:
        return alt.LayerChart(layer=[areas, lines, rules], description="Memory held over time by device")
    tooltip = [
        alt.Tooltip("device:N", title="device"),
        alt.Tooltip("when:N", title="time"),
        alt.Tooltip("exact:N", title="held"),
    ]
    stretches = held.mark_rect(opacity=0, aria=False).encode(x2="until:Q", y2=alt.datum(0), tooltip=tooltip)
    is_late = "scale('x', datum.seconds) > width / 2"
    labels = peaks.mark_text(
        align={"expr": f"{is_late} ? 'right' : 'left'"},
        dx={"expr": f"{is_late} ? -5 : 5"},
        dy={"expr": "datum.below"},  # so that it is over no other one
        color="var(--text)",
        baseline="bottom",
        aria=False,
    ).encode(y="bytes:Q", text="label:N")
    layers = [areas, lines, rules.encode(tooltip=tooltip), labels, stretches]
    return alt.LayerChart(layer=layers, description="Memory held over time by device")


MEMORY = ChartKind(
    "memory",
    _content,
    alone={"memory": lambda: _drawn(alone=True)},
    on_page={"memory": lambda: _drawn(alone=False)},
)

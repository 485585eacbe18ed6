"""The chart of the timeline: what ran when, in a lane for each thread of a device, colours by what ops do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

from tfprof_widget.charts.chart import (
    CATEGORIES as COLOURS,
)
from tfprof_widget.charts.chart import (
    ChartContent,
    ChartKind,
    Subject,
    as_in_rows,
    legend,
    names_axis,
    names_signals,
    names_width,
    quantities,
)
from tfprof_widget.charts.moments import Lane, TimelineLayout, timeline_layout
from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.errors import ProfileError, value_error
from tfprof_widget.lib.text import visible
from tfprof_widget.profiles.data import ProfileData

if TYPE_CHECKING:
    import altair

CATEGORIES = (
    "matrix product, convolution",
    "gradient, update",
    "elementwise, reduction",
    "memory, layout",
    "input",
    "other",
)
TRANSFER = "transfers"

PATTERNS: tuple[tuple[int, str], ...] = (
    (
        4,
        r"Iterator|Dataset|Queue|Reader|Decode|Example|ReadFile|^Placeholder|^_(Device)?Arg$|^_?Feed|"
        r"^(Un)?[Ss]tage$|Infeed|^(Parallel)?Map(AndBatch|V2)?$|^Prefetch$|^TensorSlice$|^Shuffle|Repeat$",
    ),
    # Ops of XLA and JAX, which are written in small letters; fusions are named after what is in them.
    (
        3,
        r"^(loop_|input_|wrapped_)?(copy|async|send|recv|all[-_]|reduce[-_]scatter|collective|psum|"
        r"ppermute|transpose|reshape|bitcast|broadcast|gather|scatter|slice|dynamic|concat|pad|iota|"
        r"squeeze|expand|convert|rev)",
    ),
    (0, r"^(loop_|input_|wrapped_)?(dot|conv|cudnn|cublas|gemm)|attn"),
    (
        2,
        r"^(loop_|input_|wrapped_)?(add|sub|mul|div|neg|abs|sign|exp|log|tanh|sin|cos|r?sqrt|square|max|"
        r"min|reduce|arg|cum|pow|integer_pow|compare|eq|ne|[lg][te]|select|clamp|and|or|not|xor|floor|"
        r"ceil|round|erf|rng|random|threefry|sort|top_k)(?![a-z])",
    ),
    (3, r"^(Stop|Prevent)Gradient$|Matrix(Diag|SetDiag|BandPart)"),
    (1, r"Grad|Backprop|^(Resource)?(Sparse)?Apply|Accumulator"),
    (0, r"Conv(?!ert)|MatMul|Dot|Einsum|RNN|LSTM|GRU|Gemm|Attention|^(Batch)?Matrix|Cholesky|Svd$|^Qr$|^Lu$|FFT"),
    (3, r"Concat|[Pp]ack$|Reshape|Transpose|Slice|Pad|Split|Gather|Scatter|Tile|ExpandDims|Squeeze|Relayout|Layout"),
    (
        3,
        r"Identity|Cast|Fill$|sLike$|Copy|Memcpy|MEMCPY|Memset|MEMSET|Send|Recv|Nccl|Collective|Variable|"
        r"VarHandle|Assign",
    ),
    (
        3,
        r"Const$|Reverse|Broadcast|Shape|Stitch|Partition(?!ed)|TensorArray|TensorList|InvertPermutation|"
        r"SpaceTo|ToSpace",
    ),
    (3, r"OneHot|Where|Roll|Snapshot|MklToTf|SparseToDense"),
    (2, r"Add|Sub|Mul|Div|Pow|[Ss]qrt|Square|Exp|Log|Relu|Elu|Selu|Sigmoid|Tanh|Soft|Swish|Mish|Neg|Abs|Sign|Erf"),
    (
        2,
        r"Max|Min|Mean|Sum(?!mary)|Prod|All$|Any$|Mod|Floor|Ceil|Round|Rint|Equal|Less|Greater|Select|"
        r"Clip|Is(Nan|Inf|Finite)",
    ),
    (
        2,
        r"Bias|Norm|Pool|L[Rr][Nn]|Sin|Cos|Tan|Inv|Reciprocal|Conj|AccumulateN|Cum|TopK|L2Loss|Random|"
        r"Dropout|Range|LinSpace",
    ),
    (2, r"Quantize|Resize|CrossEntropy|UnaryOps"),
)
"""The categories of names, in the order in which they are tried: a Conv2DBackpropFilter is a gradient first."""

_COMPILED = tuple((category, re.compile(pattern, re.ASCII)) for category, pattern in PATTERNS)


@lru_cache(maxsize=4096)
def category_of(op: str) -> str:
    """What an op type does.

    >>> category_of("_FusedMatMul"), category_of("ReluGrad"), category_of("IteratorGetNext")
    ('matrix product, convolution', 'gradient, update', 'input')
    """
    found = next((category for category, pattern in _COMPILED if pattern.search(op)), -1)
    return CATEGORIES[found]


TITLE = "Timeline"
LANE_HEIGHT = 18
# As many as fit on a page, the busiest ones.
MOST_LANES = 40
# Columns of a picture's width: what is shorter than one shares it with its neighbours.
COLUMNS_A_PIXEL = 2
_LEAST_WEIGHT = 1e-9
_PARTED = 4


def _content(subject: Subject) -> ChartContent:
    profile = subject.view.profile
    steps = chosen_steps(profile, subject.view.options)
    layout = timeline_layout(profile, steps)
    if not layout.lanes:
        raise ProfileError("there is no timeline, for no run recorded when its ops ran")
    begin, end = _span(subject, layout)
    lanes = _busiest(layout.lanes)
    signals = {**names_width([lane.name for lane in lanes], subject.width), "begin": begin / 1e9, "end": end / 1e9}
    slices = list(_slice_rows(profile, lanes, begin, end, subject.width * COLUMNS_A_PIXEL))
    found = {row["category"] for row in slices}
    named = [lane.name for lane in lanes]
    left_out = len(layout.lanes) - len(lanes)
    return ChartContent(
        "timeline",
        {
            "lanes": [{"lane": name} for name in ("step", *named)],
            "slices": slices,
            "steps": list(_step_rows(layout, begin, end)),
            "categories": [{"category": each} for each in (*CATEGORIES, TRANSFER) if each in found],
        },
        LANE_HEIGHT * (1 + len(lanes)),
        TITLE,
        signals,
        (f"the busiest {len(lanes)} of {len(layout.lanes)} lanes",) if left_out else (),
        of="each",
    )


def _span(subject: Subject, layout: TimelineLayout) -> tuple[float, float]:
    """The part that is drawn, in nanoseconds."""
    if subject.span is None:
        return 0.0, float(layout.end)
    begin, end = (1e9 * seconds for seconds in subject.span)
    if not 0 <= begin < end or begin >= layout.end:
        raise value_error(
            f"span is {subject.span}, but must be two times in seconds, the first before the second and before the "
            f"end of the timeline at {layout.end / 1e9:.6g}"
        )
    return begin, end


def _busiest(lanes: tuple[Lane, ...]) -> tuple[Lane, ...]:
    if len(lanes) <= MOST_LANES:
        return lanes
    by_work = sorted(range(len(lanes)), key=lambda lane: -lanes[lane].work)[:MOST_LANES]
    return tuple(lanes[lane] for lane in sorted(by_work))


def _step_rows(layout: TimelineLayout, begin: float, end: float) -> Iterator[dict[str, Any]]:
    for step in layout.steps:
        if step.start < end and step.end > begin:
            ends = {"begin": max(step.start, begin) / 1e9, "end": min(step.end, end) / 1e9}
            yield {"lane": "step", **ends, "label": step.name}


def _slice_rows(
    profile: ProfileData, lanes: tuple[Lane, ...], begin: float, end: float, width: int
) -> Iterator[dict[str, Any]]:
    nodes = profile.nodes
    categories = [category_of(op) for op in nodes.ops]
    for lane in lanes:
        for left, right, category, node in _stretches(lane, categories, nodes.op, begin, end, width):
            name = visible(nodes.names[node].rpartition("/")[2]) if node != ABSENT else ""
            ends = {"begin": (begin + left * (end - begin) / width) / 1e9}
            ends["end"] = (begin + right * (end - begin) / width) / 1e9
            yield {"lane": lane.name, **ends, "category": category, "label": name}


Stretch = tuple[int, int, str, int]


def _stretches(lane: Lane, categories: list[str], op: Any, begin: float, end: float, width: int) -> Iterator[Stretch]:
    """What is seen of a lane, in columns; one that several short slices share has the category of most of their time.

    A stretch of short slices has no node.
    """
    scale = width / (end - begin)
    column, free = -1, 0
    weight: dict[str, float] = {}
    shared: Stretch | None = None

    def decided() -> Stretch:
        best = max(weight, key=lambda each: (weight[each], -_RANK[each]))
        weight.clear()
        return column, column + 1, best, ABSENT

    def joined(found: Stretch) -> Iterator[Stretch]:
        """Columns of one category beside each other are one stretch."""
        nonlocal shared
        if shared is not None and (shared[1], shared[2]) == (found[0], found[2]):
            shared = (shared[0], found[1], found[2], ABSENT)
            return
        if shared is not None:
            yield shared
        shared = found

    first = int(np.searchsorted(lane.end, begin, side="right"))
    starts, ends, nodes = lane.start[first:].tolist(), lane.end[first:].tolist(), lane.node[first:].tolist()
    for start, until, node in zip(starts, ends, nodes, strict=True):
        if start >= end:
            break
        category = TRANSFER if lane.is_transfers else categories[op[node]]
        if until - start < 1 / scale:
            at = max(int((start - begin) * scale), free)
            if at != column:
                if column >= 0:
                    yield from joined(decided())
                    free = column + 1
                column = max(at, free)
            weight[category] = weight.get(category, 0.0) + (until - start) + _LEAST_WEIGHT
            continue
        if column >= 0:
            yield from joined(decided())
            free = column + 1
        column = -1
        left = max(floor((start - begin) * scale + 0.5), free)
        right = min(max(floor((until - begin) * scale + 0.5), left + 1), width)
        if shared is not None:
            yield shared
            shared = None
        # A slice is parted from the next one.
        parted = right - 1 if right - left >= _PARTED else right
        if left < parted:
            yield left, parted, category, node
        free = max(right, free)
    if column >= 0:
        yield from joined(decided())
    if shared is not None:
        yield shared


_RANK = {category: rank for rank, category in enumerate((*CATEGORIES, TRANSFER))}


def _drawn() -> altair.LayerChart:
    import altair as alt

    lane = alt.Y(
        "lane:N",
        title=None,
        axis=names_axis(),
        scale=alt.Scale(domain=as_in_rows("lanes", "lane"), paddingInner=0, paddingOuter=0),
    )
    seen = [{"expr": "begin"}, {"expr": "end"}]
    begin = alt.X(
        "begin:Q",
        title=None,
        axis=quantities("'s'", ticks=8),
        scale=alt.Scale(domain=seen, nice=False, zero=False),
    )
    colours = alt.Scale(domain=[*CATEGORIES, TRANSFER], range=[f"var({name})" for name in (*COLOURS, "--transfer")])
    shown = legend()
    shown.values = as_in_rows("categories", "category")
    shown.orient, shown.columns = "bottom", 4
    lanes = alt.Chart(alt.NamedData("lanes")).mark_rule(color="var(--line)", opacity=0.6, aria=False).encode(y=lane)
    # Each layer by itself is cut off at the ends of the plot; names of short slices are left out.
    slices = alt.Chart(alt.NamedData("slices")).encode(x=begin, y=lane)
    areas = slices.mark_rect(height={"band": 0.86}, clip=True, aria=False).encode(
        x2="end:Q", color=alt.Color("category:N", scale=colours, legend=shown)
    )
    steps = alt.Chart(alt.NamedData("steps")).encode(x=begin, y=lane)
    bands = steps.mark_rect(height={"band": 0.8}, color="var(--line)", clip=True, aria=False).encode(x2="end:Q")
    room = "scale('x', datum.end) - scale('x', max(datum.begin, begin))"
    text = alt.condition(f"{room} > 30", "label:N", alt.value(""))
    written: dict[str, Any] = {"align": "left", "dx": 3, "limit": {"expr": f"max(1, {room} - 6)"}, "aria": False}
    names = slices.mark_text(color="#10161d", fontSize=10, **written).encode(text=text)
    labels = steps.mark_text(color="var(--text)", fontSize=10, **written).encode(text=text)
    # The list of categories is drawn as nothing, so that the legend can have it.
    listed = alt.Chart(alt.NamedData("categories")).mark_point(opacity=0, size=0, aria=False)
    layers = alt.LayerChart(layer=[lanes, bands, labels, areas, names, listed], description="What ran when")
    return layers.add_params(*names_signals(), alt.param(name="begin", value=0), alt.param(name="end", value=1))


TIMELINE = ChartKind("timeline", _content, alone={"timeline": _drawn})

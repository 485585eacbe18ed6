"""The op types, names and counts of recorded XSpaces are those of xprof's framework-op statistics for the same ones."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest

from tests.ingest.make_recorded import RECORDED
from tests.made import tables_of_traces
from tfprof_widget.ingest.parts.names import DATA_SCOPE, EAGER_SCOPE, without_body_numbers
from tfprof_widget.ingest.xspace.reader import TraceTable, read_xspace

Operations = Counter[tuple[str, str]]

ITERATORS = "Dataset"  # the type that xprof gives them all
MOVING = {"_Arg", "_Retval"}  # which the runtime adds to move values around, and so are no ops of the program
IN_EAGER_OPS = {
    # What MakeIterator ran on its own thread. Eager ops are none of xprof's: here their time is that of all they ran.
    "fit": Counter({("Range", "range"): 2}),
    "loop": Counter(
        [
            ("Identity", "Sink"),
            ("Placeholder", "Placeholder/_0"),
            ("PrefetchDataset", "inject/prefetch_RepeatDataset/_3"),
            ("RepeatDataset", "RepeatDataset/_3"),
            ("TensorDataset", "TensorDataset/_1"),
        ]
    ),
}


def of_xprof(name: str) -> Operations:
    rows = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))["operations"]
    counts: Operations = Counter()
    for op, operation, occurrences in rows:
        if op not in MOVING:
            counts[op, operation if op == ITERATORS else without_body_numbers(operation)] += occurrences
    assert counts & IN_EAGER_OPS[name] == IN_EAGER_OPS[name]
    return counts - IN_EAGER_OPS[name]


def columns(name: str) -> TraceTable:
    return read_xspace(gzip.decompress((RECORDED / f"{name}.xplane.pb.gz").read_bytes()))


def ours(columns: TraceTable) -> Operations:
    counts: Operations = Counter()
    for place, count in Counter(columns.label.tolist()).items():
        label = columns.labels[place]
        if label.kind == "iterator":
            counts[ITERATORS, label.name] += count
        elif label.kind != "eager run":
            counts[label.op, label.name] += count
    return counts


@pytest.mark.parametrize("name", ["fit", "loop"])
def test_operations_are_those_of_xprof(name: str) -> None:
    assert ours(columns(name)) == of_xprof(name)


@pytest.mark.parametrize("name", ["fit", "loop"])
def test_op_types_of_the_profile_are_those_of_xprof(name: str) -> None:
    profile = tables_of_traces(columns(name))
    counts: Counter[str] = Counter()
    for node in profile.executions.node.tolist():
        scope, _, rest = profile.nodes.names[node].partition("/")
        if scope == DATA_SCOPE and rest.startswith("Root"):
            counts[ITERATORS] += 1
        elif scope != EAGER_SCOPE:
            counts[profile.nodes.ops[profile.nodes.op[node]]] += 1
    expected: Counter[str] = Counter()
    for (op, _), count in of_xprof(name).items():
        expected[op] += count
    assert counts == expected
    assert columns(name).dropped == 0

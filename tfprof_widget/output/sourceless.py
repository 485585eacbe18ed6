"""Leaves out of a profile what tells of the source: lines, paths, arguments, and texts in the graph."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from tfprof_widget.ingest.parts.nodes import node_definitions
from tfprof_widget.lib.arrays import ABSENT
from tfprof_widget.lib.messages import GraphDef, as_sealed
from tfprof_widget.profiles.cell import CellTimes, OwnCode, PythonLooks, PythonTime
from tfprof_widget.profiles.data import ProfileTables
from tfprof_widget.profiles.kept_run import KeptRun
from tfprof_widget.profiles.tables import CodeStacks, Lists, OtherGraphs, OtherStacks

_PATH = re.compile(r"(?:[A-Za-z]:)?[/\\][^\s'\"),;:]*[/\\][^\s'\"),;:]*")
_HARMLESS = re.compile(rb"[A-Z0-9_]{0,16}")
"""Layouts and the like, as NHWC and SAME, which no path looks like."""

_TOLD_IN_WORDS = re.compile(r"[a-z_]+\Z")
"""Of a fingerprint, what is no variable of the environment: variables may hold paths."""


def without_source(tables: ProfileTables) -> ProfileTables:
    """The tables without lines of code, names of files, arguments of functions, and texts in nodes of the graph.

    The names of nodes, functions, layers and tasks stay: they are what a profile is about.

    >>> from tfprof_widget.demo import demo_profile
    >>> bare = without_source(demo_profile())
    >>> bare.has_traces, bare.nodes.names == demo_profile().nodes.names
    (False, True)
    """
    return tables.having(
        traces=_no_stacks(tables.traces),
        other_stacks=OtherStacks.none(),
        other_graphs=OtherGraphs.none(),
        graphs=_without_texts(tables.graphs),
        checkpoint=None,
        skipped=(),
        own_code=OwnCode(),
        cells=tuple(map(_without_lines, tables.cells)),
        pipelines=tuple(tuple(replace(each, line=None) for each in stages) for stages in tables.pipelines),
        pipeline_stages=_lineless(tables.pipeline_stages),
        held_memory=_lineless(tables.held_memory),
        kept_run=None if tables.kept_run is None else run_without_source(tables.kept_run),
    )


def run_without_source(run: KeptRun) -> KeptRun:
    """What is kept of a run, without its code and the lines of its ops.

    >>> run_without_source(KeptRun(name="train", source="secret()", fingerprint={"cores": "2"})).source
    ''
    """
    ops = replace(run.ops, lines=(), line=np.full(len(run.ops), ABSENT, np.int32))
    told = {name: value for name, value in run.fingerprint.items() if _TOLD_IN_WORDS.match(name)}
    return replace(run, source="", label="", cell="", ops=ops, fingerprint=told)


def without_paths(text: str) -> str:
    """A sentence with each path in it left out.

    >>> without_paths("cannot read '/home/me/data.csv': it is gone (8 of a/b)")
    "cannot read '…': it is gone (8 of a/b)"
    """
    return _PATH.sub("…", text)


def _no_stacks(traces: CodeStacks) -> CodeStacks:
    number, index = np.zeros(0, np.int64), np.zeros(0, np.int32)
    stack = np.full(len(traces.stack), ABSENT, np.int32)
    return CodeStacks((), number, index, index, index, index, index, Lists.of([]), stack, traces.forward)


def _without_lines(cell: CellTimes) -> CellTimes:
    def doing(times: Iterable[PythonTime]) -> tuple[PythonTime, ...]:
        return tuple(replace(each, file="", line=0, function="") for each in times)

    return replace(
        cell,
        phases=tuple(replace(each, line=None) for each in cell.phases),
        outside=doing(cell.outside),
        between=doing(cell.between),
        looks=PythonLooks.none(),
    )


def _lineless(rows: Any) -> Any:
    return None if rows is None else tuple(replace(each, line=None) for each in rows)


def _without_texts(graphs: Iterable[Any]) -> tuple[Any, ...]:
    """The graphs as one, without constants and attributes that are texts, and without what TensorFlow keeps aside."""
    bare = GraphDef()
    for node in node_definitions(graphs):
        copied = bare.node.add(name=node.name, op=node.op, input=node.input, device=node.device)
        for name, value in node.attr.items():
            if not _tells(value):
                copied.attr[name].CopyFrom(value)
    return (as_sealed(bare.SerializeToString(deterministic=True), "GraphDef", "graph"),) if bare.node else ()


def _tells(value: Any) -> bool:
    """Whether an attribute holds text that a user may have written."""
    if value.HasField("tensor"):
        return bool(value.tensor.string_val) or bool(value.tensor.dtype == _STRING)
    if value.HasField("s"):
        return _HARMLESS.fullmatch(value.s) is None
    return value.HasField("list") and any(_HARMLESS.fullmatch(each) is None for each in value.list.s)


_STRING = 7
"""TensorFlow's number of the type of texts, DT_STRING."""

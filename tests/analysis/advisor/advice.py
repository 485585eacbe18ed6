"""Lets this package and native tfprof advise on the same protos, and holds the two equal."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tensorflow.core.profiler.tfprof_options_pb2 import AdvisorOptionsProto
from tensorflow.core.profiler.tfprof_output_pb2 import AdviceProto

import tfprof_widget as tfprof
from tests.oracle.native import NativeAnswer, NativeCrash, NativeTfprof, Request, Step
from tests.oracle.stdout import with_stdout
from tfprof_widget.engine.evaluate import view_tree
from tfprof_widget.lib.messages import GraphDef, OpLogProto, RunMetadata

CHECKERS = ("AcceleratorUtilizationChecker", "ExpensiveOperationChecker", "JobChecker", "OperationChecker")
BLOCK = re.compile(rf"(?=\n(?:{'|'.join(CHECKERS)}):\n)")

Execution = tuple[str, int, int]


def same_advice(
    native: NativeTfprof,
    graph: Any,
    steps: Sequence[Any | tuple[int, Any]] = (),
    op_log: Any = None,
    checkers: Sequence[str] = CHECKERS,
) -> dict[str, list[str]]:
    """Our reports by checker, once they and the printed text are found to be native's.

    A step is run metadata, or a pair of its number and run metadata.
    """
    op_log = op_log if op_log is not None else OpLogProto()
    numbered = [step if isinstance(step, tuple) else (number, step) for number, step in enumerate(steps)]
    profiler = tfprof.Profiler(graph, op_log)
    for number, run_meta in numbered:
        profiler.add_step(number, run_meta)
    ours, printed = _ours(profiler, checkers)
    answer = _native(native, graph, numbered, op_log, checkers)
    if profiler.profile.has_traces and len(view_tree(profiler.profile, "code")) == 1:
        assert isinstance(answer, NativeCrash), "native dies of a code view in which there is no root"
    else:
        assert isinstance(answer, NativeAnswer)
        assert ours == AdviceProto.FromString(answer.proto)
        assert sorted(BLOCK.split(printed)) == sorted(BLOCK.split(answer.stdout.decode()))
    return {name: list(ours.checkers[name].reports) for name in sorted(ours.checkers)}


def _ours(profiler: Any, checkers: Sequence[str]) -> tuple[Any, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tfprof.ProfileWarning)
        advice, printed = with_stdout(partial(profiler.advise, {name: {} for name in checkers}))
    return AdviceProto.FromString(advice.SerializeToString()), printed.decode()


def _native(
    native: NativeTfprof, graph: Any, steps: Sequence[tuple[int, Any]], op_log: Any, checkers: Sequence[str]
) -> object:
    options = AdvisorOptionsProto()
    for name in checkers:
        options.checkers[name].SetInParent()
    return native.profile_steps(
        Request("advise", options.SerializeToString()),
        graph.SerializeToString(),
        op_log.SerializeToString(),
        [Step(number, run_meta.SerializeToString()) for number, run_meta in steps],
    )


def graph_of(ops: Mapping[str, str]) -> GraphDef:
    """A graph of nodes without edges: ops by name."""
    return GraphDef(node=[{"name": name, "op": op} for name, op in ops.items()])


def run_of(executions: Mapping[str, Sequence[Execution]]) -> RunMetadata:
    """A run of (node, start, duration) in microseconds by device."""
    run_meta = RunMetadata()
    run_meta.step_stats.SetInParent()
    for device, stats in executions.items():
        described = run_meta.step_stats.dev_stats.add(device=device)
        for node, start, duration in stats:
            described.node_stats.add(node_name=node, all_start_micros=start, op_end_rel_micros=duration)
    return run_meta


def op_log_of(stacks: Mapping[str, str]) -> OpLogProto:
    """Stacks by node, as `main > layer`: functions in a file m.py, each in its line 1."""
    op_log = OpLogProto()
    numbers = {"m.py": 0}
    for node, stack in stacks.items():
        code = op_log.log_entries.add(name=node).code_def
        for function in stack.split(" > "):
            number = numbers.setdefault(function, len(numbers))
            code.traces.add(file_id=0, lineno=1, function_id=number)
    op_log.id_to_string.update({number: text for text, number in numbers.items()})
    return op_log

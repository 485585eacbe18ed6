"""Asks native tfprof (the C++ core in the TensorFlow wheel) in a child process that may die without harm."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from tensorflow.core.profiler.tfprof_output_pb2 import GraphNodeProto, MultiGraphNodeProto

from tests.oracle.worker import serve

# The views, and the message that each is returned in.
VIEWS = {
    "scope": GraphNodeProto,
    "graph": GraphNodeProto,
    "op": MultiGraphNodeProto,
    "code": MultiGraphNodeProto,
}


@dataclass(frozen=True)
class Step:
    """One `add_step` call: a step id, serialized run metadata, and what graph and op log came with it."""

    step: int
    run_meta: bytes
    graph: bytes = b""
    op_log: bytes = b""


@dataclass(frozen=True)
class Request:
    """A view ('scope', 'graph', 'op', 'code' or 'advise') and its serialized OptionsProto."""

    view: str
    options: bytes


@dataclass(frozen=True)
class NativeAnswer:
    """What native returned, printed to stdout and stderr, and wrote to the options' outfile."""

    proto: bytes
    stdout: bytes
    file: bytes | None
    stderr: str


@dataclass(frozen=True)
class NativeRefusal:
    """Native's C++ threw an exception; its process lives on."""

    reason: str


@dataclass(frozen=True)
class NativeCrash:
    """Native's process died of this signal at this case; the next cases get a new one."""

    signal: str


Outcome = NativeAnswer | NativeRefusal | NativeCrash


class NativeTfprof:
    """Native tfprof in a child process; a context manager.

    Every question is answered from a fresh profiler, so no answer depends on the ones before.
    """

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, remote = context.Pipe()
        self._process = context.Process(target=serve, args=(remote,), daemon=True)
        self._process.start()
        remote.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._process.join()

    def analyze(self, request: Request, graph: bytes, run_meta: bytes, op_log: bytes) -> Outcome:
        """PrintModelAnalysis: all protos at once, the run metadata as step 0."""
        return self._ask("analyze", graph, run_meta, op_log, request.view, request.options)

    def profile_steps(self, request: Request, graph: bytes, op_log: bytes, steps: Sequence[Step]) -> Outcome:
        """NewProfiler, AddStep for every step, then Profile."""
        return self._ask("profile", graph, op_log, _as_tuples(steps), request.view, request.options)

    def serialize_steps(self, graph: bytes, op_log: bytes, steps: Sequence[Step]) -> Outcome:
        """NewProfiler, AddStep for every step, then SerializeToString: the proto is a ProfileProto."""
        return self._ask("serialize", graph, op_log, _as_tuples(steps))

    def profile_file(self, request: Request, path: str) -> Outcome:
        """ProfilerFromFile, then Profile: what native reads of a ProfileProto in a file."""
        return self._ask("profile_file", path, request.view, request.options)

    def _ask(self, question: str, *arguments: object) -> Outcome:
        self._connection.send((question, arguments))
        kind, values = self._connection.recv()
        outcomes = {"answer": NativeAnswer, "refusal": NativeRefusal, "crash": NativeCrash}
        outcome: Outcome = outcomes[kind](*values)
        return outcome


def _as_tuples(steps: Sequence[Step]) -> list[tuple[int, bytes, bytes, bytes]]:
    return [(step.step, step.graph, step.run_meta, step.op_log) for step in steps]

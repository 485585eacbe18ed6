"""The child side of the oracle: loads TensorFlow once, forks a worker, and another whenever one dies."""

from __future__ import annotations

import ctypes
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

# No case takes a second; a longer one hangs, and dies of SIGALRM as if it had crashed.
CASE_SECONDS = 60

Reply = tuple[str, tuple[object, ...]]
StepArguments = tuple[int, bytes, bytes, bytes]


def serve(connection: Connection) -> None:
    """Answers questions from `connection` until its other end is closed.

    The worker is a fork, so it reads the same connection and starts in milliseconds with TensorFlow loaded.
    """
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # native logs a line for every unknown shape
    from tensorflow.python.util import _pywrap_tfprof

    while True:
        worker = os.fork()
        if worker == 0:
            _answer_all(connection, _pywrap_tfprof)
            os._exit(0)
        _, status = os.waitpid(worker, 0)
        if not os.WIFSIGNALED(status):
            return
        connection.send(("crash", (signal.Signals(os.WTERMSIG(status)).name,)))


def _answer_all(connection: Connection, tfprof: Any) -> None:
    while True:
        try:
            question, arguments = connection.recv()
        except EOFError:
            return
        signal.alarm(CASE_SECONDS)
        reply = _answer(tfprof, question, arguments)
        signal.alarm(0)
        connection.send(reply)


def _answer(tfprof: Any, question: str, arguments: tuple[Any, ...]) -> Reply:
    asked: dict[str, Callable[..., bytes]] = {
        "analyze": tfprof.PrintModelAnalysis,
        "profile": lambda *given: _profile(tfprof, *given),
        "serialize": lambda *given: _serialize(tfprof, *given),
        "profile_file": lambda *given: _profile_file(tfprof, *given),
    }
    with _captured(1) as stdout, _captured(2) as stderr:
        try:
            proto = asked[question](*arguments)
        except (IndexError, RuntimeError) as error:  # pybind's names for std::out_of_range, std::exception
            return "refusal", (f"{type(error).__name__}: {error}",)
        ctypes.CDLL(None).fflush(None)
        printed, complaints = _content(stdout), _content(stderr).decode(errors="replace")
    written = None if question == "serialize" else _outfile_content(arguments[-1])
    return "answer", (proto, printed, written, complaints)


def _profile(tfprof: Any, graph: bytes, op_log: bytes, steps: list[StepArguments], view: str, options: bytes) -> bytes:
    with _profiler(tfprof, graph, op_log, steps):
        proto: bytes = tfprof.Profile(view, options)
    return proto


def _serialize(tfprof: Any, graph: bytes, op_log: bytes, steps: list[StepArguments]) -> bytes:
    with _profiler(tfprof, graph, op_log, steps):
        proto: bytes = tfprof.SerializeToString()
    return proto


def _profile_file(tfprof: Any, path: str, view: str, options: bytes) -> bytes:
    if not Path(path).is_file():  # of which native's process dies
        raise RuntimeError(f"there is no file {path}")
    tfprof.ProfilerFromFile(path)
    try:
        proto: bytes = tfprof.Profile(view, options)
    finally:
        tfprof.DeleteProfiler()
    return proto


@contextmanager
def _profiler(tfprof: Any, graph: bytes, op_log: bytes, steps: list[StepArguments]) -> Iterator[None]:
    if not tfprof.NewProfiler(graph, op_log):
        raise RuntimeError("native refuses the graph or the op log")
    try:
        for step in steps:
            tfprof.AddStep(*step)
        yield
    finally:
        tfprof.DeleteProfiler()


@contextmanager
def _captured(descriptor: int) -> Iterator[IO[bytes]]:
    kept = os.dup(descriptor)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), descriptor)
        try:
            yield file
        finally:
            os.dup2(kept, descriptor)
            os.close(kept)


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _outfile_content(options: bytes) -> bytes | None:
    from tensorflow.core.profiler.tfprof_options_pb2 import OptionsProto

    asked = OptionsProto.FromString(options)
    outfile = asked.dump_to_file or asked.output.partition(":outfile=")[2]
    return Path(outfile).read_bytes() if Path(outfile).is_file() else None

"""Real clusters of processes on this machine, which end with the block that they are for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer

from tests.ports import free_ports

ROOT = Path(__file__).parents[3]
TRIALS = 3
PATIENCE_SECONDS = 300
LAST = 3000
"""So many characters of a process's standard error are shown."""

Cluster = Mapping[str, list[str]]


@contextmanager
def serving(**tasks: int) -> Iterator[Cluster]:
    """A cluster with so many tasks of each job, once all of them serve; on other ports if some were taken meanwhile."""
    with ExitStack() as processes:
        for _ in range(TRIALS):
            cluster = dict(zip(tasks, _addresses(list(tasks.values())), strict=True))
            servers = [
                processes.enter_context(_server(cluster, job, task)) for job in cluster for task in range(tasks[job])
            ]
            if all(_begun(server) for server in servers):
                yield cluster
                return
            processes.close()
    raise RuntimeError(f"no cluster began to serve in {TRIALS} trials")


@contextmanager
def process(*arguments: str, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """A process of Python that is killed with the block, ends when its input does, and never goes on for minutes.

    An error in the block has the last words of the process in it.
    """
    with TemporaryFile("w+", errors="replace") as words:
        started = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=words,
            text=True,
        )
        patience = Timer(PATIENCE_SECONDS, started.kill)
        patience.start()
        with started:
            try:
                yield started
            except BaseException as error:
                words.seek(0)
                error.add_note(f"{' '.join(arguments)[:200]}, exit {started.poll()}:\n{words.read()[-LAST:]}")
                raise
            finally:
                patience.cancel()
                started.kill()


def _addresses(counts: list[int]) -> Iterator[list[str]]:
    ports = iter(free_ports(sum(counts)))
    for count in counts:
        yield [f"127.0.0.1:{next(ports)}" for _ in range(count)]


def _server(cluster: Cluster, job: str, task: int) -> AbstractContextManager[subprocess.Popen[str]]:
    return process("-m", "tests.analysis.cluster.server", json.dumps(cluster), job, str(task))


def _begun(server: subprocess.Popen[str]) -> bool:
    assert server.stdout is not None
    return server.stdout.readline().startswith("grpc://")

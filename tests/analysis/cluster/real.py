"""Real clusters of processes on this machine, which end with the block that they are for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager

from tests.forked import Started, process
from tests.ports import free_ports

TRIALS = 3

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


def _addresses(counts: list[int]) -> Iterator[list[str]]:
    ports = iter(free_ports(sum(counts)))
    for count in counts:
        yield [f"127.0.0.1:{next(ports)}" for _ in range(count)]


def _server(cluster: Cluster, job: str, task: int) -> AbstractContextManager[Started]:
    return process("tests.analysis.cluster.server", json.dumps(cluster), job, str(task))


def _begun(server: Started) -> bool:
    return server.stdout.readline().startswith("grpc://")

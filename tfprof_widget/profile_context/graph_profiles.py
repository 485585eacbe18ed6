"""Keeps a Profiler for each graph that ran, and writes their profiles to files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tfprof_widget.compat import Profiler
from tfprof_widget.errors import ProfileError
from tfprof_widget.ingest.tf_graph import default_graph
from tfprof_widget.output.destination import write_whole


class GraphProfiles:
    """The traced steps by graph, which mostly is one: names mean something within a graph only.

    >>> from tfprof_widget.demo import recorded
    >>> profiles = GraphProfiles("/tmp/train_dir")
    >>> profiles.add(recorded("graph"), 5, recorded("run_meta"))
    >>> profiles.current.profile.steps
    (5,)
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self._profilers: dict[Any, Profiler] = {}
        self._undumped: dict[Any, int] = {}
        self._latest: Any = None

    @property
    def current(self) -> Profiler:
        """The profiler of the graph traced last; before there is one, that of the default graph."""
        return self._of(default_graph() if self._latest is None else self._latest)

    @property
    def coverage(self) -> float:
        """The share of the current graph's nodes that were seen to run."""
        profile = self.current.profile
        return len(set(profile.executions.node.tolist())) / max(len(profile.nodes), 1)

    def add(self, graph: Any, step: int, run_meta: bytes) -> None:
        """Add what the run of a step measured."""
        self._of(graph).add_step(step, run_meta)
        self._undumped[graph] = step
        self._latest = graph

    def ran(self, graph: Any) -> None:
        """Take note that a graph is run, which is of interest where none has been traced yet."""
        if self._latest is None:
            self._latest = graph

    def dump(self, step: int) -> Iterator[str]:
        """Write the current profile as that of a step, and others that no file has yet as of their own last steps.

        Gives the name of each file once it is written.
        """
        for graph, as_of in {**self._undumped, self._latest: step}.items():
            path = self.path(f"profile_{as_of}")
            write_whole(path, self._of(graph).serialize_to_string())
            self._undumped.pop(graph, None)
            yield path

    def dump_rest(self) -> Iterator[str]:
        """Write the profiles that have traces which no file has yet, each as that of its last step."""
        if self._latest in self._undumped:
            yield from self.dump(self._undumped[self._latest])

    def path(self, name: str) -> str:
        """The path of a file in the directory, which is made if need be."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ProfileError(
                f"profile_dir: cannot make {str(self.directory)!r}: {error.strerror}; "
                "choose a directory that you may write to"
            ) from None
        return str(self.directory / name)

    def _of(self, graph: Any) -> Profiler:
        if graph is None:
            return Profiler()
        if graph not in self._profilers:
            self._profilers[graph] = Profiler(graph)
        return self._profilers[graph]


def check_directory(directory: str | os.PathLike[str]) -> None:
    """Refuse what can be no directory to write to.

    >>> check_directory("gs://bucket/train_dir")
    Traceback (most recent call last):
        ...
    ValueError: profile_dir: 'gs://bucket/train_dir' is a URL; name a directory of this machine, and copy it from there
    """
    if not directory:
        raise ValueError("profile_dir: is empty; name the directory that the profiles are to be written to")
    if "://" in str(directory):
        raise ValueError(
            f"profile_dir: {str(directory)!r} is a URL; name a directory of this machine, and copy it from there"
        )

"""Reads files into the parts of a profile: of run metadata what a profile takes of it, of all else the message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from tfprof_widget.errors import ProfileError
from tfprof_widget.ingest.collector import collector_paused
from tfprof_widget.ingest.executed_kernels import KernelLabels
from tfprof_widget.ingest.read_runs import ReadRun
from tfprof_widget.ingest.run_columns import NodeNames
from tfprof_widget.ingest.wire import as_message, as_sealed
from tfprof_widget.loading.contents import Content, recognise
from tfprof_widget.loading.files import File

RUN: Literal["RunMetadata"] = "RunMetadata"


@dataclass(frozen=True, eq=False)
class Part:
    """A file, the kind of what is in it, and that: of a RUN a ReadRun, else a message or its bytes."""

    file: File
    kind: str
    value: Any

    def message(self) -> Any:
        """What is in it, as a message."""
        return Content(self.kind, self.value).message(self.file.name)


@dataclass(frozen=True, eq=False)
class Found:
    """The parts in some files, in the order of the files, and what the runs among them tell of kernels.

    All runs are over the same names of nodes: a thousand of them have much the same.
    """

    names: NodeNames = field(default_factory=NodeNames)
    parts: list[Part] = field(default_factory=list)
    labels: KernelLabels = field(default_factory=KernelLabels)

    def take(self, file: File, content: Content) -> None:
        """Add what is in a file."""
        self.parts.append(Part(file, content.kind, self._value(file, content)))

    def of_kind(self, kind: str) -> list[Part]:
        """The parts of a kind."""
        return [part for part in self.parts if part.kind == kind]

    def _value(self, file: File, content: Content) -> Any:
        if content.kind == RUN:
            return self._run(file, content)
        if content.kind == "ProfileProto":  # asked for its workers first, and then for all of it
            with named(file), collector_paused():
                return as_message(content.value, content.kind, "profile")
        return content.value

    def _run(self, file: File, content: Content) -> ReadRun:
        with named(file), collector_paused():
            sealed = as_sealed(content.value, RUN, "run_meta")
            run = ReadRun.of(sealed).over(self.names)
        self.labels.read(sealed)
        return run


def content_of(file: File) -> Content | None:
    """What is in a file; None for what nobody chose, if it is nothing that can be loaded."""
    data = file.read()
    try:
        return recognise(data, file.name)
    except ProfileError:
        if file.is_chosen:
            raise
        return None


@contextmanager
def named(file: File) -> Iterator[None]:
    """Let errors say which file they are about."""
    try:
        yield
    except (ProfileError, ValueError) as error:
        raise ProfileError(f"{file.name}: {error}") from None

"""Reads files here or on the workers of a Dask cluster, with progress."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import PurePosixPath
from pkgutil import resolve_name
from threading import Event, Thread
from typing import Any, Literal, TypeVar

from tfprof_widget.ingest.files.find import File
from tfprof_widget.ingest.files.recognise import Content, UnknownFile, graph_of_meta_graph, recognise
from tfprof_widget.ingest.parts.runs import NodeNames
from tfprof_widget.ingest.run_metadata import ReadRun, RunDetails, read_run
from tfprof_widget.lib.errors import ProfileError, value_error
from tfprof_widget.lib.messages import as_message, as_sealed
from tfprof_widget.lib.text import visible
from tfprof_widget.lib.threads import pause_gc
from tfprof_widget.lib.version import __version__

RUN: Literal["RunMetadata"] = "RunMetadata"
ReadBatch = TypeVar("ReadBatch")


@dataclass(frozen=True, eq=False)
class FilePart:
    """A file, the kind of its content, and the content: a ReadRun if the kind is RUN, else a message or its bytes."""

    file: File
    kind: str
    value: Any


@dataclass(frozen=True, eq=False)
class FoundFiles:
    """The content of some files, in their order, and the details of nodes in the runs among them.

    All runs share one list of names of nodes: a thousand runs have mostly the same names.
    """

    names: NodeNames = field(default_factory=NodeNames)
    parts: list[FilePart] = field(default_factory=list)
    details: RunDetails = field(default_factory=RunDetails)

    def take(self, file: File, content: Content) -> None:
        """Add the content of a file."""
        self.parts.append(FilePart(file, content.kind, self._value(file, content)))

    def of_kind(self, kind: str) -> list[FilePart]:
        """The files of a kind."""
        return [part for part in self.parts if part.kind == kind]

    def _value(self, file: File, content: Content) -> Any:
        if content.kind == RUN:
            return self._run(file, content)
        if content.kind == "ProfileProto":  # asked for its workers first, and then for the whole profile
            with named(file), pause_gc():
                return as_message(content.value, content.kind, "profile")
        return content.value

    def _run(self, file: File, content: Content) -> ReadRun:
        with named(file), pause_gc():
            return read_run(as_sealed(content.value, RUN, "run_meta"), self.details).over(self.names)


_NAMED_AS_PROFILES = re.compile(
    r"(run_?meta(data)?([_-]\d+)?|profile_\d+)(\.(pb|pbtxt|binpb|gz))*|.*\.xplane\.pb(\.gz)?"
)
"""The names under which this package, native tfprof and TensorFlow's profiler write files."""


def content_of(file: File) -> Content | None:
    """The content of a file; None if it was found in a directory, and neither content nor name is a profile's."""
    data = file.read()
    try:
        return recognise(data, file.name)
    except UnknownFile as error:
        if file.is_chosen and (graph := graph_of_meta_graph(data)) is not None:
            return Content("GraphDef", graph)
        if file.is_chosen or _NAMED_AS_PROFILES.fullmatch(PurePosixPath(file.name.replace("\\", "/")).name):
            raise ProfileError(str(error)) from None
        return None


@dataclass(frozen=True)
class DamagedFiles:
    """What to do with files that cannot be loaded: raise their errors, or keep these in `skipped`.

    >>> damaged = DamagedFiles("skip")
    >>> with damaged.passed_over():
    ...     raise ProfileError("run_meta_3: the file is empty; write it again")
    >>> damaged.skipped
    ['run_meta_3: the file is empty; write it again']
    """

    errors: str = "raise"
    skipped: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.errors not in ("raise", "skip"):
            raise value_error(f"errors is {self.errors!r}, but must be 'raise' or 'skip'")

    @contextmanager
    def passed_over(self) -> Iterator[None]:
        """Read one file in the block; its error ends the block, and is raised or kept."""
        try:
            yield
        except (ProfileError, ValueError) as error:
            if self.errors == "raise":
                raise
            self.skipped.append(str(error))


@contextmanager
def named(file: File) -> Iterator[None]:
    """Add the file's name to errors that do not begin with it."""
    try:
        yield
    except (ProfileError, ValueError) as error:
        told = str(error)
        raise ProfileError(told if told.startswith(file.name) else f"{file.name}: {told}") from None


DELAY_SECONDS = 1.0
REFRESH_SECONDS = 0.5

Advance = Callable[[str, int], None]


@contextmanager
def progress(title: str, total: int) -> Iterator[Advance]:
    """Show progress; gives a function that takes the current action, and how many of the `total` bytes it has done.

    >>> with progress("loading", 10) as advance:
    ...     advance("reading profile_0", 5)
    """
    if not _is_watched():
        yield lambda doing, done: None
        return
    from tqdm import tqdm

    with tqdm(desc=title, total=total, unit="B", unit_scale=True, leave=False, delay=DELAY_SECONDS) as bar:
        over = Event()
        ticker = Thread(target=_refresh, args=(bar, over), name="tfprof-progress", daemon=True)
        ticker.start()

        def advance(doing: str, done: int) -> None:
            bar.set_postfix_str(visible(doing), refresh=False)
            bar.update(done)

        try:
            yield advance
        finally:
            over.set()
            ticker.join()


def _refresh(bar: Any, over: Event) -> None:
    """Show the bar after a delay and refresh it regularly: reading one large file reports no progress."""
    wait = DELAY_SECONDS
    while not over.wait(wait):
        bar.refresh()
        wait = REFRESH_SECONDS


def _is_watched() -> bool:
    """Whether a user sees the output: on a terminal, or in a notebook."""
    shell = sys.modules.get("IPython")
    if shell is not None and hasattr(shell.get_ipython(), "kernel"):
        return True
    return sys.stderr is not None and sys.stderr.isatty()


BATCHES_A_THREAD = 4
MOST_BYTES_A_BATCH = 2**26
IDLE_SECONDS = 60.0
"""If no batch comes for this long, the client checks that the cluster has workers."""

_PACKAGE = "tfprof-widget[distributed]"


@dataclass(frozen=True, eq=False)
class Batch:
    """The content of some files, read by a worker: runs as columns with one list of names, and the kind of other files.

    `skipped` has the error of each file that the worker could not read.
    """

    parts: list[FilePart]
    details: RunDetails
    skipped: list[str]


def read_on_dask(
    files: Sequence[File], client: Any, names: NodeNames, advance: Advance, damaged: DamagedFiles | None = None
) -> FoundFiles:
    """The content of the files, as if they had been read here; the workers of `client` read run metadata."""
    damaged = damaged or DamagedFiles()
    batches = on_workers(partial(read_batch, errors=damaged.errors), files, client, advance)
    return _joined(batches, names, damaged)


def on_workers(
    read: Callable[[Sequence[File]], ReadBatch], files: Sequence[File], client: Any, advance: Advance
) -> list[ReadBatch]:
    """What `read` gives for batches of the files, in their order; it is called on the workers of a Dask cluster."""
    distributed = _checked(client)
    batches = list(_batches(files, sum(client.nthreads().values())))
    futures = client.map(read, batches, pure=False)
    place_of = {future.key: place for place, future in enumerate(futures)}
    found: dict[int, ReadBatch] = {}
    try:
        for future in _finished(futures, client, distributed):
            place = place_of[future.key]
            found[place] = _result(future, batches[place], distributed)
            future.release()  # its worker need not keep the batch
            advance(f"read {batches[place][-1].name}", sum(file.size for file in batches[place]))
    finally:
        client.cancel(futures)  # after an interrupt or an error the other batches are not needed
    return [found[place] for place in range(len(batches))]


def _finished(futures: Iterable[Any], client: Any, distributed: Any) -> Iterator[Any]:
    """The futures in the order in which they finish; Dask itself waits for ever if a cluster has no worker."""
    left = set(futures)
    while left:
        try:
            done = distributed.wait(left, timeout=IDLE_SECONDS, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            if client.nthreads():
                continue
            raise ProfileError(
                f"client: the cluster has no worker, and none came within {IDLE_SECONDS:g} s; start workers, see the "
                "logs of those that ended, or load without a client"
            ) from None
        yield from done
        left -= done


def read_batch(files: Sequence[File], errors: str = "raise") -> Batch:
    """The batch that a worker reads and sends back.

    >>> batch = read_batch([File("a", 10, True, lambda: b"node { name: 'a' op: 'Add' }")])
    >>> [(part.file.name, part.kind, part.value) for part in batch.parts]
    [('a', 'GraphDef', None)]
    """
    found, damaged = FoundFiles(), DamagedFiles(errors)
    for file in files:
        with damaged.passed_over():
            content = content_of(file)
            if content is not None and content.kind == RUN:
                found.take(file, content)
            elif content is not None:
                found.parts.append(FilePart(file, content.kind, None))
    return Batch(found.parts, found.details, damaged.skipped)


def _joined(batches: Sequence[Batch], names: NodeNames, damaged: DamagedFiles) -> FoundFiles:
    joined = FoundFiles(names)
    for batch in batches:
        joined.details.add(batch.details)
        damaged.skipped.extend(batch.skipped)
        for part in batch.parts:
            with damaged.passed_over():
                content = None if part.kind == RUN else content_of(part.file)
                value = content.value if content is not None else part.value.over(names)
                joined.parts.append(replace(part, value=value))
    return joined


def _batches(files: Sequence[File], threads: int) -> Iterator[list[File]]:
    """The files in batches that fit in memory, several for each thread, so that a slow batch delays the end little."""
    most = max(len(files) // (BATCHES_A_THREAD * max(threads, 1)), 1)
    batch: list[File] = []
    size = 0
    for file in files:
        if batch and (len(batch) == most or size + file.size > MOST_BYTES_A_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += file.size
    if batch:
        yield batch


def _checked(client: Any) -> Any:
    """Dask's module, after checks of the client and its workers."""
    try:
        import distributed
    except ImportError:
        raise ProfileError(
            f"client: Dask's distributed is not installed; run `pip install '{_PACKAGE}'`, or leave client out"
        ) from None
    if not isinstance(client, distributed.Client) or client.asynchronous:
        kind = "an asynchronous one" if isinstance(client, distributed.Client) else type(client).__name__
        raise ProfileError(f"client: got {kind}; give a distributed.Client, such as Client('tcp://scheduler:8786')")
    for worker, version in client.run(resolve_name, "tfprof_widget.lib.version:__version__", on_error="return").items():
        if version != __version__:
            has = f"cannot import tfprof_widget ({version})" if isinstance(version, Exception) else f"has {version}"
            raise ProfileError(
                f"client: the worker {worker} {has}; run `pip install '{_PACKAGE}=={__version__}'` "
                "in the environment of all workers, and start them again"
            )
    return distributed


def _result(future: Any, files: Sequence[File], distributed: Any) -> Any:
    try:
        return future.result()
    except ProfileError as error:
        raise error.with_traceback(None) from None
    except distributed.KilledWorker as error:
        raise ProfileError(
            f"{_named(files)}: the workers that read this died, one after another ({error}); they are likely short of "
            "memory: give them more of it (memory_limit), or one thread each (threads_per_worker=1)"
        ) from None
    except Exception as error:  # a worker or the connection may raise any error
        reason = f"{type(error).__name__}: {error}".rstrip(".: ")
        raise ProfileError(
            f"{_named(files)}: the Dask cluster could not read this ({reason}); "
            "see the logs of its workers, or load without a client"
        ) from None


def _named(files: Sequence[File]) -> str:
    return files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} other files"

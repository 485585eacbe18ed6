"""Reads files on the workers of a Dask cluster, near where they lie: only columns travel to the client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import Any

from tfprof_widget._version import __version__
from tfprof_widget.errors import ProfileError
from tfprof_widget.ingest.executed_kernels import KernelLabels
from tfprof_widget.ingest.run_columns import NodeNames
from tfprof_widget.loading.files import File
from tfprof_widget.loading.progress import Advance
from tfprof_widget.loading.reading import RUN, Found, Part, content_of

BATCHES_A_THREAD = 4
MOST_BYTES_A_BATCH = 2**26

_PACKAGE = "tfprof-widget[distributed]"


@dataclass(frozen=True, eq=False)
class Batch:
    """What a worker found in some files: runs as columns over one dictionary of names, of all else only the kinds."""

    parts: list[Part]
    labels: KernelLabels


def read_on_dask(files: Sequence[File], client: Any, names: NodeNames, advance: Advance) -> Found:
    """What is in the files, as if they had been read here; run metadata is read by the workers of `client`."""
    distributed = _checked(client)
    batches = list(_batches(files, sum(client.nthreads().values())))
    futures = client.map(read_batch, batches, pure=False)
    place_of = {future.key: place for place, future in enumerate(futures)}
    found: dict[int, Batch] = {}
    try:
        for future in distributed.as_completed(futures):
            place = place_of[future.key]
            found[place] = _result(future, batches[place], distributed)
            future.release()  # its worker need not keep it
            advance(f"read {batches[place][-1].name}", sum(file.size for file in batches[place]))
    finally:
        client.cancel(futures)  # after an interrupt or an error nobody waits for the others
    return _joined([found[place] for place in range(len(batches))], names)


def read_batch(files: Sequence[File]) -> Batch:
    """What a worker reads and sends.

    >>> batch = read_batch([File("a", 10, True, lambda: b"node { name: 'a' op: 'Add' }")])
    >>> [(part.file.name, part.kind, part.value) for part in batch.parts]
    [('a', 'GraphDef', None)]
    """
    found = Found()
    for file in files:
        content = content_of(file)
        if content is not None and content.kind == RUN:
            found.take(file, content)
        elif content is not None:
            found.parts.append(Part(file, content.kind, None))
    return Batch(found.parts, found.labels)


def _joined(batches: Sequence[Batch], names: NodeNames) -> Found:
    joined = Found(names)
    for batch in batches:
        joined.labels.add(batch.labels)
        for part in batch.parts:
            content = None if part.kind == RUN else content_of(part.file)
            value = content.value if content is not None else part.value.over(names)
            joined.parts.append(replace(part, value=value))
    return joined


def _batches(files: Sequence[File], threads: int) -> Iterator[list[File]]:
    """The files in batches: some for each thread, so that a slow one holds up little, and none too large to hold."""
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
    """Dask's module, after a look at whether the client and its workers will do."""
    try:
        import distributed
    except ImportError:
        raise ProfileError(
            f"client: Dask's distributed is not installed; run `pip install '{_PACKAGE}'`, or leave client out"
        ) from None
    if not isinstance(client, distributed.Client) or client.asynchronous:
        kind = "an asynchronous one" if isinstance(client, distributed.Client) else type(client).__name__
        raise ProfileError(f"client: got {kind}; give a distributed.Client, such as Client('tcp://scheduler:8786')")
    for worker, version in client.run(resolve_name, "tfprof_widget._version:__version__", on_error="return").items():
        if version != __version__:
            has = f"cannot import tfprof_widget ({version})" if isinstance(version, Exception) else f"has {version}"
            raise ProfileError(
                f"client: the worker {worker} {has}; run `pip install '{_PACKAGE}=={__version__}'` "
                "in the environment of all workers, and start them again"
            )
    return distributed


def _result(future: Any, files: Sequence[File], distributed: Any) -> Batch:
    try:
        batch: Batch = future.result()
    except ProfileError as error:
        raise error.with_traceback(None) from None
    except distributed.KilledWorker as error:
        raise ProfileError(
            f"{_named(files)}: the workers that read this died, one after another ({error}); they are likely short of "
            "memory: give them more of it (memory_limit), or one thread each (threads_per_worker=1)"
        ) from None
    except Exception as error:  # whatever a worker, or the way to it, may raise
        reason = f"{type(error).__name__}: {error}".rstrip(".: ")
        raise ProfileError(
            f"{_named(files)}: the Dask cluster could not read this ({reason}); "
            "see the logs of its workers, or load without a client"
        ) from None
    return batch


def _named(files: Sequence[File]) -> str:
    return files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} other files"

"""Loads a profile from whatever its parts are in, or one of its parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from os import fspath
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from tfprof_widget.errors import ProfileError
from tfprof_widget.loading.contents import KINDS, Content
from tfprof_widget.loading.files import AnyPath, File, Source, find_files
from tfprof_widget.loading.progress import Advance, progress
from tfprof_widget.loading.reading import RUN, Found, Part, content_of, named

if TYPE_CHECKING:
    from tfprof_widget.ingest.parts import Parts
    from tfprof_widget.ingest.run_columns import NodeNames
    from tfprof_widget.messages import RunMetadata
    from tfprof_widget.profiles import Profile

_STEP_IN_NAME = re.compile(r"run_?meta(?:data)?[_-](\d{1,18})(?:\.\w+)*")


def load(source: Source, *, checkpoint: AnyPath | None = None, client: Any = None) -> Profile:
    """Load a profile from files: saved profiles, graphs, run metadata and op logs, together or alone; or XSpaces.

    `source` is a path, a pattern, a directory, any URL that fsspec knows, or a list of these. What a file is, it
    tells by its content: binary, text or gzip. Run metadata are steps by the number in `run_meta_<step>`, else 0,
    1, ... as they come. A step that is in several of the files counts once: as run metadata, or else as the first
    saved profile has it. In a directory, files that are none of all this are passed over. `checkpoint` is one of
    TensorFlow's. XSpaces are the `.xplane.pb` files of TensorFlow's own profiler; of a log directory of TensorBoard's
    the newest run is loaded. `client` is a `distributed.Client`: then the workers of its Dask cluster read the run
    metadata, which must lie where they can read it too.

    >>> from importlib.resources import files
    >>> recorded = files("tfprof_widget") / "recorded"
    >>> load(str(recorded))
    Profile(81 nodes, 30 executions, 1 step)
    >>> load([str(recorded / "graph.binpb"), str(recorded / "run_meta.binpb")]).has_traces
    False
    """
    from tfprof_widget.flops.filling import assembled
    from tfprof_widget.ingest.parts import Parts
    from tfprof_widget.loading.workers import profile_of_workers

    files = find_files(source)
    parts = Parts()
    with progress("loading", 2 * sum(file.size for file in files)) as advance:
        found = _found(files, client, parts.names, advance)
        _check_worth(found, files)
        if found.of_kind("XSpace"):
            return _of_spaces(found, checkpoint)
        if (of_workers := profile_of_workers(found, checkpoint)) is not None:
            return of_workers
        for part in _add_all(found, parts):
            advance(f"took in {part.file.name}", part.file.size)
        parts.add_checkpoint(checkpoint)
        return assembled(parts)


def _found(files: Sequence[File], client: Any, names: NodeNames, advance: Advance) -> Found:
    if client is not None:
        from tfprof_widget.loading.on_dask import read_on_dask

        return read_on_dask(files, client, names, advance)
    found = Found(names)
    for file, content in _contents(files, advance):
        found.take(file, content)
    return found


def load_message(path: AnyPath, kind: str) -> Any:
    """The message of one of KINDS in a file, binary or text.

    >>> load_message("no_such_file", "GraphDef")
    Traceback (most recent call last):
        ...
    tfprof_widget.errors.ProfileError: cannot read 'no_such_file': there is no such file; ...
    """
    files = find_files(path)
    if len(files) > 1:
        raise ProfileError(f"{path!r}: there are {len(files)} files, such as {files[0].name!r}; name the one {kind}")
    with progress("loading", files[0].size) as advance:
        ((file, content),) = _contents(files, advance)
        return _message(file, content, kind)


def load_run_metas(source: Source) -> dict[int, list[RunMetadata]]:
    """The RunMetadata in files, by step: the number in `run_meta_<step>`, else 0, 1, ... as they come.

    >>> from importlib.resources import files
    >>> list(load_run_metas(str(files("tfprof_widget") / "recorded" / "run_meta.binpb")))
    [0]
    """
    by_step: dict[int, list[RunMetadata]] = {}
    files = find_files(source)
    with progress("loading", sum(file.size for file in files)) as advance:
        runs = [(file, _message(file, content, RUN)) for file, content in _contents(files, advance)]
    for step, (_, run) in zip(_steps([file for file, _ in runs]), runs, strict=True):
        by_step.setdefault(step, []).append(run)
    return by_step


def _contents(files: Sequence[File], advance: Advance) -> Iterator[tuple[File, Content]]:
    """What is in the files, but for what nobody chose and is nothing that can be loaded."""
    for file in files:
        content = content_of(file)
        advance(f"read {file.name}", file.size)
        if content is not None:
            yield file, content


def _message(file: File, content: Content, kind: str) -> Any:
    if content.kind != kind:
        raise ProfileError(
            f"{file.name}: this is a {content.kind}, where a {kind} is asked for; "
            "give the right file, or let tfprof_widget.load find out what each file is"
        )
    return content.message(file.name)


def _check_worth(found: Found, files: Sequence[File]) -> None:
    """Refuse files in which there is nothing to profile."""
    kinds = {part.kind for part in found.parts}
    if not kinds - {"OpLogProto"}:
        what = "an op log" if kinds else f"none of {', '.join(KINDS)}"
        raise ProfileError(
            f"{files[0].name!r}{' and the others' * (len(files) > 1)}: there is {what} and nothing to profile; "
            "give a saved profile, a graph or run metadata"
        )


def _of_spaces(found: Found, checkpoint: AnyPath | None) -> Profile:
    """The profile of the XSpaces, which have no nodes to put anything else beside."""
    from tfprof_widget.loading.spaces import profile_of_spaces

    spaces = found.of_kind("XSpace")
    others = [part.file.name for kind in KINDS if kind != "XSpace" for part in found.of_kind(kind)]
    if checkpoint is not None:
        others.append(fspath(checkpoint))
    if others:
        raise ProfileError(
            f"{spaces[0].file.name}: it is an XSpace, and {others[0]} cannot be put beside it; "
            "load XSpaces, the .xplane.pb files of TensorFlow's profiler, by themselves"
        )
    with named(spaces[0].file):
        return profile_of_spaces([(space.file.name, space.message()) for space in spaces])


def _add_all(found: Found, parts: Parts) -> Iterator[Part]:
    """Add what was found in the order in which one takes up the other."""
    runs = found.of_kind(RUN)
    steps = _steps([run.file for run in runs])
    step_of = dict(zip(map(id, runs), steps, strict=True))
    add: dict[str, Callable[[Part], None]] = {
        "GraphDef": lambda part: parts.add_graph(part.value),
        "ProfileProto": lambda part: parts.add_profile(part.value, steps),
        RUN: lambda part: parts.add_run(step_of[id(part)], part.value),
        "OpLogProto": lambda part: parts.add_op_log(part.value),
    }
    for kind, adds in add.items():
        for part in found.of_kind(kind):
            with named(part.file):
                adds(part)
            yield part
    parts.add_kernels(found.labels)


def _steps(runs: Sequence[File]) -> list[int]:
    """The steps in the names, if all names have one, else 0, 1, ..."""
    names = [PurePosixPath(run.name.replace("\\", "/")).name for run in runs]
    matches = [_STEP_IN_NAME.fullmatch(name) for name in names]
    steps = [int(match[1]) for match in matches if match]
    return steps if len(steps) == len(runs) else list(range(len(runs)))

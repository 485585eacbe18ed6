"""Loads a profile from whatever its parts are in, or one of its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import fspath
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from tfprof_widget.errors import ProfileError
from tfprof_widget.loading.contents import KINDS, Content, recognise
from tfprof_widget.loading.files import AnyPath, File, Source, find_files
from tfprof_widget.loading.progress import Advance, progress

if TYPE_CHECKING:
    from tfprof_widget.ingest.parts import Parts
    from tfprof_widget.messages import GraphDef, OpLogProto, RunMetadata
    from tfprof_widget.profiles import Profile

_STEP_IN_NAME = re.compile(r"run_?meta(?:data)?[_-](\d{1,18})(?:\.\w+)*")


@dataclass(frozen=True)
class Loaded:
    """A file and what is in it."""

    file: File
    content: Content

    def message(self) -> Any:
        """What is in it, as a message."""
        return self.content.message(self.file.name)


def load(source: Source, *, checkpoint: AnyPath | None = None) -> Profile:
    """Load a profile from files: saved profiles, graphs, run metadata and op logs, together or alone; or XSpaces.

    `source` is a path, a pattern, a directory, any URL that fsspec knows, or a list of these. What a file is, it
    tells by its content: binary, text or gzip. Run metadata are steps by the number in `run_meta_<step>`, else 0,
    1, ... as they come. A step that is in several of the files counts once: as run metadata, or else as the first
    saved profile has it. In a directory, files that are none of all this are passed over. `checkpoint` is one of
    TensorFlow's. XSpaces are the `.xplane.pb` files of TensorFlow's own profiler; of a log directory of TensorBoard's
    the newest run is loaded.

    >>> from importlib.resources import files
    >>> recorded = files("tfprof_widget") / "recorded"
    >>> load(str(recorded))
    Profile(81 nodes, 30 executions, 1 step)
    >>> load([str(recorded / "graph.binpb"), str(recorded / "run_meta.binpb")]).has_traces
    False
    """
    from tfprof_widget.flops.filling import assembled
    from tfprof_widget.ingest.parts import Parts

    files = find_files(source)
    with progress("loading", 2 * sum(file.size for file in files)) as advance:
        found = _read_all(files, advance)
        if found["XSpace"]:
            return _of_spaces(found, checkpoint)
        parts = Parts()
        for loaded in _add_all(found, parts):
            advance(f"took in {loaded.file.name}", loaded.file.size)
        parts.add_checkpoint(checkpoint)
        return assembled(parts)


def load_graph(path: AnyPath) -> GraphDef:
    """The GraphDef in a file, binary or text.

    >>> load_graph("no_such_file")
    Traceback (most recent call last):
        ...
    tfprof_widget.errors.ProfileError: cannot read 'no_such_file': there is no such file; ...
    """
    graph: GraphDef = _one(path, "GraphDef").message()
    return graph


def load_op_log(path: AnyPath) -> OpLogProto:
    """The OpLogProto in a file, as `write_op_log` writes it.

    >>> load_op_log("no_such_file")
    Traceback (most recent call last):
        ...
    tfprof_widget.errors.ProfileError: cannot read 'no_such_file': there is no such file; ...
    """
    op_log: OpLogProto = _one(path, "OpLogProto").message()
    return op_log


def load_run_metas(source: Source) -> dict[int, list[RunMetadata]]:
    """The RunMetadata in files, by step: the number in `run_meta_<step>`, else 0, 1, ... as they come.

    >>> from importlib.resources import files
    >>> list(load_run_metas(str(files("tfprof_widget") / "recorded" / "run_meta.binpb")))
    [0]
    """
    by_step: dict[int, list[RunMetadata]] = {}
    files = find_files(source)
    with progress("loading", sum(file.size for file in files)) as advance:
        for step, loaded in _with_steps([_of_kind(each, "RunMetadata") for each in _recognised(files, advance)]):
            by_step.setdefault(step, []).append(loaded.message())
    return by_step


def _read_all(files: Sequence[File], advance: Advance) -> dict[str, list[Loaded]]:
    """What is in the files, by kind."""
    found: dict[str, list[Loaded]] = {kind: [] for kind in KINDS}
    for loaded in _recognised(files, advance):
        found[loaded.content.kind].append(loaded)
    if not any(found[kind] for kind in KINDS if kind != "OpLogProto"):
        what = "an op log" if found["OpLogProto"] else f"none of {', '.join(KINDS)}"
        raise ProfileError(
            f"{files[0].name!r}{' and the others' * (len(files) > 1)}: there is {what} and nothing to profile; "
            "give a saved profile, a graph or run metadata"
        )
    return found


def _of_spaces(found: dict[str, list[Loaded]], checkpoint: AnyPath | None) -> Profile:
    """The profile of the XSpaces, which have no nodes to put anything else beside."""
    from tfprof_widget.loading.spaces import profile_of_spaces

    spaces = found["XSpace"]
    others = [loaded.file.name for kind in KINDS if kind != "XSpace" for loaded in found[kind]]
    if checkpoint is not None:
        others.append(fspath(checkpoint))
    if others:
        raise ProfileError(
            f"{spaces[0].file.name}: it is an XSpace, and {others[0]} cannot be put beside it; "
            "load XSpaces, the .xplane.pb files of TensorFlow's profiler, by themselves"
        )
    with _named(spaces[0]):
        return profile_of_spaces([(loaded.file.name, loaded.message()) for loaded in spaces])


def _recognised(files: Sequence[File], advance: Advance) -> Iterator[Loaded]:
    for file in files:
        data = file.read()
        advance(f"read {file.name}", file.size)
        try:
            yield Loaded(file, recognise(data, file.name))
        except ProfileError:
            if file.is_chosen:
                raise


def _add_all(found: dict[str, list[Loaded]], parts: Parts) -> Iterator[Loaded]:
    """Add what was found in the order in which one takes up the other."""
    runs = _with_steps(found["RunMetadata"])
    steps = {step for step, _ in runs}
    for graph in found["GraphDef"]:
        with _named(graph):
            parts.add_graph(graph.content.value)
        yield graph
    for profile in found["ProfileProto"]:
        with _named(profile):
            parts.add_profile(profile.content.value, steps)
        yield profile
    for step, run in runs:
        with _named(run):
            parts.add_step(step, run.content.value)
        yield run
    for op_log in found["OpLogProto"]:
        with _named(op_log):
            parts.add_op_log(op_log.content.value)
        yield op_log


@contextmanager
def _named(loaded: Loaded) -> Iterator[None]:
    """Let errors say which file they are about."""
    try:
        yield
    except (ProfileError, ValueError) as error:
        raise ProfileError(f"{loaded.file.name}: {error}") from None


def _with_steps(runs: Sequence[Loaded]) -> list[tuple[int, Loaded]]:
    """The steps in the names, if all names have one."""
    names = [PurePosixPath(run.file.name.replace("\\", "/")).name for run in runs]
    matches = [_STEP_IN_NAME.fullmatch(name) for name in names]
    steps = [int(match[1]) for match in matches if match]
    return list(zip(steps if len(steps) == len(runs) else range(len(runs)), runs, strict=True))


def _one(path: AnyPath, kind: str) -> Loaded:
    files = find_files(path)
    if len(files) > 1:
        raise ProfileError(f"{path!r}: there are {len(files)} files, such as {files[0].name!r}; name the one {kind}")
    with progress("loading", files[0].size) as advance:
        (loaded,) = _recognised(files, advance)
        return _of_kind(loaded, kind)


def _of_kind(loaded: Loaded, kind: str) -> Loaded:
    if loaded.content.kind != kind:
        raise ProfileError(
            f"{loaded.file.name}: this is a {loaded.content.kind}, where a {kind} is asked for; "
            "give the right file, or let tfprof_widget.load find out what each file is"
        )
    return loaded

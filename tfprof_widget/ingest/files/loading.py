"""Makes a profile of the content of files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike, fspath
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.ingest.files.find import AnyPath, File, Source, find_files, run_of
from tfprof_widget.ingest.files.jobs import TaskFiles, tasks_in
from tfprof_widget.ingest.files.reading import (
    RUN,
    Advance,
    DamagedFiles,
    FilePart,
    FoundFiles,
    content_of,
    named,
    on_workers,
    progress,
    read_on_dask,
)
from tfprof_widget.ingest.files.recognise import KINDS, Content
from tfprof_widget.ingest.flops.counting import count_float_ops
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.merging.merge import given_to_worker, merge, merged
from tfprof_widget.ingest.saved_account import with_account
from tfprof_widget.ingest.saved_profile import by_worker
from tfprof_widget.ingest.xspace.events import notes_on
from tfprof_widget.ingest.xspace.reader import TraceTable, read_xspace
from tfprof_widget.ingest.xspace.space import read_space
from tfprof_widget.ingest.xspace.steps import read_steps
from tfprof_widget.lib.errors import ProfileError, ProfileWarning, warn_user
from tfprof_widget.lib.urls import is_url
from tfprof_widget.profiles.data import ProfileData, ProfileTables
from tfprof_widget.profiles.devices import RESTRICTED_COUNTERS

if TYPE_CHECKING:
    from tfprof_widget.ingest.parts.runs import NodeNames
    from tfprof_widget.lib.messages import RunMetadata

MOST_TOLD = 3
"""A warning names so many of the files that were skipped."""

_STEP_IN_NAME = re.compile(r"run_?meta(?:data)?[_-](\d{1,18})(?:\.\w+)*")


def loaded(
    source: Source, *, checkpoint: AnyPath | None = None, client: Any = None, errors: str = "raise"
) -> ProfileData:
    """The profile in files; `tfprof_widget.load` describes the arguments."""
    if isinstance(source, str | PathLike) and not is_url(source) and (tasks := tasks_in(Path(source).expanduser())):
        return _of_tasks(tasks, checkpoint, client, errors)
    damaged = DamagedFiles(errors)
    files = find_files(source)
    with progress("loading", 2 * sum(file.size for file in files)) as advance:
        profile = _profile(files, checkpoint, client, advance, damaged)
    _warn_of(damaged, files)
    return assemble(profile.having(skipped=tuple(damaged.skipped))) if damaged.skipped else profile


def _of_tasks(tasks: Sequence[TaskFiles], checkpoint: AnyPath | None, client: Any, errors: str) -> ProfileData:
    """The profiles of the tasks of jobs, each of which is a worker; those that captured nothing are passed over."""
    having = [task for task in tasks if task.snapshot.is_file()]
    if lacking := [task.task for task in tasks if task not in having]:
        more = " …" if len(lacking) > MOST_TOLD else ""
        told = f"{', '.join(lacking[:MOST_TOLD])}{more} captured nothing"
        if not having:
            raise ProfileError(f"{str(tasks[0].path.parent)!r}: {told}; a profile is there once steps were traced")
        warn_user(f"passed over {len(lacking):,} of {len(tasks):,} tasks: {told}")
    if len(having) == 1:
        return loaded(str(having[0].snapshot), checkpoint=checkpoint, errors=errors)
    is_one_job = len({task.path.parent for task in having}) == 1
    files = [file for task in having for file in find_files(str(task.snapshot.absolute()))]
    names = [task.task if is_one_job else f"{task.job}/{task.task}" for task in having]
    read = partial(
        read_tasks,
        workers=dict(zip((file.name for file in files), names, strict=True)),
        checkpoint=checkpoint,
        errors=DamagedFiles(errors).errors,
    )
    if client is None:
        parts = [read(files)]
    else:
        with progress("loading", sum(file.size for file in files)) as advance:
            parts = on_workers(read, files, client, advance)
    skipped = tuple(each for part in parts for each in part.skipped)
    profiles = [part.profile for part in parts if part.profile is not None]
    if not profiles:
        raise ProfileError(f"every file was skipped; {skipped[0]}")
    whole = profiles[0] if len(profiles) == 1 else merge(profiles)
    if not skipped:
        return whole
    warn_user(f"skipped {len(skipped):,} of {len(having):,} tasks: {'; '.join(skipped[:MOST_TOLD])}")
    return assemble(whole.having(skipped=skipped))


@dataclass(frozen=True, eq=False)
class ReadTasks:
    """One profile of several tasks, and the errors of those that could not be read."""

    profile: ProfileData | None
    skipped: tuple[str, ...]


def read_tasks(
    files: Sequence[File], workers: Mapping[str, str], checkpoint: AnyPath | None = None, errors: str = "raise"
) -> ReadTasks:
    """The profiles of tasks as one; `workers` are the names of the tasks by those of their files.

    >>> read_tasks([], {}).profile is None
    True
    """
    damaged, found = DamagedFiles(errors), dict[str, ProfileData]()
    for file in files:
        with damaged.passed_over():
            found[workers[file.name]] = loaded(file.name, checkpoint=checkpoint)
    return ReadTasks(merge(found) if found else None, tuple(damaged.skipped))


def _warn_of(damaged: DamagedFiles, files: Sequence[File]) -> None:
    """Warn of the files that were skipped."""
    number = len(damaged.skipped)
    if number:
        more = f"; and {number - MOST_TOLD:,} more, which `skipped` of the profile names" if number > MOST_TOLD else ""
        warn_user(f"skipped {number:,} of {len(files):,} files: {'; '.join(damaged.skipped[:MOST_TOLD])}{more}")


def _profile(
    files: Sequence[File], checkpoint: AnyPath | None, client: Any, advance: Advance, damaged: DamagedFiles
) -> ProfileData:
    gathered = Gathered()
    found = _found(files, client, gathered.names, advance, damaged)
    _check_worth(found, files, damaged)
    if found.of_kind("XSpace"):
        return _of_spaces(found, checkpoint, damaged)
    if (of_workers := profile_of_workers(found, checkpoint, damaged)) is not None:
        return of_workers
    for part in _add_all(found, gathered, damaged):
        advance(f"took in {part.file.name}", part.file.size)
    gathered.add_checkpoint(checkpoint)
    return assemble(gathered.tables(), count_float_ops(gathered.formulas))


def _found(files: Sequence[File], client: Any, names: NodeNames, advance: Advance, damaged: DamagedFiles) -> FoundFiles:
    if client is not None:
        return read_on_dask(files, client, names, advance, damaged)
    found = FoundFiles(names)
    for file, content in _contents(files, advance, damaged):
        with damaged.passed_over():
            found.take(file, content)
    return found


def load_message(path: AnyPath, kind: str) -> Any:
    """The message of one of KINDS in a file, binary or text.

    >>> load_message("no_such_file", "GraphDef")
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: cannot read 'no_such_file': there is no such file; ...
    """
    files = find_files(path)
    if len(files) > 1:
        raise ProfileError(f"{path!r}: there are {len(files)} files, such as {files[0].name!r}; give one {kind} file")
    with progress("loading", files[0].size) as advance:
        ((file, content),) = _contents(files, advance, DamagedFiles())
        return _message(file, content, kind)


def load_run_metas(source: Source, errors: str = "raise") -> dict[int, list[RunMetadata]]:
    """The RunMetadata in files by step: the number in `run_meta_<step>`, or else 0, 1, ... in their order.

    >>> from importlib.resources import files
    >>> list(load_run_metas(str(files("tfprof_widget") / "recorded" / "run_meta.binpb")))
    [0]
    """
    by_step: dict[int, list[RunMetadata]] = {}
    files, damaged = find_files(source), DamagedFiles(errors)
    with progress("loading", sum(file.size for file in files)) as advance:
        runs = []
        for file, content in _contents(files, advance, damaged):
            with damaged.passed_over():
                runs.append((file, _message(file, content, RUN)))
    _warn_of(damaged, files)
    for step, (_, run) in zip(_steps([file for file, _ in runs]), runs, strict=True):
        by_step.setdefault(step, []).append(run)
    return by_step


def _contents(files: Sequence[File], advance: Advance, damaged: DamagedFiles) -> Iterator[tuple[File, Content]]:
    """The content of the files; of those only found in a directory, other files than profiles are passed over."""
    for file in files:
        content = None
        with damaged.passed_over():
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


def _check_worth(found: FoundFiles, files: Sequence[File], damaged: DamagedFiles) -> None:
    """Refuse files without anything to profile."""
    kinds = {part.kind for part in found.parts}
    if not kinds and damaged.skipped:
        raise ProfileError(f"every file was skipped; {damaged.skipped[0]}")
    if not kinds - {"OpLogProto"}:
        what = "an op log" if kinds else f"none of {', '.join(KINDS)}"
        raise ProfileError(
            f"{files[0].name!r}{' and the others' * (len(files) > 1)}: there is {what} and nothing to profile; "
            "give a saved profile, a graph or run metadata"
        )


def _of_spaces(found: FoundFiles, checkpoint: AnyPath | None, damaged: DamagedFiles) -> ProfileData:
    """The profile of XSpaces; they have no graph, so other files cannot be loaded with them."""

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
        traces = []
        for space in spaces:
            with damaged.passed_over():
                traces.append(_traced(space.file.name, space.value))
        if not traces:
            raise ProfileError(f"every file was skipped; {damaged.skipped[0]}")
        return profile_of_traces(traces)


def _add_all(found: FoundFiles, gathered: Gathered, damaged: DamagedFiles) -> Iterator[FilePart]:
    """Add what was found in the order in which kinds depend on each other: graphs, profiles, runs, op logs."""
    runs = found.of_kind(RUN)
    steps = _steps([run.file for run in runs])
    step_of = dict(zip(map(id, runs), steps, strict=True))
    add: dict[str, Callable[[FilePart], None]] = {
        "GraphDef": lambda part: gathered.add_graph(part.value),
        "ProfileProto": lambda part: gathered.add_profile(part.value, steps),
        RUN: lambda part: gathered.add_run(step_of[id(part)], part.value),
        "OpLogProto": lambda part: gathered.add_op_log(part.value),
    }
    for kind, adds in add.items():
        for part in found.of_kind(kind):
            with damaged.passed_over(), named(part.file):
                adds(part)
            yield part
    gathered.details.add(found.details)


def _steps(runs: Sequence[File]) -> list[int]:
    """The step numbers in the names if all names have one, else 0, 1, ..."""
    names = [PurePosixPath(run.name.replace("\\", "/")).name for run in runs]
    matches = [_STEP_IN_NAME.fullmatch(name) for name in names]
    steps = [int(match[1]) for match in matches if match]
    return steps if len(steps) == len(runs) else list(range(len(runs)))


def profile_of_workers(found: FoundFiles, checkpoint: AnyPath | None, damaged: DamagedFiles) -> ProfileData | None:
    """The profile in saved profiles of several workers; None if no file is one."""
    profiles: list[ProfileTables] = []
    names: list[str] = []
    saved: list[Any] = []
    for part in found.of_kind("ProfileProto"):
        with damaged.passed_over(), named(part.file):
            workers = by_worker(part.value)
            saved += [part.value] if workers else []
            for worker, message in workers.items():
                gathered = Gathered()
                gathered.add_profile(message)
                gathered.add_checkpoint(checkpoint)
                whole = gathered.tables()
                profiles.append(given_to_worker(worker)(whole) if worker else whole)
                names.append(part.file.name)
    others = [fspath(part.file.name) for part in found.parts if part.file.name not in names]
    if profiles and others:
        raise ProfileError(
            f"{names[0]}: it is of several workers, and {others[0]} cannot be put beside it; "
            "load them by themselves, and merge the profiles with tfprof_widget.merge"
        )
    if not profiles:
        return None
    tables = merged(profiles)
    with named(found.of_kind("ProfileProto")[0].file):
        return assemble(with_account(tables, saved[0]) if len(saved) == 1 else tables)


def _traced(name: str, xspace: Any) -> tuple[str, TraceTable]:
    """What the XSpace in the file of this name tells; the XSpace itself, which takes more memory, is not kept."""
    space = read_space(xspace, name)
    return name, read_xspace(space, read_steps(space))


def profile_of_traces(traced: Sequence[tuple[str, TraceTable]]) -> ProfileData:
    """The profile of what XSpaces tell, given with the names of their files.

    Files of one directory are the hosts of one run, each of which is a worker. The steps of several runs come one after
    the other.

    >>> profile_of_traces([("empty.xplane.pb", read_xspace(b""))])
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: empty.xplane.pb: nothing that ran is in it; ...
    """
    runs: dict[str, list[tuple[str, TraceTable]]] = {}
    for name, table in traced:
        host = PurePosixPath(name.replace("\\", "/")).name.partition(".xplane")[0]
        runs.setdefault(run_of(name), []).append((host, table))
    traces = _one_after_another(runs)
    names = " and ".join(name for name, _ in traced[:2]) + (" …" if len(traced) > 2 else "")
    tables = _of_hosts(traces) if any(len(hosts) > 1 for hosts in runs.values()) else _of_traces(traces)
    dropped = sum(trace.dropped for _, trace in traces)
    notes = notes_on((note for _, trace in traces for note in trace.notes), tables.compiled)
    if not len(tables.executions):
        again = "record while the program runs, with host_tracer_level 1 or more. "
        if any(RESTRICTED_COUNTERS in note for note in notes):
            again = ""  # that would change nothing
        raise ProfileError(f"{names}: nothing that ran is in it; {again}{'. '.join(notes)}".rstrip(". "))
    if dropped:
        notes = (*notes, f"TensorFlow's profiler dropped {dropped:,} events, by which the totals are too low")
    for note in notes:
        warnings.warn(f"{names}: {note}", ProfileWarning, stacklevel=2)
    return assemble(tables, count_float_ops("all"))


def _of_traces(traces: Iterable[tuple[str, TraceTable]]) -> ProfileTables:
    gathered = Gathered()
    gathered.add_functions([], [trace for _, trace in traces])
    return gathered.tables()


def _of_hosts(traces: Sequence[tuple[str, TraceTable]]) -> ProfileTables:
    """The tables of several hosts: their devices have the same names, and are not the same devices."""
    hosts = dict.fromkeys(host for host, _ in traces)
    of_host = {host: _of_traces([each for each in traces if each[0] == host]) for host in hosts}
    return merged([given_to_worker(host)(tables) for host, tables in of_host.items()])


def _one_after_another(runs: dict[str, list[tuple[str, TraceTable]]]) -> list[tuple[str, TraceTable]]:
    """All traces, with new step numbers for runs that have numbers in common."""
    found: list[tuple[str, TraceTable]] = []
    taken: set[int] = set()
    for run, hosts in runs.items():
        numbers = sorted(set().union(*(trace.step.tolist() for _, trace in hosts)))
        new = _free(numbers, taken)
        taken.update(new)
        of_run = PurePosixPath(run).name if len(runs) > 1 else ""
        for host, trace in hosts:
            names = [_named(trace.step_names.get(number, ""), of_run) for number in numbers]
            new_of = dict(zip(numbers, new, strict=True))
            found.append((host, trace.renumbered(new_of, dict(zip(new, names, strict=True)))))
    return found


def _free(numbers: list[int], taken: set[int]) -> list[int]:
    """These numbers; if one of them is taken, as many numbers after the taken ones."""
    return numbers if taken.isdisjoint(numbers) else [max(taken) + place for place in range(1, len(numbers) + 1)]


def _named(step: str, run: str) -> str:
    return f"{step} ({run})" if step and run else step or run

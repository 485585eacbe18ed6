"""Runs code on engines for `capture_engines`, and joins what the engines recorded to one capture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from tfprof_widget.api.capture import remember
from tfprof_widget.api.result import Capture
from tfprof_widget.capturing.recording import GraphRecording, KindOfRun, Recording
from tfprof_widget.capturing.sampling import Adaptive, Every, Policy, Steps, policy
from tfprof_widget.ingest.merging.merge import given_to_worker, merged
from tfprof_widget.lib.errors import shortened
from tfprof_widget.parallel.engines import CellRun, EngineResult, Engines, NoAnswer, engines_of
from tfprof_widget.profiles.cell import CellTimes

LONGEST_REASON = 200


def joined(outcomes: Sequence[EngineResult]) -> Recording:
    """One recording of all engines, with notes on what is missing.

    >>> joined([EngineResult(0, "", None, "nothing was recorded", None)]).warnings
    ('engine 0 has no profile: nothing was recorded',)
    """
    names = worker_names(outcomes)
    recorded = {
        name: ran.recorded
        for name, ran in zip(names, outcomes, strict=True)
        if ran.recorded is not None and _is_left(ran)
    }
    cells = {name: replace(cell, worker=name) for name, each in recorded.items() for cell in each.cells}
    slowest = max(recorded.values(), key=lambda each: each.wall_seconds, default=None)
    return Recording(
        graphs=tuple(_one(each, cells) for each in _matching(recorded)),
        wall_seconds=slowest.wall_seconds if slowest else 0.0,
        overhead_seconds=slowest.overhead_seconds if slowest else None,
        dropped_events=sum(each.dropped_events for each in recorded.values()),
        warnings=(*failures(outcomes), *_unprofiled(outcomes), *_warnings(recorded)),
        known_overhead=slowest.known_overhead if slowest else 0.0,
        cells=tuple(cells.values()),
    )


def worker_names(outcomes: Sequence[EngineResult]) -> tuple[str, ...]:
    """The engines' names in the profile, which sort by number; with the host if the engines' hosts differ.

    >>> worker_names([EngineResult(2, "a", None, "", None), EngineResult(10, "b", None, "", None)])
    ('engine 02 on a', 'engine 10 on b')
    """
    digits = max(len(str(ran.engine)) for ran in outcomes)
    hosts = {ran.host for ran in outcomes if ran.host}
    return tuple(
        f"engine {ran.engine:0{digits}}" + (f" on {ran.host}" if len(hosts) > 1 and ran.host else "")
        for ran in outcomes
    )


def _matching(recorded: Mapping[str, Recording]) -> Iterable[Mapping[str, GraphRecording]]:
    """The graphs that belong together, by worker: those with the same name of their first kind, in the same order."""
    found: dict[tuple[str, int], dict[str, GraphRecording]] = {}
    for worker, each in recorded.items():
        seen: Counter[str] = Counter()
        for graph in each.graphs:
            name = graph.kinds[0].name if graph.kinds else ""
            found.setdefault((name, seen[name]), {})[worker] = graph
            seen[name] += 1
    return found.values()


def _one(matching: Mapping[str, GraphRecording], cells: Mapping[str, CellTimes]) -> GraphRecording:
    """One recording of the graphs of several workers, with the cell of each."""
    kinds: dict[str, list[KindOfRun]] = {}
    for graph in matching.values():
        for runs in graph.kinds:
            kinds.setdefault(runs.name, []).append(runs)
    tables = merged([given_to_worker(worker)(graph.tables) for worker, graph in matching.items()])
    found = tuple(replace(cells[worker], runs=graph.runs) for worker, graph in matching.items() if worker in cells)
    return GraphRecording(tables.having(cells=found), tuple(map(_sum, kinds.values())))


def _sum(kind: Sequence[KindOfRun]) -> KindOfRun:
    """The runs of one kind on all workers together."""
    untraced = [runs.untraced for runs in kind if runs.untraced is not None]
    return KindOfRun(
        name=kind[0].name,
        seen=sum(runs.seen for runs in kind),
        traced=sum(runs.traced for runs in kind),
        untraced_seconds=sum(runs.untraced_seconds for runs in kind),
        traced_seconds=sum(runs.traced_seconds for runs in kind),
        warm_up_seconds=sum(runs.warm_up_seconds for runs in kind),
        untraced=sum(untraced) if len(untraced) == len(kind) else None,
        warm_ups=sum(runs.warm_ups for runs in kind),
        parted=sum(runs.parted for runs in kind),
        part_seconds=sum(runs.part_seconds for runs in kind),
        parted_seconds=sum(runs.parted_seconds for runs in kind),
        first_part_seconds=sum(runs.first_part_seconds for runs in kind),
        first_parted_seconds=sum(runs.first_parted_seconds for runs in kind),
    )


def failures(outcomes: Sequence[EngineResult]) -> list[str]:
    """A sentence for each engine on which the cell failed, with the reason."""
    return [
        f"{name} failed: {reason(ran.error)}; what it ran until then is in the profile"
        if _is_left(ran)
        else f"{name} failed: {reason(ran.error)}; it is not in the profile"
        for name, ran in zip(worker_names(outcomes), outcomes, strict=True)
        if ran.error is not None
    ]


def _unprofiled(outcomes: Sequence[EngineResult]) -> list[str]:
    """A sentence for each engine on which the cell ran without a profile, with the reason."""
    return [
        f"{name} has no profile: {ran.missing}"
        for name, ran in zip(worker_names(outcomes), outcomes, strict=True)
        if ran.error is None and ran.recorded is None
    ]


def _is_left(ran: EngineResult) -> bool:
    """Whether the profile has something of an engine; if the cell failed there, it needs a traced run."""
    return ran.recorded is not None and (ran.error is None or ran.recorded.traced > 0)


def reason(error: Exception) -> str:
    """An engine's error in one line.

    >>> reason(ValueError("no such file\\nat all"))
    'ValueError: no such file'
    """
    message = str(getattr(error, "evalue", error)).strip().partition("\n")[0]
    if isinstance(error, NoAnswer):
        return message
    name = getattr(error, "ename", type(error).__name__)
    return shortened(f"{name}: {message}" if message else name, LONGEST_REASON)


def _warnings(recorded: Mapping[str, Recording]) -> Iterator[str]:
    """The distinct warnings of the workers, each with the names of its workers unless all have it."""
    workers: dict[str, list[str]] = {}
    for worker, each in recorded.items():
        for warning in each.warnings:
            workers.setdefault(warning, []).append(worker)
    for warning, names in workers.items():
        yield warning if len(names) == len(recorded) else f"{', '.join(names)}: {warning}"


def capture_engines(view: Any, code: str, *, name: str = "", **sampling: Any) -> Capture:
    """Profile what code runs on the engines of an ipyparallel view, client or cluster, as `%%tfprof --engines` does.

    The code runs in the engines' own namespaces. `sampling` and `collectives` say what is traced, as for `capture`. If
    the code fails on some engines, the capture has notes on that; if it fails on all, the error is raised, and `last()`
    gives the capture.

    >>> capture_engines("rc", "train()")
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: engines: 'rc' is of the type str, ...
    """
    with ExitStack() as opened:
        run = cell_run(engines_of(view, opened), code, **sampling)
        outcomes = run.run()
    capture = joined_capture(outcomes, name)
    error = error_of(run, outcomes)
    if error is not None:
        raise error
    return capture


def cell_run(engines: Engines, code: str, *, collectives: bool = False, **sampling: Any) -> CellRun:
    """A run of code on engines, which has not begun yet."""
    words = ["--collectives" if collectives else "", _arguments(policy(**sampling))]
    return CellRun(engines, code, " ".join(filter(None, words)))


def joined_capture(outcomes: Sequence[EngineResult], name: str) -> Capture:
    """The capture of all engines, which `last()` gives from now on."""
    capture = Capture.of(joined(outcomes), name)
    remember(capture)
    return capture


def error_of(run: CellRun, outcomes: Sequence[EngineResult]) -> BaseException | None:
    """The error to raise here: an interrupt, or that of all engines if the code failed on all; else None."""
    if run.was_interrupted:
        return KeyboardInterrupt()
    if not all(ran.error for ran in outcomes):
        return None

    from ipyparallel.error import CompositeError

    failed = CompositeError("the cell failed on all engines", [_listed(ran) for ran in outcomes])
    failed._render_traceback_ = lambda: str(failed).splitlines()  # short, since the engines' own tracebacks were shown
    return failed  # type: ignore[no-any-return]


def _listed(ran: EngineResult) -> tuple[str, str, str, dict[str, Any]]:
    """An engine's error as ipyparallel lists errors: its name, message and traceback, and the engine."""
    error: Any = ran.error
    return (
        getattr(error, "ename", type(error).__name__),
        str(getattr(error, "evalue", error)),
        getattr(error, "traceback", None) or "",
        {"engine_id": ran.engine, "engine_uuid": "", "method": "execute"},
    )


def _arguments(traced: Policy) -> str:
    """A policy as the arguments of `%%tfprof`; an empty text is the default policy.

    >>> _arguments(Every(1)), _arguments(Steps(10)), _arguments(Adaptive(0.05, 0)), _arguments(Adaptive())
    ('--every=1', '--steps=10:', '--overhead=0.05', '')
    """
    match traced:
        case Steps(start, stop):
            return f"--steps={start}:{'' if stop is None else stop}"
        case Every(count):
            return f"--every={count}"
        case Adaptive(overhead, allowance):
            return "" if allowance else f"--overhead={overhead}"

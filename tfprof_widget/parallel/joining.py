"""Makes one recording of what was recorded on several engines: graphs that match become one, with a worker each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tfprof_widget.capturing.recorded import GraphRecord, Recorded, Runs
from tfprof_widget.errors import shortened
from tfprof_widget.merging.merge import merge
from tfprof_widget.parallel.cell_run import NoAnswer, Ran

LONGEST_REASON = 200


def joined(outcomes: Sequence[Ran]) -> Recorded:
    """All that was recorded, and notes on what is missing.

    >>> joined([Ran(0, "", None, "nothing was recorded", None)]).warnings
    ('engine 0 has no profile: nothing was recorded',)
    """
    names = worker_names(outcomes)
    recorded = {
        name: ran.recorded
        for name, ran in zip(names, outcomes, strict=True)
        if ran.recorded is not None and _is_left(ran)
    }
    slowest = max(recorded.values(), key=lambda each: each.wall_seconds, default=None)
    return Recorded(
        graphs=tuple(map(_one, _matching(recorded))),
        wall_seconds=slowest.wall_seconds if slowest else 0.0,
        overhead_seconds=slowest.overhead_seconds if slowest else None,
        dropped_events=sum(each.dropped_events for each in recorded.values()),
        warnings=(*failures(outcomes), *_unprofiled(outcomes), *_warnings(recorded)),
    )


def worker_names(outcomes: Sequence[Ran]) -> tuple[str, ...]:
    """What the engines are called in the profile, so that they sort by their numbers; with hosts where these differ.

    >>> worker_names([Ran(2, "a", None, "", None), Ran(10, "b", None, "", None)])
    ('engine 02 on a', 'engine 10 on b')
    """
    digits = max(len(str(ran.engine)) for ran in outcomes)
    hosts = {ran.host for ran in outcomes if ran.host}
    return tuple(
        f"engine {ran.engine:0{digits}}" + (f" on {ran.host}" if len(hosts) > 1 and ran.host else "")
        for ran in outcomes
    )


def _matching(recorded: Mapping[str, Recorded]) -> Iterable[Mapping[str, GraphRecord]]:
    """The graphs that belong together: on each worker the first one that begins with runs of a name, the second, ..."""
    found: dict[tuple[str, int], dict[str, GraphRecord]] = {}
    for worker, each in recorded.items():
        seen: Counter[str] = Counter()
        for graph in each.graphs:
            name = graph.runs[0].name if graph.runs else ""
            found.setdefault((name, seen[name]), {})[worker] = graph
            seen[name] += 1
    return found.values()


def _one(matching: Mapping[str, GraphRecord]) -> GraphRecord:
    """The graphs of some workers as one."""
    kinds: dict[str, list[Runs]] = {}
    for graph in matching.values():
        for runs in graph.runs:
            kinds.setdefault(runs.name, []).append(runs)
    profile = merge({worker: graph.profile for worker, graph in matching.items()})
    return GraphRecord(profile, tuple(map(_sum, kinds.values())))


def _sum(kind: Sequence[Runs]) -> Runs:
    """The runs of one kind, of all workers."""
    untraced = [runs.untraced for runs in kind if runs.untraced is not None]
    return Runs(
        name=kind[0].name,
        seen=sum(runs.seen for runs in kind),
        traced=sum(runs.traced for runs in kind),
        untraced_seconds=sum(runs.untraced_seconds for runs in kind),
        traced_seconds=sum(runs.traced_seconds for runs in kind),
        warm_up_seconds=sum(runs.warm_up_seconds for runs in kind),
        untraced=sum(untraced) if len(untraced) == len(kind) else None,
        warm_ups=sum(runs.warm_ups for runs in kind),
    )


def failures(outcomes: Sequence[Ran]) -> list[str]:
    """Where the cell failed and why, in a sentence each."""
    return [
        f"{name} failed: {reason(ran.error)}; what it ran until then is in the profile"
        if _is_left(ran)
        else f"{name} failed: {reason(ran.error)}; it is not in the profile"
        for name, ran in zip(worker_names(outcomes), outcomes, strict=True)
        if ran.error is not None
    ]


def _unprofiled(outcomes: Sequence[Ran]) -> list[str]:
    """Where the cell ran without a profile and why."""
    return [
        f"{name} has no profile: {ran.missing}"
        for name, ran in zip(worker_names(outcomes), outcomes, strict=True)
        if ran.error is None and ran.recorded is None
    ]


def _is_left(ran: Ran) -> bool:
    """Whether something is left to look at: of a cell that failed only what it traced until then."""
    return ran.recorded is not None and (ran.error is None or ran.recorded.traced > 0)


def reason(error: Exception) -> str:
    """An engine's error in a line.

    >>> reason(ValueError("no such file\\nat all"))
    'ValueError: no such file'
    """
    told = str(getattr(error, "evalue", error)).strip().partition("\n")[0]
    if isinstance(error, NoAnswer):
        return told
    name = getattr(error, "ename", type(error).__name__)
    return shortened(f"{name}: {told}" if told else name, LONGEST_REASON)


def _warnings(recorded: Mapping[str, Recorded]) -> Iterator[str]:
    """The warnings of all workers, each once, with the workers that it is from unless it is all of them."""
    workers: dict[str, list[str]] = {}
    for worker, each in recorded.items():
        for warning in each.warnings:
            workers.setdefault(warning, []).append(worker)
    for warning, told in workers.items():
        yield warning if len(told) == len(recorded) else f"{', '.join(told)}: {warning}"

"""Describes the graphs that a widget or page shows, and the options that it starts with."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tfprof_widget.analysis.advisor.finding import Finding, share_of_whole
from tfprof_widget.analysis.advisor.overview import Overview, overview
from tfprof_widget.analysis.advisor.runner import WORDS, Advice, advice_on
from tfprof_widget.analysis.cluster.summary import summary
from tfprof_widget.analysis.device_steps import device_steps
from tfprof_widget.analysis.steady import OF_STEPS, OP_TIME, RUNS_TRACED, StepUse
from tfprof_widget.charts.moments import on_clock
from tfprof_widget.engine.measures import measures
from tfprof_widget.engine.steps import chosen_steps
from tfprof_widget.lib.errors import shortened
from tfprof_widget.lib.text import Fact, fixed, respelled, written_seconds
from tfprof_widget.profiles.cell import CodeLine
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import CPU_MEMORY, MISSING_STREAMS
from tfprof_widget.profiles.options import EVERYTHING, OPTIONS, STEP_OPTIONS, Options
from tfprof_widget.widget.cut import Cut, Progress, cut
from tfprof_widget.widget.cut_plan import Wanted
from tfprof_widget.widget.history import ShownHistory
from tfprof_widget.widget.wire import encoded


@dataclass(frozen=True, eq=False)
class ShownGraph:
    """A graph to show, at first with the mean of its runs that match `run_name_regexes`.

    `facts` are those of that mean; `facts_of_steps` has, by the name of other steps, what the head line says of these.
    """

    name: str
    profile: ProfileData
    facts: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()
    run_name_regexes: tuple[str, ...] = EVERYTHING
    facts_of_steps: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)

    @cached_property
    def _advice(self) -> Advice:
        return advice_on(self.profile)

    @cached_property
    def overview(self) -> Overview:
        """What is shown first."""
        reports = (report for of_checker in self._advice.reports.values() for report in of_checker)
        return overview(self.profile, [report for report in reports if isinstance(report, Finding)])

    @cached_property
    def to_browser(self) -> Mapping[str, Any]:
        """What js/src/data/graphs.ts reads; made once, for the live widget and the saved page."""
        return {
            "name": self.name,
            "runNameRegexes": self.run_name_regexes,
            "facts": _told(self.facts),
            "factsOfSteps": {name: _told(facts) for name, facts in self.facts_of_steps.items()},
            "stepUse": self._step_use(),
            "memoryNote": CPU_MEMORY if CPU_MEMORY in self.notes else "",
            "overview": self.overview.to_browser(),
            "advice": _told_advice(self._advice, self.profile),
            "cluster": _cluster(self.profile),
            **_accelerators(self.profile),
            **self._of_cut(cut(on_clock(self.profile))),
        }

    def facts_of(self, options: Options) -> tuple[Fact, ...]:
        """The facts of the head line, of the steps that the options choose; js/src/views/steps.tsx has the same rule.

        >>> from tfprof_widget.demo import demo_profile
        >>> [str(fact) for fact in Shown.of_profile(demo_profile()).graphs[0].facts_of(Options.of(step=0))]
        ['nodes 81', 'steps 1', 'executions 30']
        """
        first = Options.of(run_name_regexes=self.run_name_regexes)
        if not self.facts_of_steps or all(getattr(options, name) == getattr(first, name) for name in STEP_OPTIONS):
            return self.facts
        steps = chosen_steps(self.profile, options)
        names = {self.profile.step_names[step] for step in steps}
        name = names.pop() if len(names) == 1 else ""
        found = [fact for fact in self.facts if fact.label not in OF_STEPS]
        place = 1 + next(place for place, fact in enumerate(found) if fact.label == RUNS_TRACED)
        told = [fact for fact in self.facts_of_steps.get(name, ()) if fact.label != "shown" or options.step < 0]
        if options.step >= 0:
            value = f"step {options.step} of {name}" if name else f"step {options.step}"
            told.insert(0, Fact("shown", value, "the step that is shown"))
        return (*found[:place], *told, *self._op_time(options, steps), *found[place:])

    def _op_time(self, options: Options, steps: Sequence[int]) -> Iterator[Fact]:
        costs = measures(self.profile, options)
        seconds = int(costs.columns["micros"].sum()) / costs.time_scale / 1e6
        at_once = StepUse.of(self.profile).ops_at_once(steps)
        for fact in self.facts:
            if fact.label == OP_TIME and seconds:
                yield Fact(OP_TIME, f"{written_seconds(seconds)} · {fixed(at_once, 2)} ops at once", fact.help)

    def _step_use(self) -> list[tuple[int, int]]:
        """The time of the ops of each step, and the time in which any ran; none if the head line does not need it."""
        if not self.facts_of_steps:
            return []
        use = StepUse.of(self.profile)
        return list(zip(use.work.tolist(), use.busy.tolist(), strict=True))

    def cut_again(self, wanted: Wanted, progress: Progress) -> Mapping[str, Any]:
        """The fields of `to_browser` that change when the browser asks for detail that was cut.

        >>> from tfprof_widget.demo import demo_profile
        >>> rest = ShownGraph("demo", demo_profile()).cut_again(Wanted(step=0), print)
        >>> sorted(rest), rest["cut"]
        (['columns', 'cut', 'notes'], None)
        """
        return self._of_cut(cut(on_clock(self.profile), wanted=wanted, progress=progress))

    def _of_cut(self, found: Cut) -> dict[str, Any]:
        notes = [note for note in self.notes if note != CPU_MEMORY]
        return {
            "columns": encoded(found.profile, self.profile),
            "notes": [*notes, *(found.left_out.notes if found.left_out else ())],
            "cut": found.left_out and found.left_out.to_browser(),
        }


@dataclass(frozen=True, eq=False)
class Shown:
    """What a widget or page shows: a title, graphs (it begins with the first one), and a value for every option.

    `history` are the runs of the cell; where there are no graphs, nothing else is shown.

    >>> from tfprof_widget.demo import demo_profile
    >>> Shown.of_profile(demo_profile(), min_micros=5).options["min_micros"]
    5
    """

    title: str
    graphs: tuple[ShownGraph, ...]
    view: str = "overview"
    options: Mapping[str, Any] = field(default_factory=dict)
    taken: datetime = field(default_factory=lambda: datetime.now(UTC))
    history: ShownHistory | None = None

    @property
    def about(self) -> str:
        """When this was measured, and with which versions."""
        return f"{self.taken:%Y-%m-%d %H:%M} UTC · {environment()}"

    @classmethod
    def of_profile(cls, profile: ProfileData, view: str = "overview", title: str = "", **options: Any) -> Shown:
        """Show one profile; options that are not given start as `starting_options` says."""
        notes = (MISSING_STREAMS,) if profile.misses_accelerator_stream else ()
        graph = ShownGraph(title or "graph", profile, tuple(_sizes(profile)), notes)
        return cls(title, (graph,), view, starting_options(profile, options))


def environment() -> str:
    """The versions of Python and of the packages that took the measurement.

    >>> environment().startswith("Python 3.")
    True
    """
    found = {package: _version(*names) for package, names in PACKAGES.items()}
    told = [f"{package} {number}" for package, number in found.items() if number]
    return " · ".join([f"Python {platform.python_version()}", *told])


PACKAGES = {
    "tensorflow": ("tensorflow", "tensorflow-cpu", "tf-nightly", "tf-nightly-cpu", "tensorflow-macos"),
    "keras": ("keras", "keras-nightly"),
    "tfprof-widget": ("tfprof-widget",),
}
"""The packages that are told, and the names by which they are installed."""


def _version(*names: str) -> str:
    """The version of the first of these that is installed; empty if none is."""
    for name in names:
        with suppress(PackageNotFoundError):
            return version(name)
    return ""


def starting_options(profile: ProfileData, given: Mapping[str, Any]) -> dict[str, Any]:
    """A value for every option of a view; those not given put the costliest rows first, by what was measured.

    >>> from tfprof_widget.demo import demo_profile
    >>> starting_options(demo_profile(), {"max_depth": 3})["order_by"]
    'micros'
    """
    order, select = _interesting(profile)
    # In op view each row is a level, in code view each frame.
    deepest = max(Options.of().max_depth, len(profile.nodes.ops), profile.traces.most_frames + 1)
    options = Options.of(**{"order_by": order, "select": select, "max_depth": deepest, **given})
    return {option.name: getattr(options, option.name) for option in OPTIONS if option.kind != "text"}


def _interesting(profile: ProfileData) -> tuple[str, list[str]]:
    nodes = profile.nodes
    static = [name for name, values in (("float_ops", nodes.float_ops), ("params", nodes.parameters)) if values.any()]
    if profile.steps:
        return "micros", ["micros", "bytes", "occurrence", *static[:1]]
    return (static or ["name"])[0], static or ["occurrence"]


def _sizes(profile: ProfileData) -> Iterator[Fact]:
    yield Fact("nodes", f"{len(profile.nodes):,}", "operations in the graph")
    if profile.steps:
        yield Fact("steps", f"{len(profile.steps):,}", "traced runs, each with the times and memory of its operations")
        yield Fact("executions", f"{len(profile.executions):,}", "executions of operations in all steps")


def _told(facts: tuple[Fact, ...]) -> list[dict[str, Any]]:
    return [vars(fact) for fact in facts]


def _told_advice(advice: Advice, profile: ProfileData) -> list[dict[str, Any]]:
    return [
        {
            "checker": name,
            "title": WORDS[name].title,
            "looks_for": WORDS[name].looks_for,
            "reports": [_report(each, profile) for each in found],
        }
        for name, found in advice.reports.items()
    ]


def _cluster(profile: ProfileData) -> dict[str, Any] | None:
    found = summary(profile)
    return found and found.described()


MOST_KERNELS = 2000
"""The costliest kernels, which the browser gets for the details of slices."""


def _accelerators(profile: ProfileData) -> dict[str, Any]:
    """What is known of accelerators, in lists by position: names would be most of the bytes."""
    steps = device_steps(profile)
    if not (steps or profile.allocator_peaks):
        return {}
    devices = sorted({each.device for each in steps})
    kernels = sorted(profile.kernel_runs, key=lambda each: -each.nanos)[:MOST_KERNELS]
    started = min((each.nanos[0] for each in profile.allocator_peaks if each.nanos), default=0)
    return {
        "accelerators": {
            "devices": [[device, _facts_of(device, profile)] for device in devices],
            "steps": [[each.step, devices.index(each.device), *each[2:]] for each in steps],
            "allocators": [
                {
                    "name": each.name,
                    "device": each.device,
                    "peak": each.peak_bytes,
                    "capacity": each.capacity_bytes,
                    "nanos": [nanos - started for nanos in each.nanos],
                    "bytes": each.bytes_in_use,
                }
                for each in profile.allocator_peaks
            ],
            "kernels": [list(each._replace(kernel=shortened(each.kernel, 80))) for each in kernels],
        }
    }


def _facts_of(device: str, profile: ProfileData) -> str:
    """What an accelerator can do, in words; empty if it does not tell."""
    found = next((each for each in profile.accelerators if each.name == device), None)
    if found is None:
        return ""
    told = [
        found.model,
        f"{found.cores} cores" if found.cores else "",
        f"{found.clock_hertz / 1e9:.2f} GHz" if found.clock_hertz else "",
        f"{found.memory_bytes / 1e9:.1f} GB of memory" if found.memory_bytes else "",
        f"{found.bytes_per_second / 1e9:,.0f} GB/s" if found.bytes_per_second else "",
        f"{found.float_ops_per_second / 1e12:,.0f} TFLOP/s" if found.float_ops_per_second else "",
        f"compute capability {found.compute_capability}" if found.compute_capability else "",
    ]
    return ", ".join(filter(None, told))


def _report(found: str | Finding, profile: ProfileData) -> str | dict[str, Any]:
    if isinstance(found, str):
        return respelled(found)
    evidence = found.evidence
    return {
        "cause": found.cause,
        "evidence": {
            "view": evidence.view,
            "options": dict(evidence.options),
            "selection": list(evidence.selection),
        },
        "fix": found.advised,
        "share": round(share_of_whole(found, profile), 4),
        "line": _line(found.line),
        "patch": found.patch
        and {
            "line": _line(found.patch.line),
            "lines": found.patch.lines,
            "after": "\n".join(found.patch.after),
            "effect": found.patch.effect,
        },
    }


def _line(line: CodeLine | None) -> dict[str, Any] | None:
    """A line of the user's."""
    return None if line is None else {"place": line.place, "file": line.file, "line": line.line}

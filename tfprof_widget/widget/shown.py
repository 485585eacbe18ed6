"""Describes the graphs that a widget or page shows, and the options that it starts with."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from tfprof_widget.analysis.advisor.finding import Finding
from tfprof_widget.analysis.advisor.runner import WORDS, advice_on
from tfprof_widget.analysis.cluster.clocks import on_one_clock
from tfprof_widget.analysis.cluster.summary import summary
from tfprof_widget.ingest.assemble import assemble
from tfprof_widget.lib.text import Fact
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.devices import MISSING_STREAMS
from tfprof_widget.profiles.options import EVERYTHING, OPTIONS, Options
from tfprof_widget.widget.cut import Cut, Progress, cut
from tfprof_widget.widget.cut_plan import Wanted
from tfprof_widget.widget.wire import encoded


@dataclass(frozen=True, eq=False)
class ShownGraph:
    """A graph to show, at first with the mean of its runs that match `run_name_regexes`."""

    name: str
    profile: ProfileData
    facts: tuple[Fact, ...] = ()
    notes: tuple[str, ...] = ()
    run_name_regexes: tuple[str, ...] = EVERYTHING

    @cached_property
    def _aligned(self) -> ProfileData:
        return assemble(on_one_clock(self.profile))

    @cached_property
    def to_browser(self) -> Mapping[str, Any]:
        """What js/src/data/graphs.ts reads; made once, for the live widget and the saved page."""
        return {
            "name": self.name,
            "runNameRegexes": self.run_name_regexes,
            "facts": [vars(fact) for fact in self.facts],
            "advice": _advice(self.profile),
            "cluster": _cluster(self.profile),
            **self._of_cut(cut(self._aligned)),
        }

    def cut_again(self, wanted: Wanted, progress: Progress) -> Mapping[str, Any]:
        """The fields of `to_browser` that change when the browser asks for detail that was cut.

        >>> from tfprof_widget.demo import demo_profile
        >>> rest = ShownGraph("demo", demo_profile()).cut_again(Wanted(step=0), print)
        >>> sorted(rest), rest["cut"]
        (['columns', 'cut', 'notes'], None)
        """
        return self._of_cut(cut(self._aligned, wanted=wanted, progress=progress))

    def _of_cut(self, found: Cut) -> dict[str, Any]:
        return {
            "columns": encoded(found.profile),
            "notes": [*self.notes, *(found.left_out.notes if found.left_out else ())],
            "cut": found.left_out and found.left_out.to_browser(),
        }


@dataclass(frozen=True, eq=False)
class Shown:
    """What a widget or page shows: a title, graphs (it begins with the first one), and a value for every option.

    >>> from tfprof_widget.demo import demo_profile
    >>> Shown.of_profile(demo_profile(), min_micros=5).options["min_micros"]
    5
    """

    title: str
    graphs: tuple[ShownGraph, ...]
    view: str = "scope"
    options: Mapping[str, Any] = field(default_factory=dict)
    taken: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def about(self) -> str:
        """When this was measured, and with which versions."""
        return f"{self.taken:%Y-%m-%d %H:%M} UTC · {environment()}"

    @classmethod
    def of_profile(cls, profile: ProfileData, view: str = "scope", title: str = "", **options: Any) -> Shown:
        """Show one profile; options that are not given start as `starting_options` says."""
        notes = (MISSING_STREAMS,) if profile.misses_accelerator_stream else ()
        graph = ShownGraph(title or "graph", profile, tuple(_sizes(profile)), notes)
        return cls(title, (graph,), view, starting_options(profile, options))


def environment() -> str:
    """The versions of Python and of the packages that took the measurement.

    >>> environment().startswith("Python 3.")
    True
    """
    found = [f"Python {platform.python_version()}"]
    for package in ("tensorflow", "keras", "tfprof-widget"):
        with suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return " · ".join(found)


def starting_options(profile: ProfileData, given: Mapping[str, Any]) -> dict[str, Any]:
    """A value for every option of a view; those not given put the costliest rows first, by what was measured.

    >>> from tfprof_widget.demo import demo_profile
    >>> starting_options(demo_profile(), {"max_depth": 3})["order_by"]
    'micros'
    """
    order, select = _interesting(profile)
    every_op = max(Options.of().max_depth, len(profile.nodes.ops))  # in op view each row is a level
    options = Options.of(**{"order_by": order, "select": select, "max_depth": every_op, **given})
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


def _advice(profile: ProfileData) -> list[dict[str, Any]]:
    reports = advice_on(profile).reports
    return [
        {
            "checker": name,
            "title": WORDS[name].title,
            "looks_for": WORDS[name].looks_for,
            "reports": [_report(each) for each in found],
        }
        for name, found in reports.items()
    ]


def _cluster(profile: ProfileData) -> dict[str, Any] | None:
    found = summary(profile)
    return found and found.described()


def _report(found: str | Finding) -> str | dict[str, Any]:
    if isinstance(found, str):
        return found
    evidence = found.evidence
    return {
        "cause": found.cause,
        "evidence": {
            "view": evidence.view,
            "options": dict(evidence.options),
            "selection": list(evidence.selection),
        },
        "fix": found.fix,
    }

"""Defines `compare` and what it gives: whether a step, a cell and its ops became slower or faster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from tfprof_widget.analysis.comparing.aligned import BY, By
from tfprof_widget.analysis.comparing.compared import ComparedRuns
from tfprof_widget.analysis.comparing.keeping import kept_run
from tfprof_widget.api.history import kept_files, others_of
from tfprof_widget.api.profile import load
from tfprof_widget.api.result import Capture
from tfprof_widget.lib.errors import ProfileError, value_error
from tfprof_widget.lib.text import visible, written_percent
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.kept_run import KeptRun
from tfprof_widget.profiles.options import one_of

if TYPE_CHECKING:
    import pandas

    from tfprof_widget.widget.traits import TfprofWidget

Run: TypeAlias = Capture | ProfileData | KeptRun | str | PathLike[str]
"""What has a run in it: a capture, a profile, a run of a history, or the path of a saved one."""


class Comparison(ComparedRuns):
    """What `compare` gives: print it, show it, or take `step`, `cell`, `parts` and tables.

    `step` and `cell` have `ratio`, `low`, `high` (of after / before), `verdict`, `before_seconds`, `after_seconds`,
    `runs`; so has each of `parts`. A verdict is "slower", "faster", "no difference seen" or "cannot tell".
    `fingerprint_differences` has what else differs, as versions or threads, with what it was before and after.
    """

    def to_dataframe(self, by: str = "op") -> pandas.DataFrame:
        """What ops took in a usual step, those whose time changed most first; also by layer, scope, code line or type.

        Times are in microseconds. Ops that changed with the whole step are told by their own ratio; if the step did not
        change, by what they took beside all others. `q` is the share of false calls among rows called different that
        are as sure. `matched_by` says how a row was found, and `before_name` under which name.

        >>> from tfprof_widget.demo import demo_profile
        >>> compare(demo_profile(), demo_profile()).to_dataframe("type")[["name", "verdict"]].values.tolist()[0]
        ['MatMul', 'cannot tell']
        """
        from tfprof_widget.output.compared import comparison_frame

        return comparison_frame(self.table(_by(by)))

    def text(self, by: str = "op") -> str:
        """What differs in the surroundings, the step, the cell, and the rows of a table that changed most.

        >>> from tfprof_widget.demo import demo_profile
        >>> print(compare(demo_profile(), demo_profile()).text("type"))
        From a run to a run it cannot be told whether a step changed (365.1 → 365.1 µs; 1 run against 1): one run ...
        """
        from tfprof_widget.output.compared import comparison_text

        return comparison_text(self, _by(by))

    def to_markdown(self, by: str = "op") -> str:
        """The same as Markdown, as for a pull request."""
        from tfprof_widget.output.compared import comparison_markdown

        return comparison_markdown(self, _by(by))

    def to_json(self) -> dict[str, Any]:
        """The same as values for JSON; numbers that are not known are None."""
        from tfprof_widget.output.compared import comparison_json

        return comparison_json(self)

    def widget(self) -> TfprofWidget:
        """A widget that shows the runs as dots with intervals, the sentence, and the table."""
        from tfprof_widget.widget.history import ShownHistory
        from tfprof_widget.widget.shown import Shown
        from tfprof_widget.widget.traits import TfprofWidget

        return TfprofWidget(Shown(self.title, (), "history", history=ShownHistory.of_comparison(self)))

    @property
    def title(self) -> str:
        """From which runs to which.

        >>> from tfprof_widget.demo import demo_profile
        >>> compare(demo_profile(), demo_profile()).title
        'a run → a run'
        """
        from tfprof_widget.output.compared import titles

        return f"{titles(self.before)} → {titles(self.after)}"

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from tfprof_widget.output.compared import comparison_html

        return comparison_html(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self._repr_html_()}


def _by(by: str) -> By:
    return cast(By, one_of("by", by, BY))


def compare(before: Run | Iterable[Run], after: Run | Iterable[Run]) -> Comparison:
    """Compare runs before a change with runs after it, and say what differs by more than runs differ anyway.

    Each side is a Capture, a Profile, a run of a history, a path of a saved run or of a directory of them, or a list of
    these. Runs are what is counted, not steps: steps of one run resemble each other. Three runs or more on each side
    tell something of single ops. One run against one tells of the step how these two runs differ, and of ops only if
    the magic keeps three earlier runs of the same cell.

    >>> from tfprof_widget.demo import demo_profile
    >>> compare([demo_profile()] * 3, [demo_profile()] * 3).step.verdict
    'no difference seen'
    """
    return compared(runs_of(before, "before"), runs_of(after, "after"))


def compared(before: Sequence[KeptRun], after: Sequence[KeptRun]) -> Comparison:
    """The comparison of runs; of one run with one, with what earlier runs of the cell tell of how much runs differ.

    >>> compared([KeptRun()], [KeptRun()]).step.verdict
    'cannot tell'
    """
    return Comparison(before, after, others_of(before, after))


def runs_of(given: Run | Iterable[Run], name: str) -> list[KeptRun]:
    """The runs of one side of a comparison."""
    if isinstance(given, Capture | ProfileData | KeptRun):
        return [_run(given)]
    if isinstance(given, str | PathLike):
        return _at(fspath(given))
    try:
        found = [run for each in given for run in runs_of(each, name)]
    except TypeError:
        raise value_error(
            f"{name}: {type(given).__name__} is no run; give a Capture, a Profile, a path, or a list of these"
        ) from None
    if not found:
        raise value_error(f"{name}: there is no run in it; give at least one Capture, Profile or path")
    return found


def _run(given: Capture | ProfileData | KeptRun) -> KeptRun:
    if isinstance(given, KeptRun):
        return given
    return given.kept_run if isinstance(given, Capture) else kept_run(given)


def _at(path: str) -> list[KeptRun]:
    """The runs that are kept at a path."""
    if Path(path).is_dir() and (files := kept_files(path)):
        return [run for file in files for run in _at(fspath(file))]
    profile = load(path)
    run = kept_run(profile)
    if not len(run.ops) or not (len(run.traced_seconds) or len(run.step_seconds)):
        raise ProfileError(f"{visible(path)}: nothing ran in this profile; save a run with Capture.save(path)")
    return [run if run.title != "a run" else run.told(fingerprint={}, name=Path(path).name)]


MACHINE = ("processor", "cores", "system", "devices")
"""What of a fingerprint tells one machine from another."""


class Regression(AssertionError):
    """A step became slower by more than is allowed; the message is the text of the `comparison`.

    >>> from tfprof_widget.demo import demo_profile
    >>> raise Regression(compare(demo_profile(), demo_profile()))
    Traceback (most recent call last):
        ...
    tfprof_widget.Regression: From a run to a run it cannot be told whether a step changed ...
    """

    __module__ = "tfprof_widget"

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(comparison.text())
        self.comparison = comparison


def assert_no_regression(
    before: Run | Iterable[Run], after: Run | Iterable[Run], by: float = 0.05, *, other_machine: bool = False
) -> Comparison:
    """Raise Regression if a step became slower by more than a share `by`, with the interval's lower end above it.

    Gives the comparison otherwise, also if it cannot tell. A baseline of another machine is refused, as its times say
    nothing of this one, unless `other_machine` allows it.

    >>> from tfprof_widget.demo import demo_profile
    >>> assert_no_regression([demo_profile()] * 3, [demo_profile()] * 3).step.verdict
    'no difference seen'
    """
    comparison = checked(compare(before, after), by, other_machine=other_machine)
    if is_regression(comparison, by):
        raise Regression(comparison)
    return comparison


def checked(comparison: Comparison, by: float, *, other_machine: bool = False) -> Comparison:
    """The comparison, if it can be judged: refuses one of several machines, and a share that is none."""
    if not 0 <= by < 100:
        raise value_error(f"by is {by!r}, but must be a share such as 0.05, which allows 5 % more")
    differs = {name: each for name, each in comparison.fingerprint_differences.items() if name in MACHINE}
    if differs and not other_machine:
        told = "; ".join(f"{name}: {before} before, {after} after" for name, (before, after) in differs.items())
        raise ProfileError(
            f"the runs before are of another machine ({told}): record them anew on this one, "
            "or allow it (--other-machine, or other_machine=True)"
        )
    return comparison


def is_regression(comparison: Comparison, by: float) -> bool:
    """Whether a step became slower by more than this share.

    >>> from tfprof_widget.demo import demo_profile
    >>> is_regression(compare(demo_profile(), demo_profile()), 0.0)
    False
    """
    return comparison.step.verdict == "slower" and comparison.step.low > 1 + by


def written_share(by: float) -> str:
    """A share as it is typed.

    >>> written_share(0.05)
    '5 %'
    """
    return written_percent(by, 0 if round(by * 100) == by * 100 else 1)

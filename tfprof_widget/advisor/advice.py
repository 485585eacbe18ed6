"""What all checkers say of a profile, for people to read: the widget's tab shows it, and a script prints it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from tfprof_widget.advisor.costliest import costliest
from tfprof_widget.advisor.finding import Finding
from tfprof_widget.advisor.runner import CHECKERS
from tfprof_widget.errors import ProfileWarning
from tfprof_widget.profiles import Profile
from tfprof_widget.visible import visible_lines

# Steady steps only, to the nanosecond, and graph nodes where native names scopes.
FOR_PEOPLE = {**CHECKERS, "ExpensiveOperationChecker": costliest}


@dataclass(frozen=True)
class Advice:
    """The reports of each checker; most have none."""

    reports: Mapping[str, tuple[str | Finding, ...]]

    def text(self) -> str:
        """The checkers that report something, and how many do not.

        >>> print(Advice({"OperationChecker": ("Found operation using NHWC",), "LayoutChecker": ()}).text())
        OperationChecker:
        Found operation using NHWC
        <BLANKLINE>
        1 other checker found nothing.
        """
        told = [
            f"{checker}:\n" + "\n".join(visible_lines(str(report)) for report in reports)
            for checker, reports in self.reports.items()
            if reports
        ]
        return "\n\n".join([*told, *_silent(len(self.reports) - len(told), beside=bool(told))])

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__


def advice_on(profile: Profile) -> Advice:
    """Let every checker look at a profile.

    >>> from tfprof_widget.demo import demo_profile
    >>> print(advice_on(demo_profile()).text().splitlines()[1])
    top 1 operation type: MatMul, cpu: 123.19us, accelerator: 0ns, total: 123.19us (38.40%)
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProfileWarning)  # what is lacking is said where it is missed
        return Advice({checker: tuple(check(profile)) for checker, check in FOR_PEOPLE.items()})


def _silent(checkers: int, beside: bool) -> list[str]:
    if not checkers:
        return []
    return [f"{checkers} {'other ' if beside else ''}{'checker' if checkers == 1 else 'checkers'} found nothing."]

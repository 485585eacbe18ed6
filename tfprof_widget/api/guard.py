"""Guards against regressions: raises if a step became slower by more than is allowed, as in a test or in CI."""

from __future__ import annotations

from collections.abc import Iterable

from tfprof_widget.api.comparison import Comparison, Run, compare
from tfprof_widget.lib.errors import ProfileError, value_error
from tfprof_widget.lib.text import written_percent

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

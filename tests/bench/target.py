"""What a finding has to reach: so many times less than another, so many times more at most, or so much at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["s", "B"]


@dataclass(frozen=True)
class TimesLess:
    """The other must take at least so many times what this package takes.

    >>> str(TimesLess(30)), TimesLess(30).is_met(0.3, 0.01)
    ('30', True)
    """

    least: float

    def ratio(self, other: float, ours: float) -> float:
        """How many times as much the other takes."""
        return other / ours

    def is_met(self, other: float, ours: float) -> bool:
        """Whether the target is reached."""
        return self.ratio(other, ours) >= self.least

    def __str__(self) -> str:
        return f"{self.least:g}"


@dataclass(frozen=True)
class TimesMore:
    """This package may take so many times what the other takes, or so many seconds more, if that is more.

    >>> target = TimesMore(1.1, extra_seconds=0.5)
    >>> str(target), target.is_met(1.0, 1.4), target.is_met(10.0, 11.2)
    ('at most 1.1, or 500 ms more', True, False)
    """

    most: float
    extra_seconds: float = 0.0

    def ratio(self, other: float, ours: float) -> float:
        """How many times as much this package takes."""
        return ours / other

    def is_met(self, other: float, ours: float) -> bool:
        """Whether the target is reached."""
        return ours <= max(self.most * other, other + self.extra_seconds)

    def __str__(self) -> str:
        or_more = f", or {amount(self.extra_seconds, 's')} more" if self.extra_seconds else ""
        return f"at most {self.most:g}{or_more}"


@dataclass(frozen=True)
class AtMost:
    """This package may take so many seconds or bytes, whatever the other takes.

    >>> str(AtMost(0.15)), AtMost(0.15).is_met(0.02, 0.2), str(AtMost(2_500_000, "B"))
    ('under 150 ms', False, 'under 2.50 MB')
    """

    most: float
    unit: Unit = "s"

    def ratio(self, other: float, ours: float) -> None:
        """Of no interest here."""

    def is_met(self, other: float, ours: float) -> bool:
        """Whether the target is reached."""
        return ours <= self.most

    def __str__(self) -> str:
        return f"under {amount(self.most, self.unit)}"


Target = TimesLess | TimesMore | AtMost


def amount(value: float, unit: Unit) -> str:
    """Seconds or bytes in three digits.

    >>> amount(0.0005, "s"), amount(2_500_000, "B")
    ('500 µs', '2.50 MB')
    """
    steps = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")) if unit == "s" else ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
    scale, name = next((step for step in steps if abs(value) >= step[0]), steps[-1])
    return f"{value / scale:.3g} {name}" if abs(value) >= 100 * scale else f"{value / scale:#.3g} {name}"

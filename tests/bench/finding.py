"""What the benchmark finds, and how it is written down: a line a measured thing, with its target."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

Unit = Literal["s", "B"]


@dataclass(frozen=True)
class Finding:
    """Medians of the same work done natively and by this package, in seconds or bytes.

    `least_ratio` is the target: native must take so many times what this package takes. Where this package
    is measured for itself, `most` is the target and `native` what a bare interpreter takes.

    >>> Finding("scope view", 1000, "s", native=0.3, ours=0.01, least_ratio=30).passes
    True
    """

    what: str
    nodes: int
    unit: Unit
    native: float
    ours: float
    least_ratio: float | None = None
    most: float | None = None

    @property
    def ratio(self) -> float:
        """How many times as much native takes."""
        return self.native / self.ours

    @property
    def passes(self) -> bool:
        """Whether the target is reached, if there is one."""
        if self.most is not None:
            return self.ours <= self.most
        return self.least_ratio is None or self.ratio >= self.least_ratio


def of_medians(
    what: str,
    nodes: int,
    native: Sequence[float],
    ours: Sequence[float],
    least_ratio: float | None = None,
    unit: Unit = "s",
) -> Finding:
    """The finding that several measurements give."""
    return Finding(what, nodes, unit, statistics.median(native), statistics.median(ours), least_ratio)


def as_table(findings: Iterable[Finding]) -> str:
    """A Markdown table.

    >>> print(as_table([Finding("op view", 10_000, "s", native=0.04, ours=0.0005, least_ratio=60)]))
    | nodes | what | native | ours | ratio | target | |
    | ---: | :--- | ---: | ---: | ---: | ---: | :--- |
    | 10,000 | op view | 40.0 ms | 500 µs | 80.0 | 60 | ok |
    """
    head = ["| nodes | what | native | ours | ratio | target | |", "| ---: | :--- | ---: | ---: | ---: | ---: | :--- |"]
    return "\n".join([*head, *map(_line, findings)])


def as_json(findings: Iterable[Finding]) -> str:
    """The findings with all their digits."""
    return json.dumps([asdict(each) | {"ratio": each.ratio, "passes": each.passes} for each in findings], indent=1)


def _line(finding: Finding) -> str:
    has_target = finding.least_ratio is not None or finding.most is not None
    cells = [
        f"{finding.nodes:,}" if finding.nodes else "",
        finding.what,
        _amount(finding.native, finding.unit),
        _amount(finding.ours, finding.unit),
        f"{finding.ratio:.1f}" if finding.nodes else "",
        _target(finding),
        ("ok" if finding.passes else "**missed**") if has_target else "",
    ]
    return f"| {' | '.join(cells)} |"


def _target(finding: Finding) -> str:
    if finding.most is not None:
        return f"under {_amount(finding.most, finding.unit)}"
    return f"{finding.least_ratio:g}" if finding.least_ratio is not None else ""


def _amount(value: float, unit: Unit) -> str:
    steps = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")) if unit == "s" else ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
    scale, name = next((step for step in steps if abs(value) >= step[0]), steps[-1])
    return f"{value / scale:.3g} {name}" if abs(value) >= 100 * scale else f"{value / scale:#.3g} {name}"

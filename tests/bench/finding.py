"""What the benchmark finds, and how it is written down: a line a measured thing, with its target."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from tests.bench.target import Target, Unit, amount


@dataclass(frozen=True)
class Finding:
    """Medians of the same work done by another and by this package, in seconds or bytes.

    The other is native tfprof, or what the thing costs without this package: a bare interpreter, an untraced cell.

    >>> from tests.bench.target import TimesLess
    >>> Finding("scope view", 1000, "s", other=0.3, ours=0.01, target=TimesLess(30)).passes
    True
    """

    what: str
    nodes: int
    unit: Unit
    other: float
    ours: float
    target: Target | None = None

    @property
    def ratio(self) -> float | None:
        """How many times as much one takes as the other, the way round that the target has it."""
        return self.target.ratio(self.other, self.ours) if self.target is not None else None

    @property
    def passes(self) -> bool:
        """Whether the target is reached, if there is one."""
        return self.target is None or self.target.is_met(self.other, self.ours)


def of_medians(
    what: str,
    nodes: int,
    other: Sequence[float],
    ours: Sequence[float],
    target: Target | None = None,
    unit: Unit = "s",
) -> Finding:
    """The finding that several measurements give."""
    return Finding(what, nodes, unit, statistics.median(other), statistics.median(ours), target)


def as_table(findings: Iterable[Finding]) -> str:
    """A Markdown table.

    >>> from tests.bench.target import TimesLess
    >>> print(as_table([Finding("op view", 10_000, "s", other=0.04, ours=0.0005, target=TimesLess(60))]))
    | nodes | what | other | ours | ratio | target | |
    | ---: | :--- | ---: | ---: | ---: | ---: | :--- |
    | 10,000 | op view | 40.0 ms | 500 µs | 80.00 | 60 | ok |
    """
    head = ["| nodes | what | other | ours | ratio | target | |", "| ---: | :--- | ---: | ---: | ---: | ---: | :--- |"]
    return "\n".join([*head, *map(_line, findings)])


def as_json(findings: Iterable[Finding]) -> str:
    """The findings with all their digits."""
    return json.dumps([asdict(each) | _derived(each) for each in findings], indent=1)


def _derived(finding: Finding) -> dict[str, object]:
    return {"target": _target(finding), "ratio": finding.ratio, "passes": finding.passes}


def _line(finding: Finding) -> str:
    cells = [
        f"{finding.nodes:,}" if finding.nodes else "",
        finding.what,
        amount(finding.other, finding.unit),
        amount(finding.ours, finding.unit),
        f"{finding.ratio:.2f}" if finding.ratio is not None else "",
        _target(finding),
        ("ok" if finding.passes else "**missed**") if finding.target is not None else "",
    ]
    return f"| {' | '.join(cells)} |"


def _target(finding: Finding) -> str:
    return str(finding.target) if finding.target is not None else ""

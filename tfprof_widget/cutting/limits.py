"""How much of a profile the browser takes, and what it wants whole before all else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tfprof_widget.options import EVERYTHING


@dataclass(frozen=True)
class Limits:
    """The most rows of each table; docs/big-profiles.md has the measurements behind the numbers.

    >>> BROWSER.nodes, BROWSER.step_totals
    (100000, 400000)
    """

    nodes: int
    step_totals: int
    executions: int
    allocations: int
    transfers: int = 100_000


BROWSER = Limits(nodes=100_000, step_totals=400_000, executions=200_000, allocations=200_000)


@dataclass(frozen=True)
class Wanted:
    """What is to be whole as far as it fits: a step's executions, nodes of an op type in a scope, and those that match.

    A scope of None is nowhere, and the empty one everywhere; so is an empty op type every one.

    >>> Wanted.of({"scope": "tower_1", "op": "MatMul"}).scope, Wanted().is_anything
    ('tower_1', False)
    """

    step: int = -1
    scope: str | None = None
    op: str = ""
    show_name_regexes: tuple[str, ...] = EVERYTHING
    start_name_regexes: tuple[str, ...] = EVERYTHING

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> Wanted:
        """As the front end asks, in js/src/rest/wanted.ts; what is not of the right kind is as if not asked."""
        step, scope, op = asked.get("step"), asked.get("scope"), asked.get("op")
        return cls(
            step if isinstance(step, int) else -1,
            scope if isinstance(scope, str) else None,
            op if isinstance(op, str) else "",
            _regexes(asked.get("show_name_regexes")),
            _regexes(asked.get("start_name_regexes")),
        )

    @property
    def is_anything(self) -> bool:
        """Whether some nodes are wanted more than others."""
        return self.scope is not None or self.has_regexes

    @property
    def has_regexes(self) -> bool:
        """Whether names have to match."""
        return any(each not in (EVERYTHING, ()) for each in (self.show_name_regexes, self.start_name_regexes))


def _regexes(asked: Any) -> tuple[str, ...]:
    return tuple(map(str, asked)) if isinstance(asked, list | tuple) else EVERYTHING

"""What the widget says of a profile that was cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfprof_widget.cutting.classes import EXACT, Precision
from tfprof_widget.cutting.rows import Rows
from tfprof_widget.profiles import Profile


@dataclass(frozen=True)
class Told:
    """How much of each table there was, and how much is left; `steps` are those all of whose executions are left."""

    nodes: int
    kept: int
    rows: int
    executions: int
    executions_kept: int
    allocations: int
    allocations_kept: int
    transfers: int
    transfers_kept: int
    steps: tuple[int, ...]
    step_in_part: int | None = None
    precision: Precision = EXACT
    asked: bool = False

    @classmethod
    def of(cls, whole: Profile, small: Profile, rows: Rows | None, precision: Precision, asked: bool) -> Told:
        """What `small` lacks of `whole`."""
        before, after = (
            np.bincount(each.executions.step, minlength=len(whole.steps)).tolist() for each in (whole, small)
        )
        steps = list(zip(whole.steps, before, after, strict=True))
        in_part = {step for step, one, other in steps if other < one}
        return cls(
            nodes=len(whole.nodes),
            kept=len(whole.nodes) if rows is None else int(rows.is_kept.sum()),
            rows=0 if rows is None else int((~rows.is_kept).sum()),
            executions=len(whole.executions),
            executions_kept=len(small.executions),
            allocations=len(whole.allocations.bytes),
            allocations_kept=len(small.allocations.bytes),
            transfers=len(whole.transfers),
            transfers_kept=len(small.transfers),
            # A step number stands once for each worker.
            steps=tuple(dict.fromkeys(step for step, *_ in steps if step not in in_part)),
            step_in_part=next((step for step, one, other in steps if 0 < other < one), None),
            precision=precision,
            asked=asked,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """The lines in the head of the widget.

        >>> Told(1_000_000, 48_000, 700, 9, 9, 0, 0, 0, 0, (0,)).notes[0]
        '1,000,000 nodes: the 48,000 costliest are here; the others are put together by scope and op type in 700 rows'
        """
        return tuple(self._notes())

    def described(self) -> dict[str, Any]:
        """As js/src/graphs.ts takes it."""
        return {"nodes": self.nodes, "kept": self.kept, "rows": self.rows, "steps": list(self.steps)}

    def _notes(self) -> Iterator[str]:
        if self.rows:
            here = (
                f"{self.kept:,} are here, those asked for first"
                if self.asked
                else f"the {self.kept:,} costliest are here"
            )
            others = f"the others are put together by scope and op type in {self.rows:,} rows"
            yield f"{self.nodes:,} nodes: {here}; {others}"
        if not self.precision.runs:
            yield (
                "What is put together did not run in the same steps: its means over several steps and its FLOP are not "
                "exact, its times and bytes of each single step are"
            )
        if not self.precision.code:
            yield "What is put together was not made by the same code: the code view has it under one of the lines"
        if self.executions_kept < self.executions:
            yield (
                f"{self.executions:,} executions: {self.executions_kept:,} are here, {self._of_steps()}; "
                "choose a step to have its own"
            )
        if self.allocations_kept < self.allocations:
            yield (
                f"{self.allocations:,} allocations: {self.allocations_kept:,} are here, "
                "the largest of the executions that are"
            )
        if self.transfers_kept < self.transfers:
            yield f"{self.transfers:,} transfers: the {self.transfers_kept:,} longest are here"

    def _of_steps(self) -> str:
        if not self.steps:
            return f"the longest of step {self.step_in_part}"
        several = f"all of {len(self.steps)} steps, {self.steps[0]} to {self.steps[-1]}"
        return f"all of step {self.steps[0]}" if len(self.steps) == 1 else several

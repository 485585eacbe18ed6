"""A capture that captures nothing but tells what became of it: the magic is tested without TensorFlow."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from types import ModuleType, TracebackType
from typing import Any

CONTEXT = "tfprof_widget.api.capture"


@dataclass
class StandInCapture:
    """What `with capture()` gives, as far as the magic needs it; `asked` is when it was asked how far it is."""

    options: Mapping[str, Any] = field(default_factory=dict)
    asked: list[float] = field(default_factory=list)
    is_empty = True
    """Nothing of it is kept in the history."""

    def progress(self) -> str | None:
        self.asked.append(monotonic())
        return "3 runs traced"

    def text(self) -> str:
        return f"PROFILE {dict(sorted(self.options.items()))}"

    def save_report(self, path: str) -> None:
        Path(path).write_text("REPORT", encoding="utf-8")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": f"<b>{self.text()}</b>"}


@dataclass
class StandIn:
    """Stands in for `capture`: remembers what it was called with, and that what was entered was left."""

    calls: list[dict[str, Any]] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    make: Callable[[], Any] = StandInCapture
    made: list[Any] = field(default_factory=list)
    fault: str = ""

    def __call__(self, **settings: Any) -> StandIn:
        self.calls.append(settings)
        self._fail_at("call")
        return self

    def __enter__(self) -> Any:
        self._fail_at("enter")
        self.events.append("enter")
        self.made.append(self.make())
        return self.made[-1]

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.events.append("exit")
        self._fail_at("exit")

    @property
    def has_shown_progress(self) -> bool:
        """Whether the line on how far it is has been shown: it is before that is asked again."""
        return len(self.made[-1].asked) > 1

    def _fail_at(self, place: str) -> None:
        if self.fault == place:
            raise RuntimeError(f"broken at {place}")


def stand_in_module(stand_in: StandIn) -> ModuleType:
    """A module to stand where the magic looks for `capture`."""
    module = ModuleType(CONTEXT)
    module.capture = stand_in  # type: ignore[attr-defined]
    return module


def install() -> StandIn:
    """Put a stand-in into this process: for a kernel, which ends with its test."""
    stand_in = StandIn()
    sys.modules[CONTEXT] = stand_in_module(stand_in)
    return stand_in

"""What the commands are about: a profile, read when a command first needs it, and the options kept for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tfprof_widget.cli.arguments import SHOWN
from tfprof_widget.options import OPTIONS, Options
from tfprof_widget.profiles import Profile


@dataclass(frozen=True, eq=False)
class Subject:
    """A profile to come.

    >>> from tfprof_widget.demo import demo_profile
    >>> Subject(demo_profile).profile.steps
    (0,)
    """

    load: Callable[[], Profile]

    @cached_property
    def profile(self) -> Profile:
        """The profile; its files are read now if they have not been."""
        return self.load()


@dataclass(frozen=True, eq=False)
class Session:
    """The subject, and the options that hold for all commands about it; `at_prompt` tells who gives these."""

    subject: Subject
    kept: Mapping[str, Any] = field(default_factory=dict)
    at_prompt: bool = False

    @property
    def profile(self) -> Profile:
        """The subject's profile."""
        return self.subject.profile

    def options(self, given: Mapping[str, Any]) -> Options:
        """The options of a command: given with it, else kept, else a default that fits what the profile holds.

        >>> from tfprof_widget.demo import demo_profile
        >>> session = Session(Subject(demo_profile), {"max_depth": 4})
        >>> session.options({"step": 0}).max_depth, session.options({"max_depth": 5}).max_depth
        (4, 5)
        """
        kept = {**self.kept, **given}
        if "select" not in kept:
            kept["select"] = ("micros",) if self.profile.steps else ("params",)
        return Options.of(**{**_DEFAULTS, **kept})


_NAMES = {option.name for option in OPTIONS}
_DEFAULTS = {option.name: option.default for option in SHOWN if option.name in _NAMES}

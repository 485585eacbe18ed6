"""Holds what `tfprof run` tells the processes that it captures: in a variable of their environment, as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

VARIABLE = "TFPROF_RUN"
SEARCHED = "PYTHONPATH"
INTERVAL = 10.0
"""A snapshot is written every so many seconds, at most."""


@dataclass(frozen=True)
class JobSettings:
    """What was asked for. `out` is a directory of jobs, or with `is_file` the file for the profile.

    `title` is what is run, such as the name of the script, and `job` the name that the job was given. `claimed` is the
    directory of the job, once a first process has made it. With `is_first`, this is the process that the user started,
    which tells at its end where the profile lies. `follows` says that its children are captured too. `sampling` are the
    arguments of `capture` that say what is traced. Without `with_source` nothing is written that tells of the source,
    of paths, of hosts or of arguments.

    >>> settings = JobSettings("/tmp/jobs", title="train", sampling={"every": 10})
    >>> environment = {}
    >>> settings.put(environment)
    >>> JobSettings.of(environment) == settings
    True
    """

    out: str
    is_file: bool = False
    title: str = "job"
    job: str = ""
    claimed: str = ""
    is_first: bool = True
    follows: bool = False
    name: str = ""
    sampling: Mapping[str, Any] = field(default_factory=dict)
    collectives: bool = False
    interval: float = INTERVAL
    with_source: bool = True
    report: str = ""
    json: bool = False
    quiet: bool = False

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> JobSettings | None:
        """The settings in an environment; None where there are none that can be understood."""
        try:
            told = json.loads(environment.get(VARIABLE, ""))
            return cls(**{each.name: told[each.name] for each in fields(cls) if each.name in told})
        except (ValueError, TypeError):
            return None

    def put(self, environment: MutableMapping[str, str]) -> None:
        """Put the settings into an environment."""
        environment[VARIABLE] = json.dumps(vars(self))

    def of_children(self, claimed: str) -> JobSettings:
        """The settings of processes that this one starts, whose job is there."""
        return replace(self, claimed=claimed, is_first=False, report="", json=False, quiet=True)


def put_folder(folder: str, environment: MutableMapping[str, str]) -> None:
    """Let Python look for modules in a folder first.

    >>> environment = {"PYTHONPATH": "/mine"}
    >>> put_folder("/ours", environment)
    >>> environment["PYTHONPATH"] == os.pathsep.join(["/ours", "/mine"])
    True
    """
    others = environment.get(SEARCHED)
    environment[SEARCHED] = folder if not others else f"{folder}{os.pathsep}{others}"


def take_folder(folder: str, environment: MutableMapping[str, str]) -> None:
    """Undo `put_folder`, and take the settings away.

    >>> environment = {"PYTHONPATH": "/ours", "TFPROF_RUN": "{}"}
    >>> take_folder("/ours", environment)
    >>> environment
    {}
    """
    environment.pop(VARIABLE, None)
    rest = [each for each in environment.pop(SEARCHED, "").split(os.pathsep) if each != folder]
    if any(rest):
        environment[SEARCHED] = os.pathsep.join(rest)

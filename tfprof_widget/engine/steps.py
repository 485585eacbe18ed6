"""Chooses steps and workers by the options."""

from __future__ import annotations

import numpy as np

from tfprof_widget.engine.matching import Names
from tfprof_widget.lib.arrays import Flags
from tfprof_widget.lib.errors import LONGEST_QUOTE, shortened, value_error
from tfprof_widget.lib.text import listed
from tfprof_widget.profiles.data import ProfileData
from tfprof_widget.profiles.options import Options

MOST_NAMES = 4  # of workers or runs, which a message lists


def chosen_steps(profile: ProfileData, options: Options) -> tuple[int, ...]:
    """The indices of the chosen steps: by number or by the name of the run, of the chosen workers.

    >>> from tfprof_widget.demo import demo_profile
    >>> chosen_steps(demo_profile(), Options.of())
    (0,)
    """
    of_workers = _of_workers(profile, options)
    if not profile.steps:
        _check_number(profile, options)
        Names(()).matching("run_name_regexes", options.run_name_regexes)
        return ()
    if options.step >= 0:
        chosen = of_workers & (np.array(profile.steps) == options.step)
        if not chosen.any():
            _check_number(profile, options)
            workers = listed(sorted(set(profile.step_workers)), MOST_NAMES)
            raise value_error(
                f"step {options.step} was run by no worker that worker_regexes match; there are {workers}"
            )
    else:
        chosen = of_workers & _matching(profile.step_names, "run_name_regexes", options.run_name_regexes, "run")
        if not chosen.any():
            raise value_error("run_name_regexes and worker_regexes match no step together; change one of them")
    return tuple(np.flatnonzero(chosen).tolist())


def by_worker(profile: ProfileData, steps: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The steps in groups, one for each worker.

    >>> from dataclasses import replace
    >>> from tfprof_widget.demo import demo_profile
    >>> profile = replace(demo_profile(), steps=(0, 0, 1), step_workers=("a", "b", "a"))
    >>> by_worker(profile, (0, 1, 2))
    [(0, 2), (1,)]
    """
    groups: dict[str, list[int]] = {}
    workers = profile.workers_of_steps
    for step in steps:
        groups.setdefault(workers[step], []).append(step)
    return [tuple(groups[worker]) for worker in sorted(groups)]


def _of_workers(profile: ProfileData, options: Options) -> Flags:
    if not profile.step_workers:
        Names(()).matching("worker_regexes", options.worker_regexes)
        return np.ones(len(profile.steps), np.bool_)
    return _matching(profile.step_workers, "worker_regexes", options.worker_regexes, "worker")


def _matching(names: tuple[str, ...], option: str, regexes: tuple[str, ...], what: str) -> Flags:
    matching = Names(names).matching(option, regexes)
    if not matching.any():
        known = listed(sorted({shortened(repr(name), LONGEST_QUOTE) for name in names}), MOST_NAMES)
        raise value_error(
            f"{option} {shortened(str(list(regexes)), LONGEST_QUOTE)} match no {what}; the {what}s are {known}"
        )
    return matching


def _check_number(profile: ProfileData, options: Options) -> None:
    if options.step >= 0 and options.step not in profile.steps:
        known = listed(list(dict.fromkeys(profile.steps))) or "none: no run metadata was given"
        raise value_error(f"step {options.step} is not in the profile; its steps are {known}")

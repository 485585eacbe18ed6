"""Makes one profile of XSpaces, the files that TensorFlow's profiler writes: of one run or more, one file a host."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from tfprof_widget.errors import ProfileError, ProfileWarning
from tfprof_widget.flops.filling import with_flops
from tfprof_widget.ingest.xspace import read_xspace
from tfprof_widget.ingest.xspace_columns import XSpaceColumns
from tfprof_widget.ingest.xspace_notes import notes_on
from tfprof_widget.ingest.xspace_profile import profile_of_functions
from tfprof_widget.ingest.xspace_steps import read_steps
from tfprof_widget.loading.tensorboard import run_of
from tfprof_widget.profiles import Profile


def profile_of_spaces(spaces: Sequence[tuple[str, Any]]) -> Profile:
    """The profile of XSpaces, each by the name of its file; those in one directory are the hosts of one run.

    Hosts add up, step by step. The steps of several runs come one after the other.

    >>> from tfprof_widget.messages import XSpace
    >>> profile_of_spaces([("empty.xplane.pb", XSpace())])
    Traceback (most recent call last):
        ...
    tfprof_widget.errors.ProfileError: empty.xplane.pb: no op of TensorFlow's is in it; ...
    """
    runs: dict[str, list[XSpaceColumns]] = {}
    for name, space in spaces:
        runs.setdefault(run_of(name), []).append(read_xspace(space, read_steps(space)))
    traces = _one_after_another(runs)
    names = " and ".join(name for name, _ in spaces[:2]) + (" …" if len(spaces) > 2 else "")
    profile, dropped = profile_of_functions([], traces)
    notes = notes_on(traces, profile.compiled)
    if not len(profile.executions):
        raise ProfileError(
            f"{names}: no op of TensorFlow's is in it; record while the program runs, with host_tracer_level 1 or more"
            + "".join(f". {note}" for note in notes)
        )
    if dropped:
        notes = (*notes, f"TensorFlow's profiler dropped {dropped:,} events, by which the totals are too low")
    for note in notes:
        warnings.warn(f"{names}: {note}", ProfileWarning, stacklevel=2)
    return with_flops(profile)


def _one_after_another(runs: dict[str, list[XSpaceColumns]]) -> list[XSpaceColumns]:
    """All traces, with steps that no two runs have in common."""
    found: list[XSpaceColumns] = []
    taken: set[int] = set()
    for run, hosts in runs.items():
        numbers = sorted(set().union(*(host.step.tolist() for host in hosts)))
        new = _free(numbers, taken)
        taken.update(new)
        of_run = PurePosixPath(run).name if len(runs) > 1 else ""
        for host in hosts:
            names = [_named(host.step_names.get(number, ""), of_run) for number in numbers]
            step = np.array(new, np.int32)[np.searchsorted(numbers, host.step)]
            found.append(replace(host, step=step, step_names=dict(zip(new, names, strict=True))))
    return found


def _free(numbers: list[int], taken: set[int]) -> list[int]:
    """These numbers, or as many after those that are taken if they are among them."""
    return numbers if taken.isdisjoint(numbers) else [max(taken) + place for place in range(1, len(numbers) + 1)]


def _named(step: str, run: str) -> str:
    return f"{step} ({run})" if step and run else step or run

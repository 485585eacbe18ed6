"""The tracks of a timeline: one for each device, and where several workers ran, for each device of each worker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tfprof_widget.output.timeline.device_label import device_label
from tfprof_widget.output.timeline.trace_events import label_event
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Indices, Integers


@dataclass(frozen=True, eq=False)
class Tracks:
    """Tracks are numbered from `first` on, worker by worker; `worker` is that of each step.

    >>> from tfprof_widget.demo import demo_profile
    >>> profile = demo_profile()
    >>> Tracks.of(profile, profile.nodes.devices).number(np.array([0]), np.array([1])).tolist()
    [1]
    """

    workers: tuple[str, ...]
    worker: Indices
    devices: tuple[str, ...]
    first: int = 0

    @classmethod
    def of(cls, profile: Profile, devices: tuple[str, ...], first: int = 0) -> Tracks:
        """The tracks of these devices for all workers of a profile."""
        workers = tuple(sorted(set(profile.step_workers))) or ("",)
        code = {worker: place for place, worker in enumerate(workers)}
        return cls(workers, np.array([code[worker] for worker in profile.workers_of_steps], np.int32), devices, first)

    @property
    def end(self) -> int:
        """The number after the last track's."""
        return self.first + len(self.workers) * len(self.devices)

    def number(self, step: Indices, device: Indices) -> Integers:
        """The tracks of what ran in these steps on these devices."""
        worker = self.worker[step].astype(np.int64) if len(self.worker) else np.zeros(len(step), np.int64)
        return self.first + worker * len(self.devices) + device

    def labels(self, numbers: Integers, among: tuple[str, ...], ending: str = "") -> Iterator[str]:
        """What these tracks are; devices are told apart from those that they are `among`."""
        for number in np.unique(numbers).tolist():
            worker, place = divmod(number - self.first, len(self.devices))
            device, name = self.devices[place], self.workers[worker]
            label = f"{device_label(device, among)}{ending}"
            yield label_event("process_name", (number, 0), f"{name} · {label}" if name else label)
            yield label_event("process_labels", (number, 0), device)

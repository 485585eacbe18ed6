"""Reads how the stages of tf.data were set, from what their events in an XSpace tell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tfprof_widget.ingest.parts.names import iterator_node
from tfprof_widget.ingest.xspace.events import HOST_PLANE, ITERATOR
from tfprof_widget.ingest.xspace.space import ReadPlane, ReadSpace
from tfprof_widget.profiles.pipeline import StageSettings


def stages_in(space: ReadSpace) -> Iterator[StageSettings]:
    """The settings of each stage that has any: the largest that its events tell, as they may be tuned meanwhile.

    >>> from tfprof_widget.ingest.xspace.space import read_space
    >>> from tfprof_widget.lib.messages import XSpace
    >>> told = {"buffer_limit": 4, "buffered_elements": 3, "autotune": "true"}
    >>> stats = [{"metadata_id": 1, "int64_value": 4}, {"metadata_id": 2, "int64_value": 3}]
    >>> event = {"metadata_id": 7, "stats": [*stats, {"metadata_id": 3, "str_value": "true"}]}
    >>> names = {number: {"name": name} for number, name in enumerate(told, 1)}
    >>> plane = {"name": "/host:CPU", "lines": [{"events": [event]}], "stat_metadata": names}
    >>> plane["event_metadata"] = {7: {"name": "Iterator::Root::Prefetch"}}
    >>> list(stages_in(read_space(XSpace(planes=[plane]))))
    [StageSettings(node='tf.data/Root/Prefetch', buffer=4, filled=3.0, parallelism=0, is_tuned=True)]
    """
    for plane in space.planes:
        if plane.name.startswith(HOST_PLANE):
            yield from _of_plane(plane)


def _of_plane(plane: ReadPlane) -> Iterator[StageSettings]:
    events = plane.events
    stages: dict[str, list[int]] = {}
    for key, name in plane.names.items():
        if name.startswith(ITERATOR):
            stages.setdefault(iterator_node(name), []).append(key)
    rows = np.flatnonzero(np.isin(events.metadata, [key for keys in stages.values() for key in keys]))
    of_rows = events.metadata[rows]
    names = ("buffer_limit", "buffer_size", "parallelism", "buffered_elements")
    limit, size, parallelism, buffered = (np.maximum(events.numbers(name)[rows], 0) for name in names)
    place, texts = events.values("autotune", rows)
    is_tuned = np.array([*(str(text).lower() == "true" for text in texts), False], np.bool_)[place]
    for node, keys in stages.items():
        own = np.isin(of_rows, keys)
        buffer = max(int(limit[own].max(initial=0)), int(size[own].max(initial=0)))
        at_once = int(parallelism[own].max(initial=0))
        if buffer or at_once:
            filled = float(buffered[own].mean()) if buffer else 0.0
            yield StageSettings(node, buffer, filled, at_once, bool(is_tuned[own].any()))

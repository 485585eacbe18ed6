"""Saves a profile as a file: a ProfileProto, compressed if the name asks for it."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from os import PathLike, fspath

from tfprof_widget.messages import StoredTransfer
from tfprof_widget.output.destination import write_whole
from tfprof_widget.output.profile_proto import profile_proto
from tfprof_widget.output.step_protos import step_numbers
from tfprof_widget.profiles import Profile


def save(profile: Profile, path: str | PathLike[str]) -> None:
    """Write the profile whole or not at all; the same profile always gives the same bytes.

    >>> from tfprof_widget.demo import demo_profile
    >>> save(demo_profile(), "/no/such/directory/profile_0")
    Traceback (most recent call last):
        ...
    tfprof_widget.errors.ProfileError: cannot write '/no/such/directory/profile_0': ...
    """
    message = profile_proto(profile)
    message.transfers.extend(_transfers(profile))
    content: bytes = message.SerializeToString(deterministic=True)
    write_whole(path, gzip.compress(content, mtime=0) if fspath(path).endswith(".gz") else content)


def _transfers(profile: Profile) -> Iterator[StoredTransfer]:
    """What devices got from each other, which native's format has no place for, and native passes over."""
    table, numbers = profile.transfers, step_numbers(profile)
    codes = (table.step, table.kind, table.source, table.target, table.tensor)
    amounts = (table.start_nanos, table.duration_nanos, table.bytes)
    for step, kind, source, target, tensor, start, duration, size in zip(
        *(column.tolist() for column in (*codes, *amounts)), strict=True
    ):
        yield StoredTransfer(
            step=numbers[step],
            kind=table.kinds[kind],
            source=table.devices[source],
            target=table.devices[target],
            tensor=table.tensors[tensor],
            start_nanos=start,
            duration_nanos=duration,
            bytes=size,
        )

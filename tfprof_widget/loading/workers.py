"""Saved profiles of several workers: read worker by worker, and merged again."""

from __future__ import annotations

from os import fspath

from tfprof_widget.errors import ProfileError
from tfprof_widget.ingest.parts import Parts
from tfprof_widget.ingest.stored_workers import by_worker
from tfprof_widget.loading.files import AnyPath
from tfprof_widget.loading.reading import Found, named
from tfprof_widget.merging.merge import merge, of_worker
from tfprof_widget.profiles import Profile


def profile_of_workers(found: Found, checkpoint: AnyPath | None) -> Profile | None:
    """The profile in a file that tells of workers, else None.

    >>> profile_of_workers(Found(), None) is None
    True
    """
    profiles: list[Profile] = []
    names: list[str] = []
    for part in found.of_kind("ProfileProto"):
        with named(part.file):
            for worker, message in by_worker(part.value).items():
                parts = Parts()
                parts.add_profile(message)
                parts.add_checkpoint(checkpoint)
                whole = parts.assemble()
                profiles.append(of_worker(whole, worker) if worker else whole)
                names.append(part.file.name)
    others = [fspath(part.file.name) for part in found.parts if part.file.name not in names]
    if profiles and others:
        raise ProfileError(
            f"{names[0]}: it is of several workers, and {others[0]} cannot be put beside it; "
            "load them by themselves, and merge the profiles with tfprof_widget.merge"
        )
    return merge(profiles) if profiles else None

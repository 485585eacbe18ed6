"""Saves a profile as a file: a ProfileProto, compressed if the name asks for it."""

from __future__ import annotations

import gzip
from os import PathLike, fspath

from tfprof_widget.output.destination import write_whole
from tfprof_widget.output.profile_proto import profile_proto
from tfprof_widget.profiles import Profile


def save(profile: Profile, path: str | PathLike[str]) -> None:
    """Write the profile whole or not at all; the same profile always gives the same bytes.

    >>> from tfprof_widget.demo import demo_profile
    >>> save(demo_profile(), "/no/such/directory/profile_0")
    Traceback (most recent call last):
        ...
    tfprof_widget.errors.ProfileError: cannot write '/no/such/directory/profile_0': ...
    """
    content: bytes = profile_proto(profile).SerializeToString(deterministic=True)
    write_whole(path, gzip.compress(content, mtime=0) if fspath(path).endswith(".gz") else content)

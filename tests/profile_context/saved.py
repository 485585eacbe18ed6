"""What the files of a directory hold, read with TensorFlow's own message."""

from __future__ import annotations

from pathlib import Path

from tensorflow.core.profiler.tfprof_log_pb2 import ProfileProto


def profiles_in(directory: Path) -> dict[str, list[int]]:
    """The files of a directory, and the steps of the profile in each."""
    return {
        path.name: sorted(ProfileProto.FromString(path.read_bytes()).steps)
        for path in sorted(directory.iterdir())
        if path.is_file()
    }

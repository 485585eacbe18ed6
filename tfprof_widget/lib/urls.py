"""Reaches files at URLs: through fsspec, or TensorFlow's gfile where it is loaded and fsspec cannot."""

from __future__ import annotations

import sys
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from tfprof_widget.lib.errors import ProfileError


def is_url(path: str | PathLike[str]) -> bool:
    """Whether a path is a URL.

    >>> is_url("gs://bucket/profile_10"), is_url("/tmp/profile_10")
    (True, False)
    """
    return "://" in fspath(path)


def joined(directory: str | PathLike[str], name: str) -> str:
    """The path or URL of a file in a directory.

    >>> joined("gs://bucket/train_dir/", "tfprof_log"), joined("train_dir", "tfprof_log")
    ('gs://bucket/train_dir/tfprof_log', 'train_dir/tfprof_log')
    """
    return f"{fspath(directory).rstrip('/')}/{name}" if is_url(directory) else str(Path(directory, name))


def file_system(url: str, work: str) -> tuple[Any, str]:
    """The file system of a URL, as fsspec describes one, and the path in it; `work` is what an error says is not done.

    >>> system, path = file_system("memory://runs/profile_10", "read")
    >>> type(system).__name__, path
    ('MemoryFileSystem', '/runs/profile_10')
    >>> file_system("nowhere://runs", "write")
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: cannot write 'nowhere://runs': Protocol not known: nowhere; check the URL ...
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        if (known := _of_tensorflow(url)) is not None:
            return known, url
        raise ProfileError(
            f"cannot {work} {url!r}: URLs need fsspec, which is not installed; "
            "run `pip install 'tfprof-widget[distributed]'`, or use a file of this machine"
        ) from None
    try:
        system, path = url_to_fs(url)
    except Exception as error:  # each file system has errors of its own
        if (known := _of_tensorflow(url)) is not None:
            return known, url
        raise refusal(url, work, error) from None
    return system, path


def write_at(url: str, content: bytes | bytearray) -> None:
    """Write a file at a URL; folders above it are made where there are such.

    >>> write_at("memory://runs/notes", b"ten steps")
    >>> system, path = file_system("memory://runs/notes", "read")
    >>> system.cat_file(path)
    b'ten steps'
    """
    system, path = file_system(url, "write")
    try:
        system.makedirs(path.rpartition("/")[0], exist_ok=True)
        system.pipe_file(path, bytes(content))
    except Exception as error:
        raise refusal(url, "write", error) from None


def refusal(url: str, work: str, error: Exception) -> ProfileError:
    """The error to raise if a file system cannot read or write at a URL.

    >>> raise refusal("s3://bucket/a", "write", PermissionError("Forbidden"))
    Traceback (most recent call last):
        ...
    tfprof_widget.ProfileError: cannot write 's3://bucket/a': Forbidden; check the URL and your access to it
    """
    # The error of fsspec names the package for this kind of URL.
    way_out = "install the package that is named there, and try again"
    return ProfileError(
        f"cannot {work} {url!r}: {reason(error)}; "
        f"{way_out if isinstance(error, ImportError) else 'check the URL and your access to it'}"
    )


def reason(error: BaseException) -> str:
    """What an error says, to stand in a sentence.

    >>> reason(FileNotFoundError(2, "No such file")), reason(KeyError())
    ('No such file', 'KeyError')
    """
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(said).rstrip(".; ")


def _of_tensorflow(url: str) -> _GFile | None:
    """TensorFlow's file systems, if TensorFlow is loaded and knows this kind of URL; never loads it."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None:
        return None
    kind = url.partition("://")[0]
    known = tensorflow.io.gfile.get_registered_schemes()
    return _GFile(tensorflow.io.gfile) if kind in known else None


class _GFile:
    """The methods of fsspec's file systems that are called here, done by TensorFlow's gfile."""

    def __init__(self, gfile: Any) -> None:
        self._gfile = gfile

    def isdir(self, path: str) -> bool:
        return bool(self._gfile.isdir(path))

    def glob(self, pattern: str, detail: bool) -> dict[str, dict[str, Any]]:
        return {path: self.info(path) for path in self._gfile.glob(pattern)}

    def ls(self, path: str, detail: bool) -> list[dict[str, Any]]:
        directory = path.rstrip("/")
        return [self.info(f"{directory}/{name.rstrip('/')}") for name in self._gfile.listdir(path)]

    def info(self, path: str) -> dict[str, Any]:
        if self._gfile.isdir(path):
            return {"name": path, "type": "directory", "size": 0}
        if not self._gfile.exists(path):
            raise FileNotFoundError(2, "there is no such file", path)
        return {"name": path, "type": "file", "size": self._gfile.stat(path).length}

    def cat_file(self, path: str) -> bytes:
        with self._gfile.GFile(path, "rb") as file:
            return bytes(file.read())

    def makedirs(self, path: str, exist_ok: bool) -> None:
        self._gfile.makedirs(path)

    def pipe_file(self, path: str, content: bytes) -> None:
        with self._gfile.GFile(path, "wb") as file:
            file.write(content)

    def unstrip_protocol(self, path: str) -> str:
        return path

"""Keeps inputs that were found: a folder a target, each input named by the start of its digest."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from tests.slow.fuzz.target import Target

FOLDER = Path(__file__).parent / "corpus"


def kept(target: Target) -> dict[str, bytes]:
    """The inputs that are kept for a target, by file name."""
    return {path.name: path.read_bytes() for path in sorted((FOLDER / target.name).glob("*"))}


def starts(target: Target) -> list[bytes]:
    """What to start from: healthy inputs and those that were kept."""
    return [*target.healthy(), *kept(target).values()]


def keep(data: bytes, folder: Path) -> Path:
    """Write an input into a folder, under a name that is the same for the same input."""
    path = folder / sha256(data).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path

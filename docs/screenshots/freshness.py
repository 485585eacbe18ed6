"""Tells whether the screenshots are of the user interface as it is: `stamp.json` keeps what they were taken of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
STAMP = HERE / "stamp.json"
# What is seen: the front end, the charts and the head line that Python writes for it, and the scripts here.
SEEN = (
    "js/src/**/*",
    "tfprof_widget/charts/*.py",
    "tfprof_widget/capturing/recording.py",
    "docs/screenshots/*.py",
)


def sources(root: Path = ROOT) -> list[Path]:
    """The files on which the look depends."""
    found = {path for pattern in SEEN for path in root.glob(pattern) if path.is_file()}
    return sorted(path for path in found if not path.name.endswith(".test.ts"))


def fingerprint(paths: Iterable[Path], root: Path = ROOT) -> str:
    """A hash of files, of their names and contents."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        whole.update(f"{path.relative_to(root).as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()


def stamp() -> dict[str, str]:
    """What the screenshots should be of, and what they are."""
    return {"sources": fingerprint(sources()), "pictures": fingerprint(HERE.glob("*.png"))}


def write_stamp() -> None:
    """Note that the pictures are of these sources."""
    STAMP.write_text(json.dumps(stamp(), indent=2) + "\n", encoding="utf-8")

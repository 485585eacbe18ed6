"""Writes tests/conformance/columns.jsonl and replays.jsonl: profiles as the browser gets them, for its engine.

A line is a pair of a profile's name and what `widget/wire.py` makes of it, gzipped and in base64; the layers that were
worked out by hand come last. A line of replays.jsonl has besides what Python says of replaying the profile's steps.
`--check` writes nothing and fails where a file is not what would be written.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.analysis.replay.corpus import WORKED, answers
from tests.test_conformance import BY_HAND, profile_with_layers
from tfprof_widget import Profile
from tfprof_widget.charts.moments import on_clock
from tfprof_widget.widget.wire import encoded

CORPUS = Path(__file__).parent.parent / "tests" / "conformance"
TARGET, REPLAYS = CORPUS / "columns.jsonl", CORPUS / "replays.jsonl"
REPLAYED = ("chain", "mnist", "parameter-servers", "random-10", "random-14", "rnn-in-frames")
"""The profiles of the corpus whose steps are replayed; two of them cannot be."""


def main() -> int:
    """Write the files, or with --check compare them; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    found = {path.stem: encoded(_profile(path)) for path in sorted(CORPUS.glob("*.json"))}
    found |= {f"layers: {each['name']}": encoded(profile_with_layers(each)) for each in BY_HAND["profiles"]}
    lines = {TARGET: [_line(name, stream) for name, stream in found.items()], REPLAYS: list(_replays())}
    if not is_check:
        for file, written in lines.items():
            file.write_text("".join(written), encoding="utf-8")
        return 0
    wrong = [file for file, written in lines.items() if not file.exists() or _streams(_read(file)) != _streams(written)]
    for file in wrong:
        print(f"{file} is not what the corpus makes of it: run `make conformance`", file=sys.stderr)
    return len(wrong)


def _replays() -> Iterator[str]:
    """A line for each profile whose steps are replayed: name, columns, and Python's answers."""
    profiles = {name: make() for name, make in WORKED.items()}
    profiles |= {f"real {name}": _profile(CORPUS / f"{name}.json") for name in REPLAYED}
    profiles |= {f"real {path.stem}": _profile(path) for path in sorted((CORPUS / "replay").glob("*.json"))}
    for name, profile in profiles.items():
        # Whether this machine's roof was measured is no part of it.
        with patch("tfprof_widget.analysis.account.roofline.known_machine", return_value=None):
            yield _line(name, encoded(on_clock(profile), profile), answers(profile))


def _read(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def _profile(path: Path) -> Profile:
    document = json.loads(path.read_text(encoding="utf-8"))
    run_metas: dict[int, list[bytes]] = {}
    for step, run_meta in document["steps"]:
        run_metas.setdefault(step, []).append(_unpacked(run_meta))
    return Profile.from_protos(_unpacked(document["graph"]), run_metas, _unpacked(document["op_log"]))


def _line(name: str, stream: bytes, *answers: Any) -> str:
    return json.dumps([name, base64.b64encode(gzip.compress(stream, mtime=0)).decode(), *answers]) + "\n"


def _streams(lines: list[str]) -> list[Any]:
    return [(name, _unpacked(packed), answers) for name, packed, *answers in map(json.loads, lines)]


def _unpacked(packed: str) -> bytes:
    return gzip.decompress(base64.b64decode(packed))


if __name__ == "__main__":
    sys.exit(main())

"""Writes tests/conformance/columns.jsonl: the corpus's profiles as the browser gets them, for its engine to replay.

A line is a pair of a profile's name and what `widget/wire.py` makes of it, gzipped and in base64; the layers that were
worked out by hand come last. `--check` writes nothing and fails where the file is not what would be written.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import sys
from pathlib import Path

from tests.test_conformance import BY_HAND, profile_with_layers
from tfprof_widget import Profile
from tfprof_widget.widget.wire import encoded

CORPUS = Path(__file__).parent.parent / "tests" / "conformance"
TARGET = CORPUS / "columns.jsonl"


def main() -> int:
    """Write the file, or with --check compare it; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    found = {path.stem: encoded(_profile(path)) for path in sorted(CORPUS.glob("*.json"))}
    found |= {f"layers: {each['name']}": encoded(profile_with_layers(each)) for each in BY_HAND["profiles"]}
    if not is_check:
        TARGET.write_text("".join(_line(name, stream) for name, stream in found.items()), encoding="utf-8")
        return 0
    if TARGET.exists() and _streams(TARGET.read_text(encoding="utf-8")) == found:
        return 0
    print(f"{TARGET} is not what the corpus makes of it: run `make conformance`", file=sys.stderr)
    return 1


def _profile(path: Path) -> Profile:
    document = json.loads(path.read_text(encoding="utf-8"))
    run_metas: dict[int, list[bytes]] = {}
    for step, run_meta in document["steps"]:
        run_metas.setdefault(step, []).append(_unpacked(run_meta))
    return Profile.from_protos(_unpacked(document["graph"]), run_metas, _unpacked(document["op_log"]))


def _line(name: str, stream: bytes) -> str:
    return json.dumps([name, base64.b64encode(gzip.compress(stream, mtime=0)).decode()]) + "\n"


def _streams(text: str) -> dict[str, bytes]:
    return {name: _unpacked(packed) for name, packed in map(json.loads, text.splitlines())}


def _unpacked(packed: str) -> bytes:
    return gzip.decompress(base64.b64decode(packed))


if __name__ == "__main__":
    sys.exit(main())

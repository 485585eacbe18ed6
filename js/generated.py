"""What the programs that generate a text file share: to write it, or with --check to compare it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def write_or_check(target: Path, text: str, source: str) -> int:
    """Write the text, or with --check say where the file differs from it; returns the exit code."""
    parser = argparse.ArgumentParser(description=f"Writes {target.name}, as {source} makes it.")
    parser.add_argument("--check", action="store_true", help="write nothing, and fail where the file is not so")
    if not parser.parse_args().check:
        target.write_text(text, encoding="utf-8")
        return 0
    if target.exists() and target.read_text(encoding="utf-8") == text:
        return 0
    print(f"{target} is not what {source} makes of it: run `make protocol`", file=sys.stderr)
    return 1

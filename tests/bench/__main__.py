"""The command line of the benchmark: `python -m tests.bench --help`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.bench import (
    cells,
    children,
    comparing,
    cutting,
    live,
    overhead,
    page,
    reading,
    roofline,
    saved,
    scaling,
    scaling_page,
    startup,
    traces,
    views,
)
from tests.bench.finding import Finding, as_json, as_table

AREAS = (
    "import",
    "build",
    "traces",
    "graph",
    "views",
    "compare",
    "overhead",
    "cells",
    "roofline",
    "page",
    "saved",
    "cut",
    "scaling",
)
SIZES = "1000,10000,100000"
STEPS = 1000
DOCS = Path(__file__).parent.parent.parent / "docs"


def main() -> int:
    """Measure what was asked for, print the table, and return 1 if a target was missed."""
    chosen = _arguments()
    found = list(_findings(chosen.only, chosen.nodes, chosen.steps, chosen.seconds))
    if "scaling" in chosen.only:
        found += _scaling(chosen.scales, chosen.docs)
    print(as_table(found))
    if chosen.json:
        chosen.json.write_text(as_json(found), encoding="utf-8")
    missed = sum(not finding.passes for finding in found)
    print(f"\n{len(found)} findings, {missed} targets missed", file=sys.stderr)
    return 1 if missed else 0


def _findings(areas: list[str], sizes: list[int], steps: int, cell_seconds: float) -> Iterator[Finding]:
    if "import" in areas:
        yield from startup.findings()
    for area, module in {"build": reading, "graph": live, "views": views, "compare": comparing}.items():
        for nodes in sizes if area in areas else []:
            print(f"{area}, {nodes:,} nodes …", file=sys.stderr)
            yield from children.call(module.findings, nodes)
    if "traces" in areas:
        print(f"traces, {sizes[0]:,} nodes …", file=sys.stderr)
        yield from children.call(traces.findings, sizes[0])
    if "overhead" in areas:
        print(f"overhead, {steps:,} steps …", file=sys.stderr)
        yield from overhead.findings(steps)
    if "cells" in areas:
        print(f"cells of {cell_seconds:g} s …", file=sys.stderr)
        yield from cells.findings(cell_seconds)
    if "roofline" in areas:
        print("roofline …", file=sys.stderr)
        yield from children.call(roofline.findings)
    for nodes in page.SIZES if "page" in areas else ():
        print(f"page, {nodes:,} nodes …", file=sys.stderr)
        yield from page.findings(nodes)
    if "saved" in areas:
        print(f"{saved.RESULTS} results in a notebook …", file=sys.stderr)
        yield from saved.findings()
    for nodes in cutting.SIZES if "cut" in areas else ():
        print(f"cut, {nodes:,} nodes …", file=sys.stderr)
        yield from cutting.findings(nodes)


def _scaling(sizes: list[int], docs: Path) -> Iterator[Finding]:
    """The findings on large profiles, which are shown on a page."""
    scales = scaling.measured(sizes, scaling.STEPS)
    scaling_page.write(scales, docs)
    yield from scaling.findings(scales)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description="Measures this package beside native tfprof, and profiled cells beside plain ones, by medians.",
    )
    parser.add_argument("--nodes", type=_sizes, default=SIZES, help=f"sizes of the graph, by default {SIZES}")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"steps of a training loop, by default {STEPS}")
    parser.add_argument("--seconds", type=float, default=cells.SECONDS, help="what a cell of the area cells takes")
    parser.add_argument(
        "--only", type=_areas, default=",".join(AREAS), help=f"some of {','.join(AREAS)}; graph has the memory too"
    )
    parser.add_argument(
        "--scales", type=_sizes, default=scaling.SIZES, help=f"sizes of large profiles, by default {scaling.SIZES}"
    )
    parser.add_argument("--docs", type=Path, default=DOCS, help="where scaling.md is, by default in docs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the findings there too")
    return parser.parse_args()


def _sizes(text: str) -> list[int]:
    return [int(size) for size in text.split(",")]


def _areas(text: str) -> list[str]:
    areas = text.split(",")
    for area in areas:
        if area not in AREAS:
            raise argparse.ArgumentTypeError(f"there is no {area!r}; choose from {', '.join(AREAS)}")
    return areas


if __name__ == "__main__":
    sys.exit(main())

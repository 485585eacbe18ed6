"""Times the cutting of large profiles, and the page of what is left of them in a real browser."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench import children
from tests.bench.finding import Finding
from tests.bench.gauges import seconds
from tests.bench.page import first_paint, idle_frame, moves, opened
from tests.bench.target import AtMost, TimesMore

SIZES = (10_000, 100_000, 1_000_000)
STEPS = 50
# Beside the view that a reader waits for anyway; what is asked for later beside the first time.
FIRST, AGAIN = TimesMore(6, extra_seconds=1.0), TimesMore(1)
FIRST_PAINT = AtMost(4.0)
MOVE = AtMost(0.1)


def findings(nodes: int, steps: int = STEPS) -> Iterator[Finding]:
    """What it takes to cut a profile of so many nodes and steps, and to look at what is left."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        view, first, again = children.call(_cut, nodes, steps, path)
        yield Finding("cut: scope view of all, beside the cut", nodes, "s", view, first, FIRST)
        yield Finding("cut: first, beside what is asked for then", nodes, "s", first, again, AGAIN)
        with opened(path) as page:
            yield Finding("cut page: arrived to first paint", nodes, "s", 0.0, first_paint(page), FIRST_PAINT)
            page.wait_for_timeout(3_000)  # the charts come after the table
            idle = idle_frame(page)
            for name in ("min_micros", "max_depth"):
                median = statistics.median(moves(page, name))
                yield Finding(f"cut page: {name} moved", nodes, "s", idle, median, MOVE)


def _cut(nodes: int, steps: int, path: Path) -> tuple[float, float, float]:
    """Seconds for a view of the whole, a cut, and another one; the page goes to `path`."""
    from tests.bench.big import big_profile
    from tfprof_widget.widget.cut import cut
    from tfprof_widget.widget.cut_plan import BROWSER, Wanted
    from tfprof_widget.widget.report import report
    from tfprof_widget.widget.shown import Shown

    profile = big_profile(nodes, steps)
    first = seconds(cut, profile)
    again = seconds(cut, profile, BROWSER, Wanted(scope="tower_00000", op="MatMul"))
    path.write_text(report(Shown.of_profile(cut(profile).profile, title="bench")), encoding="utf-8")
    return seconds(big_profile(nodes, steps).view, "scope"), first, again

"""No freed code is ever read: cells are dropped under churned memory, with Python's debug allocator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.slow.share import share

ROOT = Path(__file__).parents[3]
CELLS = share(200, 6)


def test_lines_of_dropped_cells_are_right_or_unknown() -> None:
    """The debug allocator fills what is freed with bytes that are no address, so that reading it crashes."""
    words = [sys.executable, "-m", "tests.slow.faults.freed_cells", str(CELLS)]
    environment = os.environ | {"PYTHONMALLOC": "debug", "TF_CPP_MIN_LOG_LEVEL": "3"}
    ran = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["freed"]["code"] > 0
    assert told["within"] == {"right": CELLS // 2}
    assert "wrong" not in told["after"]
    assert sum(told["after"].values()) == CELLS

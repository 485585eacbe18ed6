"""Runs the command `tfprof`, for `python -m tfprof_widget`."""

from __future__ import annotations

import sys

from tfprof_widget.cli import main

if __name__ == "__main__":
    sys.exit(main())

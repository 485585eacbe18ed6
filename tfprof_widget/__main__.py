"""`python -m tfprof_widget` is the command `tfprof`."""

import sys

from tfprof_widget.cli import main

if __name__ == "__main__":
    sys.exit(main())

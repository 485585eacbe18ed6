"""Times xprof's converter on each file whose path comes as a line; a program for an interpreter that has xprof."""

import sys
from importlib import import_module
from importlib.metadata import version
from time import process_time


def main() -> None:
    """Print the version, and then for each line the seconds of a core that the conversion took."""
    converter = import_module("xprof.convert.raw_to_tool_data")
    print(version("xprof"), flush=True)
    for line in sys.stdin:
        start = process_time()
        converter.xspace_to_tool_data([line.rstrip("\n")], "framework_op_stats", {})
        print(process_time() - start, flush=True)


if __name__ == "__main__":
    main()

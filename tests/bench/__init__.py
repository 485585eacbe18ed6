"""Measures the package beside native tfprof, on one machine and in one run: `python -m tests.bench --help`."""

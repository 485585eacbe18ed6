"""Feeds damaged input to everything that reads: short runs in the tests, long ones by `python -m tests.fuzz --help`."""

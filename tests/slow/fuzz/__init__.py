"""Damaged input for all that reads: a little among the tests, more by `python -m tests.slow.fuzz --help`."""

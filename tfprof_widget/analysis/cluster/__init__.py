"""Measures what the tasks of a cluster send each other and wait for: pure functions of a profile."""

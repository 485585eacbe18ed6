"""Comparisons of runs: statistics by simulation, matching by hand, and what is kept of a run."""

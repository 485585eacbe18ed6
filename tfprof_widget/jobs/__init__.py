"""Profiles programs that were not written for it: `tfprof run`, the directory of jobs, watching and asking them."""

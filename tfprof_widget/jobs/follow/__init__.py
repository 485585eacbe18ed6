"""Holds the module that Python imports by itself at its start, for processes that `tfprof run` starts."""

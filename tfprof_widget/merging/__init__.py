"""Puts profiles together: parts of one, or those of several workers."""

from tfprof_widget.merging.merge import merge

__all__ = ["merge"]

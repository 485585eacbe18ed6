"""Puts profiles together: parts of one, or those of several workers."""

from __future__ import annotations

__all__ = ["merge"]

"""Merges profiles: parts of one profile, or the profiles of several workers."""

from __future__ import annotations

__all__ = ["merge"]

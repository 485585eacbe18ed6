"""Compares runs of cells: what differs by more than runs differ among themselves, and which op is which."""

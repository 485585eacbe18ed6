"""Cells in real kernels, and the shipped notebooks from beginning to end."""

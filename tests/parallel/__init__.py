"""Cells on the engines of real clusters of ipyparallel."""

"""Runs a cell on the engines of an ipyparallel cluster, and makes one capture of their recordings."""

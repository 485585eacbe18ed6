"""Holds what readers give before it is joined: nodes, runs, stacks, transfers and names."""

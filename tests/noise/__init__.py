"""Measures how often comparisons call what did not change, and how often they find what did: `make noise`."""

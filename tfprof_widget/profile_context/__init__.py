"""Profiles the steps asked for of a loop that need not know of it, and dumps them to files."""

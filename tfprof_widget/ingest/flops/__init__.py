"""Counts float operations: formulas by op type, and the stage that applies them to a profile."""

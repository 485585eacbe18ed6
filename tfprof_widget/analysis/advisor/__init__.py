"""Looks at a profile and says what may be wrong: the checkers by subject, and their runner."""

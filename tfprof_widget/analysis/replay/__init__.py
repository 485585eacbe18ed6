"""Replays recorded steps: what waited for what, which chain of executions a step took, and what a change would do."""

"""The command `tfprof`: one view from the shell, or a prompt to explore a profile."""

from tfprof_widget.cli.program import main

__all__ = ["main"]

"""The command `advise`: what the checkers find in the profile."""

from __future__ import annotations

from tfprof_widget.advisor.runner import CHECKERS, advise_on
from tfprof_widget.cli.arguments import Request
from tfprof_widget.cli.command import Command, refuse_files
from tfprof_widget.cli.subject import Session


def advise(session: Session, request: Request) -> Session:
    """Print what each checker reports."""
    refuse_files(session, request)
    advise_on(session.profile, {checker: {} for checker in CHECKERS})
    return session


ADVISE = Command(
    "advise",
    "Looks for what is slow without need, and says what to do about it.",
    advise,
    "[FILES]",
    "advise --profile_path=profile_100",
)

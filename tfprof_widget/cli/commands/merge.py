"""The command `merge`: several files become one saved profile."""

from __future__ import annotations

from tfprof_widget.cli.arguments import Request
from tfprof_widget.cli.command import Command
from tfprof_widget.cli.outcome import say
from tfprof_widget.cli.subject import Session


def merge(session: Session, request: Request) -> Session:
    """Write everything that the files hold as one ProfileProto."""
    target = str(request.options.get("output", ""))
    if not target:
        raise ValueError("merge: say where to, as in -o profile_all")
    session.profile.save(target)
    say(f"wrote {target}: {session.profile!r}")
    return session


MERGE = Command(
    "merge",
    "Makes one saved profile of several files, or of workers as NAME=FILE.",
    merge,
    "FILES -o PROFILE",
    "merge profile_100 profile_200 -o profile_all",
    at_prompt=False,
)

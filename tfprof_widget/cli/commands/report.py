"""The command `report`: the profile as one HTML page, with the whole widget in it."""

from __future__ import annotations

from pathlib import Path

from tfprof_widget.cli.arguments import Request
from tfprof_widget.cli.command import Command, refuse_files
from tfprof_widget.cli.outcome import say
from tfprof_widget.cli.subject import Session
from tfprof_widget.exhibit import Exhibit
from tfprof_widget.output.destination import write_whole
from tfprof_widget.report import report


def save_report(session: Session, request: Request) -> Session:
    """Write the page to the file that `output` names."""
    refuse_files(session, request)
    target = str(request.options.get("output", ""))
    if not target:
        raise ValueError("report: say where to, as in -o page.html")
    options = {name: value for name, value in {**session.kept, **request.options}.items() if name != "output"}
    exhibit = Exhibit.of_profile(session.profile, "scope", Path(target).stem, **options)
    write_whole(target, report(exhibit).encode())
    say(f"wrote {target}")
    return session


REPORT = Command(
    "report",
    "Writes a page of tables, charts and timeline, which needs no network.",
    save_report,
    "[FILES] -o PAGE.html [OPTIONS]",
    "report profile_100 -o page.html",
)

"""The command `flops`: for how much of the profile float operations are known, and what lacks a formula."""

from __future__ import annotations

import sys
from dataclasses import asdict

from tfprof_widget.cli.arguments import Request
from tfprof_widget.cli.command import Command, refuse_files
from tfprof_widget.cli.subject import Session


def coverage(session: Session, request: Request) -> Session:
    """Print the share of the op time that is covered, and the op types that are not."""
    refuse_files(session, request)
    options = asdict(session.options(request.options))
    sys.stdout.write(f"{session.profile.flops_coverage(**options).text()}\n")
    return session


FLOPS = Command(
    "flops",
    "Tells for which share of the time float operations are known.",
    coverage,
    "[FILES] [OPTIONS]",
    "flops --graph_path=graph.pbtxt --run_meta_path=run_meta",
)

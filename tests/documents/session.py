"""The `tfprof>` prompt of the guide: its command lines, and what they print, without what native added since."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

from tests.sketches import Protos
from tfprof_widget.api.profile import Profile
from tfprof_widget.api.view import View
from tfprof_widget.cli.arguments import read_line

# "Press enter to show the default options."
DEFAULTS = (
    "-max_depth 4 -order_by name -account_type_regexes Variable -start_name_regexes .* -show_name_regexes .*"
    r" -hide_name_regexes IsVariableInitialized_[0-9]+,save\/.*,^zeros[0-9_]* -select params"
)
ROOT = "_TFProfRoot"


@dataclass
class Session:
    """The prompt, over one profile; `set` keeps options for the commands after it."""

    protos: Protos
    kept: dict[str, Any] = field(default_factory=lambda: dict(read_line(DEFAULTS).options))

    def __post_init__(self) -> None:
        self.profile = Profile.from_protos(*self.protos)

    def view(self, line: str) -> View:
        """The view that a command asks for, by native's clock."""
        request = read_line(line)
        return self.profile.view(request.command, **{**self.kept, **request.options}, timing="tfprof")

    def run(self, line: str) -> str:
        """What a command prints, as the guide's tfprof did: rows of graph nodes only, a time as one pair."""
        if line.startswith("set "):
            self.kept |= read_line(line).options
            return ""
        return node_rows(self.view(line).text(), {node.name for node in self.protos.graph.node})


def node_rows(text: str, names: set[str]) -> str:
    """The rows of a printed view that are graph nodes, nested among themselves.

    Native prints rows for scopes today, and after a time its accelerator and CPU parts.
    """
    rows, above = [], [-1]
    for line in text.partition("Profile:\n")[2].splitlines()[1:]:
        name = line.strip().partition(" (")[0]
        indent = len(line) - len(line.lstrip())
        while above[-1] >= indent and len(above) > 1:
            above.pop()
        if name in names or name == ROOT:
            rows.append("  " * (len(above) - 1) + re.sub(r"((?:us|ms|sec)), [^)]*", r"\1", line.strip()))
            above.append(indent)
    return "\n".join(rows)


def document(text: str) -> str:
    """Rows as a document prints them, but for two spellings that native changed: the root's own value and
    the shape of a scalar.
    """
    rows = dedent(text).strip()
    rows = re.sub(rf"^{ROOT} \(0(us)?/", f"{ROOT} (--/", rows)
    return rows.replace("global_step (1/1 params)", "global_step (1, 1/1 params)")


def values(rows: str) -> dict[str, str]:
    """What rows say in brackets, by name."""
    named = (row.strip().removesuffix(")").partition(" (") for row in rows.splitlines())
    return {name: value for name, _, value in named}

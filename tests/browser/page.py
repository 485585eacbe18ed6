"""Writes the standalone page of a profile: `python -m tests.browser.page OUT.html [--nodes N] [--view VIEW]`."""

from __future__ import annotations

import argparse
from pathlib import Path

from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile
from tfprof_widget.widget.report import report
from tfprof_widget.widget.shown import Shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--nodes", type=int, default=0, help="of a generated model; without, the shipped demo")
    parser.add_argument("--view", default="scope")
    arguments = parser.parse_args()
    profile = model_profile(arguments.nodes) if arguments.nodes else demo_profile()
    exhibit = Shown.of_profile(profile, view=arguments.view, title="demo")
    arguments.out.write_text(report(exhibit), encoding="utf-8")


def model_profile(nodes: int) -> Profile:
    from tests.bench import model

    built = model.build(nodes)
    return Profile.from_protos(built.graph, model.run(built))


if __name__ == "__main__":
    main()

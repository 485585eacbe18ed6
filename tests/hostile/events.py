"""Uses a profile in every way that needs no TensorFlow, and tells what Python's audit hook heard meanwhile.

`python -m tests.hostile.events PROFILE FOLDER`; what is written goes to the folder.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import tfprof_widget
from tfprof_widget.api.profile import Profile
from tfprof_widget.cli import main as tfprof
from tfprof_widget.demo import demo_profile
from tfprof_widget.widget.report import report
from tfprof_widget.widget.shown import Shown

# What would run code or programs, read objects, reach others, or change files other than by writing them.
TOLD = (
    *("compile", "exec", "pickle.find_class", "marshal.loads", "marshal.load", "code.__new__", "ctypes", "cpython."),
    *("subprocess", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "pty.spawn"),
    *("socket.", "http.", "urllib.", "ftplib.", "smtplib.", "webbrowser.", "os.remove", "os.rename", "os.rmdir"),
    *("os.mkdir", "os.link", "os.symlink", "os.chmod", "os.chown", "os.truncate", "os.kill", "shutil.", "import"),
)
VIEWS = ("scope", "graph", "op", "code")


def main() -> None:
    profile, folder = sys.argv[1:]
    use(demo_profile(), Path(folder))  # which imports all there is to import, as does the next line
    tfprof(["demo", "scope", "--output=none"])
    heard: list[tuple[str, list[str]]] = []
    is_watching = True

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        is_file = event == "open" and not isinstance(arguments[0], int)  # a number is a file that is open already
        if is_watching and (is_file or event.startswith(TOLD)):
            heard.append((event, _told(event, arguments)))

    sys.addaudithook(hear)
    use(tfprof_widget.load(profile), Path(folder))
    tfprof(["scope", f"--profile_path={profile}"])
    is_watching = False
    Path(folder, "heard.json").write_text(json.dumps(heard), encoding="utf-8")


def use(profile: Profile, folder: Path) -> None:
    """Everything that can be asked of a profile."""
    for view in VIEWS:
        rows = profile.view(view, order_by="micros", show_name_regexes=["."])
        (folder / view).write_text(f"{rows.text()}{rows!r}{rows._repr_html_()}{rows.to_dataframe()}", encoding="utf-8")
    str(profile.advice())
    profile.view("code", select=["micros"]).write_pprof(folder / "pprof.gz")
    profile.view("graph").write_timeline(folder / "timeline.json")
    profile.save(folder / "saved.gz")
    exhibit = Shown.of_profile(profile, title="../../outside")
    (folder / "report.html").write_text(report(exhibit), encoding="utf-8")
    tfprof_widget.load(folder / "saved.gz")


def _told(event: str, arguments: tuple[Any, ...]) -> list[str]:
    """The arguments of an event as texts; of a file that is opened, whether it is to be written."""
    if event != "open":
        return [str(argument)[:200] for argument in arguments]
    path, mode, flags = arguments
    writes = bool(flags & (os.O_WRONLY | os.O_RDWR)) if flags else any(letter in (mode or "") for letter in "wax+")
    return [str(path), "w" if writes else "r"]


if __name__ == "__main__":
    main()

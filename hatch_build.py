"""Compiles the protos into the package whenever it is built, and makes what the browser gets where that is missing."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROTOC = "grpcio-tools>=1.66"
BUILT_LAST = "tfprof_widget/static/opener.js"

# The charts' specifications are written by altair and by the package itself, which needs these to run.
CHARTS = ("altair>=6,<7", "google-re2>=1.1", "numpy>=1.23", "protobuf>=4.21")
NODE = 20
WAY_OUT = (
    f"install Node {NODE} or later (https://nodejs.org), which brings npm, and try again; or install the released "
    "package, which has the widget built: pip install tfprof-widget"
)


class CompileProtos(BuildHookInterface[Any]):
    """Builds what git does not have, so that no installed package needs protoc or Node.

    It runs protos/compile.py, and npm where the bundles are missing. A source distribution has both.
    """

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What to install first, where there is something to build: protoc, and what writes the charts."""
        if not self._is_checkout():
            return []
        if not self._lacks_bundles():
            return [PROTOC]
        tools()  # ends here if they are missing, and not after long downloads
        return [PROTOC, *CHARTS]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Hatchling calls this before it collects the files of the package."""
        root = Path(self.root)
        if self._is_checkout():
            compile_protos = runpy.run_path(str(root / "protos" / "compile.py"))["compile_protos"]
            compile_protos(root / "protos", root / "tfprof_widget" / "_protos")
        # An editable install comes before Node has run; `make build` does that next.
        if version != "editable" and self._lacks_bundles():
            bundle(root)

    def _is_checkout(self) -> bool:
        """Not in an unpacked source distribution, which PKG-INFO tells: it carries all that is built."""
        return not (Path(self.root) / "PKG-INFO").exists()

    def _lacks_bundles(self) -> bool:
        return not (Path(self.root) / BUILT_LAST).exists()


def bundle(root: Path) -> None:
    """Write what the browser gets into the package, as `make build` does."""
    node, npm = tools()
    for command in (
        (npm, "ci"),
        (sys.executable, "-m", "tfprof_widget.charts.kinds", "js/charts.json"),
        (node, "js/build.mjs"),
    ):
        done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise SystemExit(
                f"{done.stdout}\ntfprof-widget cannot build its widget: {' '.join(command)} failed, see above"
            )


def tools() -> tuple[str, str]:
    """The paths of node and npm; ends with a message if one is missing or too old."""
    found = {name: shutil.which(name) for name in ("node", "npm")}
    missing = " and ".join(name for name, path in found.items() if path is None)
    node, npm = found["node"], found["npm"]
    if node is None or npm is None:
        raise SystemExit(f"tfprof-widget cannot build its widget, for there is no {missing}: {WAY_OUT}")
    told = subprocess.run([node, "--version"], stdout=subprocess.PIPE, text=True).stdout.strip()
    major = re.match(r"v(\d+)", told)
    if major is None or int(major[1]) < NODE:
        raise SystemExit(
            f"tfprof-widget cannot build its widget, for {node} is of version {told or 'unknown'}: {WAY_OUT}"
        )
    return node, npm

"""Compiles the protos into the package whenever it is built, and sees to it that what the browser gets is there."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROTOC = "grpcio-tools>=1.66"
BUILT_LAST = "tfprof_widget/static/opener.js"


class CompileProtos(BuildHookInterface[Any]):
    """Runs protos/compile.py, so that no installed package needs protoc, and neither does a source distribution."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What to install first: protoc, where there is something to compile."""
        return [PROTOC] if self._compiles() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Hatchling calls this before it collects the files of the package."""
        root = Path(self.root)
        if self._compiles():
            compile_protos = runpy.run_path(str(root / "protos" / "compile.py"))["compile_protos"]
            compile_protos(root / "protos", root / "tfprof_widget" / "_protos")
        # An editable install comes before Node has run; `make build` does that next.
        if version != "editable" and not (root / BUILT_LAST).exists():
            raise FileNotFoundError(f"{BUILT_LAST} is missing, and with it the widget: run `make build` first")

    def _compiles(self) -> bool:
        """Not in an unpacked source distribution, which PKG-INFO tells: it carries the compiled protos."""
        return not (Path(self.root) / "PKG-INFO").exists()

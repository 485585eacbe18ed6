"""The files that the command line reads, written from protos."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from google.protobuf import text_format

from tests.sketches import Protos


@dataclass(frozen=True)
class Files:
    """A graph as text and binary, a run metadata a step, and an op log; the names are those of the guide."""

    folder: Path

    @property
    def graph(self) -> str:
        return str(self.folder / "graph.pbtxt")

    @property
    def binary_graph(self) -> str:
        return str(self.folder / "graph.pb")

    @property
    def run_meta(self) -> str:
        return ",".join(map(str, sorted(self.folder.glob("run_meta*"))))

    @property
    def op_log(self) -> str:
        return str(self.folder / "tfprof_log")

    @property
    def words(self) -> tuple[str, ...]:
        """Options that name all of them."""
        named = {"graph_path": self.graph, "run_meta_path": self.run_meta, "op_log_path": self.op_log}
        return tuple(f"--{option}={path}" for option, path in named.items() if path)


def written(protos: Protos, folder: Path) -> Files:
    """The protos as files in a folder."""
    (folder / "graph.pbtxt").write_text(text_format.MessageToString(protos.graph))
    (folder / "graph.pb").write_bytes(protos.graph.SerializeToString())
    for step, run_meta in enumerate(protos.run_metas):
        (folder / f"run_meta_{step}").write_bytes(run_meta.SerializeToString())
    (folder / "tfprof_log").write_bytes(protos.op_log.SerializeToString())
    return Files(folder)

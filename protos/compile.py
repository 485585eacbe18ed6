"""Compiles the .proto files beside it to what the package reads: descriptors, and stubs for type checkers.

No `*_pb2.py` modules are made, since those refuse any protobuf older than the compiler that wrote them.
Needs grpcio-tools. Run it as `python protos/compile.py`, or call `compile_protos` from a build.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = "tfprof_widget"
DESCRIPTORS = "descriptors.binpb"
INDEX = "__init__.pyi"  # all stubs in one, for tfprof_widget.lib.messages


def compile_protos(source: Path, target: Path) -> None:
    """Compiles the protos in `source` into `target`, unless what is there is newer than they are."""
    protos = sorted(source.glob("*.proto"))
    made = [target / name for name in [DESCRIPTORS, INDEX, *(f"{proto.stem}_pb2.pyi" for proto in protos)]]
    if _is_newer(made, [*protos, Path(__file__)]):
        return
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target) as directory:
        fresh = Path(directory)
        _run_protoc(source, protos, fresh)
        for stub in fresh.glob(f"{PACKAGE}/*.pyi"):
            (fresh / stub.name).write_text(_adapt_stub(stub.read_text(encoding="utf-8")), encoding="utf-8")
        (fresh / INDEX).write_text("".join(f"from .{proto.stem}_pb2 import *\n" for proto in protos))
        for path in made:
            (fresh / path.name).replace(path)


def _is_newer(made: list[Path], inputs: list[Path]) -> bool:
    if not all(path.exists() for path in made):
        return False
    return min(path.stat().st_mtime for path in made) >= max(path.stat().st_mtime for path in inputs)


def _run_protoc(source: Path, protos: list[Path], fresh: Path) -> None:
    command = [
        *(sys.executable, "-m", "grpc_tools.protoc"),
        f"--proto_path={PACKAGE}={source}",  # the files' names in the descriptors start with the package
        "--include_imports",
        f"--descriptor_set_out={fresh / DESCRIPTORS}",
        f"--pyi_out={fresh}",
        *(f"{PACKAGE}/{proto.name}" for proto in protos),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"the protos in {source} do not compile:\n{done.stderr}")


def _adapt_stub(text: str) -> str:
    """Makes a stub import the others from `_protos`, where it goes, and pass a strict type check."""
    text = text.replace(f"from {PACKAGE} import", f"from {PACKAGE}._protos import")
    return '# mypy: disable-error-code="type-arg"\n' + text


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    compile_protos(root / "protos", root / PACKAGE / "_protos")

"""Makes the virtual environments of the matrix, and tells which versions came into them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.slow.matrix.parts import OLDEST, OTHER_PYTHONS, ROOT, WITHOUT

CACHE = ROOT / ".matrix"
CONSTRAINTS = ROOT / "constraints.txt"
FIRST_WITH_KERAS_3 = (2, 16)

# What the tests of this matrix need beside the package and its extras; browsers and notebooks are not in it.
TESTS = (
    *("hypothesis>=6.100", "pytest>=8.3", "pytest-timeout>=2.3"),
    *("ipykernel>=6.29", "nbclient>=0.10", "nbformat>=5.10", "pillow>=10.1"),
)
TOLD = ("tensorflow", "keras", "numpy", "protobuf", "pandas", "altair", "anywidget", "ipython")

LISTS_VERSIONS = """
import json, platform, sys
from importlib.metadata import distributions
versions = {each.name.lower(): each.version for each in distributions()}
print(json.dumps({"python": platform.python_version()} | {name: versions.get(name, "") for name in sys.argv[1:]}))
"""


@dataclass(frozen=True)
class Environment:
    """An environment by its name, the version of TensorFlow in it, empty where there is none, and its Python."""

    name: str
    tensorflow: str
    interpreter: str = sys.executable

    @property
    def directory(self) -> Path:
        """Where it is kept from one run to the next."""
        return CACHE / self.name

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.directory / "bin" / "python"

    def requirements(self) -> list[str]:
        """What is installed, as pip's arguments.

        >>> Environment("oldest", "2.12.0").requirements()[-1]
        'tensorflow==2.12.0'
        >>> Environment("newest", "2.21.0").requirements()[-2:]
        ['tf-keras==2.21.*', 'grpcio-tools>=1.66']
        """
        needed = ["--editable", f"{ROOT}[distributed,export]", *TESTS]
        if not self.tensorflow:
            return [*_constraints(), *needed]
        pinned = _constraints() if self._is_pinned() else []
        return [*pinned, *needed, f"tensorflow=={self.tensorflow}", *self._besides()]

    def _is_pinned(self) -> bool:
        """Whether the constraints are for this TensorFlow; with another they do not fit."""
        return f"tensorflow=={self.tensorflow}" in CONSTRAINTS.read_text(encoding="utf-8").splitlines()

    def _besides(self) -> list[str]:
        """Keras 2 as a package of its own, and the compiler of protos, where TensorFlow is recent enough for both."""
        major, minor, *_ = self.tensorflow.split(".")
        is_recent = (int(major), int(minor)) >= FIRST_WITH_KERAS_3
        return [f"tf-keras=={major}.{minor}.*", "grpcio-tools>=1.66"] if is_recent else []


def environment(name: str) -> Environment:
    """The environment of this name; asks the index which versions of TensorFlow there are for its Python."""
    version = OTHER_PYTHONS.get(name)
    python = interpreter(version) if version is not None else sys.executable
    return environment_of(name, versions_offered(_pip(Path(python), "index", "versions", "tensorflow")), python)


def environment_of(name: str, offered: Sequence[str], python: str) -> Environment:
    """The environment of this name for a Python, given the versions of TensorFlow offered, newest first."""
    versions = {WITHOUT: "", OLDEST: offered[-1]}
    return Environment(name, versions.get(name, offered[0]), python)


def interpreter(version: str) -> str:
    """The path of the Python of this version that is on the PATH or that pyenv has.

    >>> interpreter("2.0")
    Traceback (most recent call last):
        ...
    ValueError: there is no python2.0: install it, as with `pyenv install 2.0`, or leave it out with --only
    """
    found = shutil.which(f"python{version}")
    if found is not None:
        chosen = os.environ | {"PYENV_VERSION": version}
        told = subprocess.run(
            [found, "-c", "import sys; print(sys.executable)"], env=chosen, capture_output=True, text=True, check=False
        )
        if told.returncode == 0:
            return told.stdout.strip()
    raise ValueError(
        f"there is no python{version}: install it, as with `pyenv install {version}`, or leave it out with --only"
    )


def versions_offered(printed: str) -> list[str]:
    """The versions in what `pip index versions` prints, newest first.

    >>> versions_offered("tensorflow (2.21.0)\\nAvailable versions: 2.21.0, 2.20.0, 2.12.0\\n")
    ['2.21.0', '2.20.0', '2.12.0']
    """
    found = re.search(r"^Available versions: (.+)$", printed, re.MULTILINE)
    if found is None:
        raise ValueError(f"pip offers no TensorFlow for this Python; it said: {printed.strip()}")
    return found[1].split(", ")


def make(environment: Environment) -> None:
    """Make an environment, unless one is there that was made of the same requirements."""
    stamp = environment.directory / "stamp"
    wanted = "\n".join(
        [_python_version(environment), *environment.requirements(), *_dependencies(), _constraints_text()]
    )
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    subprocess.run([environment.interpreter, "-m", "venv", "--clear", str(environment.directory)], check=True)
    _pip(environment.python, "install", *_constraints(), "--upgrade", "pip")
    _pip(environment.python, "install", *environment.requirements())
    stamp.write_text(wanted, encoding="utf-8")


def versions(environment: Environment) -> dict[str, str]:
    """The versions of Python and of the packages that matter, by name; empty of what is not installed."""
    command = [str(environment.python), "-c", LISTS_VERSIONS, *TOLD]
    found: dict[str, str] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def _python_version(environment: Environment) -> str:
    command = [environment.interpreter, "-c", "import sys; print(sys.version)"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _constraints() -> list[str]:
    return ["--constraint", str(CONSTRAINTS)]


def _constraints_text() -> str:
    return CONSTRAINTS.read_text(encoding="utf-8")


def _dependencies() -> Sequence[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {})
    return [*project["dependencies"], *(each for name in sorted(extras) for each in extras[name])]


def _pip(python: Path, *arguments: str) -> str:
    """Run pip as it is configured; what went wrong is shown as pip says it."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", *arguments]
    quiet = ["--quiet"] if arguments[0] == "install" else []
    return subprocess.run([*command, *quiet], check=True, stdout=subprocess.PIPE, text=True).stdout

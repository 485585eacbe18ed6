"""A cluster of two engines in processes of their own, and a shell whose cells run there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests.magic.shells import new_shell
from tests.notebooks.kernel import ROOT
from tests.parallel.running import running_cluster, unanswered


@pytest.fixture(scope="package")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where clusters leave their files for clients to find."""
    with pytest.MonkeyPatch.context() as patches:
        folder: Path = tmp_path_factory.mktemp("ipython")
        patches.setenv("IPYTHONDIR", str(folder))
        patches.setenv("PYTHONPATH", str(ROOT))
        patches.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
        yield folder


@pytest.fixture(scope="package")
def cluster(home: Path) -> Iterator[Any]:
    """A cluster that all these tests share but those that break one."""
    with running_cluster() as client:
        yield client


@pytest.fixture
def shell(cluster: Any) -> Iterator[InteractiveShell]:
    with new_shell() as shell:
        shell.user_ns["rc"] = cluster
        yield shell


@pytest.fixture(autouse=True)
def engines_answered(request: pytest.FixtureRequest) -> None:
    """Fail at once, with the engines' stacks, where an earlier test has left one hanging."""
    if "cluster" in request.fixturenames and (told := unanswered(request.getfixturevalue("cluster"))):
        pytest.fail(told)

"""The engines are found as their user has them; what is not found is told with the way out."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import ipyparallel
import pytest

from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.parallel.engines import named_engines


def numbers(name: str, variables: dict[str, Any]) -> tuple[int, ...]:
    with named_engines(name, variables) as engines:
        return engines.numbers


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", (0, 1)),
        ("1", (1,)),
        ("0,1", (0, 1)),
        ("1:", (1,)),
        (":-1", (0,)),
        ("rc", (0, 1)),
        ("rc[0]", (0,)),
        ("rc[[1, 0]]", (1, 0)),
        ("rc[-1:]", (1,)),
        ("view", (1,)),
        ("balanced", (0, 1)),
        ("broadcast", (0, 1)),
        ("kept.client", (0, 1)),
    ],
)
def test_engines_are_named_by_variables_and_numbers(cluster: Any, name: str, expected: tuple[int, ...]) -> None:
    class Kept:
        client = cluster

    variables = {
        "rc": cluster,
        "view": cluster[1],
        "balanced": cluster.load_balanced_view(),
        "broadcast": cluster.broadcast_view(),
        "kept": Kept,
        "other": 5,
        "_9": ipyparallel.Client,
    }
    assert numbers(name, variables) == expected


def test_an_ipyparallel_that_lacks_something_is_named_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ipyparallel.AsyncResult, "stream_output")
    lacking = rf"ipyparallel {re.escape(ipyparallel.__version__)} has no AsyncResult\.stream_output, which"
    with pytest.raises(ProfileError, match=lacking):
        numbers("", {})


def test_a_cluster_is_connected_to_for_as_long_as_it_is_used(cluster: Any) -> None:
    with named_engines("", {"cluster": cluster.cluster}) as engines:
        assert engines.numbers == (0, 1)
        assert engines.client is not cluster
    with pytest.raises(RuntimeError, match="closed"):
        engines.client[0].apply_async(int)


def test_without_a_variable_the_cluster_of_the_profile_is_taken(cluster: Any) -> None:
    assert numbers("", {}) == (0, 1)


def test_clients_of_two_clusters_are_not_taken_for_one_another(cluster: Any) -> None:
    with cluster.cluster.connect_client_sync() as another:
        variables = {"rc": cluster, "another": another, "view": cluster[:]}
        with pytest.raises(ProfileError, match="rc and another and view are of different clients; name one"):
            numbers("", variables)
        assert numbers("another", variables) == (0, 1)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("7", "engines: there is no '7'; those that run are 0, 1"),
        ("5:", "engines: there is no '5:'; those that run are 0, 1"),
        ("missing", "engines: 'missing' cannot be looked up (NameError: name 'missing' is not defined)"),
        ("rc[7]", "engines: 'rc[7]' cannot be looked up (IndexError: No such engine: 7)"),
        ("train()", "engines: 'train()' names none; it may be a variable (rc), a part of one (rc[:2]) or numbers"),
        ("(", "engines: '(' names none"),
        ("text", "engines: 'some' is of the type str, but must be an ipyparallel Client, Cluster or view"),
    ],
)
def test_what_names_no_engines_is_told(cluster: Any, name: str, told: str) -> None:
    ran = []
    with pytest.raises(ProfileError, match=re.escape(told)):
        numbers(name, {"rc": cluster, "text": "some", "train": lambda: ran.append(1)})
    assert ran == []


def test_where_no_cluster_runs_the_two_lines_that_start_one_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    with pytest.raises(ProfileError, match="no cluster is running") as caught:
        numbers("", {"other": 5})
    _, *lines = str(caught.value).splitlines()
    assert [line.strip() for line in lines] == [
        "import ipyparallel",
        "rc = ipyparallel.Cluster(n=4).start_and_connect_sync()",
    ]


def test_where_ipyparallel_is_missing_the_command_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipyparallel", None)
    with pytest.raises(ProfileError, match=re.escape('pip install "tfprof-widget[distributed]"')):
        numbers("", {})

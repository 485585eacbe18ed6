"""Files are read on a real Dask cluster of processes, and give the very profile that they give when read here."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import distributed
import fsspec
import pytest
from dask import config

import tfprof_widget as tfprof
from tests.jobs.states import task
from tests.same import assert_same
from tests.sketches import protos_of
from tfprof_widget.ingest.files import loading
from tfprof_widget.ingest.files.find import File, find_files
from tfprof_widget.ingest.files.jobs import SNAPSHOT
from tfprof_widget.ingest.files.loading import read_tasks
from tfprof_widget.ingest.files.reading import read_on_dask
from tfprof_widget.ingest.parts.runs import NodeNames
from tfprof_widget.lib.errors import ProfileError

PROTOS = protos_of("""
    w    = VariableV2() 1us;2us 3x4 64B +mine   | train.py:1:main > model.py:2:layer
    x    = Placeholder() -;5us                  | train.py:1:main
    loss = MatMul(w, x) 9us;7us+800ns 7flops    | train.py:1:main > model.py:3:layer
""")


@contextmanager
def two_workers() -> Iterator[Any]:
    """The client of two processes, on which a task may be tried twice.

    An error in ending them is Dask's own, and says nothing of the test.
    """
    with config.set({"distributed.scheduler.allowed-failures": 1, "distributed.deploy.lost-worker-timeout": "100ms"}):
        cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
        client = distributed.Client(cluster)
        try:
            yield client
        finally:
            for made in (client, cluster):
                with suppress(TimeoutError, OSError, RuntimeError):
                    made.close()


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with two_workers() as connected:
        yield connected


def test_tasks_of_jobs_are_read_there(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers merge those that they read, and the profile is the one that is read here; one task is damaged."""
    for number in range(30):
        task(tmp_path, f"job-{number % 3}", f"worker-{number}", profiled=True)
    task(tmp_path, "job-1", "server", profiled=False)
    with pytest.warns(tfprof.ProfileWarning, match="passed over 1 of 31 tasks: server captured nothing"):
        expected = tfprof.load(tmp_path)
    assert len(set(expected.step_workers)) == 30
    monkeypatch.setattr(loading, "read_tasks", partial(_by_workers_only, os.getpid()))
    with pytest.warns(tfprof.ProfileWarning):
        assert_same(tfprof.load(tmp_path, client=client), expected)
    monkeypatch.undo()

    damaged = tmp_path / "job-2" / "worker-2" / SNAPSHOT
    damaged.write_bytes(damaged.read_bytes()[:1000])
    with pytest.raises(ProfileError, match="worker-2"):
        tfprof.load(tmp_path / "job-2", client=client)
    with pytest.warns(tfprof.ProfileWarning, match="skipped 1 of 10 tasks"):
        profile = tfprof.load(tmp_path / "job-2", client=client, errors="skip")
    assert len(profile.step_workers) == 9
    assert len(profile.skipped) == 1


def _by_workers_only(here: int, *arguments: Any, **named: Any) -> loading.ReadTasks:
    assert os.getpid() != here
    return read_tasks(*arguments, **named)


@pytest.fixture
def mortal() -> Iterator[Any]:
    """The client of two processes for one test, which ends some: other tests need not wait for new ones."""
    with two_workers() as connected:
        yield connected


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A graph, an op log, forty run metadata of two kinds, one kernel of which is not the graph's, and other files."""
    (tmp_path / "graph").write_bytes(PROTOS.graph.SerializeToString())
    (tmp_path / "op_log").write_bytes(PROTOS.op_log.SerializeToString())
    for step in range(40):
        run = type(PROTOS.run_metas[0])()
        run.CopyFrom(PROTOS.run_metas[step % 2])
        stats = run.step_stats.dev_stats[0].node_stats
        stats[0].all_start_micros += step
        stats[0].timeline_label = f"{stats[0].node_name} = _FusedMatMul(kernel_{step}, x)"
        stats.add(node_name=f"ghost_{step % 3}", timeline_label=f"ghost_{step % 3} = Add(a, b)", all_start_micros=step)
        (tmp_path / f"run_meta_{step}").write_bytes(run.SerializeToString())
    (tmp_path / "notes.txt").write_text("nothing")
    return tmp_path


def test_result_is_that_of_reading_here(client: Any, written: Path) -> None:
    profile = tfprof.load(written, client=client)
    assert profile.steps == tuple(range(40))
    assert profile.nodes.names == ("ghost_0", "ghost_1", "ghost_2", "loss", "w", "x")
    assert profile.has_traces
    assert_same(profile, tfprof.load(written))


def test_urls(client: Any, written: Path) -> None:
    assert_same(tfprof.load(f"file://{written}", client=client), tfprof.load(f"file://{written}"))


def test_a_file_system_of_the_memory(written: Path) -> None:
    memory = fsspec.filesystem("memory")
    for path in written.iterdir():
        memory.pipe(f"/on_dask/{path.name}", path.read_bytes())
    with (
        distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        assert_same(tfprof.load("memory://on_dask", client=client), tfprof.load(written))


def test_the_memory_of_another_process_is_told_of(client: Any, written: Path) -> None:
    memory = fsspec.filesystem("memory")
    for path in written.iterdir():
        memory.pipe(f"/of_this_process/{path.name}", path.read_bytes())
    with pytest.raises(ProfileError, match=r"^cannot read 'memory://.*; memory:// is of one process: write the files "):
        tfprof.load("memory://of_this_process", client=client)


def test_the_bar_comes_to_its_end(client: Any, written: Path) -> None:
    files = find_files(written)
    told: list[tuple[str, int]] = []
    read_on_dask(files, client, NodeNames(), lambda doing, done: told.append((doing, done)))
    assert sum(done for _, done in told) == sum(file.size for file in files)
    assert {doing for doing, _ in told} <= {f"read {file.name}" for file in files}
    assert len(told) > 2


def test_a_damaged_file_is_named(client: Any, written: Path) -> None:
    (written / "run_meta_7").write_bytes((written / "run_meta_7").read_bytes()[:-3])
    errors = []
    for given in (None, client):
        with pytest.raises(ProfileError) as error:
            tfprof.load([written / "graph", written / "run_meta_*"], client=given)
        errors.append(str(error.value))
    assert errors[0].startswith(f"{written / 'run_meta_7'}: ")
    assert errors == [errors[0]] * 2


def test_a_file_that_the_workers_do_not_have_is_named(client: Any, tmp_path: Path) -> None:
    lost = File(str(tmp_path / "lost"), 5, True, (tmp_path / "lost").read_bytes)
    with pytest.raises(ProfileError, match=r"^cannot read '.*lost': No such file or directory; check it"):
        read_on_dask([lost], client, NodeNames(), silent)


def test_a_worker_that_dies_is_followed_by_another(mortal: Any, written: Path, tmp_path: Path) -> None:
    (graph,) = find_files(written / "graph")
    dying = File("run", 5, True, partial(die_once, tmp_path / "died", written / "run_meta_0"))
    found = read_on_dask([graph, dying], mortal, NodeNames(), silent)
    assert (tmp_path / "died").exists()
    assert [part.kind for part in found.parts] == ["GraphDef", "RunMetadata"]


def test_what_kills_every_worker_is_named_with_a_remedy(mortal: Any) -> None:
    with pytest.raises(ProfileError, match=r"^run: the workers that read this died.*memory_limit"):
        read_on_dask([File("run", 5, True, partial(os._exit, 1))], mortal, NodeNames(), silent)


def test_another_fault_of_a_worker_is_told(client: Any) -> None:
    faults = [File(f"run_{number}", 5, True, partial(fail, number)) for number in range(2)]
    with pytest.raises(ProfileError, match=r"^cannot read 'run_\d': .*no token"):
        read_on_dask(faults, client, NodeNames(), silent)


def test_interrupt_takes_the_work_back(client: Any, written: Path) -> None:
    def interrupt(doing: str, done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_on_dask(find_files(written), client, NodeNames(), interrupt)
    assert client.futures == {}


def test_workers_without_the_package(mortal: Any, written: Path) -> None:
    """The workers have no other work: a task that reached them without the package would end them."""
    mortal.run(hide_package)
    with pytest.raises(ProfileError, match=r"^client: the worker tcp://.* cannot import tfprof_widget .*pip install"):
        tfprof.load(written, client=mortal)


def test_a_cluster_without_workers(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfprof_widget.ingest.files.reading.IDLE_SECONDS", 0.01)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(ProfileError, match=r"^client: the cluster has no worker.*; start workers"),
    ):
        tfprof.load(written, client=client)


def test_workers_with_another_version(client: Any, written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfprof_widget.ingest.files.reading.__version__", "0.0.0")
    with pytest.raises(ProfileError, match=r"has \d.*run `pip install 'tfprof-widget\[distributed\]==0.0.0'`"):
        tfprof.load(written, client=client)


def test_without_dask(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ProfileError, match=r"run `pip install 'tfprof-widget\[distributed\]'`"):
        tfprof.load(written, client=object())


def test_what_is_no_client_is_refused(written: Path) -> None:
    with pytest.raises(ProfileError, match=r"client: got str; give a distributed.Client"):
        tfprof.load(written, client="tcp://scheduler:8786")


def silent(doing: str, done: int) -> None:
    """Nobody looks at the bar."""


def die_once(mark: Path, path: Path) -> bytes:
    """End this process, but read the file the second time."""
    if not mark.exists():
        mark.touch()
        os._exit(1)
    return path.read_bytes()


def fail(number: int) -> bytes:
    raise PermissionError(f"no token for {number}")


def hide_package() -> None:
    """Let this process have no tfprof_widget any more."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "tfprof_widget"]:
        del sys.modules[name]
    sys.modules["tfprof_widget"] = None  # type: ignore[assignment]

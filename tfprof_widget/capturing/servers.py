"""Records the servers on which a coordinator runs functions: each server of TensorFlow's has a profiler service.

A coordinator, as of a ParameterServerStrategy, executes nothing of its functions itself. So all servers are asked once,
in a thread of its own, to record some steps.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from statistics import median
from threading import Thread

import numpy as np

from tfprof_widget.capturing.collectives import CONTEXT
from tfprof_widget.capturing.recording import KindOfRun
from tfprof_widget.ingest.merging.merge import given_to_worker, merged
from tfprof_widget.ingest.xspace.reader import TraceTable, read_xspace
from tfprof_widget.ingest.xspace.space import ReadSpace, read_space
from tfprof_widget.ingest.xspace.steps import BEFORE, Step, read_steps
from tfprof_widget.lib.errors import ProfileError, error_text
from tfprof_widget.lib.safely import TEMPORARY
from tfprof_widget.profiles.data import ProfileTables

CLIENT = "tensorflow.python.profiler.profiler_client"
COORDINATOR = "coordinator"
REQUEST = "EagerService:"
THREAD = "tfprof_widget servers"

STEPS = 8
"""So many steps of each server are recorded, if they do not take too long."""

SHORTEST_SECONDS, LONGEST_SECONDS = 0.3, 5.0
PATIENCE_SECONDS = 2.0
"""So long after the recording's end servers that do not answer are waited for."""

WAY_OUT = (
    "look whether the processes live, and whether they run TensorFlow's standard server (tf.distribute.Server), which "
    "has a profiler service"
)


def server_addresses() -> dict[str, str]:
    """The address of each task on which this process runs functions, as `worker 0`; empty if it is no coordinator."""
    context = getattr(sys.modules.get(CONTEXT), "context_safe", lambda: None)()
    definition = getattr(context, "_server_def", None)
    if definition is None or getattr(context, "_collective_ops_server_def", None) is not None:
        return {}
    return {
        f"{job.name} {task}": address
        for job in definition.cluster.job
        for task, address in sorted(job.tasks.items())
        if (job.name, task) != (definition.job_name, definition.task_index)
    }


NOT_SERVED = "its steps are only timed; let the cell run more steps, as the servers are recorded from the second one on"


class Servers:
    """The servers of a coordinator, which record some steps once; `note` takes sentences on what is missing.

    `are_asked` says that there is nothing to do after another step.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self.are_asked = False
        self._note = note
        self._addresses: dict[str, str] | None = None
        self._thread: Thread | None = None
        self._directory = ""
        self._seconds = 0.0
        self._failure = ""
        self._is_over = False
        self._found: list[tuple[str, bytes]] = []
        self._workers: set[str] = set()

    def record(self, step_seconds: float) -> None:
        """Let the servers record some steps of so many seconds from now on, unless they did already."""
        if self.are_asked:
            return
        self.are_asked = True
        self._addresses = server_addresses()
        if not self._addresses:
            return
        self._seconds = min(max(STEPS * step_seconds, SHORTEST_SECONDS), LONGEST_SECONDS)
        try:
            self._directory = tempfile.mkdtemp(prefix=TEMPORARY)
            self._thread = Thread(target=self._ask, name=THREAD, daemon=True)
            self._thread.start()
        except (OSError, RuntimeError) as error:
            self._failure = error_text(error)

    def _ask(self) -> None:
        try:
            services = ",".join(f"grpc://{address}" for address in (self._addresses or {}).values())
            trace = import_module(CLIENT).trace
            trace(services, self._directory, round(self._seconds * 1000), num_tracing_attempts=1)
        except Exception as error:  # TensorFlow's own, of many types
            self._failure = error_text(error)
        if self._is_over:  # what came too late was written after the end
            shutil.rmtree(self._directory, ignore_errors=True)

    def end(self) -> None:
        """Take what the servers recorded, as soon as they have; a server that does not answer is not waited for."""
        if not self._addresses:
            return
        if self._thread is not None:
            self._thread.join(self._seconds + PATIENCE_SECONDS)
        self._is_over = True
        places = {address.replace(":", "_"): task for task, address in (self._addresses or {}).items()}
        for path in sorted(Path(self._directory).rglob("*.xplane.pb")) if self._directory else ():
            task = places.get(path.name.removesuffix(".xplane.pb"))
            if task is not None:
                self._found.append((task, path.read_bytes()))
        shutil.rmtree(self._directory, ignore_errors=True)
        silent = sorted(set(places.values()) - {task for task, _ in self._found})
        if silent:
            reason = f" ({self._failure})" if self._failure else ""
            self._note(
                f"what {', '.join(silent)} did is missing, for TensorFlow got no recording of it{reason}: {WAY_OUT}"
            )

    def traces(self, kinds: Mapping[str, str]) -> dict[str, TraceTable]:
        """What each server recorded; `kinds` are the names of steps by the runtime's names of their functions."""
        read = []
        for task, xspace in self._found:
            try:
                space = _without_requests(read_space(xspace, task))
                steps = read_steps(space)
                table = _named(read_xspace(space, steps), kinds)
            except ProfileError as error:
                self._note(f"what {task} did is missing: {error}")
                continue
            read.append((task, space, table, sum(step.name != BEFORE for step in steps)))
        self._workers = {task for task, _, _, steps in read if steps}
        own = [steps for _, _, _, steps in read if steps]
        names = Counter(name for _, _, table, _ in read for name in table.step_names.values() if name != BEFORE)
        return {
            task: table if steps or not own else _dealt(space, table, names, round(median(own)))
            for task, space, table, steps in read
        }

    def recorded(self, kinds: Sequence[KindOfRun], tables: ProfileTables) -> list[KindOfRun]:
        """The kinds of runs; those that servers run count as traced as often as servers recorded them."""
        found = []
        for runs in kinds:
            if self._addresses:
                steps = zip(tables.step_names, tables.workers_of_steps, strict=True)
                traced = sum(name == runs.name and worker in self._workers for name, worker in steps)
                if not traced:
                    self._note(f"nothing of {runs.name!r} was recorded on the servers that run it: {NOT_SERVED}")
                runs = replace(runs, traced=min(traced, runs.seen))
            found.append(runs)
        return found


def with_servers(tables: ProfileTables, of_servers: Mapping[str, ProfileTables]) -> ProfileTables:
    """The tables of the coordinator and of its servers as one, in which each is a worker; as they are without servers.

    >>> from tfprof_widget.demo import demo_profile
    >>> with_servers(demo_profile(), {"ps 0": demo_profile()}).step_workers
    ('coordinator', 'ps 0')
    """
    if not of_servers:
        return tables
    each = [given_to_worker(worker)(found) for worker, found in {COORDINATOR: tables, **of_servers}.items()]
    return merged(each)


def _without_requests(space: ReadSpace) -> ReadSpace:
    """The XSpace, in which requests to the server no longer look like ops; most of their time they wait for ops."""
    planes = []
    for plane in space.planes:
        requests = {key: name.replace(":", " ") for key, name in plane.names.items() if name.startswith(REQUEST)}
        planes.append(replace(plane, names={**plane.names, **requests}))
    return replace(space, planes=planes)


def _named(table: TraceTable, kinds: Mapping[str, str]) -> TraceTable:
    """The table, with the name of each step that of the kind whose function ran in it."""
    kind = [kinds.get(label.function, "") for label in table.labels]
    has_kind = np.array([name != "" for name in kind], np.bool_)
    rows = np.flatnonzero(has_kind[table.label]) if len(kind) else np.zeros(0, np.int64)
    steps, first = np.unique(table.step[rows], return_index=True)
    found = {step: kind[table.label[rows[at]]] for step, at in zip(steps.tolist(), first.tolist(), strict=True)}
    names = {step: name if name == BEFORE else found.get(step, name) for step, name in table.step_names.items()}
    return replace(table, step_names=names)


def _dealt(space: ReadSpace, table: TraceTable, names: Counter[str], steps: int) -> TraceTable:
    """What a server without steps of its own did, as so many steps of equal length: as many as the others ran."""
    if not len(table.start):
        return table
    (name, _), *_ = names.most_common(1)
    first, end = int(table.start.min()), int((table.start + table.duration).max())
    starts = np.linspace(first, end, steps, endpoint=False).astype(np.int64).tolist()
    return read_xspace(space, [Step(number, name, start) for number, start in enumerate(starts)])

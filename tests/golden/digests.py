"""Digests of everything that is made of many profiles: `python -m tests.golden.digests` writes them.

They tell whether a change of the code's shape changed anything that is seen: columns, what the browser gets, texts,
messages, HTML, advice, clusters and timelines. Expected values of right and wrong are held elsewhere; a digest says
only that something is as it was, and what.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import tfprof_widget as tfprof
from tests.oracle.random_profiles import random_profile
from tests.test_conformance import NAMES, profile
from tfprof_widget.api.profile import Profile
from tfprof_widget.demo import demo_profile
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.output.saved import profile_proto
from tfprof_widget.profiles.options import VIEWS
from tfprof_widget.widget.cut import cut
from tfprof_widget.widget.cut_plan import Limits
from tfprof_widget.widget.wire import encoded

HERE = Path(__file__).parent
DIGESTS = HERE / "digests.json"
RECORDED = HERE.parent / "ingest" / "recorded"
RECORDINGS = HERE.parents[2] / "shared" / "recordings"
"""Real recordings, which are kept beside the repository and are not everywhere."""

RANDOM, MERGED, CUT = 200, 40, 20
TABLES = ("nodes", "steps", "step_names", "executions", "outputs", "allocations", "step_totals", "traces", "transfers")
COLUMNS = ("micros", "bytes", "params", "float_ops", "occurrence", "device", "op_types", "input_shapes")


def profiles() -> Iterator[tuple[str, Callable[[], Profile]]]:
    """The profiles by name, each to be made when it is asked for."""
    yield "demo", demo_profile
    for name in NAMES:
        yield f"conformance {name}", partial(profile, name)
    for path in sorted(RECORDED.glob("*.xplane.pb.gz")):
        yield f"recorded {path.name}", partial(loaded, path)
    for seed in range(RANDOM):
        yield f"random {seed}", partial(random, seed)
    for seed in range(MERGED):
        yield f"merged {seed}", partial(merged, seed)
    for seed in range(CUT):
        yield f"cut {seed}", partial(made_small, seed)
    for path in sorted(RECORDINGS.glob("[!j]*/recording.xplane.pb")):
        yield f"recording {path.parent.name}", partial(tfprof.load, path)


def random(seed: int) -> Profile:
    """A random profile of one to three steps; every other one without an op log."""
    made = random_profile(seed, tuple(range(1 + seed % 3)))
    return Profile.from_protos(made.graph, dict(made.steps), made.op_log if seed % 2 else None)


def merged(seed: int) -> Profile:
    """Three workers, of which two ran the same."""
    return tfprof.merge({"b": random(seed), "a": random(seed + 1), "c": random(seed)})


def made_small(seed: int) -> Profile:
    """A random profile with half of its nodes and executions."""
    whole = random(seed)
    half = len(whole.nodes) // 2, len(whole.executions) // 2
    limits = Limits(nodes=half[0], step_totals=half[0], executions=half[1], allocations=10)
    return Profile.of(cut(whole, limits).profile)


def loaded(path: Path) -> Profile:
    """The profile of a recording that is compressed."""
    with TemporaryDirectory() as directory:
        unpacked = Path(directory, "a.xplane.pb")
        unpacked.write_bytes(gzip.decompress(path.read_bytes()))
        return tfprof.load(unpacked)


def digests(name: str, found: Profile) -> dict[str, str]:
    """By what is made of a profile its digest; one that was cut is for the browser alone."""
    made: dict[str, Callable[[], Any]] = {"wire": partial(encoded, found)}
    for table in TABLES:
        made[f"table {table}"] = partial(getattr, found, table)
    if not name.startswith("cut "):
        made["proto"] = lambda: profile_proto(found).SerializeToString(deterministic=True)
        made["advice"] = lambda: str(found.advice())
        made["cluster"] = found.cluster
        made["timeline"] = partial(timeline, found)
    for view in VIEWS:
        for timing in ("exact", "tfprof"):
            made[f"{view} {timing}"] = partial(text, found, view, timing)
        made[f"{view} html"] = partial(html, found, view)
    return {what: digest(make) for what, make in made.items()}


def digest(make: Callable[[], Any]) -> str:
    """The start of the digest of what is made, or of the reason why it cannot be made."""
    try:
        content = make()
    except (ProfileError, ValueError) as error:
        content = f"refused: {error}"
    data = content if isinstance(content, bytes) else json.dumps(plain(content), sort_keys=True).encode()
    return sha256(data).hexdigest()[:12]


def text(found: Profile, view: str, timing: str) -> str:
    """A view as text, by one of the clocks."""
    return found.view(view, timing=timing, select=COLUMNS).text()


def html(found: Profile, view: str) -> str:
    """A view as HTML."""
    return found.view(view)._repr_html_()


def timeline(found: Profile) -> dict[str, str]:
    """The files of the timeline of the graph view, but for their places."""
    with TemporaryDirectory() as directory:
        paths = found.view("graph").write_timeline(str(Path(directory, "timeline_{step}")))
        return {Path(path).name: Path(path).read_text(encoding="utf-8") for path in paths}


def plain(value: Any) -> Any:
    """A value as JSON has it; names of classes play no part."""
    if isinstance(value, np.ndarray):
        return [str(value.dtype), value.tolist()]
    if isinstance(value, np.generic):
        return value.item()
    if is_dataclass(value) and not isinstance(value, type):
        return {column.name: plain(getattr(value, column.name)) for column in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(plain(each) for each in value)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return sha256(value).hexdigest()
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def main() -> None:
    """Write the digests."""
    found = {name: digests(name, make()) for name, make in profiles()}
    DIGESTS.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(found)} profiles")


if __name__ == "__main__":
    main()

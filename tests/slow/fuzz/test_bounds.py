"""However vicious the input, its size bounds time and memory; counts near 2**63 are taken or refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.slow.fuzz.bounds import INPUTS
from tests.slow.fuzz.complaints import complaint
from tests.slow.fuzz.mutations import LENGTH, Field, fields_of, written
from tests.slow.fuzz.targets import TARGETS
from tests.slow.share import share
from tfprof_widget.api.profile import Profile
from tfprof_widget.ingest.parts.stacks import with_source_lines
from tfprof_widget.lib.messages import GraphDef, OpLogProto

NUMBERS = (2**62, 2**63 - 1, 2**63)
REFUSED = {
    "a gzip bomb": "unpack it with gunzip",
    "100,000 levels of scopes": "100,000 levels deep",
    "names of 10 MB": "it was recorded from",
    "messages nested in text": "nested too deeply",
    "inputs of far numbers": "which no node has",
}


@pytest.mark.parametrize("name", list(INPUTS)[:: share(1, 3)])
def test_four_times_the_input_takes_no_more_than_eight_times_as_much(name: str) -> None:
    """A child process, whose own limits end it long before the machine is out of memory; the seconds are of its CPU."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "-m", "tests.slow.fuzz.bounds", name],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    part, whole = json.loads(done.stdout)
    assert whole["seconds"] < 8 * part["seconds"] + 1
    assert whole["megabytes"] < 8 * part["megabytes"] + 100
    assert REFUSED.get(name, "") in whole["told"]


@pytest.mark.parametrize("name", ["graph", "run_meta", "op_log", "profile", "xspace"])
def test_each_number_of_a_message_at_the_limits_of_64_bits(name: str) -> None:
    target = TARGETS[name]
    for data in target.healthy():
        for changed in with_other_numbers(data):
            complaint(target.read, changed)


def with_other_numbers(data: bytes) -> Iterator[bytes]:
    """The message again and again, each time with one number in it changed."""
    found = fields_of(data) or []
    for at, field in enumerate(found):
        if isinstance(field.value, int):
            values: Iterator[int | bytes] = iter(NUMBERS)
        else:
            values = iter(with_other_numbers(field.value)) if field.wire_type == LENGTH else iter(())
        for value in values:
            yield written([*found[:at], Field(field.number, field.wire_type, value), *found[at + 1 :]])


@pytest.mark.parametrize("kind", ["large", "folder", "name too long", "name with a NUL", "small"])
def test_source_lines_are_read_of_small_files_only(kind: str, tmp_path: Path) -> None:
    """A program may come from a pipe or a device, reading which would never end; a large file would fill the memory."""
    name = {"folder": str(tmp_path), "name too long": "a" * 5_000, "name with a NUL": "a\0b"}
    file = Path(name.get(kind, str(tmp_path / f"{kind}.py")))
    if kind not in name:
        file.write_text("found = 1\n")
    if kind == "large":
        os.truncate(file, 2**24 + 1)
    trace = {"traces": [{"file_id": 0, "function_id": 0, "lineno": 1}]}
    op_log = OpLogProto(id_to_string={0: str(file)}, log_entries=[{"name": "a", "code_def": trace}])
    traces = Profile.from_protos(GraphDef(node=[{"name": "a"}]), None, op_log).traces
    assert ("found = 1" in with_source_lines(replace(traces, live=frozenset({0}))).strings) == (kind == "small")

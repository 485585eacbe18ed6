"""What the tracers of an XSpace say went wrong is told once, with what helps."""

from __future__ import annotations

import pytest

from tests.ingest.spaces import Space
from tfprof_widget.ingest.xspace.events import notes_on, read_notes
from tfprof_widget.ingest.xspace.reader import read_xspace
from tfprof_widget.lib.messages import XSpace

SAYS = "TensorFlow's profiler says: "
RESTRICTED = (
    "; if the driver keeps the GPU's counters to administrators, set NVreg_RestrictProfilingToAdminUsers=0 for the "
    "kernel module nvidia and restart, or start the container with --cap-add=SYS_ADMIN"
)
LIBRARY = "; CUPTI comes with CUDA: install it, and put its directory on LD_LIBRARY_PATH before Python starts"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        # as TensorFlow's tracer of GPUs writes them, with the name of the host before
        (
            "vm: Insufficient privilege to run libcupti (you need root permission).",
            "vm: Insufficient privilege to run libcupti (you need root permission)" + RESTRICTED,
        ),
        (
            "vm: Failed to load libcupti (is it installed and accessible?)",
            "vm: Failed to load libcupti (is it installed and accessible?)" + LIBRARY,
        ),
        ("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" + RESTRICTED),
        ("the clock\nwent  back", "the clock went back"),
    ],
)
@pytest.mark.parametrize("field", ["errors", "warnings"])
def test_text(field: str, text: str, note: str) -> None:
    space = XSpace()
    getattr(space, field).extend([text, text])
    assert read_notes(space) == (SAYS + note,)


@pytest.mark.parametrize("text", ["", "vm: No GPU detected.", "GPU: 12 events were dropped."])
def test_text_that_says_nothing_new(text: str) -> None:
    assert read_notes(XSpace(warnings=[text])) == ()


def test_long_text_is_shortened() -> None:
    (note,) = read_notes(XSpace(errors=["a" * 5000 + " end"]))
    assert len(note) == len(SAYS) + 300
    assert note.endswith("a end")


def test_traces_that_say_the_same_but_for_numbers_say_it_once() -> None:
    spaces = [Space() for _ in range(3)]
    for number, space in enumerate(spaces):
        space.message.warnings.append(f"lost at {number} ns")
    spaces[2].message.errors.append("no clock")
    told = [note for space in spaces for note in read_xspace(space.message).notes]
    assert notes_on(told, ()) == (SAYS + "lost at 0 ns", SAYS + "no clock")


def test_many_notes_are_too_many() -> None:
    assert len(read_notes(XSpace(errors=[f"{'a' * length} is lost" for length in range(1, 100)]))) == 5

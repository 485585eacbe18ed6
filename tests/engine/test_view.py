"""A view as its user meets it: its units, its text and table, the files that it writes."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.sketches import profile_of

VIEW = profile_of("a = Op() 1500ns;1us;2us 64B | a.py:1:f").view("code")


def test_times_have_a_unit_of_their_own() -> None:
    assert VIEW.unit("micros") == VIEW.unit("accelerator_micros") == VIEW.time_scale == 3000
    assert VIEW.unit("bytes") == VIEW.unit("params") == VIEW.scale == 3
    assert [VIEW.total[measure][1] for measure in ("micros", "bytes")] == [4500, 3 * 64]


def test_it_shows_itself_as_text_and_as_a_table() -> None:
    assert "a.py:1:f (" in repr(VIEW)
    assert VIEW._repr_mimebundle_() == {"text/plain": repr(VIEW), "text/html": VIEW._repr_html_()}
    assert "a.py:1:f</" in VIEW._repr_html_()


def test_what_is_written_goes_where_it_was_asked_to_go(tmp_path: Path) -> None:
    VIEW.write_pprof(str(tmp_path / "run.pb.gz"))
    assert b"a.py" in gzip.decompress((tmp_path / "run.pb.gz").read_bytes())
    assert VIEW.write_timeline(str(tmp_path / "run.json")) == [str(tmp_path / "run.json")]

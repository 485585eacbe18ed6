"""All that is made of many profiles is, digest for digest, as it was.

After a change that is meant, `python -m tests.golden.digests` makes them anew.
"""

from __future__ import annotations

import json

import pytest

from tests.golden.digests import DIGESTS, RECORDINGS, digests, profiles

KNOWN = json.loads(DIGESTS.read_text(encoding="utf-8"))


@pytest.mark.filterwarnings("ignore::tfprof_widget.ProfileWarning")
def test_what_is_made_of_profiles_is_as_it_was() -> None:
    changed = {
        name: sorted(what for what in found.keys() | KNOWN[name].keys() if found.get(what) != KNOWN[name].get(what))
        for name, make in profiles()
        if (found := digests(name, make())) != KNOWN[name]
    }
    assert changed == {}


@pytest.mark.skipif(RECORDINGS.is_dir(), reason="then all are there")
def test_real_recordings_are_left_out_where_they_are_not() -> None:
    assert {name for name in KNOWN if name.startswith("recording ")} != set()

"""Steps whose functions made nodes elsewhere have lines of their own, in whatever form the profile is."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.made import changed
from tests.sketches import drawing, drawn, profile_of
from tfprof_widget import Profile, ProfileError, load, merge
from tfprof_widget.lib.messages import ProfileProto, StoredStacks
from tfprof_widget.output.pprof import pprof_profile
from tfprof_widget.profiles.tables import OtherStacks
from tfprof_widget.widget.cut import cut
from tfprof_widget.widget.cut_plan import Limits

SKETCH = """
    gradients/net/b_grad/Mul = Mul() 30us;1us;1us | first.py:9:train
    net/a = Add() 10us;2us;2us | first.py:1:train > net.py:1:net
    net/b = Mul() 20us;4us;4us | first.py:1:train > net.py:2:net
    net/c = Mul() -;8us;8us | second.py:5:train
    net/lost = Mul() -;16us;16us | first.py:1:train
    net/x1 = Neg() 3us;5us;5us | first.py:1:train
    net/x2 = Neg() 3us;5us;5us | first.py:1:train
    net/x3 = Neg() 3us;5us;5us | first.py:1:train
    other = Add() - | second.py:5:train > net.py:2:net
"""
"""The stack of `other` is that of `net/b` in the last two steps."""

FIRST = drawing("""
    _TFProfRoot 0/69
      first.py:1:train 9/39
        net.py:1:net 10/10
        net.py:2:net 20/20
      first.py:1:train (gradient) 0/30
        net.py:2:net (gradient) 30/30
""")
SECOND = drawing("""
    _TFProfRoot 0/25
      second.py:5:train 20/24
        net.py:2:net 4/4
      second.py:5:train (gradient) 0/1
        net.py:2:net (gradient) 1/1
""")


def lines(profile: Profile, **options: Any) -> str:
    """The code view of what ran in some steps of ours."""
    workers = ["ours"] if profile.step_workers else [".*"]
    return drawn(profile.view("code", worker_regexes=workers, min_micros=1, **options), "micros")


@pytest.fixture
def profile() -> Profile:
    """In the steps 1 and 2 the function of `second.py` ran; where it made `net/lost` and `net/x3` is not known."""
    sketched = profile_of(SKETCH)
    rows = {name: row for row, name in enumerate(sketched.nodes.names)}
    stack = sketched.traces.stack.copy()
    for name in ("net/a", "net/x1", "net/x2"):
        stack[rows[name]] = stack[rows["net/c"]]
    stack[rows["net/b"]] = stack[rows["other"]]
    stack[[rows["net/lost"], rows["net/x3"]]] = -1
    of_second = replace(sketched.traces, stack=stack)
    return changed(sketched, other_stacks=OtherStacks.beside(sketched.traces, [-1, 0, 0], [of_second]))


def saved(profile: Profile, folder: Path) -> Profile:
    profile.save(folder / "profile_0.gz")
    return load(folder / "profile_0.gz")


def merged_with_another(profile: Profile, _: Path) -> Profile:
    """With a worker that knows no other stacks, and a node that comes before all others."""
    other = profile_of("a = Add() 100us;100us;100us")
    return merge({"ours": profile, "theirs": other})


def saved_with_another(profile: Profile, folder: Path) -> Profile:
    return saved(merged_with_another(profile, folder), folder)


def without_small_nodes(profile: Profile, _: Path) -> Profile:
    """With one row for two of the nodes, which must be alike in all steps: `net/x1` and `net/x2`."""
    small = cut(profile, Limits(nodes=8, step_totals=1000, executions=1000, allocations=1000))
    assert small.left_out is not None
    assert small.left_out.rows == 1
    return Profile.of(small.profile)


FORMS: dict[str, Callable[[Profile, Path], Profile]] = {
    "as captured": lambda profile, _: profile,
    "merged": merged_with_another,
    "cut": without_small_nodes,
}


@pytest.mark.parametrize("form", FORMS)
def test_the_chosen_steps_have_their_own_lines(profile: Profile, form: str, tmp_path: Path) -> None:
    found = FORMS[form](profile, tmp_path)
    for step, expected in ((0, FIRST), (1, SECOND), (2, SECOND)):
        assert lines(found, step=step) == expected, step


@pytest.mark.parametrize("save", [saved, saved_with_another])
def test_a_saved_profile_has_them_again(
    profile: Profile, save: Callable[[Profile, Path], Profile], tmp_path: Path
) -> None:
    """But a gradient's forward node is not saved, unless its name tells it."""
    found = save(profile, tmp_path)
    for step, expected in ((0, FIRST), (1, SECOND), (2, SECOND)):
        assert lines(found, step=step) == expected, step
    message = ProfileProto.FromString(gzip.decompress((tmp_path / "profile_0.gz").read_bytes()))
    assert all(len(node.trace.traces) > 0 for node in message.nodes.values() if node.name != "a")


def test_steps_that_differ_have_the_lines_of_the_costliest_function(profile: Profile) -> None:
    named = changed(profile, step_names=("first", "second", "second"))
    assert lines(named, run_name_regexes=["second"]) == SECOND
    assert lines(named, run_name_regexes=["first"]) == FIRST
    assert lines(named) == lines(changed(named, other_stacks=OtherStacks.none()))


def test_pprof_has_the_lines_of_the_chosen_steps(profile: Profile) -> None:
    found = gzip.decompress(pprof_profile(profile.view("code", step=1)))
    assert b"second.py" in found
    assert b"first.py" not in found


def test_a_saved_profile_that_is_damaged_is_refused(tmp_path: Path) -> None:
    for stacks in (StoredStacks(nodes=[0], trace=[0]), StoredStacks(nodes=[0]), StoredStacks(nodes=[0], trace=[-2])):
        (tmp_path / "profile_0").write_bytes(ProfileProto(other_stacks=[stacks]).SerializeToString())
        with pytest.raises(ProfileError, match=r"it does not tell the traces of each node.*save it again"):
            load(tmp_path / "profile_0")


def test_steps_of_which_no_line_is_known_say_so(profile: Profile) -> None:
    lineless = replace(profile.traces, stack=profile.traces.stack * 0 - 1)
    others = OtherStacks.beside(profile.traces, [-1, 0, 0], [lineless])
    found = changed(profile, other_stacks=others, step_names=("first", "second", "second"), main_kind="second")
    assert lines(found, step=0) == FIRST
    with pytest.raises(ProfileError, match="code view: the profile has no code traces"):
        found.view("code", step=1)
    assert ".py:" not in str(found.advice())

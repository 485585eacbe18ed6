"""The history of cells: what is kept, within which bounds, and what files keep of it."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.comparing.runs import Maker
from tfprof_widget.analysis.comparing.keeping import MOST_KEPT, kept_run
from tfprof_widget.api import history as module
from tfprof_widget.api.comparison import compare
from tfprof_widget.api.history import History, Rings, file_of, history
from tfprof_widget.demo import demo_profile
from tfprof_widget.lib.errors import ProfileError
from tfprof_widget.lib.messages import ProfileProto
from tfprof_widget.output.saved import profile_proto, save
from tfprof_widget.profiles.cell import TRACED, CellRuns, CellTimes
from tfprof_widget.profiles.kept_run import KeptRun


class TestRings:
    def test_the_oldest_runs_of_a_cell_are_dropped(self) -> None:
        rings, made = Rings(most_runs=50), Maker(5)
        for run in made.runs(60):
            rings.keep(run)
        rings.keep(replace(made.run(), cell="b", label="other"))
        assert [run.label for run in rings.all()] == [*(f"In[{number}]" for number in range(11, 61)), "other"]
        assert [run.label for run in rings.of("b")] == ["other"]

    def test_the_oldest_runs_of_all_cells_are_dropped_where_memory_is_full(self) -> None:
        made = Maker(1000)
        one = made.run()
        rings = Rings(most_bytes=one.ops.bytes + 3 * one.bytes + 100)
        for number in range(5):
            rings.keep(replace(made.run(), cell="ab"[number % 2]))
        assert [run.label for run in rings.all()] == ["In[4]", "In[5]", "In[6]"]
        assert rings.bytes <= rings.most_bytes

    def test_runs_of_one_graph_share_its_ops(self) -> None:
        made = Maker(1000)
        rings = Rings()
        for _ in range(3):
            rings.keep(replace(made.run(), ops=Maker(1000).ops))
        assert len({id(run.ops) for run in rings.all()}) == 1

    def test_cells_without_names_are_told_apart_by_their_source(self) -> None:
        rings = Rings()
        sources = ("model.fit(x, epochs=3)", "plot(history)", "model.fit(x, epochs=4)", "plot(history)")
        for number, source in enumerate(sources):
            rings.keep(KeptRun(label=f"In[{number}]", source=source))
        assert [run.label for run in rings.of("In[2]")] == ["In[0]", "In[2]"]

    def test_cells_with_names_are_not_taken_for_each_other(self) -> None:
        rings = Rings()
        for cell in "ab":
            rings.keep(KeptRun(label=cell, cell=cell, source="f()"))
        assert [run.label for run in rings.of("a")] == ["a"]


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Rings:
    """The rings of this kernel, empty."""
    rings = Rings()
    monkeypatch.setattr(module, "_KERNEL", rings)
    return rings


def test_three_earlier_runs_tell_the_spread_for_one_against_one(kernel: Rings) -> None:
    made = Maker(60, of_op=0.01, of_run=0.01)
    for run in made.runs(3):
        kernel.keep(run)
    before, after = kernel.keep(made.run()), kernel.keep(made.run(ops={5: 2.0}, source="fit(2)"))
    table = compare(before, after).table("op")
    assert [name for name, each in zip(table.names, table.verdicts, strict=True) if each == "slower"] == [
        made.ops.names[5]
    ]
    assert set(compare(before, replace(after, taken=None)).table("op").verdicts) == {"cannot tell"}


def test_two_earlier_runs_are_too_few(kernel: Rings) -> None:
    made = Maker(60)
    runs = [kernel.keep(run) for run in made.runs(4)]
    assert set(compare(runs[-2], runs[-1]).table("op").verdicts) == {"cannot tell"}


def test_a_cell_by_number_label_and_name(kernel: Rings) -> None:
    kernel.keep(KeptRun(label="In[7]", name="wide", cell="a"))
    assert len(history(7)) == len(history("In[7]")) == len(history("wide")) == len(history("a")) == len(history()) == 1
    assert not history(8)


def test_a_history_as_a_table() -> None:
    made = Maker(5)
    frame = History(made.runs(3)).to_dataframe()
    assert frame["run"].tolist() == ["In[1]", "In[2]", "In[3]"]
    assert (frame["step_low"] < frame["step_seconds"]).all()
    assert (frame["step_seconds"] < frame["step_high"]).all()


def test_what_changed_in_the_code() -> None:
    runs = History([KeptRun(label="In[1]", source="x = 1\nf(x)"), KeptRun(label="In[2]", source="x = 2\nf(x)")])
    assert runs.diff().splitlines() == ["--- In[1]", "+++ In[2]", "@@ -1,2 +1,2 @@", "-x = 1", "+x = 2", " f(x)"]


class TestFiles:
    def test_what_is_kept_comes_back_whole(self, tmp_path: Path) -> None:
        """A profile by itself would give times in whole microseconds, and none of the steps that were not traced."""
        made = Maker(50)
        runs, profile = made.runs(8, ops={3: 1.2}), demo_profile()
        paths = [tmp_path / f"{number}.tfprof" for number in range(8)]
        for run, path in zip(runs, paths, strict=True):
            save(profile, path, run)
        there, back = compare(runs[:4], runs[4:]), compare(paths[:4], paths[4:])
        assert back.to_json() == there.to_json()
        assert [run.taken for run in back.before] == [run.taken for run in runs[:4]]
        assert compare(tmp_path, tmp_path).step.runs == (8, 8)

    def test_a_saved_profile_without_a_run_is_as_native_writes_it(self) -> None:
        assert not profile_proto(demo_profile()).HasField("kept_run")

    @pytest.mark.parametrize(
        ("field", "values"),
        [("nanos", [1.0]), ("type", [9]), ("shape", [-1]), ("inputs", [7]), ("input_start", [0, 5]), ("line", [3])],
    )
    def test_a_damaged_run_is_refused(self, tmp_path: Path, field: str, values: list[float]) -> None:
        path = tmp_path / "damaged"
        save(demo_profile(), path, Maker(3).run())
        message = ProfileProto.FromString(path.read_bytes())
        getattr(message.kept_run, field)[:] = values
        path.write_bytes(message.SerializeToString())
        with pytest.raises(ProfileError, match="what is kept of its run is damaged"):
            compare(path, path)

    def test_two_kernels_may_write_at_once(self, tmp_path: Path) -> None:
        run, folder = Maker(3).run(), tmp_path / "runs"
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: save(demo_profile(), file_of(folder, run), run), range(16)))
        assert len(history(folder)) == 16

    def test_a_file_in_which_nothing_ran(self, tmp_path: Path) -> None:
        path = tmp_path / "graph"
        path.write_bytes(b"")
        with pytest.raises(ProfileError):
            compare(path, path)


def test_what_a_profile_keeps() -> None:
    runs = CellRuns.of("train", range(3000), [1_000_000] * 2999 + [9_000_000], {0: TRACED})
    profile = demo_profile().having(main_kind="train", cells=(CellTimes.of({"steps": 10**9}, runs=(runs,)),))
    kept = kept_run(type(demo_profile())(**{name: getattr(profile, name) for name in profile.__dataclass_fields__}))
    assert len(kept.step_seconds) == MOST_KEPT
    assert kept.step_seconds[-1] == 0.009
    assert kept.cell_seconds == 1.0
    assert kept.parts["steps"] == 1.0
    assert np.nansum(kept.nanos) == pytest.approx(320_802)
    assert math.isnan(kept.others_cores)


@pytest.mark.parametrize("given", [3, None, [object()], []])
def test_what_is_no_run(given: object) -> None:
    with pytest.raises(ValueError, match="give"):
        compare(given, demo_profile())  # type: ignore[arg-type]

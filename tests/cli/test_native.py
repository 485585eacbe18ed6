"""The same files and options, given to the command line and to native tfprof: the same text, to the byte."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.cli.files import written
from tests.oracle.native import VIEWS, NativeAnswer, NativeTfprof, Request, Step
from tests.oracle.random_options import DEFAULTS, options_proto, random_options
from tests.oracle.random_profiles import random_profile
from tests.oracle.stdout import with_stdout
from tests.sketches import Protos
from tfprof_widget.cli import main

pytestmark = pytest.mark.filterwarnings("ignore::tfprof_widget.ProfileWarning")

SEEDS = range(1000, 1024)


def words_of(options: dict[str, Any], rng: Random) -> list[str]:
    """The options as words, in any of the spellings; those that are native's defaults may be left out."""
    words = []
    for name, value in options.items():
        text = ",".join(value) if isinstance(value, list) else str(value)
        written_name = rng.choice(("-", "--")) + (name.replace("_", "-") if rng.random() < 0.3 else name)
        if value is True and rng.random() < 0.5:
            words.append(written_name)
        elif text and rng.random() < 0.5 and not text.startswith("-"):
            words += [written_name, text]
        else:
            words.append(f"{written_name}={text}")
    return words


@pytest.mark.parametrize("view", VIEWS)
def test_views_of_files(native: NativeTfprof, tmp_path: Path, view: str) -> None:
    """Of the code view native has no answer where there is no trace, or dies of what traces there are."""
    compared = 0
    for seed in SEEDS:
        rng = Random(f"{seed} {view}")
        profile = random_profile(seed)
        ((_, run_meta),) = profile.steps
        options = random_options(rng, view, profile)
        request = Request(view, options_proto({**options, "output": f"file:outfile={tmp_path / str(seed)}"}))
        protos = (profile.graph, run_meta, profile.op_log)
        answer = native.analyze(request, *(proto.SerializeToString() for proto in protos))
        if isinstance(answer, NativeAnswer) and answer.file is not None:
            files = written(Protos(profile.graph, [run_meta], profile.op_log), tmp_path)
            words = [*files.words, *words_of(options, rng), "--timing=tfprof"]
            assert with_stdout(partial(main, [view, *words])) == (0, answer.file), words
            compared += 1
    assert compared > (len(SEEDS) // 2 if view == "code" else len(SEEDS) - 1)


def test_profiles_that_native_saved(native: NativeTfprof, tmp_path: Path) -> None:
    """It dies of saving an input that the graph lacks."""
    compared = 0
    options = {**DEFAULTS, "select": ["micros", "bytes", "params", "occurrence"], "order_by": "micros"}
    for seed in SEEDS:
        profile = random_profile(seed, (3, 7))
        graph, op_log = profile.graph.SerializeToString(), profile.op_log.SerializeToString()
        steps = [Step(step, run_meta.SerializeToString()) for step, run_meta in profile.steps]
        saved = native.serialize_steps(graph, op_log, steps)
        if not isinstance(saved, NativeAnswer):
            continue
        (tmp_path / "profile_xx").write_bytes(saved.proto)
        for view in ("scope", "graph", "op"):
            asked = options_proto({**options, "output": f"file:outfile={tmp_path / 'native'}"})
            answer = native.profile_steps(Request(view, asked), graph, op_log, steps)
            assert isinstance(answer, NativeAnswer)
            words = [f"--profile_path={tmp_path / 'profile_xx'}", *words_of(options, Random(seed)), "--timing=tfprof"]
            assert with_stdout(partial(main, [view, *words])) == (0, answer.file), words
            compared += 1
    assert compared > len(SEEDS)

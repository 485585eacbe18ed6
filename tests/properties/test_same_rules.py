"""Small rules that Python and the browser both need give the same answers: names, numbers, orders, kinds of files."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.properties.two_engines import new_seed
from tfprof_widget.analysis.comparison import worker_order
from tfprof_widget.lib.text import is_of_library, visible, written_percent, written_seconds
from tfprof_widget.profiles.devices import device_label
from tfprof_widget.profiles.options import KEEP_ALL_ROWS

TYPESCRIPT = Path(__file__).with_name("typescript_rules.mjs")
CALLS = 2000

FOLDERS = (
    *("site-packages", "dist-packages", "tensorflow", "keras", "tf_keras", "tfprof_widget", "Keras", "my_keras"),
    *(
        "lib",
        "python3.11",
        "python",
        "python3",
        "lib64",
        "site-packages.zip",
        "home",
        "C:",
        "",
        "<frozen ",
        "x<frozen ",
    ),
)
PLACES = (
    *("/job:", "localhost", "worker", "ps", "/replica:0", "/replica:1", "/task:0", "/task:10", "/device:", "cpu:0"),
    *("GPU:1", "XLA_GPU:0", "device:TPU:0", "/stream:all", "/gpu:0", "/memcpy", "/host:CPU", "/", ":", "task:0", "\n"),
    *("/job:worker/replica:0/task:0", "/device:CPU:0", "my device", "é", "٣"),
)
WORKERS = (
    *("before", "after", "Base", "baseline", "based", "old", "worker", "Worker", "/job:ps/task:", "1", "2", "10", "02"),
    *("_", "-", " ", ".", "é", "٣", "a", "B", "日"),
)


@dataclass(frozen=True)
class Rule:
    """A rule by its name in TypeScript: how Python answers, and what is asked."""

    name: str
    in_python: Callable[..., Any]
    calls: Sequence[Sequence[Any]]
    of_answer: Callable[[Any], Any] = lambda answer: answer


def test_both_languages_follow_the_same_rules(tmp_path: Path) -> None:
    seed = new_seed()
    rules = list(random_rules(Random(seed)))
    questions, answers = tmp_path / "questions.json", tmp_path / "answers.json"
    questions.write_text(json.dumps({rule.name: rule.calls for rule in rules}))
    subprocess.run(["node", TYPESCRIPT, questions, answers], check=True, timeout=240)
    found = json.loads(answers.read_text(encoding="utf-8"))
    for rule in rules:
        assert rule.calls, rule.name
        for call, answer in zip(rule.calls, found[rule.name], strict=True):
            assert rule.of_answer(answer) == rule.in_python(*call), f"seed {seed}: {rule.name} of {call}"


def random_rules(rng: Random) -> Iterator[Rule]:
    def joined(parts: Sequence[str], most: int, between: str = "") -> str:
        return between.join(rng.choices(parts, k=rng.randrange(most + 1)))

    characters = [chr(point) for points in (range(0x10000), range(0xE0000, 0xE1000), [0x1F600]) for point in points]
    yield Rule("visible", visible, [[character] for character in characters])

    files = [joined(FOLDERS, 5, rng.choice("/\\")) + rng.choice(("/train.py", "\\in.py", "")) for _ in range(CALLS)]
    yield Rule("libraryOf", is_of_library, [[file] for file in files if not file.endswith(("/", "\\"))], bool)

    devices = [[joined(PLACES, 5), [joined(PLACES, 3) for _ in range(rng.randrange(3))]] for _ in range(CALLS)]
    yield Rule("deviceLabel", device_label, devices)

    workers = [[[joined(WORKERS, 3) for _ in range(5)]] for _ in range(CALLS)]
    yield Rule("workersAmong", in_order, workers)

    yield Rule("KEEP_ALL_ROWS", lambda: [in_typescript(name) for name in KEEP_ALL_ROWS], [[]])

    # Halves and eighths are exact doubles, so that many times are half-way between two that can be written.
    times = [0, *(rng.randrange(1, 10**5) / 8 * 10 ** rng.randrange(-5, 5) for _ in range(CALLS))]
    yield Rule("shortTime", lambda micros: written_seconds(micros / 1e6), [[time] for time in times])
    yield Rule(
        "share", lambda part, _: written_percent(part), [[rng.randrange(1, 2000) / 800, 1] for _ in range(CALLS)]
    )


def in_typescript(name: str) -> str:
    """The name of an option as TypeScript writes it."""
    return re.sub(r"_(.)", lambda found: found[1].upper(), name)


def in_order(workers: Sequence[str]) -> list[str]:
    """The workers as they are compared: each once, those that are written differently but rank alike by name."""
    return sorted(sorted(set(workers)), key=worker_order)

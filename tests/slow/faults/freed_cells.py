"""Runs cells whose code is dropped when it has run, under churned memory, and counts what is told of their lines.

Each cell makes one op by itself in a graph that lives on. Every other cell runs within a capture. At the end another
capture reads the stacks of all the graph's ops, whose code is gone. Prints how many lines were right, unknown and
wrong.
"""

from __future__ import annotations

import gc
import json
import re
import sys
from _thread import start_new_thread
from collections import Counter
from threading import Lock
from typing import Any
from weakref import ref

import tensorflow as tf

import tfprof_widget as tfprof
from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.arrays import ABSENT

CELL = """{blank}with graph.as_default():
    op = tf.square(before, name="op_{number}")
tf.sin(1.0)
"""


def line_of(number: int) -> int:
    """The line in which a cell makes its op."""
    return number % 7 + 2


def run_cell(number: int, graph: tf.Graph, before: Any) -> tuple[Any, Any]:
    """Run a cell within few frames, so that TensorFlow does not keep its code; returns the op and a weak reference."""
    code = compile(CELL.format(number=number, blank="\n" * (number % 7)), f"cell_{number}.py", "exec")
    names: dict[str, Any] = {"tf": tf, "graph": graph, "before": before}
    over = Lock()
    over.acquire()

    def run() -> None:
        try:
            exec(code, names)
        finally:
            over.release()

    start_new_thread(run, ())
    over.acquire()
    return names["op"], ref(code)


def churn(number: int) -> None:
    """Put other code, and other objects, where the freed code was."""
    others = [
        compile(f"def f{each}(a):\n  return a + {each * number}\n", f"other_{each}.py", "exec") for each in range(99)
    ]
    junk = [bytes(size) for size in range(64, 1024, 8)]
    del others, junk
    gc.collect()


def lines_told(profile: Profile, pattern: str) -> Counter[str]:
    """How many ops have the right line, none, or a wrong one, of those whose names match."""
    found, traces = Counter[str](), profile.traces
    for node, name in enumerate(profile.nodes.names):
        match = re.search(rf"op_({pattern})$", name)
        if match is None:
            continue
        stack = int(traces.stack[node])
        frames = traces.stacks[stack].tolist() if stack != ABSENT else []
        told = [(traces.strings[traces.file[frame]], int(traces.line[frame])) for frame in frames]
        in_cells = [each for each in told if each[0].startswith(("cell_", "other"))]
        is_right = in_cells[-1:] == [(f"cell_{match[1]}.py", line_of(int(match[1])))]
        found["right" if is_right else "wrong" if told else "unknown"] += 1
    return found


def main(cells: int) -> dict[str, Counter[str]]:
    """Counts the lines told of cells within a capture, and of all cells at the end, when their code is gone."""
    graph, within, dead = tf.Graph(), Counter[str](), list[Any]()
    with graph.as_default():
        first = last = tf.compat.v1.placeholder(tf.float32, [3])
    for number in range(cells):
        if number % 2:
            with tfprof.capture() as prof:
                last, code = run_cell(number, graph, last)
                churn(number)
                with tf.compat.v1.Session(graph=graph) as session:
                    session.run(last, {first: [0.0, 0.0, 0.0]})
            for each in prof.profiles:
                within += lines_told(each, str(number))
        else:
            last, code = run_cell(number, graph, last)
            churn(number)
        dead.append(code)
    gc.collect()
    freed = sum(code() is None for code in dead)
    with tfprof.capture() as prof, tf.compat.v1.Session(graph=graph) as session:
        session.run(last, {first: [0.0, 0.0, 0.0]})
    return {"within": within, "after": lines_told(prof.profile, r"\d+"), "freed": Counter({"code": freed})}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))

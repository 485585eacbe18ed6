"""Random op logs for a graph: own types, float ops and call stacks with shared prefixes."""

from __future__ import annotations

from random import Random
from typing import Any

from tensorflow.core.profiler.tfprof_log_pb2 import OpLogProto

FILES = ("/home/me/model.py", "model.py", "/lib/tf/ops.py", "x/été.py", "\U0001d4b3.py", "directory/", "none")
# Cut natively from 20 bytes on; never here inside a character, where native's own message cannot be parsed.
FUNCTIONS = (
    *("build", "<module>", "a_function_of_nineteen_"[:19], "a_function_of_twenty_chars"[:20]),
    *("a_function_with_quite_a_long_name", "métier", "λλλλλλλλ1 and some more", "none"),
)
TYPES = ("_trainable_variables", "own", "own/type", "été", "_checkpoint_variables", "Const")
Frame = tuple[str, int, str]


def random_op_log(rng: Random, graph: Any) -> Any:
    """An OpLogProto; in one of eight no entry has a call stack."""
    op_log = OpLogProto()
    strings = [*FILES, *FUNCTIONS, "x = y"]
    ids = dict(zip(strings, rng.sample(range(100), len(strings)), strict=True))
    for string, number in ids.items():
        op_log.id_to_string[number] = string
    names = [node.name for node in graph.node]
    stacks = _stacks(rng) if rng.random() < 7 / 8 else []
    for name in [*names, "not/there", "ghost", *rng.choices(names, k=len(names) // 8)]:
        if rng.random() < 0.8:
            _add_entry(rng, op_log.log_entries.add(name=name), stacks, ids)
    return op_log


def _add_entry(rng: Random, entry: Any, stacks: list[list[Frame]], ids: dict[str, int]) -> None:
    if rng.random() < 0.3:
        entry.types.extend(rng.choices(TYPES, k=rng.randint(1, 3)))
    if rng.random() < 0.5:
        entry.float_ops = rng.choice((0, 1, 999, 1000, rng.randint(1, 10**7), rng.randint(1, 10**10)))
    if stacks and rng.random() < 0.9:
        entry.code_def.SetInParent()
        for file, line, function in rng.choice(stacks) if rng.random() < 0.97 else ():
            frame = entry.code_def.traces.add(file_id=ids[file], lineno=line, function_id=ids[function])
            frame.line_id, frame.func_start_line = ids["x = y"], -1


def _stacks(rng: Random) -> list[list[Frame]]:
    """Stacks that grow from one another, so that they share prefixes and frames recur under other parents."""
    frames = [_frame(rng) for _ in range(rng.randint(2, 12))]
    stacks = [[rng.choice(frames)]]
    for _ in range(rng.choice((1, 5, 20, 40))):
        base = rng.choice(stacks)
        stacks.append([*base[: rng.randint(0, len(base))], *rng.choices(frames, k=rng.randint(1, 4))])
    return stacks


def _frame(rng: Random) -> Frame:
    return rng.choice(FILES), rng.choice((-1, 0, 3, 10, 2000)), rng.choice(FUNCTIONS)

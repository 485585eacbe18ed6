"""The README's examples run, one after the other, on the recorded graph and run."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_examples_run() -> None:
    recorded = files("tfprof_widget") / "recorded"
    names: dict[str, object] = {name: (recorded / f"{name}.binpb").read_bytes() for name in ("graph", "run_meta")}
    examples = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        exec(example, names)

"""A cell under %%tfprof does what it does without it, whatever is in the cell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.magic.shells import outcome
from tests.notebooks.stand_in import StandIn

INTERACTIVITIES = ("all", "last", "last_expr", "none", "last_expr_or_assign")

CELLS = {
    "last value": "x = 20\nx + 1",
    "no value": "x = 20",
    "silenced value": "x = 20\nx + 1;",
    "only a comment": "# nothing",
    "await": "import asyncio\nawait asyncio.sleep(0, 'slept')",
    "await in the middle": "import asyncio\nx = await asyncio.sleep(0, 5)\nprint(x)\nx",
    "async with, for and comprehension": """\
import asyncio
async def numbers():
    yield 1
    yield 2
async with asyncio.Lock():
    async for number in numbers():
        print(number)
[number async for number in numbers()]""",
    "line magic": "%pwd",
    "value of a line magic": "where = %pwd\nlen(where) > 0",
    "automagic on a later line is no magic": "x = 1\npwd",
    "shell": "!echo hello",
    "value of a shell command": "lines = !echo hello\nlines",
    "help": "x = 1\nx?",
    "multi-line strings": "text = '''a\n  b\n\n\tc\n'''\nprint(repr(text))\ntext",
    "strings that look like magics": "text = '''\n%%tfprof --all\n%pwd\n!echo\nx?\n'''\ntext",
    "form feed and other line ends": "x = 'a\x0cb'\nx",
    "leading blank lines": "\n\n  \nx = 1\nx",
    "error below blank lines": "\n\n  \nx = 1\n1 / 0",
    "future import": "from __future__ import annotations\ndef f(x: Unknown): return x\nf(3)",
    "prompts": ">>> x = 1\n>>> x + 1\n2",
    "output order": "import sys\nprint(1)\ndisplay(2)\nprint(3, file=sys.stderr)\nsys.stdout.write('4')\n5",
    "unfinished line": "print('no newline', end='')",
    "earlier values": "(_, __, _1, Out[1], In[1])",
    "value stored under _": "_ = 5\n_",
    "functions and classes": "class A:\n    def f(self):\n        return self.g\n    g = 7\nA().f()",
    "local error": "def f(x):\n    y = x - 1\n    return 1 / y\n\nz = 3\nf(1)\nz = 4",
    "error on the first line": "1 / 0",
    "error far below": "x = 1\n" * 40 + "def f():\n    return missing\n" + "y = 2\n" * 10 + "f()",
    "error with a cause": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e",
    "error in a comprehension": "values = [\n    1 / x\n    for x in (1, 0)\n]",
    "error after await": "import asyncio\nawait asyncio.sleep(0)\n1 / 0",
    "error in a line magic": "x = 1\n%cd /no/such/directory/anywhere\n%timeit -n x",
    "error group": "raise ExceptionGroup('two', [ValueError(1), KeyError(2)])",
    "error of eval": "x = 1\neval('1/0')",
    "usage error": "%matplotlib_no_such",
    "syntax error": "x = 1\nx = = 2",
    "syntax error of the compiler": "x = 1\nreturn x",
    "indentation error": "x = 1\n  y = 2",
    "unclosed": "x = (1,\ny = 2",
    "null byte": "x = 1\ny = '\0'",
    "KeyboardInterrupt": "x = 1\nraise KeyboardInterrupt",
    "KeyboardInterrupt after await": "import asyncio\nawait asyncio.sleep(0)\nraise KeyboardInterrupt",
    "SystemExit": "import sys\nsys.exit(3)",
    "display that fails": "class Bad:\n    def __repr__(self):\n        return 1 / 0\nBad()",
    "cell within the cell": "get_ipython().run_cell('inner = 1\\n2')\nget_ipython().run_cell('')\nprint('on')\n3",
    "failing cell within the cell": "get_ipython().run_cell('1/0')\nprint('on')",
    "silent cell within the cell": "get_ipython().run_cell('1', silent=True)\nprint('on')",
    "inspection of the stack": "import inspect\ninspect.currentframe().f_lineno, __name__",
}

CANNOT_BE_PARSED = {"syntax error", "indentation error", "unclosed", "null byte"}

# These stand on the first line or not at all, so the cell to compare with has no comment in its place.
FIRST_LINES = {
    "automagic": "pwd",
    "autocall": "/len 'abc'",
    "another cell magic": "%%capture out\nprint(1)",
    "unknown cell magic": "%%no_such_magic\nx",
    "indented cell": "    x = 1\n    if x:\n        print('''a\n    b''')",
    "cell magic after blank lines": "\n\n%%capture out\nprint(1)",
    "the magic in a cell magic": "%%writefile /dev/null\n%%tfprof",
}


@pytest.mark.filterwarnings("ignore:To exit")  # IPython's own advice after sys.exit
@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_does_what_it_does_with_the_magic_commented_out(
    cell: str, stand_in: StandIn, capfd: pytest.CaptureFixture[str]
) -> None:
    without = outcome(capfd, f"# %%tfprof --quiet\n{CELLS[cell]}")
    with_magic = outcome(capfd, f"%%tfprof --quiet\n{CELLS[cell]}")
    assert with_magic == replace(without, raw_history=[line.removeprefix("# ") for line in without.raw_history])
    assert stand_in.events == ([] if cell in CANNOT_BE_PARSED else ["enter", "exit"])


@pytest.mark.parametrize("cell", FIRST_LINES)
def test_a_first_line_does_what_it_does_without_the_magic(
    cell: str, stand_in: StandIn, capfd: pytest.CaptureFixture[str]
) -> None:
    without = outcome(capfd, FIRST_LINES[cell])
    with_magic = outcome(capfd, f"%%tfprof --quiet\n{FIRST_LINES[cell]}")
    assert with_magic == replace(without, raw_history=with_magic.raw_history)
    assert stand_in.events == ["enter", "exit"]


@pytest.mark.parametrize("interactivity", INTERACTIVITIES)
def test_what_is_displayed_is_the_user_s_setting(
    interactivity: str, stand_in: StandIn, capfd: pytest.CaptureFixture[str]
) -> None:
    code = "x = 1\nx\nx + 1\ny = 3"
    without = outcome(capfd, f"# %%tfprof --quiet\n{code}", ast_node_interactivity=interactivity)
    with_magic = outcome(capfd, f"%%tfprof --quiet\n{code}", ast_node_interactivity=interactivity)
    assert with_magic == replace(without, raw_history=[line.removeprefix("# ") for line in without.raw_history])
    assert stand_in.events == ["enter", "exit"]

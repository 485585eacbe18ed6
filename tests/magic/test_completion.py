"""Tab completes the arguments of the magic and their choices, and leaves the rest to others."""

from __future__ import annotations

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from tfprof_widget.magic.arguments import ARGUMENTS, candidates
from tfprof_widget.profiles.options import COLUMNS, ORDERS, TABS


@pytest.mark.parametrize(
    ("before_cursor", "expected"),
    [
        ("%%tfprof --min_mic", ["--min_micros"]),
        ("%%tfprof -min-mic", ["--min_micros"]),
        ("%%tfprof --view op --q", ["--quiet"]),
        ("%%tfprof --", [f"--{name}" for name in ARGUMENTS]),
        ("%%tfprof --view ", list(TABS)),
        ("%%tfprof --view=", list(TABS)),
        ("%%tfprof --view s", ["scope"]),
        ("%tfprof -order-by acc", ["accelerator_micros"]),
        ("%%tfprof --order_by ", list(ORDERS)),
        ("%%tfprof --select micros,par", ["params"]),
        ("%%tfprof --select ", list(COLUMNS)),
        ("x = 1\nvalue = %tfprof --vi", ["--view"]),
    ],
)
@pytest.mark.parametrize("use_jedi", [True, False])
def test_tab_completes_arguments_and_choices(
    shell: InteractiveShell, before_cursor: str, expected: list[str], use_jedi: bool
) -> None:
    shell.Completer.use_jedi = use_jedi
    with provisionalcompleter():
        found = list(shell.Completer.completions(before_cursor, len(before_cursor)))
    assert sorted(each.text for each in found) == sorted(expected)
    start = max(before_cursor.rfind(mark) for mark in " =,") + 1
    assert {each.start for each in found} == {start}


@pytest.mark.parametrize("before_cursor", ["x = --mi", "%%timeit --mi", "%%tfprof", "%tfprof len", "%tfprof --all pri"])
def test_tab_leaves_the_rest_to_others(before_cursor: str) -> None:
    assert candidates(before_cursor) is None


def test_names_complete_behind_the_arguments(shell: InteractiveShell) -> None:
    shell.user_ns["some_long_name"] = 1
    shell.Completer.use_jedi = False  # which knows no names behind any magic
    with provisionalcompleter():
        found = list(shell.Completer.completions("%tfprof --all some_lo", 21))
    assert [each.text for each in found] == ["some_long_name"]

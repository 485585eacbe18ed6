"""The option reference in docs is what the option table makes of it, grouped as the widget groups its controls."""

from __future__ import annotations

import re
from pathlib import Path

from docs.generate_options import COLUMN_MEANINGS, GROUPS, TARGET, option_reference
from tfprof_widget.profiles.options import COLUMNS, OPTIONS

CONTROLS = Path(__file__).parents[2] / "js" / "src" / "views"


def test_the_reference_is_fresh() -> None:
    told = "docs/options.md is not what the option table makes of it: run `make protocol`"
    assert TARGET.read_text(encoding="utf-8") == option_reference(), told


def test_every_option_stands_in_one_group() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(option.name for option in OPTIONS)


def test_every_column_has_a_meaning() -> None:
    assert set(COLUMN_MEANINGS) == set(COLUMNS)


def test_the_groups_are_those_of_the_widget() -> None:
    panel = (CONTROLS / "filters.tsx").read_text(encoding="utf-8")
    named = {option.name for option in OPTIONS}
    # In the order of the panel, which is that of the module.
    shown = [name for name in re.findall(r'"(\w+)"', panel.partition("MAIN_OPTIONS")[0]) if name in named]
    titles = list(GROUPS)
    assert shown == [name for title in titles[:5] for name in GROUPS[title]]
    assert [title for title in titles if f'"{title}"' not in panel] == ["Not in the widget"]
    more = [option for option in OPTIONS if option.name not in shown and option.kind != "text"]
    assert [option.name for option in more if option.name.startswith("min_")] == list(GROUPS["More thresholds"])
    assert [option.name for option in more if not option.name.startswith("min_")] == list(
        GROUPS["Counting and columns"]
    )

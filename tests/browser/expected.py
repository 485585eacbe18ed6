"""What a widget is to show of a profile, as the Python engine has it: the names of the rows and how many there are."""

from __future__ import annotations

from typing import Any

from tfprof_widget.api.profile import Profile
from tfprof_widget.api.view import View
from tfprof_widget.profiles.options import TABS
from tfprof_widget.widget.shown import Shown

# Workers are looked at where there are several, and the history where runs are kept.
TABS_OF_ONE_PROCESS = tuple(tab for tab in TABS if tab not in ("workers", "history"))


def view_of(profile: Profile, view: str, **changes: Any) -> View:
    """A view under the options that a widget starts with, but for some changes."""
    return profile.view(view, **Shown.of_profile(profile, **changes).options)


def names_of(profile: Profile, view: str, **changes: Any) -> list[str]:
    """The names of a view's rows in order."""
    return list(view_of(profile, view, **changes).names)


def status_of(profile: Profile, view: str, **changes: Any) -> str:
    """How many rows are kept, of how many of those that are accounted."""
    accounting = {name: value for name, value in changes.items() if name == "account_type_regexes"}
    kept, of = (rows_of(profile, view, **options) for options in (changes, accounting))
    return f"{kept:,} of {of:,} rows"


def rows_of(profile: Profile, view: str, **changes: Any) -> int:
    """The rows without the root's, which op view does not have."""
    return len(view_of(profile, view, **changes)) - (view != "op")

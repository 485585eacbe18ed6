"""What may stand at the cursor of the prompt: commands, options and their values, for the Tab key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tfprof_widget.cli.arguments import ARGUMENTS, DUMP_TO_FILE, SHOWN
from tfprof_widget.cli.commands import COMMANDS
from tfprof_widget.engine.evaluate import view_tree
from tfprof_widget.options import VIEWS, Option
from tfprof_widget.output.destination import KINDS
from tfprof_widget.profiles import Profile

MOST = 200
_ASSIGNED = re.compile(r"--?([A-Za-z][\w-]*)=(.*)", re.DOTALL)
_NAMED = re.compile(r"--?([A-Za-z][\w-]*)")
_OUTFILE = ":outfile="


def candidates(line: str, profile: Profile) -> tuple[int, list[str]]:
    """How many characters before the cursor are of the word to complete, and what it may become.

    >>> from tfprof_widget.demo import demo_profile
    >>> candidates("op -order_by pa", demo_profile())
    (2, ['params'])
    >>> candidates("sc", demo_profile())
    (2, ['scope '])
    """
    *before, word = line.split() if line[-1:].strip() else [*line.split(), ""]
    if not before:
        return len(word), _starting(word, (f"{name} " for name, each in COMMANDS.items() if each.at_prompt))
    if before[0] == "help":
        return len(word), _starting(word, (*COMMANDS, *(option.name for option in SHOWN)))
    if assigned := _ASSIGNED.fullmatch(word):
        return _of_value(before[0], assigned[1], assigned[2], profile)
    if not word.startswith("-") and (named := _NAMED.fullmatch(before[-1])):
        return _of_value(before[0], named[1], word, profile)
    dashes = "--" if word.startswith("--") else "-"
    return len(word), _starting(word, (f"{dashes}{option.name} " for option in SHOWN))


def _of_value(view: str, name: str, written: str, profile: Profile) -> tuple[int, list[str]]:
    option = ARGUMENTS.get(name.replace("-", "_"))
    if option is None:
        return len(written), []
    if option.kind in ("choices", "regexes"):
        *chosen, written = written.split(",")
        known = _values(option, view, written, profile)
        return len(written), _starting(written, (each for each in known if each not in chosen))
    return len(written), _starting(written, _values(option, view, written, profile))


def _values(option: Option, view: str, written: str, profile: Profile) -> Iterable[str]:
    nodes = profile.nodes
    match option.name:
        case "step":
            return ("-1", *map(str, dict.fromkeys(profile.steps)))
        case "output":
            return _outputs(written)
        case "account_type_regexes":
            return nodes.type_names
        case "device_regexes":
            return nodes.devices
        case "run_name_regexes":
            return dict.fromkeys(filter(None, profile.step_names))
        case "worker_regexes":
            return dict.fromkeys(profile.step_workers)
        case DUMP_TO_FILE.name:
            return _paths(written)
    if option.kind == "regexes":
        return _names(view, written, profile)
    return ("true", "false") if option.kind == "flag" else option.choices


def _outputs(written: str) -> Iterator[str]:
    kind, outfile, path = written.partition(_OUTFILE)
    if outfile:
        yield from (f"{kind}{_OUTFILE}{each}" for each in _paths(path))
    else:
        yield from (kind if kind in ("stdout", "none") else f"{kind}{_OUTFILE}" for kind in KINDS)


def _paths(written: str) -> Iterator[str]:
    """Files and directories that go on as written."""
    folder = written[: written.rfind("/") + 1]
    try:
        found = sorted(Path(folder or ".").expanduser().iterdir())
    except (OSError, RuntimeError):
        return
    for path in found:
        yield f"{folder}{path.name}{'/' if path.is_dir() else ''}"


def _names(view: str, written: str, profile: Profile) -> Iterable[str]:
    """Names of the view's rows, a part of the path at a time."""
    if view not in VIEWS or (view == "code" and not profile.has_traces):
        view = "scope"
    depth = len(written)
    going_on = (name for name in view_tree(profile, view).names if name.startswith(written))
    return dict.fromkeys(name[: name.find("/", depth) + 1] or name for name in going_on)


def _starting(written: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(written)][:MOST]

"""Completes the arguments of `%%tfprof` and `%tfprof`, their names and their choices, behind the Tab key."""

from __future__ import annotations

import re

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from tfprof_widget.magic.arguments import ARGUMENTS

_MAGIC = re.compile(r".*?%%?tfprof\s(.*)", re.DOTALL)
_NAME = re.compile(r"(?:^|.*\s)(--?[A-Za-z_-]*)", re.DOTALL)
_VALUE = re.compile(r"(?:^|.*\s)--?([A-Za-z][\w-]*)(?:=|\s+)(\S*)", re.DOTALL)


def candidates(before_cursor: str) -> tuple[int, list[str]] | None:
    """What may stand at the cursor, and how many characters of it do; None where that is not for the magic to say.

    >>> candidates("%%tfprof --min_mi")
    (8, ['--min_micros'])
    >>> candidates("%tfprof --select bytes,micr")
    (4, ['micros'])
    """
    magic = _MAGIC.fullmatch(before_cursor)
    if magic is None:
        return None
    if value := _VALUE.fullmatch(magic[1]):
        option = ARGUMENTS.get(value[1].replace("-", "_"))
        if option and option.choices:
            written = value[2].rpartition(",")[2] if option.kind == "choices" else value[2]
            return len(written), [choice for choice in option.choices if choice.startswith(written)]
    if name := _NAME.fullmatch(magic[1]):
        written = name[1].lstrip("-").replace("-", "_")
        return len(name[1]), [f"--{each}" for each in ARGUMENTS if each.startswith(written)]
    return None


def _match(context: CompletionContext) -> SimpleMatcherResult:
    """The candidates, as IPython's completer asks for them."""
    found = candidates(context.text_until_cursor)
    if found is None:
        return {"completions": []}
    written, words = found
    fragment = context.text_until_cursor[len(context.text_until_cursor) - written :]
    return {
        "completions": [SimpleCompletion(word, type="param") for word in words],
        "matched_fragment": fragment,
        "suppress": bool(words),
    }


matcher = context_matcher(identifier="tfprof_widget.magic")(_match)

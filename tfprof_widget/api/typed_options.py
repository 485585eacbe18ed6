"""Turns typed words into options: one grammar for the command, its prompt and the magic line."""

from __future__ import annotations

import difflib
import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tfprof_widget.lib.errors import value_error
from tfprof_widget.profiles.options import Option, Options, one_of

TRUTHS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}
"""What yes and no are called, in any case."""

# What the commas of a list do not part: quoted text, an escaped character, a class with its classes, a repetition. What
# is not closed goes on to the end, so that no text is read more than once.
_WHOLE = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^]\\])*+(?:\]|\\?\Z)|\{[^{},\s]*,[^{},\s]*\}|.", re.DOTALL
)
_DIGITS = 19  # of 2**63 - 1
_VERY_NEAR = 0.75  # of 1, as difflib measures
_PLACEHOLDERS = {"integer": "NUMBER", "regexes": "REGEX,REGEX", "choices": "NAME,NAME", "choice": "NAME", "flag": ""}
_EXAMPLES = {"NUMBER": "10", "REGEX,REGEX": ".*", "TEXT": "first", "VARIABLE": "profile", "FIRST:END": "10:20"}
# The quoted parts of a word may hold spaces. A backslash is an ordinary character, as regexes need it.
_WORD = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[^\s"'])+)(?!\S)""")
_QUOTED = re.compile(r""""([^"]*)"|'([^']*)'""")
_OPTION = re.compile(r"(--?)([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)


@dataclass(frozen=True)
class Grammar:
    """The options that can be typed in one place, by name, and how that place differs from others.

    Everywhere an option is `-name value`, `--name value` or `--name=value`, its name is spelled with `_` or `-`, and a
    flag stands alone or before a truth.

    - `listed` says where the options are listed: the end of the message on an unknown one.
    - `short` gives the names that short names stand for.
    - `truths` are the words that are a flag's value when they follow it.
    - `optional` names the options that may stand without a value.
    - `before_code`: code follows the options, which end at the first word that belongs to none. A value may then
      follow `=` after a blank.

    >>> from tfprof_widget.profiles.options import OPTIONS
    >>> grammar = Grammar({option.name: option for option in OPTIONS}, "see docs/options.md")
    >>> given, others = grammar.read(["op", "--min-micros=5", "-account_displayed_op_only", "-step", "-1"])
    >>> [(option.name, text) for option, text in given], others
    ([('min_micros', '5'), ('account_displayed_op_only', 'true'), ('step', '-1')], ['op'])
    """

    options: Mapping[str, Option]
    listed: str
    short: Mapping[str, str] = field(default_factory=dict)
    truths: Collection[str] = tuple(TRUTHS)
    optional: Collection[str] = ()
    before_code: bool = False

    def read(self, words: Sequence[str]) -> tuple[list[tuple[Option, str]], list[str]]:
        """The options among the words with the texts of their values, in their order, and the other words."""
        given: list[tuple[Option, str]] = []
        others: list[str] = []
        rest = deque(words)
        while rest:
            if match := _OPTION.fullmatch(rest[0]):
                rest.popleft()
                given.append(self._given(match, rest))
            elif self.before_code:
                break
            else:
                others.append(rest.popleft())
        return given, [*others, *rest]

    def known(self, written: str) -> Option | None:
        """The option of that name, as it may be typed; None if there is none."""
        name = written.replace("-", "_")
        return self.options.get(self.short.get(name, name))

    def named(self, written: str, dashes: str = "-") -> Option:
        """The option of that name, as it may be typed; if there is none, the message asks whether a near one is meant.

        >>> Grammar({"step": Option("step", "integer", -1, "")}, "`help` lists them").named("stop")
        Traceback (most recent call last):
            ...
        ValueError: there is no option -stop: did you mean -step? `help` lists them
        """
        option = self.known(written)
        if option is None:
            near = meant(written.replace("-", "_"), self.options, dashes)
            raise value_error(f"there is no option {dashes}{written}:{near} {self.listed}")
        return option

    def _given(self, match: re.Match[str], rest: deque[str]) -> tuple[Option, str]:
        """An option with its value, which is taken from the rest where `=` gives none."""
        dashes, written, text = match.groups()
        option = self.named(written, dashes)
        if text is None or (self.before_code and not text):
            if rest and self._is_value(rest[0], option):
                text = rest.popleft()
            elif option.kind == "flag":
                text = "true" if text is None else text
            elif option.name in self.optional:
                text = ""
            elif option.kind not in ("regexes", "choices"):
                text = None
        shown = f"{dashes}{option.name}"
        if text is None:
            raise value_error(f"{shown} wants a value, as in {shown} {_example(option)}")
        if option.kind == "flag" and text.lower() not in TRUTHS:
            raise value_error(f"{shown} is {text!r}, but must be true or false, or stand alone")
        return option, text

    def _is_value(self, word: str, option: Option) -> bool:
        """Whether a word that follows an option is its value: it may begin with a dash, as -1 and some regexes do."""
        if option.kind == "flag":
            return word.lower() in self.truths
        match = _OPTION.fullmatch(word)
        return match is None or (option.name not in self.optional and self.known(match[2]) is None)


def words_of(line: str) -> list[tuple[str, int]]:
    """The words of a line with their quotes, and where each ends; they stop before a quote that is not closed.

    >>> words_of("op --name='my net' 'a")
    [('op', 2), ("--name='my net'", 18)]
    """
    found, at = [], 0
    while match := _WORD.match(line, at):
        at = match.end()
        found.append((match[1], at))
    return found


def unquoted(word: str) -> str:
    """A word without the quotes in it.

    >>> unquoted("--name='my net'")
    '--name=my net'
    """
    return _QUOTED.sub(lambda quoted: quoted[1] if quoted[1] is not None else quoted[2], word)


def value_of(option: Option, text: str) -> Any:
    r"""The value that a text stands for; commas part a list, but not within the brackets of a regex.

    >>> from tfprof_widget.profiles.options import OPTIONS
    >>> regexes = next(option for option in OPTIONS if option.kind == "regexes")
    >>> value_of(regexes, r"a{1,2},[,b],(c,d)")
    ('a{1,2}', '[,b]', '(c,d)')
    """
    match option.kind:
        case "integer":
            return _integer(option, text)
        case "flag":
            return TRUTHS[text.lower()]
        case "regexes":
            from tfprof_widget.engine.matching import compiled  # not before it is needed: it imports numpy

            regexes = tuple(filter(None, _listed(text)))
            for regex in regexes:
                compiled(option.name, regex)
            return regexes
        case "choices":
            names = tuple(filter(None, (each.strip() for each in text.split(","))))
            return getattr(Options.of(**{option.name: names}), option.name)
        case "choice":
            return one_of(option.name, text, option.choices)
    return text


def meant(written: str, known: Iterable[str], dashes: str = "") -> str:
    """A question that asks whether a known name was meant: each that is very near, else the nearest, if one is near.

    >>> meant("scop", ["scope", "op"])
    ' did you mean scope?'
    """
    near = difflib.get_close_matches(written, known, 3, _VERY_NEAR) or difflib.get_close_matches(written, known, 1)
    return f" did you mean {' or '.join(f'{dashes}{each}' for each in near)}?" if near else ""


def text_option(name: str, placeholder: str, help_text: str, default: str = "") -> Option:
    """An option that takes any text.

    >>> placeholder(text_option("graph_path", "FILE", "The graph."))
    'FILE'
    """
    return Option(name, "text", default, help_text, placeholder=placeholder)


def placeholder(option: Option) -> str:
    """What stands for the value in a help text.

    >>> placeholder(Option("max_depth", "integer", 100, "Show rows down to this depth."))
    'NUMBER'
    """
    return option.placeholder or _PLACEHOLDERS.get(option.kind, "TEXT")


def default_text(option: Option) -> str:
    """The default as it would be typed; nothing if there is none.

    >>> default_text(Option("select", "choices", ("micros", "bytes"), "The columns to print."))
    'micros,bytes'
    """
    return ",".join(option.default) if isinstance(option.default, tuple) else str(option.default)


def help_text(option: Option) -> str:
    """What an option is for, what can be chosen, and its default.

    >>> help_text(Option("timing", "choice", "exact", "Which clock to show.", ("exact", "tfprof")))
    'Which clock to show. One of exact, tfprof. (default: exact)'
    """
    text = option.help
    if option.choices:
        text += f" {'Of' if option.kind == 'choices' else 'One of'} {', '.join(option.choices)}."
    if option.kind != "flag" and option.default not in ((), ""):
        text += f" (default: {default_text(option)})"
    return text


def _example(option: Option) -> str:
    """A value that the option takes, or what stands for one."""
    if option.choices:
        return option.choices[0]
    shown = placeholder(option)
    return (option.kind == "text" and option.default) or _EXAMPLES.get(shown, shown)


def _listed(text: str) -> list[str]:
    """The text, cut at the commas that stand alone."""
    items: list[list[str]] = [[]]
    depth = 0
    for whole in _WHOLE.findall(text):
        depth = max(depth + (whole == "(") - (whole == ")"), 0)
        if whole == "," and not depth:
            items.append([])
        else:
            items[-1].append(whole)
    return ["".join(item) for item in items]


def _integer(option: Option, text: str) -> int:
    if not re.fullmatch(r"[+-]?\d+(_\d+)*", text, re.ASCII):
        raise value_error(f"{option.name} is {text!r}, but must be a whole number")
    if sum(map(str.isdecimal, text)) > _DIGITS:
        raise value_error(f"{option.name} is {text}, but must be below 2**63")
    if int(text) < option.minimum:
        raise value_error(f"{option.name} is {int(text)}, but must be at least {option.minimum}")
    return int(text)

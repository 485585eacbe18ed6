"""Names that someone chose to make a reader of profiles act on them, and what is to be seen in their place."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from tfprof_widget.api.profile import Profile
from tfprof_widget.lib.messages import GraphDef, OpLogProto, RunMetadata

MARKUP = "<img src=x onerror=fired()>"
CLOSING = "</script><script>fired()</script>"
PATH = "../../x"
TURNED = "\u202egnp.exe"
FORMULA = '=HYPERLINK("evil")'
COMMENT = "<!--parts-->{{title}}$&"


@dataclass(frozen=True)
class Hostile:
    """A name, and how a text shows it; empty where it is shown as it is."""

    name: str
    spelled: str = ""

    @property
    def shown(self) -> str:
        return self.spelled or self.name


HOSTILE = (
    # HTML: markup, attributes, the end of a script or comment, templates.
    Hostile("<script>fired()</script>"),
    Hostile(CLOSING),
    Hostile(MARKUP),
    Hostile("\"'><b onmouseover=fired()>"),
    Hostile("--><script>fired()</script><!--"),
    Hostile("<![CDATA[<script>fired()</script>]]>"),
    Hostile(COMMENT),
    Hostile("&lt;b&gt;&amp;"),
    # JavaScript: names of what objects have already.
    Hostile("__proto__"),
    Hostile("constructor"),
    # Terminals: clear the screen, set the title, colours by one character, overwrite the line, ring.
    Hostile("\x1b[2J\x1b]0;owned\x07", r"\x1b[2J\x1b]0;owned\x07"),
    Hostile("\x9b31mred", r"\x9b31mred"),
    Hostile("bad\rgood", r"bad\rgood"),
    Hostile("bad\b\b\bgood\x7f", r"bad\x08\x08\x08good\x7f"),
    Hostile("Mat\nMatMul 99us", r"Mat\nMatMul 99us"),
    Hostile("nul\0l", r"nul\x00l"),
    # Text that turns around, and what is not seen in it.
    Hostile(TURNED, r"\u202egnp.exe"),
    Hostile("a\u2066b\u2069\u061c", r"a\u2066b\u2069\u061c"),
    Hostile("Mat\u200bMul\ufeff", r"Mat\u200bMul\ufeff"),
    Hostile("a\u2028b\u2029", r"a\u2028b\u2029"),
    Hostile("tag\U000e0041", r"tag\U000e0041"),
    Hostile("no\u00a0break", r"no\xa0break"),
    # Paths.
    Hostile(PATH),
    Hostile("..\\..\\x"),
    # Formulas of spreadsheets.
    Hostile(FORMULA),
    Hostile("=cmd|' /C calc'!A0"),
    Hostile("+1+1"),
    Hostile("-1+1"),
    Hostile("@SUM(A1)"),
    Hostile("\t=1+1", r"\t=1+1"),
    Hostile("\uff1d1+1"),
    # Markdown and LaTeX.
    Hostile("[x](javascript:fired())"),
    Hostile("![x](https://evil.example/x.png)"),
    Hostile("https://evil.example and www.evil.example"),
    Hostile("a|b `c` **d** ~~e~~"),
    Hostile("# head\\"),
    Hostile("$\\href{javascript:fired()}{x}$"),
    Hostile("$$x^2$$ \\(y\\) \\[z\\]"),
    Hostile("\\input{secret} %"),
    # Formats of Python and C.
    Hostile("%s%n {0.__class__} ${x}"),
)
NAMES = tuple(each.name for each in HOSTILE)
# A file with other names in it is not taken for a profile.
FILED_NAMES = tuple(name for name in NAMES if not any(character < " " for character in name))
# What a text may hold beside what is seen: scripts and emoji are written with joiners.
JOINERS = "\u200c\u200d"


def unseen(text: str, *, but: str = "\n") -> set[str]:
    """The characters of a text that nobody sees, or that a terminal acts on, by Unicode's categories."""
    return {
        character
        for character in text
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Zs")
        and character not in (" ", *JOINERS, *but)
    }


def hostile_profile(names: Sequence[str] = NAMES) -> Profile:
    """Each name is a node's, its type's, its device's, its file's and its function's."""
    graph, run_meta, op_log = hostile_protos(names)
    return Profile.from_protos(graph, run_meta, op_log)


def hostile_protos(names: Sequence[str]) -> tuple[GraphDef, RunMetadata, OpLogProto]:
    """What that profile is made from."""
    graph, run_meta, op_log = GraphDef(), RunMetadata(), OpLogProto(id_to_string={0: "none"})
    for number, name in enumerate(names):
        graph.node.add(name=name, op=f"Op{name}", device=f"/{name}/device:CPU:{number}")
        device = run_meta.step_stats.dev_stats.add(device=f"/{name}/device:CPU:{number}")
        stats = device.node_stats.add(node_name=name, all_start_micros=1 + number, op_end_rel_micros=10 + number)
        stats.op_end_rel_nanos = 1000 * (10 + number)
        stats.memory.add(allocator_name="cpu", total_bytes=64).allocation_records.add(alloc_micros=1, alloc_bytes=64)
        entry = op_log.log_entries.add(name=name)
        entry.code_def.traces.add(file_id=2 * number + 1, lineno=1, function_id=2 * number + 1)
        op_log.id_to_string[2 * number + 1] = name
    return graph, run_meta, op_log

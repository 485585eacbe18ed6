"""The readers: what each makes of some bytes, and whole inputs of it to start from."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.made import profile_of_tables, tables_of_traces
from tests.slow.fuzz import seeds
from tests.slow.fuzz.checkpoints import CHECKPOINTS
from tests.slow.fuzz.target import Target
from tests.slow.fuzz.using import use
from tfprof_widget.api.profile import Profile, load
from tfprof_widget.cli.arguments import read_line
from tfprof_widget.cli.commands import named
from tfprof_widget.cli.prompt import candidates
from tfprof_widget.cli.session import LazyProfile, Session
from tfprof_widget.engine.matching import Names, compiled
from tfprof_widget.ingest.gathered import Gathered
from tfprof_widget.ingest.xspace.reader import read_xspace
from tfprof_widget.magic.arguments import parse
from tfprof_widget.output.destination import parse_output
from tfprof_widget.profiles.options import VIEWS, Options

# Matched one by one where there are line ends, and otherwise, if all are ASCII, as lines of one text.
PLAIN = ("", "x", "x", "a", "layer", "layer/w", "layer/MatMul", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "A/b.c{1,2}", "a|b")
NAMES = (PLAIN, (*PLAIN, "日本/語"), (*PLAIN, "a\nb", "\n"))


def read_graph(data: bytes) -> None:
    """A GraphDef, which the run and the op log may fit."""
    use(Profile.from_protos(data, list(seeds.protos().run_metas), seeds.protos().op_log))


def read_graph_text(data: bytes) -> None:
    """A GraphDef in the text format."""
    use(Profile.from_protos(data.decode(errors="replace")))


def read_run(data: bytes) -> None:
    """A RunMetadata, the second step of the network."""
    use(Profile.from_protos(seeds.protos().graph, [seeds.protos().run_metas[0], data], seeds.protos().op_log))


def read_op_log(data: bytes) -> None:
    """An OpLogProto of the network."""
    use(Profile.from_protos(seeds.protos().graph, list(seeds.protos().run_metas), data))


def read_profile(data: bytes) -> None:
    """A ProfileProto, and what it adds to the network."""
    gathered = Gathered()
    gathered.add_profile(data)
    use(profile_of_tables(gathered.tables()))
    gathered.add_graph(seeds.protos().graph)
    gathered.add_step(7, seeds.protos().run_metas[0])
    profile_of_tables(gathered.tables())


def read_file(data: bytes) -> None:
    """A file of any kind."""
    with TemporaryDirectory() as directory:
        path = Path(directory, "run_meta_3")
        path.write_bytes(data)
        use(load(path))


def read_space(data: bytes) -> None:
    """An XSpace of no known function."""
    tables = tables_of_traces(read_xspace(data))
    use(profile_of_tables(tables))


def read_options(data: bytes) -> None:
    """Options of any value that JSON has."""
    try:
        given = json.loads(data)
    except ValueError:
        return
    if isinstance(given, dict):
        view = given.pop("view", "scope")
        parse_output(Options.of(**given).output)
        seeds.profile().view(view, **given | {"output": "none"}).text()


def read_regex(data: bytes) -> None:
    """A regex, which matches many names at once as it matches each."""
    regex = data.decode(errors="replace")
    pattern = compiled("show_name_regexes", regex)
    is_everything = regex == ".*"  # names with line ends too
    for names in NAMES:
        found = Names(names).matching("show_name_regexes", [regex]).tolist()
        assert found == [is_everything or pattern.fullmatch(name) is not None for name in names], regex


def read_command(data: bytes) -> None:
    """A line at the prompt of `tfprof`: completed, and run if it writes no file."""
    line = data.decode(errors="replace")
    candidates(line, seeds.profile())
    request = read_line(line)
    if request.command in (*VIEWS, "advise", "flops", "help", "set") and "outfile" not in line:
        session = Session(LazyProfile(seeds.profile), at_prompt=True)
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            named(request.command, at_prompt=True).run(session, request)


def read_magic(data: bytes) -> None:
    """What stands behind `%%tfprof`; without braces, in which it evaluates Python."""
    parse(data.decode(errors="replace").replace("{", "").replace("$", ""), {})


GRAPHS = ("ingest/gathered.py", "ingest/parts/nodes.py", "lib/messages.py")
RUNS = ("ingest/run_metadata.py", "ingest/join.py")

TARGETS = {
    target.name: target
    for target in (
        Target("graph", read_graph, seeds.graphs, GRAPHS),
        Target("graph_text", read_graph_text, seeds.graph_texts, GRAPHS, is_message=False),
        Target("run_meta", read_run, seeds.runs, RUNS),
        Target("op_log", read_op_log, seeds.op_logs, ("ingest/parts/stacks.py",)),
        Target("profile", read_profile, seeds.profiles, ("ingest/saved_profile.py", "ingest/saved_steps.py")),
        Target("xspace", read_space, seeds.spaces, ("ingest/xspace/",)),
        Target(
            "file",
            read_file,
            seeds.files,
            ("ingest/files/recognise.py", "ingest/files/reading.py", "ingest/files/loading.py"),
        ),
        Target(
            "options",
            read_options,
            lambda: [each.encode() for each in seeds.OPTIONS],
            ("profiles/options.py", "output/destination.py"),
            is_message=False,
        ),
        Target(
            "regex",
            read_regex,
            lambda: [each.encode() for each in seeds.REGEXES],
            ("engine/matching.py",),
            is_message=False,
        ),
        Target(
            "command",
            read_command,
            lambda: [each.encode() for each in seeds.LINES],
            ("cli/arguments.py", "cli/commands.py", "cli/prompt.py"),
            is_message=False,
        ),
        Target(
            "magic",
            read_magic,
            lambda: [each.encode() for each in seeds.MAGICS],
            ("magic/arguments.py", "api/typed_options.py"),
            is_message=False,
        ),
        *CHECKPOINTS,
    )
}

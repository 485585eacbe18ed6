"""The magics `%%tfprof` and `%tfprof`: arguments in, a capture around the user's code, its result out."""

from __future__ import annotations

import tokenize
from contextlib import ExitStack, suppress
from io import StringIO
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand
from IPython.core.magic_arguments import magic_arguments
from traitlets import Enum

from tfprof_widget.lib.errors import LONGEST_QUOTE, shortened
from tfprof_widget.magic.arguments import MagicRequest, matchers, parse, tfprof_arguments
from tfprof_widget.magic.cell import EndOfCell, compiled_code, restore_first_line, running_cell, unwrapped
from tfprof_widget.magic.profiling import ProfiledCell, print_note, profile_on_engines, race_with, report_and_go_on
from tfprof_widget.profiles.options import SAVES

_NO_CODE = frozenset({tokenize.ENDMARKER, tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT})


def _unless_silenced(code: str, value: Any) -> Any:
    """The value of code; None if the code ends with a semicolon, which silences `%time` too.

    IPython's own mark for that reads the options too, and fails on those that are no Python, such as `conv\\d`.
    """
    with suppress(SyntaxError, tokenize.TokenError):
        tokens = [each for each in tokenize.generate_tokens(StringIO(code).readline) if each.type not in _NO_CODE]
        return None if tokens and tokens[-1].string == ";" else value
    return value


def load(shell: InteractiveShell) -> None:
    """Teach a shell the magics: what `%load_ext tfprof_widget` does."""
    unload(shell)
    magics = TfprofMagics(shell)
    shell.register_magics(magics)
    with report_and_go_on("%config does not know TfprofMagics"):
        _configurables(shell).append(magics)
    with report_and_go_on("cells under %%tfprof cannot await here, and their lines count from below it"):
        shell.input_transformers_post.append(magics.unwrap)
    with report_and_go_on("cannot complete the arguments of %%tfprof"):
        shell.Completer.custom_matchers.extend(matchers())
    magics.watch_other_cells()


def unload(shell: InteractiveShell) -> None:
    """Take the magics from a shell again."""
    magics = getattr(shell.find_cell_magic("tfprof"), "__self__", None)
    if not isinstance(magics, TfprofMagics):
        return
    with report_and_go_on("%%tfprof stays among the magics"):
        for kind in ("line", "cell"):
            shell.magics_manager.magics[kind].pop("tfprof", None)
        shell.magics_manager.registry.pop(TfprofMagics.__name__, None)
    with suppress(AttributeError, ValueError):  # what could not be put there is not there
        _configurables(shell).remove(magics)
    with suppress(AttributeError, ValueError):
        shell.input_transformers_post.remove(magics.unwrap)
    with suppress(AttributeError, ValueError):
        for matcher in matchers():
            shell.Completer.custom_matchers.remove(matcher)
    magics.watch_no_more()


def _configurables(shell: InteractiveShell) -> list[Any]:
    """What `%config` knows."""
    return shell.configurables


@magics_class
class TfprofMagics(Magics):
    """The magics of one shell."""

    save = Enum(SAVES, "page", help="What a notebook keeps of a result beside the live widget.").tag(config=True)

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self.user_shell = shell
        self._profiled: ProfiledCell | None = None
        self._loaded = ExitStack()

    def watch_other_cells(self) -> None:
        """Remember what a later cell is profiled with: callables of sessions, and the lines in which ops are made."""
        with report_and_go_on("cannot trace callables that a session makes outside a profiled cell"):
            from tfprof_widget.capturing.session_hooks import remembered_callables

            self._loaded.enter_context(remembered_callables())
        with report_and_go_on("cannot tell the lines of ops that are made outside a profiled cell"):
            from tfprof_widget.capturing.kept_code import KeptCode, keeping_code

            self._loaded.enter_context(keeping_code(KeptCode()))

    def watch_no_more(self) -> None:
        """Leave TensorFlow as it was."""
        with report_and_go_on("cannot leave TensorFlow as it was"):
            self._loaded.close()

    def unwrap(self, lines: list[str]) -> list[str]:
        """Take the `%%tfprof` line off a cell."""
        return unwrapped(lines, self.user_shell.transform_cell)

    @magic_arguments()  # type: ignore[untyped-decorator]
    @tfprof_arguments
    @needs_local_scope
    @no_var_expand
    @line_cell_magic
    def tfprof(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        """Profile a cell with %%tfprof on its first line, or one expression with %tfprof.

        The cell runs as it would without the magic; the profile is shown below its output. %tfprof without an
        expression profiles the rest of the cell. Values may be variables, as $name or {name}; lists are
        comma-separated. Example: %%tfprof --view op --order_by micros --min_micros 100
        """
        variables = self.user_shell.user_ns | (local_ns or {})
        request, code = parse(line, variables)
        if request.help:
            print(self.tfprof.parser.format_help().removeprefix("::").lstrip())
            return None
        if cell is not None and code:
            unread = shortened(repr(code), LONGEST_QUOTE)
            raise UsageError(f"%%tfprof cannot read {unread} on its first line; the code goes below it")
        if cell is not None and not cell.strip():
            raise UsageError("%%tfprof is a cell magic, but the cell body is empty")
        if request.engines is not None:
            return self._profile_elsewhere(request, code if cell is None else cell, variables)
        if request.against:
            return self._race(request, code if cell is None else cell, variables, local_ns)
        if cell is None and not code:
            return self._profile_cell(request)
        return self._profile_code(request, code if cell is None else cell, local_ns)

    def _profile_elsewhere(self, request: MagicRequest, code: str, variables: dict[str, Any]) -> None:
        """Run code on engines."""
        if not code:
            raise UsageError(
                "--engines needs the code to run there: below %%tfprof, or behind %tfprof --engines rc as an expression"
            )
        profile_on_engines(self.user_shell, request, code, variables)

    def _race(
        self, request: MagicRequest, code: str, variables: dict[str, Any], local_ns: dict[str, Any] | None
    ) -> None:
        """Run code and something else in turns."""
        if not code:
            raise UsageError("--against needs the code to race: below %%tfprof, or behind %tfprof as an expression")
        run = compiled_code(self.user_shell, code)
        race_with(self.user_shell, request, variables, lambda: run(local_ns))

    def _profile_cell(self, request: MagicRequest) -> None:
        """Begin now, end with the cell."""
        try:
            frame = running_cell()
        except AttributeError as error:  # the cell is to run all the same
            print_note(
                f"cannot profile this cell, for this IPython does not tell which cell is running ({error}): "
                "put `with tfprof_widget.capture() as prof:` around the code instead, and show prof in the next cell"
            )
            return
        if frame is None:
            raise UsageError("%tfprof without an expression profiles the rest of a cell, but no cell is running")
        with report_and_go_on("cannot profile this"):
            restore_first_line(self.user_shell)
            if self._profiled is not None:
                print_note("this cell is being profiled already, so the inner %tfprof does nothing")
                return
            EndOfCell(self.user_shell, frame, self._end)
            self._profiled = ProfiledCell(self.user_shell, request)
            self._profiled.begin()

    def _end(self) -> None:
        profiled, self._profiled = self._profiled, None
        if profiled is not None:
            profiled.end()

    def _profile_code(self, request: MagicRequest, code: str, local_ns: dict[str, Any] | None) -> Any:
        """Run code within the magic and return its last value, as %time does."""
        run = compiled_code(self.user_shell, code)
        if self._profiled is not None:
            print_note("this cell is being profiled already, so the inner %tfprof only runs its code")
            return _unless_silenced(code, run(local_ns))
        self._profiled = ProfiledCell(self.user_shell, request, code)
        try:
            self._profiled.begin()
            return _unless_silenced(code, run(local_ns))
        finally:
            self._end()

"""The magics `%%tfprof` and `%tfprof`: arguments in, a capture around the user's code, its result out."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import (
    Magics,
    line_cell_magic,
    magics_class,
    needs_local_scope,
    no_var_expand,
)
from IPython.core.magic_arguments import magic_arguments

from tfprof_widget.magic.arguments import Request, parse, tfprof_arguments
from tfprof_widget.magic.cell import EndOfCell, restore_first_line, running_cell, unwrapped
from tfprof_widget.magic.code import compiled_code
from tfprof_widget.magic.elsewhere import profile_on_engines
from tfprof_widget.magic.newer_ipython import complete_arguments, complete_no_more, silenced_by_semicolon
from tfprof_widget.magic.profiled import Profiled
from tfprof_widget.magic.telling import stepping_aside, tell


def load(shell: InteractiveShell) -> None:
    """Teach a shell the magics: what `%load_ext tfprof_widget` does."""
    unload(shell)
    magics = TfprofMagics(shell)
    shell.register_magics(magics)
    shell.input_transformers_post.append(magics.unwrap)
    complete_arguments(shell)
    magics.watch_other_cells()


def unload(shell: InteractiveShell) -> None:
    """Take the magics from a shell again."""
    manager = shell.magics_manager
    magics = manager.registry.pop(TfprofMagics.__name__, None)
    if magics is None:
        return
    shell.input_transformers_post.remove(magics.unwrap)
    complete_no_more(shell)
    for kind in ("line", "cell"):
        manager.magics[kind].pop("tfprof", None)
    magics.watch_no_more()


@magics_class
class TfprofMagics(Magics):
    """The magics of one shell."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self.user_shell = shell
        self._profiled: Profiled | None = None
        self._loaded = ExitStack()

    def watch_other_cells(self) -> None:
        """Let what is made in one cell be profiled in a later one: callables of sessions, and ops with their lines."""
        with stepping_aside("cannot trace callables that a session makes outside a profiled cell"):
            from tfprof_widget.capturing.sessions import remembered_callables

            self._loaded.enter_context(remembered_callables())
        with stepping_aside("cannot tell the lines of ops that are made outside a profiled cell"):
            from tfprof_widget.capturing.kept_code import KeptCode, keeping_code

            self._loaded.enter_context(keeping_code(KeptCode()))

    def watch_no_more(self) -> None:
        """Leave TensorFlow as it was."""
        with stepping_aside("cannot leave TensorFlow as it was"):
            self._loaded.close()

    def unwrap(self, lines: list[str]) -> list[str]:
        """Take the `%%tfprof` line off a cell."""
        return unwrapped(lines, self.user_shell.transform_cell)

    @magic_arguments()  # type: ignore[untyped-decorator]
    @tfprof_arguments
    @needs_local_scope
    @no_var_expand
    @silenced_by_semicolon
    @line_cell_magic
    def tfprof(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        """Profile a cell with %%tfprof on its first line, or one expression with %tfprof.

        The cell runs as it would without the magic; the profile is shown below its output. %tfprof without an
        expression profiles the rest of the cell. Values may be variables, as $name or {name}; lists are
        comma-separated. Example: %%tfprof --view op --order_by micros --min_micros 100
        """
        variables = self.user_shell.user_ns | (local_ns or {})
        request, code = parse(self.tfprof.parser, line, variables)
        if request.help:
            print(self.tfprof.parser.format_help().removeprefix("::").lstrip())
            return None
        if cell is not None and code:
            raise UsageError(f"%%tfprof cannot read {code!r} on its first line; the code goes below it")
        if cell is not None and not cell.strip():
            raise UsageError("%%tfprof is a cell magic, but the cell body is empty")
        if request.engines is not None:
            return self._profile_elsewhere(request, code if cell is None else cell, variables)
        if cell is None and not code:
            return self._profile_cell(request)
        return self._profile_code(request, code if cell is None else cell, local_ns)

    def _profile_elsewhere(self, request: Request, code: str, variables: dict[str, Any]) -> None:
        """Run code on engines."""
        if not code:
            raise UsageError(
                "--engines needs the code to run there: below %%tfprof, or behind %tfprof --engines rc as an expression"
            )
        profile_on_engines(self.user_shell, request, code, variables)

    def _profile_cell(self, request: Request) -> None:
        """Begin now, end with the cell."""
        frame = running_cell()
        if frame is None:
            raise UsageError("%tfprof without an expression profiles the rest of a cell, but no cell is running")
        with stepping_aside("cannot profile this"):
            restore_first_line(self.user_shell)
            if self._profiled is not None:
                tell("this cell is being profiled already, so the inner %tfprof does nothing")
                return
            EndOfCell(self.user_shell, frame, self._end)
            self._profiled = Profiled(self.user_shell, request)
            self._profiled.begin()

    def _end(self) -> None:
        profiled, self._profiled = self._profiled, None
        if profiled is not None:
            profiled.end()

    def _profile_code(self, request: Request, code: str, local_ns: dict[str, Any] | None) -> Any:
        """Run code within the magic and give its last value, as %time does."""
        run = compiled_code(self.user_shell, code)
        if self._profiled is not None:
            tell("this cell is being profiled already, so the inner %tfprof only runs its code")
            return run(local_ns)
        self._profiled = Profiled(self.user_shell, request)
        try:
            self._profiled.begin()
            return run(local_ns)
        finally:
            self._end()

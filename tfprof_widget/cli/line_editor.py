"""Lines from a person at a terminal: edited, completed with Tab and remembered, by prompt_toolkit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tfprof_widget.cli.completion import candidates
from tfprof_widget.cli.subject import Subject

PROMPT = "tfprof> "


def line_editor(subject: Subject) -> Callable[[], str]:
    """What asks for a line; it raises KeyboardInterrupt on Ctrl-C and EOFError on Ctrl-D."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.shortcuts import CompleteStyle

    class Words(Completer):
        """The words that Tab offers."""

        def get_completions(self, document: Any, event: Any) -> Iterator[Completion]:
            written, words = candidates(document.text_before_cursor, subject.profile)
            return (Completion(word, -written, word.rstrip()) for word in words)

    reader: PromptSession[str] = PromptSession(
        PROMPT,
        history=_history(),
        completer=Words(),
        complete_while_typing=False,
        complete_style=CompleteStyle.READLINE_LIKE,
    )
    return reader.prompt


def _history() -> Any:
    """The lines of all sessions, in the user's state directory; of this one only where that cannot be written."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    try:
        state = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
        path = Path(state) / "tfprof" / "history"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        with path.open("a"):
            return FileHistory(str(path))
    except (OSError, RuntimeError):
        return InMemoryHistory()

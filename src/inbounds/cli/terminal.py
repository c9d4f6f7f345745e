"""Output of commands on a terminal, and parsing of numbers that are typed there."""

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from inbounds._text import visible, visible_lines


def parse_whole(text: str | None, name: str) -> int | None:
    """Parse a whole number as it is typed: 10000 or 10_000."""
    if text is None:
        return None
    if not re.fullmatch(r"-?[0-9_]{1,18}", text):
        raise ValueError(f"{name} must be a whole number such as 10000, got {text[:40]!r}")
    return int(text)


def say(text: str) -> None:
    """Print to standard error, if it is open."""
    if sys.stderr is not None:
        with suppress(BrokenPipeError):
            print(visible_lines(text), file=sys.stderr)


def show(text: object) -> None:
    """Print to standard output. Line breaks are kept, other control characters are escaped."""
    print(visible_lines(str(text)))


@contextmanager
def announce_look_alikes() -> Iterator[None]:
    """Print warnings about look-alike datasets at once, each in one line."""
    from inbounds.ledger import LookAlike

    with warnings.catch_warnings():
        warnings.simplefilter("always", LookAlike)
        others = warnings.showwarning

        def tell(message: Warning | str, category: type[Warning], *place: Any, **rest: Any) -> None:
            if issubclass(category, LookAlike):
                say(f"inbounds: {visible(str(message))}")
            else:
                others(message, category, *place, **rest)

        # The documentation of `warnings` says to replace this function; `catch_warnings` restores it.
        warnings.showwarning = tell
        yield


@contextmanager
def progress_bar(what: str) -> Iterator[Any]:
    """Show a progress bar on a terminal, and nothing elsewhere."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def show(done: int, of: int, description: str | None = None) -> None:
            bar.update(task, completed=done, total=of, description=description or what)

        yield show


@contextmanager
def show_steps() -> Iterator[Any]:
    """Show the current step on a terminal, and nothing elsewhere."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield status.update

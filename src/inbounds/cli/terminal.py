"""Output of commands on a terminal, and parsing of numbers that are typed there."""

import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from inbounds._text import visible, visible_lines, wrap
from inbounds.errors import LookAlike, OtherLimit

if TYPE_CHECKING:
    from inbounds.report.lines import Line

# Yellow for what needs care, red for what says nothing. What is as it should be has no colour.
_COLOURS = {"rough": "33", "tells nothing": "31"}


def parse_whole(text: str | None, name: str) -> int | None:
    """Parse a whole number as it is typed: 10000 or 10_000."""
    if text is None:
        return None
    if not re.fullmatch(r"-?[0-9_]{1,18}", text):
        raise ValueError(f"{name} must be a whole number such as 10000, got {text[:40]!r}")
    return int(text)


def say(text: str) -> None:
    """Print to standard error, if it is open; where both go to one file, after what standard output was given."""
    if sys.stdout is not None:
        with suppress(BrokenPipeError):
            sys.stdout.flush()
    if sys.stderr is not None:
        with suppress(BrokenPipeError):
            print(visible_lines(text), file=sys.stderr)


def say_prose(text: str) -> None:
    """Print a sentence to standard error, in lines that fit on a terminal."""
    say(wrap(visible(text)))


def wrap_lines(lines: Iterable[str]) -> str:
    """Break lines that do not fit on a terminal; what follows a break is indented."""
    return "\n".join(wrap(line, "", "      ") for line in lines)


def show(text: object) -> None:
    """Print to standard output. Line breaks are kept, other control characters are escaped."""
    print(visible_lines(str(text)))


def show_values(lines: "list[Line]") -> None:
    """Print released numbers to standard output; on a terminal, with a colour for those that are not reliable."""
    coloured = has_colours()
    for line in lines:
        code = _COLOURS.get(line.quality or "") if coloured else None
        quality = line.quality or ""
        show(line.text + quality) if code is None else print(f"{visible(line.text)}\x1b[{code}m{quality}\x1b[0m")


def has_colours() -> bool:
    """Whether standard output is a terminal that shows colours, and nobody asked for none (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout is not None and sys.stdout.isatty()


@contextmanager
def announce_look_alikes() -> Iterator[None]:
    """Print warnings about look-alike datasets and other limits at once, each in one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", LookAlike)
        warnings.simplefilter("always", OtherLimit)
        others = warnings.showwarning

        def tell(message: Warning | str, category: type[Warning], *place: Any, **rest: Any) -> None:
            if issubclass(category, LookAlike | OtherLimit):
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

"""Let no exact number outlive a call in an exception.

An exception keeps the frames that it went through, and with them their local variables: a debugger, a notebook or a
service that collects errors reads them long after the call. So work on exact numbers is run by `confine`: what it
raises has no frame from the work. A frame that is only cleared still has the function that ran in it, and with that
the variables of its closure.
"""

import dis
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import TypeVar

from inbounds.errors import InboundsError

_Result = TypeVar("_Result")
_RAISE = dis.opmap["RAISE_VARARGS"]
# Their messages hold no data, or there is none.
_PUBLIC = (InboundsError, KeyboardInterrupt, SystemExit, GeneratorExit)


# claim:confined
def confine(action: Callable[[], _Result], *, counts: bool = True) -> _Result:
    """The result of some work, or its exception without the values that it met.

    Work that ``counts`` knows exact numbers. Other work reads a table to open it, and keeps all messages.

    Formal guarantees
    -----------------
    The exception has no frame, context or cause from the work, whatever ended it: a refusal, a lack of memory, Ctrl-C.
    Exceptions of the library and interrupts keep their messages. Of any other one its type is left, the lines of code
    that it came through, and its message if this package raised it: another message might quote a value.
    """
    handled = sys.exception()
    try:
        return action()
    except BaseException as error:
        failure = _without_values(error, handled, counts=counts)
    try:
        # Raised outside of the handler, it has no context from the work.
        raise failure
    finally:
        del failure


def _without_values(error: BaseException, handled: BaseException | None, *, counts: bool) -> BaseException:
    """The exception to raise, after clearing the frames of this one and of all that led to it."""
    is_public = isinstance(error, _PUBLIC) or not counts
    message, places = _find_message(error), _list_places(error)
    _forget(error, handled)
    if is_public:
        return error
    failure = _make(type(error), message)
    failure.add_note(places)
    return failure


def _forget(error: BaseException, handled: BaseException | None) -> None:
    """Take the frames of an exception and of those that led to it, but not of what the caller handles already."""
    waiting: list[BaseException | None] = [error]
    seen = {id(None), id(handled)}
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
        _clear_frames(one.__traceback__)
        one.__traceback__ = one.__cause__ = one.__context__ = None


def _clear_frames(trace: TracebackType | None) -> None:
    """Clear the frames of a traceback, and the frames that called them, up to the first one that still runs."""
    while trace is not None:
        frame: FrameType | None = trace.tb_frame
        with suppress(RuntimeError):
            while frame is not None:
                frame.clear()
                frame = frame.f_back
        trace = trace.tb_next


def _find_message(error: BaseException) -> str:
    """The message, if this package wrote it: by a ``raise``, and not by a function that quotes what it was given."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None:
        code, place = trace.tb_frame.f_code.co_code, trace.tb_lasti
        # With an argument of 0, what another function raised is raised again.
        raises = code[place] == _RAISE and code[place + 1] > 0
        if raises and str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] == __package__:
            return str(error)
    return f"{type(error).__name__} while a table was counted; its message is not shown, since it might quote data"


def _list_places(error: BaseException) -> str:
    """The lines of code that an exception came through, which show no data."""
    lines = [f"{frame.f_globals.get('__name__')}, line {line}" for frame, line in walk_tb(error.__traceback__)]
    return "; ".join(lines)


def _make(kind: type[BaseException], message: str) -> BaseException:
    """An exception of a kind; a plain one where the kind takes no message."""
    try:
        return kind(message)
    except Exception:
        return RuntimeError(message)


_PACKAGE = f"{Path(__file__).parent}{os.sep}"


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn about the line that called the library, however many of its functions lie between."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)

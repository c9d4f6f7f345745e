"""Let no exact number outlive a call in an exception.

An exception keeps the frames that it went through, and with them their local variables: a debugger, a notebook or a
service that collects errors reads them long after the call. So work on exact numbers is run by `confine`: what it
raises has frames without variables.
"""

import sys
from collections.abc import Callable
from traceback import clear_frames
from types import TracebackType
from typing import TypeVar

from inbounds.errors import InboundsError

_Result = TypeVar("_Result")
# Their messages hold no data, or there is none.
_PUBLIC = (InboundsError, KeyboardInterrupt, SystemExit, GeneratorExit)


def confine(action: Callable[[], _Result]) -> _Result:
    """claim:confined. The result of some work, or its exception without the values that it met.

    Formal guarantees
    -----------------
    All frames below this one are cleared, whatever ended the work: a refusal, a lack of memory, Ctrl-C. The exception
    has neither context nor cause from the work. Exceptions of the library and interrupts keep their messages. Of any
    other one only its type is left, and its message if it stands in the code, since another message might quote a
    value.
    """
    handled = sys.exception()
    try:
        return action()
    except BaseException as error:
        failure = _without_values(error, handled)
    try:
        # Raised outside of the handler, it has no context from the work.
        raise failure
    finally:
        del failure


def _without_values(error: BaseException, handled: BaseException | None) -> BaseException:
    """The exception to raise, after clearing the frames of this one and of all that led to it."""
    keeps_message = isinstance(error, _PUBLIC) or _stands_in_code(error)
    name, trace = type(error).__name__, error.__traceback__
    _clear(error, handled)
    if keeps_message:
        error.__cause__ = error.__context__ = None
        return error
    message = f"{name} after the table was read; its message is not shown, since it might quote data"
    return _make(type(error), message).with_traceback(trace)


def _clear(error: BaseException | None, handled: BaseException | None) -> None:
    """Clear the frames of an exception and of those that led to it, but not of what the caller handles already."""
    waiting, seen = [error], {id(handled)}
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        # Frames that still run, such as the caller's, are left as they are.
        clear_frames(one.__traceback__)
        waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]


def _stands_in_code(error: BaseException) -> bool:
    """Whether the message is a text of the function that raised it, or of its module."""
    frame = _last(error.__traceback__)
    texts = (*frame.tb_frame.f_code.co_consts, *frame.tb_frame.f_globals.values()) if frame else ()
    return any(isinstance(text, str) and (text,) == error.args for text in texts)


def _last(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _make(kind: type[BaseException], message: str) -> BaseException:
    """An exception of a kind; a plain one where the kind takes no message."""
    try:
        return kind(message)
    except Exception:
        return RuntimeError(message)

"""Exceptions that leave work on exact numbers: with their type, and without the variables of their frames."""

from fractions import Fraction

import pytest

from inbounds._frames import confine
from inbounds.errors import DataError, EngineError


class Odd(Exception):
    """A type that takes more than a message."""

    def __init__(self, code, message):
        super().__init__(code, message)


def variables(error):
    """All variables in the frames of an exception, of those that led to it, and of their callers in this module."""
    found, waiting = {}, [error]
    while waiting:
        one = waiting.pop()
        if one is None:
            continue
        trace = one.__traceback__
        while trace is not None:
            frame = trace.tb_frame
            while frame is not None and frame.f_code.co_filename == __file__:
                found |= {(frame.f_code.co_name, name): value for name, value in frame.f_locals.items()}
                frame = frame.f_back
            trace = trace.tb_next
        waiting += [one.__cause__, one.__context__]
    return {value for (function, name), value in found.items() if name == "cell"}


def fail(error, *, caught=False, cause=False):
    def deeper(cell):
        if caught or cause:
            try:
                raise KeyError(cell)
            except KeyError as first:
                raise error from (first if cause else None)
        raise error

    def work():
        cell = int("7919")
        return deeper(cell + 1)

    return work


ERRORS = [DataError("a rule"), EngineError("it failed"), KeyboardInterrupt(), SystemExit(2), MemoryError(), Odd(1, "x")]


@pytest.mark.claim("confined")
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("how", [{}, {"caught": True}, {"cause": True}])
def test_frames_are_empty(error, how):
    """Negative control: without it the frames hold the number."""
    with pytest.raises(type(error)) as plain:
        fail(error, **how)()
    assert variables(plain.value) >= {7919, 7920}
    error = type(error)(*error.args)
    with pytest.raises(RuntimeError if isinstance(error, Odd) else type(error)) as caught:
        confine(fail(error, **how))
    assert variables(caught.value) == set()
    assert caught.value.__context__ is caught.value.__cause__ is None
    trace = caught.value.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    assert trace.tb_frame.f_code.co_name == "confine"
    # Where a bug was met is still known.
    is_bug = isinstance(error, MemoryError | Odd)
    assert [f"{__name__}, line" in note for note in getattr(caught.value, "__notes__", ())] == [True] * is_bug


@pytest.mark.claim("confined")
@pytest.mark.parametrize("error", ERRORS[:4], ids=lambda error: type(error).__name__)
def test_messages_of_the_library_are_kept(error):
    with pytest.raises(type(error)) as caught:
        confine(fail(error))
    assert caught.value is error


@pytest.mark.claim("confined")
def test_messages_are_kept_if_the_package_raised_them():
    """A plain `ValueError` of ours names an argument. One of `int`, or of another package, may quote a value."""
    names = {"__name__": "inbounds.tables.places"}
    exec("def refuse(name): raise ValueError(f'{name} must be a file')\ndef read(text): return int(text)", names)
    exec("def again(text):\n try: int(text)\n except ValueError: raise", names)
    with pytest.raises(ValueError, match="source must be a file") as caught:
        confine(lambda: names["refuse"]("source"))
    assert caught.value.args == ("source must be a file",)
    hidden = [lambda: names["read"]("7919.5"), lambda: names["again"]("7919.5"), lambda: int("7919.5")]
    for work in (*hidden, fail(ValueError("7919")), lambda: Fraction(7919, 0)):
        with pytest.raises((ValueError, ZeroDivisionError), match="its message is not shown") as caught:
            confine(work)
        assert "7919" not in str(caught.value)


@pytest.mark.claim("confined")
def test_a_refusal_that_was_returned_after_it_was_caught():
    """Its traceback ends where it was caught, but its frames know who called them."""

    def ask():
        try:
            raise DataError("a rule")
        except DataError as error:
            return error

    def count():
        cell = int("7919")
        return ask(), cell

    def work():
        error, cell = count()
        assert cell
        raise error

    with pytest.raises(DataError) as plain:
        work()
    assert variables(plain.value) == {7919}
    with pytest.raises(DataError) as caught:
        confine(work)
    assert variables(caught.value) == set()


@pytest.mark.claim("confined")
def test_what_the_caller_handles_already_is_left_as_it_is():
    def handle():
        cell = int("104729")
        with pytest.raises(ValueError, match="before") as before:
            raise ValueError(f"before {cell}")
        try:
            raise before.value
        except ValueError:
            with pytest.raises(DataError) as caught:
                confine(fail(DataError("a rule")))
        return before.value, caught.value

    before, after = handle()
    assert after.__context__ is before
    assert before.__traceback__ is not None
    assert variables(before) == {104729}
    assert confine(lambda: 3) == 3


@pytest.mark.claim("confined")
def test_work_that_counts_nothing_keeps_all_messages():
    with pytest.raises(ZeroDivisionError, match=r"Fraction\(7, 0\)") as caught:
        confine(lambda: Fraction(7, 0), counts=False)
    assert caught.value.__context__ is None
    with pytest.raises(Odd) as odd:
        confine(fail(Odd(1, "x")), counts=False)
    assert (odd.value.args, variables(odd.value)) == ((1, "x"), set())

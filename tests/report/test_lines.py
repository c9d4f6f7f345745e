"""The result on a terminal: 80 columns, marks, and colour only where it says something."""

import io
import sys

import pytest

import inbounds as ib
from inbounds.cli.terminal import show_values
from inbounds.report.lines import list_lines
from inbounds.report.rows import collect_sections


@pytest.fixture(scope="module")
def lines():
    table = {"x": [1.0, 2.0] * 200, "g": ["a", "a very long level, which no terminal has room for: " + "x" * 90] * 200}
    made = {
        "a name that is longer than all the room that there is on a terminal of eighty columns": ib.mean(
            table, "x", bounds=(0, 2), epsilon=9
        ),
        "lost": ib.mean(table, "x", bounds=(0, 1000), epsilon=0.0001),
        "levels": ib.proportions(table, "g", levels=[*dict.fromkeys(table["g"]), *map(str, range(30))], epsilon=1),
    }
    return list_lines(collect_sections(ib.Releases(made)))


def test_lines_fit_and_have_marks(lines):
    assert max(len(line.text + (line.quality or "")) for line in lines) <= 80
    assert [line.quality for line in lines if line.text.startswith("lost")] == ["tells nothing"]
    assert any(line.text == "  and 16 more in values.csv" for line in lines)
    assert lines[-1].text.startswith("34 numbers: ")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("no_color", "term", "coloured"), [("", "xterm", True), ("1", "xterm", False), ("", "dumb", False)]
)
def test_colour_only_for_what_needs_care(lines, monkeypatch, no_color, term, coloured):
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys, "stdout", Terminal())
    show_values(lines)
    said = sys.stdout.getvalue()
    assert ("\x1b[31mtells nothing\x1b[0m" in said) is coloured
    assert all("\x1b" not in line for line in said.splitlines() if line.endswith("reliable"))
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    show_values(lines)
    assert "\x1b" not in sys.stdout.getvalue()

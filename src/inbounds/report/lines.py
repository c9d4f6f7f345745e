"""The result of a release for a terminal of 80 columns: a line for each number, with ± and how good it is."""

from collections import Counter
from dataclasses import dataclass
from textwrap import wrap
from typing import TypeAlias

from inbounds._check import percent
from inbounds._estimates import QUALITIES, Quality
from inbounds._text import WIDTH, visible
from inbounds.record.notes import keeps_rows
from inbounds.report.rows import NOT_JUDGED, VERDICTS, Row, Section
from inbounds.report.words import advise_cover, explain_rows

# The most numbers of one release that are shown. The others are in values.csv.
_MOST_ROWS = 16
_KINDS = {
    ("population", False): "for the population: noise and sampling",
    ("noise", False): "for this table: noise alone",
    ("population", True): "for the population of rows that are kept: noise and sampling",
    ("noise", True): "for the rows that were kept: noise alone",
}
# Of intervals: their level and kind, whether they are for the rows that were kept of each person, whether all of a
# release hold together, and whether they need normal records.
_Kind: TypeAlias = tuple[float, str, bool, bool, bool]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the result: its text, and how good the number in it is, which stands at its end."""

    text: str
    quality: Quality | None = None


def list_lines(sections: list[Section]) -> list[Line]:
    """The numbers of all releases, each in a line, then how many of them are reliable.

    Parameters
    ----------
    sections
        The result of `inbounds.report.rows.collect_sections`.

    Returns
    -------
    list of Line
        Lines of at most 80 columns. All names are made visible.
    """
    pairs = [(section, section.distinct_rows()) for section in sections]
    texts = [section.write(row) for section, rows in pairs for row in rows[:_MOST_ROWS]]
    wide = max(map(len, texts))
    last = max(len(quality) for quality in QUALITIES)
    # Two spaces between the columns, and before the names of cells.
    room = max(WIDTH - wide - last - 4, 20)
    kinds = list(dict.fromkeys(kind for kind in map(_kind_of, sections) if kind is not None))
    lines: list[Line] = []
    for section, rows in pairs:
        title = visible(section.name) + _mark_kind(section, kinds)
        if section.release.axes:
            lines.append(Line(_shorten(title, WIDTH)))
        for row in rows[:_MOST_ROWS]:
            name = f"  {visible(row.cell)}" if section.release.axes else title
            lines.append(_write_line(_shorten(name, room), section, row, room, wide))
        if len(rows) > _MOST_ROWS:
            lines.append(Line(f"  and {len(rows) - _MOST_ROWS:,} more in values.csv"))
    sentences = [_describe_kind(kind) for kind in kinds]
    head = [Line(text) for text in wrap(f"± and ranges are {sentences[0]}", WIDTH)] if sentences else []
    notes = [Line(part) for i, text in enumerate(sentences[1:], 1) for part in wrap(f"{'*' * i} {text}", WIDTH)]
    notes += [Line(f"{NOT_JUDGED}: {text}") for text in dict.fromkeys(filter(None, map(advise_cover, sections)))]
    rules = explain_rows({section.name: section.release for section in sections})
    notes += [Line(part) for text in rules for part in wrap(visible(text), WIDTH)]
    return [*head, *lines, *notes, Line(count_qualities(sections))]


def _kind_of(section: Section) -> _Kind | None:
    """The kind of the intervals that a release shows; None if it shows none."""
    interval = section.shown_interval
    if interval is None:
        return None
    return interval.level, interval.kind, keeps_rows(section.release), interval.simultaneous, interval.if_normal


def _describe_kind(kind: _Kind) -> str:
    level, place, of_kept, simultaneous, if_normal = kind
    together = ", of all numbers of a release together" if simultaneous else ""
    return (
        f"{percent(level)} intervals {_KINDS[place, of_kept]}{together}{', if records are normal' if if_normal else ''}"
    )


def _mark_kind(section: Section, kinds: list[_Kind]) -> str:
    """Asterisks for a release whose intervals are of another kind than those of the first."""
    kind = _kind_of(section)
    place = 0 if kind is None else kinds.index(kind)
    return f" {'*' * place}" if place else ""


def _write_line(name: str, section: Section, row: Row, room: int, wide: int) -> Line:
    quality = row.estimate.quality
    end = "" if not row.mark else "  " if quality else f"  {row.mark}"
    return Line(f"{name:{room}s}  {section.write(row):{wide}s}{end}", quality)


def _shorten(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"


def count_qualities(sections: list[Section]) -> str:
    """Say how many numbers are reliable, rough or tell nothing.

    Parameters
    ----------
    sections
        The result of `inbounds.report.rows.collect_sections`.

    Returns
    -------
    str
        Such as ``"27 numbers: 24 reliable, 3 rough"``.
    """
    counts = Counter(row.verdict for section in sections for row in section.distinct_rows())
    total = counts.total()
    parts = [f"{counts[verdict]:,} {_conjugate(verdict, counts[verdict])}" for verdict in VERDICTS if counts[verdict]]
    return f"{total:,} number{'s' * (total != 1)}: {', '.join(parts)}"


def _conjugate(quality: str, count: int) -> str:
    return quality.replace("tells", "tell") if count > 1 else quality

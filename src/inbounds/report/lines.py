"""The result of a release for a terminal of 80 columns: a line for each number, with ± and how good it is."""

from collections import Counter
from dataclasses import dataclass
from textwrap import wrap
from typing import TypeAlias

from inbounds._check import percent
from inbounds._estimates import QUALITIES, Quality
from inbounds._text import WIDTH, visible
from inbounds.inference.result import Interval
from inbounds.record.selection import plain_statistic
from inbounds.report.rows import NOT_JUDGED, VERDICTS, Row, Section

# The most numbers of one release that are shown. The others are in values.csv.
_MOST_ROWS = 16
_COVER = f"{NOT_JUDGED}: no interval was paid for; cover = 0.95 of a quantile pays for one"
_KINDS = {"population": "for the population: noise and sampling", "noise": "for this table: noise alone"}
# The level and kind of an interval, whether all of a release hold together, and whether only for normal records.
_Kind: TypeAlias = tuple[float, str, bool, bool]


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
    shown = [(section, section.distinct_rows()) for section in sections]
    texts = [section.write(row) for section, rows in shown for row in rows[:_MOST_ROWS]]
    wide = max(map(len, texts))
    last = max(len(quality) for quality in QUALITIES)
    # Two spaces between the columns, and before the names of cells.
    room = max(WIDTH - wide - last - 4, 20)
    kinds = list(dict.fromkeys(_kind_of(one.interval) for one in sections if one.interval is not None))
    lines: list[Line] = []
    for section, rows in shown:
        title = visible(section.name) + _mark_kind(section, kinds)
        if section.release.axes:
            lines.append(Line(_shorten(title, WIDTH)))
        for row in rows[:_MOST_ROWS]:
            name = f"  {visible(row.cell)}" if section.release.axes else title
            lines.append(_write_line(_shorten(name, room), section, row, room, wide))
        if len(rows) > _MOST_ROWS:
            lines.append(Line(f"  and {len(rows) - _MOST_ROWS:,} more in values.csv"))
    said = [_describe_kind(kind) for kind in kinds]
    head = [Line(text) for text in wrap(f"± and ranges are {said[0]}", WIDTH)] if said else []
    notes = [Line(part) for i, text in enumerate(said[1:], 1) for part in wrap(f"{'*' * i} {text}", WIDTH)]
    if any(map(_lacks_cover, sections)):
        notes.append(Line(_COVER))
    return [*head, *lines, *notes, Line(count_qualities(sections))]


def _lacks_cover(section: Section) -> bool:
    """Whether a number is not judged that could have had an interval."""
    statistic = plain_statistic(section.release.statistic)
    # Those of several quantiles are made of each other, or not at all.
    could = getattr(statistic, "cover", 1) is None and len(getattr(statistic, "shares", ())) == 1
    return could and any(row.verdict == NOT_JUDGED for row in section.distinct_rows())


def _kind_of(interval: Interval) -> _Kind:
    return interval.level, interval.kind, interval.simultaneous, interval.if_normal


def _describe_kind(kind: _Kind) -> str:
    level, place, simultaneous, if_normal = kind
    together = ", of all numbers of a release together" if simultaneous else ""
    return f"{percent(level)} intervals {_KINDS[place]}{together}{', if records are normal' if if_normal else ''}"


def _mark_kind(section: Section, kinds: list[_Kind]) -> str:
    """Asterisks for a release whose intervals are of another kind than those of the first."""
    interval = section.interval
    place = 0 if interval is None else kinds.index(_kind_of(interval))
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
    found = Counter(row.verdict for section in sections for row in section.distinct_rows())
    total = found.total()
    named = [f"{found[one]:,} {_conjugate(one, found[one])}" for one in VERDICTS if found[one]]
    return f"{total:,} number{'s' * (total != 1)}: {', '.join(named)}"


def _conjugate(quality: str, count: int) -> str:
    return quality.replace("tells", "tell") if count > 1 else quality

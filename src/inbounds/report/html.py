"""The report as one self-contained HTML page.

Everything that colours and pictures show is also said in words, and all figures are in tables.
"""

from dataclasses import dataclass
from importlib.metadata import version

from inbounds._html import render
from inbounds._text import visible
from inbounds.record import Releases
from inbounds.report import words
from inbounds.report.rows import LEVEL, Section

# A picture of more intervals than this would be as long as the table below it.
_MOST_DRAWN = 40
_LONGEST_LABEL = 22


def to_html(releases: Releases, sections: list[Section]) -> str:
    """Write the report as a page.

    Parameters
    ----------
    releases
        The releases of a plan.
    sections
        The result of `inbounds.report.rows.collect_sections`.

    Returns
    -------
    str
        One HTML file that loads nothing else. All names in it are escaped.
    """
    page = render(
        "report",
        dataset=releases.dataset_name,
        facts=words.list_facts(releases),
        how_to_read=words.HOW_TO_READ,
        sections=[
            {
                "name": section.name,
                "picture": _lay_out_picture(section),
                "caption": words.describe_release(section),
                "heads": words.list_heads(section),
                "lines": words.list_lines(section),
                "rest": words.describe_rest(section),
                "notes": words.list_notes(section),
            }
            for section in sections
        ],
        promise=words.explain_promise(releases),
        symbols=words.write_symbols(releases),
        certificate_heads=words.CERTIFICATE_HEADS,
        certificates=words.list_certificates(sections),
        payment=words.describe_payment(releases),
        version=version("inbounds"),
    )
    return page + "\n"


@dataclass(frozen=True, slots=True)
class Mark:
    """One interval of a picture: its label, its height on the page, and the positions of its ends and its value.

    The value is None if it is not available.
    """

    label: str
    y: int
    lower: float
    upper: float
    value: float | None


@dataclass(frozen=True, slots=True)
class Picture:
    """The layout of a picture of values and intervals. Only the labels of marks and ``words`` hold names."""

    words: str
    left: int
    right: int
    bottom: int
    marks: tuple[Mark, ...]
    ends: tuple[str, str]


def _lay_out_picture(section: Section) -> Picture | None:
    """Lay out the picture of a release. None if it has no intervals, or too many."""
    rows = section.distinct_rows()
    intervals = [(row.lower, row.upper) for row in rows if row.lower is not None and row.upper is not None]
    if not intervals or len(rows) > _MOST_DRAWN:
        return None
    values = [row.value for row in rows if row.value is not None]
    low = min([*(lower for lower, _ in intervals), *values])
    high = max([*(upper for _, upper in intervals), *values])
    left, width, step = 230, 400, 26

    def place(value: float) -> float:
        return round(left + (value - low) / (high - low or 1.0) * width, 1)

    marks = tuple(
        Mark(
            _shorten(row.cell or section.name),
            18 + i * step,
            place(lower),
            place(upper),
            None if row.value is None else place(row.value),
        )
        for i, (row, (lower, upper)) in enumerate(zip(rows, intervals, strict=True))
    )
    said = f"{section.name}: released values as circles, {LEVEL:.0%} intervals as lines; all figures are in the table"
    ends = words.format_value(section, low), words.format_value(section, high)
    return Picture(said, left, left + width, 18 + len(rows) * step, marks, ends)


def _shorten(label: str) -> str:
    # An escape is longer than the character that it stands for, so the label is made visible first.
    label = visible(label)
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"

"""The report as one self-contained HTML page.

Everything that colours and charts show is also said in words, and all figures are in tables.
"""

from dataclasses import fields

from inbounds import __version__
from inbounds._check import percent
from inbounds._estimates import QUALITY_RULE
from inbounds._html import draw, render
from inbounds.record import Releases
from inbounds.report import promise, words
from inbounds.report.lines import count_qualities
from inbounds.report.rows import Section
from inbounds.report.view import MOST_DOUBTFUL, View, list_doubtful, view_section


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
    levels = {section.shown_interval.level for section in sections if section.shown_interval is not None}
    doubtful = list_doubtful(sections)
    page = render(
        "report",
        dataset=releases.dataset_name,
        about=words.describe_data(releases),
        rows=words.explain_rows(releases),
        count=count_qualities(sections),
        doubtful=doubtful[:MOST_DOUBTFUL],
        further=len(doubtful[MOST_DOUBTFUL:]),
        promise=promise.explain_promise(releases),
        left=words.describe_left(releases),
        level=" or ".join(map(percent, sorted(levels))),
        how_to_read=words.HOW_TO_READ,
        rounding=words.ROUNDING,
        rule=QUALITY_RULE,
        views=[_add_drawing(view_section(number, section)) for number, section in enumerate(sections, 1)],
        facts=words.list_facts(releases),
        symbols=promise.write_symbols(releases),
        certificate_heads=words.list_certificate_heads(releases),
        certificates=words.list_certificates(sections),
        payment=words.describe_payment(releases),
        version=__version__,
    )
    return page + "\n"


def _add_drawing(view: View) -> dict[str, object]:
    """The fields of a view with its chart as markup. No other text of a page is markup."""
    contents = {field.name: getattr(view, field.name) for field in fields(view)}
    chart = view.chart
    drawing = None if chart is None else draw(chart.svg, view.place, f"Chart of {chart.title}", chart.description)
    return contents | {"drawing": drawing}

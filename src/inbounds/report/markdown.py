"""The report in Markdown, for a repository or an e-mail."""

from inbounds._estimates import QUALITY_RULE
from inbounds._text import markdown
from inbounds.record import Releases
from inbounds.report import promise, words
from inbounds.report.lines import count_qualities
from inbounds.report.rows import Section
from inbounds.report.view import list_doubtful


def to_markdown(releases: Releases, sections: list[Section]) -> str:
    """Write the report in Markdown: like `inbounds.report.html.to_html`, without charts and certificates.

    Parameters
    ----------
    releases
        The releases of a plan.
    sections
        The result of `inbounds.report.rows.collect_sections`.

    Returns
    -------
    str
        The Markdown. All names in it are escaped.
    """
    promises, left = promise.explain_promise(releases), words.describe_left(releases)
    lines = [f"# Released statistics of {markdown(releases.dataset_name)}", ""]
    lines += [f"{words.describe_data(releases)}.", ""]
    lines += [line for text in words.explain_rows(releases) for line in (markdown(text), "")]
    lines += [f"- How good: {count_qualities(sections)}."]
    for _, name, cells, more, quality in list_doubtful(sections):
        names = "; ".join(map(markdown, cells)) + (f" and {more} more" if more > 0 else "")
        lines.append(f"  - {quality}: {markdown(name)}" + (f": {names}" if names else ""))
    lines += [f"- Promised: {markdown(promises[0])}", f"- Left: {markdown(left[0])}. {markdown(left[1])}", ""]
    for section in sections:
        lines += _write_section(section)
    lines += ["## How to read the numbers", "", words.HOW_TO_READ, "", words.ROUNDING, "", QUALITY_RULE, ""]
    lines += ["## What is promised to everybody in the data", ""]
    lines += [*map(markdown, promises), ""]
    lines += [f"- {name}: {markdown(text)}" for name, text in words.list_facts(releases)]
    lines += ["", f"In symbols: {markdown(promise.write_symbols(releases))}", ""]
    lines += ["## The ledger", "", markdown(words.describe_payment(releases)), ""]
    return "\n".join([*lines, "Check everything with `inbounds verify release.json`.", ""])


def _write_section(section: Section) -> list[str]:
    release = section.release
    lines = [f"## {markdown(section.name)}", "", markdown(words.describe_release(section)), ""]
    lines += [f"| {markdown(words.name_cells(section))} | value | how good |", "|---|---|---|"]
    for row in section.distinct_rows()[: words.MOST_ROWS]:
        name, value = markdown(row.cell or release.title), markdown(section.write(row))
        lines.append(f"| {name} | {value} | {row.mark} |")
    if rest := words.describe_rest(section):
        lines += ["", rest]
    return [*lines, "", *map(markdown, words.list_notes(section)), ""]

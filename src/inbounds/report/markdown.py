"""The report in Markdown, for a repository or an e-mail."""

from inbounds._text import markdown
from inbounds.record import Releases
from inbounds.report import words
from inbounds.report.rows import Section


def to_markdown(releases: Releases, sections: list[Section]) -> str:
    """Write the report in Markdown: like `inbounds.report.html.to_html`, without pictures and certificates.

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
    lines = [f"# Released statistics of {markdown(releases.dataset_name)}", ""]
    lines += [f"- {name}: {markdown(text)}" for name, text in words.list_facts(releases)]
    lines += ["", words.HOW_TO_READ, ""]
    for section in sections:
        lines += _write_section(section)
    lines += ["## What is promised to everybody in the data", ""]
    lines += [*map(markdown, words.explain_promise(releases)), ""]
    lines += [f"In symbols: {words.write_symbols(releases)}", ""]
    lines += ["## The ledger", "", markdown(words.describe_payment(releases)), ""]
    return "\n".join([*lines, "Check everything with `inbounds verify release.json`.", ""])


def _write_section(section: Section) -> list[str]:
    release, heads = section.release, [markdown(head) for head in words.list_heads(section)]
    title = f"{markdown(release.title)}; ε = {words.format_figure(release.epsilon)}"
    lines = [f"## {markdown(section.name)}", "", title, ""]
    lines += ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join([markdown(name), *figures]) + " |" for name, figures in words.list_lines(section)]
    if rest := words.describe_rest(section):
        lines += ["", rest]
    return [*lines, "", *map(markdown, words.list_notes(section)), ""]

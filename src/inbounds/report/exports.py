"""The released numbers for other programs: an Excel workbook, and tables for LaTeX.

Word takes tables from the report or the workbook by copy and paste, with their layout; LaTeX takes nothing that way, so
tables are written for it.
"""

import io
import math
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from inbounds._estimates import QUALITY_RULE, find_places
from inbounds._text import visible
from inbounds.record import Releases
from inbounds.record.show import NOT_AVAILABLE, title_of
from inbounds.report import promise, words
from inbounds.report.figures import format_value
from inbounds.report.html import to_html
from inbounds.report.lines import count_qualities
from inbounds.report.markdown import to_markdown
from inbounds.report.rows import HEADS, Row, Section, collect_sections, list_fields, to_csv

# The most characters that Excel has in a cell.
_LONGEST_CELL = 32_767
# A table of more rows goes on over pages.
_MOST_ON_A_PAGE = 35
_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "±": r"$\pm$",
    "ε": r"$\varepsilon$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "…": r"\ldots{}",
    "−": "$-$",
}
_SIGNS = re.compile("|".join(map(re.escape, _LATEX)))


def to_workbook(releases: Releases, sections: list[Section]) -> bytes:
    """Write the numbers as an Excel workbook.

    The first sheet has what a report says: each number rounded to its error, and how good it is. The second has the
    columns of ``values.csv``, with the 16 digits that Excel keeps. No text is taken as a formula or a link.

    Parameters
    ----------
    releases
        The releases of a plan.
    sections
        The result of `inbounds.report.rows.collect_sections`.

    Returns
    -------
    bytes
        The file. The same record gives the same bytes.

    Raises
    ------
    ImportError
        If XlsxWriter is not installed.
    """
    try:
        import xlsxwriter
    except ImportError:
        raise ImportError("an Excel workbook needs XlsxWriter: pip install 'inbounds[excel]'") from None
    file = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    book = xlsxwriter.Workbook(file, options)
    # Without a fixed date the file would differ each time.
    when = datetime(1980, 1, 1)
    if releases.entry is not None:
        when = datetime.fromisoformat(str(releases.entry.body["when"])).replace(tzinfo=None)
    book.set_properties({"title": f"Released statistics of {visible(releases.dataset_name)}", "created": when})
    bold, wrapped = book.add_format({"bold": True}), book.add_format({"text_wrap": True, "valign": "top"})
    _write_summary(book, releases, sections, bold, wrapped)
    _write_values(book, sections, bold)
    book.close()
    return file.getvalue()


def _write_summary(book: Any, releases: Releases, sections: list[Section], bold: Any, wrapped: Any) -> None:
    sheet = book.add_worksheet("summary")
    sheet.set_column(0, 1, 32)
    sheet.set_column(2, 4, 14)
    left = words.describe_left(releases)
    texts = [f"Released statistics of {releases.dataset_name}", words.describe_data(releases)]
    texts += words.explain_rows(releases)
    texts += [count_qualities(sections), promise.explain_promise(releases)[0], f"{left[0]}. {left[1]}", QUALITY_RULE]
    for line, text in enumerate(texts):
        sheet.merge_range(line, 0, line, 5, _cut(text), bold if line == 0 else wrapped)
        sheet.set_row(line, 16 * (1 + len(text) // 110))
    start = len(texts) + 1
    for column, head in enumerate(("release", "cell", "value", "lower", "upper", "how good", "interval")):
        sheet.write_string(start, column, head, bold)
    lines = [(section, row) for section in sections for row in section.distinct_rows()[: words.MOST_ROWS]]
    formats: dict[str, Any] = {}
    for line, (section, row) in enumerate(lines, start + 1):
        sheet.write_string(line, 0, _cut(section.name))
        sheet.write_string(line, 1, _cut(row.cell))
        _write_figures(sheet, line, section, row, lambda form: formats.setdefault(form, book.add_format(_look(form))))
        sheet.write_string(line, 5, row.mark)
        sheet.write_string(line, 6, _cut(words.describe_interval(section)))


def _look(form: str) -> dict[str, str]:
    return {"num_format": form}


def _write_figures(sheet: Any, line: int, section: Section, row: Row, find_format: Callable[[str], Any]) -> None:
    """Write a number and its limits. All digits are stored; its error decides how many are shown."""
    figures = (row.value, *row.ends)
    clock = section.release.clock
    share = section.release.statistic.traits.shares
    margin = row.estimate.margin
    places = None if margin is None else find_places(margin * (100 if share else 1))
    form = "General" if places is None else "#,##0" + "." * (places > 0) + "0" * max(min(places, 15), 0)
    if row.value is not None and places is not None and not share and "e" in (text := row.estimate.write_value()):
        # As many digits as the text has before its exponent.
        digits = len(text.partition("e")[0].lstrip("-")) - 2
        form = f"0{'.' * (digits > 0)}{'0' * digits}E+00"
    for column, x in enumerate(figures, 2):
        if x is None:
            sheet.write_string(line, column, "" if column > 2 else NOT_AVAILABLE)
        elif math.isinf(x):
            # A sheet cannot hold an infinite number.
            sheet.write_string(line, column, f"{x:g}")
        elif clock is not None:
            sheet.write_string(line, column, format_value(section, x))
        else:
            sheet.write_number(line, column, float(x), find_format(form + " %" * (share and places is not None)))


def _write_values(book: Any, sections: list[Section], bold: Any) -> None:
    sheet = book.add_worksheet("values")
    sheet.freeze_panes(1, 0)
    for column, head in enumerate(HEADS):
        sheet.write_string(0, column, head, bold)
    # A sheet has no more lines than this; the others are in values.csv.
    lines = [fields for section in sections for fields in list_fields(section)][: 2**20 - 1]
    for line, fields in enumerate(lines, 1):
        for column, x in enumerate(fields):
            if isinstance(x, int | float) and math.isfinite(x):
                sheet.write_number(line, column, x)
            elif x is not None:
                sheet.write_string(line, column, _cut(str(x)))


def _cut(text: str) -> str:
    return visible(text)[:_LONGEST_CELL]


def to_latex(releases: Releases, sections: list[Section]) -> str:
    """Write a table for each release in LaTeX, for a document that loads the packages ``booktabs`` and ``longtable``.

    Parameters
    ----------
    releases
        The releases of a plan.
    sections
        The result of `inbounds.report.rows.collect_sections`.

    Returns
    -------
    str
        The tables. All names in them are escaped.
    """
    packages = r"needs \usepackage{booktabs, longtable}"
    lines = [f"% Released statistics of {visible(releases.dataset_name)}; {packages}"]
    for section in sections:
        rows = section.distinct_rows()[: words.MOST_ROWS]
        head = rf"{escape_latex(words.name_cells(section))} & value & how good \\"
        top = [r"\toprule", head, r"\midrule"]
        title = f"{section.name}: {title_of(section.release)}"
        text = "; ".join(filter(None, [title, words.describe_interval(section)]))
        caption = rf"\caption{{{escape_latex(text)}}}"
        lines += [""]
        if long := len(rows) > _MOST_ON_A_PAGE:
            lines += [r"\begin{longtable}{lrl}", rf"{caption}\\", *top, r"\endhead"]
        else:
            lines += [r"\begin{table}[htbp]", r"\centering", caption, r"\begin{tabular}{lrl}", *top]
        lines += [_write_latex_row(section, row) for row in rows]
        lines += [r"\bottomrule", rf"\end{{{'longtable' if long else 'tabular'}}}"]
        if rest := words.describe_rest(section):
            lines.append(rf"\par\smallskip {escape_latex(rest)}")
        lines += [] if long else [r"\end{table}"]
    texts = (*words.explain_rows(releases), promise.explain_promise(releases)[0], QUALITY_RULE)
    lines += ["", *map(escape_latex, texts), ""]
    return "\n".join(lines)


def _write_latex_row(section: Section, row: Row) -> str:
    name = escape_latex(row.cell or section.name)
    # A bracket at the start of a line would be an option of the line break before it.
    name = f"{{}}{name}" if name.startswith(("[", "*")) else name
    return rf"{name} & {escape_latex(section.write(row))} & {row.mark} \\"


def escape_latex(text: str) -> str:
    r"""Escape text for LaTeX, so that no character of it is a command.

    >>> print(escape_latex("50% of a_b \\input{x}"))
    50\% of a\_b \textbackslash{}input\{x\}
    """
    return _SIGNS.sub(lambda match: _LATEX[match[0]], visible(text))


# The forms that a record can be exported in, and what makes them.
FORMS: dict[str, Callable[[Releases, list[Section]], str | bytes]] = {
    "csv": lambda _, sections: "".join(to_csv(sections)),
    "html": to_html,
    "latex": to_latex,
    "markdown": to_markdown,
    "xlsx": to_workbook,
}


def export(releases: Releases, form: str) -> bytes:
    """The released numbers in one of `FORMS`, as the bytes of a file."""
    content = FORMS[form](releases, collect_sections(releases))
    return content if isinstance(content, bytes) else content.encode("utf-8")

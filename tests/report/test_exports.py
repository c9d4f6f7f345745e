"""Exports: read back by another library, with all digits, and no name of a plan as a formula or a command."""

import csv
import io
import re
import sys

import pytest
from python_calamine import CalamineWorkbook

import inbounds as ib
from inbounds.report.exports import escape_latex, export, to_latex
from inbounds.report.lines import list_lines
from inbounds.report.rows import HEADS, collect_sections

EVIL = "=cmd|' /C calc'!A0"
COMMAND = r"\input{/etc/passwd} 50% & $x^2_3$ {~#}"


@pytest.fixture(scope="module")
def made():
    table = {"x": [1.0, 2.0, 3.0] * 100, "g": [EVIL, COMMAND, "c"] * 100}
    releases = {
        EVIL: ib.mean(table, "x", bounds=(0, 10), epsilon=2),
        COMMAND: ib.proportions(table, "g", levels=[EVIL, COMMAND, "c"], epsilon=2),
    }
    return ib.Releases(releases, dataset="http://example.org")


def test_a_workbook_has_the_columns_and_digits_of_the_csv_file(made):
    book = CalamineWorkbook.from_filelike(io.BytesIO(export(made, "xlsx")))
    assert book.sheet_names == ["summary", "values"]
    heads, *rows = book.get_sheet_by_name("values").to_python()
    lines = list(csv.DictReader(io.StringIO(export(made, "csv").decode())))
    assert tuple(heads) == HEADS
    # Excel's own files have 16 digits.
    assert [row[3] for row in rows] == pytest.approx([float(line["value"]) for line in lines], rel=1e-15)
    assert [row[0] for row in rows] == [EVIL, COMMAND, COMMAND, COMMAND]
    # In the CSV file a spreadsheet must not take it as a formula.
    assert lines[0]["release"] == f"'{EVIL}"
    assert [row[12] for row in rows] == [line["quality"] for line in lines]
    summary = book.get_sheet_by_name("summary").to_python()
    (line,) = [row for row in summary if row[0] == EVIL]
    assert line[2] == pytest.approx(made[EVIL].value, rel=1e-15)


def test_a_workbook_has_no_formula_and_no_link_and_is_the_same_each_time(made):
    import zipfile

    first = export(made, "xlsx")
    assert first == export(made, "xlsx")
    with zipfile.ZipFile(io.BytesIO(first)) as file:
        texts = {name: file.read(name).decode() for name in file.namelist()}
    sheets = "".join(text for name, text in texts.items() if "worksheets" in name)
    assert "<f>" not in sheets
    assert "hyperlink" not in sheets


def test_very_small_numbers_have_an_exponent_in_a_workbook():
    import zipfile

    small = ib.Releases({"mass": ib.mean({"x": [1e-9, 2e-9] * 500}, "x", bounds=(0, 3e-9), epsilon=2)})
    with zipfile.ZipFile(io.BytesIO(export(small, "xlsx"))) as file:
        styles = file.read("xl/styles.xml").decode()
    assert re.search(r'formatCode="0\.0+E\+00"', styles)


def test_without_the_extra_it_says_what_to_install(made, monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'inbounds[excel]'")):
        export(made, "xlsx")


def test_intervals_in_names_are_no_options_of_a_line_break():
    plan = ib.Plan.of(
        {
            "data": {"rows": 4},
            "budget": {"epsilon": 1},
            "columns": {"age": {"edges": [0, 50, 100]}},
            "release": [{"name": "ages", "statistic": "histogram", "columns": ["age"]}],
        }
    )
    found = ib.release(plan, {"age": [30, 41, 52, 63]})
    text = to_latex(found, collect_sections(found))
    assert "{}[50, 100] & " in text
    assert not re.search(r"(\\\\|rule)\s*[\[*]", text)


def test_a_long_table_for_latex_goes_on_over_pages():
    edges = list(range(51))
    found = ib.Releases({"ages": ib.histogram({"age": [5, 7, 30] * 40}, "age", edges=edges, epsilon=2)})
    text = to_latex(found, collect_sections(found))
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == text.count(r"\endhead") == 1
    assert r"{table}" not in text
    assert len(re.findall(r"& \w+[a-z ]* \\\\", text)) >= 50


def test_tables_for_latex(made):
    text = to_latex(made, collect_sections(made))
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 2
    body = "\n".join(line for line in text.split("\n") if not line.startswith("%"))
    commands = set(re.findall(r"\\([A-Za-z]+)", body))
    known = {"begin", "end", "centering", "caption", "toprule", "midrule", "bottomrule", "pm", "varepsilon"}
    assert commands <= known | {"textbackslash", "textasciicircum", "textasciitilde", "textbar", "textless"}
    for line in body.split("\n"):
        # Each row has three cells, whatever is in its names.
        if line.endswith(r"\\"):
            assert len(re.findall(r"(?<!\\)&", line)) == 2
        assert len(re.findall(r"(?<!\\)\$", line)) % 2 == 0
        assert not re.search(r"(?<!\\)[%#_]", line)


@pytest.mark.parametrize("sign", list("\\&%$#_{}~^"))
def test_every_sign_of_latex_is_escaped(sign):
    assert escape_latex(f"a{sign}b") != f"a{sign}b"
    assert escape_latex("ab 1.5") == "ab 1.5"


def test_the_command(made, tmp_path, monkeypatch, capsys):
    from inbounds.cli import commands

    (tmp_path / "release.json").write_text(made.to_json())
    out = tmp_path / "x.tex"
    call = ["inbounds", "export", str(tmp_path / "release.json"), "--as", "latex", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", call)
    for status, said in ((0, "is written"), (2, "exists already")):
        with pytest.raises(SystemExit) as ended:
            commands.main()
        assert ended.value.code == status
        assert said in capsys.readouterr().err
    again = ib.Releases.from_json(made.to_json())
    assert out.read_text() == to_latex(again, collect_sections(again))


def test_the_condition_of_an_interval_stands_beside_the_number_in_every_form():
    """And where coefficients are hidden by the noise, there are no limits, and the reason stands in their place."""
    columns = {name: {"bounds": [0, 10]} for name in "xy"}
    items = [
        {"name": "spread", "statistic": "variance", "columns": ["x"], "interval_method": "normal"},
        {"name": "means", "statistic": "mean", "columns": ["x"]},
        {"name": "fit", "statistic": "regression", "columns": ["x", "y"]},
        {"name": "shape", "statistic": "covariance", "columns": ["x", "y"], "simultaneous": True},
    ]
    plan = ib.Plan.of({"data": {"rows": 60}, "budget": {"epsilon": 0.1}, "columns": columns, "release": items})
    made = ib.release(plan, {"x": [1.0, 2.0, 3.0] * 20, "y": [1.0, 4.0] * 30})
    said = "95% interval for the population, if records are normal"
    for form, count in (("html", 1), ("markdown", 1), ("latex", 1)):
        text = export(made, form).decode().replace("\\", "").replace("&#37;", "%")
        assert text.count(said) == count, form
        assert "of all numbers together" in text
    rows = list(csv.DictReader(io.StringIO(export(made, "csv").decode())))
    assert [row["release"] for row in rows if "if records are normal" in row["note"]] == ["spread"]
    assert [row["upper"] for row in rows if row["release"] == "fit"] == ["", ""]
    assert all(row["note"].startswith("no interval: ") for row in rows if row["release"] == "fit")
    summary, values = CalamineWorkbook.from_filelike(io.BytesIO(export(made, "xlsx"))).sheet_names
    book = CalamineWorkbook.from_filelike(io.BytesIO(export(made, "xlsx")))
    assert any(said in str(row[6]) for row in book.get_sheet_by_name(summary).to_python() if row[0] == "spread")
    assert [row[5] for row in book.get_sheet_by_name(values).to_python() if row[0] == "fit"] == ["", ""]
    lines = "\n".join(line.text for line in list_lines(collect_sections(made)))
    assert "± and ranges are 95% intervals for the population: noise and sampling, if" in lines
    assert max(map(len, lines.splitlines())) <= 80

"""Names that somebody made to be run, followed, believed or hidden: shown as they are written, wherever they are."""

import csv
import io
import json
import random
import subprocess
import sys
import unicodedata
from dataclasses import replace
from fractions import Fraction

import pytest
from markdown_it import MarkdownIt

import inbounds as ib
from inbounds import ledger
from inbounds._text import csv_cell, is_unseen, markdown, to_json, visible, visible_lines
from inbounds.ledger import Account
from inbounds.plan import release as job
from inbounds.plan.plan import Plan, PlanError
from inbounds.record.codec import longest_text
from inbounds.road.run import request_of
from tests.app.test_cli import called

ESCAPE = "\x1b[2J\x1b]0;owned\x07"
NAMES = {
    "release": f"=cmd|'/c calc'!A0\n# heading\n<script>alert(1)</script>{ESCAPE}",
    "second": "| a | b |\n|---|---|\n[click](javascript:alert(1)) ![x](http://evil.example/x.png)\u202etxt",
    "third": "\t@SUM(1)\r\n\n1. list\n\n- item www.evil.example https://evil.example <https://evil.example>",
    "column": "x</text></svg><img src=x onerror=alert(1)>\u200b\x9b31m\n## more",
    "group": 'g" onmouseover="alert(1)\x7f`code`**bold**',
}
LEVELS = ["+1+1", "@x", "-2+3|<b>", "a\u2028b\x01c"]
DATASET = "<script>x</script>[s](javascript:x) `d` | =1"
WHO, WHY = f"=who {ESCAPE}\nforged line", f"because\u202e {ESCAPE}\n   9  2026-01-01  charge"


@pytest.fixture
def plan(tmp_path):
    """Everything in it has a hostile name at once."""
    column, group = NAMES["column"], NAMES["group"]
    table = tmp_path / "t.parquet"
    import polars as pl

    pl.DataFrame({column: [1.0, 2.0, 3.0, 4.0], group: LEVELS}).write_parquet(table)
    return Plan.of(
        {
            "data": {"source": str(table), "rows": 4},
            "budget": {"epsilon": 1, "limit": 9, "ledger": str(tmp_path / "l"), "dataset": DATASET},
            "columns": {
                column: {"bounds": [-5, 5], "missing": 0},
                group: {"levels": LEVELS, "other": LEVELS[3], "missing": LEVELS[0]},
            },
            "release": [
                {"name": NAMES["release"], "statistic": "mean", "columns": [column]},
                {"name": NAMES["second"], "statistic": "histogram", "columns": [group]},
                {"name": NAMES["third"], "statistic": "mean", "columns": [column], "by": group},
                {"name": "plain", "statistic": "proportion", "columns": [group], "level": LEVELS[2]},
            ],
        }
    )


def write_toml(plan, path):
    """The plan as a file, with names as they are."""
    quoted = json.dumps
    lines = ["[data]", f"source = {quoted(plan.data.source)}", "rows = 4"]
    budget = plan.budget
    lines += [
        "[budget]",
        "epsilon = 1",
        "limit = 9",
        f"ledger = {quoted(budget.ledger)}",
        f"dataset = {quoted(DATASET)}",
    ]
    column, group = (quoted(NAMES[name]).replace("\x7f", "\\u007f") for name in ("column", "group"))
    levels = ", ".join(map(quoted, LEVELS))
    lines += ["[columns]", f"{column} = {{ bounds = [-5, 5] }}", f"{group} = {{ levels = [{levels}] }}"]
    for name, statistic, of in (("release", "mean", column), ("second", "histogram", group)):
        lines += ["[[release]]", f"name = {quoted(NAMES[name])}", f'statistic = "{statistic}"', f"columns = [{of}]"]
    path.write_text("\n".join(lines))
    return path


def unseen(text):
    """Characters that act on a terminal; lines are what a text is made of."""
    return sorted({hex(ord(one)) for one in text if one != "\n" and is_unseen(one)})


@pytest.fixture
def written(plan, tmp_path):
    made = job.release(plan, who=WHO)
    made.write(tmp_path / "out")
    return made, tmp_path / "out"


def test_the_markdown_has_no_more_than_its_text(written):
    _, out = written
    text = (out / "report.md").read_text("utf-8")
    assert unseen(text) == []
    parser = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
    tokens = parser.parse(text)
    inner = [one for token in tokens for one in (token, *(token.children or ()))]
    kinds = {token.type for token in inner}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "em_open", "strong_open", "s_open", "fence"}
    headings = [tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open"]
    assert len(headings) == 1 + 4 + 3
    # Names come out as they were written, unseen characters as escapes.
    shown = ["".join(one.content for one in parser.parseInline(text)[0].children) for text in headings]
    assert shown[0] == f"Released statistics of {DATASET}"
    assert shown[1:5] == [visible(NAMES[name]).strip() for name in ("release", "second", "third")] + ["plain"]
    # One code span, and two lists (the first may have another within it), and all are ours.
    assert [token.content for token in inner if token.type == "code_inline"] == ["inbounds verify release.json"]
    assert sum(token.type.endswith("_list_open") for token in inner) in (2, 3)
    rows, last = [], []
    for i, token in enumerate(tokens):
        if token.type == "tr_open":
            last = []
            rows.append(last)
        elif token.type in ("td_open", "th_open"):
            last.append("".join(one.content for one in tokens[i + 1].children))
    # A head and a row, or four of them, for each release.
    assert len(rows) == 2 + 5 + 5 + 2
    assert [row[0] for row in rows[3:7]] == [visible(level) for level in LEVELS]
    assert {len(row) for row in rows} == {3}


def test_the_page_has_no_more_than_its_text(written):
    from html.parser import HTMLParser

    _, out = written
    text = (out / "report.html").read_text("utf-8")
    assert unseen(text) == []
    seen = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            seen.append((tag, dict(attributes)))

    Reader().feed(text)
    ours = "html head meta title style body main h1 h2 div p a ul li span section figure details summary table caption"
    ours += " thead tr th td tbody code svg text line rect circle path desc"
    assert {tag for tag, _ in seen} <= {*ours.split()}
    assert not {name for _, given in seen for name in given if name.startswith("on") or name in ("src", "style")}
    assert all(given.get("href", "#release-").startswith("#release-") for _, given in seen)


def test_cells_of_csv_files_are_no_formulas(written, plan):
    made, out = written
    with (out / "values.csv").open(encoding="utf-8", newline="") as file:
        text = file.read()
    assert unseen(text) == []
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 1 + 4 + 4 + 1
    for row in rows:
        for name in ("release", "statistic", "cell", "interval"):
            assert not row[name].startswith(("=", "+", "-", "@", "\t", "\r"))
    assert [row["cell"] for row in rows[1:5]] == ["'+1+1", "'@x", "'-2+3|<b>", "a\\u2028b\\x01c"]
    # Numbers are numbers, also those below zero.
    assert float(rows[0]["value"]) == made[NAMES["release"]].value
    assert rows[0]["lower"].startswith("-") == (float(rows[0]["lower"]) < 0)
    book = Account(plan.budget.ledger, DATASET, Fraction(10))
    ledger.raise_limit(book, WHY, who="+who")
    text = ledger.export(book.ledger, "csv")
    assert unseen(text) == []
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 8
    assert rows[-1]["who"] == "'+who"
    assert rows[2]["who"] == f"'{visible(WHO)}"
    assert rows[2]["what"].startswith("'=cmd")
    assert unseen(ledger.export(book.ledger, "registry")) == []
    assert json.loads(ledger.export(book.ledger, "registry"))[0]["deployment"]["basic"]["description"].startswith(
        f"{NAMES['release']}: mean"
    )


def test_objects_show_no_unseen_characters(written, plan):
    made, _ = written
    outlook = plan.preview()
    texts = [str(made), repr(made), str(plan), repr(plan), str(outlook), repr(outlook), outlook._repr_html_()]
    for release in made.values():
        texts += [str(release), repr(release), release._repr_html_(), str(release.interval())]
    for one in (prospect.preview for prospect in outlook.prospects):
        texts += [str(one), repr(one), str(one.asked.record), repr(one.asked.record)]
    (standing,) = ledger.standings(ledger.verify(plan.budget.ledger))
    texts += [str(standing), repr(standing)]
    assert [unseen(text) for text in texts] == [[]] * len(texts)
    # No name makes a line of its own.
    assert not any(line.startswith(("# heading", "## more", "forged")) for text in texts for line in text.split("\n"))
    # The record has them as they are.
    again = job.Releases.from_json(made.to_json())
    assert list(again) == [NAMES["release"], NAMES["second"], NAMES["third"], "plain"]
    assert again[NAMES["second"]].axes == (tuple(LEVELS),)


def test_the_command_shows_no_unseen_characters(monkeypatch, capsys, plan, tmp_path):
    file, out = write_toml(plan, tmp_path / "plan.toml"), tmp_path / "results"
    book = plan.budget.ledger
    calls = [
        ("preview", file),
        ("preview", file, "--json"),
        ("release", file, "--out", out, "--dry-run"),
        ("release", file, "--out", out, "--by", WHO),
        ("release", file, "--out", out, "--json"),
        ("verify", out / "release.json", "--ledger", book),
        ("verify", out / "release.json", "--json"),
        ("ledger", "raise", book, "--dataset", DATASET, "--limit", "10", "--why", WHY),
        ("ledger", "show", book),
        ("ledger", "show", book, "--json"),
        ("ledger", "export", book),
        ("ledger", "export", book, "--as", "registry"),
        ("plan", "init", plan.data.source, "--out", "-"),
    ]
    for call in calls:
        status, said, err = called(monkeypatch, capsys, *call)
        assert (status, unseen(said), unseen(err)) == (0, [], []), call
        assert "\nforged line" not in said + err
        assert "\n   9  2026-01-01  charge" not in said
    shown = called(monkeypatch, capsys, "ledger", "show", book)[1]
    # A standing, and an entry for each thing that was done; what does not fit into a line is indented by more.
    assert len([line for line in shown.splitlines() if not line.startswith("      ")]) == 1 + 8
    skeleton = called(monkeypatch, capsys, "plan", "init", plan.data.source, "--out", "-")[1]
    import tomllib

    assert tomllib.loads(skeleton.replace("ROWS", "1"))["release"][0]["columns"] == [NAMES["column"]]


def test_messages_of_the_command_show_no_unseen_characters(monkeypatch, capsys, tmp_path):
    bad = tmp_path / "bad.toml"
    name = json.dumps(f"{ESCAPE}\nforged")
    bad.write_text(
        f"[data]\nrows = 4\n[budget]\nepsilon = 1\n[columns]\n{name} = {{ bounds = [0, 1] }}\n"
        f'[[release]]\nname = {name}\nstatistic = "mean"\ncolumns = ["y"]\n'
        f"[[release]]\nname = {name}\nstatistic = {name}\n"
    )
    calls = [
        ("preview", bad),
        ("preview", tmp_path / f"none{ESCAPE}\nforged"),
        ("verify", tmp_path / f"none{ESCAPE}\nforged"),
        ("ledger", "show", tmp_path / f"none{ESCAPE}\nforged"),
        ("ledger", "raise", tmp_path / "l", "--dataset", f"d{ESCAPE}", "--limit", "1", "--why", "w"),
        ("ledger", "accept", tmp_path / f"none{ESCAPE}\nforged", "--why", "w"),
        ("ledger", "raise", tmp_path / "l", "--dataset", "d", "--limit", f"1{ESCAPE}", "--why", "w"),
        (f"no{ESCAPE}",),
    ]
    for call in calls:
        status, said, err = called(monkeypatch, capsys, *call)
        assert (status, said, unseen(err)) == (2, "", []), call
        assert "\nforged" not in err


def test_every_character_is_seen_or_named():
    for i in [*range(0x3000), *range(0xD7F0, 0x11000), 0xE0001, 0xE0041, 0x10FFFF]:
        one = chr(i)
        shown = visible(f"a{one}b")
        assert shown[0] + shown[-1] == "ab"
        assert not any(unicodedata.category(x) in ("Cc", "Cf", "Cs", "Zl", "Zp") for x in shown)
        assert shown == f"a{one}b" or shown[1] == "\\"
        shown.encode("utf-8")
    assert visible("größe, Ελλάδα, 東京 – ½ €") == "größe, Ελλάδα, 東京 – ½ €"
    assert visible_lines("a\nb\x1b") == "a\nb\\x1b"
    assert json.loads(to_json({"a\u202e": "\U000e0041\x9b"}, ensure_ascii=False)) == {"a\u202e": "\U000e0041\x9b"}


@pytest.mark.parametrize(
    "text",
    [
        "plain words, 3.5 and 100 %",
        "<script>", "</td>", "<!-- x -->", "<a@b.example>", "&lt;&#60;", "[a](b)", "![a](b)", "[a]: b", "`a`", "``a``",
        "*a*", "**a**", "_a_", "a_b_c", "__a__", "~~a~~", "# a", "a #", "- a", "+ a", "1. a", "12) a", "> a", "= a",
        "===", "---", "a | b", "\\", "\\\\|", "    code", "http://a.example", "www.a.example", "a@b.example", "$x$",
        "{{ x }}",
        "a\n\nb", "a\r\nb", "***", "```", "~~~", "a  ", "[x]", "- [ ] a", "|", "\\<b>", "1.", "_", "a_", "!", ":",
        "a:b", "5.6", "-5.6", "- -", "= =", ">= 3", "a >= 3", "<a >= 3",
        "&amp", "&lt; b", "a & b;", "+1", "1)", "1234567890. a",
    ],
)  # fmt: skip
def test_markdown_shows_text_as_it_is(text):
    """In a paragraph, a heading and a cell: read again it is the text, and nothing else."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
    expected = visible(text).strip()
    for frame, place in (("{}", "inline"), ("## {}", "inline"), ("x\n\n| {} |\n|---|\n| {} |", "inline")):
        tokens = [one for one in parser.parse(frame.format(*[markdown(text)] * 2)) if one.type == place]
        for token in tokens[-2:] if "---" in frame else tokens:
            assert {child.type for child in token.children} == {"text"}
            assert "".join(child.content for child in token.children) == expected
    assert "\n" not in markdown(text)


PIECES = [*"<>&[]()!*_`~#-+=|\\.:; 1a/$@{}'\"^%,\t", "&lt;", "--", "1.", "  ", "www.", "http://", "<!--", "-->", "<b>"]


def find_marks(escape):
    """The first of many made-up texts that acts in Markdown after it was escaped; None if none does."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
    choose = random.Random(3)
    for _ in range(1500):
        text = "".join(choose.choices(PIECES, k=choose.randint(1, 8))).strip() or "-"
        for frame in ("{}", "## {}", "- x: {}", "para\n{}\nmore", "x\n\n| {} |\n|---|\n| {} |"):
            last = [one for one in parser.parse(frame.format(*[escape(text)] * 2)) if one.type == "inline"][-1:]
            shown = "\n".join(one.content for token in last for one in token.children if one.type != "softbreak")
            expected = frame.format(visible(text).strip()) if frame[0] in "{p" else visible(text).strip()
            if last and shown.removeprefix("x: ").strip() != expected.strip():
                return text
    return None


def test_no_text_acts_in_markdown():
    assert find_marks(markdown) is None
    # Negative control: without one of these escapes a text does.
    for sign in "<*`|":
        assert find_marks(lambda text, sign=sign: markdown(text).replace(f"\\{sign}", sign)) is not None


def test_cells_of_text():
    for text in ("=1", "+1+1", "-a", "@x", "\t=1", "\r=1", "\n=1", " =1", "＝1", "-1+1", "-"):
        assert csv_cell(text) == f"'{visible(text)}"
    for text in ("-3.5", "+2", "-1e-05", "7", "a=b", "", "[-5, 0)", "größe"):
        assert csv_cell(text) == text


def test_errors_of_plans_are_a_line_each():
    with pytest.raises(PlanError) as refused:
        Plan.of({"data": {"rows": 4}, "budget": {"epsilon": 1}, "release": [{"name": "a\nb", "statistic": "x"}]})
    assert "\n" not in str(refused.value)
    assert "release.a\\nb.statistic" in str(refused.value)
    with pytest.raises(PlanError, match=r"budget\.dataset: dataset must be in one line without invisible characters"):
        Plan.of(
            {
                "data": {"rows": 4},
                "budget": {"epsilon": 1, "dataset": "a\u200bb"},
                "columns": {"x": {"bounds": [0, 1]}},
                "release": [{"name": "a", "statistic": "mean", "columns": ["x"]}],
            }
        )


def test_a_stored_result_that_would_fill_the_memory(plan):
    """With a true hash: no longer than a result of this plan can be."""
    made = job.release(plan)
    drafts = plan.drafts()
    longest = request_of(drafts, plan.budget.dataset).longest
    assert len(made.to_json().encode()) < longest / 2
    other = plan.model_copy(update={"release": plan.release[:1]})
    # Stored in one step, as code that makes its own releases does.
    asked = replace(request_of(other.drafts(), other.budget.dataset), room=None)
    receipt = ledger.charge(other.account, asked)
    ledger.keep(other.account, receipt, "[" + "[]," * 10**6 + "[]]")
    with pytest.raises(ledger.LedgerError, match="longer than a result of this request can be"):
        job.release(other)


def test_results_of_all_statistics_are_shorter_than_they_may_be(tmp_path):
    """Else one that was paid for could not be read again."""
    table = {"x": [0.1, 0.2, 0.3, 0.4] * 5, "y": [1.0, 2.0, 3.0, 4.0] * 5, "g": ["a", "b", "c", "d"] * 5}
    bounds, levels = {"x": (0, 1), "y": (0, 10)}, ["a", "b", "c", "d"]
    asks = [
        lambda **more: ib.mean(table, "x", bounds=(0, 1), epsilon="1e-9", **more),
        lambda **more: ib.mean(table, "x", bounds=(0, 1), epsilon="1/3", by="g", levels=levels, **more),
        lambda **more: ib.variance(table, "x", bounds=("1e-20", 1), epsilon=1, **more),
        lambda **more: ib.histogram(table, "g", levels=levels, epsilon="1e-6", **more),
        lambda **more: ib.covariance(table, bounds=bounds, epsilon=1, method="split", bounding="truncated", **more),
        lambda **more: ib.correlation(table, bounds=bounds, epsilon="1e-6", **more),
        lambda **more: ib.proportions(
            table, "g", levels=levels, epsilon=1, repair="tree", tree=[["a", "b"], ["c", "d"]], **more
        ),
    ]
    account = Account(tmp_path / "l", "d", 10)
    for ask in asks:
        release = ask(ledger=account)
        assert len(release.to_json().encode()) < longest_text(release) / 2
        with pytest.warns(UserWarning, match="this is the stored result"):
            assert ask(ledger=account) == release


# Datasets that look alike

TABLE = {"x": [1.0, 2.0, 3.0, 4.0]}


def small(tmp_path, dataset):
    path = tmp_path / "small.toml"
    (tmp_path / "t.csv").write_text("x\n1\n2\n3\n4\n")
    path.write_text(
        f'[data]\nsource = "t.csv"\nrows = 4\n[budget]\nepsilon = 1\nledger = "l"\ndataset = {json.dumps(dataset)}\n'
        '[columns]\nx = { bounds = [0, 10] }\n[[release]]\nname = "x"\nstatistic = "mean"\ncolumns = ["x"]\n'
    )
    return path


def test_the_command_announces_a_dataset_that_looks_like_another(monkeypatch, capsys, tmp_path):
    out = tmp_path / "out"
    status, _, err = called(monkeypatch, capsys, "release", small(tmp_path, "survey"), "--out", out)
    assert (status, "looks like" in err) == (0, False)
    # Spaces around a name are none of it: this is the same dataset, and its limit is spent.
    status, _, err = called(monkeypatch, capsys, "release", small(tmp_path, " survey "), "--out", out, "--new")
    assert (status, "looks like" in err) == (3, False)
    file = small(tmp_path, "surv\u0435y")
    told = "inbounds: the dataset 'surv\u0435y' ('surv\\u0435y') has its own limit, and its name looks like"
    status, said, err = called(monkeypatch, capsys, "release", file, "--out", tmp_path / "other", "--dry-run")
    assert (status, said) == (0, "")
    assert err.startswith(told)
    # Before the charge: the line is there even if nothing comes of it.
    broken = monkeypatch.context
    with broken() as patch:
        patch.setattr("inbounds.ledger.spending.append", lambda *_: (_ for _ in ()).throw(OSError("no disk")))
        status, _, err = called(monkeypatch, capsys, "release", file, "--out", tmp_path / "other")
        assert (status, err.startswith(told)) == (2, True)
    status, _, err = called(monkeypatch, capsys, "release", file, "--out", tmp_path / "other")
    assert status == 0
    assert err.startswith(told)
    for again in ((), ("--new",)):
        assert "looks like" not in called(monkeypatch, capsys, "release", file, "--out", tmp_path / "other", *again)[2]
    status, said, err = called(monkeypatch, capsys, "ledger", "show", tmp_path / "l")
    assert status == 0
    assert err.startswith(told)
    assert len(err.splitlines()) == 1


def test_names_with_unseen_characters_are_refused(monkeypatch, capsys, tmp_path):
    for dataset, code in (("sur\u200bvey", "U+200B"), ("survey\n2", "U+000A"), ("\u202esurvey", "U+202E")):
        status, _, err = called(monkeypatch, capsys, "release", small(tmp_path, dataset), "--out", tmp_path / "out")
        assert status == 2
        assert f"has {code}. Leave them out" in err
        words = "--dataset", dataset, "--limit", "2", "--why", "w"
        status, _, err = called(monkeypatch, capsys, "ledger", "raise", tmp_path / "l", *words)
        assert (status, code in err) == (2, True)
    assert not (tmp_path / "l").exists()


def test_a_record_of_before_keeps_its_name(monkeypatch, tmp_path):
    """A plan whose dataset was charged with a space after its name, before names were cleaned."""
    path = small(tmp_path, "survey ")
    with monkeypatch.context() as patch:
        patch.setattr("inbounds.ledger.account.clean_name", lambda name: name)
        old = job.release(path)
    assert old.dataset == "survey "
    assert job.Releases.from_json(old.to_json()).dataset == "survey "
    again = job.release(path)
    assert (again.stored, again.dataset) == (True, "survey ")
    with pytest.raises(ledger.BudgetRefused):
        job.release(path, new=True)
    # In another ledger it is a new name, and a clean one.
    fresh = job.release(path, ledger=tmp_path / "other")
    assert fresh.dataset == fresh.entry.body["dataset"] == "survey"
    assert job.Releases.from_json(fresh.to_json()).is_same(fresh)


def test_the_warning_reaches_whoever_runs_the_library(tmp_path):
    code = (
        "import sys, inbounds as ib\n"
        "from inbounds.ledger import Account\n"
        "for name in ('survey-1', 'Survey l'):\n"
        "    ib.mean({'x': [1.0, 2.0]}, 'x', bounds=(0, 9), epsilon=1, ledger=Account(sys.argv[1], name, 1))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "l"], capture_output=True, text=True, check=True)
    assert "LookAlike: the dataset 'Survey l' has its own limit, and its name looks like 'survey-1'" in done.stderr

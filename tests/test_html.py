"""HTML from templates: every text is text, whatever is in it."""

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from inbounds._html import render

SOURCE = Path(__file__).parents[1] / "src" / "inbounds"
HOSTILE = "<script>alert(1)</script>\" onload='x' & {{ 7 * 7 }}\u202e\x1b\n"
SHOWN = "&lt;script&gt;alert(1)&lt;/script&gt;&#34; onload=&#39;x&#39; &amp; {{ 7 * 7 }}\\u202e\\x1b\\n"


@pytest.mark.parametrize(
    ("template", "values", "places"),
    [
        ("list", {"heads": [HOSTILE], "rows": [(HOSTILE, [HOSTILE])], "rest": HOSTILE}, 5),
        (
            "two_way",
            {
                "row_names": [HOSTILE],
                "column_name": HOSTILE,
                "columns": [HOSTILE],
                "rows": [([HOSTILE], [HOSTILE])],
                "rest": HOSTILE,
            },
            7,
        ),
    ],
)
def test_every_text_is_shown_as_it_is(template, values, places):
    page = render(template, caption=HOSTILE, **values)
    assert page.count(SHOWN) == places
    assert "<script" not in page
    assert "\n" not in page


def test_text_within_attributes_stays_there():
    page = render("claims", findings=[], summary="", figures=[(HOSTILE, HOSTILE)], made=HOSTILE, heads=[], clear="3")
    assert f'<a href="{SHOWN}"><img alt="{SHOWN}" src="{SHOWN}" loading="lazy"></a>' in page


def test_a_name_that_was_not_given_is_an_error():
    with pytest.raises(UndefinedError, match="'caption' is undefined"):
        render("list", heads=[], rows=[("x", ["1"])], rest="")


def test_nothing_is_marked_as_safe():
    """What goes unescaped has to be looked at one by one: charts, which tests/report/test_svg.py takes apart."""
    # Compiled templates may lie beside them.
    folder = SOURCE / "report" / "templates"
    templates = sorted(path for path in folder.iterdir() if path.name != "__pycache__")
    assert len(templates) >= 5
    for path in templates:
        assert path.name.endswith(".html.jinja")
        text = path.read_text("utf-8")
        assert not re.search(r"\|\s*(safe|tojson|xmlattr|urlize)|autoescape|<script|javascript:", text), path.name
    made = [path.name for path in SOURCE.rglob("*.py") if "Markup(" in path.read_text("utf-8")]
    assert made == ["_html.py"]

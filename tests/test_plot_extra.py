"""Figures are an extra: without it everything else runs, and one line shows how to install it."""

import json
import sys
from importlib.util import find_spec

import pytest

from tests.app.test_cli import OWN, called
from tests.test_notebooks import plotted

LINE = "figures need Altair and vl-convert: pip install 'inbounds[plot]'"


@pytest.fixture(params=[["altair", "vl_convert"], ["altair"], ["vl_convert"]])
def without(request, monkeypatch):
    """As if one library of the extra, or both, were not installed."""
    for name in request.param:
        monkeypatch.setitem(sys.modules, name, None)
        assert find_spec(name) is None


@pytest.mark.usefixtures("without")
def test_every_plot_names_the_extra():
    for each in plotted():
        with pytest.raises(ImportError) as refused:
            each.plot()
        assert str(refused.value) == LINE


@pytest.mark.usefixtures("without")
def test_a_study_writes_its_tables_and_one_line(monkeypatch, capsys, tmp_path):
    study = tmp_path / "own.toml"
    study.write_text(OWN)
    status, out, err = called(monkeypatch, capsys, "study", study, "--out", tmp_path / "a", "--json")
    assert status == 0
    assert err.count(LINE) == 1
    assert json.loads(out)["figures"] == []
    assert {path.name for path in (tmp_path / "a").iterdir()} == {"own.csv", "own.parquet", "own.json"}
    status, _, err = called(monkeypatch, capsys, "study", study, "--out", tmp_path / "b", "--no-figures")
    assert (status, LINE in err) == (0, False)


@pytest.mark.usefixtures("without")
def test_the_papers_studies_have_their_findings_without_figures(monkeypatch, capsys, tmp_path):
    status, _, err = called(monkeypatch, capsys, "study", "covariance", "--reps", 20, "--out", tmp_path)
    assert (status, err.count(LINE)) == (0, 1)
    assert {path.name for path in tmp_path.iterdir()} >= {"claims.csv", "claims.html", "covariance.csv"}


@pytest.mark.usefixtures("without")
def test_a_picture_is_refused_before_the_preview(monkeypatch, capsys, tmp_path):
    words = "preview", tmp_path / "no-such-plan.toml", "--picture", tmp_path / "errors.svg"
    assert called(monkeypatch, capsys, *words) == (2, "", f"inbounds: {LINE}\n")


def test_figures_of_studies_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.delitem(sys.modules, "inbounds.lab.studies.figures", raising=False)
    with pytest.raises(ImportError) as refused:
        import inbounds.lab.studies.figures  # noqa: F401
    assert str(refused.value) == LINE

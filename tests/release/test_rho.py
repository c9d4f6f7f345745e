"""Counts and proportions under ρ: by function, plan, preview and ledger, in files and reports."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import inbounds as ib
from inbounds.errors import BudgetRefused, CertificateError, LedgerError, RecordError
from inbounds.ledger import Account
from inbounds.report.promise import find_factor
from inbounds.service import reading, summarize, verify_record
from inbounds.statistics import registered
from tests.records import restored

ANSWERS = ["yes"] * 70 + ["no"] * 130
GROUPS = {"g": ["a", "b", "c", "b"] * 50}


def count(**keywords):
    return ib.count(ANSWERS, "x", level="yes", **{"rho": 0.5} | keywords)


def proportion(**keywords):
    return ib.proportion(ANSWERS, "x", level="yes", **{"rho": 0.5} | keywords)


def count_groups(**keywords):
    return ib.count(GROUPS, by="g", levels=["a", "b", "c"], **{"rho": 0.5} | keywords)


def count_all(**keywords):
    return ib.count(GROUPS, neighbours="add-remove", **{"rho": 0.5} | keywords)


MAKERS = [count, proportion, count_groups, count_all]


@pytest.mark.parametrize("make", MAKERS)
def test_a_release_is_written_verified_and_not_changed(make):
    made = make()
    assert made.guarantee == ib.ZCDP(0.5)
    assert made.epsilon == math.inf
    assert made.certificate.loss <= Fraction(1, 2)
    text = made.to_json()
    again = ib.Release.from_json(text)
    assert again.to_json() == text
    assert np.array_equal(again.table, made.table)
    body = json.loads(text)
    (release,) = body["releases"].values()
    assert release["terms"]["rho"] == "1/2"
    assert "epsilon" not in text
    for change in ({"rho": str(Fraction(1, 2) * (1 - Fraction(1, 10**6)))}, {"rho": "1"}, {"rho": "0"}):
        forged = json.loads(text)
        (release,) = forged["releases"].values()
        release["terms"] |= change
        with pytest.raises((RecordError, CertificateError)):
            ib.Release.from_json(json.dumps(restored(forged)))


def test_texts_show_rho_and_no_epsilon():
    made = count()
    for text in (str(made), repr(made)):
        assert "rho 0.5" in text
    assert "ρ = 0.5" in made._repr_html_()
    assert not any("epsilon" in text or "ε" in text for text in (str(made), repr(made), made._repr_html_()))


@pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
def test_noise_has_the_variance_that_rho_allows(neighbours):
    """σ² = Δ²/(2ρ): 1 for one count at ρ = ½, 2 for the counts of groups that a substituted record changes."""
    data = {"g": ["a"] * 300 + ["b"] * 300}
    noisy = [
        np.asarray(ib.count(data, by="g", levels=["a", "b"], rho=0.5, neighbours=neighbours).value) - 300
        for _ in range(1500)
    ]
    variance = 2 if neighbours == "substitute" else 1
    size = np.size(noisy)
    low, high = stats.chi2.ppf([1e-10, 1 - 1e-10], size) / size
    assert low < np.var(noisy) / variance < high
    # Twice as much noise, or half of it, would show.
    assert not low < np.var(noisy) / (2 * variance) < high
    assert not low < np.var(noisy) / (variance / 2) < high


@pytest.mark.parametrize("make", [count, proportion])
@pytest.mark.parametrize("kind", ["population", "noise"])
def test_intervals_hold_and_are_not_too_wide(make, kind):
    """Over the law of the noise alone, or with sampling: 95% intervals hold in at least 95% of releases."""
    rng, hits, runs = np.random.default_rng(3), 0, 300
    worth = 200 if make is proportion else 1
    for _ in range(runs):
        share = 0.35
        records = rng.random(200) < share
        data = {"x": np.where(records, "yes", "no").tolist()}
        maker = ib.proportion if make is proportion else ib.count
        low, high = maker(data, "x", level="yes", rho=0.02).interval(kind=kind)
        true = share * 200 if kind == "population" else int(records.sum())
        hits += low * worth - 1e-9 <= true <= high * worth + 1e-9
        assert (high - low) * worth < (55 if kind == "population" else 25)
    assert stats.binom.cdf(hits, runs, 0.95) > 1e-9


def test_errors_and_forecasts_agree():
    for maker, facts in ((count, {"level": "yes"}), (proportion, {})):
        made = maker(rho=0.125)
        seen = ib.preview(maker.__name__, rho=0.125, rows=200, **facts)
        assert "rho 0.125" in str(seen)
        assert "epsilon" not in str(seen)
        assert seen.forecast.typical == pytest.approx(made.error.rmse, rel=0.05)
        assert made.error.rmse == pytest.approx(2 / (200 if maker is proportion else 1), rel=1e-3)
        assert all(option.bounding == "bit" for option in seen.options)


def test_a_ledger_counts_rho(tmp_path):
    account = Account(tmp_path / "l", "survey", ib.ZCDP(1))
    first = count(ledger=account)
    with pytest.warns(UserWarning, match="released from 'survey' before"):
        assert count(ledger=account).value == first.value
    proportion(ledger=account)
    with pytest.raises(BudgetRefused, match="rho"):
        count(ledger=account, rho=0.25)
    with pytest.raises(LedgerError, match="they do not add up"):
        ib.count(ANSWERS, "x", level="yes", epsilon=0.1, ledger=account)
    entries = ib.ledger.verify(account.ledger)
    (standing,) = ib.ledger.standings(entries)
    assert str(standing).startswith("survey: rho 1 of rho 1 spent, ")
    assert standing.left is None


PLAN = """
[data]
source = "survey.csv"
rows = 200
[budget]
rho = 0.5
limit = 1
ledger = "survey.ledger"
[columns]
x = { levels = ["yes", "no"] }
[[release]]
name = "share"
statistic = "proportion"
columns = ["x"]
level = "yes"
share = 3
[[release]]
name = "cells"
statistic = "count"
by = ["x"]
"""


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "survey.csv").write_text("x\n" + "\n".join(ANSWERS) + "\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path / "plan.toml"


def test_a_plan_in_rho(plan, tmp_path):
    loaded = ib.Plan.load(plan)
    assert loaded.shares == {"share": ib.ZCDP("3/8"), "cells": ib.ZCDP("1/8")}
    outlook = loaded.preview()
    assert outlook.heads[1] == "rho"
    assert "rho 0.5 for one record" in str(outlook)
    assert "epsilon" not in str(outlook)
    assert outlook.to_dict()["rho"] == "1/2"
    made = ib.release(loaded)
    assert made.guarantee == ib.ZCDP(0.5)
    made.write(tmp_path / "out")
    for name in ("report.html", "report.md"):
        report = (tmp_path / "out" / name).read_text("utf-8")
        assert "ρ = 0.375" in report
        assert "D_α" in report.replace("<sub>", "_").replace("</sub>", "")
        assert "ε" not in report
    verified = verify_record(tmp_path / "out" / "release.json", tmp_path / "survey.ledger")
    assert summarize(verified)["rho"] == "1/2"
    again = ib.release(ib.Plan.load(plan))
    assert again.stored
    assert again["share"].value == made["share"].value


def test_a_page_shows_the_plan_with_its_symbol(plan):
    promise = reading._promise(ib.Plan.load(plan))
    assert (promise["symbol"], promise["parameter"], promise["epsilon"]) == ("ρ", "rho", "0.5")
    assert "ρ = 0.5" in promise["words"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("rho = 0.5", "rho = 0.5\nepsilon = 1", "budget: must have either epsilon or rho"),
        ("rho = 0.5", "", r"budget\.epsilon: must be given"),
        ("rho = 0.5", "rho = 0", "greater than 0"),
        (
            'statistic = "count"\nby = ["x"]',
            'statistic = "histogram"\ncolumns = ["x"]',
            r"cells: rho= is offered so far",
        ),
    ],
)
def test_a_plan_that_cannot_be_kept_is_refused(plan, old, new, words):
    plan.write_text(PLAN.replace(old, new))
    with pytest.raises(ValueError, match=words):
        ib.Plan.load(plan)


OTHERS = sorted(set(registered()) - {"count", "proportion"})


@pytest.mark.parametrize("name", OTHERS)
def test_other_statistics_name_those_that_can(name):
    with pytest.raises(TypeError, match=r"has no keyword rho=; it is a keyword of count, proportion"):
        getattr(ib, name)({"x": [1, 2]}, rho=1)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: count(bounding="truncated"), ValueError, "bounding='truncated' is not offered with rho= yet"),
        (lambda: count(epsilon=1), TypeError, "give either epsilon= or rho="),
        (lambda: count(rho=None), TypeError, "give either epsilon= or rho="),
        (lambda: count(rho=-1), ValueError, "rho must be > 0"),
        (lambda: proportion(neighbours="add-remove"), ValueError, "rho= is offered so far for"),
        (
            lambda: ib.proportion({"x": ANSWERS, **GROUPS}, "x", level="yes", by="g", levels=["a", "b", "c"], rho=1),
            ValueError,
            "rho= is offered so far for",
        ),
    ],
)
def test_what_is_not_offered_is_refused_in_one_line(call, error, words):
    with pytest.raises(error, match=words) as refused:
        call()
    assert "\n" not in str(refused.value)


@pytest.mark.claim("rho-factor")
@pytest.mark.parametrize("rho", [0.001, 0.02, 0.5, 2.0])
def test_the_factor_of_a_report_holds(rho):
    """For the Gaussian noise of this ρ, P(S) - e^ε P'(S) is at most δ for the worst S, and not for an ε of half."""
    epsilon, delta = find_factor(ib.ZCDP(rho))
    move = math.sqrt(2 * rho)

    def excess(epsilon):
        # Balle and Wang (2018), for a Gaussian with deviation 1 that moves by √(2ρ).
        first = stats.norm.cdf(move / 2 - epsilon / move)
        return first - math.exp(epsilon) * stats.norm.cdf(-move / 2 - epsilon / move)

    assert excess(epsilon) <= delta
    assert excess(epsilon / 2) > delta


def test_persons_pay_for_all_of_their_records():
    """A person with up to three records in one cell moves it by three: nine times the variance."""
    one, three = (count_groups(contributions=k).certificate for k in (1, 3))
    assert three.law.variance == 9 * one.law.variance
    assert three.loss == one.loss == Fraction(1, 2)


def test_a_file_has_one_kind_of_guarantee():
    pure = ib.count(ANSWERS, "x", level="yes", epsilon=1)
    mixed, other = json.loads(proportion().to_json()), json.loads(pure.to_json())
    mixed["releases"] |= other["releases"]
    with pytest.raises(RecordError, match="guarantees of one kind"):
        ib.Releases.from_json(json.dumps(mixed))


@pytest.mark.parametrize("rho", ["1e-11", "1e-6", 100, 10**6])
def test_small_and_large_rho(rho):
    made = count(rho=rho)
    low, high = made.interval(kind="noise")
    assert 0 <= low <= made.value <= high <= 200
    assert made.error.rmse <= 200
    assert ib.Release.from_json(made.to_json()).value == made.value
    if made.guarantee.rho >= 100:
        assert (made.value, low, high) == (70, 70, 70)


def test_a_table_releases_under_rho():
    survey = ib.Table({"x": ANSWERS}, columns={"x": ib.category("yes", "no")})
    for made in (survey.count("x", "yes", rho=0.5), survey.proportion("x", "yes", rho=0.5)):
        assert made.guarantee == ib.ZCDP(0.5)
    with pytest.raises(TypeError, match="epsilon="):
        survey.count("x", "yes")
    with pytest.raises(TypeError, match="give either epsilon= or rho="):
        survey.count("x", "yes", epsilon=1, rho=1)

"""With next to no noise a release is the statistic: every function, both relations, and odd groups."""

import enum
import inspect
import re

import numpy as np
import polars as pl
import pytest

import inbounds as ib
from inbounds.record.charges import digest_of
from inbounds.tables.schema import DataError
from tests.records import body_of, record_with
from tests.release.cases import ALL, CHOSEN, COUNTED, FITTED, GROUPS, ORDERED, REPAIRED, SPLIT, THEMSELVES, table

HUGE = 10**5


@pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
@pytest.mark.parametrize("name", ALL)
def test_little_noise_gives_the_statistic(name, neighbours):
    t = table(500)
    release = ALL[name].call(t, epsilon=HUGE, neighbours=neighbours)
    assert np.asarray(release.table) == pytest.approx(np.asarray(ALL[name].truth(t)), rel=2e-3, abs=2e-3)


@pytest.mark.parametrize("name", THEMSELVES)
def test_little_noise_on_the_numbers_themselves(name):
    t = table(500)
    assert THEMSELVES[name].call(t, epsilon=HUGE).value == pytest.approx(THEMSELVES[name].truth(t), rel=2e-3, abs=2e-3)


@pytest.mark.parametrize("name", REPAIRED)
def test_repaired_tables_too(name):
    t = table(500)
    assert REPAIRED[name].call(t, epsilon=HUGE).value == pytest.approx(REPAIRED[name].truth(t), abs=2e-3)


@pytest.mark.claim("release-choices")
@pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
@pytest.mark.parametrize("name", CHOSEN)
def test_chosen_points_too(name, neighbours):
    t = table(500)
    release = CHOSEN[name].call(t, epsilon=HUGE, neighbours=neighbours)
    # With an even number of records a median is anywhere between two of them.
    assert np.asarray(release.table) == pytest.approx(np.asarray(CHOSEN[name].truth(t)), rel=0.03, abs=1)


@pytest.mark.claim("points-of-counts")
@pytest.mark.parametrize("name", COUNTED)
def test_points_of_counts_too(name):
    t = table(500)
    assert COUNTED[name].call(t, epsilon=HUGE).value.tolist() == COUNTED[name].truth(t).tolist()


@pytest.mark.parametrize("name", FITTED)
def test_coefficients_without_noise_are_those_of_least_squares(name):
    t = table(300)
    assert FITTED[name].call(t, epsilon=HUGE).value == pytest.approx(FITTED[name].truth(t), rel=1e-4, abs=1e-3)


@pytest.mark.claim("statistic-kendall")
@pytest.mark.parametrize("name", ORDERED)
def test_ordered_columns_too(name):
    t = table(500)
    assert ORDERED[name].call(t, epsilon=HUGE).value == pytest.approx(ORDERED[name].truth(t), abs=1e-5)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 10])
@pytest.mark.parametrize("name", ["proportions", *REPAIRED])
@pytest.mark.parametrize("bounding", ["bit", "truncated"])
def test_repaired_tables_add_up(name, epsilon, bounding):
    t = table(60)
    case = (ALL | REPAIRED)[name]
    for _ in range(40):
        value = case.call(t, epsilon=epsilon, bounding=bounding).value
        assert (value >= 0).all()
        if "proportions" in name:
            assert abs(value.sum() - 1) < 1e-12
        else:
            assert value.dtype == int
            assert value.sum() == 60


def test_shares_of_protected_sizes_add_up():
    t = table(60)
    for keywords in ({}, {"denominator": 50}, {"denominator": 50, "repair": "rescale"}):
        value = ib.proportions(
            t, "region", levels=["n", "s", "e", "w"], epsilon=0.2, neighbours="add-remove", **keywords
        ).value
        assert abs(value.sum() - 1) < 1e-12


def test_trees_of_any_levels():
    ages = np.random.default_rng(0).integers(0, 64, 500)
    release = ib.proportions(ages, edges=list(range(0, 65, 4)), epsilon=1, repair="tree")
    assert [part.draws for part in release.certificate.parts] == [2, 2]
    assert len(release.noisy) == 4 + 16
    assert abs(release.value.sum() - 1) < 1e-12
    assert ib.Release.from_json(release.to_json()) == release
    integers = ib.proportions([1, 2, 3], levels=[1, 2, 3], epsilon=1, repair="tree", tree=[[1, 3], 2])
    assert integers.statistic.tree == (("1", "3"), "2")
    record = body_of(integers)
    asked = record["statistic"] | {"tree": [[["1"], "3"], "2"]}
    with pytest.raises(ValueError, match="does not follow"):
        ib.Release.from_json(record_with(record | {"statistic": asked, "noisy": record["noisy"] + ["0"]}))


def test_a_single_level():
    assert ib.proportions(["a"] * 5, levels=["a"], epsilon=1).value.tolist() == [1.0]
    assert ib.histogram(["a"] * 5, levels=["a"], epsilon=0.1, repair="project").value.tolist() == [5]


@pytest.mark.parametrize("name", SPLIT)
def test_split_matrices_too(name):
    t = table(500)
    assert SPLIT[name].call(t, epsilon=HUGE).value == pytest.approx(SPLIT[name].truth(t), rel=2e-3, abs=2e-3)


@pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
def test_groups_that_nobody_is_in(neighbours):
    """They have no scatter, whether sizes are exact or noisy."""
    rng = np.random.default_rng(0)
    t = {"x": rng.normal(50, 2, 900), "g": np.arange(900) % 3}
    keywords = {"by": "g", "levels": list(range(53)), "epsilon": HUGE, "neighbours": neighbours}
    within = np.mean([t["x"][t["g"] == g].var(ddof=1) for g in range(3)]) * (900 - 3) / (900 - 53)
    release = ib.pooled_variance(t, "x", bounds=(0, 100), **keywords)
    assert release.value == pytest.approx(within, rel=0.02)
    means = ib.mean(t, "x", bounds=(0, 100), **keywords).value
    assert means[:3] == pytest.approx([t["x"][t["g"] == g].mean() for g in range(3)], rel=1e-3)
    assert ((means >= 0) & (means <= 100)).all()


def test_many_levels_and_columns_are_quick():
    levels = [f"level {i}" for i in range(1000)]
    release = ib.histogram(levels * 3, levels=levels, epsilon=1)
    assert release.error.rmse.shape == (1000,)
    assert len(str(release)) > 1000
    assert len(repr(release)) < 200
    rng = np.random.default_rng(0)
    wide = {f"c{i}": rng.random(50) for i in range(40)}
    release = ib.covariance(wide, bounds=dict.fromkeys(wide, (0, 1)), epsilon=1)
    assert release.value.shape == (40, 40)


@pytest.mark.parametrize("epsilon", ["1e-7", "0.001", 5, 9, 1000, 10**6])
def test_small_and_large_budgets(epsilon):
    t = table(100)
    for call in (
        ib.count(t, "smoker", level="yes", epsilon=epsilon),
        ib.proportion(t, "smoker", level="yes", epsilon=epsilon, bounding="truncated"),
        ib.histogram(t, "region", levels=["n", "s", "e", "w"], epsilon=epsilon),
        ib.mean(t, "age", bounds=(0, 100), epsilon=epsilon),
        ib.sum(t, "age", bounds=(0, 100), epsilon=epsilon, neighbours="add-remove"),
        ib.variance(t, "age", bounds=(0, 100), epsilon=epsilon),
    ):
        assert ib.Release.from_json(call.to_json()) == call
        assert call.certificate.loss <= call.certificate.epsilon


def test_sums_within_reach_of_their_grid():
    """A protected number of rows and a large budget: the noise is small, and so is the error."""
    for epsilon in (1, 1000, 10**6):
        release = ib.sum(np.full(10**6, 100.0), bounds=(0, 100), epsilon=epsilon, neighbours="add-remove")
        assert release.value == pytest.approx(1e8, abs=5000 / epsilon + 0.01)


def test_text_of_an_enumeration():
    class Answer(enum.StrEnum):
        YES = "yes"

    class Plain(str, enum.Enum):  # noqa: UP042
        YES = "yes"

    for answer in (Answer.YES, Plain.YES):
        assert ib.proportion([answer] * 50, level="yes", epsilon=1000).value == 1


def test_names_of_series_and_titles():
    import polars as pl

    release = ib.mean(pl.Series("income", [1.0, 2.0]), bounds=(0, 9), epsilon=1)
    assert release.columns[0].name == "income"
    assert ib.mean([1.0], "income", bounds=(0, 9), epsilon=1).columns[0].name == "income"
    t = table(50)
    titles = {
        "count of smoker = yes": ib.count(t, "smoker", level="yes", epsilon=1),
        "proportion of employed = 1": ib.proportion(t, "employed", epsilon=1),
        "count of all records": ib.count(t, epsilon=1, neighbours="add-remove"),
        "count of region": ib.count(t, by="region", levels=["n", "s", "e", "w"], epsilon=1),
        "mean of age by group": ib.mean(t, "age", bounds=(0, 100), by="group", levels=GROUPS, epsilon=1),
        "crosstab of group, employed": ib.crosstab(t, levels={"group": GROUPS, "employed": [True, False]}, epsilon=1),
    }
    for title, made in titles.items():
        assert str(made).startswith(title + ":")
        assert title in repr(made)
    person = ib.mean(t, "age", bounds=(0, 100), epsilon=1, contributions=3)
    assert "per person with up to 3 records" in str(person)
    assert body_of(person)["terms"]["contributions"] == 3


def test_every_function_explains_its_keywords():
    for name in ("mean", "sum", "histogram", "covariance", "pooled_variance"):
        text = getattr(ib, name).__doc__
        assert re.search(r'\nneighbours : .*\n    `"substitute"`: one record changes its value', text)
        assert all(f"\n{head}\n{'-' * len(head)}\n" in text for head in ("Parameters", "Returns", "Raises"))
        assert all(f"\n{word} : " in text for word in inspect.signature(getattr(ib, name)).parameters)


@pytest.mark.parametrize("size", [2, 5, 50])
@pytest.mark.parametrize("epsilon", [0.01, 1, 10])
@pytest.mark.parametrize("method", ["joint", "elements", "split"])
def test_matrices_are_possible(size, epsilon, method):
    rng = np.random.default_rng(0)
    base = rng.random((300, 1))
    x = np.clip(base + 0.3 * rng.normal(size=(300, size)), 0, 1)
    t = {f"c{i}": x[:, i] for i in range(size)}
    bounds = dict.fromkeys(t, (0, 1))
    for _ in range(1 if size == 50 else 12):
        covariance = ib.covariance(t, bounds=bounds, epsilon=epsilon, method=method).value
        # Next to a variance of 0 there is none: the others are a correlation matrix with 0 there.
        correlation = np.ma.filled(ib.correlation(t, bounds=bounds, epsilon=epsilon, method=method).value, 0.0)
        assert np.linalg.eigvalsh(covariance)[0] >= -1e-12 * max(np.trace(covariance), 1e-9)
        assert np.linalg.eigvalsh(correlation)[0] >= -1e-12 * size
        assert (np.abs(correlation) <= 1).all()
        assert (np.diagonal(correlation) == 1).all()


@pytest.mark.parametrize("repair", ["clip", "nearest", "newton"])
def test_every_repair_in_a_release(repair):
    t = table(80)
    bounds = {"age": (0, 100), "weight": (20, 140), "income": (0, 200)}
    for call in (ib.covariance, ib.correlation):
        for neighbours in ("substitute", "add-remove"):
            release = call(t, bounds=bounds, epsilon=0.2, repair=repair, neighbours=neighbours)
            assert release.repair == repair
            value = np.ma.filled(release.value, 0.0)
            assert np.linalg.eigvalsh(value)[0] >= -1e-10 * np.trace(value)
            assert release.error.rmse.shape == (3, 3)
            assert ib.Release.from_json(release.to_json()) == release
    with pytest.raises(ValueError, match="repair must be one of"):
        ib.covariance(t, bounds=bounds, epsilon=1, repair="guess")


def test_an_undetermined_correlation_is_noted():
    """With next to no budget a released variance is often 0; then the record says what became of the correlation."""
    seen = set()
    for _ in range(200):
        release = ib.correlation(
            {"x": [1.0, 2.0, 3.0], "y": [3.0, 1.0, 2.0]},
            bounds={"x": (0, 9), "y": (0, 9)},
            epsilon=0.1,
            method="elements",
        )
        covariance = release.noisy[0] <= 0 or release.noisy[2] <= 0
        assert bool(release.notes) == covariance
        assert (release.flat_values()[1] is None) == covariance
        seen.add(covariance)
    assert seen == {True, False}


def test_truncated_covariances_lie_within_released_variances():
    t = table(100)
    for _ in range(50):
        release = ib.covariance(
            t, bounds={"age": (0, 100), "weight": (20, 140)}, epsilon=0.5, method="split", bounding="truncated"
        )
        assert abs(release.noisy[1]) <= float(release.noisy[0] * release.noisy[2]) ** 0.5 * (1 + 1e-12)
        assert release.certificate.parts[1].location == "anywhere"
        assert release.certificate.loss <= release.certificate.epsilon


@pytest.mark.parametrize("method", ["joint", "elements", "split"])
def test_a_matrix_of_one_column(method):
    release = ib.covariance({"x": [1.0, 2.0, 4.0] * 20}, bounds={"x": (0, 9)}, epsilon=HUGE, method=method)
    assert ib.Release.from_json(release.to_json()) == release
    with pytest.raises(ValueError, match="needs two or more columns"):
        ib.correlation({"x": [1.0, 2.0, 4.0]}, bounds={"x": (0, 9)}, epsilon=1, method=method)


@pytest.mark.claim("paid")
def test_releases_that_are_accounted_for(tmp_path):
    """Charged before the data are read; the same again is the stored one; beyond the limit there is nothing."""
    from inbounds import ledger

    book = tmp_path / "l"
    ask = {"bounds": (0, 10), "epsilon": 0.4}
    with pytest.raises(ledger.LedgerError, match=r"does not have exactly one dataset \(none\)"):
        ib.mean([1, 2, 3], "age", **ask, ledger=book)
    assert not book.exists()
    account = ledger.Account(book, "d", 1)
    # Ages and heights that nobody named would be the same request.
    with pytest.raises(TypeError, match="a column of plain values needs a name"):
        ib.mean([1, 2, 3], **ask, ledger=account)
    first = ib.mean([1, 2, 3], "age", **ask, ledger=account)
    with pytest.warns(UserWarning, match="mean of age was released from 'd' before; this is the stored"):
        assert ib.mean([1, 2, 3], "age", **ask, ledger=book) == first
    assert ledger.standings(ledger.verify(book))[0].spent == ledger.Pure("4/10")
    # Anything else is another request: a charge of its own.
    other = ib.mean([1, 2, 3], "age", **ask, bounding="truncated", ledger=str(book))
    assert other.bounding == "truncated"
    assert ledger.standings(ledger.verify(book))[0].spent == ledger.Pure("8/10")
    table = {"x": [1.0, 2], "y": [1, 2]}
    for call in (
        lambda: ib.sum([1, 2, 3], "age", **ask, ledger=book),
        lambda: ib.histogram(["a"], "g", levels=["a", "b"], epsilon=0.3, ledger=book),
        lambda: ib.covariance(table, bounds={"x": (0, 1), "y": (0, 1)}, epsilon=1, ledger=book),
    ):
        with pytest.raises(ledger.BudgetRefused):
            call()
    with pytest.raises(ledger.LedgerError, match="do not add up"):
        ib.count(["a"], "x", level="a", epsilon=0.1, neighbours="add-remove", ledger=book)
    with pytest.raises(TypeError, match="ledger must be a file or an Account"):
        ib.mean([1], "age", **ask, ledger=3)
    # What is public is found before it costs anything.
    for wrong in (pl.DataFrame({"age": ["s"]}), pl.LazyFrame({"age": [1, 2]})):
        with pytest.raises(DataError):
            ib.mean(wrong, "age", bounds=(0, 10), epsilon=0.01, rows=1, ledger=book)
    assert ledger.standings(ledger.verify(book))[0].spent == ledger.Pure("8/10")
    # What the data themselves refuse is paid for, and stays refused.
    with pytest.raises(DataError, match=r"the charge of 0.1 on 'd' stands; 0.1 is left"):
        ib.mean([1, None, 3], "age", bounds=(0, 10), epsilon=0.1, ledger=book)
    with pytest.raises(ledger.Unfinished, match="and failed"):
        ib.mean([1, 2, 3], "age", bounds=(0, 10), epsilon=0.1, ledger=book)
    assert ledger.standings(ledger.verify(book))[0].spent == ledger.Pure("9/10")
    # Levels of another type, and what counts as the level, are other requests.
    answers = ["no level", None, "1"]
    counted = {"column": "g", "epsilon": 0.001, "ledger": book}
    for ask in ({"level": "1", "missing": True}, {"level": "1", "missing": False}, {"level": 1, "missing": True}):
        ib.count(answers if isinstance(ask["level"], str) else [1, None, 2], **ask, **counted)
    assert ledger.standings(ledger.verify(book))[0].charges == 6


def test_requests_have_digests_of_their_own():
    """Everything that is asked for makes a difference, and nothing that came out."""
    x, table = [1, 2, 3], {"x": [1, 2, 3], "y": [3, 1, 2], "g": ["a", "b", "a"]}
    calls = [
        lambda: ib.mean(x, bounds=(0, 10), epsilon=1),
        lambda: ib.mean(x, bounds=(0, 11), epsilon=1),
        lambda: ib.mean(x, bounds=(0, 10), epsilon=2),
        lambda: ib.mean(x, bounds=(0, 10), epsilon=1, missing=3),
        lambda: ib.mean(x, bounds=(0, 10), epsilon=1, contributions=2),
        lambda: ib.mean(x, bounds=(0, 10), epsilon=1, bounding="truncated"),
        lambda: ib.mean(x, bounds=(0, 10), epsilon=1, neighbours="add-remove"),
        lambda: ib.mean(x, bounds=(0, 10), epsilon=1, integer=True),
        lambda: ib.mean([1, 2], bounds=(0, 10), epsilon=1),
        lambda: ib.variance(x, bounds=(0, 10), epsilon=1),
        lambda: ib.mean(table, "y", bounds=(0, 10), epsilon=1),
        lambda: ib.histogram(table, "g", levels=["a", "b"], epsilon=1),
        lambda: ib.histogram(table, "g", levels=["b", "a"], epsilon=1),
        lambda: ib.histogram(table, "g", levels=["a", "b"], other="a", epsilon=1),
        lambda: ib.histogram(table, "g", levels=["a", "b"], missing="a", epsilon=1),
        lambda: ib.histogram(table, "g", levels=["a", "b"], epsilon=1, repair="project"),
        lambda: ib.proportions(table, "g", levels=["a", "b"], epsilon=1),
        lambda: ib.proportions(table, "g", levels=["a", "b"], epsilon=1, repair="tree"),
        lambda: ib.covariance(table, bounds={"x": (0, 10), "y": (0, 10)}, epsilon=1),
        lambda: ib.covariance(table, bounds={"x": (0, 10), "y": (0, 10)}, epsilon=1, method="split"),
        lambda: ib.covariance(table, bounds={"x": (0, 10), "y": (0, 10)}, epsilon=1, method="elements"),
        lambda: ib.moments(table, bounds={"x": (0, 10), "y": (0, 10)}, epsilon=1),
        lambda: ib.variance(x, bounds=(0, 10), epsilon=1, method="direct"),
        lambda: ib.covariance(table, bounds={"x": (0, 10), "y": (0, 10)}, epsilon=1, repair="newton"),
        lambda: ib.count(table, "g", level="a", epsilon=1),
        lambda: ib.count(table, "g", level="b", epsilon=1),
    ]
    digests = [digest_of(None, {"r": call()}) for call in calls]
    assert len(set(digests)) == len(calls)
    assert [digest_of(None, {"r": call()}) for call in calls] == digests

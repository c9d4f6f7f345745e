"""A record is drafted again from itself: laws, bounds, units and steps must be those of its statistic."""

import json
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import inbounds as ib
from inbounds.grid.law import GridMechanism
from inbounds.grid.scale import Scale
from inbounds.privacy.certificate import CertificateError, certify, compose
from inbounds.record import RecordError
from tests.records import body_of, record_with
from tests.release.cases import table

T = table(210)


def cheap(release, step=None, ends=(0, 1)):
    """A law of next to no noise on a grid of two points: its loss is a millionth, whatever the sensitivity."""
    own = release.certificate
    step = step or own.step * (own.last - own.first)
    law = GridMechanism("bit", Scale(40, 1 << 20), *ends, step, own.origin)
    names = ("statistic", "neighbours", "sensitivity")
    return certify(law, epsilon=Fraction(1, 10**6), draws=own.draws, **{name: getattr(own, name) for name in names})


@pytest.mark.claim("proof")
@pytest.mark.parametrize(
    "call",
    [
        partial(ib.mean, column="income", bounds=(0, 200), method="direct"),
        partial(ib.sum, column="income", bounds=(0, 200)),
        partial(ib.variance, column="income", bounds=(0, 200), method="direct"),
        partial(ib.count, column="smoker", level="yes"),
        partial(ib.proportion, column="smoker", level="yes"),
        partial(ib.mean, column="income", bounds=(0, 200), bounding="truncated"),
    ],
)
def test_a_millionth_for_an_exact_value_is_refused(call):
    """Every certificate here is true in itself: the ends of its grid are not the statistic's."""
    made = call(T, epsilon=1)
    exact = made.noisy[0]
    # One step from 0 to the exact value: a record moves it by one step at most, which costs a millionth.
    for step in (exact, exact - made.certificate.origin, made.certificate.step):
        forged = replace(made, certificate=cheap(made, step), noisy=(made.certificate.origin + step,))
        with pytest.raises((RecordError, CertificateError)):
            ib.Release.from_json(forged.to_json())


@pytest.mark.claim("proof")
def test_bounds_are_those_of_the_statistic():
    """Bounds of the coordinates decide what is published; means and sums had none that were compared."""
    made = ib.mean(T, "income", bounds=(0, 200), epsilon=1)
    for bounds in ([(Fraction(0), Fraction(1))], [(None, None)], [(Fraction(-1), Fraction(200))]):
        with pytest.raises(RecordError, match="does not follow"):
            ib.Release.from_json(replace(made, bounds=tuple(bounds)).to_json())


@pytest.mark.claim("proof")
@pytest.mark.parametrize("field", ["step", "origin", "first", "last", "scale", "epsilon"])
def test_every_number_of_the_law_is_compared(field):
    made = ib.mean(T, "income", bounds=(0, 200), epsilon=1, method="direct")
    own = made.certificate
    law, epsilon = own.mechanism, own.epsilon
    changes = {
        "step": {"step": own.step / 2, "last": 2 * own.last, "scale": Scale(own.exponent + 1, own.divisor)},
        "origin": {"origin": own.origin - own.step, "first": 1, "last": own.last + 1},
        "first": {"first": -own.last},
        "last": {"last": 2 * own.last},
        "scale": {"scale": Scale(own.exponent + 20, (own.divisor << 20) - 1)},
        "epsilon": {},
    }
    other = replace(law, **changes[field])
    epsilon = epsilon + Fraction(1, 10**6) if field == "epsilon" else epsilon
    forged = certify(other, statistic="mean", neighbours="substitute", sensitivity=own.sensitivity, epsilon=epsilon)
    assert forged != own
    with pytest.raises(RecordError, match="does not follow"):
        ib.Release.from_json(replace(made, certificate=forged).to_json())


@pytest.mark.claim("proof")
def test_covariances_in_turn_are_held_to_the_draft():
    """Laws of truncated covariances follow from released variances: the same proof at both doors."""
    bounds = {"age": (0, 100), "weight": (20, 140)}
    made = ib.covariance(T, bounds=bounds, epsilon=5, method="split", bounding="truncated")
    assert made.certificate.parts[1].location == "anywhere"
    assert ib.Release.from_json(made.to_json()) == made
    part = made.certificate.parts[1]
    law = part.mechanism
    noisier = replace(law, scale=Scale(law.scale.exponent, law.scale.divisor // 8))
    names = ("statistic", "neighbours", "sensitivity", "epsilon", "location")
    other = certify(noisier, **{name: getattr(part, name) for name in names})
    parts = (made.certificate.parts[0], other, made.certificate.parts[2])
    forged = replace(made, certificate=compose(parts, made.certificate.epsilon))
    with pytest.raises(RecordError, match="'certificate' does not follow"):
        ib.Release.from_json(forged.to_json())


ODD = {
    "no column": lambda: ib.mean([1.0, 2.0], bounds=(0, 3), epsilon=1),
    "booleans, missing": lambda: ib.count({"b": [True, None]}, "b", level=True, missing=True, epsilon=1),
    "booleans, not missing": lambda: ib.count({"b": [True, None]}, "b", level=False, missing=False, epsilon=1),
    "text that looks so": lambda: ib.count({"b": ["true", None]}, "b", level="true", missing=True, epsilon=1),
    "a level that says not": lambda: ib.count({"b": ["not a", "a"]}, "b", level="not a", missing=False, epsilon=1),
    "zero and one": lambda: ib.proportion({"b": [0, 1, None]}, "b", missing=True, epsilon=1),
    "zero and one, protected": lambda: ib.proportion(
        {"b": [0, 1]}, "b", missing=False, epsilon=1, neighbours="add-remove"
    ),
    "whole levels": lambda: ib.histogram({"b": [3, 4, None, 7]}, "b", levels=[4, 3], missing=3, other=4, epsilon=1),
    "truths": lambda: ib.histogram({"b": [True, None]}, "b", levels=[False, True], missing=True, epsilon=1),
    "truths, derived": lambda: ib.proportions(
        {"b": [True, None]}, "b", levels=[False, True], missing=True, epsilon=1, repair="all-but-one", derived=True
    ),
    "truths in a tree": lambda: ib.proportions(
        {"b": [True, None]}, "b", levels=[False, True], missing=False, epsilon=1, repair="tree"
    ),
    "edges": lambda: ib.histogram(
        {"x": [0.5, None]}, "x", edges=[0, 0.1, Fraction(1, 3), Fraction(10**20 + 1, 10**20), 2], missing=0.2, epsilon=1
    ),
    "edges, derived": lambda: ib.proportions(
        {"x": [0.5, 3]}, "x", edges=["1/3", 2, 4], epsilon=1, repair="all-but-one", derived="[2, 4]"
    ),
    "large edges": lambda: ib.histogram({"x": [1.0]}, "x", edges=[-1e300, -1e-300, 0, 1e22, 1e300], epsilon=1),
    "two intervals": lambda: ib.crosstab(
        {"x": [1.0], "g": [1]}, levels={"g": [1, 2]}, edges={"x": [0, 1, 2]}, missing={"x": 1, "g": 2}, epsilon=1
    ),
    "whole numbers": lambda: ib.mean({"x": [1, None]}, "x", bounds=(0, 3), integer=True, missing=2, epsilon=1),
    "steps of one that nobody asked for": lambda: ib.mean([5.0] * 3, bounds=(0, 2**40), epsilon=1),
    "halves in steps of one": lambda: ib.mean([5.0] * 3, bounds=(0.5, 2**12 + 0.5), epsilon=1),
    "a fill that is no whole number": lambda: ib.mean([5.0], bounds=(0, 2**12), missing="1/3", epsilon=1),
    "whole columns of a matrix": lambda: ib.covariance(
        {"a": [1, 2], "b": [1.5, None]}, bounds={"a": (0, 3), "b": (0, 3)}, integer=["a"], missing={"b": 2}, epsilon=1
    ),
    "a matrix of one column": lambda: ib.covariance({"a": [1, 2]}, bounds={"a": (0, 3)}, epsilon=1),
    "a matrix of one column, truncated": lambda: ib.covariance(
        {"a": [1, 2]}, bounds={"a": (0, 3)}, epsilon=1, method="split", bounding="truncated"
    ),
    "the nearest matrix": lambda: ib.correlation(
        {"a": [1, 2], "b": [3, 3]}, bounds={"a": (0, 3), "b": (0, 3)}, epsilon=1, repair="nearest"
    ),
    "public sizes": lambda: ib.pooled_variance(
        {"a": [1, 2, 3], "g": [True, False, True]},
        "a",
        by="g",
        levels=[True, False],
        sizes={True: 2, False: 1},
        by_missing=True,
        bounds=(0, 3),
        epsilon=1,
    ),
    "strange names": lambda: ib.crosstab(
        {"": [""], '"\n,': ["not a"]}, levels={"": ["", "b"], '"\n,': ["not a", "a"]}, other={"": "b"}, epsilon=1
    ),
    "a share": lambda: ib.proportions(["a"], levels=["a"], epsilon=1),
    "a mean over a public number": lambda: ib.mean(
        [1.0], bounds=(-1, 1), epsilon=1, neighbours="add-remove", denominator=7, bounding="truncated"
    ),
    "a sum below zero": lambda: ib.sum([-1.0], bounds=(-3, -1), epsilon=1, neighbours="add-remove"),
    "deviations": lambda: ib.standard_deviation([1.0, 2.0, 3.0], bounds=(0, 9), epsilon=10**5),
}


@pytest.mark.claim("proof")
@pytest.mark.parametrize("name", ODD)
def test_what_the_text_of_a_record_does_not_say_is_found_again(name):
    """Types of levels, whole numbers, fractions between edges: a record is drafted without them."""
    made = ODD[name]()
    assert ib.Release.from_json(made.to_json()) == made


def test_all_ways_to_a_standard_deviation_are_drafted():
    asked = [(1, "direct"), (20, "direct"), (1, "moments"), (20, "moments"), (1, None)]
    ways = [ib.standard_deviation(T, "income", bounds=(0, 200), epsilon=e, method=method) for e, method in asked]
    root, moments = "root of a released variance", "standard deviation from noisy moments"
    assert [made.method for made in ways] == [root, "direct", moments, "direct", moments]
    for made in ways:
        assert ib.Release.from_json(made.to_json()) == made


@pytest.mark.parametrize(
    ("cells", "ends"),
    [
        (["[0, 1)", "[1, 1]"], ("0", "1")),
        (["[0, 2)", "[2, 1]"], ("0", "1")),
        (["[0, 1)", "[2, 3]"], ("0", "3")),
        (["[0, 1)", "[1, 3)"], ("0", "3")),
        (["[0, 01)", "[01, 3]"], ("0", "3")),
        (["[0, nan)", "[nan, 3]"], ("0", "3")),
        (["[0, 1)", f"[1, 1{'0' * 400}]"], ("0", f"1{'0' * 400}")),
        (["[0, 1)", "[1, 3]"], ("0", "4")),
        (["[0, 1)", "[1, 3]"], ("1/2", "3")),
        (["a", "b"], ("0", "3")),
    ],
)
def test_cells_that_are_no_intervals(cells, ends):
    made = body_of(ib.histogram([0.5], edges=[0, 1, 3], epsilon=1))
    rule = made["columns"][0] | {"cells": cells, "lower": ends[0], "upper": ends[1]}
    with pytest.raises(RecordError, match="'columns' does not follow"):
        ib.Release.from_json(record_with(made | {"columns": [rule], "axes": [cells]}))


def test_many_edges_are_equally_spaced():
    edges = np.linspace(0, 1, 10_002)
    made = body_of(ib.histogram([0.5], edges=edges, epsilon=1))
    assert ib.Release.from_json(record_with(made)).axes[0][1] == made["axes"][0][1]
    (rule,) = made["columns"]
    texts = [cell[1:].split(", ")[0] for cell in rule["cells"]]
    cells = list(rule["cells"])
    cells[4], cells[5] = f"[{texts[4]}, 0.000451)", f"[0.000451, {texts[6]})"
    with pytest.raises(RecordError, match="'columns' does not follow"):
        ib.Release.from_json(record_with(made | {"columns": [rule | {"cells": cells}], "axes": [cells]}))
    asked = made["statistic"]
    uneven = [*asked["edges"][:5], "0.000451", *asked["edges"][6:]]
    with pytest.raises(RecordError, match="must be equally spaced"):
        ib.Release.from_json(record_with(made | {"statistic": asked | {"edges": uneven}}))


def test_intervals_come_after_levels():
    made = ODD["two intervals"]()
    rules, axes = made.columns[::-1], made.axes[::-1]
    with pytest.raises(RecordError, match="'columns' does not follow"):
        ib.Release.from_json(replace(made, columns=rules, axes=axes).to_json())


def test_what_could_not_have_been_released():
    """A draft that cannot be made is a refusal that says so."""
    made = body_of(ib.mean(T, "income", bounds=(0, 200), epsilon=1, method="direct"))
    for edit, said in (
        ({"missing": "300"}, "must lie within the bounds"),
        ({"missing": "x"}, "must be a number, or 'skip'"),
        ({"column": "*"}, "is a pattern to some engines"),
        ({"name": "mode"}, "statistic must be one of"),
        ({"colour": "red"}, "colour"),
        ({"bounds": [0, 200]}, "not written the way inbounds writes it"),
    ):
        with pytest.raises(RecordError, match=said):
            ib.Release.from_json(record_with(made | {"statistic": made["statistic"] | edit}))
    for edit, said in (
        ({"epsilon": "0"}, "epsilon"),
        ({"epsilon": "1/1000000000000000000000"}, "this mean cannot be released"),
        ({"rows": None}, "rows do not fit the neighbour relation"),
        ({"rows": 2**40}, "so few or so many rows"),
        ({"bounding": "none"}, "bounding must be one of"),
        ({"delta": "1/2"}, "guarantee"),
    ):
        with pytest.raises(RecordError, match=said):
            ib.Release.from_json(record_with(made | {"terms": made["terms"] | edit}))


def test_a_forged_element_is_found_however_small_the_rest_makes_it():
    """Beside variances of millions, one of 0.16 had a room of tens."""
    bounds = {"small": (0, 1), "large": (0, 10_000)}
    rng = np.random.default_rng(1)
    data = {"small": rng.random(500), "large": 10_000 * rng.random(500)}
    for call in (ib.covariance, partial(ib.covariance, neighbours="add-remove")):
        record = body_of(call(data, bounds=bounds, epsilon=1000))
        assert ib.Release.from_json(record_with(record)).value[0, 0] < 1
        for place, forged in (((0, 0), 77.0), ((0, 0), -9999.0), ((0, 1), record["value"][0][1] + 1.0)):
            lie = json.loads(json.dumps(record))
            lie["value"][place[0]][place[1]] = forged
            with pytest.raises(RecordError, match="'value' does not follow"):
                ib.Release.from_json(record_with(lie))
    shares = body_of(ib.proportions(["a"] * 9, levels=list("abc"), epsilon=1000))
    with pytest.raises(RecordError, match="'value' does not follow"):
        ib.Release.from_json(record_with(shares | {"value": [1.0, 1e-6, 0.0]}))


def test_next_to_nothing_there_is_nothing():
    """A zero stays a zero: beside a variance of 0 there is no room at all."""
    data = {"a": [0.0] * 50, "b": [0.0, 1.0] * 25}
    made = ib.covariance(data, bounds={"a": (0, 1), "b": (0, 1)}, epsilon=1, method="split")
    made = replace(made, noisy=(Fraction(0), made.noisy[1], made.noisy[2]))
    record = body_of(made)
    assert ib.Release.from_json(record_with(record)).value[0].tolist() == [0, 0]
    for i, j in ((0, 0), (0, 1)):
        lie = json.loads(json.dumps(record))
        lie["value"][i][j] = 1e-15
        with pytest.raises(RecordError, match="'value' does not follow"):
            ib.Release.from_json(record_with(lie))


@pytest.mark.claim("drawn-together")
@pytest.mark.parametrize(
    "call",
    [
        partial(ib.histogram, column="income", edges=[0, 50, 100, 200]),
        partial(ib.proportions, column="region", levels=["n", "s", "e", "w"]),
        partial(ib.quantile, column="income", q=[0.25, 0.75], bounds=(0, 200), method="counts"),
    ],
)
def test_counts_that_keep_the_number_of_rows_add_up_to_it(call):
    """Their noise adds up to nothing, so that others cannot have been drawn, and intervals rely on it."""
    made = call(T, epsilon=1)
    assert made.certificate.noise == "zero-sum"
    first, second, *others = made.noisy
    kept = replace(made, noisy=(first + 7, second - 7, *others))
    assert ib.Release.from_json(kept.to_json()) == kept
    for noisy in ((first + 7, second, *others), (Fraction(0),) * len(made.noisy)):
        with pytest.raises(RecordError, match="do not add up to the number of rows"):
            ib.Release.from_json(replace(made, noisy=noisy).to_json())


@pytest.mark.claim("drawn-together")
@pytest.mark.parametrize("method", ["together", "halving"])
@pytest.mark.parametrize("groups", [{}, {"by": "region", "levels": ["n", "s", "e", "w"]}])
def test_points_of_several_quantiles_are_in_order(method, groups):
    """Each is drawn between those that were drawn before, so that others cannot have been drawn."""
    made = ib.quantile(T, "income", q=[0.25, 0.5, 0.75], bounds=(0, 200), step=1, method=method, epsilon=1, **groups)
    low, middle, high = (Fraction(x) for x in (20, 30, 70))
    others = made.noisy[3:]
    for noisy in ((low, middle, high, *others), (low, low, high, *others)):
        assert ib.Release.from_json(replace(made, noisy=noisy).to_json()).noisy == noisy
    wrong = [(high, middle, low, *others), (middle, low, high, *others)]
    wrong += [(*others, low, high, middle)] if groups else []
    for noisy in wrong:
        with pytest.raises(RecordError, match="are not in order"):
            ib.Release.from_json(replace(made, noisy=noisy).to_json())


@pytest.mark.claim("drawn-together")
def test_points_that_are_drawn_apart_are_in_any_order():
    made = ib.quantile(T, "income", q=0.5, bounds=(0, 200), step=1, cover=0.5, epsilon=20)
    assert len(made.noisy) == 3
    noisy = tuple(Fraction(x) for x in (70, 30, 50))
    assert ib.Release.from_json(replace(made, noisy=noisy).to_json()).value == 50

"""What is drawn for each kind of draft: noise of the law in its certificate, of the next random bytes, on the exact
numbers of the table. Every draw is done again here from the parts of a grid, on the same bytes."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from inbounds.grid.entropy import SYSTEM, SeededEntropy
from inbounds.grid.halving import draw_points
from inbounds.grid.joint import supnorm, zero_sum
from inbounds.grid.law import GridMechanism
from inbounds.grid.nodes import halve, join, keep_apart
from inbounds.grid.polyhedral import polyhedral
from inbounds.grid.scale import Scale
from inbounds.grid.together import draw_together
from inbounds.privacy.certified import cut_law
from inbounds.privacy.norms import make_norm
from inbounds.privacy.terms import Terms
from inbounds.record.notes import PUBLIC_SIZE
from inbounds.road import draw
from inbounds.statistics import (
    Covariance,
    Histogram,
    Mean,
    Median,
    Proportions,
    Quantile,
    StandardDeviation,
    Sum,
    Variance,
)
from inbounds.tables.coordinates import root_below
from inbounds.tables.engine import tally
from inbounds.tables.request import MOST_ROWS
from inbounds.tables.sources import read
from tests.plan.joint import plan_of, scalars
from tests.release.cases import BOTH, GROUPS, REGIONS, table

ROWS = 300
TABLE = table(ROWS)


@pytest.fixture(autouse=True)
def entropy(monkeypatch):
    """The bytes of all draws of a test, and a function that begins them anew."""

    def begin(seed=8):
        source = SeededEntropy(seed)
        monkeypatch.setattr(draw, "entropy_source", lambda: source)
        return SeededEntropy(seed)

    begin()
    return begin


def drawn(statistic, epsilon=1, **terms):
    """A draft, its exact numbers, and the release that is drawn."""
    draft = statistic.draft(Terms.of(epsilon, **{"rows": ROWS} | terms))
    cells = list(tally(read(TABLE, draft.columns), list(draft.requests)))
    return draft, draft.exact(*cells), cells, draw.draw(draft, cells)


def single(law, number, source):
    return law.value(law.draw(law.locate(number), source))


def check(made, draft, noisy):
    """A release is its draft with the numbers, and notes about those."""
    assert made.noisy == tuple(noisy)
    assert all(type(number) is Fraction for number in made.noisy)
    assert made == replace(draft.record, noisy=made.noisy, notes=made.own_notes())


@pytest.mark.claim("release-single")
@pytest.mark.parametrize("bounding", ["bit", "truncated"])
def test_a_number_of_its_own(entropy, bounding):
    source = entropy()
    draft, ((number,),), _, made = drawn(Sum("income", bounds=(0, 200)), bounding=bounding)
    check(made, draft, [single(draft.record.certificate.mechanism, number, source)])
    assert not draft.squared


def test_a_release_has_the_notes_of_its_record():
    draft, _, cells, made = drawn(Proportions("region", levels=REGIONS))
    counted = replace(draft, record=replace(draft.record, terms=replace(draft.terms, counted=True)))
    assert (made.notes, draw.draw(counted, cells).notes) == ((), (PUBLIC_SIZE,))


@pytest.mark.claim("release-single")
def test_a_number_that_is_the_root_of_the_exact_one(entropy):
    source = entropy()
    draft, ((square,),), _, made = drawn(StandardDeviation("income", bounds=(0, 200)), epsilon=30)
    law = draft.record.certificate.mechanism
    assert draft.squared
    at = law.draw(draw._root_index(law, square), source)
    check(made, draft, [law.value(at)])
    assert law.draw(law.locate(square), SeededEntropy(8)) != at


@pytest.mark.claim("release-single")
@pytest.mark.parametrize(
    ("square", "index"),
    # In steps of 1/4: the index is the nearest to four times the root, and of two the larger.
    [("0", 0), ("15/1024", 0), ("1/64", 1), ("35/256", 1), ("9/64", 2), ("25", 20), ("1000000", 4000)],
)
def test_indices_of_roots(square, index):
    assert draw._root_index(GridMechanism("bit", Scale(20, 1), 0, 10**6, Fraction(1, 4)), Fraction(square)) == index


@pytest.mark.claim("release-counts")
def test_counts_have_noise_each(entropy):
    source = entropy()
    draft, counts, _, made = drawn(Histogram("age", edges=[0, 30, 50, 70, 100]), neighbours="add-remove", rows=None)
    certificate = draft.record.certificate
    assert certificate.noise != "zero-sum"
    check(made, draft, map(Fraction, certificate.mechanism.draw_each(counts, source).tolist()))


@pytest.mark.claim("release-zero-sum")
def test_counts_of_a_public_number_keep_their_sum(entropy):
    source = entropy()
    draft, counts, _, made = drawn(Proportions("region", levels=REGIONS))
    certificate = draft.record.certificate
    assert certificate.noise == "zero-sum"
    noise = zero_sum(certificate.grid.scale, len(REGIONS), source)
    check(made, draft, map(Fraction, (counts + noise).tolist()))
    assert sum(made.noisy) == ROWS


@pytest.mark.claim("release-levels")
def test_each_level_of_a_tree_has_its_law(entropy):
    source = entropy()
    shares = {"repair": "tree", "level_shares": (1, 3)}
    draft, counts, _, made = drawn(Proportions("region", levels=REGIONS, **shares))
    laws, noisy = draft.record.parts, [None] * len(counts)
    assert len(set(laws)) == 2
    for law in dict.fromkeys(laws):
        own = [node for node, one in enumerate(laws) if one == law]
        for node, number in zip(own, law.mechanism.draw_each(counts[own], source).tolist(), strict=True):
            noisy[node] = Fraction(number)
    check(made, draft, noisy)


@pytest.mark.claim("release-joint")
@pytest.mark.parametrize(
    "statistic",
    [Covariance(BOTH), Covariance(BOTH, method="elements"), Mean("income", (0, 200), by="group", levels=GROUPS)],
)
def test_vectors_have_noise_of_one_norm(entropy, statistic):
    source = entropy()
    draft, vectors, _, made = drawn(statistic)
    certificate = draft.record.certificate
    law, noisy = certificate.grid, []
    for vector in vectors:
        if certificate.blocks:
            noise = polyhedral(law.scale, make_norm(certificate.blocks), source)
        else:
            noise = supnorm(law.scale, len(vector), source)
        noisy += [law.value(law.locate(x) + int(z)) for x, z in zip(vector, noise, strict=True)]
    check(made, draft, noisy)


@pytest.mark.claim("release-joint")
def test_a_vector_needs_as_much_noise_as_it_has_numbers(monkeypatch):
    """Of each of several, and whatever its norm."""
    draft, vectors, _, _ = drawn(Covariance(BOTH, method="elements"))
    certificate = draft.record.certificate
    monkeypatch.setattr(draw, "supnorm", lambda *_: np.array([1, 2]))
    with pytest.raises(ValueError):
        draw.draw_joint(vectors, certificate)
    law, pair = certificate.grid, [Fraction(3, 7), Fraction(0)]
    made = draw.draw_joint([pair, pair[::-1]], certificate)
    assert made == tuple(law.value(law.locate(x) + z) for x, z in zip([*pair, *pair[::-1]], (1, 2, 1, 2), strict=True))


@pytest.mark.claim("release-after")
@pytest.mark.parametrize("method", ["centred", "robust"])
def test_numbers_that_depend_on_one_that_was_drawn(entropy, method):
    source = entropy()
    bounds = {"centred": (0, 200), "robust": (0, 10_000)}[method]
    draft, ((number,),), (cells,), made = drawn(Variance("income", bounds, method=method))
    first, then = draft.record.certificate.parts
    noisy = single(first.mechanism, number, source)
    numbers = draft.second(cells, noisy)
    if then.dimension == 1:
        check(made, draft, [noisy, single(then.mechanism, numbers[0], source)])
    else:
        noise = polyhedral(then.grid.scale, make_norm(then.blocks), source)
        then = then.grid
        check(made, draft, [noisy, *(then.value(then.locate(x) + int(z)) for x, z in zip(numbers, noise, strict=True))])


@pytest.mark.claim("release-choices")
@pytest.mark.parametrize("neighbours", ["substitute", "add-remove"])
def test_points_that_are_chosen_together(entropy, monkeypatch, neighbours):
    """One draw for each group, with the public number of records, or the most that there may be."""
    monkeypatch.setattr(draw, "draw_together", lambda *words: asked.append(words) or draw_together(*words))
    asked, source, rows = [], entropy(), ROWS if neighbours == "substitute" else None
    statistic = Quantile("age", (0.25, 0.75), (0, 100), step=1, by="group", levels=GROUPS)
    draft, counts, _, made = drawn(statistic, rows=rows, neighbours=neighbours)
    law, noisy = draft.record.certificate, []
    assert draft.nodes == join([Fraction(1, 4), Fraction(3, 4)])
    for row in counts:
        noisy += draw_together(row, [Fraction(1, 4), Fraction(3, 4)], law.grid.scale.steps, rows or MOST_ROWS, source)
    check(made, draft, [law.grid.origin + point * law.grid.step for point in noisy])
    assert [words[3] for words in asked] == [rows or MOST_ROWS] * 2
    assert counts.shape == (2, 101)


@pytest.mark.claim("release-choices")
@pytest.mark.parametrize("cover", [None, "9/10"])
def test_points_that_are_chosen_one_by_one(entropy, cover):
    """The scale of each depth is that of its part."""
    source = entropy()
    draft, (row,), _, made = drawn(Median("age", (18, 100), step=Fraction(1, 2), cover=cover))
    certificate = draft.record.certificate
    parts = certificate.parts if cover else (certificate,)
    assert [node.place for node in draft.nodes] == list(range(3 if cover else 1))
    points = draw_points(row, draft.nodes, [part.grid.scale.steps for part in parts], source)
    check(made, draft, [18 + Fraction(point, 2) for point in points])


@pytest.mark.claim("release-choices")
def test_groups_are_drawn_in_order_whatever_the_way(entropy, monkeypatch):
    certificate = drawn(Median("age", (18, 100), step=2, cover="9/10"))[0].record.certificate
    asked = [Fraction(k, 4) for k in (1, 2, 3)]
    counts = np.array([[1, 0, 5, 2], [3, 3, 0, 0]])
    for nodes in (halve(asked), keep_apart(asked)):
        source = entropy()
        spreads = [part.grid.scale.steps for part in certificate.parts]
        points = [point for row in counts for point in draw_points(row, nodes, spreads, source)]
        assert draw.draw_choices(counts, nodes, certificate) == tuple(Fraction(18 + 2 * point) for point in points)
    # Without a public number there are at most so many.
    most = []
    monkeypatch.setattr(draw, "draw_together", lambda *words: most.append(words[3:]) or [0])
    one = certificate.parts[1]
    assert draw.draw_choices(counts[:1], join(asked[:1]), one) == (Fraction(18),)
    assert draw.draw_choices(counts[:1], join(asked[:1]), one, 11) == (Fraction(18),)
    assert [words[0] for words in most] == [MOST_ROWS, 11]
    assert all(type(words[1]) is SeededEntropy for words in most)


@pytest.mark.claim("release-single")
@pytest.mark.parametrize("bounding", ["bit", "truncated"])
def test_elements_of_a_matrix_are_drawn_variances_first(entropy, bounding):
    """Each within its bounds; of a truncated one those of covariances follow from the variances that were drawn."""
    source = entropy()
    three = BOTH | {"income": (0, 200)}
    draft, (numbers,), _, made = drawn(Covariance(three, method="split"), bounding=bounding)
    laws, bounds = list(draft.record.certificate.parts), list(draft.record.bounds)
    places, noisy = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)], {}
    for place in (0, 3, 5, 1, 2, 4):
        i, j = places[place]
        if i != j and bounding == "truncated":
            reach = root_below(noisy[i, i] * noisy[j, j])
            laws[place], bounds[place] = cut_law(laws[place], (-reach, reach)), (-reach, reach)
        lower, upper = bounds[place]
        number = min(max(numbers[place], lower), upper)
        noisy[i, j] = single(laws[place].mechanism, number, source)
    assert made.noisy == tuple(noisy[place] for place in places)
    assert made.bounds == tuple(bounds)
    assert made.certificate.parts == tuple(laws)
    assert made.certificate.epsilon == draft.record.certificate.epsilon == 1
    assert made.notes == made.own_notes()
    assert (made.certificate == draft.record.certificate) == (bounding == "bit")


def test_variances_of_nothing_do_not_bound_a_covariance(monkeypatch):
    draft, (numbers,), _, _ = drawn(Covariance(BOTH, method="split"), bounding="truncated")
    laws, bounds = draft.record.certificate, draft.record.bounds
    monkeypatch.setattr(draw, "draw_single", lambda number, _: 0 * number)
    noisy, certificate, within = draw._draw_in_turn(numbers, laws, bounds, truncated=True)
    assert (noisy, certificate, within) == ((0, 0, 0), laws, bounds)


@pytest.mark.parametrize(
    ("lower", "upper", "clipped"),
    [(-1, 2, [-1, -1, 0, 2, 2]), (None, 2, [-5, -1, 0, 2, 2]), (-1, None, [-1, -1, 0, 2, 7]), (None, None, None)],
)
def test_numbers_are_clipped_to_the_bounds_that_there_are(lower, upper, clipped):
    numbers = [-5, -1, 0, 2, 7]
    assert [draw._clip(number, (lower, upper)) for number in numbers] == (clipped or numbers)


def test_elements_lie_within_their_bounds_before_there_is_noise(entropy):
    draft = Covariance(BOTH, method="split").draft(Terms.of(1, rows=ROWS))
    bounds, far = draft.record.bounds, [Fraction(10**9), Fraction(-(10**9)), Fraction(-(10**9))]
    noise = {}
    for numbers in (far, [bounds[0][1], bounds[1][0], bounds[2][0]]):
        entropy()
        turn = partial(draw._draw_in_turn, numbers, draft.record.certificate, bounds)
        noise.setdefault(turn(truncated=False)[0], []).append(numbers)
    assert len(noise) == 1


def test_releases_that_share_a_draw_take_their_numbers(entropy):
    """The one that is drawn keeps all numbers until each has taken its own."""
    drafts = plan_of(scalars(3)).drafts()
    first = next(iter(drafts.values()))
    assert first.record.group is not None
    columns = {column.name for draft in drafts.values() for column in draft.columns}
    frame = {name: np.linspace(0, 1, first.record.rows) for name in columns}
    entropy()
    cells = list(tally(read(frame, first.columns), list(first.requests)))
    vectors = first.exact(*cells)
    made = draw.draw(first, cells)
    entropy()
    assert made.noisy == draw.draw_joint(vectors, first.record.certificate)
    assert made == replace(first.record, noisy=made.noisy)
    assert len(made.noisy) == 3
    for draft in drafts.values():
        own = draw.take(made, draft)
        check(own, draft, [made.noisy[place] for place in draft.record.places])
        assert len(own.noisy) == 1
    # Notes follow from the record, for each of them: here that the number of records was counted.
    counted = replace(first, record=replace(first.record, terms=replace(first.terms, counted=True)))
    assert draw.take(made, counted).notes == (PUBLIC_SIZE,)
    assert draw.draw(counted, cells).notes == ()
    # One that was drawn alone has its own.
    alone, _, _, other = drawn(Mean("income", bounds=(0, 200)))
    assert draw.take(other, alone) is other


@pytest.mark.parametrize("size", [0, 1, 3, 65_535, 65_536, 65_537, 140_000])
def test_equal_counts_share_one_fraction(size):
    counts = np.arange(size) % 7 - 3
    made = draw._fractions(counts)
    assert made == tuple(map(Fraction, counts.tolist()))
    assert type(made) is tuple
    assert len({id(one) for one in made}) == min(size, 7)


def test_keys_are_of_the_system(monkeypatch):
    class Source:
        def take(self, count):
            return count

    monkeypatch.setattr(draw, "entropy_source", Source)
    assert draw.draw_key() == 16
    monkeypatch.undo()
    assert draw.entropy_source() is SYSTEM
    assert len({draw.draw_key() for _ in range(10)}) == 10
    assert {len(draw.draw_key()) for _ in range(10)} == {16}
    monkeypatch.setattr(draw, "SYSTEM", SeededEntropy(1))
    with pytest.raises(TypeError, match="a release draws from SystemEntropy"):
        draw.draw_key()

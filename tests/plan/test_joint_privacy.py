"""The vector of a joint draw on neighbouring tables: it moves by no more than is certified, whatever is changed."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from inbounds.audit.events import audit
from inbounds.audit.replay import replay
from inbounds.plan.release import release
from inbounds.privacy.norms import make_norm
from inbounds.road import draw
from inbounds.statistics import joint
from inbounds.tables import coordinates
from inbounds.tables.engine import tally
from inbounds.tables.sources import read
from tests.plan.joint import MIXED, exact_vector, groups_of, mean, norm_of, plan_of, proportion

GROUPS = ("g0", "g1")


def draft_of(items=MIXED, **more):
    """The draft of the largest draw of a plan."""
    plan = plan_of(dict(items), **more)
    drafts = [draft for draft in plan.drafts().values() if draft.record.group is not None]
    return max(drafts, key=lambda draft: len(draft.record.group.members))


def random_table(rng, rows):
    numbers = {f"x{i}": rng.choice([0.0, 5.0, 10.0, *rng.uniform(0, 10, 3)], rows) for i in range(4)}
    return numbers | {f"g{i}": rng.choice(["a", "b"], rows) for i in range(2)}


def substituted(table, rng, records):
    """The same table with some records replaced, often by extreme ones."""
    other, rows = {name: column.copy() for name, column in table.items()}, len(table["x0"])
    for place in rng.choice(rows, records, replace=False):
        for name in other:
            other[name][place] = rng.choice(["a", "b"]) if name[0] == "g" else rng.choice([0, 10, rng.uniform(0, 10)])
    return other


def located(draft, table):
    """The vector in steps of the lattice that it is drawn on."""
    law = draft.record.certificate.grid
    return [law.locate(x) for x in exact_vector(draft, table)]


def farthest(draft, pairs):
    """The largest move between neighbours, over the one that is certified."""
    certificate = draft.record.certificate
    moves = [norm_of(certificate, [a - b for a, b in zip(*pair, strict=True)]) for pair in pairs]
    return max(moves) / certificate.move


def replayed(contributions=1, pairs=20):
    draft = draft_of(rows=12, contributions=contributions)
    rng, seen = np.random.default_rng(3), []
    for _ in range(pairs):
        table = random_table(rng, 12)
        seen.append([located(draft, one) for one in (table, substituted(table, rng, contributions))])
    return farthest(draft, seen)


@pytest.mark.claim("joint-plan")
@pytest.mark.parametrize("contributions", [1, 3])
def test_neighbours_are_no_farther_apart_than_certified(contributions):
    assert len(draft_of(rows=12).record.group.members) >= 4
    assert 0.5 < replayed(contributions) <= 1


@pytest.mark.claim("joint-plan")
@pytest.mark.parametrize(
    "items",
    [
        {"m": mean("x0"), "p": proportion("g0")},
        {"m": mean("x0"), "v": {"statistic": "variance", "columns": ["x0"], "method": "moments"}},
    ],
)
def test_every_neighbour_of_every_tiny_table(items):
    """Three records, values at the bounds and in the middle: all tables, all substitutions."""
    draft = draft_of(items, rows=3)
    names = [column.name for column in draft.columns]
    records = list(product(*([0.0, 5.0, 10.0] if name[0] == "x" else ["a", "b"] for name in names)))
    found = {}
    for table in product(range(len(records)), repeat=3):
        columns = {name: np.array([records[i][k] for i in table]) for k, name in enumerate(names)}
        found[table] = located(draft, columns)
    pairs = [
        (one, found[(*table[:place], other, *table[place + 1 :])])
        for table, one in found.items()
        for place in range(3)
        for other in range(table[place])
    ]
    # The bound is reached, so that it could not be smaller.
    assert Fraction(9, 10) < farthest(draft, pairs) <= 1


def test_half_a_unit_is_noticed(monkeypatch):
    real = coordinates.share

    def halved(*args):
        made = real(*args)
        return replace(made, sensitivity=made.sensitivity / 2)

    monkeypatch.setattr(coordinates, "share", halved)
    assert replayed() > 1.5


def test_contributions_that_are_ignored_are_noticed(monkeypatch):
    real = joint.norm_law

    def ignorant(name, terms, moved, blocks):
        return real(name, terms, moved / terms.unit.contributions, blocks)

    monkeypatch.setattr(joint, "norm_law", ignorant)
    assert replayed(contributions=3) > 1.5


def test_moments_in_wrong_units_are_noticed(monkeypatch):
    """Sums that are not in halves move twice as far."""
    real = coordinates.MomentSums.__call__
    monkeypatch.setattr(coordinates.MomentSums, "__call__", lambda self, cell: [2 * x for x in real(self, cell)])
    assert replayed() > 1.5


def test_a_block_that_is_left_out_cannot_be_drawn(monkeypatch):
    """A norm of fewer numbers than the vector has: nothing is released."""
    real = joint._name_blocks
    monkeypatch.setattr(joint, "_name_blocks", lambda blocks, numbers: real(blocks, numbers)[:-1])
    plan = plan_of(dict(MIXED), rows=12)
    with pytest.raises(ValueError, match="ValueError while a table was counted"):
        release(plan, random_table(np.random.default_rng(0), 12))


@pytest.mark.claim("joint-plan")
def test_no_output_tells_more_than_epsilon():
    """The law of two numbers, from the certificate: log ratios of outputs all around, for all pairs of neighbours."""
    draft = draft_of({"p": proportion("g0"), "q": proportion("g1")}, rows=3, epsilon=1.5)
    certificate = draft.record.certificate
    found = {
        records: tuple(located(draft, {name: np.array([one[k] for one in records]) for k, name in enumerate(GROUPS)}))
        for records in product(product("ab", repeat=2), repeat=3)
    }
    pairs = combinations(found, 2)
    near = {(found[a], found[b]) for a, b in pairs if sum(x != y for x, y in zip(a, b, strict=True)) == 1}
    # Log mass is -‖z - x‖/T and a constant, so that all kinks lie at the vectors and between them.
    third = max(max(vector) for vector in found.values()) // 3
    outputs = list(product([k * third // 2 for k in range(-4, 11)], repeat=2))

    def worst(scale):
        return max(abs(distance(z, x) - distance(z, y)) for z in outputs for x, y in near) / scale

    scale = certificate.grid.scale.steps
    assert Fraction(9, 10) * certificate.epsilon < worst(scale) <= certificate.loss <= certificate.epsilon
    # The control: an eighth less noise.
    assert worst(scale * Fraction(7, 8)) > certificate.epsilon


def distance(z, x):
    return max(abs(a - b) for a, b in zip(z, x, strict=True))


def test_a_plan_is_drawn_alike_on_neighbours(monkeypatch):
    """Frozen randomness: everything but the numbers is the same, and as many random bytes are read."""
    rng = np.random.default_rng(5)
    table = random_table(rng, 12)
    plan = plan_of(dict(MIXED), rows=12)

    def value(data, entropy):
        monkeypatch.setattr(draw, "entropy_source", lambda: entropy)
        return [float(x) for one in release(plan, data).values() for x in one.noisy]

    assert replay(value, [table, substituted(table, rng, 1)], seeds=range(3))


@pytest.mark.claim("joint-plan")
def test_an_audit_of_whole_draws_certifies_no_more_than_epsilon():
    """A mean, a variance and a share at ε = 1, by what tells neighbours apart best: the log ratio of their masses.

    The control: of tables that differ in three records more is certified.
    """
    variance = {"statistic": "variance", "columns": ["x0"], "method": "moments"}
    draft = draft_of({"m": mean("x0"), "v": variance, "p": proportion("g0")}, rows=12)
    table = random_table(np.random.default_rng(7), 12) | {"x0": np.full(12, 5.0), "g0": np.full(12, "a")}

    def found(records):
        other = {name: column.copy() for name, column in table.items()}
        other["x0"][:records], other["g0"][:records] = 10.0, "b"
        exact = [[float(x) for x in exact_vector(draft, one)] for one in (table, other)]

        def source(data):
            cells = list(tally(read(data, draft.columns), list(draft.requests)))

            def outputs(count):
                made = np.array([[float(x) for x in draw.draw(draft, cells).noisy] for _ in range(count)])
                return np.subtract(*(norms(draft.record.certificate, made - x) for x in exact))

            return outputs

        return audit(source(table), source(other), draws=3000, confidence=1 - 1e-6).epsilon

    assert 0.2 < found(1) <= 1
    assert found(3) > 1


def norms(certificate, vectors):
    """The norm of each of many vectors, in double precision."""
    made, found = make_norm(certificate.blocks), np.abs(vectors).max(axis=1)
    for start, rows in made.parts:
        weights = np.array([row for row, _ in rows])
        sizes = np.abs(vectors[:, start : start + weights.shape[1]] @ weights.T) / [limit for _, limit in rows]
        found = np.maximum(found, sizes.max(axis=1))
    return found


def test_one_draw_for_all_of_a_group(monkeypatch):
    """As many draws as groups and releases by themselves; members see the same numbers."""
    drawn, real = [], draw.draw_joint
    monkeypatch.setattr(draw, "draw_joint", lambda *args: drawn.append(args) or real(*args))
    items = {"m": mean("x0"), "v": {"statistic": "variance", "columns": ["x0"], "method": "moments"}}
    plan = plan_of(items, rows=12)
    made = release(plan, random_table(np.random.default_rng(1), 12))
    assert groups_of(plan) == [{"m", "v"}]
    assert len(drawn) == 1
    assert made["m"].noisy[0] == made["v"].noisy[0]
    assert (made.epsilon, made["m"].epsilon, made["v"].epsilon) == (1, 1, 1)

"""A certificate proves itself, and an edited one is refused."""

import hashlib
import json
from fractions import Fraction

import pytest

from inbounds.grid.law import GridMechanism
from inbounds.grid.scale import Scale
from inbounds.grid.staircase import Stairs
from inbounds.privacy.certificate import CertificateError, _decimal, _digest, certify, compose, verify
from inbounds.privacy.certified import choice_law
from inbounds.privacy.exact import choose_grid, exact_loss, grid_mechanism
from inbounds.privacy.norms import list_ranges, norm_rounding
from inbounds.privacy.terms import Terms

ONE = Fraction(1)


def make(bounding="truncated", epsilon=ONE, sensitivity=Fraction(1, 100), **changes):
    grid = choose_grid(Fraction(0), ONE, sensitivity, epsilon)
    keywords = {"statistic": "proportion", "neighbours": "substitute", "sensitivity": sensitivity, "epsilon": epsilon}
    return certify(grid_mechanism(bounding, grid, epsilon), **(keywords | changes))


@pytest.mark.claim("certificate")
@pytest.mark.parametrize("bounding", ["bit", "truncated", "unbounded"])
def test_a_certificate_travels_as_text(bounding):
    certificate = make(bounding)
    text = json.dumps(certificate.to_dict())
    assert verify(text) == verify(json.loads(text)) == certificate
    assert certificate.loss <= certificate.epsilon
    assert certificate.loss > Fraction(999, 1000)
    assert certificate.mechanism.bounding == bounding
    assert json.loads(text)["format"] == "inbounds-certificate/1"


@pytest.mark.claim("certificate")
def test_a_false_claim_gets_none():
    """Naive truncation, a scale 0.1% too small, a sensitivity one step too small."""
    grid = choose_grid(Fraction(0), ONE, Fraction(1, 100), ONE)
    keywords = {"statistic": "mean", "neighbours": "substitute", "sensitivity": Fraction(1, 100), "epsilon": ONE}
    bit, truncated = (grid_mechanism(b, grid, ONE) for b in ("bit", "truncated"))
    naive = GridMechanism("truncated", bit.scale, bit.first, bit.last, bit.step, bit.origin)
    for wrong in (naive, *(_thinner(m) for m in (bit, truncated))):
        with pytest.raises(CertificateError, match=r"the loss, 1\.[0-9]{8}, exceeds the epsilon claimed, 1$"):
            certify(wrong, **keywords)
    for mechanism in (bit, truncated):
        certify(mechanism, **keywords)
        with pytest.raises(CertificateError, match="exceeds"):
            certify(mechanism, **(keywords | {"sensitivity": Fraction(1, 100) + mechanism.step}))
    for dimension in (2, 3):
        with pytest.raises(CertificateError, match="a joint release is unbounded or BIT"):
            certify(truncated, **keywords, dimension=dimension)


def test_a_refusal_shows_nine_digits_of_both_numbers():
    law = GridMechanism("bit", Scale(6, 64), 0, 10)
    for epsilon, shown in ((Fraction(2, 3), "0.666666667"), (Fraction(1, 3 * 10**40), "3.33333333E-41")):
        with pytest.raises(CertificateError) as refused:
            certify(law, statistic="x", neighbours="substitute", sensitivity=ONE, epsilon=epsilon)
        assert str(refused.value) == f"the loss, 1, exceeds the epsilon claimed, {shown}"


@pytest.mark.claim("certificate")
def test_joint_noise_has_no_law_of_its_coordinates_and_needs_a_scale():
    claim = {"statistic": "x", "neighbours": "substitute", "sensitivity": ONE, "epsilon": ONE}
    law = GridMechanism("bit", Scale(6, 64), 0, 10)
    for dimension in (2, 4):
        made = certify(law, **claim, dimension=dimension)
        assert made.grid == law
        with pytest.raises(ValueError, match="no law coordinate by coordinate"):
            assert made.mechanism
    with pytest.raises(CertificateError, match="so many dimensions"):
        certify(law, **claim, dimension=5)


def _thinner(m):
    return GridMechanism(
        m.bounding, Scale.at_least(m.scale.steps * Fraction(999, 1000)), m.first, m.last, m.step, m.origin
    )


def test_a_location_anywhere_counts_the_whole_sensitivity():
    keywords = {"sensitivity": Fraction(5), "epsilon": ONE}
    assert make("bit", **keywords).loss == 1
    with pytest.raises(CertificateError, match="exceeds"):
        make("bit", location="anywhere", **keywords)


EDITS = {
    "format": "inbounds-certificate/2",
    "statistic": "median",
    "neighbours": "add-remove",
    "bounding": "bit",
    "first": -1,
    "last": 10,
    "step": "1/2",
    "origin": "1",
    "exponent": 50,
    "divisor": 1,
    "dimension": 2,
    "draws": 2,
    "noise": "sup-norm",
    "width": 5,
    "core": 5,
    "location": "anywhere",
    "sensitivity": "1/1000",
    "move": 3,
    "epsilon": "2",
    "loss": "1/2",
    "blocks": ["moments 1"],
    "ranges": ["u1 from -1 to 1"],
}


@pytest.mark.claim("certificate")
@pytest.mark.parametrize("field", EDITS)
def test_every_edit_is_refused(field):
    record = make().to_dict()
    assert set(EDITS) == set(record) - {"digest"}
    with pytest.raises(CertificateError):
        verify(record | {field: EDITS[field]})
    missing = {name: value for name, value in record.items() if name != field}
    with pytest.raises(CertificateError):
        verify(missing)


@pytest.mark.claim("certificate")
@pytest.mark.parametrize(
    "field", ["bounding", "last", "step", "exponent", "divisor", "sensitivity", "move", "epsilon", "loss"]
)
def test_arithmetic_catches_what_a_new_digest_hides(field):
    """The editor knows the format and makes a fitting digest: the numbers still do not follow from each other."""
    lies = {
        "sensitivity": "1/50",
        "epsilon": "1/2",
        "divisor": 2**40,
        "exponent": 20,
        "last": 50,
        "step": "1/10000000000000",
    }
    body = {k: v for k, v in make("truncated").to_dict().items() if k != "digest"}
    if field == "bounding":
        body = {k: v for k, v in make("bit").to_dict().items() if k != "digest"}
        body["bounding"] = "truncated"
    else:
        body[field] = lies.get(field, EDITS[field])
    with pytest.raises(CertificateError):
        verify(body | {"digest": _digest(body)})


@pytest.mark.claim("certificate")
@pytest.mark.parametrize("bounding", ["bit", "truncated"])
def test_sensitivity_and_loss_are_rounded_up(bounding):
    """A sensitivity between two steps counts as the next one, and the loss shown is never below the certified one."""
    law = GridMechanism(bounding, Scale(10, 3), 0, 1000, Fraction(1, 7))
    between = Fraction(5, 7) + Fraction(1, 1000)
    claim = {"statistic": "x", "neighbours": "substitute", "epsilon": ONE}
    certificate = certify(law, sensitivity=between, **claim)
    assert certificate.move == 6
    assert certify(law, sensitivity=Fraction(5, 7), **claim).move == 5
    loss = exact_loss(bounding, law.scale, 6, 1000)
    assert loss.upper <= certificate.loss <= loss.upper * (1 + Fraction(1, 1 << 60))
    assert certificate.spread == law.scale.steps / 7


@pytest.mark.claim("certificate")
def test_a_loss_is_a_short_number_but_never_past_the_epsilon_it_keeps():
    long = GridMechanism("bit", Scale(56, 3**30), None, None, ONE)
    claim = {"statistic": "x", "neighbours": "substitute"}
    exact = Fraction(3**30 * 5**20, 1 << 56)
    assert certify(long, sensitivity=Fraction(5**20), epsilon=2 * exact, **claim).loss == exact
    law = GridMechanism("truncated", Scale(10, 3), 0, 1000, ONE)
    assert certify(law, sensitivity=ONE, epsilon=ONE, **claim).loss.numerator < 1 << 65
    upper = exact_loss("truncated", law.scale, 1, 1000).upper
    assert certify(law, sensitivity=ONE, epsilon=upper, **claim).loss == upper


def test_the_digest_is_that_of_the_text_without_spaces():
    """As anybody can compute it by docs/exactness.md."""
    record = make().to_dict()
    body = {name: record[name] for name in sorted(record) if name != "digest"}
    text = str(body).replace("'", '"').replace("None", "null").replace(" ", "")
    assert hashlib.sha256(text.encode("ascii")).hexdigest() == record["digest"]


@pytest.mark.claim("certificate")
def test_joint_noise_is_named():
    joint = make("unbounded", dimension=3)
    assert joint.noise == "sup-norm"
    assert verify(joint.to_dict()) == joint
    with pytest.raises(ValueError, match="no law coordinate by coordinate"):
        _ = joint.mechanism
    with pytest.raises(CertificateError, match="so many dimensions"):
        make("unbounded", dimension=10**9)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"format": "inbounds-certificate/1", "statistic": "\\ud800"}',
        {"format": "inbounds-certificate/1", "x": Fraction(1)},
        {"format": "inbounds-certificate/1", 3: 1, "a": 2},
        {"format": "inbounds-certificate/1", "x": 10**5000},
    ],
    ids=["deep", "surrogate", "fraction", "mixed keys", "long number"],
)
def test_only_one_kind_of_error_escapes(text):
    with pytest.raises(CertificateError):
        verify(text)


def test_repeated_fields_and_other_spellings_are_refused():
    record = make().to_dict()
    text = json.dumps(record)
    with pytest.raises(CertificateError, match="names a field twice"):
        verify(text.replace('"epsilon": "1"', '"epsilon": "1/1000000", "epsilon": "1"'))
    for field, other in (("move", float(record["move"])), ("epsilon", "2/2"), ("epsilon", " 1"), ("epsilon", "1e0")):
        body = {k: v for k, v in record.items() if k != "digest"} | {field: other}
        with pytest.raises(CertificateError):
            verify(body | {"digest": _digest(body)})
    body = {k: v for k, v in record.items() if k != "digest"} | {"epsilon": "1e30000000"}
    with pytest.raises(CertificateError, match="not a fraction"):
        verify(body | {"digest": _digest(body)})


def test_tiny_promises_are_certified_too():
    """Rounding the loss up must not carry it past an ε that it keeps."""
    epsilon = Fraction(1371955419373, 295147905179352825856)
    grid = choose_grid(Fraction(0), Fraction(1000), ONE, epsilon, step=ONE)
    mechanism = grid_mechanism("truncated", grid, epsilon)
    certificate = certify(mechanism, statistic="x", neighbours="substitute", sensitivity=ONE, epsilon=epsilon)
    assert certificate.loss <= epsilon
    assert verify(certificate.to_dict()) == certificate


@pytest.mark.parametrize("junk", ["", "{", "[]", "3", {}, {"format": "inbounds-certificate/1"}, None, "\x00"])
def test_junk_is_refused(junk):
    with pytest.raises(CertificateError):
        verify(junk)


@pytest.mark.parametrize("value", [None, 1.5, "x", [], {}, "1/0", -1, 2**80, True])
@pytest.mark.parametrize("field", [f for f in EDITS if f not in ("format", "statistic")])
def test_junk_in_a_field_is_refused(field, value):
    record = make().to_dict()
    body = {k: v for k, v in record.items() if k != "digest"} | {field: value}
    if value == record[field] or (field in ("first", "last") and value in (None, -1)):
        return  # an honest certificate of another mechanism
    if value is None and record[field] is None:
        return  # what it has
    with pytest.raises(CertificateError):
        verify(body | {"digest": _digest(body)})


def test_bad_input_is_named():
    for changes, words in (
        ({"neighbours": "swap"}, "neighbours must be one of"),
        ({"dimension": 0}, "dimension must be >= 1"),
        ({"location": "x"}, "location must be one of"),
    ):
        with pytest.raises(ValueError, match=words):
            make(**changes)
    with pytest.raises(TypeError, match="statistic must be a string, got int"):
        make(statistic=3)
    mechanism = make("bit").mechanism
    for changes, words in (
        ({"sensitivity": Fraction(0)}, "sensitivity must"),
        ({"epsilon": Fraction(0)}, "epsilon must"),
    ):
        keywords = {"statistic": "x", "neighbours": "substitute", "sensitivity": ONE, "epsilon": ONE}
        with pytest.raises(ValueError, match=words):
            certify(mechanism, **(keywords | changes))


@pytest.mark.claim("certificate")
@pytest.mark.parametrize("bounding", ["bit", "truncated"])
def test_draws_that_one_record_changes_add_up(bounding):
    """A table of counts: one cell loses the record, another gains it."""
    grid = choose_grid(Fraction(0), Fraction(100), ONE, ONE / 2, step=ONE)
    mechanism = grid_mechanism(bounding, grid, ONE / 2)
    keywords = {"statistic": "histogram", "neighbours": "substitute", "sensitivity": ONE}
    one = certify(mechanism, **keywords, epsilon=ONE / 2)
    two = certify(mechanism, **keywords, epsilon=ONE, draws=2)
    assert Fraction(999, 1000) < two.loss <= 1
    assert abs(two.loss - 2 * one.loss) < Fraction(1, 1 << 60)
    assert verify(json.dumps(two.to_dict())) == two
    with pytest.raises(CertificateError, match="exceeds"):
        certify(mechanism, **keywords, epsilon=ONE, draws=3)


@pytest.mark.claim("certificate-composition")
def test_parts_compose_and_edits_are_refused():
    halves = [make(b, epsilon=ONE / 2) for b in ("bit", "truncated")]
    whole = compose(halves, ONE)
    assert whole.loss == sum(part.loss for part in halves) <= whole.epsilon
    assert whole.neighbours == "substitute"
    record = whole.to_dict()
    assert record["format"] == "inbounds-composition/1"
    assert verify(json.dumps(record)) == whole
    with pytest.raises(CertificateError, match="add up to"):
        compose(halves, Fraction(9, 10))
    with pytest.raises(CertificateError, match="one and the same neighbour relation"):
        compose([], ONE)
    with pytest.raises(CertificateError, match="one and the same neighbour relation"):
        compose([make(), make(neighbours="add-remove")], Fraction(2))
    parts = record["parts"]
    lies = (
        {"epsilon": "9/10"},
        {"epsilon": 1},
        {"parts": [*parts, parts[0]]},
        {"parts": parts[0]},
        {"parts": [record]},
        {"parts": [parts[0] | {"loss": "0"}, parts[1]]},
        {"more": 1},
    )
    for lie in lies:
        body = {k: v for k, v in (record | lie).items() if k != "digest"}
        with pytest.raises(CertificateError):
            verify(record | lie)
        with pytest.raises(CertificateError):
            verify(body | {"digest": _digest(body)})


@pytest.mark.claim("certificate")
def test_zero_sum_noise():
    """Two changes of one cell each, at a scale of 2/ε: the loss of the vector is ε, for any number of cells."""
    grid = choose_grid(None, None, ONE, ONE / 2, step=ONE, location="anywhere")
    law = grid_mechanism("unbounded", grid, ONE / 2)
    keywords = {"statistic": "histogram", "sensitivity": ONE, "location": "anywhere", "noise": "zero-sum"}
    made = certify(law, **keywords, neighbours="substitute", epsilon=ONE, draws=2, dimension=1000)
    assert Fraction(999, 1000) < made.loss <= 1
    assert verify(made.to_dict()) == made
    for wrong in ({"neighbours": "add-remove"}, {"draws": 1}, {"dimension": 1}, {"noise": "white"}):
        with pytest.raises((CertificateError, ValueError)):
            certify(
                law, **(keywords | {"neighbours": "substitute", "epsilon": ONE, "draws": 2, "dimension": 5} | wrong)
            )
    bit = grid_mechanism("bit", choose_grid(Fraction(0), Fraction(9), ONE, ONE / 2, step=ONE), ONE / 2)
    with pytest.raises(CertificateError, match="zero-sum noise is for substituted records"):
        certify(bit, **keywords, neighbours="substitute", epsilon=ONE, draws=2, dimension=5)


def test_the_loss_of_zero_sum_noise_by_enumeration():
    """K = 3: the largest log ratio over all outputs and all substitutions, on a box, is 2/T."""
    from itertools import product

    steps = 1.7
    points = [z for z in product(range(-6, 7), repeat=3) if sum(z) == 0]
    weights = {z: -sum(map(abs, z)) / steps for z in points}
    worst = 0.0
    for z, weight in weights.items():
        for i, j in ((0, 1), (1, 2), (2, 0)):
            moved = list(z)
            moved[i], moved[j] = moved[i] - 1, moved[j] + 1
            if tuple(moved) in weights:
                worst = max(worst, abs(weight - weights[tuple(moved)]))
    assert worst == pytest.approx(2 / steps)


@pytest.mark.claim("exponential-loss")
@pytest.mark.parametrize(
    ("sensitivity", "draws", "epsilon"), [(Fraction(1), 1, Fraction(1, 2)), (Fraction(9, 10), 2, Fraction(3))]
)
def test_certificates_of_chosen_points(sensitivity, draws, epsilon):
    """The loss is 2 s draws / T, next to ε; half of the sensitivity, or of the draws, is another certificate."""
    terms = Terms.of(epsilon, rows=100)
    made = choice_law("median", terms, (Fraction(0), Fraction(1, 4), 40), sensitivity, draws)
    assert made.loss == 2 * sensitivity * draws / made.grid.scale.steps
    assert (1 - Fraction(1, 1 << 19)) * epsilon <= made.loss <= epsilon
    assert verify(made.to_dict()) == made
    assert (made.move, made.noise, made.dimension) == (40, "exponential", 1)
    body = made.to_dict()
    for forged in (
        {"sensitivity": str(sensitivity / 2)},
        {"draws": 2 * draws},
        {"move": 1},
        {"divisor": made.divisor + 1},
    ):
        with pytest.raises(CertificateError):
            verify(_with_digest(body | forged))
    with pytest.raises(ValueError, match="nothing to truncate"):
        choice_law("median", Terms.of(1, bounding="truncated", rows=9), (Fraction(0), Fraction(1), 4), Fraction(1), 1)


def _with_digest(body):
    plain = {name: value for name, value in body.items() if name != "digest"}
    return plain | {"digest": _digest(plain)}


CLAIM = {"statistic": "x", "neighbours": "substitute", "sensitivity": ONE, "epsilon": ONE}
PLAIN, WIDE = GridMechanism("bit", Scale(10, 1), 0, 10), GridMechanism("unbounded", Scale(20, 1), None, None)
LEVELS = GridMechanism("bit", Scale(10, 1), 0, 10, stairs=Stairs(3, 2))
REFUSED = [
    (
        GridMechanism("truncated", Scale(20, 1), 0, 10),
        {"dimension": 2},
        "a joint release is unbounded or BIT: truncating coordinates is not post-processing",
    ),
    (WIDE, {"dimension": 5, "noise": "polyhedral"}, "polyhedral noise, and no other, has the norm of its blocks"),
    (
        WIDE,
        {"dimension": 5, "noise": "sup-norm", "blocks": ("moments 2",)},
        "polyhedral noise, and no other, has the norm of its blocks",
    ),
    (
        WIDE,
        {"dimension": 4, "blocks": ("moments 2",)},
        "the blocks of the norm do not have as many coordinates as the vector",
    ),
    (
        WIDE,
        {"dimension": 5, "blocks": ("moments 2",), "neighbours": "add-remove"},
        "moments without a count, and those of a selection, are for substituted records",
    ),
    (PLAIN, {"noise": "sup-norm"}, "sup-norm noise does not have 1 dimensions"),
    (PLAIN, {"noise": "zero-sum"}, "zero-sum noise does not have 1 dimensions"),
    (PLAIN, {"dimension": 2, "noise": "laplace"}, "laplace noise does not have 2 dimensions"),
    (
        PLAIN,
        {"noise": "staircase"},
        "staircase noise does not have this shape: levels belong to staircase noise alone",
    ),
    (LEVELS, {"noise": "laplace"}, "laplace noise does not have this shape: levels belong to staircase noise alone"),
    (LEVELS, {"dimension": 2}, "sup-norm noise does not have this shape: levels belong to staircase noise alone"),
    (WIDE, {"dimension": (1 << 22) + 1}, "no joint noise of so many dimensions is drawn at so small a scale"),
    (
        WIDE,
        {"dimension": 2, "noise": "zero-sum"},
        "zero-sum noise is for substituted records, each of which leaves a cell and enters one",
    ),
    (WIDE, {"noise": "exponential"}, "a point is chosen from a grid with two ends, and has no other noise"),
    (LEVELS, {"noise": "exponential"}, "a point is chosen from a grid with two ends, and has no other noise"),
    (
        GridMechanism("bit", Scale(10, 1), 0, None),
        {"noise": "exponential"},
        "a point is chosen from a grid with two ends, and has no other noise",
    ),
    (
        PLAIN,
        {"noise": "exponential", "sensitivity": Fraction(1024)},
        "the loss, 2, exceeds the epsilon claimed, 1",
    ),
]


@pytest.mark.claim("certificate")
@pytest.mark.parametrize(("law", "changes", "words"), REFUSED)
def test_refusals_say_why(law, changes, words):
    with pytest.raises(CertificateError) as refused:
        certify(law, **(CLAIM | changes))
    assert str(refused.value) == words


@pytest.mark.claim("certificate")
def test_a_certificate_has_every_field_of_its_claim():
    law = GridMechanism("bit", Scale(10, 3), -2, 9, Fraction(1, 7), Fraction(5), Stairs(4, 3))
    claim = {"statistic": "mean", "neighbours": "add-remove", "sensitivity": Fraction(9, 7), "epsilon": ONE}
    made = certify(law, **claim, draws=2, location="anywhere")
    # Nine steps are in three levels of four, each of which costs 3/1024 in each of two draws.
    expected = claim | {"first": -2, "last": 9, "step": Fraction(1, 7), "origin": 5, "exponent": 10, "divisor": 3}
    expected |= {"dimension": 1, "draws": 2, "noise": "staircase", "width": 4, "core": 3, "location": "anywhere"}
    expected |= {"move": 9, "loss": Fraction(2 * 3 * 3, 1024), "blocks": (), "ranges": (), "bounding": "bit"}
    assert {name: getattr(made, name) for name in expected} == expected
    assert made.grid == made.mechanism == law
    assert verify(made.to_dict()) == made
    assert certify(law, **claim, draws=2).move == 9
    assert certify(law, **(claim | {"sensitivity": Fraction(40)})).move == 11
    norm = certify(WIDE, **CLAIM, dimension=5, blocks=("moments 2",))
    assert (norm.noise, norm.blocks, norm.ranges) == ("polyhedral", ("moments 2",), list_ranges(("moments 2",)))
    assert norm.move == -(-(1 + norm_rounding(("moments 2",))) // 1)
    assert norm.loss == Fraction(norm.move, 1 << 20)
    assert verify(norm.to_dict()) == norm
    chosen = certify(PLAIN, **CLAIM, noise="exponential", draws=3)
    assert (chosen.loss, chosen.move, chosen.draws, chosen.location) == (Fraction(6, 1024), 10, 3, "inside")
    assert (chosen.width, chosen.core, chosen.dimension, chosen.noise) == (None, None, 1, "exponential")
    assert chosen.grid == PLAIN
    for bounds, sums in (((0, 10), (1, 4)), ((None, None), (1, 4))):
        joint = certify(GridMechanism("unbounded", Scale(10, 1), *bounds), **CLAIM, dimension=4, location="anywhere")
        assert (joint.noise, joint.loss) == ("sup-norm", Fraction(1, 1024))
        assert (joint.move, joint.dimension) == sums


def test_what_is_wrong_with_a_text_is_told():
    record = make("bit").to_dict()
    whole = compose([make("bit", epsilon=ONE / 2), make("truncated", epsilon=ONE / 2)], ONE).to_dict()
    body = {name: value for name, value in record.items() if name != "digest"}
    for text, words in (
        ("{", "the certificate is malformed (JSONDecodeError)"),
        (
            "3",
            "the certificate's format is not inbounds-certificate/1, inbounds-certificate/2 or inbounds-composition/1",
        ),
        (record | {"epsilon": "2"}, "the certificate's digest does not fit its text: it was edited"),
        (_with_digest(record | {"move": 3}), "the certificate's move does not follow from the rest of it"),
        (_with_digest(record | {"loss": "1/3"}), "the certificate's loss does not follow from the rest of it"),
        (_with_digest(record | {"epsilon": "x"}), "the certificate's epsilon is not a fraction written as text"),
        (_with_digest(record | {"step": 1}), "the certificate's step is not a fraction written as text"),
        (_with_digest(record | {"more": 1}), "the certificate has missing or unknown fields"),
        (_with_digest({n: v for n, v in body.items() if n != "core"}), "the certificate has missing or unknown fields"),
        (_with_digest(record | {"blocks": "moments 1"}), "the certificate's blocks are no list, or too long"),
        (_with_digest(record | {"ranges": ["x"] * 1001}), "the certificate's ranges are no list, or too long"),
        (_with_digest(record | {"divisor": 0}), "the certificate is malformed (ValueError)"),
        (_with_digest(whole | {"more": 1}), "the certificate has missing or unknown fields"),
        (_with_digest(whole | {"parts": {}}), "the certificate has missing or unknown fields"),
        (_with_digest(whole | {"parts": [whole]}), "a composition is made of certificates, not of compositions"),
        (_with_digest(whole | {"epsilon": 1}), "the certificate's epsilon is not a fraction written as text"),
        (
            _with_digest(whole | {"epsilon": "1/2"}),
            f"the losses add up to {_decimal(sum(Fraction(part['loss']) for part in whole['parts']))}, which exceeds "
            "the epsilon claimed, 0.5",
        ),
        ('{"a": 1, "a": 2}', "the certificate names a field twice"),
    ):
        with pytest.raises(CertificateError) as refused:
            verify(text)
        assert str(refused.value) == words
    # A thousand digits are read; so many epsilons with as many are not added up.
    many = [record | {"epsilon": f"1/{10**998 + k}"} for k in range(20)]
    with pytest.raises(CertificateError, match=r"^the epsilons of the parts have more than 20000 digits in all$"):
        verify(_with_digest(whole | {"parts": many}))
    # As many as are allowed, or the same one often, are looked at.
    for epsilons in ([10**997 + k for k in range(20)], [10**998] * 20):
        parts = [record | {"epsilon": f"1/{epsilon}"} for epsilon in epsilons]
        with pytest.raises(CertificateError, match="digest does not fit"):
            verify(_with_digest(whole | {"parts": parts}))
    assert _with_digest(record)["digest"] == record["digest"]
    long = certify(PLAIN, **(CLAIM | {"epsilon": Fraction(10**999)}))
    assert verify(long.to_dict()) == long
    with pytest.raises(CertificateError, match="not a fraction written as text"):
        verify(certify(PLAIN, **(CLAIM | {"epsilon": Fraction(10**1000)})).to_dict())


@pytest.mark.claim("certificate-composition")
def test_a_composition_says_what_its_parts_say():
    parts = make("bit", epsilon=ONE / 2), make("truncated", epsilon=ONE / 2)
    record = compose(parts, ONE).to_dict()
    assert {name: record[name] for name in ("format", "epsilon", "parts")} == {
        "format": "inbounds-composition/1",
        "epsilon": "1",
        "parts": [part.to_dict() for part in parts],
    }
    assert record["digest"] == _digest({name: value for name, value in record.items() if name != "digest"})
    made = compose(iter(parts), sum(part.loss for part in parts))
    assert (made.parts, made.loss) == (parts, made.epsilon)
    with pytest.raises(TypeError, match=r"^epsilon must be"):
        compose(parts, 1.0)
    with pytest.raises(
        CertificateError, match=r"^a composition has parts, all for one and the same neighbour relation$"
    ):
        compose([], ONE)


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"sensitivity": 0.5}, TypeError, r"^sensitivity must be"),
        ({"epsilon": 0.5}, TypeError, r"^epsilon must be"),
        ({"sensitivity": Fraction(-1)}, ValueError, r"^sensitivity must be > 0, got -1$"),
        ({"epsilon": Fraction(-1)}, ValueError, r"^epsilon must be > 0, got -1$"),
        ({"dimension": 1.5}, TypeError, r"^dimension must be"),
        ({"draws": 1.5}, TypeError, r"^draws must be"),
        ({"draws": 0}, ValueError, r"^draws must be >= 1"),
        ({"neighbours": "swap"}, ValueError, r"^neighbours must be one of"),
        ({"location": "there"}, ValueError, r"^location must be one of"),
        ({"noise": "white"}, ValueError, r"^noise must be one of"),
    ],
)
def test_arguments_are_named(changes, kind, words):
    with pytest.raises(kind, match=words):
        certify(PLAIN, **(CLAIM | changes))


@pytest.mark.claim("certificate")
@pytest.mark.parametrize(
    ("block", "dimension", "counted"),
    [
        ("moments 1", 2, False),
        ("mean moments 1", 2, False),
        ("selected moments 1", 3, False),
        ("selected sums 1", 2, False),
        ("counted moments 1", 3, True),
        ("box 3", 3, True),
    ],
)
def test_norms_are_for_the_records_that_they_are_made_for(block, dimension, counted):
    """Where records come or go, only those of moments that are counted, and boxes."""
    claim = CLAIM | {"dimension": dimension + 1, "blocks": ("box 1", block)}
    assert certify(WIDE, **claim).blocks == ("box 1", block)
    if counted:
        assert certify(WIDE, **(claim | {"neighbours": "add-remove"})).neighbours == "add-remove"
    else:
        with pytest.raises(CertificateError, match=r"^moments without a count, and those of a selection, are for"):
            certify(WIDE, **(claim | {"neighbours": "add-remove"}))
    with pytest.raises(CertificateError, match=r"^no joint noise of so many dimensions is drawn at so small a scale$"):
        certify(GridMechanism("unbounded", Scale(6, 256), None, None), **(claim | {"epsilon": Fraction(1000)}))


def test_lists_of_a_thousand_are_read():
    record = certify(WIDE, **CLAIM, dimension=1000, blocks=("box 1",) * 1000).to_dict()
    assert verify(record).blocks == ("box 1",) * 1000
    for field in ("blocks", "ranges"):
        with pytest.raises(CertificateError, match=rf"^the certificate's {field} are no list, or too long$"):
            verify(_with_digest(record | {field: ["box 1"] * 1001}))

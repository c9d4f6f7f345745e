"""Study files: what they say is what is simulated, and every mistake is one line that helps."""

from pathlib import Path

import pytest

from inbounds.lab.studies import file, keep
from inbounds.lab.studies.file import load, parse

EXAMPLES = Path(__file__).parents[3] / "examples"
SHARES = {"kind": "proportions", "n": [50], "epsilon": [1.0], "scenario": [{"shares": [0.25, 0.75]}]}
MATRIX = {
    "kind": "covariance",
    "n": [50],
    "epsilon": [1.0],
    "scenario": [{"matrix": [[1.0, 0.5], [0.5, 2.0]], "bounds": [[-3, 3], [-4, 4]]}],
}


def test_the_example_is_a_study_of_five_groups():
    made = load(EXAMPLES / "own_study.toml")
    assert (made.name, made.kind, made.repetitions, made.seed) == ("age-groups", "proportions", 2000, 1)
    labels = [dict(setting.labels) for setting in made.settings]
    assert {label["epsilon"] for label in labels} == {None, 0.1, 0.5, 1.0}
    assert made.settings[0].quantities == ("0-14", "15-29", "30-44", "45-64", "65+", "0-14+15-29")
    small = [s for s, label in zip(made.settings, labels, strict=True) if label["n"] == 100]
    table = keep.conduct(made.name, small, 50, workers=1)
    assert table["n"].unique().to_list() == [100]
    assert set(table["estimator"]) == {"wald", "exact"}


@pytest.mark.claim("study-file")
def test_a_file_means_what_it_says():
    made = parse(
        SHARES
        | {
            "n": [50, 100],
            "epsilon": [1, 0.5],
            "mechanisms": ["bit", "truncated"],
            "repairs": ["rescale", "tree", "all-but-one"],
            "calibrations": ["paper", "honest"],
            "neighbours": "add-remove",
            "copies": 3,
            "estimators": ["wald", "synthesis"],
        }
    )
    # Samples themselves, and 2 sizes × 2 ε × 2 scales × 2 mechanisms × 3 repairs × 2 estimators.
    assert len(made.settings) == 2 + 96
    copies = {s.simulate.copies for s in made.settings if dict(s.labels)["estimator"] == "synthesis"}
    assert copies == {3}
    matrix = parse(MATRIX | {"mechanisms": ["bit", "truncated", "joint"], "undefined": "zero"})
    assert len(matrix.settings) == 3
    assert matrix.settings[0].quantities == ("S11", "S22", "S12", "r")
    assert {s.simulate.undefined for s in matrix.settings} == {"zero"}


def test_matrices_of_two_columns_need_no_repair():
    two = {"name": "two", "matrix": [[1.0, 0.5], [0.5, 1.0]], "bounds": [[-3, 3]] * 2}
    three = {"name": "three", "matrix": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], "bounds": [[-3, 3]] * 3}
    made = parse(MATRIX | {"scenario": [two, three], "repairs": ["clip", "newton"]})
    assert [dict(s.labels)["repair"] for s in made.settings] == ["none", "clip", "newton"]


def test_matrices_of_three_columns_are_repaired():
    import numpy as np

    scenario = {
        "matrix": [[1.0, 0.9, 0.9], [0.9, 1.0, 0.9], [0.9, 0.9, 1.0]],
        "bounds": [[-3, 3]] * 3,
        "columns": ["age", "bmi", "pulse"],
    }
    made = parse(MATRIX | {"scenario": [scenario], "mechanisms": ["bit", "joint"], "repairs": ["clip", "newton"]})
    assert len(made.settings) == 4
    assert made.settings[0].quantities[3:7] == ("S(age, bmi)", "S(age, pulse)", "S(bmi, pulse)", "r(age, bmi)")
    rng = np.random.default_rng(0)
    for setting in made.settings:
        drawn = setting.simulate(np.empty((20, 0)), rng).estimates
        for row in drawn:
            full = np.array([[row[0], row[3], row[4]], [row[3], row[1], row[5]], [row[4], row[5], row[2]]])
            assert np.linalg.eigvalsh(full)[0] > -1e-9 * max(np.trace(full), 1)


BAD = [
    ({"kind": "means"}, "kind must be one of 'proportions', 'covariance'; got 'means' of type str"),
    ({"kind": None}, "kind must be one of"),
    ({"kind": ["proportions"]}, "kind must be one of"),
    ({"epsilons": [1]}, "epsilons is not a known key; did you mean epsilon?"),
    ({"wibble": 1}, "wibble is not a known key; there are name, kind,"),
    ({"n": []}, "n must have 1 or more entries; write n = [100, 500]"),
    ({"n": 50}, "n must be a list, got 50; write n = [100, 500]"),
    ({"n": [10**30]}, "n[0] must be at most 10,000,000"),
    ({"epsilon": [10**400]}, "epsilon[0] must be a number, got one of more than 40 digits"),
    ({"epsilon": [1e-300]}, "epsilon[0] must lie between 1e-9 and 1e6"),
    ({"epsilon": [1e300]}, "epsilon[0] must lie between"),
    ({"copies": 10**400}, "copies must be at most 1,000"),
    ({"a\nb" * 50: 1}, "is not a known key"),
    ({"name": "covariance"}, "no name of the paper's files"),
    ({"name": "claims"}, "no name of the paper's files"),
    ({"name": "ours-2"}, "no name of the paper's files"),
    ({"name": "a."}, "name must be letters"),
    ({"name": "-rf"}, "name must be letters"),
    ({"name": "a" * 101}, "name must be letters"),
    (
        {"scenario": [{"shares": [0.3, 0.7], "sums": [["p1"]]}]},
        "quantities must differ in name, but 'p1' is there twice",
    ),
    ({"scenario": [{"shares": [0.3, 0.7], "sums": [["p1", "p2"]] * 2}]}, "quantities must differ in name"),
    ({"scenario": [{"shares": [0.1, 0.2, 0.7], "labels": ["a", "b", "a+b"], "sums": [["a", "b"]]}]}, "quantities must"),
    ({"scenario": [{"shares": [0.3, 0.7], "sums": [[["p1"]]]}]}, "scenario[0].sums[0][0] must be text"),
    ({"scenario": [{"shares": [0.3, 0.7], "sums": [[{"a": 1}]]}]}, "scenario[0].sums[0][0] must be text"),
    ({"scenario": [{"shares": [0.3, 0.7], "groups": [{"a": 1}]}]}, "scenario[0].groups must be labels in nested lists"),
    ({"scenario": [{"shares": [0.3, 0.7], "groups": "x"}]}, "scenario[0].groups must be a list"),
    ({"scenario": [{"shares": [1 / 1001] * 1001}]}, "scenario[0].shares must be at most 1,000 numbers"),
    ({"n": list(range(1, 1500)), "epsilon": [float(x) for x in range(1, 1000)]}, "a study may have 20,000 settings"),
    ({"n": [0]}, "n[0] must be >= 1, got 0"),
    ({"n": [50.5]}, "n[0] must be a whole number, as in 20000, got 50.5"),
    ({"n": [50, 50]}, "n must not have one entry twice"),
    ({"n": None}, "n must be a list"),
    ({"epsilon": [0.0]}, "epsilon[0] must be finite and > 0, got 0.0"),
    ({"epsilon": [1.0, -1.0]}, "epsilon[1] must be finite and > 0"),
    ({"epsilon": ["one"]}, "epsilon[0] must be a number, got 'one'"),
    ({"epsilon": [True]}, "epsilon[0] must be a number, got true"),
    (
        {"mechanisms": ["laplace"]},
        "mechanisms[0] must be one of 'truncated', 'bit', 'unbounded', 'joint'; got 'laplace'",
    ),
    ({"repairs": ["fold"]}, "repairs[0] must be one of"),
    ({"estimators": ["bayes"]}, "estimators[0] must be one of"),
    ({"calibrations": ["exact"]}, "calibrations[0] must be one of 'paper', 'honest'"),
    ({"neighbours": "both"}, "neighbours must be one of 'add-remove', 'substitute'"),
    ({"neighbours": "add-remove", "mechanisms": ["joint"]}, "mechanism 'joint' keeps a public sum"),
    ({"mechanisms": ["joint"], "repairs": ["tree"]}, "no mechanism, repair and estimator of the lists go together"),
    ({"copies": 1}, "copies must be >= 2"),
    ({"repetitions": 1}, "repetitions must be >= 2, got 1"),
    ({"repetitions": 10**7}, "repetitions must be at most 1,000,000"),
    ({"seed": -1}, "seed must be greater than or equal to 0, got -1"),
    ({"name": "../x"}, "name must be letters, digits"),
    ({"name": 3}, "name must be text, got 3"),
    ({"undefined": "zero"}, "undefined is not a known key; there are"),
    ({"n": list(range(1, 20_002))}, "a study may have 20,000 settings"),
    ({"scenario": []}, "scenario must have 1 or more entries; write a [[scenario]] section"),
    ({"scenario": {"shares": [0.5, 0.5]}}, "scenario must be a list; write a [[scenario]] section, in double brackets"),
    ({"scenario": [{"shares": [0.5, 0.4]}]}, "scenario[0].shares must be >= 0 and sum to 1, got a sum of 0.9"),
    ({"scenario": [{"shares": [1.5, -0.5]}]}, "scenario[0].shares must be >= 0, got one below 0"),
    ({"scenario": [{"shares": [1.0]}]}, "scenario[0].shares must be two numbers or more"),
    ({"scenario": [{"shares": [0.5, "x"]}]}, "scenario[0].shares[1] must be a number, got 'x'"),
    ({"scenario": [{"shares": [0.5, float("nan")]}]}, "scenario[0].shares[1] must be a finite number, got nan"),
    ({"scenario": [{}]}, "scenario[0].shares must be given; write shares = [0.2, 0.3, 0.5]"),
    (
        {"scenario": [{"shares": [0.5, 0.5], "label": ["a", "b"]}]},
        "scenario[0].label is not a known key; did you mean labels?",
    ),
    ({"scenario": [3]}, "scenario[0] must be a table of keys, got 3"),
    ({"scenario": [{"shares": [0.5, 0.5], "labels": ["a"]}]}, "scenario[0].labels must name each of the 2 shares once"),
    ({"scenario": [{"shares": [0.5, 0.5], "labels": ["a", "a"]}]}, "scenario[0].labels must name each"),
    (
        {"scenario": [{"shares": [0.5, 0.5], "sums": [["q"]]}]},
        "scenario[0].sums must be lists of labels, each once, such as ['p1'",
    ),
    ({"scenario": [{"shares": [0.5, 0.5], "sums": [["p1", "p1"]]}]}, "scenario[0].sums"),
    ({"scenario": [{"shares": [0.5, 0.5], "sums": [["p1", 3]]}]}, "scenario[0].sums"),
    (
        {"scenario": [{"shares": [0.5, 0.5], "groups": [["p1"]]}]},
        "scenario[0].groups must be nested lists that hold every",
    ),
    ({"scenario": [{"name": "a", "shares": [0.5, 0.5]}] * 2}, "scenario names must differ"),
    ({"scenario": [{"name": "", "shares": [0.5, 0.5]}]}, "scenario[0].name must be text that can be seen"),
]
BAD_MATRIX = [
    ({"estimators": ["wald"]}, "estimators is not a known key; there are"),
    ({"mechanisms": ["unbounded"]}, "mechanisms[0] must be one of 'truncated', 'bit', 'joint'"),
    ({"n": [1]}, "n[0] must be >= 2"),
    ({"undefined": "one"}, "undefined must be one of 'omit', 'zero'"),
    (
        {"scenario": [{"matrix": [[1.0]], "bounds": [[0, 1]]}]},
        "scenario[0].matrix must be square, with two columns or more",
    ),
    ({"scenario": [{"matrix": [[1.0, 0.5]], "bounds": [[0, 1]]}]}, "scenario[0].matrix must be square"),
    (
        {"scenario": [{"matrix": [[1.0, 0.5], [0.4, 1.0]], "bounds": [[-3, 3]] * 2}]},
        "scenario[0].matrix must be symmetric",
    ),
    (
        {"scenario": [{"matrix": [[1.0, 2.0], [2.0, 1.0]], "bounds": [[-3, 3]] * 2}]},
        "scenario[0].matrix must be positive",
    ),
    ({"scenario": [{"matrix": [[1.0, 0.5], [0.5, 1.0]], "bounds": [[-3, 3]]}]}, "scenario[0].bounds must be one pair"),
    (
        {"scenario": [{"matrix": [[1.0, 0.5], [0.5, 1.0]], "bounds": [[3, -3]] * 2}]},
        "scenario[0].bounds[0] must satisfy",
    ),
    ({"scenario": [{"matrix": [[9.5, 0.5], [0.5, 1.0]], "bounds": [[-3, 3]] * 2}]}, "scenario[0].matrix[0][0]"),
    ({"scenario": [{"matrix": [[1.0, 0.5], [0.5, 1.0]]}]}, "scenario[0].bounds must be given; write bounds ="),
    ({"scenario": [{"matrix": [[1e-300, 0.0], [0.0, 1.0]], "bounds": [[-3, 3]] * 2}]}, "use other units"),
    ({"scenario": [{"matrix": [[1.0, 0.0], [0.0, 1.0]], "bounds": [[-1e101, 3], [-3, 3]]}]}, "use other units"),
    ({"scenario": [{"bounds": [[-3, 3]] * 2}]}, "scenario[0].matrix must be given; write matrix ="),
    ({"scenario": [{"matrix": 3, "bounds": [[-3, 3]] * 2}]}, "scenario[0].matrix must be a list"),
    (
        {"scenario": [{"matrix": [[1.0, 0.5], [0.5, 1.0]], "bounds": [[-3, 3]] * 2, "columns": ["a"]}]},
        "scenario[0].columns must name each of the 2 columns once",
    ),
    ({"scenario": [MATRIX["scenario"][0] | {"columns": False}]}, "scenario[0].columns must be a list"),
    ({"scenario": [MATRIX["scenario"][0] | {"columns": []}]}, "scenario[0].columns must have 1 or more entries"),
    ({"n": [10**400]}, "n[0] must be at most"),
]


@pytest.mark.claim("study-file")
@pytest.mark.parametrize(
    ("change", "words"), [(SHARES | c, w) for c, w in BAD] + [(MATRIX | c, w) for c, w in BAD_MATRIX]
)
def test_every_mistake_is_one_line_that_names_the_key(change, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        parse(change)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_mistakes_of_the_form_are_told_at_once():
    with pytest.raises(file.StudyError) as caught:
        parse(SHARES | {"n": "many", "seed": -1, "scenario": [{"share": [0.5, 0.5]}, {"shares": [0.5, "x"]}]})
    assert caught.value.problems == (
        "seed must be greater than or equal to 0, got -1",
        "n must be a list, got 'many'; write n = [100, 500]",
        "scenario[0].shares must be given; write shares = [0.2, 0.3, 0.5]",
        "scenario[0].share is not a known key; did you mean shares?",
        "scenario[1].shares[1] must be a number, got 'x'",
    )
    assert str(caught.value).startswith("the study: 5 mistakes:\n  seed must be")


@pytest.mark.parametrize("missing", ["n", "epsilon"])
def test_what_is_missing_is_said_with_an_example(missing):
    content = {key: value for key, value in SHARES.items() if key != missing}
    with pytest.raises(ValueError, match=f"{missing} must be given; write {missing} = "):
        parse(content)


def test_a_missing_kind_and_a_name_from_the_file(tmp_path):
    with pytest.raises(ValueError, match='kind is missing; write kind = "proportions"'):
        parse({})
    odd = tmp_path / "my study (final).toml"
    odd.write_text('kind = "proportions"\nn = [50]\nepsilon = [1.0]\n[[scenario]]\nshares = [0.5, 0.5]\n')
    with pytest.raises(ValueError, match=r'got .my study \(final\). from the file.s; write name = "\.\.\."'):
        load(odd)


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    marked = tmp_path / "marked.toml"
    marked.write_bytes(b"\xef\xbb\xbf" + (EXAMPLES / "own_study.toml").read_bytes())
    assert load(marked).name == "age-groups"


def test_the_command_overrules_what_undefined_means():
    assert {s.simulate.undefined for s in parse(MATRIX, undefined="zero").settings} == {"zero"}
    with pytest.raises(ValueError, match="the study: undefined is for studies of covariance matrices"):
        parse(SHARES, undefined="zero")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ValueError, match=r"none\.toml: cannot be read \(No such file"):
        load(tmp_path / "none.toml")
    bad = tmp_path / "bad.toml"
    bad.write_text("n = [50\n")
    with pytest.raises(ValueError, match=r"bad\.toml: is not valid TOML: Unclosed array"):
        load(bad)
    bad.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"bad\.toml: is not UTF-8"):
        load(bad)
    bad.write_text('kind = "proportions"\nn = [50]\nepsilon = [1.0]\n[[scenario]]\nshares = [0.5, 0.4]\n')
    with pytest.raises(ValueError, match=r"bad\.toml: scenario\[0\]\.shares must be >= 0 and sum to 1"):
        load(bad)
    for text in ("groups = " + "[" * 3000 + "]" * 3000, "seed = " + "9" * 5000):
        bad.write_text(text)
        with pytest.raises(ValueError, match=r"bad\.toml: is not valid TOML: a number is too long"):
            load(bad)
    assert file.MOST_SETTINGS == 20_000

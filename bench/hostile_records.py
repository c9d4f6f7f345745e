"""Files of at most 1 MB that somebody made to be slow or large to verify: time and memory of each.

    python bench/hostile_records.py [name ...]

Target: whatever the file, at most 2 s of processor time and 500 MB. Each is read in a process of its own by
`Releases.from_json`, which is what `inbounds verify` does; time is that of the call alone, memory the peak of the
process. Linear algebra has one thread: where it has more, their waiting for one another counts as processor time.

Honest files at the limits are among them: those must be read, not refused. They are as large as 1 MB allows, and their
numbers are made up: on the grid, and far from anything that is easy.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from inbounds.ledger.entry import Entry
from inbounds.privacy.certificate import Certificate, Composition
from inbounds.privacy.terms import Terms
from inbounds.record import Release, charges, codec
from inbounds.record.sequential import laws_in_turn
from inbounds.statistics import (
    Correlation,
    Count,
    Covariance,
    Crosstab,
    Histogram,
    Mean,
    PooledVariance,
    Proportions,
    StandardDeviation,
    Statistic,
    Sum,
)

LARGEST, SECONDS, MEGABYTES = 1_000_000, 2.0, 500
# As many columns as 1 MB holds of a correlation matrix, and of one drawn element by element.
COLUMNS, IN_TURN = 164, 57


def compact(body: Any) -> str:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False)


def text_of(releases: dict[str, Release], *, paid: bool = False) -> str:
    """A record of releases, honest but for the draw; with the entry of a charge of 1."""
    entry = None
    if paid:
        said = {"dataset": "d", "request": charges.digest_of("d", releases), "epsilon": "1"}
        rest = {"cost": 10**9, "what": list(charges.list_charged(releases)), "when": "", "who": ""}
        entry = Entry.after(None, "charge", said | rest)
    return compact(json.loads("".join(codec.record_pieces(releases, "d", entry))))


def single(statistic: Statistic, *, top: bool = False, **terms: Any) -> Release:
    """A release with every number at the lowest (or, with ``top``, the highest) point of its grid."""
    return with_numbers(statistic.draft(terms_of(**terms)).record, top=top)


def terms_of(epsilon: Any = 1, rows: int | None = 3, **rest: Any) -> Terms:
    return Terms.of(epsilon, rows=rows, **rest)


def with_numbers(draft: Release, *, top: bool = False) -> Release:
    numbers = [_end(law, top) for law in draft.parts]
    law = draft.certificate
    if isinstance(law, Certificate) and law.noise == "zero-sum":
        # Counts that are drawn together add up to the public number of rows.
        numbers[0] += (draft.rows or 0) - sum(numbers)
    made = replace(draft, noisy=tuple(numbers))
    return replace(made, notes=made.own_notes())


def _end(law: Certificate, top: bool) -> Fraction:
    index = 0 if law.bounding == "unbounded" else law.last if top else law.first
    return law.origin + (index or 0) * law.step


def matrix(
    columns: int,
    made: type[Covariance | Correlation] = Covariance,
    bounding: str = "bit",
    *,
    how: str = "signs",
    **more: Any,
) -> Release:
    """A matrix of columns that all differ in width, so that no two laws are the same.

    Covariances are at their bounds, with random signs: far from any matrix that is possible. With ``how`` at ``"band"``
    only those of neighbours are, and others are 0, which Newton's steps come near to and do not reach. With ``"edge"``
    they are as `edge` has them, which projections come near to ever more slowly; columns are of one width then.
    """
    bounds = more.pop("bounds", None) or {f"c{i}": (0, 1 + i) for i in range(columns)}
    draft = made(bounds=bounds, **more).draft(terms_of(bounding=bounding)).record
    signs = np.random.default_rng(1).choice([-1, 1], len(draft.units)).tolist()
    places = list(combinations_with_replacement(range(columns), 2))
    signs = [int(j == i + 1) for i, j in places] if how == "band" else signs
    signs = [Fraction(x) / 2 for x in edge(columns)[np.triu_indices(columns)].tolist()] if how == "edge" else signs
    ends = [
        upper if i == j else sign * upper for (i, j), sign, (_, upper) in zip(places, signs, draft.bounds, strict=True)
    ]
    if isinstance(draft.certificate, Composition):
        noisy = tuple(_end(law, end > 0) for law, end in zip(draft.parts, ends, strict=True))
        if bounding == "truncated":
            certificate, within = laws_in_turn(draft.certificate, draft.bounds, noisy)
            drawn = replace(draft, certificate=certificate, bounds=within)
            return replace(drawn, noisy=tuple(_end(law, True) for law in drawn.parts))
        return replace(draft, noisy=noisy)
    step = draft.certificate.step
    # Beyond the bounds, to which they are clamped.
    noisy = tuple(round(2 * end / unit / step) * step for end, unit in zip(ends, draft.units, strict=True))
    drawn = replace(draft, noisy=noisy)
    return replace(drawn, notes=drawn.own_notes())


def edge(columns: int) -> Any:
    """A matrix whose nearest correlation matrix has rank 2, and is just about on the edge of having more."""
    rng = np.random.default_rng(columns)
    factors = rng.normal(size=(columns, 2))
    factors /= np.linalg.norm(factors, axis=1)[:, None]
    beyond = np.linalg.svd(factors)[0][:, 2:] @ rng.normal(size=columns - 2)
    away = np.outer(beyond, beyond)
    made = np.clip(factors @ factors.T - away / 2 / np.abs(away).max(), -1, 1)
    np.fill_diagonal(made, 1)
    return made


def one(release: Release) -> str:
    return text_of({"r": release})


def edited(release: Release, **fields: Any) -> str:
    """The record of a release with some of its fields replaced."""
    record = json.loads(one(release))
    record["releases"]["r"] |= fields
    return compact(record)


def asked(statistic: dict[str, Any], noisy: int = 1, **terms: Any) -> str:
    """A record of nothing but a statistic and numbers that are all 0."""
    record = json.loads(one(single(Mean("a", (0, 1)))))
    body = record["releases"]["r"]
    body |= {"statistic": statistic, "noisy": ["0"] * noisy, "terms": body["terms"] | terms}
    return compact(record)


def several(made: Iterator[Release], *, paid: bool = False) -> str:
    """As many releases as 1 MB holds, and a record may have."""
    releases: dict[str, Release] = {}
    size = 1000
    for release in made:
        size += len(text_of({"r": release})) - 110 + (120 if paid else 0)
        if size > LARGEST or len(releases) == codec.MOST_RELEASES:
            break
        releases[f"{len(releases):x}"] = release
    return text_of(releases, paid=paid)


def endless(make: Callable[[int], Release]) -> Iterator[Release]:
    i = 0
    while True:
        yield make(i)
        i += 1


def nested(levels: list[str], depth: int) -> Any:
    """Levels in two halves, in two halves and so on, the last of them as deep as groups may be."""
    tree: Any = levels
    for _ in range(depth):
        tree = [tree]
    return tree


def hexadecimal(count: int) -> list[str]:
    return [f"{i:x}" for i in range(count)]


def long_fraction(i: int, digits: int) -> Fraction:
    """A number between 1 and 2 that takes all these digits, no two with a common denominator."""
    return 1 + Fraction(1, 10 ** (digits - 1) + 2 * i + 1)


def long_edges() -> str:
    edges = [str(i + long_fraction(i, 190)) for i in range(2_300)]
    return one(single(Histogram("a", edges=edges)))


def tables(count: int) -> str:
    """Tables of ten million cells, in a file without one of their numbers."""
    record = json.loads(one(single(Mean("a", (0, 1)))))
    body = record["releases"]["r"]
    body["statistic"] = {"name": "crosstab", "levels": {name: list(range(215)) for name in ("a", "b", "c")}}
    record["releases"] = {f"t{i}": body for i in range(count)}
    return compact(record)


def deviating(i: int) -> Release:
    """Standard deviations that no two share a law, about where it is a close choice how they are made."""
    return single(StandardDeviation(f"{i}", (0, 1 + i)), epsilon=Fraction(1000 + i, 7), rows=100, top=True)


def correlated(i: int, columns: int, repair: str, how: str = "signs") -> Release:
    bounds = {f"{i}.{j}": (0, 1 + j if how == "signs" else 1) for j in range(columns)}
    return matrix(columns, Correlation, repair=repair, bounds=bounds, how=how)


FILES: dict[str, Callable[[], str]] = {
    # Honest, as large as can be: read.
    "covariances truncated in turn": lambda: one(matrix(IN_TURN, method="split", bounding="truncated")),
    "covariances in turn": lambda: one(matrix(IN_TURN, method="split")),
    "covariances": lambda: one(matrix(COLUMNS)),
    "covariances, bounds of 100 digits": lambda: one(
        matrix(39, bounds={f"c{i}": (0, long_fraction(i, 99)) for i in range(39)})
    ),
    "correlations, clip": lambda: one(matrix(COLUMNS, Correlation, repair="clip")),
    "correlations, newton": lambda: one(matrix(COLUMNS, Correlation, repair="newton")),
    "correlations, nearest": lambda: one(matrix(COLUMNS, Correlation, repair="nearest")),
    "many correlations, nearest": lambda: several(endless(lambda i: correlated(i, 20, "nearest"))),
    "many correlations, newton": lambda: several(endless(lambda i: correlated(i, 20, "newton"))),
    "correlations that Newton does not reach": lambda: several(endless(lambda i: correlated(i, 29, "newton", "band"))),
    "correlations that projections do not reach": lambda: one(correlated(0, COLUMNS, "nearest", "edge")),
    "many that projections do not reach": lambda: several(endless(lambda i: correlated(i, 20, "nearest", "edge"))),
    "small ones that projections do not reach": lambda: several(endless(lambda i: correlated(i, 5, "nearest", "edge"))),
    "small correlations, newton": lambda: several(endless(lambda i: correlated(i, 5, "newton"))),
    "shares in a tree": lambda: one(single(Proportions("a", levels=hexadecimal(16_800), repair="tree"))),
    "shares in a deep tree": lambda: one(
        single(Proportions("a", levels=hexadecimal(18_700), repair="tree", tree=nested(hexadecimal(18_700), 48)))
    ),
    "a histogram": lambda: one(single(Histogram("a", levels=list(range(36_000))))),
    "a histogram, projected": lambda: one(single(Histogram("a", levels=list(range(36_000)), repair="project"))),
    "intervals": lambda: one(single(Histogram("a", edges=list(range(21_900))))),
    "intervals with long ends": long_edges,
    "a crosstab": lambda: one(single(Crosstab(levels={"a": list(range(400)), "b": list(range(400))}))),
    "a mean by groups": lambda: one(single(Mean("x", (0, 1), by="a", levels=hexadecimal(30_000)))),
    "one variance of many groups": lambda: one(
        single(PooledVariance("x", "a", hexadecimal(71_000), (0, 1)), rows=100_000)
    ),
    "one variance of groups with sizes": lambda: one(
        single(PooledVariance("x", "a", hexadecimal(55_000), (0, 1), sizes=[2] * 55_000), rows=110_000)
    ),
    "a column with a long name": lambda: one(single(Mean("a" * 190_000, (0, 1)))),
    "a long level": lambda: one(single(Count("a", level="b" * 190_000))),
    "numbers of 300 digits": lambda: edited(
        single(Histogram("a", levels=hexadecimal(2500), repair="project")),
        noisy=[str(10**300 + i) for i in range(2500)],
    ),
    # Many small ones: as many as 1 MB holds.
    "the smallest releases": lambda: several(endless(lambda _: single(Count(), rows=None, neighbours="add-remove"))),
    "means": lambda: several(endless(lambda i: single(Mean("a", (0, 1 + i)), epsilon=1 + Fraction(i, 7)))),
    "truncated means": lambda: several(
        endless(lambda i: single(Mean("a", (0, 1 + i)), epsilon=1 + Fraction(i, 7), bounding="truncated"))
    ),
    "deviations": lambda: several(endless(deviating)),
    "truncated deviations": lambda: several(
        endless(lambda i: single(StandardDeviation("a", (0, 1 + i)), epsilon=1 + Fraction(i, 7), bounding="truncated"))
    ),
    "bounds of 400 characters": lambda: several(
        endless(lambda i: single(Sum("a", (0, long_fraction(i, 190)), "0"), bounding="truncated"))
    ),
    "epsilons of 400 characters": lambda: several(
        endless(lambda i: single(Mean("a", (0, 1)), epsilon=long_fraction(i, 190)))
    ),
    "truncated, epsilons of 400 characters": lambda: several(
        endless(lambda i: single(Mean("a", (0, 1)), epsilon=long_fraction(i, 190), bounding="truncated"))
    ),
    "long epsilons that are paid": lambda: several(
        endless(lambda i: single(Count("a", level="b"), epsilon=long_fraction(i, 190))), paid=True
    ),
    # Not honest: refused.
    "certificates with long epsilons": lambda: edited(
        matrix(12, method="split"),
        certificate={
            "epsilon": "1",
            "parts": [{"epsilon": f"{10**999 + i}/{10**999 + 2 * i + 3}"} for i in range(450)],
        },
    ),
    "40,000 columns": lambda: asked({"name": "covariance", "bounds": {f"{i}": ["0", "1"] for i in range(40_000)}}),
    "bounds of 1000 digits": lambda: asked(
        {"name": "covariance", "bounds": {f"{i}": ["0", f"{10**990 + i}/{10**989 + 1}"] for i in range(200)}}
    ),
    "bounds of 400 digits": lambda: asked(
        {"name": "covariance", "bounds": {f"{i}": ["0", f"{10**190 + i}/{10**189 + 1}"] for i in range(200)}}
    ),
    "10^120 cells": lambda: asked({"name": "crosstab", "levels": {f"{i}": list(range(1000)) for i in range(40)}}),
    "10^20000 cells": lambda: asked({"name": "crosstab", "levels": {f"{i:x}": list(range(10)) for i in range(20_000)}}),
    "many numbers of 1000 digits": lambda: edited(
        single(Histogram("a", levels=hexadecimal(450), repair="project")), noisy=[str(10**999 + i) for i in range(450)]
    ),
    "deep lists": lambda: "[" * 900_000,
    "a deep tree": lambda: asked(
        {
            "name": "proportions",
            "column": "a",
            "levels": ["a", "b"],
            "repair": "tree",
            "tree": [nested(["a"], 800), "b"],
        }
    ),
    "a wide tree": lambda: asked(
        {"name": "proportions", "column": "a", "levels": ["a"], "repair": "tree", "tree": nested(["a"] * 240_000, 48)}
    ),
    "a tree of its levels": lambda: asked(
        {
            "name": "proportions",
            "column": "a",
            "levels": hexadecimal(60_000),
            "repair": "tree",
            "tree": nested(hexadecimal(60_000), 48),
        }
    ),
    "forty tables of 10^7 cells": lambda: tables(40),
    "levels without numbers": lambda: asked({"name": "histogram", "column": "a", "levels": hexadecimal(120_000)}, 0),
    "intervals without numbers": lambda: asked(
        {"name": "histogram", "column": "a", "edges": [str(i) for i in range(110_000)]}, 0
    ),
    "edges that are no numbers": lambda: asked({"name": "histogram", "column": "a", "edges": ["x"] * 240_000}),
    "edges with exponents": lambda: asked(
        {"name": "histogram", "column": "a", "edges": [f"{i}e-999" for i in range(60_000)]}
    ),
    "rows of 4000 digits": lambda: asked({"name": "mean", "column": "a", "bounds": ["0", "1"]}, rows=10**4000),
    "contributions of 4000 digits": lambda: asked(
        {"name": "histogram", "column": "a", "levels": ["a"]}, contributions=10**4000
    ),
    "an epsilon of 10^999": lambda: asked({"name": "sum", "column": "a", "bounds": ["0", "1"]}, epsilon="1e999"),
    "an epsilon of 10^-999": lambda: asked({"name": "variance", "column": "a", "bounds": ["0", "1"]}, epsilon="1e-999"),
    "unknown fields of a statistic": lambda: asked({"name": "mean"} | {f"{i:x}": 1 for i in range(80_000)}),
    "a name of 1 MB": lambda: compact({**json.loads(one(single(Mean("a", (0, 1))))), "releases": {"a" * 990_000: 1}}),
    "releases that are none": lambda: compact(
        {**json.loads(one(single(Mean("a", (0, 1))))), "releases": {f"{i:x}": {} for i in range(90_000)}}
    ),
    "values that are many": lambda: edited(single(Mean("a", (0, 1))), value=[0] * 400_000),
}

_READ = """
import json, sys, time
from pathlib import Path
from inbounds.plan.release import Releases
text = Path(sys.argv[1]).read_text()
start = time.process_time()
try:
    Releases.from_json(text)
    what = "read"
except ValueError as error:
    what = "refused: " + str(error)[:60]
seconds = time.process_time() - start
# Not ru_maxrss, which begins at the size of the process that started this one.
peak = next(int(x.split()[1]) for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM"))
print(json.dumps([what, seconds, peak / 1024]))
"""


def measure(text: str) -> tuple[str, float, float]:
    """What became of a file, seconds of the processor and the peak of memory in MB."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        order, alone = [sys.executable, "-c", _READ, file.name], os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(order, capture_output=True, text=True, check=True, env=alone)
    what, seconds, megabytes = json.loads(done.stdout.splitlines()[-1])
    return what, seconds, megabytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(FILES)}")
    for name in parser.parse_args().names or FILES:
        text = FILES[name]()
        what, seconds, megabytes = measure(text)
        over = "  over" if seconds > SECONDS or megabytes > MEGABYTES or len(text) > LARGEST else ""
        print(f"{name:44s} {len(text):9,d} B {seconds:7.2f} s {megabytes:6.0f} MB  {what}{over}", flush=True)


if __name__ == "__main__":
    main()

"""What auditors written by others say of our mechanisms, and of mechanisms that are known to leak.

`StatDP <https://arxiv.org/abs/1805.10277>`_ looks for a counterexample: a small p-value means that the claimed ε is
broken. dp-recorder runs a release on two neighbouring tables with the same noise, and compares what was drawn from with
what was declared. Neither is on PyPI and neither is part of this project: fetch them yourself and say where they are.

    make auditors STATDP=path/to/statdp RECORDER=path/to/dp-recorder
"""

import sys
from pathlib import Path

# As a script its own folder would hide the standard library's `statistics`.
sys.path[0] = str(Path(__file__).parents[1])

import argparse
import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

import inbounds as ib
from inbounds.audit.sources import build_shipped
from inbounds.grid.law import GridMechanism
from inbounds.grid.polyhedral import Norm, polyhedral
from inbounds.privacy.certificate import Certificate
from inbounds.privacy.norms import make_norm
from inbounds.road import draw

CLAIM, ROWS, BLOCK = 1, 100, 20_000
# Below this a claim counts as broken. StatDP's p-value of a true claim is about uniform.
LEVEL = 0.001
SHIPPED = ("Laplace, bit", "Laplace, truncated", "staircase, bit", "zero-sum, 4 cells")
# The scale δ/ε for truncated noise, which loses up to 2ε; half of the noise; and the sensitivity of a half.
LEAKING = ("truncated at the paper's scale", "half the noise")


def draw_leaking(name: str, at: int, size: int) -> np.ndarray:
    """Draw at a neighbouring count from a mechanism that breaks its claim."""
    rng = np.random.default_rng()
    scale = 1 / (ROWS * CLAIM)
    if name == LEAKING[1]:
        return np.clip(at / ROWS + rng.laplace(0, scale / 2, size), 0, 1)
    law = ib.Mechanism(ib.Laplace(scale), "truncated", bounds=(0, 1))
    return law.sample(at / ROWS, size, rng=rng)


@cache
def _source(name: str, at: int) -> Iterator[float]:
    """Draws one by one, made in blocks: StatDP asks for one at a time."""

    def draws() -> Iterator[float]:
        while True:
            if name in LEAKING:
                yield from draw_leaking(name, at, BLOCK).tolist()
            else:
                yield from build_shipped(ROWS, Fraction(CLAIM))[name][at](BLOCK).tolist()

    return draws()


def algorithm(prng: object, queries: list[int], epsilon: float, name: str) -> np.float64:  # noqa: ARG001
    """A mechanism as StatDP calls it. The database is the true count, 0 or 1."""
    return np.float64(next(_source(name, queries[0])))


def run_statdp(folder: Path, claims: tuple[float, ...], draws: int) -> list[dict[str, object]]:
    """The p-values of every mechanism at every claim."""
    sys.path.insert(0, str(folder))
    from statdp import detect_counterexample

    found: list[dict[str, object]] = []
    for name in (*SHIPPED, *LEAKING):
        started = time.process_time()
        results = detect_counterexample(
            algorithm,
            claims,
            {"epsilon": CLAIM, "name": name},
            databases=([0], [1]),
            event_iterations=draws // 5,
            detect_iterations=draws,
            cores=1,
            quiet=True,
            loglevel=30,
        )
        values = {str(claim): round(p, 5) for claim, p, *_ in results}
        broken = [claim for claim, p in values.items() if p < LEVEL]
        found.append({"auditor": "StatDP", "mechanism": name, "p": values, "rejected": broken})
        print(f"StatDP       {name:32} {values}  {time.process_time() - started:.0f} s", flush=True)
    return found


# Neighbouring tables and what is released of them: one record goes from one end of its bounds to the other.
Call = tuple[Callable[[list[float]], ib.Release | ib.Releases], list[float], list[float]]
LOW, HIGH = [0.0] * 500, [0.0] * 499 + [1.0]
PLAN = ib.Plan.of(
    {
        "data": {"rows": 500},
        "budget": {"epsilon": CLAIM},
        "columns": {name: {"bounds": [0, 1]} for name in "abc"},
        "release": [{"name": name, "statistic": "mean", "columns": [name]} for name in "abc"],
    }
)
CALLS: dict[str, Call] = {
    "mean": (lambda x: ib.mean(x, bounds=(0, 1), epsilon=CLAIM), [0.0] * 50, [0.0] * 49 + [1.0]),
    "mean, truncated": (
        lambda x: ib.mean(x, bounds=(0, 1), epsilon=CLAIM, bounding="truncated"),
        [0.0] * 50,
        [0.0] * 49 + [1.0],
    ),
    "count": (lambda x: ib.count(x, level=1, epsilon=CLAIM), [0] * 50, [0] * 49 + [1]),
    "variance": (
        lambda x: ib.variance(x, bounds=(0, 1), epsilon=CLAIM, method="direct"),
        [0.0] * 50,
        [0.0] * 49 + [1.0],
    ),
    "mean with its square": (lambda x: ib.mean(x, bounds=(0, 1), epsilon=CLAIM), LOW, HIGH),
    "moments of two columns": (
        lambda x: ib.moments({"a": x, "b": x}, bounds={"a": (0, 1), "b": (0, 1)}, epsilon=CLAIM),
        LOW,
        HIGH,
    ),
    "plan of three means": (lambda x: ib.release(PLAN, dict.fromkeys("abc", x)), LOW, HIGH),
}

# A release that leaks whatever noise is added, since what is public of it follows the table.
LEAKING_CALLS: dict[str, Call] = {
    "mean, bounds from the table": (
        lambda x: ib.mean(x, bounds=(0, 1 + max(x)), epsilon=CLAIM),
        [0.0] * 50,
        [0.0] * 49 + [1.0],
    ),
}


@contextlib.contextmanager
def recorded(short_by: int) -> Iterator[None]:
    """Every draw of a number or a vector goes through dp-recorder, with the declared move less ``short_by`` steps.

    The move of a vector has up to two steps for rounding beyond what these tables move it by.
    """
    from dp_recorder.auditing.audit_primitives import audit_spec
    from dp_recorder.auditing.metrics import dist_linf

    @audit_spec(kind="draw", input_arg="at", sensitivity_arg="move", metric_fn=dist_linf)
    def noisy(at: int, move: int, law: GridMechanism) -> int:  # noqa: ARG001
        return law.draw(at, draw.entropy_source())

    def draw_single(number: Fraction, certificate: Certificate, *, squared: bool = False) -> Fraction:
        assert not squared
        law = certificate.mechanism
        return law.value(noisy(at=law.locate(number), move=certificate.move - short_by, law=law))

    def draw_joint(vectors: Sequence[Sequence[Fraction]], certificate: Certificate) -> tuple[Fraction, ...]:
        (vector,) = vectors
        law = certificate.grid
        norm = make_norm(certificate.blocks) if certificate.blocks else Norm(len(vector))

        def measure(one: Sequence[int], other: Sequence[int]) -> int:
            return norm.measure([a - b for a, b in zip(one, other, strict=True)])

        @audit_spec(kind="draw", input_arg="at", sensitivity_arg="move", metric_fn=measure)
        def noisy(at: tuple[int, ...], move: int, law: GridMechanism, norm: Norm) -> tuple[int, ...]:  # noqa: ARG001
            noise = polyhedral(law.scale, norm, draw.entropy_source())
            return tuple(k + int(z) for k, z in zip(at, noise, strict=True))

        at, move = tuple(map(law.locate, vector)), certificate.move - 3 * short_by
        return tuple(map(law.value, noisy(at=at, move=move, law=law, norm=norm)))

    before = draw.draw_single, draw.draw_joint
    draw.draw_single, draw.draw_joint = draw_single, draw_joint
    try:
        yield
    finally:
        draw.draw_single, draw.draw_joint = before


def run_recorder(folder: Path) -> list[dict[str, object]]:
    """What replaying a release on a neighbour shows, at the declared sensitivity and at a little less."""
    sys.path.insert(0, str(folder / "src"))
    from dp_recorder.auditing.audit_primitives import Auditor, ensure_equality

    found: list[dict[str, object]] = []
    for name, (release, one, other) in (CALLS | LEAKING_CALLS).items():
        said = {}
        labels = ((0, "as declared"), (1, "less"))
        for short_by, label in labels[:1] if name in LEAKING_CALLS else labels:
            auditor = Auditor()
            try:
                for phase, table in enumerate((one, other)):
                    if phase:
                        auditor.set_replay()
                    with auditor, recorded(short_by):
                        made = release(table)
                        ensure_equality(record=made.to_json())
                auditor.validate_records()
                said[label] = "passed"
            except AssertionError as error:
                said[label] = "rejected: " + str(error).splitlines()[0]
        found.append({"auditor": "dp-recorder", "mechanism": name, "said": said})
        print(f"dp-recorder  {name:32} {said}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statdp", type=Path, help="a checkout of StatDP")
    parser.add_argument("--recorder", type=Path, help="a checkout of dp-recorder")
    parser.add_argument("--draws", type=int, default=400_000, help="draws of each mechanism at each claim")
    parser.add_argument("--out", type=Path, help="where to write what was found, as JSON")
    given = parser.parse_args()
    if given.statdp is None and given.recorder is None:
        parser.error("name at least one checkout: --statdp, --recorder")
    found = [] if given.statdp is None else run_statdp(given.statdp, (0.8, 1.0, 1.2), given.draws)
    found += [] if given.recorder is None else run_recorder(given.recorder)
    if given.out is not None:
        given.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()

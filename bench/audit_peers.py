"""The granularity audit on other libraries' bounded Laplace mechanisms, beside ours.

    python bench/audit_peers.py [--draws 40000]

A proportion of n = 100 records, ε = 1, at 0 and at 1/100. Run by `make bench` in the environment of the peers.
"""

import sys
from pathlib import Path

# As a script its own folder would hide the standard library's `statistics`.
sys.path[0] = str(Path(__file__).parents[1])

import argparse
import importlib.util
from fractions import Fraction
from functools import partial

import numpy as np

from inbounds.audit.events import audit
from inbounds.audit.sources import build_leaking, build_shipped

N, EPSILON = 100, 1


def diffprivlib_sources():
    from diffprivlib.mechanisms import Laplace, LaplaceBoundedDomain, LaplaceTruncated

    keywords = {"epsilon": EPSILON, "sensitivity": 1 / N}
    bounded = keywords | {"lower": 0, "upper": 1}
    mechanisms = {
        "diffprivlib Laplace": Laplace(**keywords),
        "diffprivlib clamp": LaplaceTruncated(**bounded),
        "diffprivlib truncation": LaplaceBoundedDomain(**bounded),
    }

    def draws(mechanism, at, count):
        return np.array([mechanism.randomise(at) for _ in range(count)])

    return {name: (partial(draws, m, 0.0), partial(draws, m, 1 / N)) for name, m in mechanisms.items()}


def opendp_sources():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    noise = dp.m.make_laplace(*space, scale=1 / (N * EPSILON))

    def clamped(at, count):
        return np.clip(np.array(noise([at] * count)), 0, 1)

    return {"OpenDP Laplace, clamped": (partial(clamped, 0.0), partial(clamped, 1 / N))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=40_000)
    options = parser.parse_args()
    sources = build_shipped(N, Fraction(EPSILON)) | build_leaking(N, EPSILON)
    for library, make in (("diffprivlib", diffprivlib_sources), ("opendp", opendp_sources)):
        if importlib.util.find_spec(library):
            sources |= make()
        else:
            print(f"{library} is not installed here")
    print(f"{'mechanism':26s} {'claimed ε':>9s} {'certified ε ≥':>13s}  event")
    for name, pair in sources.items():
        finding = audit(*pair, draws=options.draws)
        print(f"{name:26s} {EPSILON:9.3f} {finding.epsilon:13.3f}  {finding.event}")


if __name__ == "__main__":
    main()

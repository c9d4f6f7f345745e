"""Moments of records and the norm of their noise once more, without the library.

Forms are typed here as a reader would write them, their ranges are found on a fine grid, and noise is drawn by
rejection in double precision. `inbounds.privacy.forms`, `inbounds.grid.polyhedral` and `inbounds.laws.vectors` are held
against it.
"""

import re
from functools import cache
from itertools import combinations_with_replacement, permutations, product

import numpy as np

POLYNOMIALS = (
    "u1 + u1u1",
    "2u1 + u1u1",
    "u1 + u2 + u1u2",
    "u1 + u2 + u1u1 - u1u2",
    "u1 + u2 + u1u1 - u1u2 + u2u2",
    "2u1 + 2u2 + u1u1 + 2u1u2 + u2u2",
    "u1u1 + u1u2",
    "u1u1 + u1u2 - u2u2",
    "u1u1 + 2u1u2 + u2u2",
    "u1u1 + 2u1u2 - u2u2",
    "2u1u1 + 2u1u2 - u2u2",
    "u1u2 + u1u3 + u2u3",
    "u1u1 + u1u2 + u1u3 - u2u3",
    "u1u1 + u1u2 + u1u3 + u2u2 - u2u3",
    "u1u1 + u1u2 + u1u3 + u2u2 - u2u3 + u3u3",
)
# Columns up to which forms are used: without a count, and with one.
MOST = {False: 6, True: 5}


def terms(text):
    """A polynomial as pairs of a coefficient and the columns of its product."""
    found = re.findall(r"([+-]?) ?(\d*)((?:u\d)+)", text)
    made = [(int(f"{sign}{number or 1}"), tuple(int(c) - 1 for c in name[1::2])) for sign, number, name in found]
    assert made
    return made


@cache
def extremes(text, parts=24):
    """The least and the largest value on a grid of so many parts of [-1, 1] in each column: never beyond the true."""
    made = terms(text)
    columns = 1 + max(c for _, names in made for c in names)
    axes = np.meshgrid(*[np.linspace(-1, 1, parts + 1)] * columns)
    values = sum(k * np.prod([axes[c] for c in names], axis=0) for k, names in made)
    return float(values.min()), float(values.max())


def pairs(columns):
    return list(combinations_with_replacement(range(columns), 2))


def moments_of(u, *, counted):
    """What records with u in [-1, 1] (rows of an array) add to the released sums; each a row."""
    u = np.atleast_2d(u)
    products = [2 * u[:, i] ** 2 - 1 if i == j else u[:, i] * u[:, j] for i, j in pairs(u.shape[1])]
    made = np.column_stack([u, *products])
    return np.column_stack([np.ones(len(u)), made]) if counted else made / 2


@cache
def forms(columns, counted):
    """A matrix A with N(z) = max |A z|: each number by itself, and every polynomial of any columns and signs."""
    place = {pair: columns + i for i, pair in enumerate(pairs(columns))}
    size = columns + len(place)
    rows = {tuple(row) for row in np.eye(size + counted)}
    for text in POLYNOMIALS if columns <= MOST[counted] else ():
        made, (low, high) = terms(text), extremes(text)
        used = 1 + max(c for _, names in made for c in names)
        if used > columns:
            continue
        for order, signs in product(permutations(range(columns), used), product((1, -1), repeat=used)):
            row, of_count = np.zeros(size), 0.0
            for k, names in made:
                sign = np.prod([signs[c] for c in names])
                where = sorted(order[c] for c in names)
                if len(names) == 1:
                    row[where[0]] += k * sign
                elif where[0] == where[1]:
                    # Σu² is half of Σ(2u² - 1) and the count.
                    row[place[tuple(where)]] += k / 2
                    of_count += k / 2
                else:
                    row[place[tuple(where)]] += k * sign
            if counted:
                full = np.array([of_count - (low + high) / 2, *row]) / ((high - low) / 2)
            else:
                # In halves: the sums move by twice the numbers.
                full = 2 * row / (high - low)
            if tuple(-full) not in rows:
                rows.add(tuple(full))
    return np.array(sorted(rows))


def norm(z, columns, *, counted):
    """N of each row."""
    return np.abs(np.atleast_2d(z) @ forms(columns, counted).T).max(axis=1)


def noise(columns, scale, rng, draws, *, counted=False):
    """Noise with density ∝ e^(-N(z)/scale): a gamma radius times a point of the ball, kept from points of the cube."""
    dimension = columns + len(pairs(columns)) + counted
    kept = []
    while sum(map(len, kept)) < draws:
        points = rng.uniform(-1, 1, (50_000, dimension))
        kept.append(points[norm(points, columns, counted=counted) <= 1])
    return rng.gamma(dimension + 1, scale, (draws, 1)) * np.concatenate(kept)[:draws]


def sums_of(values, bounds, *, counted=False):
    """Exact sums of a table's columns (rows of an array) within their bounds, as they are released without noise."""
    u = np.array([(x - (a + b) / 2) / ((b - a) / 2) for x, (a, b) in zip(values, bounds, strict=True)]).clip(-1, 1)
    return moments_of(u.T, counted=counted).sum(axis=0)


def tables_of(noisy, bounds, rows):
    """Means, and below them covariances, of noisy sums of a public number of records: a table for each draw."""
    noisy, size = 2 * np.atleast_2d(noisy), len(bounds)
    middle, half = np.array([(a + b) / 2 for a, b in bounds]), np.array([(b - a) / 2 for a, b in bounds])
    means = (noisy[:, :size] / rows).clip(-1, 1)
    made = np.empty((len(noisy), size + 1, size))
    made[:, 0] = middle + half * means
    for place, (i, j) in enumerate(pairs(size)):
        second = noisy[:, size + place] / rows
        second = ((second + 1) / 2 if i == j else second).clip(-1, 1)
        found = (second - means[:, i] * means[:, j]) * half[i] * half[j] * rows / (rows - 1)
        largest = 4 * half[i] * half[j] * (rows * rows // 4) / (rows * (rows - 1))
        made[:, 1 + i, j] = made[:, 1 + j, i] = found.clip(0 if i == j else -largest, largest)
    return made

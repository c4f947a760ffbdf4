"""Projection of long vectors onto vectors of a given sparseness."""

from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, Target, at_most

LEVEL = 0.8


class Vectors(NamedTuple):
    """Rows to be projected to unit length and sparseness 0.8."""

    X: np.ndarray


def work(size, rng):
    """Gaussian rows, or exponential ones, whose largest entries stand out more."""
    rows, n, kind = size
    draw = rng.normal if kind == "normal" else rng.exponential
    return Vectors(draw(size=(rows, n)))


def quality(vectors, S):
    """Errors of sparseness and length, and the distance."""
    n = S.shape[1]
    ratio = np.abs(S).sum(axis=1) / np.sqrt((S * S).sum(axis=1))
    level = (np.sqrt(n) - ratio) / (np.sqrt(n) - 1)
    return {
        "sparseness off": float(np.abs(level - LEVEL).max()),
        "negative": int((S < 0).sum()),
        "distance": float(np.linalg.norm(S - vectors.X) / np.linalg.norm(vectors.X)),
    }


def ours(vectors):
    from skmoderndata._solvers.common.projections import project_sparseness

    return project_sparseness(vectors.X, LEVEL, norm=1.0)


def sorting(vectors):
    """Closed form on each support, found by bisection on the sorted entries, in numpy."""
    out = np.empty_like(vectors.X)
    n = vectors.X.shape[1]
    ratio = np.sqrt(n) - LEVEL * (np.sqrt(n) - 1)
    for i, x in enumerate(vectors.X):
        # compute sums over the largest entries
        z = np.sort(x - x.max())[::-1]
        first = np.cumsum(z)
        second = np.cumsum(z * z)

        # find the number of non-zero entries by bisection
        low = int(ratio**2) + 1
        high = n
        while low < high:
            middle = (low + high) // 2
            t = z[middle]
            s1 = first[middle - 1] - middle * t
            s2 = second[middle - 1] - 2 * t * first[middle - 1] + middle * t * t
            low, high = (low, middle) if s1 * s1 >= ratio**2 * s2 else (middle + 1, high)

        # compute the root for this support
        mean = first[low - 1] / low
        spread = ((z[:low] - mean) ** 2).sum()
        tau = mean - ratio * np.sqrt(spread / (low * (low - ratio**2)))
        u = np.maximum(x - x.max() - tau, 0)
        out[i] = u / np.linalg.norm(u)
    return out


def hoyer(vectors):
    """Hoyer's alternating projection [2004, section 3.2], in numpy."""
    out = np.empty_like(vectors.X)
    n = vectors.X.shape[1]
    mass = np.sqrt(n) - LEVEL * (np.sqrt(n) - 1)
    for i, x in enumerate(vectors.X):
        # project onto the plane of the sum
        s = x + (mass - x.sum()) / n
        zero = np.zeros(n, bool)
        while True:
            # move from the centre of the plane to the sphere
            middle = np.where(zero, 0.0, mass / (n - zero.sum()))
            d = s - middle
            a = d @ d
            b = 2 * middle @ d
            c = middle @ middle - 1
            s = middle + (-b + np.sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a) * d

            if (s >= 0).all():
                break

            # entries that have become negative remain zero
            zero |= s < 0
            s[zero] = 0
            s = np.where(zero, 0.0, s + (mass - s.sum()) / (n - zero.sum()))
        out[i] = s
    return out


def _within(label, limit, rows_in_it):
    def check(rows):
        times = [
            min(row.seconds) / rows_in_it
            for row in rows
            if row.contender == "project_sparseness" and row.size == label and row.seconds
        ]
        if not times:
            return None, "not measured"
        return times[0] <= limit, f"{1e3 * times[0]:.2g} ms"

    return Target(
        text=f"a row of 100,000 entries takes at most {1e3 * limit:.0f} ms", check=check
    )


SIZES = {
    "1000 rows of 64": (1000, 64, "normal"),
    "100 rows of 10,000": (100, 10_000, "normal"),
    "10 rows of 100,000": (10, 100_000, "normal"),
    "10 rows of 100,000, exponential": (10, 100_000, "exponential"),
    "1 row of 1,000,000": (1, 1_000_000, "normal"),
}

CASE = Case(
    title="Projection onto a given sparseness",
    question=(
        "How long does it take to find the nearest non-negative vector of sparseness 0.8?"
    ),
    remarks=(
        "We found no package on PyPI that projects onto given l1 and l2 norms at the same time, "
        "so the two other contenders are implemented in this benchmark, in numpy. All contenders "
        "run in one thread."
    ),
    ours="project_sparseness",
    sizes=SIZES,
    quick_sizes={"100 rows of 64": (100, 64, "normal")},
    warmup=(3, 10, "normal"),
    work=work,
    contenders={
        "project_sparseness": Contender(
            run=ours, peer=False, note="drops entries in several passes; compiled by numba"
        ),
        "sorting": Contender(
            run=sorting,
            peer=False,
            note="sorts the entries and finds the threshold by bisection, in numpy",
        ),
        "Hoyer's alternation": Contender(
            run=hoyer,
            peer=False,
            note="follows the printed algorithm of the paper, in numpy",
        ),
    },
    quality=quality,
    figures={
        "sparseness off": (
            "largest difference between the requested and the achieved sparseness"
        ),
        "negative": "number of negative entries",
        "distance": "relative distance to the original rows",
    },
    targets=(
        at_most("sparseness accurate to 1e-12", "project_sparseness", "sparseness off", 1e-12),
        _within("10 rows of 100,000", 5e-3, 10),
    ),
)

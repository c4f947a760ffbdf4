"""Permutation test of canonical pairs."""

from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, at_most, none_faster

N_PERMUTATIONS = 999
# Number of pairs tested.
N_PAIRS = 3
LEVEL = 0.05


class Views(NamedTuple):
    """Two views of the same samples, and the number of planted pairs."""

    X: np.ndarray
    Y: np.ndarray
    n_planted: int


def work(size, rng):
    n, p, q, n_planted, rho = size
    X = rng.normal(size=(n, p))
    Y = rng.normal(size=(n, q))
    Y[:, :n_planted] = rho * X[:, :n_planted] + np.sqrt(1 - rho**2) * Y[:, :n_planted]
    return Views(X @ rng.normal(size=(p, p)), Y @ rng.normal(size=(q, q)), n_planted)


def quality(views, p_values):
    """P-value of the first pair, and the number of pairs found minus the number planted."""
    significant = np.asarray(p_values) <= LEVEL
    n_pairs = len(significant) if significant.all() else int(significant.argmin())
    return {"first": float(p_values[0]), "wrong": abs(n_pairs - views.n_planted)}


def ours(views):
    from skmoderndata.cross_decomposition import RegularizedCCA
    from skmoderndata.model_selection import canonical_permutation_test

    test = canonical_permutation_test(
        RegularizedCCA(N_PAIRS, alpha=0),
        views.X,
        views.Y,
        n_permutations=N_PERMUTATIONS,
        random_state=0,
    )
    return test.p_values


def cca_zoo(views):
    from cca_zoo.linear import CCA
    from cca_zoo.model_selection import permutation_test_significance

    test = permutation_test_significance(
        CCA(N_PAIRS), [views.X, views.Y], n_permutations=N_PERMUTATIONS, random_state=0
    )
    return test.p_values


CASE = Case(
    title="Permutation test of canonical pairs",
    question=(
        f"How long do {N_PERMUTATIONS} permutations of a canonical correlation analysis take, "
        "and how many pairs does the test find?"
    ),
    remarks=(
        "Neither contender uses a penalty. cca-zoo refits the model for each permutation and "
        "compares correlations by rank; its documentation says that only the first p-value "
        "is valid. `canonical_permutation_test` removes the earlier pairs first, as in "
        "Winkler and others (2020), and works on whitened views. To see how often each of "
        "these tests is right, run `python -m benchmarks.canonical_pairs power`."
    ),
    ours="canonical_permutation_test",
    sizes={
        "100 x (8 + 6), two pairs": (100, 8, 6, 2, 0.7),
        "100 x (8 + 6), none": (100, 8, 6, 0, 0.0),
        "500 x (30 + 20), weak pair": (500, 30, 20, 1, 0.45),
        "3000 x (30 + 20), two pairs": (3000, 30, 20, 2, 0.5),
        "16,000 x (30 + 20), two pairs": (16_000, 30, 20, 2, 0.3),
    },
    quick_sizes={"100 x (8 + 6), two pairs": (100, 8, 6, 2, 0.7)},
    warmup=(100, 8, 6, 2, 0.7),
    work=work,
    contenders={
        "canonical_permutation_test": Contender(
            run=ours, peer=False, note="`RegularizedCCA(3, alpha=0)`"
        ),
        "cca-zoo": Contender(
            run=cca_zoo,
            requires="cca-zoo>=4.0.1",
            note="`permutation_test_significance` of `CCA`",
        ),
    },
    quality=quality,
    figures={
        "first": "p-value of the first pair",
        "wrong": "number of pairs that the test finds in excess or misses, at the level .05",
    },
    targets=(
        at_most(
            "the planted number of pairs is found", "canonical_permutation_test", "wrong", 0
        ),
        none_faster("no peer is faster", qualifies=lambda row: True),
    ),
    repeat=3,
)

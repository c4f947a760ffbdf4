"""Access rights from overlapping roles, with exceptions of both kinds."""

from types import SimpleNamespace

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.compare.home import Case, Home
from skmoderndata.cluster import MultiAssignmentClustering


def make(seed, unused=0.4, n=300, n_roles=8):
    """Users with one to four roles of unequal popularity; random exceptions."""
    rng = np.random.default_rng(seed)
    roles = rng.uniform(size=(n_roles, 60)) < 0.25
    popularity = np.geomspace(1, 4, n_roles)
    users = np.zeros((n, n_roles), dtype=bool)
    for user in users:
        size = rng.integers(1, 5)
        user[rng.choice(n_roles, size, replace=False, p=popularity / popularity.sum())] = True
    granted = users.astype(int) @ roles > 0
    is_used = rng.uniform(size=granted.shape) >= unused
    is_exception = rng.uniform(size=granted.shape) < 0.05
    X = (granted & is_used) | is_exception
    return Case(
        given=SimpleNamespace(X=X, n_clusters=n_roles),
        truth=roles,
        about=f"{n} users, 60 rights, {n_roles} roles that share rights, one to four a user; "
        f"{unused:.0%} of the rights were never used, 5% of the others are exceptions",
    )


def ours(given):
    model = MultiAssignmentClustering(given.n_clusters, max_assignments=4, random_state=0)
    return model.fit(given.X).components_


def score(case, roles):
    """Fraction of the planted roles that are found, right for right."""
    wrong = np.mean(case.truth[:, None] != np.asarray(roles, dtype=bool)[None], axis=2)
    rows, columns = linear_sum_assignment(wrong)
    return np.sum(wrong[rows, columns] == 0) / len(case.truth)


HOME = Home(
    when="rows combine overlapping groups of features, with exceptions of both kinds",
    title="roles behind access rights with exceptions",
    kind="Boolean tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="fraction of the planted roles that are found, right for right",
    n_rounds=8,
    gain="{ours:.0%} of the planted roles are found to the last right, {rival:.0%} with {name}.",
    lines=(
        "model = MultiAssignmentClustering(n_clusters, max_assignments=4).fit(X)\n"
        "model.components_  # rights of each role\n"
        "model.transform(X)  # roles of each user"
    ),
    levels={"unused": (0.1, 0.2, 0.3, 0.5), "n": (150, 1000), "n_roles": (5, 12)},
)

"""Access rights from overlapping roles, with extra and forgotten rights."""

from types import SimpleNamespace

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.compare.home import Case, Home
from skmoderndata.cluster import MultiAssignmentClustering


def make(seed, noise=0.35, n=300, n_roles=8):
    """Each user has each role with probability one half; noise replaces rights by coin tosses."""
    rng = np.random.default_rng(seed)
    roles = rng.uniform(size=(n_roles, 60)) < 0.2
    users = rng.uniform(size=(n, n_roles)) < 0.5
    granted = users.astype(int) @ roles > 0
    is_noise = rng.uniform(size=granted.shape) < noise
    X = np.where(is_noise, rng.uniform(size=granted.shape) < 0.5, granted)
    return Case(
        inputs=SimpleNamespace(X=X, n_clusters=n_roles),
        truth=roles,
        about=f"{n} users, 60 rights, {n_roles} roles that share rights; each user has about "
        f"half of them; {noise / 2:.1%} of the rights are exceptions",
    )


def ours(inputs):
    model = MultiAssignmentClustering(
        inputs.n_clusters, max_assignments=inputs.n_clusters, random_state=0
    )
    return model.fit(inputs.X).components_


def score(case, roles):
    """Fraction of the planted roles that are recovered exactly."""
    wrong = np.mean(case.truth[:, None] != np.asarray(roles, dtype=bool)[None], axis=2)
    rows, columns = linear_sum_assignment(wrong)
    return np.sum(wrong[rows, columns] == 0) / len(case.truth)


HOME = Home(
    when="rows combine many overlapping groups of features, with false positives and false "
    "negatives",
    title="roles behind access rights with exceptions",
    kind="Boolean tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="fraction of the planted roles that are recovered exactly",
    n_rounds=32,
    first_seed=200,
    short_rounds=16,
    gain="Recovers {ours:.0%} of the planted roles exactly; {name} recovers {rival:.0%}.",
    lines=(
        "model = MultiAssignmentClustering(n_clusters, max_assignments=8).fit(X)\n"
        "model.components_  # rights of each role\n"
        "model.transform(X)  # roles of each user"
    ),
    levels={"noise": (0.2, 0.5), "n": (150, 600)},
)

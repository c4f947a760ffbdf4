"""Access rights without exceptions: which roles are behind them?"""

from types import SimpleNamespace

import numpy as np

from benchmarks.compare.home import Case, Home
from skmoderndata.cluster import RoleMiner


def make(seed, n=300, n_roles=25, missing=0.0):
    """Roles of 4 to 24 rights, some of which contain others; one to four roles a user."""
    rng = np.random.default_rng(seed)
    density = np.exp(rng.uniform(np.log(0.05), np.log(0.3), (n_roles, 1)))
    roles = rng.uniform(size=(n_roles, 80)) < density
    roles[1 : n_roles // 2 : 2] |= roles[0 : n_roles // 2 - 1 : 2]
    popularity = 0.2 + rng.exponential(size=n_roles)
    users = np.zeros((n, n_roles), dtype=bool)
    for user in users:
        size = rng.integers(1, 5)
        user[rng.choice(n_roles, size, replace=False, p=popularity / popularity.sum())] = True
    X = users.astype(int) @ roles > 0
    X &= rng.uniform(size=X.shape) >= missing
    return Case(
        given=SimpleNamespace(X=X, n_clusters=n_roles),
        truth=(X, roles),
        about=f"{n} users, 80 rights, {n_roles} roles, some of which contain others, one to four "
        "a user",
    )


def ours(given):
    return RoleMiner(given.n_clusters).fit(given.X).components_


def score(case, roles):
    """Fraction of the rights that come from roles of which a user has all rights."""
    X, _ = case.truth
    roles = np.asarray(roles, dtype=int)
    has = (~X).astype(int) @ roles.T == 0
    return np.sum(has.astype(int) @ roles > 0) / np.sum(X)


HOME = Home(
    when="roles are to explain rights, and nobody may get more than he has",
    title="roles behind access rights without exceptions",
    kind="Boolean tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="fraction of the rights that the roles grant, without granting others",
    by_time=True,
    margin=0.002,
    gain="The roles grant {ours:.0%} of the rights and nothing else after {our_seconds:.2g} s, "
    "{rival:.0%} with {name} after {rival_seconds:.2g} s.",
    lines="model = RoleMiner(n_clusters).fit(X)\nmodel.components_\nmodel.transform(X)",
    levels={"n": (100, 1000), "n_roles": (10, 40), "missing": (0.01, 0.05)},
)

"""Fewer exact equations than unknowns: the solution of minimum l1 norm."""

from types import SimpleNamespace

import numpy as np

from benchmarks.compare.home import Case, Home
from skmoderndata.linear_model import BasisPursuit


def make(seed, n=300, p=900, n_nonzero=72):
    """Random equations; the non-zero unknowns are of similar size."""
    rng = np.random.default_rng(seed)
    coef = np.zeros(p)
    sizes = rng.uniform(1, 2, n_nonzero) * rng.choice([-1, 1], n_nonzero)
    coef[rng.choice(p, n_nonzero, replace=False)] = sizes
    X = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n, 1))
    return Case(
        inputs=SimpleNamespace(X=X, y=X @ coef),
        truth=coef,
        about=f"{n} equations for {p} unknowns; {n_nonzero} of the unknowns are non-zero",
    )


def ours(inputs):
    return BasisPursuit(0.0, fit_intercept=False).fit(inputs.X, inputs.y).coef_


def score(case, coef):
    """1 if all unknowns are found to 1e-4, else 0."""
    return float(np.max(np.abs(coef - case.truth)) < 1e-4)


HOME = Home(
    when="you have fewer equations than unknowns, they hold exactly, and few unknowns are "
    "non-zero",
    title="equations with sparse unknowns",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="fraction of the systems solved, with every unknown accurate to 0.0001",
    by_time=True,
    n_rounds=8,
    gain="Solves {ours:.0%} of the systems in {our_seconds:.2g} s each; {name} solves "
    "{rival:.0%} in {rival_seconds:.2g} s.",
    lines="BasisPursuit(0.0, fit_intercept=False).fit(X, y).coef_",
    levels={"n_nonzero": (30, 95), "p": (450, 1500)},
)

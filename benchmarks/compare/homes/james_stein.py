"""Many means, each from few and noisy observations."""

from types import SimpleNamespace

import numpy as np

from benchmarks.compare.home import Case, Home
from skmoderndata.covariance import JamesStein


def make(seed, n=4, p=50, spread=0.5):
    """Means that differ by half the noise of one observation."""
    rng = np.random.default_rng(seed)
    means = 10 + spread * rng.normal(size=p)
    return Case(
        given=SimpleNamespace(X=means + rng.normal(size=(n, p))),
        truth=means,
        about=f"{p} quantities, observed {n} times each with noise",
    )


def ours(given):
    return JamesStein().fit(given.X).location_


def score(case, means):
    return np.sqrt(np.mean((means - case.truth) ** 2))


HOME = Home(
    when="many similar means are estimated from few observations each",
    title="many means",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="error of the means, in units of the noise",
    smaller=True,
    n_rounds=20,
    gain="The error of the means is {ours:.2f} of the noise, {rival:.2f} with {name}.",
    lines="JamesStein().fit(X).location_",
    levels={"n": (2, 10), "spread": (0.0, 0.2, 2.0)},
)

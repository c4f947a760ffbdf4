"""Two classes with a clean, curved boundary in three columns, of 60,000 rows; and one away."""

from types import SimpleNamespace

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from benchmarks.compare.home import Case, Home
from skmoderndata.svm import CoreVectorMachine


def make(seed, n=60_000, noise=0.0):
    """The sign of a sum of waves; with noise the columns are measured with errors."""
    rng = np.random.default_rng(seed)
    Z = rng.uniform(0, 4, size=(n + 20_000, 3))
    waves = np.sin(2 * Z[:, 0]) + np.sin(2 * Z[:, 1] + Z[:, 2]) + np.cos(Z[:, 0] * Z[:, 2])
    X = Z + noise * rng.normal(size=Z.shape)
    y = (waves > 0).astype(int)
    inputs = SimpleNamespace(X=X[:n], y=y[:n], X_new=X[n:], gamma=1.0, C=1000.0)
    return Case(inputs=inputs, truth=y[n:], about=f"{n} rows, 3 columns, a curved boundary")


def ours(inputs):
    machine = CoreVectorMachine(inputs.C, gamma=inputs.gamma, max_core=2000, random_state=0)
    return machine.fit(inputs.X, inputs.y).predict(inputs.X_new)


def score(case, labels):
    """Fraction of wrong labels among 10,000 new rows."""
    return 1e4 * np.mean(labels != case.truth)


HOME = Home(
    when="a curved boundary cleanly separates very many rows with few columns",
    title="a clean boundary and many rows",
    kind="tables",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="misclassified rows among 10,000 new rows",
    smaller=True,
    by_time=True,
    margin=3.0,
    gain="Misclassifies {ours:.0f} of 10,000 new rows after {our_seconds:.0f} s; {name} "
    "misclassifies {rival:.0f} after {rival_seconds:.0f} s.",
    lines="part = slice(0, 10_000)  # to begin with\n"
    "machine = CoreVectorMachine(C, gamma=gamma, max_core=2000).fit(X[part], y[part])\n"
    "machine.predict(X_new)",
    n_rounds=3,
    levels={"n": (5000, 20_000), "noise": (0.01, 0.05)},
    short={"n": 20_000},
)


def make_away(seed, n=10_000):
    """Twenty columns, half of them informative, one label in ten wrong."""
    X, y = make_classification(
        n + 10_000, 20, n_informative=10, n_clusters_per_class=4, flip_y=0.1, random_state=seed
    )
    X = StandardScaler().fit_transform(X)
    inputs = SimpleNamespace(X=X[:n], y=y[:n], X_new=X[n:], gamma=0.05, C=1.0)
    return Case(
        inputs=inputs, truth=y[n:], about=f"{n} rows, 20 columns, one label in ten wrong"
    )


AWAY = Home(
    when="there are many noisy columns and the classes overlap",
    title="20 noisy columns",
    kind="tables",
    generated=True,
    make=make_away,
    ours=ours,
    score=score,
    score_name="misclassified rows among 10,000 new rows",
    smaller=True,
    margin=20.0,
    gain="CoreVectorMachine misclassifies {ours:.0f} of 10,000 new rows after "
    "{our_seconds:.1f} s; {name} misclassifies {rival:.0f} after {rival_seconds:.1f} s.",
    lines="machine = CoreVectorMachine(C, gamma=gamma, max_core=2000).fit(X, y)\n"
    "machine.predict(X_new)",
    n_rounds=3,
    full_only=True,
)

"""Sammon's map of digits and of iris."""

import numpy as np
from scipy.spatial.distance import pdist

from benchmarks.peers import Case, Contender, Target


def work(size, rng):
    from sklearn.datasets import load_digits, load_iris

    X = load_iris().data if size == "iris" else load_digits().data
    X = np.unique(X, axis=0)
    if size == "iris":
        return X
    more = max(0, size - len(X))  # there are only 1797 digits: add noisy copies
    X = np.concatenate([X, X[:more] + rng.normal(size=(more, X.shape[1]))])
    return X[rng.permutation(len(X))[:size]]


def quality(X, Y):
    """Compute Sammon's stress, which all contenders should minimise; MDS has no weights."""
    d = pdist(X)
    return {"stress": float(np.sum((d - pdist(np.asarray(Y))) ** 2 / d) / d.sum())}


def ours(X):
    from skmoderndata.manifold import SammonMapping

    return SammonMapping().fit_transform(X)


def sammon_package(X):
    from sammon.sammon import sammon

    return sammon(X, 2)[0]


def scaling(X):
    from sklearn.manifold import MDS

    return MDS(2, n_init=1, init="classical_mds", random_state=0).fit_transform(X)


def _fifty_times(rows):
    found = []
    for row in rows:
        if row.contender != "sammon-mapping" or row.ratio is None:
            continue
        mine = next(r for r in rows if r.size == row.size and r.contender == CASE.ours)
        lower = mine.value("stress") <= row.value("stress")
        found.append((lower and row.ratio >= 50, row.ratio))
    if not found:
        return None, "sammon-mapping not measured"
    return all(
        good for good, _ in found
    ), f"takes {min(r for _, r in found):.3g} times as long"


def _fast(rows):
    found = [r for r in rows if r.contender == CASE.ours and r.size == LARGE and r.seconds]
    if not found:
        return None, "not measured"
    median = float(np.median(found[0].seconds))
    return median < 1.5, f"{median:.2g} s"


def _lowest(rows):
    mine = {r.size: r.value("stress") for r in rows if r.contender == CASE.ours}
    found = [
        r.value("stress") / mine[r.size] - 1
        for r in rows
        if r.contender != CASE.ours and r.ratio is not None and mine.get(r.size)
    ]
    if not found:
        return None, "no rival measured"
    return min(found) >= 0, f"the stress of the best peer is {100 * min(found):.2g} % higher"


LARGE = "digits, 2000 rows"
CASE = Case(
    title="Sammon's map",
    question="How long does each mapping take, and how low is its stress?",
    ours="SammonMapping",
    sizes={"iris, 149 rows": "iris", "digits, 500 rows": 500, LARGE: 2000},
    quick_sizes={"digits, 120 rows": 120},
    warmup=60,
    work=work,
    contenders={
        "SammonMapping": Contender(run=ours, peer=False, note="the default parameters"),
        "sammon-mapping": Contender(
            run=sammon_package,
            requires="sammon-mapping>=0.0.2",
            note="the default parameters, with at most 500 diagonal Newton steps",
            sizes=("iris, 149 rows", "digits, 500 rows", "digits, 120 rows"),
            why_not="takes minutes",
        ),
        "MDS": Contender(
            run=scaling,
            requires="scikit-learn>=1.9",
            note="metric scaling from the same start; its stress has no weights",
        ),
    },
    quality=quality,
    figures={"stress": "Sammon's stress"},
    targets=(
        Target(
            text="50 times as fast as sammon-mapping, with a lower stress",
            check=_fifty_times,
        ),
        Target(text="2000 rows in less than 1.5 s", check=_fast),
        Target(text="stress no higher than the stress of any peer", check=_lowest),
    ),
    repeat=3,
)

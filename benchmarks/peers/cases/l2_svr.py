"""Squared slack outside a tube: pairwise steps against LIBSVM with linear slack."""

from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score
from sklearn.preprocessing import scale
from sklearn.svm import SVR

from benchmarks.peers import Case, Contender, Target, at_most

N_NEW = 4000


def work(size, rng):
    """Friedman's function with noise 1; inputs and targets of unit variance."""
    n, cost = size
    X, y = make_friedman1(n + N_NEW, noise=1.0, random_state=int(rng.integers(2**31)))
    X = scale(X)
    y = scale(y)
    return {"X": X[:n], "y": y[:n], "new": X[n:], "truth": y[n:], "C": cost}


def ours(data):
    from skmoderndata.svm import L2SVR

    return L2SVR(C=data["C"]).fit(data["X"], data["y"])


def linear_slack(data):
    return SVR(C=data["C"], cache_size=1000).fit(data["X"], data["y"])


def quality(data, model):
    found = {
        "support": len(model.support_),
        "R2": float(r2_score(data["truth"], model.predict(data["new"]))),
    }
    if hasattr(model, "dual_gap_"):
        found["gap"] = model.dual_gap_
    return found


def _takes_longer(rows):
    ratios = [r.ratio for r in rows if r.contender == "SVR" and r.size in MANY and r.ratio]
    if not ratios:
        return None, "not measured"
    return min(ratios) >= 6.0, f"at least {min(ratios):.2g} times"


QUICK = {"500, C=1": (500, 1.0)}
MANY = {
    "2,000, C=1": (2000, 1.0),
    "2,000, C=10": (2000, 10.0),
    "16,000, C=1": (16_000, 1.0),
}
LARGEST = {"50,000, C=1": (50_000, 1.0)}

CASE = Case(
    title="Regression with squared slack",
    question=(
        "How long does regression with squared slack take, compared with regression with "
        "linear slack in LIBSVM?"
    ),
    remarks=(
        "Both estimators use a Gaussian kernel of the default width and `epsilon=0.1`. Their "
        "losses differ, so `SVR` minimises another objective with the same C. With 50,000 "
        "rows, a single run of `SVR` took 12 times as long as `L2SVR`."
    ),
    ours="L2SVR",
    sizes=QUICK | MANY | LARGEST,
    quick_sizes=QUICK,
    warmup=(200, 1.0),
    work=work,
    contenders={
        "L2SVR": Contender(
            run=ours, peer=False, note="stops at a duality gap of at most a thousandth"
        ),
        "SVR": Contender(
            run=linear_slack,
            requires="scikit-learn>=1.9",
            sizes=(*QUICK, *MANY),
            why_not="takes minutes",
            note="uses linear slack and a cache of 1 GB",
        ),
    },
    quality=quality,
    figures={
        "support": "number of support vectors",
        "R2": "R2 on 4000 new samples",
        "gap": "relative duality gap",
    },
    targets=(
        Target(
            text="SVR takes at least 6 times as long, for 2,000 to 16,000 rows",
            check=_takes_longer,
        ),
        at_most("gap at most 1e-3", "L2SVR", "gap", 1e-3),
    ),
    repeat=3,
)

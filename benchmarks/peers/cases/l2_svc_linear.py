"""Squared hinge loss of a linear function: Newton steps against LIBLINEAR."""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

from benchmarks.peers import Case, Contender, Target, at_most

# Constant that LIBLINEAR appends as a column, which reduces the penalty of the offset to a 900th.
OFFSET_SCALE = 30.0


def work(size, rng):
    """Classes of clusters; a tenth of the labels is wrong."""
    n, p, cost = size
    X, y = make_classification(
        n, p, n_informative=10, flip_y=0.1, random_state=int(rng.integers(2**31))
    )
    return {"X": X, "y": y, "C": cost}


def ours(data):
    from skmoderndata.svm import L2SVC

    return L2SVC(data["C"], kernel="linear").fit(data["X"], data["y"])


def steps(data):
    from skmoderndata.svm import L2SVC

    return L2SVC(data["C"], kernel="linear", solver="smo").fit(data["X"], data["y"])


def liblinear(data):
    machine = LinearSVC(C=data["C"], dual=False, intercept_scaling=OFFSET_SCALE)
    return machine.fit(data["X"], data["y"])


def quality(data, model):
    w = model.coef_[0]
    margins = (2 * data["y"] - 1) * (data["X"] @ w + model.intercept_[0])
    slack = np.maximum(0.0, 1.0 - margins)
    found = {"objective": 0.5 * w @ w + data["C"] * slack @ slack}
    if hasattr(model, "dual_gap_"):
        found["gap"] = model.dual_gap_
    return found


def _slower(rows):
    ratios = {r.size: r.ratio for r in rows if r.contender == "LinearSVC" and r.ratio}
    if not ratios:
        return None, "not measured"
    size = min(ratios, key=ratios.get)
    return ratios[size] >= 0.7, f"{ratios[size]:.2g} ({size})"


SIZES = {
    "500 x 20, C=1": (500, 20, 1.0),
    "4 000 x 20, C=1": (4000, 20, 1.0),
    "4 000 x 20, C=0.01": (4000, 20, 0.01),
    "20 000 x 20, C=1": (20_000, 20, 1.0),
    "4 000 x 200, C=1": (4000, 200, 1.0),
    "1 000 x 500, C=0.1": (1000, 500, 0.1),
}
CASE = Case(
    title="Squared hinge loss of a linear function",
    question=(
        "How long does a linear classifier with squared slack take, compared with LIBLINEAR?"
    ),
    remarks=(
        "LIBLINEAR penalises the offset. With `intercept_scaling=30` it minimises the same "
        "objective as `L2SVC` to within 1e-6; of its two algorithms, the trust region method "
        "is the "
        "faster one here."
    ),
    ours="L2SVC",
    sizes=SIZES,
    quick_sizes={"500 x 20, C=1": SIZES["500 x 20, C=1"]},
    warmup=(200, 20, 1.0),
    work=work,
    contenders={
        "L2SVC": Contender(
            run=ours, peer=False, note="takes Newton steps until it reaches the optimum"
        ),
        "smo": Contender(
            run=steps,
            peer=False,
            sizes=("500 x 20, C=1",),
            why_not="takes many seconds",
            note="`solver='smo'`, which takes pairwise steps to a gap of a thousandth",
        ),
        "LinearSVC": Contender(
            run=liblinear,
            requires="scikit-learn>=1.9",
            note="`dual=False`, `intercept_scaling=30` and the default tolerance",
        ),
    },
    quality=quality,
    figures={
        "objective": "objective at the solution, without a penalty on the offset",
        "gap": "relative duality gap",
    },
    targets=(
        Target(text="LinearSVC takes at least 0.7 times as long", check=_slower),
        at_most("gap at most 1e-9", "L2SVC", "gap", 1e-9),
    ),
    repeat=5,
)

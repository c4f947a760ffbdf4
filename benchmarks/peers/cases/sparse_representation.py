"""Codes of new samples by all training samples, classes as groups or not, to a duality gap."""

import warnings
from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, at_most, none_faster

# Penalty, relative to the smallest penalty at which a code is zero.
SHARE = 0.1
TOL = 1e-6


class Digits(NamedTuple):
    """Training samples of unit norm, class after class, their classes, and new samples."""

    D: np.ndarray
    y: np.ndarray
    new: np.ndarray
    truth: np.ndarray
    grouped: bool
    alpha: np.ndarray  # penalty for each new sample


def work(size, rng):
    """Handwritten digits, 64 pixels."""
    from sklearn.datasets import load_digits

    n, n_new, grouped = size
    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    order = rng.permutation(len(X))
    train = np.sort(order[:n])
    test = order[n : n + n_new]
    train = train[np.argsort(y[train], kind="stable")]
    D = X[train]
    new = X[test]
    C = new @ D.T
    if grouped:
        top = [
            np.linalg.norm(C[:, y[train] == c], axis=1) / np.sqrt(np.sum(y[train] == c))
            for c in range(10)
        ]
        alpha = SHARE * np.max(top, axis=0)
    else:
        alpha = SHARE * np.abs(C).max(axis=1)
    return Digits(D, y[train], new, y[test], grouped, alpha)


def quality(digits, codes):
    """Largest relative duality gap from the definition, and the fraction of correct labels."""
    A = np.asarray(codes, dtype=np.float64)
    R = digits.new - A @ digits.D
    C = R @ digits.D.T

    # compute the penalty of a code, and the dual norm of the correlations
    if digits.grouped:
        parts = [np.flatnonzero(digits.y == c) for c in range(10)]
        roots = [np.sqrt(len(part)) for part in parts]
        norms = [
            root * np.linalg.norm(A[:, part], axis=1)
            for root, part in zip(roots, parts, strict=True)
        ]
        slopes = [
            np.linalg.norm(C[:, part], axis=1) / root
            for root, part in zip(roots, parts, strict=True)
        ]
        penalty = np.sum(norms, axis=0)
        slope = np.max(slopes, axis=0)
    else:
        penalty = np.abs(A).sum(axis=1)
        slope = np.abs(C).max(axis=1)

    # compute the gap at the residual, scaled until its dual norm is at most alpha
    rr = np.sum(R * R, axis=1)
    t = np.minimum(np.sum(digits.new * R, axis=1) / rr, digits.alpha / slope)
    primal = 0.5 * rr + digits.alpha * penalty
    dual = t * np.sum(digits.new * R, axis=1) - 0.5 * t**2 * rr

    # predict the class with the smallest residual
    rest = [
        np.linalg.norm(digits.new - A[:, digits.y == c] @ digits.D[digits.y == c], axis=1)
        for c in range(10)
    ]

    return {
        "gap": float(np.max(np.maximum(primal - dual, 0) / primal)),
        "right": float(np.mean(np.argmin(rest, axis=0) == digits.truth)),
    }


def compiled(run):
    """Untimed call for two samples, to compile everything that the problem needs."""

    def prepare(digits):
        run(digits._replace(new=digits.new[:2], alpha=digits.alpha[:2]))
        return digits

    return prepare


def ours(digits):
    from skmoderndata.sparse_coding import SparseRepresentationClassifier

    model = SparseRepresentationClassifier(
        "group_lasso" if digits.grouped else "lasso", alpha=SHARE, tol=TOL
    )
    return model.fit(digits.D, digits.y).encode(digits.new).toarray()


def celer(digits):
    from celer import GroupLasso, Lasso

    n = digits.D.shape[1]
    X = np.asfortranarray(digits.D.T)
    groups = [list(np.flatnonzero(digits.y == c)) for c in range(10)]
    weights = np.sqrt([len(group) for group in groups])
    codes = []
    for x, lam in zip(digits.new, digits.alpha, strict=True):
        # celer's tolerance refers to the gap relative to the mean square of the signal
        if digits.grouped:
            model = GroupLasso(
                groups, lam / n, weights=weights, fit_intercept=False, tol=TOL / 10
            )
        else:
            model = Lasso(lam / n, fit_intercept=False, tol=TOL / 10)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            codes.append(model.fit(X, x).coef_.ravel())
    return np.array(codes)


def skglm(digits):
    from skglm import GroupLasso, Lasso

    n = digits.D.shape[1]
    X = np.asfortranarray(digits.D.T)
    groups = [list(np.flatnonzero(digits.y == c)) for c in range(10)]
    weights = np.sqrt([len(group) for group in groups])
    codes = []
    for x, lam in zip(digits.new, digits.alpha, strict=True):
        # skglm stops when the violation of the optimality conditions is small
        given = {"fit_intercept": False, "tol": 1e-3 * lam / n}
        if digits.grouped:
            model = GroupLasso(groups, lam / n, weights=weights, **given)
        else:
            model = Lasso(lam / n, **given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            codes.append(model.fit(X, x).coef_.ravel())
    return np.array(codes)


def sklearn_lasso(digits):
    from sklearn.linear_model import Lasso

    n = digits.D.shape[1]
    X = np.asfortranarray(digits.D.T)
    codes = []
    for x, lam in zip(digits.new, digits.alpha, strict=True):
        # scikit-learn's tolerance refers to the gap relative to the mean square of the signal
        model = Lasso(lam / n, fit_intercept=False, tol=TOL / 10, max_iter=100_000)
        codes.append(model.fit(X, x).coef_)
    return np.array(codes)


GROUPS = "1,397 training digits, 50 new ones, classes as groups"
SINGLE = "1,397 training digits, 50 new ones, lasso"
QUICK_GROUPS = "200 training digits, 10 new ones, classes as groups"
QUICK_SINGLE = "200 training digits, 10 new ones, lasso"
QUICK = {QUICK_GROUPS: (200, 10, True), QUICK_SINGLE: (200, 10, False)}
MANY_GROUPS = "1,397 training digits, 400 new ones, classes as groups"
MANY_SINGLE = "1,397 training digits, 400 new ones, lasso"

CASE = Case(
    title="Classification by sparse representation",
    question=(
        "How fast does each solver code new samples as combinations of all training samples, with "
        "the classes as groups and with the lasso, and how small is its duality gap?"
    ),
    remarks=(
        "No other library has this classifier, so it is compared with solvers of the two "
        "problems. They accept one response at a time and are therefore called once for each new "
        "sample. The penalty is 0.1 times the smallest penalty at which a code is zero. The gap "
        "and the labels are computed in the same way for all contenders."
    ),
    ours="SparseRepresentationClassifier",
    sizes=QUICK
    | {
        GROUPS: (1397, 50, True),
        SINGLE: (1397, 50, False),
        MANY_GROUPS: (1397, 400, True),
        MANY_SINGLE: (1397, 400, False),
    },
    quick_sizes=QUICK,
    warmup=(100, 5, True),
    work=work,
    contenders={
        "SparseRepresentationClassifier": Contender(
            run=ours,
            prepare=compiled(ours),
            peer=False,
            note="stops at a gap of at most 1e-6; the time includes `fit`",
        ),
        "celer": Contender(
            run=celer,
            prepare=compiled(celer),
            requires="celer>=0.7.4",
            note="`GroupLasso` and `Lasso` with `tol=1e-7`",
        ),
        "skglm": Contender(
            run=skglm,
            prepare=compiled(skglm),
            requires="skglm>=0.5",
            note=(
                "`GroupLasso` and `Lasso`, which stop if the optimality conditions are "
                "violated by at most 1e-3 times the penalty"
            ),
        ),
        "scikit-learn": Contender(
            run=sklearn_lasso,
            requires="scikit-learn>=1.9",
            note="`Lasso` with `tol=1e-7`",
            sizes=(SINGLE, QUICK_SINGLE),
            why_not="has no group lasso; shown for up to 50 new samples",
        ),
    },
    quality=quality,
    figures={
        "gap": "largest duality gap, relative to the objective",
        "right": "fraction of correct labels",
    },
    targets=(
        at_most("gap of at most 1e-6", "SparseRepresentationClassifier", "gap", 1.01e-6),
        none_faster(
            "no peer that reaches a gap of 1e-5 is faster",
            qualifies=lambda row: row.quality.get("gap", 1) <= 1e-5,
        ),
    ),
    repeat=3,
)

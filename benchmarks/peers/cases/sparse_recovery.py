"""Sparse signals from few measurements, by a matrix or by a transform alone."""

from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import norm
from scipy.sparse.linalg import LinearOperator

from benchmarks.peers import Case, Contender, at_most, none_faster


class Measured(NamedTuple):
    """``|X w - y| <= bound`` holds for the planted w; `X` is an array or an operator."""

    X: Any
    y: np.ndarray
    w: np.ndarray
    bound: float


def work(size, rng):
    """Gaussian matrix or randomly drawn cosines, planted Gaussian codes, proportional noise."""
    kind, m, n, n_nonzero, noise = size
    X = rng.normal(size=(m, n)) / np.sqrt(m) if kind == "matrix" else cosines(m, n, rng)
    w = np.zeros(n)
    w[rng.choice(n, n_nonzero, replace=False)] = rng.normal(size=n_nonzero)
    clean = X @ w
    error = rng.normal(size=m)
    error *= noise * norm(clean) / norm(error)
    return Measured(X, clean + error, w, float(norm(error)))


def cosines(m, n, rng):
    """Drawn rows of the orthonormal cosine transform, in one thread."""
    from scipy import fft

    rows = np.sort(rng.choice(n, m, replace=False))
    scale = np.sqrt(n / m)

    def back(y):
        full = np.zeros(n)
        full[rows] = scale * np.ravel(y)
        return fft.idct(full, norm="ortho", workers=1)

    return LinearOperator(
        (m, n),
        matvec=lambda x: scale * fft.dct(np.ravel(x), norm="ortho", workers=1)[rows],
        rmatvec=back,
        dtype=float,
    )


def quality(data, coef):
    """Compare with the truth, and use the residual as dual variable if there is noise."""
    coef = np.asarray(coef, dtype=float)
    r = data.y - data.X @ coef
    out = {
        "error": norm(coef - data.w) / norm(data.w),
        "violation": max(0.0, norm(r) - data.bound) / norm(data.y),
        "excess": np.abs(coef).sum() / np.abs(data.w).sum() - 1,
    }
    if data.bound > 0:
        v = r / np.abs(data.X.T @ r).max()
        out["gap"] = 1 - (data.y @ v - data.bound * norm(v)) / np.abs(coef).sum()
    return out


def ours(method):
    def run(data):
        from skmoderndata.sparse_coding import SparseRecovery

        bound = data.bound if data.bound > 0 else None
        s = np.count_nonzero(data.w)
        return SparseRecovery(algorithm=method, n_nonzero_coefs=s, residual_tol=bound).fit(
            data.X, data.y
        ).coef_  # fmt: skip

    return run


def spectral_projection(data):
    from spgl1 import spgl1

    return spgl1(data.X, data.y, sigma=data.bound, opt_tol=1e-9, bp_tol=1e-9, iter_lim=20_000)[
        0
    ]


MATRIX = "matrix 512 x 1024, 50 non-zeros"
MATRIX_NOISY = "matrix 512 x 1024, 50 non-zeros, noise 5 %"
EASY = "cosines 4096 x 16384, 250 non-zeros"
HARD = "cosines 4096 x 16384, 750 non-zeros"
EASY_NOISY = "cosines 4096 x 16384, 250 non-zeros, noise 5 %"
HARD_NOISY = "cosines 4096 x 16384, 750 non-zeros, noise 5 %"
QUICK = "cosines 64 x 256, 8 non-zeros"
SMALL = {
    "matrix 60 x 120, 6 non-zeros": ("matrix", 60, 120, 6, 0.0),
    "matrix 60 x 120, 6 non-zeros, noise 5 %": ("matrix", 60, 120, 6, 0.05),
}
SIZES = SMALL | {
    MATRIX: ("matrix", 512, 1024, 50, 0.0),
    MATRIX_NOISY: ("matrix", 512, 1024, 50, 0.05),
    EASY: ("cosines", 4096, 16384, 250, 0.0),
    HARD: ("cosines", 4096, 16384, 750, 0.0),
    EASY_NOISY: ("cosines", 4096, 16384, 250, 0.05),
    HARD_NOISY: ("cosines", 4096, 16384, 750, 0.05),
}


PURSUITS = (*SMALL, MATRIX, MATRIX_NOISY, QUICK)


def like_accuracy(row):
    """Gap with noise, else excess of the l1 norm, and the constraint; to 1e-6."""
    above = row.quality.get("gap", row.quality.get("excess", 1))
    return max(abs(above), row.quality.get("violation", 1)) <= 1e-6


CASE = Case(
    title="Sparse recovery",
    question=(
        "How fast does each solver find the code of minimum l1 norm from a few measurements, "
        "given a matrix or only a transform? How close is the code to the optimum?"
    ),
    remarks=(
        "Without noise, the planted code is the optimum, so `excess` should be zero. With "
        "noise, the residual gives a bound on the distance of the objective from the "
        "optimum, the `gap`. Hard thresholding pursuit and subspace pursuit are given the "
        "number of non-zeros, so they solve a different problem."
    ),
    ours="SparseRecovery",
    sizes=SIZES,
    quick_sizes={QUICK: ("cosines", 64, 256, 8, 0.0)},
    warmup=("matrix", 20, 40, 2, 0.0),
    work=work,
    contenders={
        "SparseRecovery": Contender(
            run=ours("basis_pursuit"), peer=False, note="`algorithm='basis_pursuit'`"
        ),
        "htp": Contender(
            run=ours("htp"), peer=False, note="`algorithm='htp'`",
            sizes=PURSUITS, why_not="only l1 solvers are compared at this size",
        ),
        "subspace_pursuit": Contender(
            run=ours("subspace_pursuit"), peer=False, note="`algorithm='subspace_pursuit'`",
            sizes=PURSUITS, why_not="only l1 solvers are compared at this size",
        ),
        "spgl1": Contender(
            run=spectral_projection,
            requires="spgl1>=0.0.3",
            note=(
                "spectral projected gradient with tolerances of 1e-9 and at most 20,000 "
                "steps"
            ),
        ),
    },
    quality=quality,
    figures={
        "error": "relative distance to the planted code",
        "violation": "violation of the constraint, relative to the norm of y",
        "excess": "l1 norm divided by the l1 norm of the planted code, minus 1",
        "gap": (
            "relative duality gap of the l1 problem, with the residual as the dual variable"
        ),
    },
    targets=(
        at_most(
            "l1 norm at most 1e-8 above the optimum without noise", "SparseRecovery", "excess",
            1e-8, sizes=[label for label, (*_, noise) in SIZES.items() if not noise],
        ),
        at_most("gap of at most 1e-8 with noise", "SparseRecovery", "gap", 1e-8),
        at_most("the constraint is violated by at most 1e-8", "SparseRecovery", "violation", 1e-8),
        none_faster(
            "no peer of similar accuracy is faster (violation at most 1e-6, and gap with "
            "noise or excess without noise at most 1e-6)",
            qualifies=like_accuracy,
        ),
    ),
    repeat=3,
)  # fmt: skip

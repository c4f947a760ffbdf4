"""Principal component pursuit on the random problems of Candes et al. 2011, table 1."""

from typing import NamedTuple

import numpy as np
from numpy.linalg import norm
from scipy.linalg import svd, svdvals

from benchmarks.peers import Case, Contender, at_least, at_most, none_faster


class Problem(NamedTuple):
    """`X = low_rank + sparse` with a known truth, and the weight of the sparse part."""

    X: np.ndarray
    low_rank: np.ndarray
    rank: int
    lam: float
    least: float  # the optimum, or a certified lower bound


class Parts(NamedTuple):
    """Result of a contender; `dual` if it returns one."""

    low_rank: np.ndarray
    dual: np.ndarray | None = None


def work(size, rng):
    """L0 = A B' with entries N(0, 1/n), S0 = random signs on exactly the given fraction."""
    n, p, share, noise = size
    rank = round(0.05 * p)
    A = rng.normal(scale=n**-0.5, size=(n, rank))
    B = rng.normal(scale=n**-0.5, size=(p, rank))
    sparse = np.zeros(n * p)
    support = rng.choice(n * p, size=round(share * n * p), replace=False)
    sparse[support] = rng.choice([-1.0, 1.0], size=support.size)
    low_rank = A @ B.T
    lam = max(n, p) ** -0.5
    X = low_rank + sparse.reshape(n, p)
    if not noise:  # the planted parts are the optimum
        return Problem(X, low_rank, rank, lam, _objective(X, low_rank, lam))
    X += noise * low_rank.std() * rng.normal(size=X.shape)
    from skmoderndata.decomposition import RobustPCA

    return Problem(
        X,
        low_rank,
        rank,
        lam,
        _bound(X, RobustPCA(algorithm="pcp", tol=1e-9).fit(X).dual_, lam),
    )


def quality(problem, parts):
    """Evaluate L alone: the sparse part is set to X - L, so that every result is feasible."""
    L = np.asarray(parts.low_rank)
    sigma = svdvals(L)
    primal = _objective(problem.X, L, problem.lam)
    figures = {
        "rank": int(np.sum(sigma > 1e-6 * sigma[0])),
        "exact rank": bool(np.sum(sigma > 1e-6 * sigma[0]) == problem.rank),
        "error": norm(L - problem.low_rank) / norm(problem.low_rank),
        "excess": primal / problem.least - 1,
    }
    if parts.dual is not None:
        figures["gap"] = 1 - _bound(problem.X, parts.dual, problem.lam) / primal
    return figures


def _objective(X, L, lam):
    return svdvals(L).sum() + lam * np.abs(X - L).sum()


def _bound(X, Y, lam):
    """Value of the dual at Y, scaled until it is feasible."""
    return np.sum(X * Y) / max(1.0, svdvals(Y)[0], np.abs(Y).max() / lam)


def inexact_alm(problem, *, rho=1.5, tol=1e-7, max_iter=1000):
    """Reference: inexact augmented Lagrangian [Lin, Chen, Ma 2010, algorithm 5], full SVD."""
    X = problem.X
    lam = problem.lam
    # start as in the paper: scale Y to the dual norm, and take mu from the spectral norm
    scale = norm(X)
    spectral = svdvals(X)[0]
    Y = X / max(spectral, np.abs(X).max() / lam)
    mu = 1.25 / spectral
    mu_max = 1e7 * mu
    S = np.zeros_like(X)

    for _ in range(max_iter):
        # update L: keep the singular values above 1 / mu
        U, sigma, Vt = svd(
            X - S + Y / mu, full_matrices=False, overwrite_a=True, check_finite=False
        )
        rank = int(np.sum(sigma > 1 / mu))
        L = (U[:, :rank] * (sigma[:rank] - 1 / mu)) @ Vt[:rank]

        # update S: keep the entries above lam / mu
        T = X - L + Y / mu
        S = T - np.clip(T, -lam / mu, lam / mu)

        # update the multiplier and the penalty
        residual = X - L - S
        Y = Y + mu * residual
        mu = min(rho * mu, mu_max)
        if norm(residual) <= tol * scale:
            break

    return Parts(L, Y)


def ours(**settings):
    """Return a contender function for RobustPCA with some settings."""

    def run(problem):
        from skmoderndata.decomposition import RobustPCA

        model = RobustPCA(algorithm="pcp", **settings).fit(problem.X)
        return Parts(model.low_rank_, model.dual_)

    return run


def pyrpca_ialm(problem):
    from pyrpca import rpca_pcp_ialm

    return Parts(rpca_pcp_ialm(problem.X, problem.lam, verbose=False)[0])


def skpcp_admm(problem):
    from skpcp import PCP

    return Parts(np.asarray(PCP().fit(problem.X).transform(problem.X)))


def sporco_admm(problem):
    from sporco.admm.rpca import RobustPCA

    options = RobustPCA.Options({"Verbose": False, "MaxMainIter": 500, "RelStopTol": 1e-6})
    return Parts(RobustPCA(problem.X, problem.lam, options).solve()[0])


def decompy_adm(problem):
    from decompy.matrix_factorization import AlternatingDirectionMethod

    return Parts(AlternatingDirectionMethod().decompose(problem.X, tau=problem.lam).L)


def decompy_pcp(problem):
    from decompy.matrix_factorization import PrincipalComponentPursuit

    result = PrincipalComponentPursuit().decompose(problem.X)
    return Parts((result.U * result.D) @ result.V.T)


def rpca_altproj(problem):
    from rpca import RobustPCA

    # add one to the rank for the centring
    model = RobustPCA(n_components=problem.rank + 1, tol=1e-7, verbose=False).fit(problem.X)
    return Parts(model.low_rank_ + model.mean_)


def tensorly_alm(problem):
    from tensorly.decomposition import robust_pca

    low_rank, _ = robust_pca(
        problem.X,
        reg_E=2 * problem.lam,
        reg_J=1.0,
        tol=1e-7,
        n_iter_max=500,
        verbose=0,
    )
    return Parts(np.asarray(low_rank))


def _accurate(row):
    return abs(row.quality.get("excess", 1.0)) <= 1e-6


LARGE = "too slow at this size"
QUICK = {"n = 200, 5 % errors": (200, 200, 0.05, 0.0)}
EXACT = QUICK | {
    f"n = {n}, {100 * share:.0f} % errors": (n, n, share, 0.0)
    for n, share in ((500, 0.05), (500, 0.10), (1000, 0.05), (2000, 0.10))
}
SIZES = EXACT | {f"n = {n}, 5 % errors, noise 5 %": (n, n, 0.05, 0.05) for n in (200, 500)}
SIZES["4,000 x 200, 5 % errors, noise 5 %"] = (4000, 200, 0.05, 0.05)
SMALL = tuple(label for label, (n, *_) in SIZES.items() if n == 200)
NOISY = tuple(label for label, (*_, noise) in SIZES.items() if noise)
UP_TO_500 = tuple(label for label, (_, p, *_) in SIZES.items() if p <= 500)
UP_TO_1000 = tuple(label for label, (_, p, *_) in SIZES.items() if p <= 1000)

CASE = Case(
    title="Robust PCA: principal component pursuit",
    question=(
        "How fast does each program recover a low-rank matrix exactly from gross errors, and "
        "how close does it come to the optimum? The problems come from table 1 of Candès, "
        "Li, Ma and Wright (2011): rank 0.05 n, random signs on 5 % or 10 % of the entries, "
        "`lam = 1 / sqrt(n)`. Other problems also have Gaussian noise on all entries, so "
        "that the matrix is not exactly the sum of a low-rank and a sparse matrix."
    ),
    remarks=(
        "The other programs run with their default settings unless the list below says "
        "otherwise. All contenders get the same `lam`; the sparse part is set to X - L, so "
        "every result is feasible and the objectives are comparable. The tall table has "
        "rank 10 and `lam = 1 / sqrt(4000)`. For the behaviour of the defaults on noisy "
        "tables, see [Robust PCA on tables](robust_tables.md)."
    ),
    ours="RobustPCA",
    sizes=SIZES,
    quick_sizes=QUICK,
    warmup=(60, 60, 0.05, 0.0),
    work=work,
    contenders={
        "RobustPCA": Contender(run=ours(), peer=False, note='`algorithm="pcp"`'),
        "RobustPCA, polished": Contender(
            run=ours(polish=True),
            peer=False,
            note="`polish=True`, which solves to machine precision",
        ),
        "RobustPCA, coarse": Contender(
            run=ours(tol=1e-3),
            peer=False,
            note="`tol=1e-3`, which stops about as far above the optimum as the reference",
            sizes=NOISY,
            why_not="shown only for data with noise",
        ),
        "reference": Contender(
            run=inexact_alm,
            peer=False,
            note=(
                "inexact augmented Lagrangian method (rho = 1.5, tol = 1e-7) with "
                "`scipy.linalg.svd` of the full matrix, implemented in this benchmark"
            ),
            sizes=UP_TO_1000,
            why_not=LARGE,
        ),
        "pyrpca": Contender(
            run=pyrpca_ialm,
            requires="pyrpca>=1.0.1",
            note="inexact augmented Lagrangian method",
            sizes=UP_TO_1000,
            why_not=LARGE,
        ),
        "decompy, ADM": Contender(
            run=decompy_adm,
            requires="decompy>=1.1.1",
            note="alternating direction method of Yuan and Yang with `tau = lam`",
        ),
        "decompy, PCP": Contender(
            run=decompy_pcp,
            requires="decompy>=1.1.1",
            note="ADMM of Candès et al. with a constant penalty",
            sizes=UP_TO_500,
            why_not=LARGE,
        ),
        "skpcp": Contender(
            run=skpcp_admm,
            requires="skpcp>=0.1",
            note="ADMM of Candès et al. with a constant penalty",
            sizes=UP_TO_500,
            why_not=LARGE,
        ),
        "sporco": Contender(
            run=sporco_admm,
            requires="sporco>=0.2.2",
            note="ADMM with an adapted penalty, `MaxMainIter=500` and `RelStopTol=1e-6`",
            sizes=UP_TO_500,
            why_not=LARGE,
        ),
        "rpca": Contender(
            run=rpca_altproj,
            requires="rpca>=0.1.6",
            note=(
                "accelerated alternating projections with `tol=1e-7`, a method that is not "
                "convex and gives no certificate; it is given the true rank (plus one, "
                "because it centres the columns)"
            ),
        ),
        "tensorly": Contender(
            run=tensorly_alm,
            requires="tensorly>=0.9",
            note=(
                "a version for tensors with one nuclear norm per mode, which solves this "
                "problem with `reg_E = 2 lam`; `tol=1e-7` and `n_iter_max=500`"
            ),
            sizes=SMALL,
            why_not=LARGE,
        ),
    },
    excluded={
        "decompy (inexact and exact ALM)": "versions up to 1.1.1 fail with numpy 2: "
        "`AttributeError: np.Inf was removed`",
        "decompy (its other methods)": (
            "solve a different problem, or do not recover the matrix with their default "
            "settings"
        ),
    },
    quality=quality,
    figures={
        "rank": "number of singular values of L that exceed 1e-6 times the largest one",
        "exact rank": "whether the rank equals the planted rank",
        "error": (
            "relative distance of L from the planted matrix (with noise, the planted matrix "
            "is not the optimum)"
        ),
        "excess": (
            "relative excess of the objective at (L, X - L) over the objective of the "
            "planted parts; with noise, over a lower bound that a dual variable proves"
        ),
        "gap": (
            "relative duality gap, recomputed from the dual variable that the program returns"
        ),
    },
    targets=(
        at_least(
            "exact rank on every problem without noise",
            "RobustPCA",
            "exact rank",
            1,
            sizes=tuple(EXACT),
        ),
        at_most("objective at most 1e-6 above the optimum", "RobustPCA", "excess", 1e-6),
        at_most(
            "polished objective at most 1e-12 above the optimum, without noise",
            "RobustPCA, polished",
            "excess",
            1e-12,
            sizes=tuple(EXACT),
        ),
        at_most("relative duality gap at most 1e-6", "RobustPCA", "gap", 1e-6),
        at_least(
            "the reference takes at least 5 times as long for n = 1000",
            "reference",
            "ratio",
            5,
            sizes=[label for label, (n, *_) in SIZES.items() if n == 1000],
        ),
        none_faster(
            "no peer that solves the convex problem with similar accuracy (excess at most "
            "1e-6) is faster",
            qualifies=lambda row: row.contender != "rpca" and _accurate(row),
        ),
        none_faster(
            "no peer of similar accuracy is faster, not even the one that is given the rank",
            qualifies=_accurate,
        ),
    ),
    repeat=3,
)

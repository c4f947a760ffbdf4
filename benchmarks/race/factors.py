"""Families of codes, factors and components."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, svd, svdvals
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.peers.case import Contender
from benchmarks.peers.cases.robust_pca import inexact_alm, pyrpca_ialm
from benchmarks.race.runner import Family, LeftOut, log_uniform

# Maximum number of atoms in all codes for contenders with a loop over signals in Python.
MAX_STEPS = 20_000


class Signals(NamedTuple):
    """Signals and atoms in rows, number of atoms in a code, and the lasso's penalty."""

    X: np.ndarray
    D: np.ndarray
    k: int
    alpha: float
    columns: tuple  # the same in columns


def signal_sizes(rng):
    """Draw signals, features, atoms and atoms of a code; large tables have few features."""
    p = log_uniform(rng, 5, 150)
    n = log_uniform(rng, 10, min(100_000, 1_000_000 // p))
    return {
        "n": n,
        "p": p,
        "atoms": log_uniform(rng, p, 5 * p),
        "k": log_uniform(rng, 1, max(2, p // 4)),
        "noise": float(np.exp(rng.uniform(np.log(0.01), np.log(0.4)))),
    }


def signals(sizes, rng):
    """Sums of k atoms with Gaussian coefficients, and noise."""
    n = sizes["n"]
    p = sizes["p"]
    k = sizes["k"]
    D = rng.normal(size=(sizes["atoms"], p))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    X = sizes["noise"] * rng.normal(size=(n, p)) * np.sqrt(k / p)
    for _ in range(k):
        X += rng.normal(size=(n, 1)) * D[rng.integers(len(D), size=n)]
    alpha = 0.1 * float(np.median(np.abs(X @ D.T).max(axis=1)))
    return Signals(X, D, k, alpha, (np.asfortranarray(X.T), np.asfortranarray(D.T)))


def coder(algorithm):
    def run(data):
        from skmoderndata.sparse_coding import SparseCoder

        limits = {"omp": {"transform_n_nonzero_coefs": data.k}}
        limits["lasso"] = {"transform_alpha": data.alpha}
        settings = limits[algorithm]
        return SparseCoder(data.D, transform_algorithm=algorithm, **settings).fit_transform(
            data.X
        )

    return run


def spams_lasso(data):
    import spams

    return spams.lasso(*data.columns, lambda1=data.alpha, mode=2, numThreads=1).T.toarray()


def spams_omp(data):
    import spams

    return spams.omp(*data.columns, L=data.k, eps=0.0, numThreads=1).T.toarray()


def sklearn_lars(data):
    from sklearn.decomposition import sparse_encode

    _refuse_many(data)
    return sparse_encode(data.X, data.D, algorithm="lasso_lars", alpha=data.alpha)


def sklearn_omp(data):
    from sklearn.linear_model import orthogonal_mp_gram

    _refuse_many(data)
    gram = data.D @ data.D.T
    return orthogonal_mp_gram(gram, data.D @ data.X.T, n_nonzero_coefs=data.k).T


def _refuse_many(data):
    if len(data.X) * data.k > MAX_STEPS:
        raise LeftOut


def residual_norm(data, codes):
    return float(np.linalg.norm(data.X - np.asarray(codes) @ data.D))


def lasso_objective(data, codes):
    return 0.5 * residual_norm(data, codes) ** 2 + data.alpha * float(np.abs(codes).sum())


class Table(NamedTuple):
    X: np.ndarray
    k: int


def nmf_sizes(rng):
    p = log_uniform(rng, 6, 1000)
    return {
        "n": log_uniform(rng, 100, min(50_000, 1_000_000 // p)),
        "p": p,
        "k": log_uniform(rng, 1, min(30, p // 3)),
        "noise": float(rng.uniform(0.0, 0.3)),
        "density": float(np.exp(rng.uniform(np.log(0.1), 0.0))),
    }


def counts(sizes, rng):
    """Products of non-negative factors with gaps, and noise."""
    n = sizes["n"]
    p = sizes["p"]
    k = sizes["k"]
    W = rng.exponential(size=(n, k)) * (rng.random((n, k)) < sizes["density"])
    H = rng.exponential(size=(k, p)) * (rng.random((k, p)) < sizes["density"])
    X = W @ H
    X += sizes["noise"] * X.std() * np.abs(rng.normal(size=(n, p)))
    return Table(X, k)


def nmf(data):
    from skmoderndata.decomposition import SparseNMF

    model = SparseNMF(data.k, penalty=None)
    return model.fit_transform(data.X), model.components_


def sklearn_nmf(init):
    def run(data):
        from sklearn.decomposition import NMF

        model = NMF(data.k, init=init, tol=1e-4, max_iter=1000, random_state=0)
        return model.fit_transform(data.X), model.components_

    return run


def misfit(data, factors):
    return 0.5 * float(np.linalg.norm(data.X - factors[0] @ factors[1]) ** 2)


def series_sizes(rng):
    p = log_uniform(rng, 5, 200)
    return {"n": log_uniform(rng, max(150, 4 * p), 4_000_000 // p), "p": p, "k": 3}


def series(sizes, rng):
    """Mixtures of sinusoids of different speed, and noise."""
    n = sizes["n"]
    p = sizes["p"]
    t = np.arange(n)[:, None] / n
    sources = np.sin(2 * np.pi * (rng.uniform(1, n / 10, size=p) * t + rng.random(p)))
    return Table((sources + 0.1 * rng.normal(size=(n, p))) @ rng.normal(size=(p, p)), 3)


def slow_features(data):
    from skmoderndata.decomposition import SlowFeatureAnalysis

    return SlowFeatureAnalysis(data.k).fit_transform(data.X)


def slow_by_hand(data):
    X = data.X - data.X.mean(axis=0)
    steps = np.diff(X, axis=0)
    A = steps.T @ steps / len(steps)
    _, W = eigh(A, X.T @ X / len(X), subset_by_index=[0, data.k - 1])
    return X @ W


def sksfa(data):
    from sksfa import SFA

    return SFA(n_components=data.k).fit_transform(data.X)


def slowness(data, outputs):
    """Return the sum of the mean squared steps, relative to the variances."""
    Y = np.asarray(outputs)[:, : data.k]
    return float((np.mean(np.diff(Y, axis=0) ** 2, axis=0) / Y.var(axis=0)).sum())


class Views(NamedTuple):
    X: np.ndarray
    Y: np.ndarray
    k: int
    alpha: float


def view_sizes(rng):
    return {
        "n": log_uniform(rng, 100, 1500),
        "p": log_uniform(rng, 5, 300),
        "q": log_uniform(rng, 5, 300),
        "k": log_uniform(rng, 1, 5),
    }


def views(sizes, rng):
    """Two tables with k causes in common, in which the noise is as large as they are."""
    n = sizes["n"]
    k = sizes["k"]
    common = rng.normal(size=(n, k))
    X, Y = (
        common @ rng.normal(size=(k, m)) + np.sqrt(k) * rng.normal(size=(n, m))
        for m in (sizes["p"], sizes["q"])
    )
    return Views(X, Y, k, 0.1)


def centred(A):
    K = rbf_kernel(A, gamma=1 / (A.shape[1] * A.var()))
    means = K.mean(axis=0)
    return K - means - (means - means.mean())[:, None]


def kernel_cca(data):
    from skmoderndata.cross_decomposition import KernelCCA

    # low-rank fits have no coefficients of all rows
    return KernelCCA(data.k, alpha=data.alpha, solver="exact").fit(data.X, data.Y).dual_coef_


def cca_by_hand(data):
    """Factorise ``(1 - alpha) K^2 / n + alpha K`` of both views, and take singular vectors."""
    parts = []
    for A in data[:2]:
        values, U = eigh(centred(A))
        # the regularised variance of K a is a' U (1 - alpha) d^2 / n + alpha d U' a
        values = np.maximum(values, 1e-12 * values[-1])
        root = np.sqrt((1 - data.alpha) * values**2 / len(A) + data.alpha * values)
        parts.append((U / root, U * (values / root)))
    (Wa, Sa), (Wb, Sb) = parts
    left, _, right = svd(Sa.T @ Sb)
    return Wa @ left[:, : data.k], Wb @ right[: data.k].T


def correlation(data, duals):
    """Return minus the sum of the regularised correlations of the pairs."""
    n = len(data.X)
    total = 0.0
    Ka, Kb = (centred(A) for A in data[:2])
    for a, b in zip(np.asarray(duals[0]).T, np.asarray(duals[1]).T, strict=True):
        sa = Ka @ a
        sb = Kb @ b
        size = [
            (1 - data.alpha) * (s @ s) / n + data.alpha * (c @ s)
            for s, c in ((sa, a), (sb, b))
        ]
        total += abs(sa @ sb) / n / np.sqrt(size[0] * size[1])
    return -float(total)


class Corrupted(NamedTuple):
    X: np.ndarray
    lam: float


def corrupted_sizes(rng):
    p = log_uniform(rng, 10, 300)
    return {
        "n": log_uniform(rng, p, min(20_000, 600_000 // p)),
        "p": p,
        "rank": log_uniform(rng, 1, max(2, p // 10)),
        "noise": float(rng.choice([0.0, 0.01])),
    }


def corrupted(sizes, rng):
    """Low rank, one entry in twenty replaced, and noise in half of the tables."""
    n = sizes["n"]
    p = sizes["p"]
    r = sizes["rank"]
    X = rng.normal(size=(n, r)) @ rng.normal(size=(r, p))
    X += sizes["noise"] * X.std() * rng.normal(size=X.shape)
    wrong = rng.random(X.shape) < 0.05
    X[wrong] += 5 * X.std() * rng.choice([-1.0, 1.0], size=int(wrong.sum()))
    return Corrupted(X, max(n, p) ** -0.5)


def pursuit(data):
    from skmoderndata.decomposition import RobustPCA

    return RobustPCA(algorithm="pcp").fit(data.X).low_rank_


def by_hand_ialm(tol, rho):
    def run(data):
        return inexact_alm(data, tol=tol, rho=rho).low_rank

    return Contender(run=run, peer=False)


def pursuit_objective(data, L):
    return float(svdvals(L).sum() + data.lam * np.abs(data.X - L).sum())


FAMILIES = {
    "SparseCoderLasso": Family(
        title="`SparseCoder`, lasso",
        sizes=signal_sizes,
        work=signals,
        contenders={
            "SparseCoder": coder("lasso"),
            "spams": Contender(run=spams_lasso, requires="spams-bin"),
            "sparse_encode": sklearn_lars,
        },
        value=lasso_objective,
        slack=1e-4,
        means="sum of the objectives, within 1e-4",
        reason=(
            "For up to a few hundred signals, most of the time goes into the input checks and "
            "the duality gap of each signal; `spams` has neither. Use `spams.lasso` for many "
            "calls with few signals if you do not need a certificate."
        ),
    ),
    "SparseCoderOMP": Family(
        title="`SparseCoder`, OMP",
        sizes=signal_sizes,
        work=signals,
        contenders={
            "SparseCoder": coder("omp"),
            "spams": Contender(run=spams_omp, requires="spams-bin"),
            "orthogonal_mp_gram": sklearn_omp,
        },
        value=residual_norm,
        slack=5e-3,
        means="norm of the residuals, within .5 %",
        reason=(
            "Checks take more than half of the time of calls with up to a thousand signals. Use "
            "`spams.omp` for many calls with few signals."
        ),
    ),
    "SparseNMF": Family(
        title="`SparseNMF(penalty=None)`",
        sizes=nmf_sizes,
        work=counts,
        contenders={
            "SparseNMF": nmf,
            "NMF, nndsvda": sklearn_nmf("nndsvda"),
            "NMF, nndsvd": sklearn_nmf("nndsvd"),
            "NMF, random": sklearn_nmf("random"),
        },
        value=misfit,
        slack=1e-3,
        means="objective, within 1e-3",
        reason=(
            "On small tables, or with one to five components, the spectral start, the exact "
            "codes at the end and the checks take longer than the passes of `NMF`, which has no "
            "test of the optimality conditions. Use `NMF(init='random')` for a quick fit of "
            "such a table."
        ),
    ),
    "SlowFeatureAnalysis": Family(
        title="`SlowFeatureAnalysis`, linear",
        sizes=series_sizes,
        work=series,
        contenders={
            "SlowFeatureAnalysis": slow_features,
            "SciPy, by hand": Contender(run=slow_by_hand, peer=False),
            "sksfa": Contender(run=sksfa, requires="sklearn-sfa"),
        },
        value=slowness,
        slack=1e-4,
        means="sum of the delta values, within 1e-4",
        reason=(
            "No table is lost to a package. The checks of `fit` and `transform` read the "
            "table several times, and the lines by hand have no checks. If a few "
            "milliseconds matter, use "
            "`scipy.linalg.eigh` with both covariance matrices."
        ),
    ),
    "KernelCCA": Family(
        title="`KernelCCA`",
        sizes=view_sizes,
        work=views,
        contenders={
            "KernelCCA": kernel_cca,
            "SciPy, by hand": Contender(run=cca_by_hand, peer=False),
        },
        value=correlation,
        slack=1e-4,
        means="sum of the regularised correlations, within 1e-4",
        reason=(
            "The peer by hand has no checks; below 150 rows, the class takes up to 2 ms more. "
            "If that matters, use the lines in `benchmarks/race/factors.py`."
        ),
    ),
    "RobustPCA": Family(
        title='`RobustPCA(algorithm="pcp")`',
        sizes=corrupted_sizes,
        work=corrupted,
        contenders={
            "RobustPCA": pursuit,
            "IALM 1e-4, by hand": by_hand_ialm(1e-4, 1.5),
            "IALM 1e-7, by hand": by_hand_ialm(1e-7, 1.5),
            "IALM 1e-7, rho 1.1, by hand": by_hand_ialm(1e-7, 1.1),
            "pyrpca": Contender(
                run=lambda data: pyrpca_ialm(data).low_rank, requires="pyrpca"
            ),
        },
        value=pursuit_objective,
        slack=1e-4,
        means="objective of L and X - L, within 1e-4",
        reason=(
            "On tables with noise in all cells, IALM soon comes within 1e-4 of the "
            "objective, without a certificate, whereas this class makes more passes until "
            "its gap is certified. Use IALM or `pyrpca` "
            "if such an objective is enough, and the default `algorithm` if the noise matters."
        ),
    ),
}

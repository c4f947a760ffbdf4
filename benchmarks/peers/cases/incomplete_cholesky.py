"""Pivoted incomplete Cholesky factorisation of a kernel matrix."""

from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender
from benchmarks.peers.case import Target

PUBLISHED = "20,000 x 10, rank 300"
LARGE = "100,000 x 10, rank 500"


class Samples(NamedTuple):
    """Standard normal samples and the requested rank."""

    X: np.ndarray
    rank: int

    @property
    def gamma(self):
        """Width of the kernel: squared distances are 2 n_features on average."""
        return 0.5 / self.X.shape[1]


def work(size, rng):
    n_samples, n_features, rank = size
    return Samples(rng.normal(size=(n_samples, n_features)), rank)


def blocked(samples):
    from skmoderndata.kernel_approximation import IncompleteCholesky

    model = IncompleteCholesky(samples.rank, gamma=samples.gamma, random_state=0)
    return model.fit_transform(samples.X)


def greedy(samples):
    from skmoderndata.kernel_approximation import IncompleteCholesky

    model = IncompleteCholesky(samples.rank, gamma=samples.gamma, algorithm="greedy")
    return model.fit_transform(samples.X)


def column_by_column(samples):
    """Greedy pivots, one column at a time; each step is a matrix-vector product."""
    X, rank = samples
    R = np.empty((rank, len(X)))
    d = np.ones(len(X))
    pivots = []
    squares = np.einsum("ij,ij->i", X, X)
    for j in range(rank):
        p = int(np.argmax(d))
        pivots.append(p)
        column = np.exp(-samples.gamma * np.maximum(squares + squares[p] - 2 * X @ X[p], 0))
        column -= R[:j, p] @ R[:j]
        column /= np.sqrt(d[p])
        R[j] = column
        d -= column * column
        d[pivots] = 0.0
    return R.T


def nystroem(fraction):
    """Nystroem features with a fraction of the rank as the number of landmarks."""

    def run(samples):
        from sklearn.kernel_approximation import Nystroem

        n_landmarks = min(int(fraction * samples.rank), len(samples.X))
        model = Nystroem(gamma=samples.gamma, n_components=n_landmarks, random_state=0)
        return model.fit_transform(samples.X)

    return run


def quality(samples, Z):
    """Fraction of the trace left, and relative error of the kernel values of 100 samples."""
    from sklearn.metrics.pairwise import rbf_kernel

    sampled = slice(0, None, max(1, len(samples.X) // 100))
    K = rbf_kernel(samples.X[sampled], gamma=samples.gamma)
    error = K - Z[sampled] @ Z[sampled].T
    return {
        "residual": float(1 - np.einsum("ij,ij->", Z, Z) / len(Z)),
        "error": float(np.linalg.norm(error) / np.linalg.norm(K)),
    }


def _against(contender, figure):
    """Compare our figure with another contender at every size: largest ratio."""

    def check(rows):
        found = {(row.size, row.contender): row for row in rows if row.ratio is not None}
        pairs = [
            (found[size, "IncompleteCholesky"].value(figure) / row.value(figure), size)
            for (size, name), row in found.items()
            if name == contender
        ]
        if not pairs:
            return None, "not measured"
        worst, size = max(pairs)
        return worst <= 1, f"at most {worst:.4g} ({size})"

    return check


def _in_equal_time(rows):
    """Compare with the most accurate Nystroem features that are at least as fast."""
    found = {(row.size, row.contender): row for row in rows if row.ratio is not None}
    pairs = []
    for size in dict.fromkeys(row.size for row in rows):
        rivals = [
            row.value("error")
            for (label, name), row in found.items()
            if label == size and name.startswith("Nystroem") and row.ratio <= 1.05
        ]
        if rivals:
            pairs.append(
                (found[size, "IncompleteCholesky"].value("error") / min(rivals), size)
            )
    if not pairs:
        return None, "none that takes no longer"
    worst, size = max(pairs)
    return worst <= 1, f"at most {worst:.4g} ({size})"


def _speed_up(rows):
    found = [
        row.ratio
        for row in rows
        if (row.contender, row.size) == ("greedy, column by column", LARGE)
        and row.ratio is not None
    ]
    if not found:
        return None, "not run at this size"
    return found[0] >= 5, f"{found[0]:.2g} times"


CASE = Case(
    title="Incomplete Cholesky factorisation",
    question=(
        "How much faster is it to choose pivots in chunks than one column at a time, and which "
        "pivots leave the smallest residual? The kernel is Gaussian, and the samples are "
        "standard normal."
    ),
    remarks=(
        "The residual is the fraction of the trace of the kernel matrix that the features leave "
        "unexplained. Three features make an easy problem, and 500 make a hard one. No contender "
        "forms the kernel matrix of 100,000 samples, which would need 80 GB."
    ),
    ours="IncompleteCholesky",
    sizes={
        "2,000 x 10, rank 50": (2_000, 10, 50),
        PUBLISHED: (20_000, 10, 300),
        "20,000 x 3, rank 300": (20_000, 3, 300),
        "2,000 x 500, rank 300": (2_000, 500, 300),
        LARGE: (100_000, 10, 500),
    },
    quick_sizes={"3,000 x 10, rank 50": (3_000, 10, 50)},
    warmup=(500, 10, 10),
    work=work,
    contenders={
        "IncompleteCholesky": Contender(
            run=blocked,
            peer=False,
            note="pivots drawn in chunks, with probabilities proportional to the residuals",
        ),
        "greedy": Contender(
            run=greedy,
            peer=False,
            note="`IncompleteCholesky`, where each pivot is the sample with the largest residual",
        ),
        "greedy, column by column": Contender(
            run=column_by_column,
            peer=False,
            note="greedy pivots in numpy, implemented in this benchmark",
        ),
        "Nystroem": Contender(
            run=nystroem(1),
            requires="scikit-learn>=1.9",
            note="the same number of random landmarks",
        ),
        "Nystroem, fewer": Contender(
            run=nystroem(0.85),
            requires="scikit-learn>=1.9",
            note=(
                "0.85 times as many landmarks, which takes about as long as "
                "`IncompleteCholesky`"
            ),
        ),
    },
    quality=quality,
    figures={
        "residual": "fraction of the trace of the kernel matrix left unexplained",
        "error": "relative Frobenius error of the kernel matrix of a hundred samples",
    },
    memory_unit=(
        "multiples of the size of the computed features",
        lambda samples: 8.0 * len(samples.X) * samples.rank,
    ),
    targets=(
        Target(
            text=(
                "error no larger than the error of Nystroem features that are no slower "
                "(within 5 %)"
            ),
            check=_in_equal_time,
        ),
        Target(
            text="residual no larger than with greedy pivots",
            check=_against("greedy", "residual"),
        ),
        Target(
            text="at least 5 times as fast as column by column, at 100,000 samples and rank 500",
            check=_speed_up,
        ),
    ),
    repeat=3,
)

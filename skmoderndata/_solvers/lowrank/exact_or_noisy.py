"""Decide whether the cells of a table are exact, apart from gross errors, or carry noise.

The decision is made while pursuit of an exact low rank runs, by two criteria. 1. A matrix of rank
r has ``r (n + p - r)`` degrees of freedom and can fit at most this number of cells exactly if the
noise is continuous. Pursuit fits several times as many cells of exact data exactly, and fewer
cells of noisy data. 2. Least squares of this rank on the exactly fitted cells leaves no residual
on exact data, and a residual of the size of the noise on noisy data.
"""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.common.iterate import WatchedProgress
from skmoderndata._solvers.common.linalg import eigen_range
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, INNER_SHARE
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.central_path import MAX_STEPS, follow_path
from skmoderndata._solvers.lowrank.principal_component_pursuit import (
    PursuitResult,
    principal_component_pursuit,
)
from skmoderndata._solvers.lowrank.quantiles import (
    GROSS,
    MEDIAN_TO_STD,
    SETTLED,
    SIDE,
    live_columns,
    masked_quantile,
    median_deviations,
    median_size,
)
from skmoderndata._solvers.lowrank.trusted_cells import fit_trusted

# Numbers of passes after which the balanced pursuit is examined.
LOOKS = (10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640)

# Numbers of passes after which the pursuit with a growing penalty is examined.
GROWING_LOOKS = (12, 16, 20, 25, 30, 40)

# Numbers of passes after which it is examined if the cells count as exact; it ends when two
# examinations have found noise.
DECIDED_LOOKS = tuple(range(12, 45, 3))

# Maximum number of passes with a growing penalty.
GROWING_PASSES = 45

# Minimum ratio of the sides of a noisy table for which the central path is faster.
ELONGATED = 3

# Maximum number of passes without a decision.
DECIDING_PASSES = 1000


# Tolerance of the relative duality gap while it is not yet known whether the cells are exact; with
# a looser tolerance, pursuit would fit cells that it should not fit.
DECIDING_GAP = 1e-6

# Number of passes before the first probe; earlier, the rank has not settled.
FIRST_PROBE = 20


# Minimum ratio of exactly fitted cells to degrees of freedom in exact data; it is above 1 because
# a few rounded cells are fitted exactly by chance.
SAFE_RATIO = 1.2

# Maximum fraction of clipped cells for a probe; with more, too few cells remain.
MOST_CLIPPED = 0.6


# Minimum number of rows, and of columns, of a probed block, in multiples of the rank.
PROBE_RANKS = 10

# Maximum number of rounds of a probe.
PROBE_ROUNDS = 3

# Number of least-squares steps in a round before the early residual is measured.
EARLY_STEPS = 3

# Number of further steps in a round before the late residual is measured.
LATE_STEPS = 2


# Maximum residual of exact cells, relative to the median cell; float32 rounding counts as exact.
EXACT_RELATIVE = 1e-7

# Maximum residual of exact cells, relative to the median absolute deviation of their column.
EXACT_IN_COLUMN = 1e-5

# Minimum fraction of exact columns in an exact table.
MOST_COLUMNS = 0.9

# Minimum residual of noise, relative to the median cell.
FLOOR_RELATIVE = 3e-7


# Minimum ratio of the late residual of a probe that makes no progress to the residual of the
# pursuit.
NO_GAIN = 0.3


class Evidence(NamedTuple):
    """Properties of the table that all examinations of a pursuit use."""

    observed: Array  # (n, p)
    live: Array  # (p,), mask of columns in which fewer than half of the cells are equal
    scale: float  # median absolute value of the known cells in live columns


class Probe(NamedTuple):
    """Median absolute residuals of the live trusted cells in a block."""

    before: float  # residual of the pursuit
    early: float  # residual after 3 steps of the last round
    late: float  # residual after 5 steps of the last round
    exact_columns: float  # fraction of live columns with residuals far below their spread


def exact_or_noisy(
    X: Array,
    *,
    lam: float,
    decide: bool = True,
    solver: str = "auto",
    schedule: str = "auto",
    tol: float = 1e-7,
    tol_gap: float = 1e-6,
    max_iter: int = 5000,
    progress: WatchedProgress | None = None,
    rng: np.random.RandomState,
) -> tuple[PursuitResult, bool]:
    """Run principal component pursuit until the cells turn out to be noisy, or to its end.

    Returns the result of the pursuit, and True if the cells are exact.

    With ``schedule="auto"`` the penalty grows, and is reset if growth alone misses the optimum:
    exact data take 15 to 30 passes, but 28 to 106 with the balanced penalty (2000 x 200). If 45
    passes do not reach the optimum, or too few cells are fitted exactly, pursuit starts again with
    the balanced penalty. The rank overshoots under a growing penalty, so that only the balanced
    penalty can decide on noise by the ratio. With ``decide=False`` the cells count as exact.
    """
    evidence = gather(X)
    decides = decide and bool(evidence.live.any())
    settings: dict[str, Any] = {
        "lam": lam,
        "solver": solver,
        "tol": min(tol, INNER_SHARE * DECIDING_GAP) if decides else tol,
        "tol_gap": min(tol_gap, DECIDING_GAP) if decides else tol_gap,
        "progress": progress,
        "rng": rng,
    }
    n_passes = 0
    verdict = None if decides else True

    # 1. try the pursuit with a growing penalty
    if schedule == "auto":
        looks = GROWING_LOOKS if decides else DECIDED_LOOKS
        watch = _Watch(X, lam, evidence, looks, verdict, grows=True, n_low=1 if decides else 2)
        limit = min(GROWING_PASSES, max_iter)
        result = principal_component_pursuit(
            X, schedule="ialm", max_iter=limit, watch=watch, **settings
        )
        n_passes = result.n_iter
        verdict = watch.verdict
        if verdict is None and result.converged:
            verdict = watch.ratio(result.dual, len(result.s)) > SAFE_RATIO
        ended = n_passes >= max_iter or (progress is not None and progress.stopped)
        if verdict is False or result.converged or ended:
            return result, verdict is not False

        # 2. follow the central path if the cells are noisy, but the exact problem is asked for
        elongated = max(X.shape) >= ELONGATED * min(X.shape)
        if not decides and watch.n_low <= 0 and elongated:
            limit = min(MAX_STEPS, max_iter - n_passes)
            result = follow_path(
                X, result, lam=lam, tol_gap=tol_gap, max_iter=limit, progress=progress
            )
            n_passes += result.n_iter
            ended = n_passes >= max_iter or (progress is not None and progress.stopped)
            if result.converged or ended:
                return result._replace(n_iter=n_passes), True

    # 3. try the pursuit with a balanced penalty
    watch = _Watch(X, lam, evidence, LOOKS, verdict)
    result = principal_component_pursuit(
        X,
        schedule="balanced" if schedule == "auto" else schedule,
        max_iter=max_iter - n_passes,
        watch=watch if decides else None,
        **settings,
    )
    result = result._replace(n_iter=result.n_iter + n_passes)
    exact = watch.verdict
    if exact is None and result.n_iter >= max_iter:  # no passes are left for another problem
        exact = True
    if exact is None:
        exact = result.converged and watch.ratio(result.dual, len(result.s)) > SAFE_RATIO
    return result, exact


class _Watch:
    """Examination of a pursuit in some passes.

    `verdict` is True for exact cells, False for noisy cells, and None if undecided.
    """

    def __init__(
        self,
        X: Array,
        lam: float,
        evidence: Evidence,
        looks: tuple[int, ...],
        verdict: bool | None,
        *,
        grows: bool = False,
        n_low: int = 1,
    ) -> None:
        self.X = X
        self.lam = lam
        self.evidence = evidence
        self.looks = looks
        self.verdict = verdict
        self.grows = grows
        self.last_rank = -1
        self.n_low = n_low  # number of examinations with a low ratio that end the pursuit

    def ratio(self, Y: Array, rank: int) -> float:
        """Return the number of exactly fitted cells over the degrees of freedom."""
        return met_per_freedom(Y, self.lam, rank, self.evidence)

    def __call__(self, n_iter: int, L: Array, Y: Array, rank: int) -> bool:
        """Examine a pass; return True to stop the pursuit."""
        if n_iter not in self.looks:
            return n_iter == DECIDING_PASSES and self.verdict is None
        same_rank = rank == self.last_rank
        self.last_rank = rank

        # conclude that there is noise if fewer cells are fitted exactly than a matrix of this rank
        # can fit
        ratio = self.ratio(Y, rank)
        if ratio < 1:
            self.n_low -= 1
            if not self.grows:
                self.verdict = False
            return self.n_low <= 0
        if self.verdict or n_iter < FIRST_PROBE:
            return False

        # check whether least squares on the exactly fitted cells leave a residual
        clipped = is_clipped(Y, self.lam)
        if clipped.mean() > MOST_CLIPPED:
            return False
        block = _block(self.X.shape, rank, seed=n_iter)
        fit = probe(self.X, L, clipped, rank, self.evidence, block)
        self.verdict = judge(fit, self.evidence.scale, ratio, same_rank=same_rank)
        return self.verdict is False


def gather(X: Array) -> Evidence:
    """Find the known cells, the live columns, and the median size of known live cells."""
    observed = ~np.isnan(X)
    live = live_columns(X)
    scale = median_size(X, observed & live) if live.any() else 0.0
    return Evidence(observed, live, scale)


def is_clipped(Y: Array, lam: float) -> Array:
    """Mark cells with their dual at its bound; their S need not be zero."""
    return np.abs(Y) >= lam * (1 - ACCUMULATED_ROUNDING)


def met_per_freedom(Y: Array, lam: float, rank: int, evidence: Evidence) -> float:
    """Count live known cells with S = 0, over the degrees of freedom of this rank."""
    inside = ~is_clipped(Y, lam) & evidence.observed
    n = Y.shape[0]
    p = int(evidence.live.sum())
    freedom = rank * (n + p - rank) if rank < min(n, p) else n * p
    return float(inside[:, evidence.live].sum() / max(freedom, 1))


def _block(shape: tuple[int, ...], rank: int, *, seed: int) -> tuple[Array, Array]:
    """Draw enough rows and columns for a fit of the rank."""
    rng = np.random.default_rng(seed)
    rows = _sample(shape[0], max(SIDE, PROBE_RANKS * rank), rng)
    return rows, _sample(shape[1], max(SIDE, PROBE_RANKS * rank), rng)


def _sample(size: int, n_drawn: int, rng: np.random.Generator) -> Array:
    if n_drawn >= size:
        return np.arange(size)
    return np.sort(rng.choice(size, n_drawn, replace=False))


def probe(
    X: Array,
    L: Array,
    clipped: Array,
    rank: int,
    evidence: Evidence,
    block: tuple[Array, Array],
) -> Probe:
    """Fit the cells of a block that pursuit fits exactly, by least squares of its rank.

    There are up to three rounds of 3 alternating steps, plus 2 unless the fit is exact already.
    Each round leaves out the clipped cells and the cells that the last round did not explain.
    These few steps suffice for alternating regressions. Steps that only fill in the left-out cells
    converge linearly, which looks like a floor of noise.
    """
    cells = np.ix_(*block)
    X = X[cells]
    L = L[cells]
    clipped = clipped[cells]
    observed = evidence.observed[cells]
    live = evidence.live[block[1]]
    if not (observed & live).any():
        return Probe(np.inf, np.inf, np.inf, 0.0)
    before = median_size(X - L, observed & live)

    trusted = observed & ~clipped
    B = leading_vectors(np.where(trusted, X, L), rank)
    for _ in range(PROBE_ROUNDS):
        tried = trusted
        A, B = fit_trusted(X, tried, B, n_steps=EARLY_STEPS)
        residuals = np.abs(X - A @ B.T)
        early = late = median_size(residuals, tried & live)
        if early >= EXACT_RELATIVE * evidence.scale:
            A, B = fit_trusted(X, tried, B, n_steps=LATE_STEPS)
            residuals = np.abs(X - A @ B.T)
            late = median_size(residuals, tried & live)
        if late < EXACT_RELATIVE * evidence.scale:
            break
        trusted = observed & ~clipped & ~(residuals > GROSS * MEDIAN_TO_STD * late)

    # test the columns separately, because small columns next to large ones may seem to be fitted
    # exactly
    residuals = np.where(tried, residuals, np.nan)[:, live]
    with np.errstate(invalid="ignore"):
        relative = masked_quantile(residuals, 0.5) / median_deviations(X[:, live])
    relative = relative[~np.isnan(relative)]
    exact_columns = float(np.mean(relative < EXACT_IN_COLUMN)) if relative.size else 0.0
    return Probe(before, early, late, exact_columns)


def leading_vectors(X: Array, rank: int) -> Array:
    """Compute leading right singular vectors (p, rank) by the smaller Gram matrix, for a start."""
    n, p = X.shape
    if rank == 0:
        return np.zeros((p, 0))
    if p <= n:
        return eigen_range(X.T @ X, p - rank, p)[1]
    return X.T @ eigen_range(X @ X.T, n - rank, n)[1]


def judge(fit: Probe, scale: float, ratio: float, *, same_rank: bool) -> bool | None:
    """Return True for exact cells, False for noisy cells, None if undecided."""
    is_met = fit.late < EXACT_RELATIVE * scale and fit.exact_columns >= MOST_COLUMNS
    if is_met and ratio > SAFE_RATIO:
        return True
    stalled = fit.late > SETTLED * fit.early and fit.late > NO_GAIN * fit.before
    if stalled and same_rank and fit.late > FLOOR_RELATIVE * scale:
        return False
    return None

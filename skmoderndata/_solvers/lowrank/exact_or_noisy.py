"""Decide whether the cells of a table are exact, apart from gross errors, or carry noise.

Pursuit of an exact low rank is looked at while it runs. Two things tell the cases apart. A matrix
of rank r has ``r (n + p - r)`` degrees of freedom and meets at most so many cells of a table with
continuous noise exactly: pursuit of exact data meets several times as many, of noisy data fewer.
And least squares of that rank on the cells that are met comes to nothing on exact data, on noisy
data it stays at the noise.
"""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.common.iterate import WatchedProgress
from skmoderndata._solvers.common.linalg import eigen_range
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.lowrank.principal_component_pursuit import (
    PursuitResult,
    principal_component_pursuit,
)
from skmoderndata._solvers.lowrank.quantiles import (
    MEDIAN_TO_STD,
    live_columns,
    masked_quantile,
    median_deviations,
    median_size,
)
from skmoderndata._solvers.lowrank.trusted_cells import fit_trusted

LOOKS = (10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640)  # passes
GROWING_LOOKS = (12, 16, 20, 25, 30, 40)
GROWING_PASSES = 45
DECIDING_PASSES = 1000
# a loose optimum meets cells that it should not
DECIDING_TOL = 1e-7
DECIDING_GAP = 1e-6
FIRST_PROBE = 20  # pass before which the rank has not settled

LEAST_RATIO = 1.0  # of cells met exactly to degrees of freedom: below it there is noise
SAFE_RATIO = 1.2  # above which they are exact: rounded cells are met by chance, too
MOST_CLIPPED = 0.6  # share of the cells beyond which a probe has too few

# block: at least so many, and 10 times r
PROBE_ROWS = 300
PROBE_COLUMNS = 200
PROBE_RANKS = 10
PROBE_ROUNDS = 3
EARLY_STEPS = 3
LATE_STEPS = 2
GROSS = 5.0 * MEDIAN_TO_STD  # median absolute residuals
EXACT_RELATIVE = 1e-7  # residual over median cell: rounding of float32 counts as exact
EXACT_IN_COLUMN = 1e-5  # residual over median absolute deviation of a column
MOST_COLUMNS = 0.9
FLOOR_RELATIVE = 3e-7  # residual over median cell from which a floor is noise
# late over early residual of a probe, late over that of the pursuit
STALLED = 0.98
NO_GAIN = 0.3


class Evidence(NamedTuple):
    """What the looks share."""

    observed: Array  # (n, p)
    live: Array  # (p,), columns of which less than half of the cells are alike
    scale: float  # median absolute value of the known cells in live columns


class Probe(NamedTuple):
    """Median absolute residuals of the live trusted cells in a block."""

    before: float  # of the pursuit
    early: float  # after 3 steps of the last round
    late: float  # after 5
    exact_columns: (
        float  # share of the live columns whose residual is nothing beside their spread
    )


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

    Returns what it has reached, and whether the cells are exact. With ``schedule="auto"`` the
    penalty grows, and is reset where that alone leads beside the optimum: 15 to 30 passes on
    exact data, for 28 to 106 with the balanced penalty (2000 x 200). Where 45 passes do not
    reach the optimum, or too few cells are met, pursuit starts again with the balanced penalty:
    the rank overshoots under a growing one, and only the balanced one decides on noise by the
    ratio. With ``decide=False`` the cells are taken as exact.
    """
    evidence = gather(X)
    decides = decide and bool(evidence.live.any())
    settings: dict[str, Any] = {
        "lam": lam,
        "solver": solver,
        "tol": min(tol, DECIDING_TOL) if decides else tol,
        "tol_gap": min(tol_gap, DECIDING_GAP) if decides else tol_gap,
        "progress": progress,
        "rng": rng,
    }
    n_passes = 0
    verdict = None if decides else True

    # 1. a growing penalty, as far as it leads to the optimum
    if schedule == "auto":
        watch = _Watch(X, lam, evidence, GROWING_LOOKS, verdict, grows=True)
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

    # 2. the balanced one
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
    if exact is None and result.n_iter >= max_iter:  # nothing is left for another problem
        exact = True
    if exact is None:
        exact = result.converged and watch.ratio(result.dual, len(result.s)) > SAFE_RATIO
    return result, exact


class _Watch:
    """Looks at a pursuit in some of its passes; `verdict`: exact True, noisy False, else None."""

    def __init__(
        self,
        X: Array,
        lam: float,
        evidence: Evidence,
        looks: tuple[int, ...],
        verdict: bool | None,
        *,
        grows: bool = False,
    ) -> None:
        self.X = X
        self.lam = lam
        self.evidence = evidence
        self.looks = looks
        self.verdict = verdict
        self.grows = grows
        self.last_rank = -1

    def ratio(self, Y: Array, rank: int) -> float:
        """Cells met exactly, over the degrees of freedom."""
        return met_per_freedom(Y, self.lam, rank, self.evidence)

    def __call__(self, n_iter: int, L: Array, Y: Array, rank: int) -> bool:
        """Look at the pass; return whether to end the pursuit here."""
        if n_iter not in self.looks:
            return n_iter == DECIDING_PASSES and self.verdict is None
        same_rank = rank == self.last_rank
        self.last_rank = rank

        # fewer cells met exactly than a matrix of this rank can meet
        ratio = self.ratio(Y, rank)
        if ratio < LEAST_RATIO:
            if not self.grows:
                self.verdict = False
            return True
        if self.verdict or n_iter < FIRST_PROBE:
            return False

        # does least squares on the cells that are met come to nothing?
        clipped = is_clipped(Y, self.lam)
        if clipped.mean() > MOST_CLIPPED:
            return False
        block = _block(self.X.shape, rank, seed=n_iter)
        fit = probe(self.X, L, clipped, rank, self.evidence, block)
        self.verdict = judge(fit, self.evidence.scale, ratio, same_rank=same_rank)
        return self.verdict is False


def gather(X: Array) -> Evidence:
    """Find the known cells, the live columns, and the median size of the known cells in these."""
    observed = ~np.isnan(X)
    live = live_columns(X)
    scale = median_size(X, observed & live) if live.any() else 0.0
    return Evidence(observed, live, scale)


def is_clipped(Y: Array, lam: float) -> Array:
    """Cells whose dual is at its bound: their S need not be zero."""
    return np.abs(Y) >= lam * (1 - 1e-12)


def met_per_freedom(Y: Array, lam: float, rank: int, evidence: Evidence) -> float:
    """Live known cells with S = 0, over the degrees of freedom of a matrix of that rank."""
    inside = ~is_clipped(Y, lam) & evidence.observed
    n = Y.shape[0]
    p = int(evidence.live.sum())
    freedom = rank * (n + p - rank) if rank < min(n, p) else n * p
    return float(inside[:, evidence.live].sum() / max(freedom, 1))


def _block(shape: tuple[int, ...], rank: int, *, seed: int) -> tuple[Array, Array]:
    """Rows and columns at random, enough for a fit of the rank."""
    rng = np.random.default_rng(seed)
    rows = _sample(shape[0], max(PROBE_ROWS, PROBE_RANKS * rank), rng)
    return rows, _sample(shape[1], max(PROBE_COLUMNS, PROBE_RANKS * rank), rng)


def _sample(size: int, wanted: int, rng: np.random.Generator) -> Array:
    if wanted >= size:
        return np.arange(size)
    return np.sort(rng.choice(size, wanted, replace=False))


def probe(
    X: Array,
    L: Array,
    clipped: Array,
    rank: int,
    evidence: Evidence,
    block: tuple[Array, Array],
) -> Probe:
    """Fit the cells of a block that pursuit meets by least squares of its rank.

    Up to three rounds of 3 alternating steps, and 2 more unless these meet the cells. Each round
    leaves out, besides the clipped cells, those that the last one did not explain. Alternating
    regressions need so few; steps that only fill in the cells that are left out converge
    linearly, which looks like a floor.
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
        trusted = observed & ~clipped & ~(residuals > GROSS * late)

    # small columns beside large ones may be met exactly by chance: each column has its own say
    residuals = np.where(tried, residuals, np.nan)[:, live]
    with np.errstate(invalid="ignore"):
        relative = masked_quantile(residuals, 0.5) / median_deviations(X[:, live])
    relative = relative[~np.isnan(relative)]
    exact_columns = float(np.mean(relative < EXACT_IN_COLUMN)) if relative.size else 0.0
    return Probe(before, early, late, exact_columns)


def leading_vectors(X: Array, rank: int) -> Array:
    """Leading right singular vectors (p, rank) by the smaller Gram matrix, to start from."""
    n, p = X.shape
    if rank == 0:
        return np.zeros((p, 0))
    if p <= n:
        return eigen_range(X.T @ X, p - rank, p)[1]
    return X.T @ eigen_range(X @ X.T, n - rank, n)[1]


def judge(fit: Probe, scale: float, ratio: float, *, same_rank: bool) -> bool | None:
    """Exact (True), noisy (False), or not yet to be told (None)."""
    is_met = fit.late < EXACT_RELATIVE * scale and fit.exact_columns >= MOST_COLUMNS
    if is_met and ratio > SAFE_RATIO:
        return True
    stalled = fit.late > STALLED * fit.early and fit.late > NO_GAIN * fit.before
    if stalled and same_rank and fit.late > FLOOR_RELATIVE * scale:
        return False
    return None

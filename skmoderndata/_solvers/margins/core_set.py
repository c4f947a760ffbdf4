"""Core sets: quadratic programs on a simplex with one variable per sample, solved on a few.

All problems here have the form `min a' K' a - v' a` over the simplex, which is the dual of a
minimum enclosing ball whose centre is constrained; `g = K' a - v / 2` is half the gradient, and
the point furthest from the centre is the one with the smallest `g`.
"""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.box_qp import box_state
from skmoderndata._solvers.margins.coordinate_qp import coordinates_to_levels, take_weights
from skmoderndata._solvers.margins.core import Core
from skmoderndata._solvers.margins.simplex_qp import CVXPY_LIMIT, half_gradient, simplex_qp

# units scored at a time, growing
FIRST_BLOCK = 1000
LAST_BLOCK = 200_000
MOST_PASSES = 1000  # full passes before the search for a certificate is given up
# points that join the core set at a time
FEWEST_ADDED = 16
MOST_ADDED = 512
QUIET_SAMPLES = 20  # samples without a violator before all points are looked at
RARE = 1e-2  # fraction of violators that random samples of the published rule do not find
WHOLE = 2000  # variables up to which the whole problem is solved, without a core set
WHOLE_SPREAD = 1e-2  # spread of half the gradient to begin with, in margins
EXACT_UNITS = 100  # problems up to this size are solved to rounding
CROWDED = 0.2  # fraction of support vectors above which a core set is no saving
SINGLE = 1e-6  # relative duality gap that rows in single precision can certify
TIGHT = 1e-12  # relative duality gap that is taken for rounding


class CoreSetResult(NamedTuple):
    """A weighted core set and how far it is from the optimum."""

    core: Array  # indices, also those of weight zero
    weights: Array
    rho: float  # a' K' a
    gap: float  # relative duality gap
    violation: float  # largest remaining violation, in units of the margin
    values: Array  # values of the function at all units, from the last pass
    n_iter: int
    n_passes: int
    converged: bool
    full: bool  # stopped because of `max_core`
    handed_over: bool = False  # solved on all samples, by steps along single weights


class SearchSettings(NamedTuple):
    """What a search for a core set is asked for; see `core_set`."""

    tol: float  # relative duality gap
    eps: float | None  # of the radius, by the published rule
    solver: str  # of the problem on the core set
    max_core: int | None  # points
    max_iter: int  # solutions on the core set
    cache_size: float  # megabytes, of the matrix of the core set


def core_set(
    problem: Any,
    *,
    tol: float = 0.05,
    eps: float | None = None,
    solver: str = "core_set",
    sampling: tuple[int, int] | None = None,
    max_core: int | None = None,
    max_iter: int = 10_000,
    cache_size: float = 500.0,
    start: tuple[Array, Array] | None = None,
    rng: np.random.RandomState,
    progress: Progress | None = None,
) -> CoreSetResult:
    """Minimise `a' K' a - v' a` over the simplex on a growing core set [Tsang 2005].

    Points that violate optimality, `g < level - tau`, are looked for in random blocks, join the
    core set, and the problem is solved again on it; passes over all points give the certificate.
    Where a fifth of the samples have weight, a core set saves nothing: if the problem can store
    kernel rows, `signed_rows_first` goes on from its weights.

    Parameters
    ----------
    problem : SignedRows, OneClassRows, TubeRows, GivenPairs or GradedRows
    tol : float
        Relative duality gap to reach. The tolerated violation tau begins at half the margin and
        falls until the gap is reached.
    eps : float or None
        Published rule instead: no point further from the centre than `(1 + eps)` radii, as far
        as random samples tell, that is for all but one in a hundred.
    solver : {"core_set", "ball", "cvxpy"}
        How weights are found on the core set; "ball" shifts a ball of fixed radius.
    sampling : (sample_size, batch_size) or None
        Points in a sample of which the worst is taken: the worst of 59 is among the worst five
        per cent with probability 0.95; and points that join at a time. None searches blocks that
        grow, and re-scores only the points near the margin.
    max_core : int or None
        Largest core set.
    max_iter : int
        Largest number of solutions on the core set.
    cache_size : float
        Megabytes for the matrix of the core set. Where it would be larger it is not held: the
        weights are found on working sets.
    start : tuple of (indices, weights) or None
        An earlier result.
    rng : RandomState
    progress : Progress or None
    """
    plain = sampling is None or problem.n_units <= EXACT_UNITS
    whole = solver == "core_set" and eps is None and plain and max_core is None
    if (
        whole
        and problem.listed
        and problem.n_indices <= min(WHOLE, (cache_size * 2**17) ** 0.5)
    ):
        return whole_set(problem, tol, max_iter, start, progress)

    settings = SearchSettings(tol, eps, solver, max_core, max_iter, cache_size)
    search = _Search(problem, settings, start, rng, progress)
    hand_over = whole and tol >= SINGLE and problem.make_store is not None and not search.exact
    if hand_over:
        search.crowd = CROWDED * problem.n_units
    if sampling is None:
        search.blocks(until_crowded=hand_over)
    else:
        search.sample(*sampling)
    if search.crowded and not search.stopped:
        return signed_rows_first(problem, search, tol, max_iter, progress)
    return search.finish()


def whole_set(
    problem: Any,
    tol: float,
    max_iter: int,
    start: tuple[Array, Array] | None,
    progress: Progress | None,
) -> CoreSetResult:
    """Minimise `a' K' a - v' a` over the simplex on all variables, by pairwise descent.

    The spread of half the gradient falls from a hundredth of the margin until the relative
    duality gap is at most `tol`; problems of few units are solved to rounding.
    """
    n = problem.n_indices
    Q, signs, a = problem.whole()
    v = problem.linear(np.arange(n))

    if start is not None:
        a = np.zeros(n)
        a[start[0]] = start[1] / start[1].sum()

    # half the gradient, and rho = a' K' a
    spread = 0.1 * TIGHT if problem.n_units <= EXACT_UNITS else WHOLE_SPREAD
    g = half_gradient(Q, v, a, signs)
    rho = float(a @ (g + 0.5 * v))
    diagonal = Q.diagonal()

    it = Iterations(max_iter, tol, progress)
    for _ in it:
        # 1. solve until the spread is small beside the margin, whose size only the solution tells
        unit = problem.margin_unit(rho)
        aim = np.inf
        solved = True
        while solved and aim > 2.0 * spread * max(unit, 0.0):  # the margin shrinks on the way
            aim = spread * unit
            result = simplex_qp(Q, v, a, tol=aim, gradient=g, diagonal=diagonal, signs=signs)
            a = result.a
            g = result.gradient
            solved = result.converged
            rho = float(a @ (g + 0.5 * v))
            unit = problem.margin_unit(rho)

        # 2. gap over all units; while it is open, two digits more
        values = problem.unit_values(g, a)
        used = np.flatnonzero(a)
        gap = problem.relative_gap(values, used, a[used], rho)
        it.residual = max(gap, 1e-300)  # with tol = 0 a gap of 0 by rounding does not end it
        it.ended = rho <= 0 or spread < TIGHT  # as good as rounding allows
        spread *= 0.01

    return CoreSetResult(
        core=used,
        weights=a[used],
        rho=rho,
        gap=gap,
        violation=relative_gap(a @ g, g.min(), unit=unit) if unit > 0 else np.inf,
        values=values,
        n_iter=it.n_iter,
        n_passes=it.n_iter,
        converged=gap <= (max(tol, TIGHT) if it.ended else tol),
        full=False,
    )


def signed_rows_first(
    problem: Any,
    search: "_Search",
    tol: float,
    max_iter: int,
    progress: Progress | None,
) -> CoreSetResult:
    """Minimise over all samples, from the weights of a core set.

    A multiple of the weights on the simplex, with signs, minimises
    `1/2 w' K w + 1/2 sum_i own_i w_i^2 - y' w` over `y_i w_i >= 0`, the program of `box_qp`
    without sums. The best multiple of weights a is `1 / (a' K' a)`.
    """
    y = problem.signs.astype(np.float64)
    core = search.core
    store = problem.stored()
    evaluations_before = store.n_evaluations
    # weights of the core set in units of the whole problem, with signs
    start = np.zeros(len(y))
    signed = core.a * y[core.indices]
    start[core.indices] = signed / (core.rho * problem.scale)
    ridge = problem.own * problem.scale
    low = np.where(y < 0, -np.inf, 0.0)
    high = np.where(y > 0, np.inf, 0.0)

    def on_simplex(w: Array, g: Array) -> tuple[Array, Array, Array, float]:
        """Values, support, weights and rho in the scaled problem."""
        used = np.flatnonzero(w)
        total = float(np.abs(w).sum()) or 1.0
        unit = total * problem.scale
        values = (g - ridge * w + y) / unit
        a = np.abs(w[used]) / total
        rho = float(w @ g + w @ y) / (total * unit)
        return values, used, a, rho

    def gap(w: Array, g: Array) -> float:
        return float(problem.relative_gap(*on_simplex(w, g)))

    # steps along single weights from these, over all samples
    zero = np.zeros(len(y))
    state = box_state(store, zero, low=low, high=high, ridge=ridge, linear=-y, tube=0.0)
    take_weights(store, state, start)
    remaining = max(1, max_iter - search.it.n_iter)
    result = coordinates_to_levels(
        store, state, gap, tol=tol, max_iter=remaining, progress=progress
    )
    problem.rows.n_evaluations += store.n_evaluations - evaluations_before

    values, used, a, rho = on_simplex(result.w, result.gradient)
    lowest = float((y * values)[result.w == 0].min(initial=rho))
    return CoreSetResult(
        core=used,
        weights=a,
        rho=rho,
        gap=result.gap,
        violation=relative_gap(rho, lowest, unit=rho) if rho > 0 else np.inf,
        values=values,
        n_iter=search.it.n_iter + result.n_iter,
        n_passes=1,
        converged=result.converged,
        full=False,
        handed_over=True,
    )


class _Search:
    """State of one run."""

    def __init__(
        self,
        problem: Any,
        settings: SearchSettings,
        start: tuple[Array, Array] | None,
        rng: np.random.RandomState,
        progress: Progress | None,
    ) -> None:
        self.problem = problem
        self.settings = settings
        self.rng = rng

        # room for matrices: the ball method knows no other, the cone solver needs the whole one
        self.max_core = problem.n_indices
        if settings.max_core is not None:
            self.max_core = max(settings.max_core, 2)
        max_rows = int((settings.cache_size * 2**20 / 8) ** 0.5)  # of the largest matrix
        if settings.solver == "ball":
            self.max_core = max(2, min(self.max_core, max_rows))
        elif settings.solver == "cvxpy":
            max_rows = max(max_rows, CVXPY_LIMIT)

        # tolerances, which fall; small problems are solved to rounding, with the least violation
        self.tol = settings.tol
        self.share = 0.5  # tolerated violation in margins
        self.kappa = float(problem.largest_diagonal)
        self.ball_eps = 0.5
        few = EXACT_UNITS if problem.listed else WHOLE**0.5
        by_gap = settings.eps is None and settings.solver == "core_set"
        self.exact = by_gap and problem.n_units <= few
        if self.exact:
            self.share = 0.01
            self.tol = min(self.tol, TIGHT)

        # why a search ends
        self.it = Iterations(settings.max_iter, -1.0, progress)
        self._ticks = iter(self.it)
        self.n_passes = 0
        self.stopped = False
        self.full = False
        self.crowd = np.inf  # so many weights are too many for a core set

        # the first core set
        whole = problem.listed and problem.n_indices <= CVXPY_LIMIT
        if start is not None:
            first = start[0]
        elif settings.solver == "cvxpy" and whole:
            first = np.arange(problem.n_indices)
        else:
            first = problem.start(rng)
        first, position = np.unique(
            np.concatenate([first, problem.fixed]), return_inverse=True
        )
        self.core = Core(problem, first, settings.solver, max_rows)

        if start is not None:
            weights = np.append(start[1], 0.0 * problem.fixed)
            self.core.set_weights(np.bincount(position, weights, minlength=len(first)))
        self.solve()

    # tolerances

    @property
    def tau(self) -> float:
        """Violation of `g` that is tolerated."""
        if self.settings.solver == "ball":
            slack = 2.0 * self.ball_eps + self.ball_eps**2
            # level minus threshold: near points satisfy 2 g >= norm - slack kappa
            return self.core.level - 0.5 * (self.core.rho - slack * self.kappa)
        if self.settings.eps is not None:
            radius_sq = max(self.kappa - 2.0 * self.core.level + self.core.rho, 0.0)
            return (self.settings.eps + 0.5 * self.settings.eps**2) * radius_sq
        return float(self.share * self.problem.margin_unit(self.core.rho))

    def solve(self) -> bool:
        """Solve on the core set; False when the run has to end."""
        if self.stopped:
            return False
        if next(self._ticks, None) is None:
            self.stopped = True
            return False

        core = self.core
        if self.settings.solver == "ball":
            core.solve(self.ball_eps, self.kappa)
            return True

        for _ in range(60):  # the tolerance is relative to what is being computed
            aim = 0.5 * self.tau
            before = core.a
            core.solve(aim)
            spread = core.spread
            if spread <= 0.5 * self.tau or self.settings.solver == "cvxpy":
                break
            if aim <= 0.5 * self.tau or np.array_equal(before, core.a):
                break  # as good as rounding allows
        return True

    # finding violators

    def sample(self, size: int, batch: int) -> None:
        """Add the worst of small random samples."""
        quiet = 0
        n = self.problem.n_units
        while quiet < QUIET_SAMPLES and not self.stopped:
            units = self.problem.draw(self.rng, min(n, size * batch))
            indices, g = self._violators(units, self.core.scorer()(units, exact=False))
            quiet += 1
            if len(indices):
                quiet = 0
                self._join(indices, g, batch)

    @property
    def crowded(self) -> bool:
        """Whether so many units have weight that a core set is no saving."""
        return bool(np.count_nonzero(self.core.a) > self.crowd)

    def blocks(self, *, until_crowded: bool = False) -> None:
        """Look at every unit once, in random blocks that grow.

        `until_crowded` ends it where a fifth of the units looked at have weight.
        """
        n = self.problem.n_units
        order = self.problem.order(self.rng)
        first = 0
        size = FIRST_BLOCK
        while first < n and not self.stopped and not self.crowded:
            units = np.sort(order[first : first + size])
            if until_crowded:
                self.crowd = CROWDED * (first + len(units))
            values = self.core.scorer()(units, exact=False)

            # the published rule: the run ends where a large block has few violators
            rare = self.settings.eps is not None and len(units) >= 4 * FIRST_BLOCK
            rare = rare and len(self._violators(units, values)[0]) <= RARE * len(units)
            self.add_violators(units, values, exact=False)
            if rare:
                return
            first += len(units)
            size = min(LAST_BLOCK, size + size // 2)
            self.core.drop(self.problem.margin_unit(self.core.rho))

    def add_violators(self, units: Array, values: Array, *, exact: bool) -> None:
        """Add violators among units until there are none, scoring only those near the margin."""
        reach = self.problem.margin_unit(self.core.rho)
        indices, g = self.problem.candidates(units, values)
        near = self.problem.involved(units, g < self.core.level + reach, indices)
        units = units[near]
        values = values[near]
        core = self.core
        while len(units) and not self.stopped and not self.crowded:
            indices, g = self._violators(units, values)
            if len(indices) == 0:
                return

            a = core.a
            drops = core.n_drops
            # without a matrix every solution is work on the whole core set
            limit = MOST_ADDED if core.held else max(MOST_ADDED, len(core) // 8)
            half = -(-len(indices) // 2)
            if not self._join(indices, g, min(limit, max(FEWEST_ADDED, half))):
                return
            if core.n_drops > drops:
                values = core.scorer()(units, exact=exact)
            else:
                values = core.update(values, units, a, exact=exact)

    def _violators(self, units: Array | slice, values: Array) -> tuple[Array, Array]:
        indices, g = self.problem.candidates(units, values)
        bad = g < self.core.level - self.tau
        indices = indices[bad]
        g = g[bad]
        new = ~self.core.inside(indices)
        return indices[new], g[new]

    def _join(self, indices: Array, g: Array, count: int) -> bool:
        """Let the worst join and solve again; False when the run has to end."""
        n_free = self.max_core - len(self.core)
        if n_free <= 0:
            self.core.drop(0.0)
            n_free = self.max_core - len(self.core)
            if n_free <= 0:
                self.full = self.stopped = True
                return False

        count = min(count, n_free, len(g))
        worst = np.argpartition(g, count - 1)[:count] if count < len(g) else slice(None)
        self.core.add(np.unique(indices[worst]))
        return self.solve()

    # certificate

    def _has_ended(self, values: Array, gap: float) -> bool:
        """Stop by the gap, by the fraction of violators, or with nobody outside of the ball."""
        if self.settings.solver != "ball" and self.settings.eps is None:
            return gap <= self.tol
        n_violators = len(self._violators(slice(0, self.problem.n_units), values)[0])

        if self.settings.solver == "ball":
            # nothing outside of the ball widened by eps, which falls with the gap
            goal = 1e-12 if self.settings.eps is None else self.settings.eps
            if n_violators == 0 and self.ball_eps > goal:
                if self.settings.eps is None and gap <= self.tol:
                    return True
                self.ball_eps = max(goal, 0.25 * self.ball_eps)
                return False
            return n_violators == 0

        # as random samples would say it, of all points
        return n_violators <= RARE * self.problem.n_units

    def _ask_more_digits(self) -> bool:
        """Lower the tolerance of the problem on the core set; False at the rounding errors."""
        if self.share < (TIGHT if self.exact else 1e-14):
            return False
        # without a matrix a needless digit costs minutes
        usual = 0.25 if self.core.held else 0.5
        self.share *= 1e-4 if self.exact else usual
        return True

    def finish(self) -> CoreSetResult:
        """Look at all points until none violates, and prove how far the optimum is."""
        problem = self.problem
        everything = slice(0, problem.n_units)
        self.crowd = np.inf

        if self.exact and not self.stopped:
            self.core.polish()
        for self.n_passes in range(1, MOST_PASSES + 2):
            # 1. one pass over all units: gap, and the furthest violator of the core's level
            core = self.core
            if not core.held:
                core.refresh()
            values = core.scorer()(everything, exact=True)
            active = core.a > 0
            gap = problem.relative_gap(values, core.indices[active], core.a[active], core.rho)
            indices, g = problem.candidates(everything, values)
            lowest = float(g[~core.inside(indices)].min(initial=core.level))

            unit = problem.margin_unit(core.rho)
            if unit <= 0 or self.n_passes > MOST_PASSES:  # below zero: the kernel is none
                violation = np.inf
                converged = gap <= self.tol
                break
            violation = relative_gap(core.level, lowest, unit=unit)

            # 2. the stopping rule of each method
            converged = self._has_ended(values, gap)
            if converged or self.stopped:
                break

            # 3. nobody violates and the gap is open: solve on the core set to more digits
            if len(self._violators(everything, values)[0]) == 0:
                if self.settings.solver != "ball" and not self._ask_more_digits():
                    break
                if not self.solve():
                    continue
                if len(self._violators(everything, values)[0]) == 0:
                    continue

            # 4. settle what lies within a margin of the level, forget what lies beyond
            reach = problem.margin_unit(core.rho)
            near = problem.involved(np.arange(len(g)), g < core.level + reach, indices)
            units = np.flatnonzero(near)
            self.add_violators(units, values[units], exact=True)
            core.drop(reach)

        core = self.core
        self.it.ended = True  # callbacks hear of the last pass
        next(self._ticks, None)
        return CoreSetResult(
            core=core.indices,
            weights=core.a,
            rho=core.rho,
            gap=gap,
            violation=violation,
            values=values,
            n_iter=max(1, self.it.n_iter),
            n_passes=self.n_passes,
            # a problem solved to rounding may not come nearer than rounding allows
            converged=converged or (self.exact and gap <= self.settings.tol),
            full=self.full,
        )

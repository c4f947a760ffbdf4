"""Core sets: quadratic programs on a simplex with one variable per sample, solved on a few.

All problems have the form `min a' K' a - v' a` over the simplex, which is the dual of a minimum
enclosing ball whose centre is constrained. `g = K' a - v / 2` is half the gradient; the point
furthest from the centre has the smallest `g`.

Differs from the paper [Tsang, Kwok and Cheung 2005]: 1. By default the search stops at a relative
duality gap, checked on all points. 2. Many violators join at a time, and candidates come from
growing blocks. 3. Small problems, and problems where a large fraction of the samples have weight,
are solved on all samples.
"""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.quantities import FLOAT_BYTES, MEBIBYTE
from skmoderndata._solvers.common.tolerances import (
    ACCUMULATED_ROUNDING,
    BISECTIONS,
    INNER_SHARE,
    ROUNDING,
    SINGLE_ROUNDING,
    SMALLEST_DIVISOR,
)
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.box_qp import box_state
from skmoderndata._solvers.margins.coordinate_qp import coordinates_to_levels, take_weights
from skmoderndata._solvers.margins.core import MOST_PASSES, Core
from skmoderndata._solvers.margins.simplex_qp import CVXPY_LIMIT, half_gradient, simplex_qp

# Number of units in the first block to score; later blocks are larger.
FIRST_BLOCK = 1000
# Number of units in the largest block.
LAST_BLOCK = 200_000
# Minimum number of points that join the core set at a time, unless fewer points violate
# optimality.
FEWEST_ADDED = 16
# Maximum number of points that join the core set at a time.
MOST_ADDED = 512
# Number of consecutive random samples without a violator after which all points are scored.
QUIET_SAMPLES = 20
# Maximum fraction of violators that the published rule tolerates; random samples may miss
# violators that are this rare.
RARE = 1e-2
# Maximum number of variables of a problem that is solved as a whole, without a core set.
WHOLE = 2000
# Initial tolerance on half the gradient, in margins, and also the factor by which this tolerance
# is lowered each time that the gap is too large (two decimal digits).
TWO_DIGITS = 1e-2
# Factor by which the other tolerances are lowered if more accuracy is needed.
FALL = 0.25
# Maximum number of units in a problem that is solved up to rounding errors.
EXACT_UNITS = 100
# Smallest fraction of support vectors at which a core set saves no time.
CROWDED = 0.2


class CoreSetResult(NamedTuple):
    """A weighted core set and its distance from the optimum."""

    core: Array  # indices of the core set, including those with zero weight
    weights: Array
    rho: float  # a' K' a
    gap: float  # relative duality gap
    violation: float  # largest remaining violation, in units of the margin
    values: Array  # values of the function at all units, as computed in the last pass
    n_iter: int
    n_passes: int
    converged: bool
    full: bool  # whether the search stopped because of `max_core`
    handed_over: bool = False  # whether all samples were used, by steps along single weights


class SearchSettings(NamedTuple):
    """Settings of a search for a core set; see `core_set`."""

    tol: float  # relative duality gap
    eps: float | None  # tolerance of the published rule, relative to the radius
    solver: str  # solver of the problem on the core set
    max_core: int | None  # maximum number of points in the core set
    max_iter: int  # maximum number of times that the problem on the core set is solved
    cache_size: float  # megabytes available for the matrix of the core set


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

    Points that violate optimality, `g < level - tau`, are searched for in random blocks and join
    the core set, on which the problem is then solved again; passes over all points give the
    certificate. If a fifth of the samples have weight, a core set saves nothing; then, if the
    problem can store kernel rows, `signed_rows_first` continues from its weights.

    Parameters
    ----------
    problem : SignedRows, OneClassRows, TubeRows, GivenPairs or GradedRows
    tol : float
        Relative duality gap to reach. The tolerated violation tau begins at half the margin and
        falls until the gap is reached.
    eps : float or None
        If given, stop by the published rule: no point is further from the centre than
        `(1 + eps)` radii. Random samples check this, so that 1 % of the points may be exceptions.
    solver : {"core_set", "ball", "cvxpy"}
        Method that finds the weights on the core set; "ball" shifts a ball of fixed radius.
    sampling : (sample_size, batch_size) or None
        Number of points in a sample, whose worst point is chosen, and number of points that join
        at a time. The worst of 59 is among the worst 5 % with probability 0.95. If None, search
        blocks that grow, and score again only the points near the margin.
    max_core : int or None
        Maximum size of the core set.
    max_iter : int
        Maximum number of solutions on the core set.
    cache_size : float
        Megabytes for the matrix of the core set. If the matrix would be larger, it is not stored
        and the weights are found on working sets.
    start : tuple of (indices, weights) or None
        Earlier result to start from.
    rng : RandomState
    progress : Progress or None
    """
    plain = sampling is None or problem.n_units <= EXACT_UNITS
    by_gap = solver == "core_set" and eps is None and plain and max_core is None
    if (
        by_gap
        and problem.listed
        and problem.n_indices <= min(WHOLE, rows_of_matrix(cache_size))
    ):
        return whole_set(problem, tol, max_iter, start, progress)

    settings = SearchSettings(tol, eps, solver, max_core, max_iter, cache_size)
    search = _Search(problem, settings, start, rng, progress)
    hand_over = (
        by_gap
        and tol >= SINGLE_ROUNDING
        and problem.make_store is not None
        and not search.exact
    )
    if hand_over:
        search.crowd = CROWDED * problem.n_units
    if sampling is None:
        search.blocks(until_crowded=hand_over)
    else:
        search.sample(*sampling)
    if search.crowded and not search.stopped:
        return signed_rows_first(problem, search, tol, max_iter, progress)
    return search.finish()


def rows_of_matrix(cache_size: float) -> int:
    """Return the number of rows of the largest matrix in `cache_size` megabytes."""
    return int((cache_size * MEBIBYTE / FLOAT_BYTES) ** 0.5)


def whole_set(
    problem: Any,
    tol: float,
    max_iter: int,
    start: tuple[Array, Array] | None,
    progress: Progress | None,
) -> CoreSetResult:
    """Minimise `a' K' a - v' a` over the simplex on all variables, by pairwise descent.

    The tolerance on the spread of half the gradient falls from a hundredth of the margin until
    the relative duality gap is at most `tol`; problems with few units are solved to rounding.
    """
    n = problem.n_indices
    Q, signs, a = problem.whole()
    v = problem.linear(np.arange(n))

    if start is not None:
        a = np.zeros(n)
        a[start[0]] = start[1] / start[1].sum()

    # compute half the gradient, and rho = a' K' a
    spread = (
        INNER_SHARE * ACCUMULATED_ROUNDING if problem.n_units <= EXACT_UNITS else TWO_DIGITS
    )
    g = half_gradient(Q, v, a, signs)
    rho = float(a @ (g + 0.5 * v))
    diagonal = Q.diagonal()

    it = Iterations(max_iter, tol, progress)
    for _ in it:
        # 1. Solve until the spread is small compared with the margin of the solution
        unit = problem.margin_unit(rho)
        aim = np.inf
        solved = True
        # repeat, because the margin shrinks while the problem is being solved
        while solved and aim > 2.0 * spread * max(unit, 0.0):
            aim = spread * unit
            result = simplex_qp(Q, v, a, tol=aim, gradient=g, diagonal=diagonal, signs=signs)
            a = result.a
            g = result.gradient
            solved = result.converged
            rho = float(a @ (g + 0.5 * v))
            unit = problem.margin_unit(rho)

        # 2. Compute the gap over all units; if it is too large, solve to two more decimal digits
        values = problem.unit_values(g, a)
        used = np.flatnonzero(a)
        gap = problem.relative_gap(values, used, a[used], rho)
        # keep the residual positive, so that a gap that is rounded to zero does not meet tol = 0
        it.residual = max(gap, SMALLEST_DIVISOR)
        # if the spread is this small, rounding errors prevent a better solution
        it.ended = rho <= 0 or spread < ACCUMULATED_ROUNDING
        spread *= TWO_DIGITS

    return CoreSetResult(
        core=used,
        weights=a[used],
        rho=rho,
        gap=gap,
        violation=relative_gap(a @ g, g.min(), unit=unit) if unit > 0 else np.inf,
        values=values,
        n_iter=it.n_iter,
        n_passes=it.n_iter,
        converged=gap <= (max(tol, ACCUMULATED_ROUNDING) if it.ended else tol),
        full=False,
    )


def signed_rows_first(
    problem: Any,
    search: "_Search",
    tol: float,
    max_iter: int,
    progress: Progress | None,
) -> CoreSetResult:
    """Minimise over all samples, starting from the weights of a core set.

    A multiple of the weights on the simplex, with signs, minimises
    `1/2 w' K w + 1/2 sum_i own_i w_i^2 - y' w` over `y_i w_i >= 0`, the program of `box_qp`
    without sum constraints. The best multiple of weights a is `1 / (a' K' a)`.
    """
    y = problem.signs.astype(np.float64)
    core = search.core
    store = problem.stored()
    evaluations_before = store.n_evaluations
    # convert the weights of the core set, including signs, to units of the problem on all samples
    start = np.zeros(len(y))
    signed = core.a * y[core.indices]
    start[core.indices] = signed / (core.rho * problem.scale)
    ridge = problem.own * problem.scale
    low = np.where(y < 0, -np.inf, 0.0)
    high = np.where(y > 0, np.inf, 0.0)

    def on_simplex(w: Array, g: Array) -> tuple[Array, Array, Array, float]:
        """Return values, support, weights and rho in the scaled problem."""
        used = np.flatnonzero(w)
        total = float(np.abs(w).sum()) or 1.0
        unit = total * problem.scale
        values = (g - ridge * w + y) / unit
        a = np.abs(w[used]) / total
        rho = float(w @ g + w @ y) / (total * unit)
        return values, used, a, rho

    def gap(w: Array, g: Array) -> float:
        return float(problem.relative_gap(*on_simplex(w, g)))

    # take steps along single weights of all samples, starting from the weights of the core set
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
    """State of one search."""

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

        # limit the memory for matrices: "ball" needs a matrix, and the cone solver needs enough
        # memory for the largest problem that it accepts
        self.max_core = problem.n_indices
        if settings.max_core is not None:
            self.max_core = max(settings.max_core, 2)
        max_rows = rows_of_matrix(settings.cache_size)
        if settings.solver == "ball":
            self.max_core = max(2, min(self.max_core, max_rows))
        elif settings.solver == "cvxpy":
            max_rows = max(max_rows, CVXPY_LIMIT)

        # set the initial tolerances, which are lowered later; small problems are solved up to
        # rounding errors
        self.tol = settings.tol
        self.share = 0.5  # violation that is tolerated, in margins
        self.kappa = float(problem.largest_diagonal)
        self.ball_eps = 0.5
        few = EXACT_UNITS if problem.listed else WHOLE**0.5
        by_gap = settings.eps is None and settings.solver == "core_set"
        self.exact = by_gap and problem.n_units <= few
        if self.exact:
            self.share = TWO_DIGITS
            self.tol = min(self.tol, ACCUMULATED_ROUNDING)

        # set up the stopping conditions
        self.it = Iterations(settings.max_iter, -1.0, progress)
        self._ticks = iter(self.it)
        self.n_passes = 0
        self.stopped = False
        self.full = False
        self.crowd = np.inf  # number of nonzero weights above which a core set saves no time

        # choose the first core set
        one_matrix = problem.listed and problem.n_indices <= CVXPY_LIMIT
        if start is not None:
            first = start[0]
        elif settings.solver == "cvxpy" and one_matrix:
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
        """Tolerated violation of `g`."""
        if self.settings.solver == "ball":
            slack = 2.0 * self.ball_eps + self.ball_eps**2
            # points count as near if g >= (norm - slack kappa) / 2; tau is the level minus this
            # bound
            return self.core.level - 0.5 * (self.core.rho - slack * self.kappa)
        if self.settings.eps is not None:
            radius_sq = max(self.kappa - 2.0 * self.core.level + self.core.rho, 0.0)
            return (self.settings.eps + 0.5 * self.settings.eps**2) * radius_sq
        return float(self.share * self.problem.margin_unit(self.core.rho))

    def solve(self) -> bool:
        """Solve on the core set; return False if the search has to stop."""
        if self.stopped:
            return False
        if next(self._ticks, None) is None:
            self.stopped = True
            return False

        core = self.core
        if self.settings.solver == "ball":
            core.solve(self.ball_eps, self.kappa)
            return True

        # repeat, because the tolerance depends on the solution
        for _ in range(BISECTIONS):
            aim = 0.5 * self.tau
            before = core.a
            core.solve(aim)
            spread = core.spread
            if spread <= 0.5 * self.tau or self.settings.solver == "cvxpy":
                break
            if aim <= 0.5 * self.tau or np.array_equal(before, core.a):
                break  # rounding errors prevent a better solution
        return True

    # find violators

    def sample(self, size: int, batch: int) -> None:
        """Add the worst points of small random samples."""
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
        """Whether so large a fraction of the units has weight that a core set saves nothing."""
        return bool(np.count_nonzero(self.core.a) > self.crowd)

    def blocks(self, *, until_crowded: bool = False) -> None:
        """Score every unit once, in random blocks that grow.

        If `until_crowded`, stop when a fifth of the units scored so far have weight.
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

            # by the published rule, stop if a large block contains few violators
            rare = self.settings.eps is not None and len(units) >= 4 * FIRST_BLOCK
            rare = rare and len(self._violators(units, values)[0]) <= RARE * len(units)
            self.add_violators(units, values, exact=False)
            if rare:
                return
            first += len(units)
            size = min(LAST_BLOCK, size + size // 2)
            self.core.drop(self.problem.margin_unit(self.core.rho))

    def add_violators(self, units: Array, values: Array, *, exact: bool) -> None:
        """Add violators among units until none is left, scoring only those near the margin."""
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
            # if the matrix is not stored, each solution takes a pass over the whole core set, so
            # add more points at a time
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
        """Add the worst violators and solve again; return False if the search has to stop."""
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

    # compute the certificate

    def _has_ended(self, values: Array, gap: float) -> bool:
        """Return whether the stopping rule of the method holds."""
        if self.settings.solver != "ball" and self.settings.eps is None:
            return gap <= self.tol
        n_violators = len(self._violators(slice(0, self.problem.n_units), values)[0])

        if self.settings.solver == "ball":
            # stop if no point is outside the ball enlarged by eps, once eps has fallen to its
            # final value
            goal = ACCUMULATED_ROUNDING if self.settings.eps is None else self.settings.eps
            if n_violators == 0 and self.ball_eps > goal:
                if self.settings.eps is None and gap <= self.tol:
                    return True
                self.ball_eps = max(goal, FALL * self.ball_eps)
                return False
            return n_violators == 0

        # allow the same fraction of violators among all points as in random samples
        return n_violators <= RARE * self.problem.n_units

    def _ask_more_digits(self) -> bool:
        """Lower the tolerance on the core set; return False if it has reached rounding errors."""
        if self.share < (ACCUMULATED_ROUNDING if self.exact else ROUNDING):
            return False
        # if the matrix is not stored, lower the tolerance less: an unnecessary digit takes minutes
        usual = FALL if self.core.held else 0.5
        self.share *= TWO_DIGITS**2 if self.exact else usual
        return True

    def finish(self) -> CoreSetResult:
        """Search all points until none violates optimality, and compute the gap."""
        problem = self.problem
        everything = slice(0, problem.n_units)
        self.crowd = np.inf

        if self.exact and not self.stopped:
            self.core.polish()
        for self.n_passes in range(1, MOST_PASSES + 2):
            # 1. Pass over all units: compute the gap and the worst violation
            core = self.core
            if not core.held:
                core.refresh()
            values = core.scorer()(everything, exact=True)
            active = core.a > 0
            gap = problem.relative_gap(values, core.indices[active], core.a[active], core.rho)
            indices, g = problem.candidates(everything, values)
            lowest = float(g[~core.inside(indices)].min(initial=core.level))

            unit = problem.margin_unit(core.rho)
            # a negative unit means that the kernel is not positive semi-definite
            if unit <= 0 or self.n_passes > MOST_PASSES:
                violation = np.inf
                converged = gap <= self.tol
                break
            violation = relative_gap(core.level, lowest, unit=unit)

            # 2. Check the stopping rule of the method
            converged = self._has_ended(values, gap)
            if converged or self.stopped:
                break

            # 3. If no unit violates optimality but the gap is too large, solve to more digits
            if len(self._violators(everything, values)[0]) == 0:
                if self.settings.solver != "ball" and not self._ask_more_digits():
                    break
                if not self.solve():
                    continue
                if len(self._violators(everything, values)[0]) == 0:
                    continue

            # 4. Search for violators within a margin of the level, and drop indices that are
            # further away
            reach = problem.margin_unit(core.rho)
            near = problem.involved(np.arange(len(g)), g < core.level + reach, indices)
            units = np.flatnonzero(near)
            self.add_violators(units, values[units], exact=True)
            core.drop(reach)

        core = self.core
        self.it.ended = True  # report the last pass to callbacks
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
            # problems solved up to rounding errors may miss their lowered tolerance but still meet
            # `tol`
            converged=converged or (self.exact and gap <= self.settings.tol),
            full=self.full,
        )

"""Core sets: quadratic programs on a simplex with one variable per sample, solved on a few.

All problems here have the form `min a' K' a - v' a` over the simplex, which is the dual of a
minimum enclosing ball whose centre is constrained; `g = K' a - v / 2` is half the gradient, and
the point furthest from the centre is the one with the smallest `g`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.margins.simplex_qp import (
    CVXPY_LIMIT,
    active_set,
    ball_steps,
    gram_factor,
    simplex_by_cvxpy,
    simplex_qp,
)

Array = np.ndarray[Any, np.dtype[Any]]

FIRST_BLOCK, LAST_BLOCK = 1000, 200_000  # units scored at a time, growing
MOST_PASSES = 1000  # full passes before the search for a certificate is given up
FEWEST_ADDED, MOST_ADDED = 16, 512  # points that join the core set at a time
QUIET_SAMPLES = 20  # samples without a violator before all points are looked at
SAMPLE_SEARCHES = 30  # first points, found in small samples
RARE = 1e-2  # share of violators that random samples of the published rule do not find
EXACT_UNITS = 1000  # problems up to this size are solved to rounding
GROWTH = 1.15  # how much longer the rows of the matrix become when it is full
MASK = 100_000_000  # variables up to which membership in the core set is a mask
TIGHT = 1e-12  # relative duality gap that is taken for rounding


class Problem(Protocol):
    """What the search needs to know; *units* are what is sampled, *indices* what has a weight."""

    core: Array  # indices in the core set, set by the search
    listed: bool  # whether every index below `n_indices` is a variable

    @property
    def n_units(self) -> int:
        """Number of units."""

    @property
    def n_indices(self) -> int:
        """Number of variables of the whole problem."""

    @property
    def fixed(self) -> Array:
        """Indices that are in every core set."""

    @property
    def largest_diagonal(self) -> float:
        """Largest `K'_ii - v_i`, an upper bound where it is not known."""

    def start(self, rng: np.random.RandomState) -> Array:
        """Two or more indices to begin with."""

    def draw(self, rng: np.random.RandomState, size: int) -> Array:
        """Sample of units."""

    def order(self, rng: np.random.RandomState) -> Array:
        """All units in the random order in which they are looked at."""

    def involved(self, units: Array, chosen: Array, indices: Array) -> Array:
        """Mask of the units that chosen candidates are made of."""

    def gram(self, a: Array, b: Array) -> Array:
        """Return `K'` without its diagonal part `delta_ij slack_i`."""

    def slack(self, indices: Array) -> Array:
        """Diagonal part of `K'`."""

    def linear(self, indices: Array) -> Array:
        """Return `v` of these indices."""

    def scorer(self, core: Array, a: Array) -> Callable[..., Array]:
        """Return `score(units, exact=)`, the values of the current function at units."""

    def candidates(self, units: Array | slice, values: Array) -> tuple[Array, Array]:
        """Return one index per unit, that of smallest `g`, and that `g`."""

    def relative_gap(self, values: Array, core: Array, a: Array, rho: float) -> float:
        """Relative duality gap of the whole problem, from the values at all units."""

    def margin_unit(self, rho: float) -> float:
        """Violation of `g` that is one margin: what tolerances are relative to."""


class CoreSetResult(NamedTuple):
    """A weighted core set and how far it is from the optimum."""

    core: Array  # indices, also those of weight zero
    weights: Array
    rho: float  # a' K' a
    level: float  # a' g
    gap: float  # relative duality gap
    violation: float  # largest violation left, in units of the margin
    values: Array  # values of the function at all units, from the last pass
    n_iter: int
    n_passes: int
    converged: bool
    full: bool  # stopped because of `max_core`
    asked_to_stop: bool


class IndefiniteKernel(ValueError):
    """The kernel is not one, and the problem not convex."""


class Core:
    """Indices with weights, the block of `K'` that belongs to them, and half the gradient."""

    def __init__(self, problem: Problem, indices: Array, solver: str = "core_set") -> None:
        self.problem, self.solver = problem, solver
        self.indices = np.zeros(0, np.int64)
        self.a = np.zeros(0)
        self.v = np.zeros(0)
        self.g = np.zeros(0)
        self.level = self.rho = 0.0
        self._space = np.zeros(16 * 16)
        self._K = self._space.reshape(16, 16)
        self._diagonal = np.zeros(16)
        self.n_drops = 0  # how often indices have been renumbered
        # with a variable per pair of samples a mask would be too long
        self._mask = np.zeros(problem.n_indices, bool) if problem.n_indices < MASK else None
        self.add(indices)

    def __len__(self) -> int:
        return len(self.indices)

    def inside(self, indices: Array) -> Array:
        """Tell which indices are in the core set."""
        found: Array = (
            np.isin(indices, self.indices) if self._mask is None else self._mask[indices]
        )
        return found

    @property
    def K(self) -> Array:
        """The block of `K'`."""
        return self._K[: len(self), : len(self)]

    def add(self, new: Array) -> None:
        """Let indices join, with weight zero (equal weights if there is none)."""
        new = np.asarray(new, np.int64)
        m, total = len(self), len(self) + len(new)
        if total > len(self._K):
            self._grow(max(total + 8, int(GROWTH * len(self._K))))
        block = self.problem.gram(new, np.concatenate([self.indices, new]))
        slack = self.problem.slack(new)
        size, skew, apart = append_rows(self._K, self._diagonal, block, slack, m)
        if not np.isfinite(size):
            raise ValueError(
                "The kernel gives values that are not finite numbers: rescale X, or change the "
                "parameters of the kernel."
            )
        if skew > 1e-5 * max(1e-300, size):
            raise IndefiniteKernel("The kernel is not symmetric: k(x, z) differs from k(z, x).")
        # |phi_i - phi_j|^2 of the new ones, which no kernel makes negative
        if apart < -1e-6 * max(1e-300, float(np.abs(self._diagonal[:total]).max())):
            raise IndefiniteKernel(
                "The kernel is not positive semi-definite: k(x, x) + k(z, z) - 2 k(x, z) is "
                "negative for two samples. Use another kernel, or smaller costs, which add to "
                "k(x, x)."
            )
        self.indices = self.problem.core = np.concatenate([self.indices, new])
        if self._mask is not None:
            self._mask[new] = True
        self.v = np.concatenate([self.v, self.problem.linear(new)])
        start = 1.0 / total if m == 0 else 0.0
        self.a = np.concatenate([self.a, np.full(len(new), start)])
        if m == 0:
            self._look()
        else:
            self.g = np.concatenate([self.g, block[:, :m] @ self.a[:m] - 0.5 * self.v[m:]])

    def _grow(self, size: int) -> None:
        """Make place for more indices, without a second matrix where the system allows it."""
        m, stride = len(self), len(self._K)
        self._diagonal = np.concatenate([self._diagonal[:m], np.zeros(size - m)])
        del self._K
        try:
            self._space.resize(size * size)
        except ValueError:  # somebody looks at it
            self._space = np.concatenate([self._space, np.zeros(size * size - stride * stride)])
        spread_rows(self._space, m, stride, size)
        self._K = self._space.reshape(size, size)

    def drop(self, margin: float) -> None:
        """Forget indices without weight that are far from mattering."""
        keep = (self.a > 0) | (self.g < self.level + margin)
        keep[: len(self.problem.fixed)] = True
        if keep.all():
            return
        if self._mask is not None:
            self._mask[self.indices[~keep]] = False
        kept = np.flatnonzero(keep)
        keep_rows(self._K, kept)
        self._diagonal[: len(kept)] = self._diagonal[kept]
        self.n_drops += 1
        self.indices, self.a, self.v = self.indices[keep], self.a[keep], self.v[keep]
        self.problem.core = self.indices
        self.g = self.g[keep]

    def solve(self, tol: float, kappa: float = 0.0) -> None:
        """Find the weights, to a spread of `tol` of half the gradient."""
        m = len(self)
        if self.solver == "ball":
            g = self.K @ self.a
            norm = float(self.a @ g)
            limit = kappa * (1.0 + tol) ** 2
            for _ in range(1000):
                steps, norm = ball_steps(self._K, self.a, g, norm, m, kappa, limit, 4000)
                g = self.K @ self.a
                norm = float(self.a @ g)
                if steps < 4000:
                    break
            self.g = g
        elif self.solver == "cvxpy" and m <= CVXPY_LIMIT:
            self.a = simplex_by_cvxpy(gram_factor(self.K), self.v)
            # an interior point method leaves every weight positive
            self.a[self.a < 1e-9 * self.a.max()] = 0.0
            self.a /= self.a.sum()
            self.g = self.K @ self.a - 0.5 * self.v
        else:
            found = simplex_qp(
                self._K,
                self.v,
                self.a,
                tol=tol,
                size=m,
                gradient=self.g,
                diagonal=self._diagonal[:m],
            )
            self.a, self.g = found.a, found.gradient
        self._measure()

    def weigh(self, a: Array) -> None:
        """Take given weights."""
        self.a = a / a.sum()
        self._look()

    def _look(self) -> None:
        self.g = self.K @ self.a - 0.5 * self.v
        self._measure()

    def _measure(self) -> None:
        self.level = float(self.a @ self.g)
        self.rho = float(self.a @ (self.g + 0.5 * self.v))

    def polish(self) -> None:
        """Solve for the weights of the support to rounding, where that keeps the optimum."""
        m = len(self)
        spread = float(self.g[self.a > 0].max() - self.g.min())
        a = active_set(self.K, self.v, self.a, tol=0.0, max_iter=20)
        g = self.K @ a - 0.5 * self.v
        if m > 1 and float(g[a > 0].max() - g.min()) <= max(spread, 1e-13 * self.rho):
            self.weigh(a)

    def scorer(self) -> Callable[..., Array]:
        """Score units by the current weights."""
        active = self.a > 0
        return self.problem.scorer(self.indices[active], self.a[active])

    def update(self, values: Array, units: Array, a: Array, *, exact: bool) -> Array:
        """Score units, whose values were found with the weights `a` of the first indices."""
        change = self.a.copy()
        change[: len(a)] -= a
        moved = np.flatnonzero(change)
        if 2 * len(moved) > np.count_nonzero(self.a):
            return self.scorer()(units, exact=exact)
        score = self.problem.scorer(self.indices[moved], change[moved])
        return values + score(units, exact=exact)


@jit
def append_rows(K, diagonal, block, slack, m):  # type: ignore[no-untyped-def]
    """Write the similarities of new indices with `m` old ones and themselves into K, in place.

    Returns the largest absolute similarity, the largest difference between the two halves of
    the new part, which are averaged, and the smallest `K_ii + K_jj - 2 K_ij`.
    """
    n, tile = len(block), 32
    size, skew, apart = 0.0, 0.0, np.inf
    for c in range(n):
        diagonal[m + c] = block[c, m + c] + slack[c]
        for r in range(c):
            x, z = block[c, m + r], block[r, m + c]
            skew = max(skew, abs(x - z))
            block[c, m + r] = block[r, m + c] = 0.5 * (x + z)
    for c in range(n):
        row, here, own = K[m + c], block[c], diagonal[m + c]
        total = 0.0
        for q in range(m + n):
            row[q] = here[q]
            total += abs(here[q])
        if not np.isfinite(total):
            return np.inf, 0.0, 0.0
        for q in range(m + n):
            size = max(size, abs(here[q]))
            apart = min(apart, own + diagonal[q] - 2.0 * here[q])
    for first in range(0, m, tile):  # the other half, by tiles that stay in the cache
        for start in range(0, n, tile):
            for r in range(first, min(first + tile, m)):
                for c in range(start, min(start + tile, n)):
                    K[r, m + c] = block[c, r]
    for c in range(n):
        K[m + c, m + c] = diagonal[m + c]
    return size, skew, apart


@jit
def spread_rows(space, m, stride, wider):  # type: ignore[no-untyped-def]
    """Move the first `m` columns of `m` rows apart, the last row first."""
    for row in range(m - 1, 0, -1):
        for q in range(m - 1, -1, -1):
            space[row * wider + q] = space[row * stride + q]


@jit
def keep_rows(K, kept):  # type: ignore[no-untyped-def]
    """Move the kept rows and columns to the front, upwards and so without a second matrix."""
    for row, old in enumerate(kept):
        for q, column in enumerate(kept):
            K[row, q] = K[old, column]


def core_set(
    problem: Problem,
    *,
    tol: float = 0.05,
    eps: float | None = None,
    solver: str = "core_set",
    sample_size: int = 59,
    batch_size: int | None = None,
    max_core: int | None = None,
    max_iter: int = 10_000,
    start: tuple[Array, Array] | None = None,
    rng: np.random.RandomState,
    progress: Progress | None = None,
) -> CoreSetResult:
    """Minimise `a' K' a - v' a` over the simplex on a growing core set [Tsang 2005].

    Points that violate optimality, `g < level - tau`, are looked for in random blocks, join the
    core set, and the problem is solved again on it; passes over all points give the certificate.

    Parameters
    ----------
    problem : Problem
    tol : float
        Relative duality gap to reach. The tolerated violation tau begins at half the margin and
        falls until the gap is reached.
    eps : float or None
        Published rule instead: no point further from the centre than `(1 + eps)` radii, as far
        as random samples tell, that is for all but one in a hundred.
    solver : {"core_set", "ball", "cvxpy"}
        How weights are found on the core set; "ball" shifts a ball of fixed radius.
    sample_size : int
        Points in a sample of which the worst is taken: the worst of 59 is among the worst five
        per cent with probability 0.95.
    batch_size : int or None
        Points that join at a time, each the worst of `sample_size`; None searches blocks that
        grow, and re-scores only the points near the margin.
    max_core : int or None
        Largest core set.
    max_iter : int
        Largest number of solutions on the core set.
    start : tuple of (indices, weights) or None
        An earlier result.
    rng : RandomState
    progress : Progress or None
    """
    search = _Search(problem, tol, eps, solver, max_core, max_iter, start, rng, progress)
    search.sample(sample_size, SAMPLE_SEARCHES if batch_size is None else None, batch_size or 1)
    if batch_size is None:
        search.blocks()
    return search.finish()


class _Search:
    """State of one run."""

    def __init__(
        self,
        problem: Problem,
        tol: float,
        eps: float | None,
        solver: str,
        max_core: int | None,
        max_iter: int,
        start: tuple[Array, Array] | None,
        rng: np.random.RandomState,
        progress: Progress | None,
    ) -> None:
        self.problem, self.tol, self.eps, self.solver = problem, tol, eps, solver
        self.asked = tol
        self.max_core = problem.n_indices if max_core is None else max(max_core, 2)
        self.rng, self.n_passes = rng, 0
        self.share = 0.5  # tolerated violation in margins
        self.kappa = problem.largest_diagonal
        self.ball_eps = 0.5
        small = problem.n_indices <= 2 * EXACT_UNITS + 1 and problem.n_units <= EXACT_UNITS
        self.exact = small and eps is None and solver != "ball"
        if self.exact:
            self.share, self.tol = 0.01, min(tol, TIGHT)
        self.it = Iterations(max_iter, -1.0, progress)
        self._ticks = iter(self.it)
        self.stopped, self.full = False, False
        fixed = problem.fixed
        first = problem.start(rng) if start is None else start[0]
        whole = problem.listed and problem.n_indices <= CVXPY_LIMIT
        if solver == "cvxpy" and whole and start is None:
            first = np.arange(problem.n_indices)
        first = np.concatenate([fixed, np.setdiff1d(first, fixed)])
        if start is not None:
            order = {int(i): float(w) for i, w in zip(*start, strict=True)}
        self.core = Core(problem, first, solver)
        if start is not None:
            self.core.weigh(np.array([order.get(int(i), 0.0) for i in first]))
        self.solve()

    # tolerances

    @property
    def tau(self) -> float:
        """Violation of `g` that is tolerated."""
        if self.solver == "ball":
            slack = 2.0 * self.ball_eps + self.ball_eps**2
            # level minus threshold: near points satisfy 2 g >= norm - slack kappa
            return self.core.level - 0.5 * (self.core.rho - slack * self.kappa)
        if self.eps is not None:
            radius_sq = max(self.kappa - 2.0 * self.core.level + self.core.rho, 0.0)
            return (self.eps + 0.5 * self.eps**2) * radius_sq
        return self.share * self.problem.margin_unit(self.core.rho)

    def solve(self) -> bool:
        """Solve on the core set; False when the run has to end."""
        if self.stopped:
            return False
        if next(self._ticks, None) is None:
            self.stopped = True
            return False
        core = self.core
        if self.solver == "ball":
            core.solve(self.ball_eps, self.kappa)
            return True
        if self.exact and self.share < 0.01:
            core.polish()
        for _ in range(60):  # the tolerance is relative to what is being computed
            aim = 0.5 * self.tau
            before = core.a
            core.solve(aim)
            spread = float(core.g[core.a > 0].max() - core.g.min())
            if spread <= 0.5 * self.tau or self.solver == "cvxpy":
                break
            if aim <= 0.5 * self.tau or np.array_equal(before, core.a):
                break  # as good as rounding allows
        return True

    # finding violators

    def sample(self, size: int, most: int | None, batch: int) -> None:
        """Add the worst of small random samples."""
        quiet, done = 0, 0
        n = self.problem.n_units
        while quiet < QUIET_SAMPLES and (most is None or done < most) and not self.stopped:
            units = self.problem.draw(self.rng, min(n, size * batch))
            values = self.core.scorer()(units, exact=False)
            indices, g = self._violators(units, values)
            done += 1
            if len(indices) == 0:
                quiet += 1
                if most is not None and quiet >= 3:
                    return
                continue
            quiet = 0
            if not self._join(indices, g, batch):
                return

    def blocks(self) -> None:
        """Look at every unit once, in random blocks that grow."""
        n = self.problem.n_units
        order = self.problem.order(self.rng)
        first, size = 0, FIRST_BLOCK
        while first < n and not self.stopped:
            units = np.sort(order[first : first + size])
            values = self.core.scorer()(units, exact=False)
            rare = self.eps is not None and len(units) >= 4 * FIRST_BLOCK
            rare = rare and len(self._violators(units, values)[0]) <= RARE * len(units)
            self.settle(units, values, exact=False)
            if rare:
                return
            first += size
            size = min(LAST_BLOCK, size + size // 2)
            self.core.drop(self.problem.margin_unit(self.core.rho))

    def settle(self, units: Array, values: Array, *, exact: bool) -> None:
        """Add violators among units until there are none, scoring only those near the margin."""
        reach = self.problem.margin_unit(self.core.rho)
        indices, g = self.problem.candidates(units, values)
        near = self.problem.involved(units, g < self.core.level + reach, indices)
        units, values = units[near], values[near]
        core = self.core
        while len(units) and not self.stopped:
            indices, g = self._violators(units, values)
            if len(indices) == 0:
                return
            a, drops = core.a, core.n_drops
            if not self._join(
                indices, g, min(MOST_ADDED, max(FEWEST_ADDED, -(-len(indices) // 2)))
            ):
                return
            if core.n_drops > drops:
                values = core.scorer()(units, exact=exact)
            else:
                values = core.update(values, units, a, exact=exact)

    def _violators(self, units: Array | slice, values: Array) -> tuple[Array, Array]:
        indices, g = self.problem.candidates(units, values)
        bad = g < self.core.level - self.tau
        indices, g = indices[bad], g[bad]
        new = ~self.core.inside(indices)
        return indices[new], g[new]

    def _join(self, indices: Array, g: Array, count: int) -> bool:
        """Let the worst join and solve again; False when the run has to end."""
        room = self.max_core - len(self.core)
        if room <= 0:
            self.core.drop(0.0)
            room = self.max_core - len(self.core)
            if room <= 0:
                self.full = self.stopped = True
                return False
        count = min(count, room, len(g))
        worst = np.argpartition(g, count - 1)[:count] if count < len(g) else slice(None)
        self.core.add(np.unique(indices[worst]))
        return self.solve()

    # certificate

    def finish(self) -> CoreSetResult:
        """Look at all points until none violates, and prove how far the optimum is."""
        problem = self.problem
        everything = slice(0, problem.n_units)
        if self.exact and not self.stopped:
            self.core.polish()
        while True:
            core = self.core
            values = core.scorer()(everything, exact=True)
            self.n_passes += 1
            active = core.a > 0
            gap = problem.relative_gap(values, core.indices[active], core.a[active], core.rho)
            indices, g = problem.candidates(everything, values)
            lowest = float(g[~core.inside(indices)].min(initial=np.inf))
            unit = problem.margin_unit(core.rho)
            converged = gap <= self.tol
            if unit <= 0 or self.n_passes > MOST_PASSES:  # below zero: the kernel is none
                violation = np.inf
                break
            violation = max(0.0, core.level - lowest) / unit
            if self.solver == "ball":
                done = self._violators(everything, values)[0].size == 0
                if done and self.eps is None and gap > self.tol and self.ball_eps > 1e-12:
                    done, self.ball_eps = False, 0.25 * self.ball_eps
                elif done and self.eps is not None and self.ball_eps > self.eps:
                    done, self.ball_eps = False, max(self.eps, 0.25 * self.ball_eps)
                converged = done
            elif self.eps is not None:
                # as random samples would say it, of all points
                some = len(self._violators(everything, values)[0])
                converged = done = some <= RARE * problem.n_units
            else:
                converged = done = gap <= self.tol
            if done or self.stopped:
                break
            bad = self._violators(everything, values)[0]
            if len(bad) == 0:
                if self.solver != "ball":
                    if self.share < (TIGHT if self.exact else 1e-14):
                        break
                    self.share *= 1e-4 if self.exact else 0.25
                if not self.solve():
                    continue
                if len(self._violators(everything, values)[0]) == 0:
                    continue
            reach = problem.margin_unit(core.rho)
            near = problem.involved(np.arange(len(g)), g < core.level + reach, indices)
            units = np.flatnonzero(near)
            self.settle(units, values[units], exact=True)
            core.drop(reach)
        core = self.core
        self._ticks.close()  # type: ignore[attr-defined]
        return CoreSetResult(
            core=core.indices,
            weights=core.a,
            rho=core.rho,
            level=core.level,
            gap=gap,
            violation=violation,
            values=values,
            n_iter=max(1, self.it.n_iter),
            n_passes=self.n_passes,
            # a problem solved to rounding may not come nearer than rounding allows
            converged=converged or (self.exact and gap <= self.asked),
            full=self.full,
            asked_to_stop=self.stopped and not self.full and self.it.n_iter < self.it.max_iter,
        )


# certificates


def squared_hinge_gap(margins: Array, costs: Array, norm: float, rho: float) -> float:
    """Relative duality gap of `min 1/2 |w|^2 + 1/2 sum_i costs_i max(0, 1 - w z_i)^2`.

    Parameters
    ----------
    margins : ndarray of shape (n,)
        Values `w z_i` of a function, up to a positive factor, which is chosen here.
    costs : ndarray of shape (n,) or float
    norm : float
        Its `|w|^2`.
    rho : float
        `a' K' a` of any weights a of the simplex, which proves that no value is below
        `1 / (2 rho)`: the dual `sum(b) - b' K' b / 2` at the best multiple b of a.
    """
    primal, _ = scaled_squared_hinge(margins, costs, norm)
    if primal <= 0:
        return 0.0
    return float(max(0.0, primal - 0.5 / rho) / primal) if rho > 0 else 1.0


def scaled_squared_hinge(margins: Array, costs: Array | float, norm: float) -> tuple[float, float]:
    """Minimise `1/2 s^2 norm + 1/2 sum costs max(0, 1 - s margins)^2` over `s >= 0`."""
    size = float(np.abs(margins).max(initial=0.0))
    weights = np.broadcast_to(np.asarray(costs, dtype=np.float64), margins.shape)
    at_zero = 0.5 * float(weights.sum())
    if size == 0.0:
        return at_zero, 0.0
    f = margins / size  # so that s has a sensible size
    norm = (norm**0.5 / size) ** 2  # the square of size may be below the smallest number

    def parts(s: float) -> tuple[float, float, float]:
        rest = 1.0 - s * f
        inside = rest > 0
        rest, slope = rest[inside], f[inside]
        cost = weights[inside]
        weighted = cost * rest
        value = 0.5 * (s * s * norm + float(weighted @ rest))
        return value, s * norm - float(weighted @ slope), norm + float((cost * slope) @ slope)

    value, s = best_multiple(parts, at_zero)
    return value, s / size


def best_multiple(
    parts: Callable[[float], tuple[float, float, float]], at_zero: float
) -> tuple[float, float]:
    """Minimise a convex, piecewise quadratic function of `s >= 0`: Newton's method from 0.

    `parts(s)` gives the value and the first two derivatives; bisection safeguards the steps.
    """
    low, high, s = 0.0, np.inf, 0.0
    best, best_s = at_zero, 0.0
    for _ in range(200):
        value, first, second = parts(s)
        if value < best:
            best, best_s = value, s
        if first <= 0:
            low = s
        else:
            high = s
        new = s - first / second if second > 0 else 2.0 * s + 1.0
        if not low <= new <= high:
            new = 0.5 * (low + high) if np.isfinite(high) else 2.0 * s + 1.0
        if new == s or abs(new - s) <= 1e-15 * max(s, new) or new < 0:
            break
        s = new
    return best, best_s


def tube_gap(
    residuals: Array, costs: Array, norm: float, level: float, dual: float
) -> tuple[float, float]:
    """Relative duality gap of support vector regression with a tube of free width.

    The problem is `min 1/2 |w|^2 + 1/2 sum costs max(0, |r_i| - width)^2 + level width` over
    `width >= 0`; `dual` is the value of any dual point. Returns the gap and the best width.
    """
    size = np.abs(residuals)
    weights = np.broadcast_to(np.asarray(costs, dtype=np.float64), size.shape)
    # slope in the width: level - sum costs max(0, |r| - width), rising
    low, high = 0.0, float(size.max(initial=0.0))
    width = 0.0
    for _ in range(200):
        outside = size > width
        over = float(weights[outside] @ (size[outside] - width)) - level
        if over > 0:
            low = width
        else:
            high = width
        weight = float(weights[outside].sum())
        new = width + over / weight if weight > 0 else 0.0
        if not low <= new <= high:
            new = 0.5 * (low + high)
        if abs(new - width) <= 1e-15 * max(new, width):
            break
        width = new
    rest = np.maximum(size - width, 0.0)
    primal = 0.5 * norm + 0.5 * float((weights * rest) @ rest) + level * width
    # residuals are in deviations of y, so this is rounding
    floor = 1e-14 * float(weights.sum())
    return max(0.0, primal - dual) / max(primal, floor), width

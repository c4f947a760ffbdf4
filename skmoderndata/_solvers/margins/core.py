"""A core set: indices with weights, and the block of `K'` that belongs to them.

Differs from the paper [Tsang, Kwok and Cheung 2005]: 1. Indices without weight that are far from
the margin are dropped. 2. If the block does not fit into memory, weights are found on working
sets, half of each chosen at random.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from skmoderndata._solvers.common.tolerances import (
    INNER_SHARE,
    ROUNDING,
    SINGLE_ROUNDING,
    SMALLEST_DIVISOR,
)
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.simplex_qp import (
    CVXPY_LIMIT,
    ball_steps,
    gram_factor,
    pairwise_descent,
    polished,
    simplex_by_cvxpy,
    simplex_qp,
)

# Number of variables in a working set if the matrix is not stored.
WORKING_SET = 4000
# Maximum number of working sets, and of passes over all points while searching for a certificate.
MOST_PASSES = 1000
# Maximum number of consecutive working sets that change nothing beyond rounding errors.
MOST_IDLE = 20
# Number of rows in each of the blocks from which the diagonal is computed.
DIAGONAL_BLOCK_ROWS = 32


class Core:
    """Indices with weights, the block of `K'` that belongs to them, and half the gradient.

    The block is stored for up to `limit` indices. Beyond that, only the weights and half the
    gradient are stored; weights are found on working sets, whose blocks are computed when needed.
    """

    def __init__(
        self,
        problem: Any,  # an object of `core_problems`
        indices: Array,
        solver: str = "core_set",
        limit: int | None = None,
    ) -> None:
        self.problem = problem
        self.solver = solver
        self.limit = min(problem.n_indices, max(2, limit or problem.n_indices))

        # indices, weights, linear terms, half the gradient
        self.indices = np.zeros(0, np.int64)
        self.a = np.zeros(0)
        self.v = np.zeros(0)
        self.g = np.zeros(0)
        self.level = self.rho = 0.0

        self.held = True  # whether the matrix is stored
        self._K = np.empty((0, 0))
        self._diagonal = np.zeros(0)  # used if the matrix is not stored
        # random generator that draws half of each working set
        self._rng = np.random.RandomState(0)
        self.n_drops = 0  # number of times that indices have been renumbered
        self.add(indices)

    def __len__(self) -> int:
        return len(self.indices)

    def inside(self, indices: Array) -> Array:
        """Return a mask of the indices that are in the core set."""
        return np.isin(indices, self.indices)

    @property
    def K(self) -> Array:
        """The block of `K'`."""
        return self._K[: len(self), : len(self)]

    @property
    def spread(self) -> float:
        """Largest half gradient of an index with weight, minus the smallest of all indices."""
        return float(self.g[self.a > 0].max() - self.g.min())

    def add(self, new: Array) -> None:
        """Add indices with weight zero (with equal weights if the core set is empty)."""
        new = np.asarray(new, np.int64)
        m = len(self)
        total = len(self) + len(new)

        # extend the matrix in memory, or compute products with the columns of nonzero weight
        if self.held and total > self.limit:
            self._release()
        linear = self.problem.linear(new)
        if self.held:
            g = self._append(new, linear)
        else:
            self._diagonal = np.concatenate([self._diagonal, self._self_products(new)])
            used = self.a > 0
            g = self.problem.products(new, self.indices[used], self.a[used]) - 0.5 * linear

        # extend the state of the indices: linear terms, weights, gradient
        self.indices = self.problem.core = np.concatenate([self.indices, new])
        self.v = np.concatenate([self.v, linear])
        start = 1.0 / total if m == 0 else 0.0
        self.a = np.concatenate([self.a, np.full(len(new), start)])
        self.g = np.concatenate([self.g, g])

        if m == 0:
            self.refresh()

    def _append(self, new: Array, linear: Array) -> Array:
        """Write the rows of new indices into the matrix, and return half their gradient."""
        m = len(self)
        total = len(self) + len(new)
        if total > len(self._K):
            # double the size of the matrix; pages of memory that are never written take no space
            size = min(self.limit, 2 * total)
            K = np.empty((size, size))
            K[:m, :m] = self.K
            self._K = K
        block = self.problem.gram(new, np.concatenate([self.indices, new]))
        append_rows(self._K, block, self.problem.slack(new), m)
        return block[:, :m] @ self.a - 0.5 * linear

    def _self_products(self, new: Array) -> Array:
        """Compute the diagonal of `K'` in small blocks, on which the kernel is checked."""
        diagonals = []
        for s in range(0, len(new), DIAGONAL_BLOCK_ROWS):
            block = new[s : s + DIAGONAL_BLOCK_ROWS]
            products = self.problem.gram(block, block)
            K = np.empty_like(products)
            append_rows(K, products, self.problem.slack(block), 0)
            diagonals.append(K.diagonal())
        return np.concatenate(diagonals)

    def _release(self) -> None:
        """Free the matrix."""
        self.held = False
        self._diagonal = self.K.diagonal().copy()
        self._K = np.empty((0, 0))

    def drop(self, margin: float) -> None:
        """Drop indices without weight whose half gradient is `margin` or more above the level."""
        keep = (self.a > 0) | (self.g < self.level + margin)
        keep |= np.isin(self.indices, self.problem.fixed)
        if keep.all():
            return

        retained = np.flatnonzero(keep)
        if self.held:
            self._K[: len(retained), : len(retained)] = self.K[np.ix_(retained, retained)]
        else:
            self._diagonal = self._diagonal[retained]

        self.n_drops += 1
        self.indices = self.indices[keep]
        self.a = self.a[keep]
        self.v = self.v[keep]
        self.problem.core = self.indices
        self.g = self.g[keep]

    def solve(self, tol: float, kappa: float = 0.0) -> None:
        """Find the weights that bring the spread of half the gradient down to `tol`."""
        m = len(self)
        if not self.held:
            self._solve_by_working_sets(tol)
        elif self.solver == "ball":
            self.g = ball_steps(self._K, self.a, m, kappa, tol)
        elif self.solver == "cvxpy" and m <= CVXPY_LIMIT:
            self.a = simplex_by_cvxpy(gram_factor(self.K), self.v)
            self.g = self.K @ self.a - 0.5 * self.v
        else:
            result = simplex_qp(self._K, self.v, self.a, tol=tol, gradient=self.g)
            self.a = result.a
            self.g = result.gradient
        self._measure()

    def _solve_by_working_sets(self, tol: float) -> None:
        """Solve on working sets, other variables fixed, until all are optimal [Joachims 1999].

        Half of a working set consists of the variables that violate optimality most. The other
        half is drawn from all variables that have weight or violate optimality: the worst
        variables alone would be the same again and again, and would miss what the remaining
        variables have in common.
        """
        size = min(self.limit, WORKING_SET)
        tol = max(tol, ROUNDING / 10 * float(np.abs(self._diagonal).max()))
        # copy, because callers may still hold the previous arrays
        self.a = self.a.copy()
        self.g = self.g.copy()
        idle = 0

        for _ in range(MOST_PASSES):
            # 1. Stop if the gradient spread is small or if recent working sets changed nothing
            self._measure()
            if self.spread <= tol or idle > MOST_IDLE:
                return

            # 2. Solve the smaller problem, with its gradient shifted by the fixed variables
            members = self._working_set(size)
            working_set = self.indices[members]
            K = self.problem.gram(working_set, working_set)
            K[np.diag_indices(len(K))] = diagonal = self._diagonal[members]

            a = self.a[members]
            g = self.g[members]
            inner = float(g[a > 0].max(initial=-np.inf) - g.min())
            goal = max(0.5 * tol, INNER_SHARE * inner)
            steps = pairwise_descent(
                K, np.ones(len(a)), diagonal, a, g, len(a), goal, 20 * len(a)
            )
            idle = 0 if steps else idle + 1

            # 3. Update the entire gradient with the columns whose weights have changed
            change = a - self.a[members]
            moved = np.flatnonzero(change)
            self.g += self.problem.products(self.indices, working_set[moved], change[moved])
            self.g[members] += self.problem.slack(working_set) * change
            self.a[members] = a

    def _working_set(self, size: int) -> Array:
        """Choose the variables of the next working set."""
        below = self.level - self.g
        violation = np.where(self.a > 0, np.abs(below), np.maximum(0.0, below))
        free = np.flatnonzero((violation > 0) | (self.a > 0))
        if len(free) <= size:
            return free
        half = size // 2
        worst = free[np.argpartition(-violation[free], half)[:half]]
        drawn = self._rng.choice(free, size - half, replace=False)
        weighted = np.flatnonzero(self.a)
        # include the variable with the largest gradient among those with weight, because pair
        # steps have to move weight away from a variable
        top = weighted[self.g[weighted].argmax()]
        return np.union1d(np.append(worst, top), drawn)

    def set_weights(self, a: Array) -> None:
        """Set the weights, scaled to sum one."""
        self.a = a / a.sum()
        self.refresh()

    def refresh(self) -> None:
        """Recompute half the gradient."""
        if self.held:
            self.g = self.K @ self.a - 0.5 * self.v
        else:
            used = self.a > 0
            self.g = self.problem.products(self.indices, self.indices[used], self.a[used])
            self.g += self.problem.slack(self.indices) * self.a - 0.5 * self.v
        self._measure()

    def _measure(self) -> None:
        self.level = float(self.a @ self.g)
        self.rho = float(self.a @ (self.g + 0.5 * self.v))

    def polish(self) -> None:
        """Solve for the weights of the support to rounding error, if optimality is preserved."""
        if not self.held or len(self) < 2:
            return
        rounding = max(self.spread, 10 * ROUNDING * self.rho)
        a = polished(self.K, self.v, self.a)
        g = self.K @ a - 0.5 * self.v
        if float(g[a > 0].max() - g.min()) <= rounding:
            self.set_weights(a)

    def scorer(self) -> Callable[..., Array]:
        """Return a function that scores units by the current weights."""
        active = self.a > 0
        return self.problem.scorer(self.indices[active], self.a[active])

    def update(self, values: Array, units: Array, a: Array, *, exact: bool) -> Array:
        """Update scores of units that were computed with weights `a` of the first indices."""
        change = self.a.copy()
        change[: len(a)] -= a
        moved = np.flatnonzero(change)
        if 2 * len(moved) > np.count_nonzero(self.a):
            return self.scorer()(units, exact=exact)
        score = self.problem.scorer(self.indices[moved], change[moved])
        return np.asarray(values + score(units, exact=exact))


def append_rows(K: Array, block: Array, slack: Array, m: int) -> None:
    """Write the similarities of new indices with `m` old ones and themselves into K, in place.

    Averages the two halves of the block of new indices. Raises ValueError if the block cannot come
    from a kernel.
    """
    total = m + len(block)
    size = float(np.abs(block).max(initial=0.0))
    if not np.isfinite(size):
        raise ValueError(
            "The kernel returns values that are not finite: rescale X, or change the "
            "parameters of the kernel."
        )

    # write the similarities between new and old indices, then those among the new ones, and
    # average the two rounded values of each pair
    among_new = block[:, m:]
    asymmetry = float(np.abs(among_new - among_new.T).max())
    if asymmetry > 1e-5 * max(SMALLEST_DIVISOR, size):
        raise ValueError("The kernel is not symmetric: k(x, z) differs from k(z, x).")
    K[m:total, :m] = block[:, :m]
    K[:m, m:total] = block[:, :m].T
    K[m:total, m:total] = 0.5 * (among_new + among_new.T)
    K[np.arange(m, total), np.arange(m, total)] += slack

    diagonal = K.diagonal()[:total]
    # compute |phi_i - phi_j|^2 for the new indices; for a kernel it is never negative
    distances_sq = -2.0 * K[m:total, :total]
    distances_sq += diagonal
    distances_sq += diagonal[m:, None]
    largest = max(SMALLEST_DIVISOR, float(np.abs(diagonal).max()))
    if float(distances_sq.min()) < -SINGLE_ROUNDING * largest:
        raise ValueError(
            "The kernel is not positive semi-definite: k(x, x) + k(z, z) - 2 k(x, z) is "
            "negative for two samples. Use another kernel, or smaller costs, which add to "
            "k(x, x)."
        )

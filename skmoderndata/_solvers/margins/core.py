"""A core set: indices with weights, and the block of `K'` that belongs to them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.margins.simplex_qp import (
    CVXPY_LIMIT,
    active_set,
    ball_steps,
    gram_factor,
    pairwise_descent,
    simplex_by_cvxpy,
    simplex_qp,
)

FIRST_ROWS = 512  # rows of the first matrix; it grows by doubling
WORKING_SET = 4000  # variables on which a core set without a matrix is solved at a time
MOST_WORKING_SETS = 1000
MOST_IDLE = 20  # working sets in succession that change nothing beyond rounding
CHECKED = 512  # of many new indices, so many tell whether the kernel is one
DIAGONAL_BLOCK_ROWS = 32  # rows of the blocks whose diagonal is taken


class Core:
    """Indices with weights, the block of `K'` that belongs to them, and half the gradient.

    Up to `limit` indices the block is held. Beyond it only the weights and half the gradient are,
    and the weights are found on working sets, whose blocks are computed when they are needed.
    """

    def __init__(
        self,
        problem: Any,  # of `core_problems`
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

        self.held = True  # whether there is a matrix
        self._K = np.empty((0, 0))
        self._diagonal = np.zeros(0)  # where there is no matrix
        self._rng = np.random.RandomState(0)  # draws half of each working set
        self.n_drops = 0  # how often indices have been renumbered
        self.add(indices)

    def __len__(self) -> int:
        return len(self.indices)

    def inside(self, indices: Array) -> Array:
        """Tell which indices are in the core set."""
        return np.isin(indices, self.indices)

    @property
    def K(self) -> Array:
        """The block of `K'`."""
        return self._K[: len(self), : len(self)]

    @property
    def spread(self) -> float:
        """How far half the gradient is from equal where weights are, and from least."""
        return float(self.g[self.a > 0].max() - self.g.min())

    def add(self, new: Array) -> None:
        """Let indices join, with weight zero (equal weights if there is none)."""
        new = np.asarray(new, np.int64)
        m = len(self)
        total = len(self) + len(new)

        # matrix in memory: one block more; else products with the columns of nonzero weight
        if self.held and total > self.limit:
            self._release()
        linear = self.problem.linear(new)
        if self.held:
            g = self._append(new, linear)
        else:
            # a part of the block is checked in place of all
            some = new[: min(self.limit, CHECKED)]
            block = self.problem.gram(some, some)
            append_rows(np.empty_like(block), block, self.problem.slack(some), 0)
            self._diagonal = np.concatenate([self._diagonal, self._self_products(new)])
            used = self.a > 0
            g = self.problem.products(new, self.indices[used], self.a[used]) - 0.5 * linear

        # state of the indices: weights, linear terms, gradient
        self.indices = self.problem.core = np.concatenate([self.indices, new])
        self.v = np.concatenate([self.v, linear])
        start = 1.0 / total if m == 0 else 0.0
        self.a = np.concatenate([self.a, np.full(len(new), start)])
        self.g = np.concatenate([self.g, g])

        if m == 0:
            self.refresh()

    def _append(self, new: Array, linear: Array) -> Array:
        """Write the rows of new indices into the matrix; return half their gradient."""
        m = len(self)
        total = len(self) + len(new)
        if total > len(self._K):
            # pages that nobody has written to take no memory
            size = self.limit if 2 * total > self.limit else max(2 * total, FIRST_ROWS)
            K = np.empty((size, size))
            K[:m, :m] = self.K
            self._K = K
        block = self.problem.gram(new, np.concatenate([self.indices, new]))
        append_rows(self._K, block, self.problem.slack(new), m)
        return block[:, :m] @ self.a - 0.5 * linear

    def _self_products(self, new: Array) -> Array:
        """Diagonal of `K'`, by small blocks."""
        blocks = [
            new[s : s + DIAGONAL_BLOCK_ROWS] for s in range(0, len(new), DIAGONAL_BLOCK_ROWS)
        ]
        own = [self.problem.gram(block, block).diagonal() for block in blocks]
        return np.asarray(np.concatenate(own) + self.problem.slack(new))

    def _release(self) -> None:
        """Give the matrix up."""
        self.held = False
        self._diagonal = self.K.diagonal().copy()
        self._K = np.empty((0, 0))

    def drop(self, margin: float) -> None:
        """Forget indices without weight that are far from mattering."""
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
        """Find the weights, to a spread of `tol` of half the gradient."""
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
        """Solve on some of the variables, the others fixed, until all agree [Joachims 1999].

        Half of a working set are the variables that violate optimality most, half are drawn from
        all that have a weight or violate it: the worst alone would be the same ones again and
        again, and never learn of what all the others have in common.
        """
        size = min(self.limit, WORKING_SET)
        tol = max(tol, 1e-15 * float(np.abs(self._diagonal).max()))
        # who looks at them sees what was
        self.a = self.a.copy()
        self.g = self.g.copy()
        idle = 0

        for _ in range(MOST_WORKING_SETS):
            # 1. end: the gradient spreads little, or working sets have long changed nothing
            self._measure()
            if self.spread <= tol or idle > MOST_IDLE:
                return

            # 2. the smaller problem, its gradient shifted by the fixed variables
            chosen = self._working_set(size)
            working_set = self.indices[chosen]
            K = self.problem.gram(working_set, working_set)
            K[np.diag_indices(len(K))] = diagonal = self._diagonal[chosen]

            a = self.a[chosen]
            g = self.g[chosen]
            inner = float(g[a > 0].max(initial=-np.inf) - g.min())
            goal = max(0.5 * tol, 0.1 * inner)
            steps = pairwise_descent(
                K, np.ones(len(a)), diagonal, a, g, len(a), goal, 20 * len(a)
            )
            idle = 0 if steps else idle + 1

            # 3. all gradients, from the columns that changed
            change = a - self.a[chosen]
            moved = np.flatnonzero(change)
            self.g += self.problem.products(self.indices, working_set[moved], change[moved])
            self.g[chosen] += self.problem.slack(working_set) * change
            self.a[chosen] = a

    def _working_set(self, size: int) -> Array:
        """Variables on which to solve next."""
        below = self.level - self.g
        violation = np.where(self.a > 0, np.abs(below), np.maximum(0.0, below))
        free = np.flatnonzero((violation > 0) | (self.a > 0))
        if len(free) <= size:
            return free
        half = size // 2
        worst = free[np.argpartition(-violation[free], half)[:half]]
        others = self._rng.choice(free, size - half, replace=False)
        weighted = np.flatnonzero(self.a)
        top = weighted[self.g[weighted].argmax()]  # without weight no step can be taken
        return np.union1d(np.append(worst, top), others)

    def set_weights(self, a: Array) -> None:
        """Take given weights."""
        self.a = a / a.sum()
        self.refresh()

    def refresh(self) -> None:
        """Compute half the gradient anew."""
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
        """Solve for the weights of the support to rounding, where that keeps the optimum."""
        if not self.held or len(self) < 2:
            return
        rounding = max(self.spread, 1e-13 * self.rho)
        a = active_set(self.K, self.v, self.a, tol=0.0, max_iter=20)
        g = self.K @ a - 0.5 * self.v
        if float(g[a > 0].max() - g.min()) <= rounding:
            self.set_weights(a)

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
        return np.asarray(values + score(units, exact=exact))


def append_rows(K: Array, block: Array, slack: Array, m: int) -> None:
    """Write the similarities of new indices with `m` old ones and themselves into K, in place.

    The two halves of the new part are averaged. Raises an error where it is no kernel's.
    """
    total = m + len(block)
    size = float(np.abs(block).max(initial=0.0))
    if not np.isfinite(size):
        raise ValueError(
            "The kernel gives values that are not finite numbers: rescale X, or change the "
            "parameters of the kernel."
        )

    # new with old; new among themselves, where rounding has two values
    own = block[:, m:]
    asymmetry = float(np.abs(own - own.T).max())
    if asymmetry > 1e-5 * max(1e-300, size):
        raise ValueError("The kernel is not symmetric: k(x, z) differs from k(z, x).")
    K[m:total, :m] = block[:, :m]
    K[:m, m:total] = block[:, :m].T
    K[m:total, m:total] = 0.5 * (own + own.T)
    K[np.arange(m, total), np.arange(m, total)] += slack

    diagonal = K.diagonal()[:total]
    # |phi_i - phi_j|^2 of the new ones, which no kernel makes negative
    apart = -2.0 * K[m:total, :total]
    apart += diagonal
    apart += diagonal[m:, None]
    largest = max(1e-300, float(np.abs(diagonal).max()))
    if float(apart.min()) < -1e-6 * largest:
        raise ValueError(
            "The kernel is not positive semi-definite: k(x, x) + k(z, z) - 2 k(x, z) is "
            "negative for two samples. Use another kernel, or smaller costs, which add to "
            "k(x, x)."
        )

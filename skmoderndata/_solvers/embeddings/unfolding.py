"""Maximum variance unfolding: the widest placement of points that respects local distances.

With edges (i, j) of lengths d, ``delta_e(K) = K_ii + K_jj - 2 K_ij`` and ``sum K = 0``, K psd
(Weinberger and Saul 2004):

========  ====================================================  ===============================
form      problem                                               multipliers
========  ====================================================  ===============================
equal     ``max tr K, delta_e = d_e^2``                         w of any sign
at_most   ``max tr K, delta_e <= d_e^2``                        ``w >= 0``
soft      ``max tr K - nu sum (delta_e - d_e^2)^2``             ``w = 2 nu (delta_e - d_e^2)``
========  ====================================================  ===============================

Certificate (Sun, Boyd, Xiao and Diaconis 2006): let 1 / s > 0 be the second eigenvalue of the
Laplacian L_w of the graph with weights w. The optimum is at most ``s sum w d^2``; the soft form
adds ``s^2 sum w^2 / (4 nu)``.

`unfold_softly` and `unfold_at_most` ascend over ``K = Y Y'`` with few columns (Burer and Monteiro
2003) from one of two starts: distances along the graph (de Silva and Tenenbaum 2004), or smooth
functions of the graph (Weinberger, Sha, Zhu and Saul 2007). `unfold_stated` hands the
semidefinite program to cvxpy.

Differs from the papers: the low-rank ascent replaces a semidefinite solver, and steps along
eigenvectors leave its saddles.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.optimize import minimize
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import ArpackError, eigsh, lsqr

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.convex_problems import solve, variance_unfolding
from skmoderndata._solvers.common.iterate import Iterations, Progress
from skmoderndata._solvers.common.linalg import DENSE_UP_TO
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, TINY

Array = NDArray[np.float64]


# Number of corrections that L-BFGS stores.
PAIRS = 20

# Number of times that the ends of long edges are pulled together after each pass.
PULLS = 10

# Maximum relative violation of squared lengths at which Newton steps are worth their time.
NEAR = 1e-2

# Maximum number of Newton steps that restore the lengths of edges after the pulls.
NEWTON_STEPS = 20

# Relative error of the squared lengths at which the Newton steps stop.
LENGTH_TOL = 1e-9

# Maximum number of least-squares iterations in a Newton step.
LSQR_STEPS = 200

# Minimum multiplier of an edge that has to keep its length, as a fraction of the largest
# multiplier.
HELD_RELATIVE = 1e-6

# Maximum number of moves away from saddles.
KICKS = 10

# Size of a move away from a saddle, in units of the norm of the largest column.
KICK = 0.01

# Relative progress of a step at which L-BFGS stops.
FTOL = 1e-13

# Number of steps between two computations of the bound.
ROUND = 500

# Maximum number of landmarks in `geodesic_start`.
LANDMARKS = 200

# Amounts added to all weights in the search for the least bound, in units of the mean weight.
LIFTS = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0)


class Graph(NamedTuple):
    """Edges i < j with squared lengths in units of their mean."""

    n: int
    i: NDArray[np.intp]
    j: NDArray[np.intp]
    d2: Array

    def laplacian(self, w: Array) -> Any:
        """Return ``L_w``, for which ``sum_e w_e delta_e(K) = tr L_w K``."""
        shape = self.n, self.n
        off = sparse.coo_array((-w, (self.i, self.j)), shape=shape)
        W = (off + off.T).tocsr()
        sums: Array = np.asarray(W.sum(axis=1)).ravel()
        return W - sparse.diags_array(sums)

    def steps(self) -> Any:
        """Return sparse B with ``B Y = Y[i] - Y[j]``, so that ``L_w = B' diag(w) B``."""
        e = np.arange(len(self.d2))
        ones = np.ones(len(e))
        signs = np.concatenate([ones, -ones])
        ends = np.append(self.i, self.j)
        entries = signs, (np.tile(e, 2), ends)
        return sparse.csr_array(entries, shape=(len(e), self.n))

    def lengths(self, Y: Array) -> Array:
        """Return the squared lengths of the edges between the points Y."""
        step = Y[self.i] - Y[self.j]
        return np.einsum("ek,ek->e", step, step)


class Unfolding(NamedTuple):
    """Points Y (``K = Y Y'``), multipliers, objective, upper bound, number of steps."""

    Y: Array
    weights: Array
    objective: float
    bound: float
    n_iter: int
    converged: bool


def softness(graph: Graph, start: Array, slack: float) -> float:
    """Return the weight nu for which edges deviate by about `slack` of their squared length."""
    trace = (start**2).sum()
    return float(trace / (2 * slack * len(graph.d2)))


def value(graph: Graph, Y: Array, nu: float | None) -> float:
    """Return ``tr K``, minus the penalty if the form is soft."""
    trace = float((Y**2).sum())
    if nu is None:
        return trace
    excess = graph.lengths(Y) - graph.d2
    return trace - nu * float((excess**2).sum())


def gap_below(bound: float, reached: float) -> float:
    """Return the gap of bound and value over the bound, infinite without a positive bound."""
    return relative_gap(bound, reached, unit=bound) if bound > 0 else float("inf")


def dual_bound(graph: Graph, w: Array, nu: float | None) -> float:
    """Bound the optimum from above; infinite unless the second eigenvalue of ``L_w`` is > 0."""
    second = second_eigenvalue(graph.laplacian(w))
    if not second > 0:
        return float("inf")
    s = 1 / second
    bound = s * float(w @ graph.d2)
    if nu is None:
        return bound
    return bound + s * s * float(w @ w) / (4 * nu)


def best_bound(graph: Graph, w: Array, nu: float | None) -> tuple[float, Array]:
    """Return the least bound of ``w + t mean(w)`` over a few t, and its multipliers.

    Close to the optimum ``L_w`` has eigenvalues a little below 1, and even below 0, on functions
    that oscillate over the graph. A small weight on all edges lifts these eigenvalues most.
    """
    least = float("inf")
    weights = w
    for t in LIFTS:
        lifted = w + t * max(float(w.mean()), 0.0)
        bound = dual_bound(graph, lifted, nu)
        if bound < least:
            least = bound
            weights = lifted
        elif np.isfinite(least):
            break
    return least, weights


def second_eigenvalue(L: Any) -> float:
    """Return the least eigenvalue of a Laplacian on the vectors of sum zero."""
    try:
        return lowest_beyond_ones(L)[0]
    except ArpackError:
        return -np.inf


def lowest_beyond_ones(L: Any) -> tuple[float, Array]:
    """Return the least eigenvalue of a Laplacian on vectors of sum zero, and its eigenvector.

    Negative weights may give negative eigenvalues, but bound them. With a shift below this bound,
    the lowest eigenvalues of the sparse matrix are the ones nearest to the shift.
    """
    n = L.shape[0]
    if n <= DENSE_UP_TO:
        D = L.toarray()
        largest = float(np.abs(D).sum(axis=1).max())
        # raise the eigenvalue of the vector of ones above all others
        lift = 2 * largest / n
        lowest, V = eigh(D + lift, subset_by_index=[0, 0])
        return float(lowest[0]), V[:, 0]

    positive = L - sparse.diags_array(L.diagonal())
    negative_weights = positive.maximum(0).sum(axis=1)
    shift = 1e-3 + 2 * float(negative_weights.max())
    # use a fixed start, so that repeated fits are equal
    start = np.random.RandomState(0).normal(size=n)
    values, V = eigsh(L, k=2, sigma=-shift, which="LM", v0=start)
    low, high = np.argsort(values)
    rounding = 1e-8 * abs(L.diagonal()).max()
    lowest_other = high if abs(values[low]) < rounding else low
    return float(values[lowest_other]), V[:, lowest_other]


def unfold_softly(
    graph: Graph,
    start: Array,
    nu: float,
    *,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
) -> Unfolding:
    """Ascend the soft form until the relative gap of value and bound is at most `tol`.

    The gap is computed every `ROUND` steps.
    """
    Y = start
    zero = np.zeros(len(graph.d2))
    total = 0
    kicks = 0
    best_w = zero
    bound = float("inf")
    it = Iterations(max_iter, tol, progress)

    for _ in it:
        # ascend, and bound the optimum from above
        steps = min(ROUND, max_iter - total)
        Y, n_iter, ended = _ascend(graph, Y, nu, zero, steps, one_sided=False)
        total += n_iter
        multipliers = 2 * nu * (graph.lengths(Y) - graph.d2)
        new_bound, w = best_bound(graph, multipliers, nu)
        if new_bound < bound:
            bound = new_bound
            best_w = w

        it.residual = gap_below(bound, value(graph, Y, nu))
        it.ended = total >= max_iter or (ended and kicks == KICKS)

        # leave the point if the ascent ended above the tolerance, because it may be a saddle
        if ended and it.residual > tol and not it.ended:
            kicks += 1
            Y = leave_saddle(graph, Y, multipliers)

    reached = value(graph, Y, nu)
    return Unfolding(Y, best_w, reached, bound, total, it.converged)


def unfold_at_most(
    graph: Graph,
    start: Array,
    nu: float,
    *,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
) -> Unfolding:
    """Ascend the form "at_most" by the method of multipliers with a growing penalty nu.

    The penalty triples if the violation has not halved, up to a thousandfold. After each pass, the
    points are shrunk until no edge is too long, which makes them feasible; copies whose long edges
    are first pulled together or tightened are tried as well. The bound holds for any multipliers.
    The residual is the relative difference of the bound and the best feasible value.
    """
    Y = start
    w = np.zeros(len(graph.d2))
    total = 0
    top = 1e3 * nu  # with a larger penalty, rounding errors would exceed the steps
    stalled = 0  # number of consecutive passes with at most one step
    kicked = False  # whether the last pass began with a move away from a saddle
    best = np.zeros_like(start)
    best_w = w
    bound = float("inf")
    before = float("inf")
    it = Iterations(max_iter, tol, progress)

    for _ in it:
        # 1. ascend the augmented Lagrangian
        steps = min(ROUND, max_iter - total)
        Y, n_iter, _ = _ascend(graph, Y, nu, w, steps, one_sided=True)
        total += n_iter

        # 2. update the multipliers of edges that are too long
        excess = graph.lengths(Y) - graph.d2
        w = np.maximum(0.0, w + 2 * nu * excess)

        # 3. update the best feasible point and the bound; try Newton steps if edges are nearly
        # short enough
        closer = pulled(graph, Y)
        feasible = [best, shrunk(graph, Y), shrunk(graph, closer)]
        best = max(feasible, key=np.linalg.norm)
        new_bound, lifted = best_bound(graph, w, None)
        if new_bound < bound:
            bound = new_bound
            best_w = lifted

        violation = float((excess / graph.d2).max())
        gap = gap_below(bound, float((best**2).sum()))
        if violation <= NEAR and gap > tol:
            exact = tightened(graph, closer, w)
            best = max(best, shrunk(graph, exact), key=np.linalg.norm)
        it.residual = gap_below(bound, float((best**2).sum()))

        # 4. if the points are nearly feasible but not optimal, move away from a saddle, unless the
        # last pass did so and the multipliers lag behind; otherwise raise the penalty if the
        # violation has not halved and contributes more to the gap than the bound, which a large
        # penalty would weaken
        spread = float(((Y - Y.mean(axis=0)) ** 2).sum())
        is_infeasible = spread - float((best**2).sum()) > new_bound - spread
        kicked = violation <= tol < it.residual and not kicked
        if kicked:
            Y = leave_saddle(graph, Y, w)
        elif violation > 0.5 * before and is_infeasible:
            nu = min(3 * nu, top)

        before = violation
        stalled = stalled + 1 if n_iter <= 1 else 0
        it.ended = total >= max_iter or stalled == 10

    reached = float((best**2).sum())
    return Unfolding(best, best_w, reached, bound, total, it.converged)


def shrunk(graph: Graph, Y: Array) -> Array:
    """Centre the points, and shrink them until no edge is too long."""
    longest = float((graph.lengths(Y) / graph.d2).max())
    centred = Y - Y.mean(axis=0)
    return centred / np.sqrt(max(1.0, longest))


def pulled(graph: Graph, Y: Array) -> Array:
    """Pull the ends of edges that are too long towards each other, a few times.

    Edges between points that nearly coincide are so short that L-BFGS steps hardly change them.
    """
    B = graph.steps()
    for _ in range(PULLS):
        step = B @ Y
        lengths = np.einsum("ek,ek->e", step, step)
        long = (lengths > graph.d2).astype(np.float64)
        ratio = graph.d2 / np.maximum(lengths, graph.d2)
        fraction = 0.5 * long * (1 - np.sqrt(ratio))

        # move each point by the mean of the pulls of its edges
        pulls = np.maximum(abs(B).T @ long, 1.0)
        moves = B.T @ (fraction[:, None] * step)
        Y = Y - moves / pulls[:, None]
    return Y


def tightened(graph: Graph, Y: Array, w: Array) -> Array:
    """Bring edges that are too long, or have a multiplier, to their length by Newton steps.

    Each step is the least movement Z with ``<Y_i - Y_j, Z_i - Z_j> = (d^2 - delta) / 2``.
    Equations are divided by d, because the penalty of L-BFGS neglects the shortest edges.
    """
    for _ in range(NEWTON_STEPS):
        delta = graph.lengths(Y)
        multiplies = w > HELD_RELATIVE * w.max()
        held = np.flatnonzero((delta > graph.d2) | multiplies)
        i = graph.i[held]
        j = graph.j[held]
        d = np.sqrt(graph.d2[held])
        if (delta <= graph.d2 * (1 + LENGTH_TOL)).all():
            break

        # build a row for each edge, with entries in the coordinates of both ends
        width = Y.shape[1]
        rows = np.repeat(np.arange(len(held)), width)
        k = np.tile(np.arange(width), len(held))
        directions = (Y[i] - Y[j]) / d[:, None]
        entries = directions.ravel()
        signed = np.append(entries, -entries)
        first = np.repeat(i, width) * width + k
        second = np.repeat(j, width) * width + k
        places = np.tile(rows, 2), np.append(first, second)
        A = sparse.csr_array((signed, places), shape=(len(held), Y.size))

        shortfall = (graph.d2 - delta)[held] / (2 * d)
        step = lsqr(
            A,
            shortfall,
            atol=ACCUMULATED_ROUNDING,
            btol=ACCUMULATED_ROUNDING,
            iter_lim=LSQR_STEPS,
        )
        Y = Y + step[0].reshape(Y.shape)
    return Y


def leave_saddle(graph: Graph, Y: Array, w: Array) -> Array:
    """Move points along the eigenvector of ``L_w`` of sum zero whose eigenvalue is below 1.

    The objective rises if the eigenvector is added to the smallest column, after the columns have
    been rotated to be orthogonal (Boumal, Voroninski and Bandeira 2016).
    """
    try:
        v = lowest_beyond_ones(graph.laplacian(w))[1]
    except ArpackError:
        return Y

    # rotate to orthogonal columns
    centred = Y - Y.mean(axis=0)
    U, S, _ = np.linalg.svd(centred, full_matrices=False)
    rotated: Array = U * S
    kick = KICK * S[0]
    rotated[:, -1] += kick * (v - v.mean())
    return rotated


def unfold_stated(graph: Graph, form: str, nu: float, *, tol: float) -> Unfolding:
    """Solve the semidefinite program by Clarabel, else SCS; `Y` has a column for each node.

    Solutions of the form "equal" are often inaccurate, since its multipliers need not exist. They
    count as converged only if the edges are within `tol` as well.
    """
    soft = form == "soft"
    stated = variance_unfolding(graph.n, graph.i, graph.j, graph.d2, form, nu)
    if not solve(stated, solver="CLARABEL") and not solve(stated, solver="SCS", eps=1e-6):
        raise ValueError(
            "solver='cvxpy' failed: neither Clarabel nor SCS solved the program; use 'low_rank'."
        )

    values, V = eigh(stated.variable.value)
    Y = V * np.sqrt(np.maximum(values, 0.0))
    Y -= Y.mean(axis=0)

    if form == "at_most":  # edges may be too long by as much as the tolerance of Clarabel
        longest = float((graph.lengths(Y) / graph.d2).max())
        Y /= np.sqrt(max(1.0, longest))

    # compute the multipliers of the edges, whose sign depends on the solver
    if soft:
        w = 2 * nu * (graph.lengths(Y) - graph.d2)
    else:
        w = np.ravel(stated.constraint.dual_value)
    if form == "at_most":
        w = np.maximum(w, 0.0)
    penalty = nu if soft else None

    reached = value(graph, Y, penalty)
    bounds = [best_bound(graph, v, penalty) for v in (w, -w)]
    bound, w = min(bounds, key=lambda pair: pair[0])
    n_iter = int(stated.problem.solver_stats.num_iters)

    # check that the form "equal" satisfies its constraints, too
    miss = 0.0
    if form == "equal":
        excess = graph.lengths(Y) / graph.d2 - 1
        miss = float(np.abs(excess).max())
    converged = max(gap_below(bound, reached), miss) <= tol
    return Unfolding(Y, w, reached, bound, n_iter, converged)


def _ascend(
    graph: Graph, Y: Array, nu: float, w: Array, max_iter: int, one_sided: bool
) -> tuple[Array, int, bool]:
    """Maximise ``|Y|^2 - sum psi(r_e)``, ``r = delta - d^2``, by L-BFGS.

    ``psi = (v^2 - w^2) / (4 nu)`` with ``v = w + 2 nu r``; if `one_sided`, negative v become 0.
    """
    shape = Y.shape
    scale = 1 / max(float((Y**2).sum()), TINY)

    B = graph.steps()

    def negative(y: Array) -> tuple[float, Array]:
        P = y.reshape(shape)
        P = P - P.mean(axis=0)
        step = B @ P

        # compute v, the multipliers of the squared distances, which equal w for edges that have
        # their prescribed lengths
        delta = np.einsum("ek,ek->e", step, step)
        v = w + 2 * nu * (delta - graph.d2)
        if one_sided:
            v = np.maximum(v, 0.0)

        penalty = (v @ v - w @ w) / (4 * nu)
        f = float(penalty - (P**2).sum())
        gradient = 2 * (B.T @ (v[:, None] * step) - P)  # this equals L_v P = B' diag(v) B P
        gradient -= gradient.mean(axis=0)
        return scale * f, scale * gradient.ravel()

    limits = {"maxiter": max_iter, "maxfun": 2 * max_iter, "ftol": FTOL, "gtol": 0.0}
    options: Any = {"maxcor": PAIRS, **limits}
    result = minimize(negative, Y.ravel(), jac=True, method="L-BFGS-B", options=options)
    P = result.x.reshape(shape)
    centred = P - P.mean(axis=0)
    return centred, int(result.nit), bool(result.success)


def geodesic_start(graph: Graph, rank: int, rng: np.random.RandomState) -> Array:
    """Scale distances along the graph by landmarks, as in Isomap (de Silva and Tenenbaum 2004).

    Columns without a positive eigenvalue are small and random, because columns of zeros would
    stay zero.
    """
    n = graph.n
    landmarks = np.arange(n)
    if n > LANDMARKS:
        landmarks = np.sort(rng.choice(n, LANDMARKS, replace=False))

    # compute distances along edges, from the landmarks to all nodes
    entries = np.sqrt(graph.d2), (graph.i, graph.j)
    lengths = sparse.csr_array(entries, shape=(n, n))
    D2 = dijkstra(lengths, directed=False, indices=landmarks) ** 2  # landmarks x nodes

    # apply classical scaling to the landmarks
    between = D2[:, landmarks]
    mean = between.mean(axis=1)
    B = -0.5 * (between - mean - mean[:, None] + mean.mean())
    values, V = eigh(B)
    values = values[::-1][:rank]
    V = V[:, ::-1][:, :rank]
    k = int(np.count_nonzero(values > 1e-6 * values[0]))

    # place all points according to their distances to the landmarks
    size = np.sqrt(values[0] / n)
    Y = 1e-3 * size * rng.normal(size=(n, rank))
    axes = V[:, :k] / np.sqrt(values[:k])
    relative = D2 - mean[:, None]
    Y[:, :k] = -0.5 * relative.T @ axes
    return Y - Y.mean(axis=0)

"""Convex problems as printed in the papers, stated for cvxpy.

``solver="cvxpy"`` solves them, and the tests compare every other solver with them. Each function
returns the problem, its variable and its constraints; `solve` passes it to a solver.
"""

import warnings
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.common.tolerances import SMALLEST_DIVISOR
from skmoderndata._solvers.common.typing import Array

# Tolerances of Clarabel for accurate solutions.
ACCURATE = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)


class Statement(NamedTuple):
    """A cvxpy problem, the variable to solve for, and the constraint with the multiplier."""

    problem: Any
    variable: Any
    constraint: Any


def import_cvxpy() -> Any:
    """Return cvxpy; if it is not installed, raise an error that says how to proceed."""
    try:
        import cvxpy
    except ImportError as error:
        raise ImportError(
            "This problem requires cvxpy, which is not installed: run `pip install cvxpy`, or "
            "choose a `solver` other than 'cvxpy' and 'auto'."
        ) from error
    return cvxpy


def solve(stated: Statement, **options: Any) -> bool:
    """Solve a stated problem with cvxpy's `options`; return False if the solver fails."""
    cp = import_cvxpy()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            stated.problem.solve(**options)
    except cp.error.SolverError:
        return False
    return stated.problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)


def solve_for_factors(
    stated: Statement, size: float, instead: str
) -> tuple[Array, Array, Array]:
    """Solve for ``size * L`` with Clarabel and return ``U, s, Vt``; raise if Clarabel fails.

    The error message recommends `instead`. An interior point method leaves all singular values
    positive, so tiny ones are dropped. The dual variable is computed from the residuals, whose
    error is the root of the objective's error: hence the tolerances are as small as Clarabel can
    reach.
    """
    accurate = solve(stated, solver="CLARABEL", **ACCURATE)
    if not accurate and not solve(stated, solver="CLARABEL"):
        raise ValueError(
            f"solver='cvxpy' failed: Clarabel reports {stated.problem.status}; use {instead}."
        )
    U, s, Vt = np.linalg.svd(size * stated.variable.value, full_matrices=False)
    r = int(np.count_nonzero(s > 1e-6 * max(s[0], size)))
    return U[:, :r], s[:r], Vt[:r]


def basis_pursuit(
    A: Array, y: Array, *, weights: Any = 1.0, positive: bool = False
) -> Statement:
    """State ``min |w * a|_1  s.t.  A a = y``, a linear program.

    See [Chen, Donoho and Saunders 1998].
    """
    cp = import_cvxpy()
    a = cp.Variable(A.shape[1], nonneg=positive)
    equations = A @ a == y
    problem = cp.Problem(cp.Minimize(cp.norm1(cp.multiply(weights, a))), [equations])
    return Statement(problem, a, equations)


def basis_pursuit_denoising(
    A: Array, y: Array, bound: float, *, weights: Any = 1.0, positive: bool = False
) -> Statement:
    """State ``min |w * a|_1  s.t.  |y - A a|_2 <= bound``.

    See [Candes, Romberg and Tao 2006, (P2)].
    """
    cp = import_cvxpy()
    a = cp.Variable(A.shape[1], nonneg=positive)
    near = cp.norm2(y - A @ a) <= bound
    problem = cp.Problem(cp.Minimize(cp.norm1(cp.multiply(weights, a))), [near])
    return Statement(problem, a, near)


def robust_pca(X: Array, lam: float | Array, *, delta: float | Array = 0.0) -> Statement:
    """State ``min |L|_* + lam |S|_1  s.t.  L + S = X`` on the entries of X that are not NaN.

    With `delta` above 0, a term ``|X - L - S|_F^2 / (2 delta)`` replaces the constraint, and there
    is no multiplier. Both parameters may be arrays with the shape of X, as weights of the entries.
    cvxpy converts the nuclear norm, the sum of the singular values, to half the trace of a
    semidefinite completion [Candes, Li, Ma and Wright 2011, (1.1)].
    """
    cp = import_cvxpy()
    observed = (~np.isnan(X)).astype(float)
    L = cp.Variable(X.shape)
    S = cp.Variable(X.shape)
    weighted = np.ndim(lam) > 0
    errors = cp.sum(cp.multiply(lam, cp.abs(S))) if weighted else lam * cp.sum(cp.abs(S))
    objective = cp.normNuc(L) + errors
    residual = np.nan_to_num(X) - cp.multiply(observed, L + S)

    # state the quadratic loss
    if np.any(np.asarray(delta) > 0):
        if weighted:
            objective += cp.sum_squares(cp.multiply(delta**-0.5, residual)) / 2
        else:
            objective += cp.sum_squares(residual) / (2 * delta)
        return Statement(cp.Problem(cp.Minimize(objective)), L, None)

    # state exact entries as constraints, whose multipliers are the dual variable
    equations = residual == 0
    return Statement(cp.Problem(cp.Minimize(objective), [equations]), L, equations)


def matrix_completion(
    M: Array, observed: Array, lam: float, weights: Array | None = None
) -> Statement:
    """State ``min 1/2 |P(M - L)|_F^2 + lam |L|_*``.

    For ``lam = 0``, it is ``min |L|_*  s.t.  P(L) = P(M)``. P keeps the observed entries, which
    are multiplied by the roots of `weights` in the first problem [Mazumder, Hastie and Tibshirani
    2010, (8); Candes and Recht 2009, (1.5)].
    """
    cp = import_cvxpy()
    L = cp.Variable(M.shape)
    mask = observed.astype(float)
    filled = np.where(observed, M, 0.0)
    if weights is not None:
        mask = np.sqrt(np.where(observed, weights, 0.0))
        filled = mask * filled
    residual = filled - cp.multiply(mask, L)

    # state the loss of noisy entries
    if lam > 0:
        loss = cp.sum_squares(residual) / 2 + lam * cp.normNuc(L)
        return Statement(cp.Problem(cp.Minimize(loss)), L, None)

    # state exact entries as constraints
    equations = residual == 0
    return Statement(cp.Problem(cp.Minimize(cp.normNuc(L)), [equations]), L, equations)


def group_lasso(
    X: Array, y: Array, edges: Array, *, lam: float, weights: Array, mix: float, positive: bool
) -> Statement:
    """State ``min 1/2 |y - X w|^2 + lam sum_g ((1 - mix) weight_g |w_g| + mix |w_g|_1)``.

    Group g holds the columns ``edges[g]:edges[g + 1]`` [Simon et al. 2013, (1)].
    """
    cp = import_cvxpy()
    w = cp.Variable(X.shape[1], nonneg=positive)
    norms = [cp.norm2(w[first:last]) for first, last in pairwise(edges)]
    penalty = (1 - mix) * cp.sum(cp.multiply(weights, cp.hstack(norms))) + mix * cp.norm1(w)
    loss = 0.5 * cp.sum_squares(y - X @ w)
    return Statement(cp.Problem(cp.Minimize(loss + lam * penalty)), w, None)


def simplex_program(F: Array, v: Array) -> Statement:
    """State ``min |F a|^2 - v'a  s.t.  a >= 0, sum a = 1``: enclosing balls and core vectors.

    With ``F'F = K`` and ``v = diag(K)``, it is the dual of the smallest ball around points with
    inner products K [Tsang, Kwok and Cheung 2005, (2)]. The variable is ``m a`` for m entries, so
    that it has size 1, because the tolerances of cone solvers are absolute; the objective is
    scaled accordingly.
    """
    cp = import_cvxpy()
    m = len(v)
    b = cp.Variable(m, nonneg=True)
    b.value = np.ones(m)

    # the variable b = m a has entries of about 1, and the objective is divided by the largest
    # coefficient
    top = float((F * F).sum(axis=0).max(initial=0.0))
    scale = max(top, float(np.abs(v).max(initial=0.0)), SMALLEST_DIVISOR)
    objective = cp.sum_squares((F / np.sqrt(m * scale)) @ b) - (v / scale) @ b
    total = cp.sum(b) == m
    return Statement(cp.Problem(cp.Minimize(objective), [total]), b, total)


def sparse_separation(
    Z: Any,
    y: Array,
    costs: Any,
    *,
    margin: float = 1.0,
    direction: Array | None = None,
    slack_cost: Array | None = None,
    intercept: bool = True,
) -> Statement:
    """State ``min costs |w| + slack_cost xi  s.t.  Z w + y b + xi >= margin``, a linear program.

    The rows of Z are ``y_i x_i``. With costs ``1 / (e + |w|)`` for the previous weights, it is a
    step of the zero-norm machine [Weston et al. 2003, section 3]. A direction adds the constraint
    ``direction w = 1``; without `slack_cost`, the slack xi is left out. The variables are the
    positive and negative parts of w, so that `costs` may be a parameter, and b, which is None
    without an intercept; the constraints are a list.
    """
    cp = import_cvxpy()

    up = cp.Variable(Z.shape[1], nonneg=True)
    down = cp.Variable(Z.shape[1], nonneg=True)
    bias = cp.Variable() if intercept else None
    objective = costs @ (up + down)
    reached = Z @ up - Z @ down
    if intercept:
        reached = reached + y * bias

    # add slack if the margin may be violated
    if slack_cost is not None:
        slack = cp.Variable(len(y), nonneg=True)
        objective = objective + slack_cost @ slack
        reached = reached + slack
    constraints = [reached >= margin]

    if direction is not None:
        constraints.append(direction @ up - direction @ down == 1)
    problem = cp.Problem(cp.Minimize(objective), constraints)
    return Statement(problem, (up, down, bias), constraints)


def box_program(
    factor: Array, box: dict[str, Array], tube: float, members: Array, sums: Array
) -> Statement:
    """State ``min 1/2 |factor w|^2 + 1/2 sum ridge w^2 + linear' w + tube |w|_1`` in a box.

    The constraints are ``low <= w <= high`` and ``members w = sums``: it is the dual of support
    vector machines.
    """
    cp = import_cvxpy()

    w = cp.Variable(factor.shape[1])
    objective = 0.5 * cp.sum_squares(factor @ w) + box["linear"] @ w + tube * cp.norm1(w)
    objective += 0.5 * cp.sum_squares(cp.multiply(np.sqrt(box["ridge"]), w))

    # state only the finite bounds
    bounds = [
        limit
        for sign, end in ((1.0, box["low"]), (-1.0, box["high"]))
        for finite in [np.flatnonzero(np.isfinite(end))]
        if len(finite)
        for limit in [sign * w[finite] >= sign * end[finite]]
    ]

    equations = [members @ w == sums] if len(sums) else []
    return Statement(cp.Problem(cp.Minimize(objective), bounds + equations), w, None)


def ranking_program(
    factor: Array, segments: Array, bounds: Array, enforced: bool
) -> Statement:
    """State ``min |factor (u - l)|^2`` with ``0 <= l, u <= bounds``, and total weight 1.

    For each threshold, the lower weights of its rank and the upper weights of the next have equal
    sums; if `enforced`, weights ``mu`` of neighbours compensate for differences, so that the
    thresholds are in order [Shawe-Taylor and Cristianini 2004, Computation 8.8].
    """
    cp = import_cvxpy()

    n = factor.shape[1]
    n_thresholds = len(segments) - 1
    unit = float(bounds.max())  # divide by this bound, so that variables have size 1
    u = cp.Variable(n, nonneg=True)
    low = cp.Variable(n, nonneg=True)
    mu = cp.Variable(max(1, n_thresholds - 1), nonneg=True)

    # constrain the sums of the upper and the lower weights at each threshold
    rules = [u <= bounds / unit, low <= bounds / unit, cp.sum(u) + cp.sum(low) == 1 / unit]
    rules += [u[: segments[0][1]] == 0, low[segments[-1][0] :] == 0]

    # if the order of the thresholds is enforced, an excess at one threshold may be balanced by a
    # deficit at its neighbours
    for y in range(n_thresholds):
        (first, last) = segments[y]
        (start, stop) = segments[y + 1]
        excess = cp.sum(low[first:last]) - cp.sum(u[start:stop])
        before = mu[y - 1] if enforced and y > 0 else 0
        after = mu[y] if enforced and y < n_thresholds - 1 else 0
        rules.append(excess == after - before)
    if not enforced:
        rules.append(mu == 0)

    objective = cp.Minimize(cp.sum_squares(factor @ (u - low)))
    return Statement(cp.Problem(objective, rules), u - low, None)


def variance_unfolding(
    n: int, i: Array, j: Array, d2: Array, form: str, nu: float = 0.0
) -> Statement:
    """State ``max tr K  s.t.  K psd, sum K = 0, K_ii + K_jj - 2 K_ij = d2_ij`` on edges i, j.

    See [Weinberger and Saul 2004]. The form "at_most" has ``<=`` in place of the equations. The
    form "soft" has no constraints on the edges; it subtracts nu times the sum of squared
    differences.
    """
    cp = import_cvxpy()

    K = cp.Variable((n, n), PSD=True)
    diagonal = cp.diag(K)
    delta = diagonal[i] + diagonal[j] - 2 * K[i, j]
    rules = [cp.sum(K) == 0]
    gain = cp.trace(K)

    # penalise differences of distances, or constrain the distances
    if form == "soft":
        gain = gain - nu * cp.sum_squares(delta - d2)
    else:
        rules.append(delta == d2 if form == "equal" else delta <= d2)
    return Statement(cp.Problem(cp.Maximize(gain), rules), K, rules[-1])

"""Probabilistic latent semantic analysis: expectation maximisation on the non-zero counts.

Notation: counts x in CSR format, documents in rows; mixtures C (n, k) with rows of sum 1, topics
U (p, k) with columns of sum 1, so that ``P(word w | document d) = sum_z C[d, z] U[w, z]``.
"""

from typing import Any, NamedTuple

import numpy as np

from skmoderndata._jit import jit
from skmoderndata._solvers.common.blocks import row_blocks
from skmoderndata._solvers.common.iterate import Iterations, Progress

Array = np.ndarray[Any, np.dtype[Any]]

EM_STEPS = 10  # before Newton's method folds a document in
PATIENCE = 25  # passes without gain on held-out counts before posteriors are flattened


class Counts(NamedTuple):
    """Counts in CSR format, float64, without stored zeros."""

    indptr: Array
    indices: Array
    data: Array
    n_words: int

    @property
    def total(self) -> float:
        """Number of tokens."""
        return float(self.data.sum())


class TopicsResult(NamedTuple):
    """Mixtures and topics, how good they are, and how it went."""

    mixtures: Array
    topics: Array
    log_likelihood: float
    gap: float
    beta: float
    n_iter: int
    converged: bool
    history: list[float]


def expected(counts: Counts, C: Array, U: Array, beta: float = 1.0) -> tuple[Array, Array, float]:
    """Return expected counts of each topic in documents and words, and the objective.

    With ``beta = 1`` these are the gradients of the log-likelihood times the parameters. With
    ``beta < 1`` posteriors are flattened to ``(C U)^beta``, and the objective is
    ``sum x / beta log sum_z (C U)^beta``.
    """
    in_documents, in_words = np.zeros_like(C), np.zeros_like(U)
    if beta == 1.0:
        value = _gradients(counts, C, U, in_documents, in_words)
        return in_documents * C, in_words * U, value
    value = _tempered(counts, C, U, beta, in_documents, in_words)
    return in_documents, in_words, value


def gap(counts: Counts, C: Array, U: Array) -> float:
    """Bound on what better mixtures for these topics, or better topics for these mixtures, gain.

    Both problems are concave, and by their gradients g no mixture of document d is better by more
    than ``max_z g[d, z] - n_d``, no topic z by more than ``max_w g[w, z] - U[:, z]' g[:, z]``.
    The larger of the two sums, in nats per token; 0 exactly at stationary points.
    """
    in_documents, in_words = np.zeros_like(C), np.zeros_like(U)
    _gradients(counts, C, U, in_documents, in_words)
    rows = in_documents.max(axis=1) - (in_documents * C).sum(axis=1)
    columns = in_words.max(axis=0) - (in_words * U).sum(axis=0)
    total = counts.total
    return float(max(rows.sum(), columns.sum(), 0.0) / total) if total > 0 else 0.0


def _normalised(A: Array, axis: int) -> Array:
    """Divide by the sums along an axis; where they vanish the result is uniform.

    Probabilities below 1e-100 become 0: products of them would be slow and say nothing.
    """
    total = A.sum(axis=axis, keepdims=True)
    flat = 1.0 / A.shape[axis]
    out: Array = np.where(total > 0, A / np.where(total > 0, total, 1.0), flat)
    out[out < 1e-100] = 0.0
    return out


def fit_topics(
    counts: Counts,
    C: Array,
    U: Array,
    *,
    beta: float = 1.0,
    smoothing: float = 0.0,
    max_iter: int = 500,
    tol: float = 1e-6,
    progress: Progress | None = None,
) -> TopicsResult:
    """Maximise the log-likelihood by expectation maximisation, extrapolated.

    After each step the parameters are moved on in its direction and put back on the simplex; if
    the objective, which the next step knows, has fallen, the step is taken without that. Stops
    when the objective rises by less than `tol` per token in a pass.
    """
    total = max(counts.total, 1e-300)
    best = -np.inf
    safe_C, safe_U = C, U  # the last step without extrapolation
    best_C, best_U = C, U
    step, step_limit, fresh = 1.0, 8.0, True
    history: list[float] = []
    it = Iterations(max_iter, tol, progress)
    for _ in it:
        N, M, value = expected(counts, C, U, beta)
        if smoothing > 0:
            value += smoothing * float(np.log(np.maximum(U, 1e-300)).sum())
        if value < best - 1e-13 * abs(best) and not fresh:
            C, U = safe_C, safe_U
            step_limit, step, fresh = step, step / 2, True
            history.append(best)
            continue
        it.residual = (value - best) / total
        best, best_C, best_U = max(best, value), C, U
        history.append(best)
        new_C, new_U = _normalised(N, 1), _normalised(M + smoothing, 0)
        safe_C, safe_U = new_C, new_U
        if fresh:
            fresh = False
            C, U = new_C, new_U
            it.residual = max(it.residual, 2 * tol)  # the next step tells
            continue
        C = _normalised(np.maximum(new_C + step * (new_C - C), new_C / 8), 1)
        U = _normalised(np.maximum(new_U + step * (new_U - U), new_U / 8), 0)
        step = min(step * 1.1, step_limit)
        step_limit = min(step_limit * 1.02, 30.0)
    at = expected(counts, best_C, best_U, 1.0)[2]
    distance = gap(counts, best_C, best_U)
    return TopicsResult(best_C, best_U, at, distance, beta, it.n_iter, it.converged, history)


def fit_tempered(
    counts: Counts,
    held_out: Counts,
    C: Array,
    U: Array,
    *,
    beta: float = 1.0,
    cooling: float = 0.9,
    smoothing: float = 0.0,
    max_iter: int = 500,
    tol: float = 1e-5,
    progress: Progress | None = None,
) -> TopicsResult:
    """Tempered expectation maximisation, stopped early [Hofmann 2001, section 3.2].

    Steps are made while the likelihood of held-out counts of the same documents rises; then
    `beta` is lowered by the factor `cooling`, and when that does not help either it ends; gains
    below `tol` per token do not count. The history holds the held-out log-likelihoods, which go
    up and down.
    """
    history: list[float] = []
    it = Iterations(max_iter, -np.inf, progress)
    best, best_C, best_U, best_beta = -np.inf, C, U, beta
    waited, helped = 0, True
    total = held_out.total
    for _ in it:
        N, M, _ = expected(counts, C, U, beta)
        C, U = _normalised(N, 1), _normalised(M + smoothing, 0)
        value = log_likelihood(held_out, C, U)
        history.append(value)
        if value > best + tol * total:
            best, best_C, best_U, best_beta = value, C, U, beta
            waited, helped = 0, True
            continue
        waited += 1
        if waited < PATIENCE:
            continue
        if not helped:
            it.converged = True
            continue
        C, U, beta, waited, helped = best_C, best_U, beta * cooling, 0, False
    at = expected(counts, best_C, best_U, 1.0)[2]
    distance = gap(counts, best_C, best_U)
    return TopicsResult(best_C, best_U, at, distance, best_beta, it.n_iter, it.converged, history)


def log_likelihood(counts: Counts, C: Array, U: Array, floor: float = 1e-12) -> float:
    """Sum of counts times log-probabilities, these not below `floor`."""
    return float(_log_likelihood(counts, C, U, floor))


def fold_in(
    counts: Counts, U: Array, *, beta: float = 1.0, max_iter: int = 1000, tol: float = 1e-6
) -> tuple[Array, Array]:
    """Mixtures of new documents for given topics, and bounds on what better ones gain.

    The problem is concave for ``beta = 1``: the bound, in nats per token, is
    ``max_z g[z] / n_d - 1``, and a document is done when it is below `tol`. Words without
    probability in any topic are dropped; documents without other words get equal mixtures.

    After some steps of expectation maximisation, Newton steps on the topics that count: with Q
    the topics over the words' probabilities, ``max sum x log(1 + Q h)`` is replaced by its
    quadratic model over ``sum(c + h) = 1, c + h >= 0``, solved by coordinate descent on pairs of
    topics, and shortened until the likelihood rises enough. `max_iter` bounds both kinds of steps.
    For ``beta < 1`` there is no bound, and steps of expectation maximisation are all.
    """
    n, k = len(counts.indptr) - 1, U.shape[1]
    C = np.full((n, k), 1.0 / k)
    bounds = np.zeros(n)
    words = len(counts.data) / max(n, 1)
    for rows in row_blocks(n, 100.0 * k * k * (words + 50.0 * k)):  # ten to a hundred steps each
        some = counts._replace(indptr=counts.indptr[rows.start : rows.stop + 1])
        _fold_in(some, U, beta, max_iter, tol, C[rows], bounds[rows])
    return C, bounds


@jit
def _gradients(counts: Counts, C: Array, U: Array, in_documents: Array, in_words: Array) -> float:
    """Add gradients of the log-likelihood with respect to C and U, and return it."""
    indptr, indices, data, _ = counts
    k = C.shape[1]
    value = 0.0
    for d in range(len(indptr) - 1):
        c, g = C[d], in_documents[d]
        for position in range(indptr[d], indptr[d + 1]):
            w, x = indices[position], data[position]
            u, h = U[w], in_words[w]
            s = 0.0
            for z in range(k):
                s += c[z] * u[z]
            if s <= 0.0:
                continue
            value += x * np.log(s)
            r = x / s
            for z in range(k):
                g[z] += r * u[z]
            for z in range(k):
                h[z] += r * c[z]
    return value


@jit
def _tempered(
    counts: Counts, C: Array, U: Array, beta: float, in_documents: Array, in_words: Array
) -> float:
    """Add expected counts under flattened posteriors, and return the objective."""
    indptr, indices, data, _ = counts
    k = C.shape[1]
    q = np.empty(k)
    value = 0.0
    for d in range(len(indptr) - 1):
        for position in range(indptr[d], indptr[d + 1]):
            w, x = indices[position], data[position]
            s = 0.0
            for z in range(k):
                q[z] = (C[d, z] * U[w, z]) ** beta
                s += q[z]
            if s <= 0.0:
                continue
            value += x * np.log(s) / beta
            r = x / s
            for z in range(k):
                in_documents[d, z] += r * q[z]
                in_words[w, z] += r * q[z]
    return value


@jit
def _log_likelihood(counts: Counts, C: Array, U: Array, floor: float) -> float:
    indptr, indices, data, _ = counts
    k = C.shape[1]
    value = 0.0
    for d in range(len(indptr) - 1):
        for position in range(indptr[d], indptr[d + 1]):
            w = indices[position]
            s = 0.0
            for z in range(k):
                s += C[d, z] * U[w, z]
            value += data[position] * np.log(max(s, floor))
    return value


@jit
def _fold_in(
    counts: Counts, U: Array, beta: float, max_iter: int, tol: float, C: Array, bounds: Array
) -> None:
    """Find the mixture of one document after the other; C holds the start."""
    indptr, indices, data, _ = counts
    k = U.shape[1]
    longest = 0
    for d in range(len(indptr) - 1):
        longest = max(longest, indptr[d + 1] - indptr[d])
    words, x, g = np.empty((longest, k)), np.empty(longest), np.empty(k)
    for d in range(len(indptr) - 1):
        # the words that are known, side by side
        n, total, c = 0, 0.0, C[d]
        for position in range(indptr[d], indptr[d + 1]):
            known = False
            for z in range(k):
                words[n, z] = U[indices[position], z]
                known = known or words[n, z] > 0.0
            if known:
                x[n] = data[position]
                total += x[n]
                n += 1
        if total <= 0.0:
            continue
        for step in range(max_iter):
            if beta == 1.0 and step >= EM_STEPS:
                bounds[d] = _newton(words[:n], x[:n], total, max_iter, tol, c)
                break
            bounds[d] = _em_step(words[:n], x[:n], total, beta, c, g)
            if bounds[d] <= tol:
                break


@jit
def _em_step(words: Array, x: Array, total: float, beta: float, c: Array, g: Array) -> float:
    """One step of expectation maximisation on c, in place; returns the bound, or the movement."""
    n, k = words.shape
    g[:] = 0.0
    for a in range(n):
        s = 0.0
        for z in range(k):
            s += c[z] * words[a, z] if beta == 1.0 else (c[z] * words[a, z]) ** beta
        if s > 0.0:
            for z in range(k):
                p = c[z] * words[a, z] if beta == 1.0 else (c[z] * words[a, z]) ** beta
                g[z] += x[a] * p / s
    top, moved, mass = 0.0, 0.0, 0.0
    for z in range(k):
        if c[z] > 0.0:
            top = max(top, g[z] / c[z])
        moved += abs(g[z] / total - c[z])
        c[z] = g[z] / total
        mass += c[z]
    for z in range(k):
        c[z] = c[z] / mass if mass > 0.0 else 1.0 / k
    return top / total - 1.0 if beta == 1.0 else moved


@jit
def _newton(words: Array, x: Array, total: float, max_iter: int, tol: float, c: Array) -> float:
    """Newton steps on the simplex from an interior point c, in place; returns the bound."""
    n, k = words.shape
    p, move = np.empty(n), np.empty(n)
    g, h, slope = np.empty(k), np.empty(k), np.empty(k)
    H = np.empty((k, k))
    best, best_bound = np.empty(k), np.inf
    for _ in range(max_iter):
        g[:] = 0.0
        H[:] = 0.0
        for a in range(n):
            s = 0.0
            for z in range(k):
                s += c[z] * words[a, z]
            p[a] = s
            r = x[a] / (s * total)
            for z in range(k):
                g[z] += r * words[a, z]
        bound = g.max() - 1.0
        if bound < best_bound:
            best_bound = bound
            best[:] = c
        if bound <= tol:
            break
        for a in range(n):
            r = x[a] / (p[a] * p[a] * total)
            for y in range(k):
                if words[a, y] > 0.0:
                    v = r * words[a, y]
                    for z in range(y + 1):
                        H[y, z] += v * words[a, z]
        for y in range(k):
            for z in range(y):
                H[z, y] = H[y, z]
        # maximise g'h - h'Hh/2: mass moves between the two topics that gain most by it
        h[:] = 0.0
        slope[:] = g
        for _ in range(50 * k):
            up, down = 0, -1
            for z in range(k):
                if slope[z] > slope[up]:
                    up = z
                if c[z] + h[z] > 1e-15 and (down < 0 or slope[z] < slope[down]):
                    down = z
            gain = slope[up] - slope[down]
            if gain <= 0.01 * min(tol, bound):
                break
            curve = H[up, up] + H[down, down] - 2.0 * H[up, down]
            size = c[down] + h[down]
            if curve > 0.0:
                size = min(size, gain / curve)
            if size <= 1e-18:
                break
            if size == c[down] + h[down]:
                h[down] = -c[down]
            else:
                h[down] -= size
            h[up] += size
            for z in range(k):
                slope[z] -= size * (H[z, up] - H[z, down])
        first = (g * h).sum()
        if first <= 0.0:
            break
        for a in range(n):
            s = 0.0
            for z in range(k):
                s += h[z] * words[a, z]
            move[a] = s / p[a]
        size = 1.0
        for _ in range(40):
            value = 0.0
            for a in range(n):
                ratio = 1.0 + size * move[a]
                if ratio <= 0.0:
                    value = -np.inf
                    break
                value += x[a] * np.log1p(size * move[a])
            if value >= 1e-4 * size * first * total:
                break
            size *= 0.5
        for z in range(k):
            c[z] = max(c[z] + size * h[z], 0.0)
        c /= c.sum()
    c[:] = best
    return best_bound

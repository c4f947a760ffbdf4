"""Probabilistic latent semantic analysis: expectation maximisation on the non-zero counts.

Notation: counts x in CSR format, documents in rows; mixtures C (n, k) with rows of sum 1, topics
U (p, k) with columns of sum 1, so that ``P(word w | document d) = sum_z C[d, z] U[w, z]``.

Differs from the paper (Hofmann 2001): Newton's method completes the folding-in of documents, and
a bound certifies it.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.nnls import descend_rows
from skmoderndata._solvers.common.products import entries_at
from skmoderndata._solvers.common.tolerances import SUFFICIENT_DECREASE, TINY
from skmoderndata._solvers.common.typing import Array

# Maximum number of products, or of entries of second derivatives, that are in memory at a time.
BLOCK_ENTRIES = 2**18

# Maximum number of coordinate descent sweeps on a quadratic model.
MODEL_SWEEPS = 100

# Number of expectation maximisation steps before Newton's method folds a document in.
EM_STEPS = 10


class Counts(NamedTuple):
    """Counts in CSR format, float64, without stored zeros."""

    indptr: Array
    indices: Array
    data: Array
    n_words: int

    @property
    def shape(self) -> tuple[int, int]:
        """Number of documents and number of words."""
        return len(self.indptr) - 1, self.n_words

    @property
    def total(self) -> float:
        """Number of tokens."""
        return float(self.data.sum())


def expected(
    counts: Counts, C: Array, U: Array, beta: float = 1.0
) -> tuple[Array, Array, float]:
    """Return expected counts of each topic in documents and words, and the objective.

    With ``beta = 1`` these are the gradients of the log-likelihood times the parameters. With
    ``beta < 1`` posteriors are flattened to ``(C U)^beta``, and the objective is
    ``sum x / beta log sum_z (C U)^beta``.
    """
    P, Q = (C, U) if beta == 1.0 else (C**beta, U**beta)
    in_documents = np.zeros_like(C)
    in_words = np.zeros_like(U)
    value = _gradients(counts, P, Q, in_documents, in_words)
    return in_documents * P, in_words * Q, value / beta


def gap(counts: Counts, C: Array, U: Array) -> float:
    """Bound the gain of better mixtures for these topics or better topics for these mixtures.

    Both problems are concave. By their gradients g, no mixture of document d gains more than
    ``max_z g[d, z] - n_d``, and no topic z more than ``max_w g[w, z] - U[:, z]' g[:, z]``.
    Returns the larger of the two sums, in nats per token; it is 0 exactly at stationary points.
    """
    _, gain, slopes = gains(counts, C, U)
    return largest_gain(gain, slopes, U, counts.total)


def gains(counts: Counts, C: Array, U: Array) -> tuple[float, float, Array]:
    """Return the log-likelihood, the possible gain of the mixtures, and the topics' slopes."""
    in_documents = np.zeros_like(C)
    in_words = np.zeros_like(U)
    value = _gradients(counts, C, U, in_documents, in_words)
    rows = in_documents.max(axis=1) - (in_documents * C).sum(axis=1)
    return value, rows.sum(), in_words


def largest_gain(gain: float, slopes: Array, U: Array, total: float) -> float:
    """Return the larger of the possible gains of mixtures and topics, per token."""
    columns = slopes.max(axis=0) - (U * slopes).sum(axis=0)
    of_topics = columns.sum()
    bounds = (gain, of_topics)
    return max(relative_gap(bound, 0.0, unit=total) for bound in bounds)


def normalised(A: Array, axis: int) -> Array:
    """Divide by the sums along an axis; the result is uniform if a sum vanishes.

    Probabilities below 1e-100 become 0: their products would be slow and negligible.
    """
    total = A.sum(axis=axis, keepdims=True)
    flat = 1.0 / A.shape[axis]
    divisor = np.where(total > 0, total, 1.0)
    out: Array = np.where(total > 0, A / divisor, flat)
    out[out < 1e-100] = 0.0
    return out


def log_likelihood(counts: Counts, C: Array, U: Array, floor: float = 1e-12) -> float:
    """Sum counts times log-probabilities, with probabilities of at least `floor`."""
    rows = np.repeat(np.arange(len(C)), np.diff(counts.indptr))
    probabilities = products(rows, counts.indices, C, U)
    return float(counts.data @ np.log(np.maximum(probabilities, floor)))


def products(rows: Array, columns: Array, C: Array, U: Array) -> Array:
    """Compute the entries of ``C U'`` at the given rows and columns."""
    out = np.empty(len(rows))
    # convert the columns to int64, for which the loop is compiled
    entries_at(rows, columns.astype(np.int64, copy=False), C, U, out)
    return out


def fold_in(
    counts: Counts,
    U: Array,
    *,
    beta: float = 1.0,
    max_iter: int = 1000,
    tol: float = 1e-6,
    exposures: Array | None = None,
) -> tuple[Array, Array]:
    """Compute mixtures of new documents for given topics, and bounds on their possible gain.

    The problem is concave for ``beta = 1``. The bound, in nats per token, is
    ``max_z g[z] / n_d - 1``, and a document is done when its bound is below `tol`. Words without
    probability in any topic are dropped; documents without other words get equal mixtures.

    Newton's method follows some steps of expectation maximisation, see `_newton_step`; `max_iter`
    limits the number of each. For ``beta < 1`` there are no bounds: steps of expectation
    maximisation continue until a mixture moves by less than `tol`.

    If counts have weights, `exposures` (n, k) are the weights times the topics. The variables are
    then the fractions of the observed tokens that belong to each topic, that is, the mixtures
    times the exposures: the same problem, with the topics of each document divided by its
    exposures.
    """
    # drop words that have probability zero in all topics
    n = len(counts.indptr) - 1
    k = U.shape[1]
    used: Array = np.asarray(U.any(axis=1))
    data = counts.data * used[counts.indices]
    entries = data, counts.indices, counts.indptr
    X = sparse.csr_array(entries, shape=(n, len(U)), copy=True)
    X.eliminate_zeros()

    # compute the factors that turn fractions of observed tokens into mixtures
    lifts = None if exposures is None else _inverse(exposures)

    C = np.full((n, k), 1.0 / k)
    bounds = np.full(n, np.inf)

    # approach the optimum by expectation maximisation
    n_steps = min(max_iter, EM_STEPS) if beta == 1.0 else max_iter
    for _ in range(n_steps):
        in_documents, _, _ = expected(counts, C if lifts is None else C * lifts, U, beta)
        new = normalised(in_documents, 1)
        todo = bounds > tol
        moves = np.abs(new - C).sum(axis=1)
        bounds[todo] = moves[todo]
        C[todo] = new[todo]
        if (bounds <= tol).all():
            break

    if beta < 1.0:
        return C, bounds

    # finish by Newton's method: the problem is concave, and `gradient - 1` bounds the gain
    bounds[:] = 0.0
    total = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
    X.data /= np.repeat(total, np.diff(X.indptr))
    i, j = np.tril_indices(k)
    pairs = np.ascontiguousarray(U[:, i] * U[:, j])

    size = max(1, BLOCK_ENTRIES // max(k * k, X.nnz // max(n, 1)))
    for first in range(0, n, size):
        lengths = np.diff(X.indptr[first : first + size + 1])
        active = first + np.flatnonzero(lengths)

        for _ in range(max_iter):
            x = X[active]
            c = C[active]
            rows = np.repeat(np.arange(len(active)), np.diff(x.indptr))
            lift = None if lifts is None else lifts[active]
            s = products(rows, x.indices, c if lift is None else c * lift, U)
            weights = x.data
            x.data = x.data / s
            gradient = x @ U if lift is None else (x @ U) * lift

            gain = gradient.max(axis=1) - 1
            bounds[active] = gain
            todo = gain > tol
            if not todo.any():
                break

            # compute the second derivatives from products of topics
            x.data /= s
            H = np.empty((len(active), k, k))
            H[:, i, j] = H[:, j, i] = x @ pairs
            if lift is not None:
                H *= lift[:, :, None] * lift[:, None, :]
            new = _newton_step(c, gradient, H, weights, s, rows, x.indices, U, lift)
            active = active[todo]
            C[active] = normalised(new[todo], 1)

    if lifts is None:
        return C, bounds
    C = normalised(C * lifts, 1)
    C[total == 0] = 1.0 / k  # no word of any topic has been observed
    return C, bounds


def _inverse(exposures: Array) -> Array:
    """Return reciprocals, 0 for topics without exposure, whose words are not observed."""
    return np.where(exposures > 0, 1.0 / np.where(exposures > 0, exposures, 1.0), 0.0)


def _newton_step(
    C: Array,
    gradient: Array,
    H: Array,
    weights: Array,
    s: Array,
    rows: Array,
    columns: Array,
    U: Array,
    lift: Array | None,
) -> Array:
    """Take a step of Newton's method for ``max sum weights log(U c) - sum c`` over ``c >= 0``.

    The weights of a document sum to 1, and so do the entries of c at the maximum. Since ``H c`` is
    the gradient g of the first term, the quadratic model is ``(2 g - 1) z - z H z / 2``.
    Coordinate descent maximises it over ``z >= 0``, and the step to z is halved until the
    objective rises enough. `lift` multiplies c in products with U.
    """
    Z = C.copy()
    descend_rows(H, Z, 1 - gradient, MODEL_SWEEPS, 1e-6)
    step = Z - C
    slope = ((gradient - 1) * step).sum(axis=1)

    # apply Armijo's rule to the exact likelihood, to all documents at once
    moved = products(rows, columns, step if lift is None else step * lift, U) / s
    mass = step.sum(axis=1)
    length = np.ones(len(C))
    todo = slope > 0
    length[~todo] = 0.0
    for _ in range(40):
        ratio = 1 + length[rows] * moved
        gains = weights * np.log(np.maximum(ratio, TINY))
        gain = np.bincount(rows, gains, minlength=len(C)) - length * mass
        enough = gain >= SUFFICIENT_DECREASE * length * slope
        todo &= ~enough
        if not todo.any():
            break
        length[todo] /= 2

    return np.maximum(C + length[:, None] * step, 0.0)


@jit
def _gradients(
    counts: Counts, C: Array, U: Array, in_documents: Array, in_words: Array
) -> float:
    """Add the gradients of the log-likelihood with respect to C and U; return its value."""
    indptr, indices, data, _ = counts
    k = C.shape[1]
    value = 0.0

    for d in range(len(indptr) - 1):
        c = C[d]
        g = in_documents[d]
        for position in range(indptr[d], indptr[d + 1]):
            w = indices[position]
            x = data[position]
            u = U[w]
            h = in_words[w]

            # compute the probability of the word in the document
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

"""Rounded singular value decomposition of Boolean data."""

from numbers import Real

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

from skmoderndata._estimator.compat import AT_LEAST_ONE
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_array
from skmoderndata._solvers.boolean_data.boolean import (
    cooccurrence,
    count_differences,
    pack_bits,
    pack_rows,
    unpack_rows,
)
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.linalg import DENSE_UP_TO, eigen_range, leading_eigen
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.tolerances import RESULT_ROUNDING
from skmoderndata.cluster._base import BooleanFactors

# Maximum size of a Gram matrix that is formed; for a larger size, a Lanczos method is used.
_DENSE = 1500


class RoundedSVD(BooleanFactors):
    r"""Boolean factorisation by rounding the factors of a truncated SVD.

    The optimal real factors of rank K, :math:`X \approx (U S^{1/2}) (S^{1/2} V^T) = A B`, are
    converted to Boolean factors by one threshold for each side,

    .. math::
        z_{ik} = [a_{ik} \ge s_A \max_j a_{jk}], \qquad
        u_{kd} = [b_{kd} \ge s_B \max_e b_{ke}],

    where the sign of each pair of factors makes the sum of :math:`b_k` positive, and the fractions
    :math:`s_A, s_B` are chosen from a grid so that the Boolean product of Z and U (AND instead of
    multiplication, OR instead of addition) differs from X in the fewest bits. Then each row is
    assigned the best set of components, which can only lower the error. The method is a baseline:
    it solves the real-valued problem to optimality, but not the Boolean problem.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of components.
    fractions : array-like of float, default=None
        Grid for both fractions, above 0 and up to 1; None means 0.1, 0.2, ..., 0.9.
    threshold : float or None, default=0.0
        A bit is set where `X > threshold`; None requires that X contains only 0 and 1.

    Attributes
    ----------
    components_ : ndarray of bool of shape (n_clusters, n_features)
        Rounded right factors, in descending order of singular values; components beyond the rank
        of the data are empty.
    assignments_ : ndarray of bool of shape (n_samples, n_clusters)
        Best set of components for each training row.
    singular_values_ : ndarray of shape (n_clusters,)
        Leading singular values of the Boolean matrix, padded with zeros.
    fractions_ : tuple of two floats
        Chosen fractions of the maximum, for memberships and for components.
    rounding_error_ : float
        Fraction of differing bits with rounded memberships.
    reconstruction_err_ : float
        Fraction of differing bits with optimal memberships; at most `rounding_error_`.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.TruncatedSVD : Real-valued factors.
    skmoderndata.cluster.DiscreteBasis : Greedy search for Boolean components.
    skmoderndata.cluster.MultiAssignmentClustering : Probabilistic model with noise, for which this
        method is a baseline.

    Notes
    -----
    The method is often described as rounding the singular vectors. The entries of these vectors
    are of the order ``1 / sqrt(n_features)``, so a fixed threshold of one half yields zeros, and
    all vectors except the first have mixed signs. The fractions and signs above correct this.

    Rows are assigned the best of all sets of components if there are at most 8192 sets
    (`n_clusters` up to 13), otherwise a greedy set. The decomposition uses the smaller Gram
    matrix, whose entries are exact counts, in ``n p min(n, p)`` operations. If there are more than
    1500 rows and more than 1500 columns, a Lanczos method computes the leading vectors by products
    with X, which remains sparse. In addition to packed rows, dense input needs memory for the
    co-occurrence matrix, or for blocks of X as numbers.

    If singular values coincide (disjoint sources of equal weight), singular vectors are an
    arbitrary rotation, and rounding them fails: this is a weakness of the method. All-zero rows
    have no component, and all-zero columns belong to no component.

    References
    ----------
    .. [1] Eckart and Young, The approximation of one matrix by another of lower rank,
       Psychometrika 1(3), 1936, pp. 211-218; rounded, as a baseline for multi-assignment
       clustering, by Frank, Streich, Basin and Buhmann, Journal of Machine Learning Research 13,
       2012, pp. 459-489.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.cluster import RoundedSVD
    >>> X = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]])
    >>> model = RoundedSVD(n_clusters=2).fit(X)
    >>> model.components_.astype(int)
    array([[0, 0, 1, 1, 1],
           [1, 1, 0, 0, 0]])
    >>> model.reconstruction_err_
    0.0
    """

    _card = MethodCard(
        family="Boolean data",
        cite=("eckart1936approximation", "frank2012multi"),
        cost="n p min(n, p)",
        tier="textbook",
        instead="Use `TruncatedSVD` and round its reconstruction at one half: it has fewer wrong "
        "bits.",
    )
    _parameter_constraints = {
        "n_clusters": [AT_LEAST_ONE],
        "fractions": ["array-like", None],
        "threshold": [Real, None],
    }

    @parameters_are_named
    def __init__(self, n_clusters=3, *, fractions=None, threshold=0.0):
        self.n_clusters = n_clusters
        self.fractions = fractions
        self.threshold = threshold

    def _find(self, bits, X, y):
        fractions = self._grid()
        words = pack_bits(bits)
        A, B, self.singular_values_ = _balanced_factors(bits, self.n_clusters)
        wrong = None
        n_bits = bits.shape[0] * bits.shape[1]

        # try thresholds of both factors on a grid
        for s_b in fractions:
            U = pack_rows(_at_least(B, s_b, axis=1))
            for s_a in fractions:
                n_wrong = sum(count_differences(words, _at_least(A, s_a, axis=0), U))
                if wrong is None or n_wrong < wrong:
                    wrong = n_wrong
                    best = U
                    self.fractions_ = (float(s_a), float(s_b))

        self.rounding_error_ = wrong / n_bits
        self.components_ = unpack_rows(best, bits.shape[1])
        self.assignments_ = self._cover(words)
        self.reconstruction_err_ = self._fraction_wrong(words, self.assignments_)

    def _grid(self):
        if self.fractions is None:
            return np.arange(1, 10) / 10
        fractions = check_array(
            np.atleast_1d(self.fractions),
            ensure_2d=False,
            ensure_min_samples=0,
            input_name="fractions",
        ).ravel()
        if fractions.size == 0 or not ((fractions > 0) & (fractions <= 1)).all():
            raise ValueError(
                f"fractions of the maximum must be above 0 and at most 1; got {self.fractions}."
            )
        return fractions


def _balanced_factors(X, k):
    """Return factors ``A = U sqrt(S)`` and ``B = sqrt(S) V'`` of rank k, and singular values.

    Each row of B has a positive sum; factors beyond the rank of X are zero.
    """
    n, p = X.shape

    # compute eigenvectors of the smaller of the products X' X and X X'
    if p <= n:
        eigenvalues, V = _leading_eigenvectors(X, k, rows=False)
        U = _times(X, V)
    else:
        eigenvalues, U = _leading_eigenvectors(X, k, rows=True)
        V = _times(X.T, U)

    # the entries of X' X and X X' are integers, so eigenvalues below this limit are rounding
    # errors
    real = eigenvalues > 100 * max(n, p) * np.finfo(float).eps * max(eigenvalues[0], 1.0)
    s = np.sqrt(np.where(real, eigenvalues, 0.0))
    scale = np.where(real, s, 1.0)

    # multiply the left and the right vectors by the square root of S
    if p <= n:  # X V = U S
        A = U * (real / np.sqrt(scale))
        B = V * np.sqrt(s)
    else:
        A = U * np.sqrt(s)
        B = V * (real / np.sqrt(scale))

    sign = np.where(B.sum(axis=0) < 0, -1.0, 1.0)
    s = np.r_[s, np.zeros(k - len(s))]
    pad = ((0, 0), (0, k - A.shape[1]))
    return np.pad(A * sign, pad), np.pad(B * sign, pad).T, s


def _leading_eigenvectors(X, k, *, rows):
    """Return the largest eigenvalues of ``X X'`` or ``X' X``, descending, and their vectors."""
    m = X.shape[0 if rows else 1]
    k = min(k, m)

    # for few rows or columns, compute the eigenvectors of their co-occurrence matrix
    if m <= _DENSE or k > m // 4:
        if rows:
            X = X.T.tocsr() if sparse.issparse(X) else X.T
        gram = cooccurrence(X)
        if m > DENSE_UP_TO:
            values, vectors = leading_eigen(gram, k)
        else:
            values, vectors = (array[..., ::-1] for array in eigen_range(gram, m - k, m))
    else:
        # for many rows and columns, make Lanczos steps, each of which multiplies by X and by X'
        first, last = (X, X.T) if rows else (X.T, X)
        gram = LinearOperator(
            (m, m), dtype=float, matvec=lambda v: _times(first, _times(last, v.reshape(-1, 1)))
        )
        # use the same initial vector in every fit
        start = np.random.default_rng(0).uniform(0.5, 1.5, size=m)
        values, vectors = (array[..., ::-1] for array in eigsh(gram, k, v0=start))
    return np.maximum(values, 0.0), vectors


def _times(X, M):
    """Multiply Boolean X by numbers; dense X is converted to numbers in blocks of rows."""
    if sparse.issparse(X):
        return X.astype(np.float64) @ M
    step = max(1, TEMPORARY_BYTES // (FLOAT_BYTES * max(X.shape[1], 1)))
    blocks = [X[i : i + step].astype(np.float64) @ M for i in range(0, X.shape[0], step)]
    return np.concatenate(blocks)


def _at_least(factors, fraction, *, axis):
    """Round each factor at a fraction of its maximum; a zero factor is empty."""
    peak = factors.max(axis=axis, keepdims=True)
    # lower the threshold slightly, so that entries that differ only by rounding errors are treated
    # alike
    return (factors >= (fraction - RESULT_ROUNDING) * peak) & (peak > 0)

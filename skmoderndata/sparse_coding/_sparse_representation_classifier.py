"""Classification by sparse representation with the training samples."""

import warnings
from copy import copy
from itertools import pairwise
from numbers import Real

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    Interval,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.compat import NON_NEGATIVE as AT_LEAST_ZERO
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import dense
from skmoderndata._kernelized.checks import (
    checked_samples,
    checked_samples_and_target,
    resolved_gram,
)
from skmoderndata._kernelized.gram import KERNEL_CONSTRAINTS
from skmoderndata._kernelized.low_rank import (
    Projection,
    fits_in_memory,
    kernel_matrix,
    low_rank_features,
)
from skmoderndata._kernelized.mixins import KernelSamples
from skmoderndata._samples.containers import count_samples, row_blocks, take
from skmoderndata._solvers.codes.bounded_lasso import bounded_lasso_codes
from skmoderndata._solvers.codes.greedy import orthogonal_matching_pursuit
from skmoderndata._solvers.codes.groups import group_lasso_codes
from skmoderndata._solvers.codes.lasso import lasso_codes
from skmoderndata._solvers.codes.signal_blocks import (
    MAX_ITER,
    Atoms,
    gram_pays,
    prepare_atoms,
    to_csr,
)
from skmoderndata._solvers.common.arrays import working_memory
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.tolerances import SMALLEST_DIVISOR
from skmoderndata.sparse_coding._base import warn_few_dimensions

Fraction = Interval(Real, 0, 1, closed="neither")
# Largest number of columns at which lasso codes of any class represent every sample.
FEW_DIMENSIONS = 10
# Maximum size of a cell that is not treated as an error: its size relative to the row, as a
# multiple of the largest such size in the training samples.
LARGEST_CELL = 1.5
# Size to which a huge cell is cut, relative to the norm of the other cells in its row: large
# enough for pursuit to choose the feature first, and small enough not to inflate penalties, which
# grow with the size.
CUT = {"omp": 10.0, "lasso": 1.0, "group_lasso": 1.0}


class SparseRepresentationClassifier(KernelSamples, ClassifierMixin, Base):
    r"""Classifier by the residuals of a sparse code over all training samples.

    A sample x is coded by the training samples of all classes, each of unit norm, the rows of D,

    .. math::
        \min_a \tfrac12 \|x - a D\|^2 + \lambda \|a\|_1
        \quad\text{or}\quad
        \min_a \tfrac12 \|x - a D\|^2 + \lambda \sum_c \sqrt{n_c}\, \|a_c\|,

    or by the least :math:`\|a\|_1` within a bound on the residual, or by orthogonal matching
    pursuit. It is assigned to the class c with the smallest residual :math:`\|x - a_c D_c\|` [1]_.
    With a kernel, all of this takes place in its feature space.

    Parameters
    ----------
    algorithm : {"lasso", "group_lasso", "omp"}, default="lasso"
        Algorithm that codes the samples: lasso, group lasso with the classes as groups [2]_, or
        orthogonal matching pursuit.
    alpha : float, default=0.1
        Weight of the penalty, between 0 and 1, relative to the smallest weight for which the code
        of the sample is zero. It does not apply to "omp", nor with `residual_rtol`.
    residual_rtol : float, default=None
        Largest Euclidean norm of the residual of a sample, relative to the norm of the sample,
        between 0 and 1: the fraction that is noise. "lasso" then finds the code of least l1 norm
        within the bound, and "omp" stops when the bound is met. If no code meets the bound, the
        sample gets its closest code. "group_lasso" does not accept it.
    n_nonzero_coefs : int, default=10
        Largest number of training samples in a code, for "omp".
    kernel : str, kernel object or callable, default="linear"
        Name in `sklearn.metrics.pairwise`, a kernel object, a function of two sets of samples that
        returns their kernel values, or "precomputed" [3]_. Kernel values are divided by the norms.
    gamma : float, "scale" or "auto", default="scale"
        Factor in the kernels "rbf", "poly", "sigmoid", "laplacian", "chi2". "scale" is
        ``1 / (n_features * X.var())``, "auto" is ``1 / n_features``.
    degree : float, default=3
        Degree of the kernel "poly".
    coef0 : float, default=1
        Constant in the kernels "poly" and "sigmoid".
    kernel_params : dict, default=None
        Further parameters of a named kernel or a callable.
    max_rank : int, default=None
        Maximum number of samples whose span represents the samples, chosen by pivoted incomplete
        Cholesky factorisation; for all kernels except the linear one on dense samples. None is
        exact if the kernel matrix fits into scikit-learn's working memory. Otherwise it uses a
        rank for which all arrays fit, and warns if this misses something.
    copy_X : bool, default=True
        Whether to copy the samples that are stored; with False you must not change them later.
    rule : {"residual", "energy"}, default="residual"
        Whether to choose the class with the smallest residual, or with the largest norm of its
        coefficients.
    occlusion : bool, default=False
        Whether codes may also contain single features, atoms that belong to no class, for samples
        with covered features. The residuals exclude what these atoms explain. The norm of a row
        excludes cells that are, relative to the row, more than 1.5 times as large as in any
        training sample. Requires dense samples and the linear kernel.
    tol : float, default=1e-4
        Largest duality gap of the code of a sample, relative to its objective.
    max_iter : int, default=10000
        Maximum number of sweeps of coordinate descent and Newton steps for a sample.
    n_jobs : int, default=None
        Number of threads, through joblib. The result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    X_fit_ : ndarray, sparse matrix or list
        The training samples; None for the linear kernel and dense samples, which are stored at
        unit norm in `components_` instead.
    components_ : ndarray of shape (n_training_samples, n_dimensions)
        The atoms, training samples of unit norm in the order of `fit`: in the space of the
        features, or in coordinates of the span of the training samples in the feature space of
        the kernel.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.neighbors.KNeighborsClassifier : Classifies by the nearest samples, not by combinations
        of samples.
    skmoderndata.sparse_coding.DictionaryClassifier : Learns a small dictionary for each class.
    skmoderndata.sparse_coding.SparseCoder : Computes codes for any dictionary.

    Notes
    -----
    The data should have at least 20 columns, or a kernel. With few columns, the samples of every
    class represent every sample, and `fit` warns.

    Training stores the samples. Classifying a sample takes ``n p + n s^2`` operations for n
    training samples of p features and a code with s of these samples. Inner products of up to
    about 5,000 training samples are stored. With more samples, only the inner products with
    samples in a code are computed, on demand, and the memory grows with ``n p``. "group_lasso"
    stores only inner products of the selected classes.

    A kernel is used through coordinates. If ``K = V L V^T`` is the normalised kernel matrix of the
    training samples, the rows of ``V L^(1/2)`` have the same inner products, and a new sample has
    the coordinates ``k V L^(-1/2)`` within their span. The component outside the span is omitted,
    because it would add the same value to the squared residuals of all classes. Negative
    eigenvalues are set to zero, and so are samples with a negative kernel value ``k(x, x)``; if no
    sample has a positive value and the matrix is not zero, `fit` raises an error. Every code of
    "lasso" and "group_lasso" has a duality gap of at most `tol`; otherwise `predict` warns. With a
    bound, the gap is relative to the l1 norm.

    If training samples are equal or opposite, only the first is used. A sample with a zero code,
    such as a zero sample, is assigned to the class of the training sample with the largest
    correlation, the first in a tie.

    References
    ----------
    .. [1] Wright, Yang, Ganesh, Sastry and Ma, Robust face recognition via sparse representation,
       IEEE Transactions on Pattern Analysis and Machine Intelligence 31(2), 2009, algorithm 1.
    .. [2] Elhamifar and Vidal, Robust classification using structured sparse representation, CVPR
       2011.
    .. [3] Gao, Tsang and Chia, Kernel sparse representation for image classification and face
       recognition, ECCV 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmoderndata.sparse_coding import SparseRepresentationClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SparseRepresentationClassifier().fit(X[:500], y[:500])
    >>> round(model.score(X[500:800], y[500:800]), 2)
    0.91
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=("wright2009robust", "elhamifar2011robust", "gao2010kernel"),
        cost="n p to fit (n^3 with a kernel, n r^2 with rank r); n p + n s^2 a sample to predict",
        tier="standard",
        instead="`ExtraTreesClassifier` on randomly covered copies is more accurate on covered "
        "digits.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "algorithm": [StrOptions({"lasso", "group_lasso", "omp"})],
        "alpha": [Fraction],
        "residual_rtol": [Fraction, None],
        "n_nonzero_coefs": [AT_LEAST_ONE],
        **KERNEL_CONSTRAINTS,
        "max_rank": [AT_LEAST_ONE, None],
        "copy_X": ["boolean"],
        "rule": [StrOptions({"residual", "energy"})],
        "occlusion": ["boolean"],
        "tol": [AT_LEAST_ZERO],
        "max_iter": [AT_LEAST_ONE],
        "n_jobs": N_JOBS,
    }

    @parameters_are_named
    def __init__(
        self,
        algorithm="lasso",
        *,
        alpha=0.1,
        residual_rtol=None,
        n_nonzero_coefs=10,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        max_rank=None,
        copy_X=True,
        rule="residual",
        occlusion=False,
        tol=1e-4,
        max_iter=10_000,
        n_jobs=None,
    ):
        self.algorithm = algorithm
        self.alpha = alpha
        self.residual_rtol = residual_rtol
        self.n_nonzero_coefs = n_nonzero_coefs
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.max_rank = max_rank
        self.copy_X = copy_X
        self.rule = rule
        self.occlusion = occlusion
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Store the training samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Training samples; their kernel matrix if `kernel="precomputed"`.
        y : array-like of shape (n_samples,)
            Labels.

        Returns
        -------
        self : SparseRepresentationClassifier
            The fitted estimator.
        """
        X, y = checked_samples_and_target(self, X, y)
        check_classification_targets(y)
        self.classes_, self._class = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least two classes, but y has "
                f"{len(self.classes_)} class."
            )

        if self.residual_rtol is not None and self.algorithm == "group_lasso":
            raise ValueError(
                "algorithm='group_lasso' does not accept residual_rtol: omit it and choose alpha, "
                "or use algorithm='lasso' or 'omp'."
            )

        linear = isinstance(self.kernel, str) and self.kernel == "linear"
        direct = linear and not sparse.issparse(X)
        # With occlusion, each feature that may be wrong is an additional atom, a unit vector
        if self.occlusion and not direct:
            raise ValueError(
                "occlusion=True needs dense samples and kernel='linear': single features are not "
                "atoms in the feature space of a kernel."
            )

        if direct:
            rows = X.astype(np.float64)
            self.X_fit_ = self._gram = self._features = None
        else:
            self.X_fit_ = copy(X) if self.copy_X else X
            self._gram = resolved_gram(self, self.X_fit_)
            rows = self._coordinates(self.X_fit_)
        few = self.n_nonzero_coefs if self.algorithm == "omp" else FEW_DIMENSIONS
        if linear and X.shape[1] <= few:
            counts = f"X has {X.shape[1]} columns, and {few} training samples"
            warn_few_dimensions(self, counts=counts, remedy="kernel='rbf'")
        self._atoms, self._order = self._ordered(rows)
        # Store the atoms in the order of the samples, without single features
        back = np.argsort(self._order)
        self.components_ = self._atoms.rows[back][: len(y)]
        return self

    def _coordinates(self, X):
        """Return coordinates of the training samples in feature space, and store the map to them.

        They are exact, from the eigenvectors of the kernel matrix, if that fits into the working
        memory; otherwise they lie in the span of the pivots of an incomplete Cholesky factor.
        """
        n = count_samples(X)
        exact = self._gram.precomputed or fits_in_memory(n, n)
        if self.max_rank is not None or not exact:
            # The factor, the atoms at unit norm, their order and temporary arrays together need
            # eight times the memory of the factor
            rank = self.max_rank or int(working_memory() // (8 * FLOAT_BYTES * n))
            rank_bound = max(1, min(rank, n))
            self._features, factored = low_rank_features(self._gram, X, rank=rank_bound)
            trace = float(self._gram.diag(X).sum())
            outside = factored.residual_trace / max(trace, SMALLEST_DIVISOR)
            if self.max_rank is None and outside > 1e-6:
                warnings.warn(
                    f"{type(self).__name__} represents {n} samples in the span of {rank} of them, "
                    f"which misses {outside:.1e} of their squared norms: set max_rank to accept "
                    "this, or increase working_memory with sklearn.set_config.",
                    stacklevel=3,
                )
            return factored.factor

        K = kernel_matrix(self._gram, X)
        K = (K + K.T) / 2
        squares = np.diag(K)
        peak = np.abs(K).max()

        if squares.max() <= 0 < peak:
            raise ValueError(
                f"kernel={self.kernel!r} gives no sample a positive value with itself, which is "
                f"the square of its norm: the maximum is {squares.max():.1e}. Use a kernel whose "
                "matrix has no negative eigenvalues, or add a constant to its diagonal."
            )

        # Scale to unit norm, so that no sample has more weight because of its length
        norms = np.sqrt(np.maximum(squares, 0.0))
        scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        K *= np.outer(scale, scale)

        # The eigenvectors with positive eigenvalues span the samples
        values, vectors = eigh(K)
        smallest = n * np.finfo(float).eps * max(values[-1], SMALLEST_DIVISOR)
        positive = values > smallest
        samples = self._gram.subset(X, slice(None))
        if not positive.any():  # all samples are zero
            self._features = Projection(self._gram, np.zeros((n, 1)), samples)
            return np.zeros((n, 1))

        roots = np.sqrt(values[positive])
        directions = vectors[:, positive]
        to_span = scale[:, None] * directions / roots
        self._features = Projection(self._gram, to_span, samples)
        return directions * roots

    def _ordered(self, rows):
        """Prepare the atoms, class after class; with occlusion, single features come last."""
        order = np.argsort(self._class, kind="stable")
        classes = np.arange(len(self.classes_) + 1)
        self._start = np.searchsorted(self._class[order], classes)
        atoms = prepare_atoms(rows[order], distinct=True, gram=False)
        # Codes refer to atoms of unit norm
        rows = atoms.rows
        if self.occlusion:
            p = rows.shape[1]
            order = np.concatenate([order, len(order) + np.arange(p)])
            rows = np.concatenate([rows, np.eye(p)])
        self._groups = gram = None
        if self.algorithm == "group_lasso":
            n_features = len(rows) - self._start[-1]
            alone = np.ones(n_features, int)
            sizes = np.concatenate([np.diff(self._start), alone])
            self._groups = np.repeat(np.arange(len(sizes)), sizes)
        elif gram_pays(len(rows), len(rows)):  # otherwise the coders compute rows on demand
            gram = rows @ rows.T
        norms = np.ones(len(rows))
        return Atoms(rows, norms, gram), order

    @by_rows
    def predict(self, X):
        """Predict the labels of samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        decisions = self._decide(X)
        return self.classes_[np.argmax(decisions, axis=1)]

    @by_rows
    def decision_function(self, X):
        """Compute how well each class represents samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Minus the residual of each class for samples of unit norm, or the norm of its part of
            the code; for two classes, the value of the second class minus the value of the first.
        """
        check_is_fitted(self)
        decision = self._decide(X)
        if len(self.classes_) > 2:
            return decision
        return decision[:, 1] - decision[:, 0]

    @in_memory
    def concentration(self, X):
        """Compute how strongly the codes of samples are concentrated on one class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        concentration : ndarray of shape (n_samples,)
            ``(K max_c |a_c|_1 / |a|_1 - 1) / (K - 1)`` for K classes: 1 for codes of a single
            class, 0 for codes spread evenly, such as codes of samples that belong to no class.
        """
        check_is_fitted(self)
        c = len(self.classes_)
        concentrations = []
        for _, codes, _ in self._codes(X):
            sums = [abs(block).sum(axis=1) for block in self._by_class(codes)]
            sums = np.stack(sums, axis=1)
            total = sums.sum(axis=1)
            # A code that is zero is treated as spread evenly over the classes
            fraction = np.full(len(total), 1 / c)
            np.divide(sums.max(axis=1), total, out=fraction, where=total > 0)
            concentrations.append((c * fraction - 1) / (c - 1))
        return np.concatenate(concentrations)

    @in_memory
    def encode(self, X):
        """Code samples by the training samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or list
            Samples; their kernel values with all training samples if `kernel="precomputed"`.

        Returns
        -------
        codes : csr_array of shape (n_samples, n_training_samples)
            Coefficients of the training samples, all at unit norm, in the order of `fit`; with
            occlusion, the coefficients of single features follow.
        """
        check_is_fitted(self)
        back = np.argsort(self._order)
        codes = []
        for _, code, excess in self._codes(X):
            if self.occlusion:
                n = int(self._start[-1])
                code = sparse.hstack([code[:, :n], code[:, n:] + sparse.csr_array(excess)])
            codes.append(code)
        return sparse.csr_array(sparse.vstack(codes))[:, back]

    def _of_classes(self):
        """Return the slice of the atoms of each class."""
        return [slice(*ends) for ends in pairwise(self._start.tolist())]

    def _by_class(self, codes):
        """Return the block of the codes that belongs to each class."""
        columns = codes.tocsc()
        return [columns[:, atoms].tocsr() for atoms in self._of_classes()]

    def _codes(self, X):
        """Yield samples of unit norm in coordinates with their codes, in blocks of rows.

        With occlusion, the norm excludes huge cells, and their excess is yielded last.
        """
        X = checked_samples(self, X, reset=False)
        k, r = self._atoms.rows.shape
        row_bytes = 8 * (4 * k + 8 * r + 2 * len(self.classes_))

        for block_rows in row_blocks(count_samples(X), row_bytes):
            block = take(X, block_rows)
            if self._features is not None:
                rows = self._features(block)
            else:  # the block fits into the working memory
                rows = dense(block).astype(np.float64)

            # Scale to unit norm, without squares that overflow
            peak = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
            rows = np.divide(rows, peak, out=np.zeros_like(rows), where=peak > 0)
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            excess = None
            if self.occlusion:
                kept, norms = self._without_excess(rows, norms)
                excess = np.divide(
                    rows - kept, norms, out=np.zeros_like(rows), where=norms > 0
                )
                rows = kept
            rows = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)

            yield rows, self._solve(rows), excess

    def _without_excess(self, rows, norms):
        """Return rows with huge cells cut, and the norms of rows without huge cells.

        A cell is huge if no training sample has one nearly as large relative to its norm. In the
        norm, the mean square of the training samples replaces such cells, so that they do not hide
        each other. A code that contains a single feature absorbs the excess of its cell without
        any other change.
        """
        p = rows.shape[1]
        seen = np.maximum(np.abs(self.components_).max(axis=0), 1 / np.sqrt(p))
        typical = (self.components_**2).mean(axis=0)

        # Norms of each row without its first cell, without its first two cells, ..., in the order
        # of `ahead`
        ahead = np.abs(rows) / seen
        order = np.argsort(-ahead, axis=1)
        squares = np.take_along_axis(rows, order, axis=1) ** 2
        rest = np.cumsum(squares[:, ::-1], axis=1)[:, ::-1]
        fraction = 1 - np.cumsum(typical[order], axis=1) + typical[order]
        norms_without = np.sqrt(rest / np.maximum(fraction, 1 / p))

        # Keep cutting until the next cell is not huge; if all other cells are zero, cut nothing
        ahead = np.take_along_axis(ahead, order, axis=1)
        plausible = (ahead <= LARGEST_CELL * norms_without) & (rest > 0)
        n_huge = np.argmax(plausible, axis=1)[:, None]
        without = np.take_along_axis(norms_without, n_huge, axis=1)
        norms = np.where(n_huge > 0, without, norms)

        largest = CUT[self.algorithm] * norms
        huge = np.argsort(order, axis=1) < n_huge
        return np.where(huge, np.clip(rows, -largest, largest), rows), norms

    def _solve(self, rows):
        """Compute the codes of samples of unit norm."""
        atoms = self._atoms
        bounded = self.residual_rtol is not None
        bound = self.residual_rtol**2 if bounded else -1.0
        bounds = np.full(len(rows), bound)

        if self.algorithm == "omp":
            codes = orthogonal_matching_pursuit(
                rows,
                atoms,
                n_nonzero=self.n_nonzero_coefs,
                tol_sq=bounds,
                n_jobs=self.n_jobs,
            )
            return to_csr(codes, len(atoms.rows))

        # alpha is a fraction of the value above which all codes are zero
        correlations = np.abs(rows @ atoms.rows.T)
        settings = {"tol": self.tol, "max_iter": self.max_iter, "n_jobs": self.n_jobs}
        tiny = np.finfo(float).tiny
        if bounded:
            codes = bounded_lasso_codes(rows, atoms, tol_sq=bounds, **settings)
        elif self.algorithm == "lasso":
            largest = correlations.max(axis=1, initial=0.0)
            alpha = np.maximum(self.alpha * largest, tiny)
            codes = lasso_codes(rows, atoms, alpha=alpha, **settings)
        else:
            groups = self._groups
            sizes = np.bincount(groups)
            first = np.searchsorted(groups, np.arange(len(sizes)))
            norms = np.sqrt(np.add.reduceat(correlations**2, first, axis=1))
            largest = (norms / np.sqrt(sizes)).max(axis=1)
            alpha = np.maximum(self.alpha * largest, tiny)
            codes = group_lasso_codes(rows, atoms, alpha=alpha, groups=groups, **settings)

        unfinished = codes.stop == MAX_ITER
        if unfinished.any():
            penalty = "residual_rtol" if bounded else "alpha"
            warn_not_converged(
                self,
                reached=f"the codes of {np.count_nonzero(unfinished)} of {len(rows)} samples have "
                f"a duality gap of up to {np.nanmax(codes.gap):.1e} (tol={self.tol:g})",
                remedy=f"increase max_iter, tol or {penalty}",
            )

        return to_csr(codes, len(atoms.rows))

    def _decide(self, X):
        """Compute the decision value of each class."""
        decisions = []
        dictionary = self._atoms.rows
        n = int(self._start[-1])
        for rows, codes, _ in self._codes(X):
            blocks = self._by_class(codes)
            # Remove the part of the rows that the atoms of single features explain
            covered = rows
            if self.occlusion:
                covered = rows - codes[:, n:] @ dictionary[n:]

            decision = np.empty((len(rows), len(blocks)))
            for c, atoms in enumerate(self._of_classes()):
                block = blocks[c]
                if self.rule == "energy":
                    energy = block.multiply(block).sum(axis=1)
                    decision[:, c] = np.sqrt(energy)
                    continue
                residual = covered - block @ dictionary[atoms]
                decision[:, c] = -np.linalg.norm(residual, axis=1)

            # With occlusion, a code may contain only single features
            n_nonzero = np.diff(codes[:, :n].indptr)
            empty = np.flatnonzero(n_nonzero == 0)
            if empty.size:
                decision[empty] = self._nearest(rows[empty])
            decisions.append(decision)
        return np.concatenate(decisions)

    def _nearest(self, rows):
        """Compute the decision values from the best single training sample of each class."""
        products = rows @ self._atoms.rows.T
        largest = [products[:, atoms].max(axis=1) for atoms in self._of_classes()]
        cosines = np.maximum(np.stack(largest, axis=1), 0.0)
        if self.rule == "energy":
            return cosines

        # For a code with one sample d, the squared residual is |x|^2 - (x' d)^2
        norms_sq = (rows**2).sum(axis=1, keepdims=True)
        distances_sq = np.maximum(norms_sq - cosines**2, 0.0)
        return -np.sqrt(distances_sq)

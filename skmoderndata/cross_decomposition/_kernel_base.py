"""Base of the kernel methods for several views: exact, or with low-rank matrices."""

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from skmoderndata._estimator.validation import FLOATS, check_array, dense, validate_data
from skmoderndata._kernelized.checks import is_structured, refuse_texts, structured_samples
from skmoderndata._kernelized.expansion import scale_gamma
from skmoderndata._kernelized.gram import KERNEL_NAMES, Columns, Gram, resolve_kernel
from skmoderndata._kernelized.low_rank import (
    EXACT_LIMIT,
    check_definite,
    is_low_rank,
    omitted_fraction,
    warn_of_rank,
)
from skmoderndata._samples.containers import as_samples, count_samples, dense_blocks, take
from skmoderndata._solvers.common.certificates import relative_gap
from skmoderndata._solvers.common.linalg import asymmetry
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING
from skmoderndata._solvers.kernel.canonical import (
    DENSE_UP_TO,
    INDEFINITE,
    Pairs,
    Penalty,
    canonical_pairs,
    centre_dual,
    centre_kernel,
    coefficients,
    gain,
    is_semidefinite,
    kernel_pairs,
    penalty,
    training_scores,
    whiten_features,
    whiten_kernel,
)
from skmoderndata._solvers.kernel.incomplete_cholesky import centred_cholesky
from skmoderndata.cross_decomposition._base import (
    MultiviewTransformer,
    number_found,
    refuse_interpolation,
    signed_consensus,
    signs_of_peaks,
    weighted_mean,
)

# Maximum number of samples for which solver="auto" is exact for a few pairs of two views. With
# 3,000 samples, the exact solution takes 0.9 to 1.3 s and omits nothing; an approximation of rank
# 300 takes 0.1 s.
FEW_PAIRS_LIMIT = 3000


class KernelViews(MultiviewTransformer):
    """Base of kernel methods for views: scores are ``k(x, X_fit_) @ dual_coef_ + intercept_``.

    A subclass has the kernel parameters, each a single value or a list with one value per view,
    and `n_components`, `solver`, `max_rank`, `rank_tol`, `copy_X` and `random_state`.
    """

    _sparse_views = True

    def _view_scores(self, v, X):
        dual = self.dual_coef_[v]
        kernel = self._kernels[v]
        scores = np.empty((count_samples(X), dual.shape[1]))

        # Subtracting a mean makes sparse rows dense, so convert only a few rows at a time.
        in_stretches = kernel.shift is not None and sparse.issparse(X)
        stretches = dense_blocks(X) if in_stretches else [(slice(None), X)]
        for stretch, samples in stretches:
            values = scores[stretch]
            prepared = kernel.prepare(samples)
            for rows, K in kernel.gram.blocks(prepared, self.X_fit_[v]):
                values[rows] = K @ dual
        return scores + self.intercept_[v]

    def _check_view(self, v, X, *, reset):
        kernel = self._kernel_of(v)
        if is_structured(kernel):
            return structured_samples(kernel, X, type(self).__name__, own=reset)
        if v == 0:  # `super` would reject texts in later views, because they look like labels
            refuse_texts(kernel, X, type(self).__name__)
        X = super()._check_view(v, X, reset=reset)
        if is_precomputed(kernel) and reset:
            _check_kernel_matrix(X, v, self._allows_missing())
        return X

    def _is_list_of_views(self, X, y, *, reset=False):
        if not is_structured(self._kernel_of(0)):
            return super()._is_list_of_views(X, y, reset=reset)
        # Lists of tokens, or arrays of series, may look like several views although they are
        # samples of one view.
        if y is not None or not isinstance(X, list | tuple) or not X:
            return False
        if not reset and len(X) != self.n_views_:
            return False
        first = next((view for view in X if view is not None), None)
        if not hasattr(first, "shape"):
            return super()._is_list_of_views(X, y, reset=reset)
        numbers = np.asarray(first[:1]).dtype.kind in "biufc"
        return len(first.shape) > 1 or not numbers

    def _is_list_of_tuples(self, X):
        kernel = self.kernel
        several = isinstance(kernel, list | tuple)
        if not several or not any(map(is_structured, kernel)):
            return False
        table = getattr(X, "ndim", 1) != 1
        if table or isinstance(X, str | bytes) or not hasattr(X, "__len__"):
            return False
        samples = as_samples(X, type(self).__name__)
        fitting = [isinstance(x, tuple) and len(x) == len(kernel) for x in samples]
        return bool(samples) and all(fitting)

    def _kernel_of(self, v):
        kernel = self.kernel
        if isinstance(kernel, list | tuple):
            last = len(kernel) - 1
            return kernel[min(v, last)]
        return kernel

    def _present(self, v, X):
        if not is_precomputed(self._kernel_of(v)):
            return super()._present(v, X)
        if not self._allows_missing():
            return np.arange(count_samples(X))
        # Leave out a missing sample in both the rows and the columns.
        missing = np.isnan(X).all(axis=1)
        return np.flatnonzero(~missing)

    def _each(self, name, n_views):
        """Return the value of a parameter for each view."""
        value = getattr(self, name)
        if not isinstance(value, list | tuple):
            return [value] * n_views
        if len(value) != n_views:
            raise ValueError(
                f"{type(self).__name__}: {name} has {len(value)} entries for {n_views} views; "
                "pass one for each view, or a single value."
            )
        return list(value)

    def _resolve(self, views, samples):
        """Return the kernels with the parameter values that `fit` uses."""
        names = ("kernel", "gamma", "degree", "coef0", "kernel_params")
        columns = [self._each(name, len(views)) for name in names]
        settings = zip(*columns, strict=True)

        kernels = []
        for v, (view, setting) in enumerate(zip(views, settings, strict=True)):
            kernel, *parameters = setting
            w = samples.weights_of(v)
            if isinstance(kernel, str) and kernel not in KERNEL_NAMES:
                raise ValueError(
                    f"{type(self).__name__}: kernel={kernel!r} is none of {sorted(KERNEL_NAMES)}."
                )

            X = take_samples(view, samples.rows[v], kernel)
            shift = None
            if kernel in ("linear", "rbf") and isinstance(X, np.ndarray):
                # If all samples are shifted, the centred matrices of the linear and the Gaussian
                # kernel stay the same; centred samples lose fewer digits.
                if w is None:
                    shift = X.mean(axis=0, dtype=np.float64)
                else:
                    shift = weighted_mean(X, w)

            values = dict(zip(names[1:], parameters, strict=True))
            values["gamma"] = scale_gamma(values["gamma"], kernel, X, w)
            gram = resolve_kernel(kernel, X, **values)
            if sparse.issparse(X) and w is None:
                gram = gram.seen_from_mean(X)
            kernels.append(ViewKernel(gram, shift))

        return kernels

    def _solve(self, views, samples, progress, *, alphas, rule, **problem):
        """Return the kernels of the views and the solution of the problem."""
        kernels = self._resolve(views, samples)
        solver = self.solver
        if solver == "auto":
            # A few pairs need only products with the kernel matrices, so the exact solver is used
            # for more samples.
            exact = self._settings("exact", alphas, rule)
            few = problem.get("criterion") != "gcca" and few_pairs(samples, exact, len(views))
            limit = FEW_PAIRS_LIMIT if few else EXACT_LIMIT
            low = all(
                is_low_rank(solver, view_kernel.gram, samples.n, limit)
                for view_kernel in kernels
            )
            solver = "low_rank" if low else "exact"

        settings = self._settings(solver, alphas, rule)
        solution = solve_kernels(views, samples, kernels, settings, progress, **problem)
        if solver == "low_rank":
            for v, (rank, omitted) in enumerate(solution.omitted):
                warn_of_rank(self, rank, omitted, what=f"kernel of view {v + 1}")
        return kernels, solution

    def _settings(self, solver, alphas, rule):
        return KernelProblem(
            k=self.n_components,
            alphas=alphas,
            rule=rule,
            solver=solver,
            max_rank=self.max_rank,
            rank_tol=self.rank_tol,
            random_state=self.random_state,
            name=type(self).__name__,
        )

    def _store(self, kernels, solution, progress):
        """Set the fitted attributes from a solution."""
        self.n_components_ = number_found(self, solution.pairs, progress)
        self._kernels = kernels
        self.kernels_ = [_displayed(view_kernel.gram) for view_kernel in kernels]
        self.dual_coef_ = solution.duals
        self.intercept_ = solution.intercepts
        self.X_fit_ = solution.fitted
        if self.copy_X:
            self.X_fit_ = [X.copy() if hasattr(X, "copy") else X for X in solution.fitted]

        self.kernel_residual_ = np.array(solution.residuals)
        self.solver_ = solution.solver
        self.n_iter_ = int(solution.pairs.n_iter)
        self.residual_ = float(solution.pairs.residual)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        precomputed = is_precomputed(self._kernel_of(0))
        tags.input_tags.pairwise = precomputed and self.view_slices is None
        tags.input_tags.two_d_array = not is_structured(self._kernel_of(0))
        return tags


class ViewKernel(NamedTuple):
    """Kernel of one view and the mean that is subtracted from its samples."""

    gram: Gram
    # Vector that is subtracted from the samples; None if a shift would change the centred kernel
    # matrix or if the samples are sparse.
    shift: Any

    def prepare(self, X):
        """Convert samples to double precision and subtract the mean."""
        if not hasattr(X, "astype") or X.dtype.kind != "f":
            return X
        X = X.astype(np.float64, copy=False)
        return X if self.shift is None else X - self.shift


class KernelProblem(NamedTuple):
    """Settings of `solve_kernels`."""

    k: int
    alphas: list[float]  # regularisation of each view
    rule: str
    solver: str
    max_rank: int
    rank_tol: float
    random_state: Any
    name: str  # name of the estimator in error messages


class KernelSolution(NamedTuple):
    """Result of `solve_kernels`; each list has one entry for each view."""

    pairs: Pairs
    duals: list[Any]
    intercepts: list[Any]
    fitted: list[Any]  # samples to which the dual coefficients refer
    residuals: list[float]
    scores: list[Any]  # scores of the training samples
    solver: str
    gains: list[Any]  # diagonal `b` of each whitened view, or an estimate of its entries
    omitted: list[tuple[int, float]]  # rank, and fraction of the variance omitted at this rank


class ReducedView(NamedTuple):
    """One view after reduction to a centred matrix."""

    matrix: np.ndarray  # centred kernel divided by `scale`, or centred features
    means: np.ndarray  # column means that were subtracted
    scale: float
    pen: Penalty
    fitted: Any  # samples to which the dual coefficients refer
    residual: float  # fraction of the trace outside the low-rank approximation
    lift: Any  # function from weights of features to dual coefficients
    weights: Any  # weights of the samples; None if all are 1
    omitted: float = 0.0  # fraction of the variance outside the low-rank approximation

    @property
    def total(self):
        """Sum of the weights."""
        if self.weights is None:
            return float(len(self.matrix))
        return float(self.weights.sum())


def solve_kernels(views, samples, kernels, settings, progress, **problem):
    """Compute kernel matrices or low-rank factors of the views, then solve with `canonical`.

    Parameters
    ----------
    views : list
        Samples of each view.
    samples : Samples
        Rows that are present in each view, and their weights.
    kernels : list of ViewKernel
        Kernel of each view.
    settings : KernelProblem
        Number of components, regularisation, solver.
    progress : FitProgress
        Progress that receives the passes.
    **problem
        Parameters of `canonical_pairs`: `criterion`, `max_iter`, `tol`.

    Returns
    -------
    solution : KernelSolution
        Solution whose signs make the training score of largest magnitude of each component of
        the first view positive.
    """
    exact = settings.solver == "exact"
    # Reduce each view to a centred matrix: its kernel matrix or its features.
    reduce = _exact_view if exact else _low_rank_view
    reduced = []
    for v, (X, view_kernel) in enumerate(zip(views, kernels, strict=True)):
        rows = samples.rows[v]
        w = samples.weights_of(v)
        X = view_kernel.prepare(take_samples(X, rows, view_kernel.gram.kernel))
        view = reduce(v, X, view_kernel.gram, rows, w, settings)
        reduced.append(view)

    # A few pairs of large matrices need only products with vectors.
    if exact and problem.get("criterion") != "gcca":
        pairs = _krylov(reduced, kernels, samples, settings)
        if pairs is not None:
            duals = pairs.directions
            scores = [
                _unweighted(view.matrix @ dual, view.weights)
                for view, dual in zip(reduced, duals, strict=True)
            ]
            gains = [estimated_gains(view) for view in reduced]
            return kernel_solution(pairs, duals, scores, reduced, samples, settings, gains)

    # Otherwise whiten: use coordinates that have unit variance within each view.
    whitened = [_whitened(v, view, exact) for v, view in enumerate(reduced)]
    endless = [exact and view_kernel.gram.constant_diagonal for view_kernel in kernels]
    refuse_interpolation(
        whitened,
        settings.alphas,
        samples,
        name=settings.name,
        remedy="alpha, or limit the rank with solver='low_rank' and max_rank",
        endless=endless,
    )

    pairs = canonical_pairs(whitened, settings.k, samples, progress=progress, **problem)
    coefs = []
    scores = []
    for side, view, c in zip(reduced, whitened, pairs.directions, strict=True):
        coefs.append(coefficients(view, c))
        scores.append(training_scores(view, c, side.weights))

    gains = gains_of(reduced, whitened, [view.total for view in reduced])
    return kernel_solution(pairs, coefs, scores, reduced, samples, settings, gains)


def gains_of(reduced, whitened, totals):
    """Return the diagonal `b` of each whitened view; `totals` are the sums of the weights."""
    views = zip(whitened, totals, reduced, strict=True)
    return [gain(view.omega, total, source.pen) for view, total, source in views]


def estimated_gains(view):
    """Estimate the diagonal `b` of a view from the kernel of evenly spaced samples."""
    step = -(-len(view.matrix) // DENSE_UP_TO)
    K = view.matrix[::step, ::step].copy()
    centre_kernel(K, None)
    omega = np.maximum(linalg.eigvalsh(K), 0.0)
    return gain(omega, len(K), view.pen)


def kernel_solution(pairs, coefs, scores, reduced, samples, settings, gains):
    """Compute dual coefficients and constants from coefficients of the centred matrices."""
    # Choose signs that do not depend on how often samples are repeated.
    signs = signs_of_peaks(scores[0])
    duals = []
    intercepts = []
    for view, coef in zip(reduced, coefs, strict=True):
        # Undo the centring: convert to coefficients of the samples and a constant.
        if view.lift is None:
            dual = centre_dual(coef, view.weights) / view.scale
            intercept = -(view.means @ dual)
        else:
            dual = view.lift(coef)
            intercept = -(view.means @ coef)
        duals.append(dual * signs)
        intercepts.append(intercept * signs)

    consensus = signed_consensus(pairs.consensus, signs, samples.weights)
    return KernelSolution(
        pairs=pairs._replace(consensus=consensus),
        duals=duals,
        intercepts=intercepts,
        fitted=[view.fitted for view in reduced],
        residuals=[view.residual for view in reduced],
        scores=[columns * signs for columns in scores],
        solver=settings.solver,
        gains=gains,
        omitted=[(view.matrix.shape[1], view.omitted) for view in reduced],
    )


def _displayed(gram):
    """Return a kernel as `kernels_` shows it: a name with its parameters, or an object."""
    if not isinstance(gram.kernel, str):
        return gram.kernel
    return gram.kernel, dict(gram.params)


def _exact_view(v, X, gram, rows, w, settings):
    """Centre the kernel matrix and divide it by its mean diagonal entry."""
    K = kernel_matrix(gram, X, v)
    _refuse_diagonal(v, K.diagonal(), K)
    weights = np.ones(len(K)) if w is None else w
    magnitudes = np.abs(K.diagonal())
    size = float(weights @ magnitudes)
    means = centre_kernel(K, w)
    trace = float(K.trace())
    if not trace > ACCUMULATED_ROUNDING * size:
        raise ValueError(constant_view(v))
    # Scaling keeps the products of kernel matrices finite.
    scale = trace / float(weights.sum())
    K /= scale
    fitted = Columns(rows) if gram.precomputed else X
    pen = penalty(settings.alphas[v], settings.rule, scale)
    return ReducedView(K, means, scale, pen, fitted, 0.0, None, w)


def kernel_matrix(gram, X, v=None):
    """Compute the kernel matrix of the training samples in double precision; must be finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        K = np.array(gram(X), dtype=np.float64)
    refuse_extreme(K, v)
    return K


def refuse_extreme(values, v=None):
    """Reject kernel values whose products overflow: LAPACK may not terminate on infinities."""
    if not np.abs(values).max(initial=0.0) < 1e210:
        view = "" if v is None else f" of view {v + 1}"
        raise ValueError(
            f"The kernel matrix{view} has infinite or nearly infinite values: rescale the "
            "samples, or lower gamma or degree."
        )


def _low_rank_view(v, X, gram, rows, w, settings):
    """Compute centred low-rank features; pivots are drawn by their residuals or uniformly."""
    n = count_samples(X)
    rank = min(settings.max_rank, n)
    seed = settings.random_state

    with np.errstate(over="ignore", invalid="ignore"):
        diagonal = gram.diag(X)
    refuse_extreme(diagonal, v)
    _refuse_diagonal(v, diagonal, None)
    trace = float(diagonal.sum())

    if settings.solver == "low_rank":
        # Compute the pivoted Cholesky factor of the centred kernel.
        check_definite(gram)
        try:
            rng = check_random_state(0 if seed is None else seed)
            factored = centred_cholesky(gram, X, rank=rank, tol=settings.rank_tol, rng=rng)
        except linalg.LinAlgError as error:
            raise ValueError(_indefinite(v)) from error
        G = factored.factor
        pivots = factored.pivots
        lift = TriangularLift(G[pivots])
        residual = relative_gap(factored.residual_trace, 0.0, unit=trace)
        omitted = omitted_fraction(factored)
    else:
        # Compute Nystroem features from landmarks drawn at random.
        pivots = drawn_landmarks(gram.order(X), rank, seed)
        landmarks = gram.subset(X, pivots)
        R = nystroem_root(v, gram, take(X, pivots), landmarks)
        G = np.empty((n, R.shape[1]))
        for rows_of_block, K in gram.blocks(X, landmarks):
            G[rows_of_block] = K @ R
        lift = MatrixLift(R)
        omitted = 0.0  # the user has set the number of landmarks, so do not warn
        explained = np.einsum("ij,ij->", G, G)
        residual = relative_gap(trace, explained, unit=trace)

    # Centre the features, and multiply the rows by the roots of the weights.
    means = weighted_mean(G, w)
    G -= means
    if w is not None:
        G *= np.sqrt(w)[:, None]
        trace = float(w @ diagonal)

    scatter = float(np.einsum("ij,ij->", G, G))
    if not scatter > ACCUMULATED_ROUNDING * trace:
        raise ValueError(constant_view(v))

    if gram.precomputed:
        fitted = Columns(rows[pivots])
    else:
        fitted = gram.subset(X, pivots)
    pen = penalty(settings.alphas[v], settings.rule)
    return ReducedView(G, means, 1.0, pen, fitted, float(residual), lift, w, omitted)


def drawn_landmarks(order, rank, seed):
    """Draw samples at random; the draw does not depend on the order of the rows."""
    drawn = check_random_state(seed).permutation(len(order))
    return np.sort(order[drawn[:rank]])


def nystroem_root(v, gram, samples, landmarks):
    """Return the kernel matrix of the landmarks to the power -1/2 on its range."""
    block = np.asarray(gram(samples, landmarks), dtype=np.float64)
    omega, U = linalg.eigh((block + block.T) / 2, check_finite=False)
    if omega[0] < -INDEFINITE * np.abs(omega).max():
        raise ValueError(_indefinite(v))
    largest = max(float(omega[-1]), 0.0)
    positive = omega > len(block) * np.finfo(np.float64).eps * largest
    return U[:, positive] / np.sqrt(omega[positive])


class TriangularLift(NamedTuple):
    """Map from weights of the factor to coefficients of the kernel with the pivots."""

    L: np.ndarray

    def __call__(self, w):
        return linalg.solve_triangular(self.L, w, lower=True, trans="T")


class MatrixLift(NamedTuple):
    """Map from weights of Nystroem features to coefficients of the kernel with the landmarks."""

    R: np.ndarray

    def __call__(self, w):
        return self.R @ w


def _whitened(v, view, exact):
    """Whiten one view."""
    if exact:
        whitened = whiten_kernel(view.matrix, view.pen, view.total)
        if whitened.rank < 0:
            raise ValueError(_indefinite(v))
        return whitened

    whitened = whiten_features(view.matrix, view.pen, view.total)
    if whitened.rank == 0:
        raise ValueError(constant_view(v))
    return whitened


def _krylov(reduced, kernels, samples, settings):
    """Compute a few pairs of two large views by Lanczos iterations; None if not applicable."""
    if samples.n <= DENSE_UP_TO or not few_pairs(samples, settings, len(reduced)):
        return None

    for v, (view, view_kernel) in enumerate(zip(reduced, kernels, strict=True)):
        definite = view_kernel.gram.kernel in ("linear", "rbf", "laplacian", "cosine")
        if not definite and not is_semidefinite(view.matrix):
            raise ValueError(_indefinite(v))

    a, b = reduced
    pens = (a.pen, b.pen)
    return kernel_pairs(a.matrix, b.matrix, settings.k, pens=pens, total=a.total)


def few_pairs(samples, settings, n_views):
    """Whether products of kernel matrices and vectors solve an exact problem fast.

    They do so for a few pairs of two regularised views, except with the rule "bach-jordan".
    """
    if n_views != 2 or settings.k > samples.n // 20:
        return False
    return 0 not in settings.alphas and settings.rule != "bach-jordan"


def _refuse_diagonal(v, diagonal, K):
    """Check that each diagonal entry is positive, or zero in a row of zeros."""
    size = np.abs(diagonal).max(initial=0.0)
    if (diagonal < -INDEFINITE * size).any():
        raise ValueError(_indefinite(v))

    # By the Cauchy-Schwarz inequality, k(x, x) = 0 implies that the whole row is zero.
    zeros = np.flatnonzero(diagonal == 0)
    if K is not None and len(zeros):
        index = int(zeros[0])
        largest = np.abs(K).max()
        if np.abs(K[index]).max() > INDEFINITE * max(size, largest * INDEFINITE):
            raise ValueError(
                f"The kernel matrix of view {v + 1} has a zero on its diagonal, at sample "
                f"{index}, in a row that is not zero, so it is not positive "
                "semi-definite. Is it a matrix of distances?"
            )


def constant_view(v):
    """Return the message for a view without any variance."""
    return f"View {v + 1} is constant: its kernel has no variance, so nothing can correlate."


def _indefinite(v):
    return (
        f"The kernel matrix of view {v + 1} is not positive semi-definite. Choose another "
        "kernel or other parameters, or correct the spectrum of a precomputed matrix."
    )


def _unweighted(scores, weights):
    """Divide the scores by the roots of the weights."""
    if weights is None:
        return scores
    return scores / np.sqrt(weights)[:, None]


def has_vectors(kernel):
    """Whether a kernel accepts rows of numbers other than kernel values."""
    return not is_precomputed(kernel) and not is_structured(kernel)


def is_precomputed(kernel):
    """Whether samples are represented by their kernel values."""
    return isinstance(kernel, str) and kernel == "precomputed"


def take_samples(X, rows, kernel):
    """Select samples (rows and columns of a kernel matrix); X itself if all are selected."""
    if rows.size == count_samples(X):
        return X
    square = is_precomputed(kernel) and X.shape[0] == X.shape[1]
    if square:
        return X[np.ix_(rows, rows)]
    return take(X, rows)


def samples_of(estimator, X):
    """Validate new samples of a regressor with one kernel."""
    kernel = estimator.kernel
    if is_structured(kernel):
        return structured_samples(kernel, X, type(estimator).__name__, own=False)
    return validate_data(estimator, X, dtype=FLOATS, accept_sparse="csr", reset=False)


def samples_and_targets(estimator, X, y):
    """Validate samples and targets in double precision; also return whether y is one target."""
    kernel = estimator.kernel
    name = type(estimator).__name__
    if is_structured(kernel):
        X = structured_samples(kernel, X, name, own=True)
        check_consistent_length(X, y)
    else:
        refuse_texts(kernel, X, name)
        checks = {"multi_output": True, "y_numeric": True, "ensure_min_samples": 2}
        X, y = validate_data(estimator, X, y, dtype=FLOATS, accept_sparse="csr", **checks)
        X = X.astype(np.float64, copy=False)

    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    Y = y.reshape(len(y), -1)
    return X, Y, y.ndim == 1


def gram_of(estimator, X, w):
    """Resolve the kernel of a regressor for samples with weights w."""
    return resolve_kernel(
        estimator.kernel,
        X,
        gamma=scale_gamma(estimator.gamma, estimator.kernel, X, w),
        degree=estimator.degree,
        coef0=estimator.coef0,
        kernel_params=estimator.kernel_params,
    )


def _check_kernel_matrix(K, v, allow_missing):
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f'kernel="precomputed": view {v + 1} should be a square matrix of the kernel values '
            f"of all training samples, but has shape {K.shape}."
        )

    D = dense(K)
    if allow_missing:
        D = np.where(np.isnan(D), 0.0, D)
    difference = asymmetry(D)
    if difference > 1e-7 * np.abs(D).max():
        raise ValueError(
            f'kernel="precomputed": the matrix of view {v + 1} is not symmetric; the largest '
            f"difference between an entry and its mirror image is {difference:.3g}."
        )

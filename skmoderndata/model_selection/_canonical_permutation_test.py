"""Permutation test of the number of canonical pairs of two views."""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skmoderndata._estimator.confounders import confounder_table
from skmoderndata._estimator.validation import check_array, refuse_ragged
from skmoderndata._kernelized.checks import is_structured
from skmoderndata._kernelized.expansion import scale_gamma
from skmoderndata._kernelized.gram import resolve_kernel
from skmoderndata._kernelized.low_rank import check_definite, is_low_rank
from skmoderndata._solvers.common.quantities import MAX_INT32
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RESULT_ROUNDING
from skmoderndata._solvers.kernel.canonical import (
    ALPHAS,
    centre_kernel,
    penalty,
    whiten_features,
    whiten_kernel,
    with_penalty,
)
from skmoderndata._solvers.kernel.canonical_permutations import (
    held_out_correlations,
    largest_correlations,
    orthogonal_rows,
    rotated_coordinates,
)
from skmoderndata._solvers.kernel.incomplete_cholesky import centred_cholesky
from skmoderndata._solvers.kernel.sparse_canonical import (
    SparseCoordinates,
    bound_grid,
    permuted_maxima,
    sparse_coordinates,
)

NAME = "canonical_permutation_test"
LINEAR = ("RegularizedCCA", "CCA")
KERNEL = ("KernelCCA",)
SPARSE = ("SparseCCA",)
# Number of folds across which kernel directions are evaluated.
N_FOLDS = 10
# Maximum number of permuted coordinates that are held at a time.
BATCH_ENTRIES = 2**21


class CanonicalPermutationTest(NamedTuple):
    """Result of `canonical_permutation_test`, with one entry for each tested pair.

    `correlations` (k,) are the correlations of the pairs. `p_values` (k,) are ascending and
    corrected for the number of pairs, and `n_pairs` is the number of pairs at the requested level.
    `null_distribution` (n_permutations, k) holds the values of the statistic under permutation,
    and `statistics` (k,) the observed values that are compared with them.
    """

    correlations: np.ndarray
    p_values: np.ndarray
    n_pairs: int
    null_distribution: np.ndarray
    statistics: np.ndarray


def canonical_permutation_test(
    estimator,
    X,
    Y,
    *,
    confounders=None,
    n_permutations=1000,
    level=0.05,
    random_state=None,
    n_jobs=None,
):
    r"""Test how many canonical pairs two views have in common, by permutations of the rows.

    For j = 0, 1, ... the canonical pairs found so far are removed from both views and the rows of
    the remaining part of `X` are permuted. The largest remaining correlation :math:`r_{j+1}` is
    compared with the largest correlation after each permutation [1]_:

    .. math::
        p_j = \frac{1 + \#\{\pi : r_j^\pi \ge r_j\}}{1 + \text{n\_permutations}}, \qquad
        p_j^\mathrm{corrected} = \max_{i \le j} p_i.

    The maximum means that a pair counts only if all earlier pairs do. It limits the probability of
    at least one false pair to the level.

    Parameters
    ----------
    estimator : RegularizedCCA, SparseCCA, KernelCCA or scikit-learn's CCA
        Canonical correlation analysis of two views; it need not be fitted and is not changed. Its
        `n_components` is the maximum number of pairs tested; its penalty and kernels are used.
    X : array-like of shape (n_samples, n_features)
        First view.
    Y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Second view, with the same samples in the same order.
    confounders : array-like of shape (n_samples,) or (n_samples, n_confounders), default=None
        Variables whose linear effect is removed from both views. Not available for KernelCCA.
    n_permutations : int, default=1000
        Number of permutations.
    level : float, default=0.05
        Level of the test between 0 and 1, for `n_pairs`.
    random_state : int, RandomState instance or None, default=None
        Generator or seed for the permutations and the folds of kernels.
    n_jobs : int, default=None
        Number of batches of permutations processed in parallel with joblib. The result does not
        depend on it.

    Returns
    -------
    result : CanonicalPermutationTest
        Named tuple `(correlations, p_values, n_pairs, null_distribution, statistics)`.

    Raises
    ------
    ValueError
        If the views differ in length, contain NaN or are constant, or if there are too few rows
        for an analysis without penalty, or too few permutations for the level.
    TypeError
        If the estimator is not a canonical correlation analysis.

    See Also
    --------
    sklearn.model_selection.permutation_test_score : Tests the score of a model as a whole.
    skmoderndata.cross_decomposition.CanonicalLoadingsDisplay : Shows which columns form the pairs.

    Notes
    -----
    Rows must be exchangeable: independent of each other, not in sequences or groups. The test
    removes the means of the columns.

    *Confounders.* Residuals of a regression are correlated with each other, so their permutation
    finds too many pairs. The test instead multiplies both views by an orthonormal basis of the
    n - 1 - q directions that are orthogonal to the q confounders and to a constant [2]_. The
    correlations of the data stay those of the residuals, as in ``RegularizedCCA.fit`` with
    `confounders`, and the n - 1 - q rows, which are permuted, are uncorrelated if the samples are
    independent. They are exchangeable if the errors are normal, and approximately otherwise.

    *Linear analyses.* `correlations` are the regularised correlations, as in
    `regularized_correlations_`. The views are whitened once; a permutation costs the product of
    two tables of ``n_samples`` rows and the singular values of a matrix whose size is the numbers
    of columns.

    ``RegularizedCCA(alpha="auto")`` uses the tested relation to choose its penalty. With this
    penalty held fixed, the test would find too much (10 % false pairs at the level .05). Instead,
    `statistics` is the maximum over all penalties of the correlation, measured in standard
    deviations from its mean over the permutations, both for the data and for each permutation.
    `correlations` belong to the penalty that attains the maximum.

    *SparseCCA.* `correlations` are the maxima of its problem, the `covariances_`, each computed
    from one start, both for the data and for each permutation. ``l1_bound="permutation"`` is
    treated like ``alpha="auto"``: the maximum over all bounds in standard deviations.

    *KernelCCA.* Flexible functions correlate perfectly on the samples that they were fitted to.
    Therefore, `correlations` are computed from scores across ten folds, with directions from the
    other folds, also within each permutation; they may be negative. Kernels, their widths and
    the coordinates of unit variance depend on one view at a time and are computed from all
    samples. Directions whose squared gain is less than .001 of the largest are omitted.

    The test of the first pair is exact for exchangeable rows; the test of later pairs is
    approximate, because the removed pairs are estimates.

    References
    ----------
    .. [1] Winkler, Renaud, Smith and Nichols, Permutation inference for canonical correlation
       analysis, NeuroImage 220, 2020, 117065, algorithm 1.
    .. [2] Huh and Jhun, Random permutation testing in multiple linear regression, Communications
       in Statistics - Theory and Methods 30(10), 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from skmoderndata.cross_decomposition import RegularizedCCA
    >>> from skmoderndata.model_selection import canonical_permutation_test
    >>> exercise, body = load_linnerud(return_X_y=True)
    >>> test = canonical_permutation_test(
    ...     RegularizedCCA(3, alpha=0), exercise, body, random_state=0
    ... )
    >>> test.correlations.round(2)
    array([0.8 , 0.2 , 0.07])
    >>> test.n_pairs
    1
    >>> bool(test.p_values[0] < 0.05 < test.p_values[1])
    True
    """
    # 1. Check the arguments.
    kind = _kind_of(estimator)
    _check_numbers(n_permutations, level)
    X, Y = _check_views(estimator, X, Y)
    rng = check_random_state(random_state)
    if confounders is not None:
        X, Y = _without_confounders(kind, X, Y, confounders)

    # 2. Whiten the views once for each penalty.
    centred = confounders is not None
    if kind == "linear":
        pairs = _linear_coordinates(estimator, X, Y, centred=centred)
        fold = None
    elif kind == "sparse":
        pairs = _sparse_coordinates(estimator, X, Y, rng, centred=centred)
        fold = None
    else:
        pairs = [_kernel_coordinates(estimator, X, Y)]
        fold = rng.permutation(len(X)) % N_FOLDS
    k = min(estimator.n_components, *(len(pair.values) for pair in pairs))

    # 3. Evaluate the data, then the permutations in batches; each batch has its own seed.
    data = np.arange(len(X))[None]
    observed = _correlations(pairs, data, k, fold)
    width = max(pair.A.shape[1] + pair.B.shape[1] for pair in pairs)
    # For each permutation, sparse pairs hold weights and scores, and other pairs hold the permuted
    # coordinates.
    entries = len(X) + width if kind == "sparse" else len(X) * width
    batch = max(1, min(n_permutations, BATCH_ENTRIES // entries))
    sizes = [min(batch, n_permutations - start) for start in range(0, n_permutations, batch)]
    seeds = rng.randint(MAX_INT32, size=len(sizes))
    run = delayed(_permuted)
    blocks = Parallel(n_jobs=n_jobs)(
        run(pairs, k, fold, size, seed) for size, seed in zip(sizes, seeds, strict=True)
    )
    values = np.concatenate([observed, *blocks], axis=1)

    # 4. Compute the p-values as running maxima over the pairs.
    statistics, correlations = _best_penalty(values)
    reached = statistics[1:] >= statistics[0] - ACCUMULATED_ROUNDING
    p_values = (1 + reached.sum(axis=0)) / (1 + n_permutations)
    p_values = np.maximum.accumulate(p_values)
    n_pairs = int((p_values <= level).sum())
    return CanonicalPermutationTest(
        correlations, p_values, n_pairs, statistics[1:], statistics[0]
    )


def _permuted(pairs, k, fold, size, seed):
    """Compute the correlations under some permutations."""
    rng = np.random.RandomState(seed)
    n = len(pairs[0].A)
    orders = np.array([rng.permutation(n) for _ in range(size)])
    return _correlations(pairs, orders, k, fold)


def _correlations(pairs, orders, k, fold):
    """Compute correlations (n_penalties, n_orders, k) of the pairs, across any folds."""
    if isinstance(pairs[0], SparseCoordinates):
        return np.array([permuted_maxima(pair, orders, k) for pair in pairs])
    if fold is None:
        return np.array([largest_correlations(pair, orders, k) for pair in pairs])
    return np.array([held_out_correlations(pair, orders, k, fold) for pair in pairs])


def _best_penalty(values):
    """Return statistics (1 + n_permutations, k) of the data and permutations, and correlations."""
    if len(values) == 1:
        return values[0], values[0, 0]

    # The data count as one of the permutations, so that mean and standard deviation do not favour
    # them.
    deviation = values.std(axis=1, keepdims=True)
    centred = values - values.mean(axis=1, keepdims=True)
    standardised = centred / np.where(deviation > 0, deviation, 1.0)
    best = standardised[:, 0].argmax(axis=0)
    return standardised.max(axis=0), values[best, 0, np.arange(len(best))]


# ---- views as coordinates ---------------------------------------------------------------------


def _without_confounders(kind, X, Y, confounders):
    """Rotate both views to the directions that are orthogonal to the confounders."""
    if kind == "kernel":
        raise ValueError(
            f"{NAME}: confounders are removed from tables, not from kernels: use "
            "RegularizedCCA or SparseCCA."
        )

    Z = confounder_table(confounders, len(X), owner=NAME)
    views = [orthogonal_rows(view, Z) for view in (X, Y)]
    n_rows = len(views[0])
    if n_rows < 4:
        raise ValueError(
            f"{NAME}: {Z.shape[1]} confounders leave {n_rows} directions of {len(X)} rows to "
            "permute: use more rows or fewer confounders."
        )

    # if the confounders explain a view, only rows of zeros remain
    for name, view in zip(("X", "Y"), views, strict=True):
        if not view.any():
            raise ValueError(
                f"{NAME}: the confounders explain all columns of {name}, so nothing is left to "
                "correlate: use fewer confounders."
            )
    return views


def _standardised(X, Y, scale, centred):
    """Centre the views, unless they are `centred`, and, with `scale`, scale them."""
    views = []
    for name, view in (("X", X), ("Y", Y)):
        if centred:
            deviation = np.sqrt((view**2).mean(axis=0)) if scale else 1.0
            views.append(view / np.where(deviation > 0, deviation, 1.0))
            continue
        if not np.ptp(view, axis=0).any():
            raise ValueError(
                f"{NAME}: all columns of {name} are constant, so nothing can correlate with "
                "them; omit the view."
            )
        views.append(StandardScaler(with_std=scale).fit_transform(view))
    return views


def _sparse_coordinates(estimator, X, Y, rng, *, centred):
    """Find the pairs of a sparse analysis for one bound, or for each bound of "permutation"."""
    A, B = _standardised(X, Y, estimator.scale, centred)
    if isinstance(estimator.l1_bound, str):
        grid = bound_grid((A.shape[1], B.shape[1]))
    else:
        grid = [_each(estimator, "l1_bound", estimator.l1_bound)]
    return [sparse_coordinates(A, B, pair, estimator.n_components, rng=rng) for pair in grid]


def _linear_coordinates(estimator, X, Y, *, centred):
    """Compute rotated coordinates of two tables for one penalty, or for each penalty of "auto"."""
    views = _standardised(X, Y, getattr(estimator, "scale", True), centred)

    # scikit-learn's CCA has no penalty.
    alpha = getattr(estimator, "alpha", 0.0)
    if isinstance(alpha, str):
        start = penalty(0.5, "shrinkage")
        sides = [whiten_features(view, start) for view in views]
        n = float(len(X))
        grids = [penalty(value, "shrinkage") for value in ALPHAS]
        return [
            rotated_coordinates(*(with_penalty(side, start, pen, n) for side in sides))
            for pen in grids
        ]

    alphas = _each(estimator, "alpha", alpha)
    pens = [penalty(value, "shrinkage") for value in alphas]
    sides = [whiten_features(view, pen) for view, pen in zip(views, pens, strict=True)]
    # Views without confounders are already centred, so n rows have n degrees of freedom instead of
    # n - 1.
    n = len(X) + 1 if centred else len(X)
    _refuse_interpolation(sides, alphas, n, "a RegularizedCCA with alpha above 0")
    return [rotated_coordinates(*sides)]


def _kernel_coordinates(estimator, X, Y):
    """Compute rotated coordinates of two views from their kernels."""
    names = ("kernel", "gamma", "degree", "coef0", "kernel_params", "alpha")
    settings = {name: _each(estimator, name, getattr(estimator, name)) for name in names}
    sides = []
    for v, view in enumerate((X, Y)):
        kernel, gamma, degree, coef0, params, alpha = (settings[name][v] for name in names)
        gram = resolve_kernel(
            kernel,
            view,
            gamma=scale_gamma(gamma, kernel, view, None),
            degree=degree,
            coef0=coef0,
            kernel_params=params,
        )
        side = _whitened_kernel(estimator, gram, view, alpha)
        if side.rank < 1:
            reason = "constant" if side.rank == 0 else "not positive semi-definite"
            raise ValueError(
                f"{NAME}: the kernel of view {v + 1} is {reason}; choose another kernel or gamma."
            )
        sides.append(side)

    remedy = "a KernelCCA with alpha above 0"
    _refuse_interpolation(sides, settings["alpha"], len(X), remedy)
    return rotated_coordinates(*sides)


def _whitened_kernel(estimator, gram, X, alpha):
    """Whiten one view with its kernel matrix or an incomplete factor, like the estimator."""
    rule = estimator.regularization
    n = len(X)
    if not (estimator.solver != "exact" and is_low_rank(estimator.solver, gram, n)):
        K = np.array(gram(X), dtype=np.float64)
        centre_kernel(K)
        scale = float(K.trace()) / n or 1.0
        return whiten_kernel(K / scale, penalty(alpha, rule, scale))

    check_definite(gram)
    rng = check_random_state(0)
    rank = min(estimator.max_rank, n)
    G = centred_cholesky(gram, X, rank=rank, tol=estimator.rank_tol, rng=rng).factor
    return whiten_features(G - G.mean(axis=0), penalty(alpha, rule))


# ---- checks -----------------------------------------------------------------------------------


def _kind_of(estimator):
    """Return the kind of the analysis: linear, kernel or sparse."""
    names = [base.__name__ for base in type(estimator).__mro__]
    kind = {
        **dict.fromkeys(LINEAR, "linear"),
        **dict.fromkeys(KERNEL, "kernel"),
        **dict.fromkeys(SPARSE, "sparse"),
    }
    kinds = [kind[name] for name in names if name in kind]
    if isinstance(estimator, type) or not kinds:
        raise TypeError(
            f"{NAME} tests canonical correlation analyses but received {estimator!r}: pass an "
            "instance of RegularizedCCA, SparseCCA, KernelCCA or "
            "sklearn.cross_decomposition.CCA. To test the score of another model, use "
            "scikit-learn's permutation_test_score."
        )

    if getattr(estimator, "criterion", "maxvar") == "gcca":
        raise ValueError(
            f"{NAME} tests correlations, but {type(estimator).__name__}(criterion='gcca') fits a "
            "consensus: set criterion='maxvar'."
        )
    if getattr(estimator, "view_slices", None) is not None:
        raise ValueError(
            f"{NAME} accepts the two views as X and Y: set view_slices=None in the estimator."
        )
    return kinds[0]


def _check_numbers(n_permutations, level):
    """Check the ranges of the numbers, and that a p-value can reach the level."""
    if not isinstance(n_permutations, Integral) or n_permutations < 1:
        raise ValueError(f"n_permutations={n_permutations!r} should be an integer above 0.")
    if not isinstance(level, Real) or not 0 < level < 1:
        raise ValueError(f"level={level!r} should be between 0 and 1.")
    if 1 / (1 + n_permutations) > level:
        least = int(np.ceil(1 / level - RESULT_ROUNDING)) - 1
        raise ValueError(
            f"n_permutations={n_permutations} cannot reach level={level:g}; use at least "
            f"{least} permutations."
        )


def _check_views(estimator, X, Y):
    """Convert the views to tables of finite numbers and check that they have the same rows."""
    # Kernels of structured samples do not work for tables of numbers.
    kernels: Any = getattr(estimator, "kernel", None)
    kernels = kernels if isinstance(kernels, list | tuple) else [kernels]
    if any(is_structured(kernel) for kernel in kernels):
        raise ValueError(
            f"{NAME} accepts tables of numbers: pass kernels of other samples as matrices, with "
            'kernel="precomputed".'
        )

    # Check each view and report rows that are not finite.
    views = []
    for name, view in (("X", X), ("Y", Y)):
        if sparse.issparse(view):
            raise TypeError(f"{NAME}: {name} is sparse; pass {name}.toarray().")
        refuse_ragged(view, f"{NAME}: {name}")
        if np.ndim(view) == 1 and name == "Y":
            view = np.asarray(view).reshape(-1, 1)
        view = check_array(
            view, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=4
        )
        missing = ~np.isfinite(view).all(axis=1)
        if missing.any():
            raise ValueError(
                f"{NAME}: {name} contains NaN or infinity in {missing.sum()} of {len(view)} "
                f"rows; the first of them is row {int(missing.argmax())}: impute them, or leave "
                "these rows out of both views."
            )
        views.append(view)

    # Compare the numbers of rows.
    X, Y = views
    if len(X) != len(Y):
        raise ValueError(
            f"{NAME}: the views have {len(X)} and {len(Y)} rows; pass the same samples in "
            "the same order in both."
        )
    return X, Y


def _each(estimator, name, value):
    """Return the value of a parameter for each of the two views."""
    if not isinstance(value, list | tuple):
        return [value] * 2
    if len(value) != 2:
        raise ValueError(
            f"{type(estimator).__name__}: {name} has {len(value)} entries for 2 views; pass one "
            "for each view, or a single value."
        )
    return list(value)


def _refuse_interpolation(sides, alphas, n, remedy):
    """Raise ValueError if views without penalty correlate perfectly whatever they contain."""
    ranks = [side.rank for side, alpha in zip(sides, alphas, strict=True) if alpha == 0]
    if not ranks:
        return
    directions = sum(ranks)
    if directions >= n - 1:
        raise ValueError(
            f"{NAME}: without penalty, the {directions} directions fit any {n} rows: use at least "
            f"{directions + 2} rows, or {remedy}."
        )

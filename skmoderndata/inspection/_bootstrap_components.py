"""Bootstrap of components: stability, quantiles, and probabilities of membership."""

import warnings
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from skmoderndata._estimator.blocks_input import in_blocks
from skmoderndata._estimator.plotting import last_step, names_of
from skmoderndata._estimator.refits import (
    Seeded,
    bootstrap,
    bootstrap_loadings,
    check_bootstrap,
    matched,
    quantiles,
)
from skmoderndata._estimator.validation import check_array
from skmoderndata._samples.containers import count_samples
from skmoderndata._solvers.common.linalg import unit_rows
from skmoderndata._solvers.common.quantities import MAX_INT32
from skmoderndata._solvers.factors.support_refit import refit_on_support
from skmoderndata.exceptions import DoubtfulResultWarning

NAME = "bootstrap_components"
# Minimum number of rows from which to draw.
LEAST_ROWS = 3
# Minimum number of blocks in a series.
LEAST_BLOCKS = 2
# Maximum length of the default blocks, as a fraction of the series.
LONGEST_BLOCK = 0.2
# Largest stability of a component that counts as rotating; a random angle in a plane gives 0.9.
ROTATES = 0.92
# Maximum instability of the subspace of a rotating component, as a fraction of the instability of
# the component.
SUBSPACE_FRACTION = 0.25


class BootstrapComponents(NamedTuple):
    """Result of `bootstrap_components`, for k components of p entries.

    `components` (k, p) are the components of the fit of all rows, at unit norm. `low` and `high`
    (k, p) are bootstrap quantiles; None for Boolean components. `stability` (k,) is the mean
    cosine of a component with its match in the refits, and `subspace_stability` (k,) the mean
    cosine with the span of all components of the refits. `inclusion` (k, p) is the fraction of
    refits in which an entry is not zero. `quantity` is "components", "loadings" (correlations of
    the columns of both views with their scores) or "memberships" (of Boolean components).
    `feature_names` are the names of the columns or None. `draws` (n_bootstraps, k, p) are the
    matched refits, NaN for lost components, or None.
    """

    components: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    stability: np.ndarray
    subspace_stability: np.ndarray
    inclusion: np.ndarray
    quantity: str
    confidence_level: float
    n_bootstraps: int
    block_length: int
    feature_names: list[str] | None
    draws: np.ndarray | None


def bootstrap_components(
    estimator,
    X,
    Y=None,
    *,
    n_bootstraps=200,
    confidence_level=0.95,
    block_length=None,
    refit_support=False,
    keep_draws=False,
    n_jobs=None,
    random_state=None,
    verbose=0,
):
    r"""Refit components to bootstrap samples of the rows, and measure how much they change.

    The rows are drawn with replacement, and a clone of the estimator is fitted to each sample.
    The components of a refit come in another order and with other signs. They are matched one to
    one with the components :math:`h_1, \dots, h_k` of the fit of all rows by the permutation
    :math:`\pi` with the largest sum of cosines (the assignment problem):

    .. math::
        \max_\pi \sum_j |\cos(h_j, h^*_{\pi(j)})|, \qquad
        \mathrm{stability}_j = \text{mean of } |\cos(h_j, h^*_{\pi(j)})| \text{ over the refits}.

    If the codes are non-negative, a component and its negative are different, and the cosines are
    used without absolute values. A component that a refit loses has the cosine 0.

    Parameters
    ----------
    estimator : estimator with `components_`, or analysis of two views
        Factorisation, dictionary, decomposition, Boolean factorisation, or a pipeline that ends
        with one. With `Y`, `RegularizedCCA`, `SparseCCA`, `KernelCCA` or another estimator with
        ``fit(X, Y)`` and ``transform(X, Y)``. It is cloned and need not be fitted.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Table, in memory. NaN is allowed if the estimator accepts it.
    Y : array-like of shape (n_samples,) or (n_samples, n_targets), default=None
        Second view, with the same samples in the same order. The result then consists of loadings:
        correlations of the columns of both views, `X` first, with the scores of their view.
    n_bootstraps : int, default=200
        Number of refits, at least 2.
    confidence_level : float, default=0.95
        Fraction of the refits, by entry, that is between `low` and `high`.
    block_length : int or None, default=None
        Number of consecutive rows that are drawn together. None draws single rows, except for
        methods for time series (whose `fit` has `sequence_ids`): see Notes.
    refit_support : bool, default=False
        If True, the non-zero entries of codes and components are fitted again without the penalty,
        which removes its shrinkage but keeps its zeros. Available for `SparseNMF` and
        `FeatureSignDictionaryLearning`.
    keep_draws : bool, default=False
        Whether to return the components of all refits.
    n_jobs : int, default=None
        Number of refits in parallel with joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Generator or seed for the rows. It also seeds the parts of `estimator` whose `random_state`
        is None, alike for all refits, so that differences come from the rows.
    verbose : int, default=0
        If positive, report the number of refits done and an estimate of the time left, on standard
        error.

    Returns
    -------
    result : BootstrapComponents
        Named tuple with `components`, `low`, `high`, `stability`, `subspace_stability`,
        `inclusion`, `quantity`, `confidence_level`, `n_bootstraps`, `block_length`,
        `feature_names` and `draws`.

    Raises
    ------
    TypeError
        If the estimator has no components, or if X is a Dask array.
    ValueError
        If a parameter is out of range, if there are too few rows, or if the class has no refit on
        the support.

    See Also
    --------
    ComponentsDisplay : Plots the result.
    skmoderndata.cross_decomposition.CanonicalLoadingsDisplay : Plots loadings of two views.
    skmoderndata.model_selection.EntrySearchCV : Chooses the number of components.
    sklearn.utils.resample : Draws one bootstrap sample.

    Notes
    -----
    The bootstrap measures spread, not bias. `low` and `high` are quantiles of the refits: they are
    confidence intervals only for estimators without bias. See :doc:`/how_sure` for the estimators
    whose coverage was measured. A penalty shrinks the entries of all refits alike, and stable
    components can be far from the truth.

    All refits start from the settings of `estimator`, never from the fit of all rows. For
    non-convex methods, the spread therefore includes jumps to other local optima, which a warm
    start would hide.

    If two components have nearly equal singular values, they rotate within their plane from one
    refit to the next. Their `stability` is low but their `subspace_stability` is near 1, and a
    DoubtfulResultWarning names them: interpret the subspace instead of the single components.

    *Boolean components.* `components` are 0 and 1, and `inclusion` is the probability that a
    column (a right) belongs to a source (a role).

    *Series.* Rows that follow each other are not independent. Blocks of consecutive rows are drawn
    with replacement, and each block is one sequence, so that no step leaves it. The default length
    for n rows follows the rule for the mean of an autoregressive series [2]_, with the
    autocorrelation :math:`\rho` of the slowest output in the fit of all rows,

    .. math::
        \left\lceil \left(\frac{\sqrt 6\, \rho}{1 - \rho^2}\right)^{2/3} n^{1/3} \right\rceil,

    at most a fifth of the rows. Fits with several sequences are not supported.

    There are no sample weights: a bootstrap sample repeats rows instead, so every estimator can be
    used. The cost is `n_bootstraps` fits and one more.

    References
    ----------
    .. [1] Efron and Tibshirani, An Introduction to the Bootstrap, Chapman and Hall, 1993,
       chapter 13.
    .. [2] Carlstein, The use of subseries values for estimating the variance of a general
       statistic from a stationary sequence, Annals of Statistics 14(3), 1986, section 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.decomposition import PCA
    >>> from skmoderndata.inspection import bootstrap_components
    >>> X, _ = load_iris(return_X_y=True)
    >>> result = bootstrap_components(PCA(2), X, random_state=0)
    >>> result.stability.round(2)
    array([1., 1.])
    >>> result.components[0].round(2)
    array([ 0.36, -0.08,  0.86,  0.36])
    >>> result.low[0].round(2)
    array([ 0.33, -0.12,  0.85,  0.34])
    >>> result.high[0].round(2)
    array([ 0.39, -0.05,  0.86,  0.37])
    """
    check_bootstrap(n_bootstraps, confidence_level, level_name="confidence_level")
    names = _feature_names(estimator, X, Y)
    X = _table(X, "X")
    _check_estimator(estimator, X, Y, refit_support)
    rng = check_random_state(random_state)
    seeds = rng.randint(MAX_INT32, size=n_bootstraps)
    settings = {"owner": NAME, "n_jobs": n_jobs, "verbose": verbose}

    # 1. Fit all rows and the bootstrap samples, and match them.
    if Y is not None:
        quantity = "loadings"
        X, Y = _views(X, Y)
        length = _block_length(block_length, len(X))
        reference, refits = bootstrap_loadings(
            estimator, X, Y, seeds, block_length=length, **settings
        )
    else:
        template = Seeded(estimator).draw(rng)
        n = count_samples(X)
        model = _fit(template, X, None)
        length = _block_length(block_length, n, last_step(model), model, X)
        reference = _components(model, X, refit_support)
        quantity = "memberships" if reference.dtype == bool else "components"
        reference = _scaled(reference)
        refit = partial(_refit, template, X, reference, _sign_is_free(model, X), refit_support)
        refits = bootstrap(refit, n, seeds, block_length=length, **settings)

    # 2. Summarise the refits.
    draws, cosines, spans = (np.array(part) for part in zip(*refits, strict=True))
    low = high = None
    if quantity != "memberships":
        # use the same quantiles for loadings as CanonicalLoadingsDisplay
        method = "linear" if quantity == "loadings" else "weibull"
        low, high = quantiles(draws, confidence_level, method=method)
    result = BootstrapComponents(
        components=reference,
        low=low,
        high=high,
        stability=cosines.mean(axis=0),
        subspace_stability=spans.mean(axis=0),
        inclusion=np.mean(np.nan_to_num(draws) != 0, axis=0),
        quantity=quantity,
        confidence_level=confidence_level,
        n_bootstraps=n_bootstraps,
        block_length=length,
        feature_names=names,
        draws=draws if keep_draws else None,
    )
    _warn_rotating(result)
    return result


def _refit(template, X, reference, free_sign, refit_support, rows, blocks):
    """Fit a bootstrap sample and match its components."""
    sample = _take(X, rows)
    model = _fit(template, sample, blocks)
    free_sign = free_sign or _sign_is_free(model, sample)
    found = _scaled(_components(model, sample, refit_support))
    return matched(reference, found, free_sign=free_sign)


def _fit(template, X, blocks):
    """Fit a clone; for methods that use the order of the rows, each block is one sequence."""
    model = clone(template)
    if blocks is not None and has_fit_parameter(model, "sequence_ids"):
        return model.fit(X, sequence_ids=blocks)
    return model.fit(X)


def _components(model, X, refit_support):
    """Return the components of a fitted model, perhaps refitted."""
    components = _raw_components(model)
    return _on_support(model, X, components) if refit_support else components


def _raw_components(model):
    """Return the components of a fitted model as a dense array."""
    last = last_step(model)
    components = getattr(last, "components_", None)
    if components is None or np.ndim(components) != 2:
        raise TypeError(
            f"{NAME} needs an estimator with a table `components_` after fit, but "
            f"{type(last).__name__} has none: pass a factorisation such as SparseNMF, RobustPCA "
            "or PCA. Analyses of two views need Y."
        )
    return _dense(components)


def _on_support(model, X, components):
    """Fit codes and components again without a penalty, with their zeros fixed."""
    # compute the codes of the rows as the last step receives them
    last = last_step(model)
    if last is not model:
        X = model[:-1].transform(X)
    X = _dense(X).astype(np.float64)
    codes = getattr(last, "codes_", None)
    codes = _dense(last.transform(X) if codes is None else codes).astype(np.float64)

    nmf = _is_a(last, "SparseNMF")
    refitted = refit_on_support(
        X,
        codes,
        components.astype(np.float64),
        positive_codes=nmf or last.positive_code,
        positive_components=nmf or last.positive_dict,
    )
    if not refitted.converged:
        warnings.warn(
            f"refit_support: the refit without the penalty stopped after {refitted.n_iter} passes "
            "before it converged.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return refitted.components


def _scaled(components):
    """Scale components to unit norm; Boolean components become 0 and 1."""
    return components.astype(float) if components.dtype == bool else unit_rows(components)


def _sign_is_free(model, X):
    """Whether components may change their signs: not if they have both signs and no code has."""
    components = _raw_components(model)
    if (components >= 0).all() or not hasattr(model, "transform"):
        return True
    codes = model.transform(X)
    values = codes.data if sparse.issparse(codes) else np.asarray(codes, dtype=float)
    return bool(values.size == 0 or np.nanmin(values) < 0)


# ---- blocks of a series -----------------------------------------------------------------------


def _block_length(block_length, n_rows, last=None, model=None, X=None):
    """Check the length of the blocks; by default, compute it for methods for time series."""
    in_time = last is not None and has_fit_parameter(last, "sequence_ids")
    shortest = 1 + getattr(last, "lag", 1) if in_time else 1
    longest = n_rows // LEAST_BLOCKS
    if block_length is None:
        return _length_of_series(model.transform(X), shortest) if in_time else 1
    if not isinstance(block_length, Integral) or not shortest <= block_length <= longest:
        raise ValueError(
            f"block_length={block_length!r} should be an integer between {shortest} and "
            f"{longest}, so that {n_rows} rows have at least {LEAST_BLOCKS} blocks"
            f"{' of several rows' if in_time else ''}; None uses the default."
        )
    return int(block_length)


def _length_of_series(outputs, shortest):
    """Compute the length of blocks from the autocorrelation of the slowest output [Carlstein]."""
    y = np.asarray(outputs, dtype=float)[:, 0]
    y = y[np.isfinite(y)]
    y = y - y.mean()
    rho = np.clip(y[1:] @ y[:-1] / (y @ y), 0.0, 1 - 1 / len(y)) if y.any() else 0.0
    length = np.ceil((np.sqrt(6) * rho / (1 - rho**2)) ** (2 / 3) * len(y) ** (1 / 3))
    return int(max(shortest, min(length, LONGEST_BLOCK * len(y))))


# ---- input and checks -------------------------------------------------------------------------


def _table(X, name):
    """Return a table whose rows can be selected, and check the number of rows."""
    # Rows are selected in memory.
    if in_blocks(X, on_disk=False):
        raise TypeError(
            f"{NAME} draws rows in memory, but {name} is a Dask collection: pass {name}.compute()."
        )
    if sparse.issparse(X):
        X = X.tocsr()
    elif not hasattr(X, "shape"):
        X = np.asarray(X)

    # Check the number of dimensions and the number of rows.
    if X.ndim != 2:
        raise ValueError(f"{NAME}: {name} should have two dimensions, got shape {X.shape}.")
    if X.shape[0] < LEAST_ROWS:
        raise ValueError(
            f"{NAME}: {name} has {X.shape[0]} rows, but bootstrap samples need at least "
            f"{LEAST_ROWS}."
        )
    return X


def _views(X, Y):
    """Convert both views to tables of finite numbers and check that they have the same rows."""
    Y = np.reshape(Y, (-1, 1)) if np.ndim(Y) == 1 else Y
    X, Y = (
        check_array(_table(view, name), dtype=np.float64, input_name=name)
        for view, name in ((X, "X"), (Y, "Y"))
    )
    if len(X) != len(Y):
        raise ValueError(
            f"{NAME}: the views have {len(X)} and {len(Y)} rows; pass the same samples in the "
            "same order in both."
        )
    return X, Y


def _take(X, rows):
    """Select rows of an array, a sparse matrix or a data frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def _feature_names(estimator, X, Y):
    """Return the names of the columns that the components refer to, or None."""
    names = names_of(X, "columns")
    if Y is None:
        # earlier steps of a pipeline may change the columns
        return names if last_step(estimator) is estimator else None
    second = names_of(Y, "columns") or [str(getattr(Y, "name", None) or "Y")]
    n_second = 1 if np.ndim(Y) == 1 else np.shape(Y)[1]
    return None if names is None or len(second) != n_second else names + second


def _is_a(estimator, *class_names):
    return any(base.__name__ in class_names for base in type(estimator).__mro__)


def _check_estimator(estimator, X, Y, refit_support):
    """Raise an error if the estimator cannot be refitted as requested."""
    # Check the type of the estimator.
    last: Any = last_step(estimator)
    if isinstance(last, type) or not hasattr(last, "fit"):
        raise TypeError(f"{NAME} needs an instance of an estimator, got {estimator!r}.")
    if Y is not None and not hasattr(last, "transform"):
        raise TypeError(
            f"{NAME} uses Y for analyses of two views with transform(X, Y), such as "
            f"RegularizedCCA; {type(last).__name__} has no transform: set Y=None."
        )

    if last is not estimator and has_fit_parameter(last, "sequence_ids"):
        raise ValueError(
            f"{NAME} cannot pass the blocks of rows through a pipeline to {type(last).__name__}: "
            "transform X with the earlier steps, and pass the last step alone."
        )

    # Check whether the factors can be fitted again without a penalty.
    if not refit_support:
        return
    if Y is not None or not _is_a(last, "SparseNMF", "FeatureSignDictionaryLearning"):
        raise ValueError(
            "refit_support=True is available for SparseNMF and FeatureSignDictionaryLearning, "
            f"whose penalty shrinks their factors, but not for {type(last).__name__}: set "
            "refit_support=False."
        )
    values = X.data if sparse.issparse(X) else np.asarray(X, dtype=float)
    if not np.isfinite(values).all():
        raise ValueError(
            "refit_support=True needs a table without missing entries: impute them, or set "
            "refit_support=False."
        )


def _warn_rotating(result):
    """Warn of components that are unstable within a stable subspace."""
    k, p = result.components.shape
    unstable = 1 - result.stability
    inside = 1 - result.subspace_stability <= SUBSPACE_FRACTION * unstable
    rotating = (result.stability < ROTATES) & inside
    # a single vector cannot rotate, and as many vectors as entries span the whole space
    if k == 1 or k >= p or not rotating.any():
        return
    which = ", ".join(map(str, np.flatnonzero(rotating)))
    warnings.warn(
        f"{NAME}: components {which} rotate within the subspace of all components from one refit "
        f"to the next (stability {result.stability[rotating].min():.2f}, stability of the "
        f"subspace {result.subspace_stability[rotating].min():.2f}): interpret the subspace "
        "instead of the single components.",
        DoubtfulResultWarning,
        stacklevel=3,
    )

"""Parameter search with hidden entries of the table."""

import traceback
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from skmoderndata._estimator.base import Base, FitProgress
from skmoderndata._estimator.compat import (
    N_JOBS,
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.refits import Seeded, TimeLeft
from skmoderndata._estimator.validation import check_array
from skmoderndata._solvers.common.quantities import MAX_INT32
from skmoderndata.exceptions import DoubtfulResultWarning
from skmoderndata.model_selection._base import (
    BestEstimatorMixin,
    best_has,
    warn_end_of_grid,
)

# Parameters that set the size of a model; the rule prefers small models.
SIZES = ("n_components", "n_clusters", "n_nonzero_coefs", "max_rank")
WORKING = (
    "SparseNMF, SemiNMF, RobustPCA, NuclearNormImputer, KSVD, SparseCoder, "
    "FeatureSignDictionaryLearning, MultiAssignmentClustering, DiscreteBasis, an imputer of "
    "scikit-learn, or a pipeline such as make_pipeline(SimpleImputer(), PCA())"
)
# Minimum count, so that its logarithm can be computed.
TINY = np.finfo(float).tiny
# Minimum error of a fold that counts as an explosion, as a multiple of the median over the folds
# of a candidate.
EXPLODED = 100.0
# Minimum predicted probability; without it, a single hidden entry could decide a likelihood.
LOWEST_PROBABILITY = 1e-6


class EntrySearchCV(CallbackSupportMixin, BestEstimatorMixin, MetaEstimatorMixin, Base):
    r"""Choose the number of components, and other parameters, with hidden entries.

    The known entries of X are divided into folds at random. For each fold and each candidate, the
    entries of the fold are hidden as NaN, the estimator is fitted to the remaining entries, and
    its reconstruction is compared with the hidden entries:

    .. math::
        \mathrm{score} = - \frac{1}{K} \sum_{k=1}^K
        \frac{\sum_{(i,j) \in \mathrm{fold}\ k} w_{ij}\, \ell(x_{ij}, \hat x_{ij})}
        {\sum_{(i,j) \in \mathrm{fold}\ k} w_{ij}}.

    Held-out rows cannot decide the number of components: they are coded again, and more components
    code them better. A component that fits noise, however, does not predict an entry that it has
    not seen [1]_, [2]_.

    Parameters
    ----------
    estimator : transformer or Pipeline
        Estimator that accepts NaN as unknown entries and has `inverse_transform`; or an imputer.
        In a pipeline, scalers may precede it, and an imputer may precede an estimator that rejects
        NaN.

    param_grid : dict or list of dicts
        Values of the parameters to compare, in the format of `GridSearchCV`.

    cv : int or iterable of Boolean arrays of X's shape, default=5
        Number of folds of entries; or, for each fold, a mask of the entries to hide.

    scoring : str or callable, default=None
        Score of hidden entries: "neg_mean_squared_error", "neg_mean_absolute_error",
        "boolean_error" (minus the fraction of entries on the wrong side of 1/2), "neg_log_loss"
        (of probabilities for entries of 0 and 1), "neg_kl" (Kullback-Leibler divergence of counts,
        per entry); or a function ``f(true, expected, weight)`` that is larger for better
        predictions. None uses the score that suits the estimator: absolute errors for `RobustPCA`,
        whose data contain gross errors, Boolean errors for Boolean factorisations, and squared
        errors for all others.

    refit : bool, default=True
        Whether to fit the best candidate to all known entries.

    rule : {"one_standard_error", "best"}, default="one_standard_error"
        Rule that selects a candidate. "one_standard_error" selects, from the candidates whose mean
        score is within one standard error of the best, the candidate with the smallest number of
        components, clusters or non-zeros; among equals, the first in the order of the grid. "best"
        selects the best mean.

    n_jobs : int, default=None
        Number of folds processed in parallel with joblib.

    random_state : int, RandomState instance or None, default=None
        Generator or seed for the folds. It also seeds the parts of `estimator` whose
        `random_state` is None, alike for all candidates, so that differences come from the
        parameters.

    verbose : int, default=0
        If positive, report the number of candidates done and an estimate of the time left, on
        standard error.

    Attributes
    ----------
    best_params_ : dict
        Parameters of the selected candidate.

    best_index_ : int
        Row of the selected candidate in `cv_results_`.

    best_score_ : float
        Mean score of the selected candidate.

    best_estimator_ : estimator
        Estimator fitted to all known entries, if `refit`.

    cv_results_ : dict of arrays
        Columns "params", "param_NAME", "split0_test_score" and so on, "mean_test_score",
        "std_test_score", "standard_error" and "rank_test_score", with one entry for each
        candidate.

    n_splits_ : int
        Number of folds.

    scoring_ : str or callable
        Score that was used.

    n_features_in_ : int
        Number of features.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if `best_estimator_` has this attribute.

    See Also
    --------
    EntrySearchDisplay : Plots the curve.
    skmoderndata.metrics.optimal_rank : Computes the rank of a complete table with equal noise,
        without refits.
    ClusteringStability : Chooses the number of clusters.
    sklearn.model_selection.GridSearchCV : Holds out rows, which suits parameters of predictors.

    Notes
    -----
    No row and no column is hidden completely: if a fold would hide all known entries of a row or
    column, one of them, selected at random, stays known in every fold and is never scored. The
    only known entry of a row or column is never hidden.

    The standard error refers to the mean over folds and is computed from their standard deviation.
    Folds share the entries that they are fitted to, so it is a yardstick rather than an error bar.
    If a fold of a candidate has an error of more than 100 times the median over its folds, and
    more than the error of predicting the mean of the table, `fit` issues a DoubtfulResultWarning
    and does not use the standard error of this candidate.

    If the selected number of components, clusters or non-zeros is the largest or smallest of three
    or more in `param_grid`, `fit` issues a DoubtfulResultWarning, unless it is 1 or at least the
    smaller side of X.

    A candidate that cannot be fitted scores NaN, with a warning; if no candidate can be fitted,
    `fit` raises ValueError. The cost is one fit for each candidate and fold, and one more.
    Progress is reported after each candidate; a callback that stops the search skips the remaining
    candidates.

    If fits of the search end before they converge, there is a single warning with their number
    instead of one for each; the refit issues its own warning.

    References
    ----------
    .. [1] S. Wold, "Cross-validatory estimation of the number of components in factor and
       principal components models", Technometrics 20(4), 1978, pp. 397-405.
    .. [2] A. B. Owen and P. O. Perry, "Bi-cross-validation of the SVD and the nonnegative matrix
       factorization", Annals of Applied Statistics 3(2), 2009, pp. 564-594.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.decomposition import SemiNMF
    >>> from skmoderndata.model_selection import EntrySearchCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.gamma(1, size=(100, 3)) @ rng.normal(size=(3, 20))
    >>> X += 0.3 * rng.normal(size=X.shape)
    >>> search = EntrySearchCV(SemiNMF(), {"n_components": [1, 2, 3, 4, 5]}, random_state=0)
    >>> search.fit(X).best_params_
    {'n_components': 3}
    >>> search.transform(X).shape
    (100, 3)
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "set_params"])],
        "param_grid": [dict, list],
        "cv": [
            Interval(Integral, 2, None, closed="left"),
            "array-like",
            HasMethods("__iter__"),
        ],
        "scoring": [
            StrOptions(
                {
                    "neg_mean_squared_error",
                    "neg_mean_absolute_error",
                    "boolean_error",
                    "neg_log_loss",
                    "neg_kl",
                }
            ),
            callable,
            None,
        ],
        "refit": ["boolean"],
        "rule": [StrOptions({"one_standard_error", "best"})],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    @parameters_are_named
    def __init__(
        self,
        estimator,
        param_grid,
        *,
        cv=5,
        scoring=None,
        refit=True,
        rule="one_standard_error",
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.rule = rule
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # The estimator checks its own parameters when it is fitted.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, *, entry_weight=None, **params):
        """Compare the candidates on hidden entries and fit the best candidate to all entries.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Table; NaN marks unknown entries.
        y : None
            Not used, present by convention.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Weights of the entries, in the fit and in the score; 0 means unknown.
        **params : dict
            Further arguments of the `fit` of the estimator, such as `sample_weight`.

        Returns
        -------
        self : EntrySearchCV
            The fitted search.
        """
        candidates = list(ParameterGrid(self.param_grid))
        self._check_estimator(entry_weight)
        table, weight = self._check_table(X, entry_weight)
        params = self._fit_params(params)

        # Use the same folds and seeds for every candidate.
        rng = check_random_state(self.random_state)
        known = ~np.isnan(table) & (weight > 0)
        folds = self._folds(known, rng)
        fit_seed = rng.randint(MAX_INT32)
        self.scoring_ = self._scoring()
        score = SCORES.get(self.scoring_, self.scoring_)

        measured = []
        failures = []
        progress = FitProgress(self, X, y, max_passes=len(candidates), task_name="candidate")
        time_left = TimeLeft("EntrySearchCV", len(candidates), verbose=self.verbose)
        one_fold = delayed(_one_fold)
        with _early_ends_counted(), progress, Parallel(n_jobs=self.n_jobs) as parallel:
            for values in candidates:
                progress.begin()
                seeded = Seeded(self.estimator, **values)
                outcomes = parallel(
                    one_fold(
                        seeded.draw(check_random_state(fit_seed)),
                        _hidden(X, table, fold | ~known),
                        table,
                        weight,
                        fold,
                        score,
                        _with_weight(params, self.estimator, entry_weight, weight),
                    )
                    for fold in folds
                )
                measured.append(_scores(outcomes, values, failures))
                time_left.report()

                if progress.end():
                    break

        if len(failures) == len(measured):
            first = failures[0]
            raise ValueError(
                "None of the candidates in param_grid can be fitted. The first, "
                f"{candidates[0]}, fails with {type(first).__name__}: {first}"
            ) from first
        self._keep(
            candidates[: len(measured)],
            np.array(measured, dtype=float),
            partial(_trivial_scores, table, weight, known, folds, score),
        )
        _warn_ends_of_grid(self.best_params_, candidates, highest=min(table.shape))
        if self.refit:
            best = Seeded(self.estimator, **self.best_params_).draw(
                check_random_state(fit_seed)
            )
            params = _with_weight(params, self.estimator, entry_weight, weight)
            self._keep_best(best.fit(_hidden(X, table, ~known), **params))
        else:
            self.n_features_in_ = table.shape[1]
        return self

    def _keep(self, candidates, scores, trivial):
        self.n_splits_ = scores.shape[1]
        self.cv_results_ = _results(candidates, scores)
        mean = self.cv_results_["mean_test_score"]
        margin = self.cv_results_["standard_error"] if self.rule != "best" else 0 * mean

        # No single fold may determine how much worse a smaller model may be.
        exploded = _exploded(scores, trivial)
        margin = np.where(exploded, 0.0, margin)
        _warn_of_explosions(candidates, scores, exploded)

        self.best_index_ = _choose(candidates, mean, margin)
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(mean[self.best_index_])

    def _unfitted(self):
        return self.estimator

    def _inner(self):
        if hasattr(self, "best_params_") and not hasattr(self, "best_estimator_"):
            raise AttributeError("no estimator was fitted to all entries: set refit=True")
        return super()._inner()

    def _steps(self):
        """Return the steps of a pipeline, or the estimator alone."""
        steps = getattr(self.estimator, "steps", [(None, self.estimator)])
        return [step for _, step in steps if step is not None and step != "passthrough"]

    def _scoring(self):
        if self.scoring is not None:
            return self.scoring
        return getattr(self._steps()[-1], "_ENTRY_SCORE", "neg_mean_squared_error")

    def _check_estimator(self, entry_weight):
        """Reject estimators that cannot predict hidden entries."""
        # A step receives the gaps unless an imputer comes before it.
        for step in self._steps():
            if _is_imputer(step):
                break
            if not get_tags(step).input_tags.allow_nan:
                raise ValueError(
                    f"{type(step).__name__} rejects NaN, but entries are hidden as NaN: put an "
                    f"imputer before it in a pipeline, or use {WORKING}."
                )

        for step in self._steps():
            if not (_is_imputer(step) or hasattr(step, "inverse_transform")):
                raise ValueError(
                    f"{type(step).__name__} has no inverse_transform, which is needed to predict "
                    f"the hidden entries: use {WORKING}."
                )

        last = self._steps()[-1]
        if hasattr(last, "_NO_ENTRIES"):
            raise ValueError(
                f"The inverse_transform of {type(last).__name__} returns {last._NO_ENTRIES}: use "
                f"{WORKING}."
            )
        if entry_weight is not None and not has_fit_parameter(last, "entry_weight"):
            raise ValueError(
                f"The fit of {type(last).__name__} does not accept entry_weight: omit it, or set "
                "entries that should not count to NaN."
            )

    def _check_table(self, X, entry_weight):
        """Return the entries in their own precision, which the fits then use, and the weights."""
        if sparse.issparse(X):
            raise ValueError(
                "EntrySearchCV hides entries as NaN, which sparse matrices cannot distinguish "
                "from zeros: pass X.toarray()."
            )

        # Check the table; entries that are already missing may stay missing.
        table = check_array(
            X,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            estimator=self,
            ensure_min_features=2,
        )
        if entry_weight is None:
            return table, np.ones(table.shape)

        # Check the weights, one for each entry.
        weight = check_array(
            entry_weight, dtype=float, input_name="entry_weight", estimator=self
        )
        if weight.shape != table.shape or weight.min() < 0:
            raise ValueError(
                "entry_weight must contain numbers of at least 0 in the shape of X, "
                f"{table.shape}: got shape {weight.shape} and the smallest weight "
                f"{weight.min():.3g}."
            )
        return table, weight

    def _fit_params(self, params):
        """Return the arguments of the estimator's fit, routed if routing is enabled."""
        if not (params and get_config()["enable_metadata_routing"]):
            return params
        return dict(process_routing(self, "fit", **params).estimator.fit)

    def _folds(self, known, rng):
        """Return a mask of the entries to hide for each fold."""
        if isinstance(self.cv, Integral):
            fold = entry_folds(known, self.cv, rng)
            folds = [fold == k for k in range(self.cv)]
        else:
            masks = [np.asarray(mask, dtype=bool) for mask in self.cv]
            if any(mask.shape != known.shape for mask in masks):
                raise ValueError(
                    f"cv must contain Boolean arrays of X's shape, {known.shape}."
                )
            folds = [mask & known for mask in masks]

        sizes = [int(fold.sum()) for fold in folds]
        if not sizes or min(sizes) == 0:
            raise ValueError(
                f"There are too few known entries: {int(known.sum())} for {len(folds)} folds that "
                "leave one in each row and column. Use fewer folds, or omit rows and "
                "columns with few known entries."
            )
        return folds

    @available_if(best_has("inverse_transform"))
    @by_rows
    def inverse_transform(self, X):
        """Reconstruct samples from their codes with `best_estimator_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Codes.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Reconstructed samples.
        """
        check_is_fitted(self)
        return self.best_estimator_.inverse_transform(X)

    @available_if(best_has("score"))
    @in_memory
    def score(self, X, y=None):
        """Compute the score of `best_estimator_` on other rows.

        This score cannot compare numbers of components, because each model codes the rows again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : None
            Not used, present by convention.

        Returns
        -------
        score : float
            Score; higher is better.
        """
        check_is_fitted(self)
        return self.best_estimator_.score(X)

    def get_metadata_routing(self):
        """Return the further arguments of `fit` that are passed to the estimator.

        Returns
        -------
        routing : MetadataRouter
            Routing in scikit-learn's format.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.input_tags.sparse = False
        tags.transformer_tags = inner.transformer_tags
        return tags


def entry_folds(known, n_folds, rng):
    """Divide the known entries into random folds that hide no row or column completely.

    Parameters
    ----------
    known : ndarray of bool of shape (n_samples, n_features)
        Mask of the known entries.
    n_folds : int
        Number of folds, of equal sizes up to the entries that always stay known.
    rng : RandomState
        Generator of the folds.

    Returns
    -------
    fold : ndarray of int of shape (n_samples, n_features)
        Number of the fold of each entry; -1 for entries that are unknown or never hidden.
    """
    fold = np.full(known.shape, -1)
    n_known = int(known.sum())
    fold[known] = rng.permutation(np.arange(n_known) % n_folds)

    # If a fold contains all known entries of a row or column, leave a random one of them visible.
    priority = np.where(known, rng.random_sample(known.shape), -1.0)
    for axis in (1, 0):
        lowest = np.where(known, fold, n_folds).min(axis=axis)
        highest = fold.max(axis=axis)
        lines = np.flatnonzero((lowest == highest) & (highest >= 0))
        staying = priority.argmax(axis=axis)[lines]
        where = (lines, staying) if axis == 1 else (staying, lines)
        fold[where] = -1
    return fold


def squared_error(true, expected, weight):
    """Compute minus the mean squared error."""
    return -np.average((true - expected) ** 2, weights=weight)


def absolute_error(true, expected, weight):
    """Compute minus the mean absolute error."""
    return -np.average(np.abs(true - expected), weights=weight)


def boolean_error(true, expected, weight):
    """Compute minus the fraction of entries on the wrong side of one half."""
    return -np.average((true > 0.5) != (expected > 0.5), weights=weight)


def log_loss(true, expected, weight):
    """Compute the mean log-likelihood of entries of 0 and 1, given their probabilities."""
    p = np.clip(expected, LOWEST_PROBABILITY, 1 - LOWEST_PROBABILITY)
    return np.average(np.where(true > 0.5, np.log(p), np.log1p(-p)), weights=weight)


def kullback_leibler(true, expected, weight):
    """Compute minus the mean divergence of counts, ``x log(x / e) - x + e``."""
    if true.min() < 0:
        raise ValueError("neg_kl compares counts, but X has negative entries: use squares.")
    expected = np.maximum(expected, LOWEST_PROBABILITY)
    ratio = np.log(np.maximum(true, TINY) / expected)
    return -np.average(np.where(true > 0, true * ratio, 0.0) - true + expected, weights=weight)


SCORES: dict[str, Callable] = {
    "neg_mean_squared_error": squared_error,
    "neg_mean_absolute_error": absolute_error,
    "boolean_error": boolean_error,
    "neg_log_loss": log_loss,
    "neg_kl": kullback_leibler,
}


def _is_imputer(step):
    """Whether a step fills gaps and keeps known entries, so that it needs no inverse."""
    return "impute" in type(step).__module__.split(".")


def _hidden(X, table, gaps):
    """Replace the gaps of X with NaN; a data frame stays a data frame."""
    if hasattr(X, "iloc"):
        return X.astype(table.dtype).mask(gaps)
    return np.where(gaps, table.dtype.type(np.nan), table)


def _with_weight(params, estimator, entry_weight, weight):
    """Return the arguments of the fit, with the weights of the entries if there are any."""
    if entry_weight is None:
        return params
    steps = getattr(estimator, "steps", None)
    name = "entry_weight" if steps is None else f"{steps[-1][0]}__entry_weight"
    return params | {name: weight}


def reconstruction(estimator, X, **params):
    """Fit an estimator or pipeline to a table with gaps; return its reconstruction."""
    table = estimator.fit_transform(X, **params)
    steps = getattr(estimator, "steps", [(None, estimator)])
    for _, step in reversed(steps):
        if step is None or step == "passthrough" or _is_imputer(step):
            continue
        table = step.inverse_transform(table)
    return np.asarray(table, dtype=float)


def _one_fold(estimator, X, table, weight, fold, score, params):
    """Score a candidate on a fold; if the fit fails, return the error and its traceback."""
    try:
        expected = reconstruction(estimator, X, **params)
    except Exception as error:
        return error.with_traceback(None), traceback.format_exc()

    if expected.shape != table.shape:
        raise ValueError(
            f"{type(estimator).__name__} reconstructs a table of shape {expected.shape}, but X "
            f"has shape {table.shape}: dropped or added columns cannot be compared."
        )
    if np.isnan(expected[fold]).any():
        raise ValueError(
            f"{type(estimator).__name__} leaves NaN in place of hidden entries, so they cannot be "
            f"scored: use {WORKING}."
        )
    true = table[fold].astype(float)
    return float(score(true, expected[fold], weight[fold]))


@contextmanager
def _early_ends_counted():
    """Replace warnings of fits that end before they converge with one; pass on the others."""
    caught = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            yield
    finally:
        early = []
        for warning in caught:
            if issubclass(warning.category, DoubtfulResultWarning):
                continue  # the hidden entries are used to judge these fits
            if issubclass(warning.category, ConvergenceWarning):
                early.append(warning)
            else:
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )

        if early:
            warnings.warn(
                f"{len(early)} warnings that fits ended before they converged, which may blur "
                f"the comparison. The first is: {early[0].message}",
                ConvergenceWarning,
                stacklevel=4,
            )


def _scores(outcomes, values, failures):
    """Return the scores of a candidate on the folds; all NaN, with a warning, if a fit failed.

    The first error is added to `failures`.
    """
    errors = [outcome for outcome in outcomes if isinstance(outcome, tuple)]
    if not errors:
        return outcomes
    error, details = errors[0]
    failures.append(error)
    warnings.warn(
        f"EntrySearchCV cannot fit {values}: {type(error).__name__}: {error}\n{details}",
        FitFailedWarning,
        stacklevel=4,
    )
    return [np.nan] * len(outcomes)


def _results(candidates, scores):
    """Arrange the measurements of the search in columns."""
    n_splits = scores.shape[1]
    mean = scores.mean(axis=1)
    if np.isnan(mean).all():
        raise ValueError("All candidates scored NaN; check what `scoring` returns.")
    deviation = scores.std(axis=1, ddof=1) if n_splits > 1 else np.zeros_like(mean)
    worst_last = np.where(np.isnan(mean), -np.inf, mean)
    rank = 1 + (worst_last[None, :] > worst_last[:, None]).sum(axis=1)
    names = sorted({name for values in candidates for name in values})
    return {
        "params": candidates,
        **{f"param_{name}": _column(candidates, name) for name in names},
        **{f"split{k}_test_score": scores[:, k] for k in range(n_splits)},
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "standard_error": deviation / np.sqrt(n_splits),
        "rank_test_score": rank.astype(np.int32),
    }


def _column(candidates, name):
    """Return the values of a parameter, masked for candidates without it."""
    column = np.ma.masked_all(len(candidates), dtype=object)
    for index, values in enumerate(candidates):
        if name in values:
            column[index] = values[name]
    return column


def _trivial_scores(table, weight, known, folds, score):
    """Score, on each fold, the prediction of the mean of the entries that are not hidden."""
    scores = []
    for fold in folds:
        shown = known & ~fold
        mean = np.average(table[shown], weights=weight[shown]) if shown.any() else 0.0
        scores.append(float(score(table[fold], np.full(int(fold.sum()), mean), weight[fold])))
    return np.array(scores)


def _exploded(scores, trivial):
    """Mark candidates with a fold far worse than other folds and than the mean of the table."""
    typical = np.median(np.abs(scores), axis=1, keepdims=True)
    far_worse = np.abs(scores) > EXPLODED * typical
    if not far_worse.any():
        return np.zeros(len(scores), dtype=bool)
    return (far_worse & (scores < trivial())).any(axis=1)


def _warn_of_explosions(candidates, scores, exploded):
    """Warn of candidates whose mean score depends on a single fold."""
    if not exploded.any():
        return

    # Issue a single warning, which names the first candidate whose mean depends on a single fold.
    first = int(np.flatnonzero(exploded)[0])
    folds = scores[first]
    warnings.warn(
        f"EntrySearchCV: for {int(exploded.sum())} of {len(candidates)} candidates, the error of "
        f"a fold is more than {EXPLODED:g} times the median over the folds and worse than "
        f"predicting the mean of the table. The first, {candidates[first]}, scores "
        f"{folds.min():.3g}, and {np.median(folds):.3g} in the median fold: hidden entries grow "
        "without bound. Give the estimator a penalty or ridge, or fewer components.",
        DoubtfulResultWarning,
        stacklevel=4,
    )


def _choose(candidates, mean, margin):
    """Find the smallest candidate within the margin of the best; the first if there are ties."""
    best = int(np.nanargmax(mean))
    within = np.flatnonzero(mean >= mean[best] - margin[best])
    return int(min(within, key=lambda index: (_size(candidates[index]), index)))


def _size(values):
    """Return numbers of components, clusters and non-zeros of a candidate, compared in order."""
    sizes = {name.rpartition("__")[2]: value for name, value in values.items()}
    return tuple(np.inf if sizes.get(name) is None else sizes[name] for name in SIZES)


def _warn_ends_of_grid(best, candidates, *, highest):
    """Warn if a selected size is the smallest or largest of all candidates."""
    for name, value in best.items():
        values = [values[name] for values in candidates if name in values]
        is_size = name.rpartition("__")[2] in SIZES
        if is_size and all(isinstance(one, Integral) for one in values):
            warn_end_of_grid(
                "EntrySearchCV",
                name,
                value,
                values,
                grid="param_grid",
                lowest=1,
                highest=highest,
            )

"""Slow feature analysis."""

from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, LazySolution, warn_fewer
from skmoderndata._estimator.blocks_input import blocks_of, in_blocks
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    POSITIVE,
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    all_or_nothing,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.doubt import EVIDENCE, record_doubt
from skmoderndata._estimator.export import in_pipeline
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import FLOATS, validate_data
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.series.expansion import LinearOutputs, PolynomialExpansion
from skmoderndata._solvers.series.quadratic_form import quadratic_form
from skmoderndata._solvers.series.slow_features import (
    SlowMoments,
    default_chunk_rows,
    polish_directions,
    slow_directions,
)
from skmoderndata.decomposition._slow_base import (
    CONSTANT,
    RANGE,
    TIMES,
    CallableExpansion,
    aligned_rows,
    check_pre_pca,
    check_rows,
    check_states_add_up,
    exact_mean,
    exported_steps,
    is_frozen,
    mean_slowness,
    moments_of_block,
    whiten_moments,
)

# Maximum number of rows of a table in blocks that are read before the first pass, in order to find
# the number of expanded features and the origin of the rows.
ROWS_SEEN = 1000


class SlowFeatureAnalysis(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, LazySolution, Base
):
    r"""Learn functions of the input that vary as slowly as possible from row to row.

    The rows of `X` are in temporal order. With an expansion :math:`f` of a row (the row itself,
    all monomials up to `degree`, or any `expansion`) and outputs
    :math:`y_j(t) = w_j^\top (f(x_t) - m)`, slow feature analysis [1]_ solves, successively for
    each j,

    .. math::

        \min_{w_j} \; \Delta_j = \langle (y_j(t + \tau) - y_j(t))^2 \rangle
        \quad \text{subject to} \quad
        \langle y_j \rangle = 0, \; \langle y_j^2 \rangle = 1, \;
        \langle y_i y_j \rangle = 0 \; (i < j).

    Averages of outputs are over all rows, averages of steps over the valid steps, whose ends
    belong to the same sequence. The directions solve the generalised eigenproblem
    :math:`A w = \Delta C w` with the covariance C of the expanded rows and the second moment A
    of their steps (not centred).

    Parameters
    ----------
    n_components : int or None, default=None
        Number of slow features, reduced to `rank_` with a warning if it is larger; None means
        `rank_`.

    degree : {1, 2, 3}, default=1
        Degree of the polynomial expansion, which consists of all monomials up to this degree: 1
        for linear, 2 for quadratic slow feature analysis.

    expansion : transformer, callable or None, default=None
        Any other expansion, used instead of `degree`. A transformer is cloned and fitted; a
        callable maps an array of shape (n, n_features) to an array of shape (n, n_expanded). The
        expansion must map each row independently and deterministically.

    include_bias : bool, default=False
        Whether to include a constant among the monomials, to match the columns of
        :class:`~sklearn.preprocessing.PolynomialFeatures`. Its weight is always 0.

    lag : int, default=1
        Number of rows between the two ends of a step. If every cell has noise, use a number of
        rows in which the faster causes change and the slow one does not; with 1 the first
        components are strong causes instead of slow ones.

    pre_pca : int, float or None, default=None
        Number of principal components, scaled to unit variance, to which the input is projected
        before the expansion; or the fraction of the variance that they explain. The projection
        must be known before the expansion, so `partial_fit` and `merge` require None.

    rank_tol : float or None, default=None
        Directions whose variance is below `rank_tol` times the largest are omitted, after scaling
        features to unit variance. None means ``10 * n_expanded * eps``, the rounding errors of
        the covariance. Directions below the rounding errors of `X` are always omitted; with None
        a warning says so.

    solver : {"auto", "eigh", "cholesky"}, default="auto"
        "eigh" whitens with an eigendecomposition and is safe for linearly dependent features;
        "cholesky" is faster if few components are requested, but raises an error for such
        features. "auto" uses "cholesky" when at most a quarter of the components is requested and
        an estimate of the condition number allows it.

    batch_size : int or None, default=None
        Number of rows that are expanded together; None means about 2 MiB of features, and at least
        1024 rows.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_expanded)
        Weights of the expanded features, slowest output first; the entry of largest magnitude in
        each row is positive.

    mean_ : ndarray of shape (n_expanded,)
        Mean of the expanded features.

    delta_values_ : ndarray of shape (n_components,)
        Mean squared step of each output, ascending, between 0 (constant) and 4 (alternating);
        white noise has 2.

    eta_values_ : ndarray of shape (n_components,)
        ``P / (2 pi lag) * sqrt(delta_values_)`` with the mean number P of rows per sequence: a
        sine with q periods within its sequence has the value q (for `lag` well below a period).
        With `times`, P is the mean duration of a sequence and `lag` does not divide.

    eigenvalues_ : ndarray of shape (rank_,)
        Delta values of all directions, ascending; the first are `delta_values_`.

    rank_ : int
        Numerical rank of the covariance of the expanded features.

    doubt_ : str or None
        Reason to doubt the result, with a remedy: few rows for the number of directions, outputs
        that are no slower than white noise, or directions omitted because of rounding errors.
        None if there is none.

    expansion_names_ : ndarray of shape (n_expanded,)
        Names of the expanded features; monomials refer to the columns minus `input_mean_`.

    expansion_ : estimator or callable
        The fitted expansion. None when monomials are used.

    input_mean_ : ndarray of shape (n_features,)
        Mean of the rows, subtracted before the expansion, so that the result does not depend on
        the origin of the data. None with `degree=1` and with `expansion`, unless `pre_pca` is set.

    input_components_ : ndarray of shape (n_inputs, n_features)
        Projection of the rows minus `input_mean_`. None when `pre_pca` is None.

    n_samples_seen_ : int
        Number of rows used.

    n_steps_ : int
        Number of valid steps.

    n_sequences_ : int
        Number of sequences.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.PCA : Directions of largest variance; ignores the order of the rows.
    sklearn.decomposition.FastICA : Independent, non-Gaussian directions; ignores the order of the
        rows.
    skmoderndata.preprocessing.TimeDelayEmbedding : Windows of past values as input.

    Notes
    -----
    Do not shuffle the rows: their order is the information that the method uses. For
    cross-validation use `GroupKFold` over sequences or `TimeSeriesSplit`, not random folds.

    `fit` takes one pass of ``2 n D^2`` operations over n rows with D expanded features, and
    about ``10 D^3`` for the decomposition. It holds four matrices of D x D and two chunks of
    expanded rows; the expanded input as a whole is never formed. One such matrix is stored, so
    that `partial_fit` and `merge` can continue after `fit`. All arithmetic is in float64; float32
    input gives float32 output.

    Rows with NaN are omitted together with their steps; `transform` returns NaN for them.

    If features are so nearly collinear, or outputs so slow, that rounding errors matter, `fit`
    measures and corrects the outputs in a second pass; after `partial_fit` or `merge` these errors
    remain.

    The method overfits if there are few rows per expanded feature: with n <= D any sequence of n
    values can be reproduced, and the training values are meaningless. Compare `score` on new
    sequences.

    References
    ----------
    .. [1] L. Wiskott and T. J. Sejnowski, "Slow feature analysis: unsupervised learning of
       invariances", Neural Computation 14(4), 2002, pp. 715-770, section 2.
    .. [2] P. Berkes and L. Wiskott, "Slow feature analysis yields a rich repertoire of complex
       cell properties", Journal of Vision 5(6):9, 2005, pp. 579-602.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.datasets import make_slow_signal
    >>> from skmoderndata.decomposition import SlowFeatureAnalysis
    >>> X, slow = make_slow_signal(500)
    >>> sfa = SlowFeatureAnalysis(n_components=1, degree=2).fit(X)
    >>> y = sfa.transform(X)[:, 0]
    >>> round(abs(float(np.corrcoef(y, slow)[0, 1])), 6)
    1.0
    >>> sfa.eta_values_.round(2)
    array([1.])
    """

    _card = MethodCard(
        family="slow features",
        cite=(
            "wiskott2002slow",
            "wiskott2003estimating",
            "berkes2005slow",
            "sprekeler2014extension",
            "chan1983algorithms",
        ),
        cost="2 n D^2 + 10 D^3, D expanded features",
        fits_blocks=True,
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, None],
        "degree": [Interval(Integral, 1, 3, closed="both")],
        "expansion": [HasMethods(["fit", "transform"]), callable, None],
        "include_bias": ["boolean"],
        "lag": [AT_LEAST_ONE],
        "pre_pca": [POSITIVE, None],
        "rank_tol": [Interval(Real, 0, 1, closed="left"), None],
        "solver": [StrOptions({"auto", "eigh", "cholesky"})],
        "batch_size": [AT_LEAST_ONE, None],
    }
    __metadata_request__fit = {"sequence_ids": True, "sample_mask": True, "times": True}
    __metadata_request__partial_fit = {
        "sequence_ids": True,
        "new_sequence": True,
        "sample_mask": True,
        "times": True,
    }
    __metadata_request__score = {"sequence_ids": True}

    # Attributes that are computed from the moments when they are first accessed.
    _SOLUTION = (
        "components_",
        "mean_",
        "delta_values_",
        "eta_values_",
        "eigenvalues_",
        "rank_",
        "input_mean_",
        "doubt_",
    )

    @parameters_are_named
    def __init__(
        self,
        n_components=None,
        *,
        degree=1,
        expansion=None,
        include_bias=False,
        lag=1,
        pre_pca=None,
        rank_tol=None,
        solver="auto",
        batch_size=None,
    ):
        self.n_components = n_components
        self.degree = degree
        self.expansion = expansion
        self.include_bias = include_bias
        self.lag = lag
        self.pre_pca = pre_pca
        self.rank_tol = rank_tol
        self.solver = solver
        self.batch_size = batch_size

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, *, sequence_ids=None, sample_mask=None, times=None):
        """Find the slowest functions of the rows of X.

        Parameters
        ----------
        X : array-like or Dask array of shape (n_samples, n_features)
            Rows in temporal order. Rows with NaN are omitted, together with their steps. Dask
            arrays and tables on a disk are read block by block, in one pass; `pre_pca` and the
            correction of rounding errors need one more pass each.

        y : Ignored
            Not used, present by convention.

        sequence_ids : array-like of shape (n_samples,), default=None
            Label of the sequence of each row; a new sequence begins wherever the label changes,
            and steps between sequences are ignored. A sequence of one row contributes only to the
            moments of the rows. None means a single sequence.

        sample_mask : array-like of bool of shape (n_samples,), default=None
            False for rows to omit, together with their steps.

        times : array-like of shape (n_samples,), default=None
            Time of each row, increasing within each sequence, for rows that are not equally
            spaced. Steps are then divided by their duration and weighted with it.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        read = self._rows_in_blocks if in_blocks(X) else self._rows_in_memory
        rows = read(X, sequence_ids, sample_mask, times)
        self._forget_solution("_moments")
        self._start(rows)

        # 1. sum the moments of the rows
        empty = SlowMoments(self._expansion, self.lag)
        n_chunks = rows.n_chunks(self._chunk_rows())
        with FitProgress(self, X, y, max_passes=n_chunks, task_name="chunk") as progress:
            moments = self._sum(rows, empty, progress)
            self._refuse_no_row(moments)
            if not moments.times_increase:
                raise ValueError(TIMES)
            self._keep(moments, rows.eps)

            # 2. solve for the outputs; their moments are needed if rounding errors are not
            # negligible
            self._solve(lambda outputs: self._sum(rows, SlowMoments(outputs, self.lag)))
        return self

    def _rows_in_memory(self, X, sequence_ids, sample_mask, times):
        X = self._check(X, reset=True, ensure_min_samples=2)
        return RowsInMemory(X, check_rows(X, sequence_ids, sample_mask, times))

    def _rows_in_blocks(self, X, sequence_ids, sample_mask, times):
        facts = {"sequence_ids": sequence_ids, "sample_mask": sample_mask, "times": times}
        facts = {name: values for name, values in facts.items() if values is not None}
        aligned = map(aligned_rows, facts.values())
        blocks = blocks_of(self, X, *aligned, dtype=FLOATS, ensure_min_samples=2)
        self._refuse_both()
        if hasattr(self.expansion, "transform") and not is_frozen(self.expansion):
            raise ValueError(
                "expansion would be fitted to all rows, which a table in blocks does not allow: "
                "fit it to some rows, and pass sklearn.frozen.FrozenEstimator(expansion)."
            )
        return RowsInBlocks(blocks, tuple(facts), sample_mask, type(self).__name__)

    def _knows_input_of_expansion(self):
        if self.pre_pca is None:
            return True
        raise AttributeError(
            f"partial_fit and merge need pre_pca=None (it is {self.pre_pca!r}): the projection "
            "must be known before the expansion. Put a fitted PCA before this estimator instead."
        )

    @available_if(_knows_input_of_expansion)
    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self,
        X,
        y=None,
        *,
        sequence_ids=None,
        new_sequence=False,
        sample_mask=None,
        times=None,
    ):
        """Update the estimates with rows that follow those seen so far.

        The result is the same as after `fit` on all rows, however they are divided among calls.
        The decomposition is computed when a result is first used. A transformer given as
        `expansion` is fitted to the rows of the first call only. An error or interrupt leaves the
        estimator unchanged.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in temporal order; one row is enough.

        y : Ignored
            Not used, present by convention.

        sequence_ids : array-like of shape (n_samples,), default=None
            Label of the sequence of each row. The first row continues the last sequence if their
            labels agree. None means that all rows continue one sequence.

        new_sequence : bool, default=False
            Whether the first row begins a new sequence in any case.

        sample_mask : array-like of bool of shape (n_samples,), default=None
            False for rows to omit, together with their steps.

        times : array-like of shape (n_samples,), default=None
            Time of each row, in every call or in none.

        Returns
        -------
        self : object
            The estimator.
        """
        first = "_moments" not in vars(self)
        X = self._check(X, reset=first)
        rows = check_rows(
            X,
            sequence_ids,
            sample_mask,
            times,
            new_sequence=bool(new_sequence),
            after=vars(self).get("_moments"),
        )

        rows = RowsInMemory(X, rows)
        if first:
            self._start(rows, may_be_empty=self.expansion is None)
            self._moments = SlowMoments(self._expansion, self.lag)
            self._input_eps = 0.0

        # update a copy, so that an error leaves the old moments unchanged
        moments = self._moments.copy()
        if moments.n_samples == 0 and self.expansion is None:
            moments.expansion = self._centred(moments.expansion, rows)
        self._sum(rows, moments)
        self._keep(moments, max(self._input_eps, rows.eps))
        self._forget_solution()
        return self

    @available_if(_knows_input_of_expansion)
    @all_or_nothing
    def merge(self, other, *, follows=True):
        """Add the rows that another estimator has seen.

        The result is the same as after `fit` on the rows of both estimators, up to rounding
        errors; `other` is not changed. Blocks of a long series can be fitted independently and
        merged with their neighbours.

        Parameters
        ----------
        other : SlowFeatureAnalysis
            Fitted estimator with the same parameters (except `batch_size`) and number of features.
            An `expansion` that learns from rows must be the same fitted transformer, wrapped in
            :class:`~sklearn.frozen.FrozenEstimator`.

        follows : bool, default=True
            Whether the rows of `other` come after the rows of this estimator: they continue the
            last sequence if the labels agree or there are none. False means different sequences.

        Returns
        -------
        self : object
            The estimator.
        """
        check_states_add_up(self, other, follows)
        moments = self._moments.copy().merge(other._moments, follows=follows)
        self._keep(moments, max(self._input_eps, other._input_eps))
        self._forget_solution()
        return self

    @by_rows
    def transform(self, X):
        """Compute the slow features of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in any order: the features of a row depend on that row only.

        Returns
        -------
        Y : ndarray of shape (n_samples, n_components)
            Slow features, slowest first; NaN for rows with NaN.
        """
        check_is_fitted(self)
        return self._project(self._check(X, reset=False))

    @in_memory
    def score(self, X, y=None, *, sequence_ids=None):
        """Compute the negative mean slowness of the outputs on X.

        The slowness of an output is its mean squared step divided by its mean square (about the
        mean of the training data): between 0 and 4, and equal to `delta_values_` on the training
        data. Fewer components always score at least as well on the training data; to choose their
        number, use the score of a later step in a pipeline.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in temporal order.

        y : Ignored
            Not used, present by convention.

        sequence_ids : array-like of shape (n_samples,), default=None
            Label of the sequence of each row; None means a single sequence.

        Returns
        -------
        score : float
            At most 0; higher means slower.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        rows = check_rows(X, sequence_ids)
        Y = self._project(X).astype(np.float64, copy=False)

        # find the steps within a sequence, between usable rows
        runs = np.zeros(len(X), dtype=np.int64)
        if rows.ids is not None:
            runs[1:] = np.cumsum(rows.ids[1:] != rows.ids[:-1])
        lag = self.lag
        step = np.zeros(0, dtype=bool)
        if len(X) > lag:
            step = (runs[lag:] == runs[:-lag]) & rows.valid[lag:] & rows.valid[:-lag]

        if not step.any():
            raise ValueError(
                f"score needs at least one step of {lag} row(s) within a sequence; X has "
                f"{len(X)} row(s) and no such step."
            )

        return -mean_slowness(Y, step, rows.valid, lag)

    def to_sklearn(self):
        """Return the model as a transformer of scikit-learn, with the same outputs.

        Returns
        -------
        transformer : PCA or Pipeline
            For degree 1 a `PCA` whose components are the linear map; otherwise a pipeline that
            centres or projects the rows, expands them, and ends with this `PCA`. Its components
            are not orthonormal, so only `transform` makes sense. Rows with NaN raise ValueError.

        Raises
        ------
        ValueError
            If `expansion` is a function; a `FunctionTransformer` is accepted.
        """
        check_is_fitted(self)
        # read `input_mean_` first: this computes the solution, which may replace the expansion
        origin = self.input_mean_
        steps = exported_steps(self, self._expansion, origin, self.input_components_)
        return in_pipeline(self, steps)

    def quadratic_form(self, component=0):
        """Write a component of degree 1 or 2 as a quadratic form of the input.

        Parameters
        ----------
        component : int, default=0
            Index of the component.

        Returns
        -------
        form : QuadraticForm
            Named tuple `(H, f, c)` of arrays of shape (n_features, n_features), (n_features,)
            and a float with ``y = x H x / 2 + f x + c``. The form can be called with rows;
            `form.extrema_on_sphere(radius)` returns the rows of this norm with the largest and the
            smallest value (Berkes and Wiskott).
        """
        check_is_fitted(self)
        if self.expansion is not None or self.degree > 2:
            raise ValueError(
                "quadratic_form needs degree=1 or 2 and expansion=None; got "
                f"degree={self.degree}, expansion={self.expansion!r}."
            )

        # w' (phi(x) - mean), without the constant monomial
        w = self.components_[component]
        c = -float(self.mean_ @ w)
        w = w[int(self.include_bias) :]
        form = quadratic_form(w, c, self._expansion.n_inputs)

        if self.input_mean_ is None:
            return form
        P = self.input_components_
        return form.of_projection(self.input_mean_, np.eye(form.f.size) if P is None else P)

    @property
    def expansion_names_(self):
        """Names of the expanded features."""
        if "_moments" not in vars(self):
            raise AttributeError("expansion_names_ is not known before fit")
        names = self._input_names()
        if self.input_components_ is not None:
            names = [f"pca{i}" for i in range(len(self.input_components_))]
        if self.expansion is not None:
            return np.array(self._expansion.names(names), dtype=object)
        monomials = PolynomialFeatures(self._expansion.degree, include_bias=self.include_bias)
        return monomials.fit(np.zeros((1, len(names)))).get_feature_names_out(names)

    @property
    def _n_features_out(self):
        return len(self.components_)

    def __sklearn_is_fitted__(self):
        return "_moments" in vars(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check(self, X, *, reset, ensure_min_samples=1):
        return validate_data(
            self,
            X,
            dtype=FLOATS,
            ensure_all_finite="allow-nan",
            ensure_min_samples=ensure_min_samples,
            reset=reset,
        )

    def _input_names(self):
        names = vars(self).get("feature_names_in_")
        return [f"x{i}" for i in range(self.n_features_in_)] if names is None else list(names)

    def _refuse_both(self):
        if self.expansion is not None and self.degree != 1:
            raise ValueError(
                f"degree={self.degree} and expansion={self.expansion!r} were both given: "
                "leave one of them at its default."
            )

    def _refuse_no_row(self, moments):
        if moments.n_samples == 0:
            raise ValueError(_NO_ROW.format(type(self).__name__))

    def _start(self, rows, *, may_be_empty=False):
        """Choose the expansion, after the projection that `pre_pca` needs."""
        self._refuse_both()
        if rows.is_empty and not may_be_empty:
            raise ValueError(_NO_ROW.format(type(self).__name__))

        n_inputs = rows.n_features
        self.input_components_ = None
        if self.pre_pca is not None:
            check_pre_pca(self, n_inputs)
            moments = rows.input_moments()
            self._refuse_no_row(moments)
            self.input_mean_, self.input_components_ = whiten_moments(self, moments, rows.eps)
            n_inputs = len(self.input_components_)

        # use monomials, or a different expansion, which is fitted to the rows unless it is frozen
        if self.expansion is None:
            self.expansion_ = None
            monomials = PolynomialExpansion(n_inputs, self.degree, self.include_bias)
            self._expansion = self._centred(monomials, rows)
            if self.pre_pca is None and not rows.in_range(self._expansion):
                raise ValueError(RANGE.format(type(self).__name__))
        else:
            sample = self._prepare(rows.sample())
            self.expansion_ = self.expansion
            if hasattr(self.expansion, "transform"):
                self.expansion_ = clone(self.expansion).fit(sample, None)
            self._expansion = CallableExpansion(self.expansion_, sample[:1], self.include_bias)

    def _centred(self, monomials, rows):
        """Return the monomials about the mean of the rows.

        Linear features and principal components need no origin.
        """
        if self.degree == 1 or self.input_components_ is not None or rows.is_empty:
            return monomials
        return monomials.about(rows.origin())

    def _chunk_rows(self):
        return self.batch_size or default_chunk_rows(self._expansion.n_outputs)

    def _prepare(self, X):
        """Convert rows of X to arguments of the expansion."""
        if self.input_components_ is None:
            return X
        return _whitened(self.input_mean_, self.input_components_, X)

    def _sum(self, rows, moments, progress=None):
        """Add the rows to moments."""
        whitened = None
        if self.input_components_ is not None:
            whitened = self.input_mean_, self.input_components_
        with np.errstate(over="ignore", invalid="ignore"):
            return rows.add_to(moments, whitened, self._chunk_rows(), progress)

    def _keep(self, moments, input_eps):
        if not moments.is_finite():
            raise ValueError(RANGE.format(type(self).__name__))
        self._moments = moments
        self._input_eps = input_eps
        self.n_samples_seen_ = moments.n_samples
        self.n_steps_ = moments.n_steps
        self.n_sequences_ = moments.n_sequences

    def _solve(self, measure=None):
        """Decompose the moments, and set the solution.

        If given, `measure` returns the moments of outputs in a second pass over the rows, which
        corrects significant rounding errors.
        """
        moments = self._moments
        who = type(self).__name__
        if moments.n_steps == 0:
            raise ValueError(
                f"{who} has seen {moments.n_samples} usable row(s) and no step of lag={self.lag} "
                "within a sequence: it needs at least one. Give more consecutive rows, or check "
                "sequence_ids and NaN."
            )

        # estimate the rounding errors of the input and of the sums
        moments = moments.about_their_mean()
        expansion = moments.expansion
        origin = getattr(expansion, "origin", None)
        covariance = moments.covariance()
        errors = self._rounding_errors(moments, np.abs(covariance.diagonal()))

        try:
            solution = slow_directions(
                covariance,
                moments.step_moment(),
                n_components=self.n_components,
                rank_tol=self.rank_tol,
                solver=self.solver,
                floor=errors**2,
                overwrite=True,
            )
        except np.linalg.LinAlgError:
            raise ValueError(
                f"{who}(solver='cholesky'): the expanded features depend linearly on each other. "
                "Use solver='auto' or 'eigh'."
            ) from None

        if solution.rank == 0:
            raise ValueError(CONSTANT.format(who, " expanded"))
        if self.n_components is not None and self.n_components > solution.rank:
            reason = f"the rank {solution.rank} of the expanded data"
            warn_fewer(self, asked=self.n_components, found=solution.rank, reason=reason)

        doubts = (
            self._doubt_of_rounding(solution.n_omitted),
            self._doubt_of_rows(moments, solution),
        )

        # if features are nearly collinear, measure and correct the outputs
        mean = moments.mean
        components = solution.components
        delta = solution.delta_values
        rounding = np.finfo(np.float64).eps * solution.amplification
        if measure is not None and rounding > 3e-9 * min(0.1, delta[0]):
            measured = measure(LinearOutputs(expansion, mean, components))
            rotation, delta = polish_directions(measured.covariance(), measured.step_moment())
            components = fix_signs(rotation @ components)

        # compute the mean number of steps in a sequence, which is the unit of the periods
        period = moments.n_samples / (moments.n_sequences * self.lag)
        if moments.last_time is not None:
            period = moments.step_weight / (moments.n_sequences * self.lag)

        self._expansion = expansion
        if self.input_components_ is None:
            self.input_mean_ = origin
        self.components_ = components
        self.mean_ = mean
        self.delta_values_ = delta
        self.eigenvalues_ = np.concatenate([delta, solution.eigenvalues[len(delta) :]])
        self.eta_values_ = period / (2 * np.pi) * np.sqrt(delta)
        self.rank_ = solution.rank
        record_doubt(self, *doubts)

    def _rounding_errors(self, moments, variance):
        """Return the rounding errors of the expanded features, which follow from the input."""
        rounding = max(32 * np.finfo(np.float64).eps, 2 * self._input_eps)
        errors = rounding * np.hypot(moments.mean, variance**0.5)
        expansion = moments.expansion
        origin = getattr(expansion, "origin", None)
        if origin is None:
            return errors

        # for columns far from zero, add the errors that the columns have before the mean is
        # subtracted
        size = variance[expansion.linear] ** 0.5
        return np.maximum(errors, expansion.errors(size, rounding * np.hypot(origin, size)))

    def _doubt_of_rounding(self, n_omitted):
        """Return a doubt if directions at the level of rounding errors were omitted."""
        if not n_omitted or self.rank_tol is not None:
            return None
        return (
            f"{type(self).__name__} omitted {n_omitted} direction(s) of the expanded data: "
            "rounding errors of X are as large, because its columns are far from zero or "
            "float32. Subtract offsets where X is made and pass float64; rank_tol=0 omits "
            "silently."
        )

    def _doubt_of_rows(self, moments, solution):
        """Return a doubt if white noise, or an overfitted function, could be as slow.

        White noise in D directions and n steps has a smallest delta value of about
        ``2 - 2 sqrt(g (2 - g))`` with ``g = D / n``, the edge of the compression of the steps to D
        random directions.
        """
        rank = solution.rank
        n_steps = moments.n_steps
        ratio = min(rank / n_steps, 1.0)
        of_noise = 2 - 2 * np.sqrt(ratio * (2 - ratio))
        if n_steps < EVIDENCE.rows_per_parameter * rank:
            return (
                f"{n_steps} steps for {rank} directions are so few that the outputs are slower on "
                "the training rows than on others: use more rows, a lower degree, or pre_pca."
            )
        if solution.delta_values[0] > of_noise:
            return (
                f"The slowest output is no slower than white noise would be with {n_steps} steps "
                f"and {rank} directions: use more rows, or a larger lag."
            )
        return None

    def _project(self, X):
        components = self.components_
        mean = self.mean_
        out = np.full((len(X), len(components)), np.nan, dtype=X.dtype)

        # for rows with NaN, all outputs are NaN
        usable = ~np.isnan(X).any(axis=1)
        index = slice(None) if usable.all() else np.flatnonzero(usable)
        rows = X[index]
        result = out if len(rows) == len(X) else np.empty((len(rows), out.shape[1]), out.dtype)
        chunk = min(self._chunk_rows(), max(len(rows), 1))

        outputs = LinearOutputs(self._expansion, mean, components)
        for start in range(0, len(rows), chunk):
            block = slice(start, start + chunk)
            Z = np.asarray(self._prepare(rows[block]), dtype=np.float64)
            result[block] = outputs(Z)

        if result is not out:
            out[index] = result
        return out


class RowsInMemory:
    """Rows of a table in memory, in temporal order.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Checked rows.
    facts : RowFacts
        Sequences and times of the rows, and which of them to use.
    """

    def __init__(self, X, facts):
        self.X = X
        self.facts = facts
        self.n_features = X.shape[1]
        self.eps = float(np.finfo(X.dtype).eps)
        self.is_empty = not facts.valid.any()

    def n_chunks(self, chunk_rows):
        """Return the number of chunks of a pass."""
        return -(-len(self.X) // chunk_rows)

    def add_to(self, moments, whitened=None, chunk_rows=None, progress=None):
        """Add the rows, projected by the pair `whitened`, to moments; return the moments."""
        return moments.update(
            self.X,
            sequence_ids=self.facts.ids,
            new_sequence=self.facts.new_sequence,
            valid=self.facts.valid,
            times=self.facts.times,
            chunk_rows=chunk_rows,
            progress=progress,
            prepare=None if whitened is None else partial(_whitened, *whitened),
        )

    def input_moments(self):
        """Return the moments of the features."""
        moments = SlowMoments(PolynomialExpansion(self.n_features, 1))
        return moments.update(self.X, valid=self.facts.valid)

    def sample(self):
        """Return the rows that an expansion is fitted to."""
        valid = self.facts.valid
        return self.X if valid.all() else self.X[valid]

    def origin(self):
        """Return the mean of the rows."""
        return exact_mean(self.sample())

    def in_range(self, monomials):
        """Return whether no monomial of a row overflows."""
        return monomials.in_range(self.sample())


class RowsInBlocks:
    """Rows of a table in blocks, in temporal order; a pass joins the moments of neighbours.

    Parameters
    ----------
    blocks : ArrayBlocks
        Rows, and the arrays that have an entry for each of them.
    facts : tuple of str
        Names of these arrays.
    sample_mask : array or None
        Rows to use.
    owner : str
        Name of the class in messages.
    """

    # Only a pass can show whether any row is usable; each pass checks the range of the rows.
    is_empty = False

    def __init__(self, blocks, facts, sample_mask, owner):
        self.blocks = blocks
        self.facts = facts
        self.sample_mask = sample_mask
        self.owner = owner
        self.n_features = blocks.shape[1]
        single = blocks.arrays[0].dtype == np.float32
        self.eps = float(np.finfo(np.float32 if single else np.float64).eps)

    def n_chunks(self, chunk_rows):
        """Return None: the workers do not report their chunks."""
        return None

    def add_to(self, moments, whitened=None, chunk_rows=None, progress=None):
        """Return the moments of the rows; `moments` has the expansion, and is empty."""
        (total,) = self.blocks.sum(
            moments_of_block, self.facts, self.owner, moments, whitened, chunk_rows
        )
        return total

    def input_moments(self):
        """Return the moments of the features."""
        return self.add_to(SlowMoments(PolynomialExpansion(self.n_features, 1)))

    def sample(self):
        """Return the complete rows at the beginning of the table."""
        rows = self.blocks.sample(np.arange(min(self.blocks.shape[0], ROWS_SEEN)))[0]
        rows = rows[~np.isnan(rows).any(axis=1)]
        if len(rows) == 0:
            raise ValueError(f"The first {ROWS_SEEN} rows of X contain NaN: leave them out.")
        return rows

    def origin(self):
        """Return the mean of the first usable rows; zeros if there are none.

        The moments are moved to the exact mean in the end.
        """
        first = np.arange(min(self.blocks.cuts[1], ROWS_SEEN))
        rows = self.blocks.sample(first)[0]
        usable = ~np.isnan(rows).any(axis=1)
        if self.sample_mask is not None:
            usable &= np.asarray(self.sample_mask[: len(first)], dtype=bool)
        return exact_mean(rows[usable]) if usable.any() else np.zeros(self.n_features)

    def in_range(self, monomials):
        """Return True: the passes check each block."""
        return True


def _whitened(mean, components, X):
    """Project rows onto components."""
    return (X - mean) @ components.T


_NO_ROW = "{} found no usable row: every row contains NaN or is masked."

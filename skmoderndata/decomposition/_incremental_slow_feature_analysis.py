"""Incremental slow feature analysis."""

import warnings
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import FitProgress, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    Interval,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.export import in_pipeline
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.common.tolerances import RANK_TOL
from skmoderndata._solvers.series.expansion import PolynomialExpansion
from skmoderndata._solvers.series.online_components import (
    RowSource,
    clock_of_rate,
    eigen_residual,
    minor_passes,
    orthonormal_rows,
    principal_passes,
    refine_minor,
    refine_principal,
    slow_components,
    slow_passes,
    slow_update,
    whitened_steps,
    whitener,
)
from skmoderndata._solvers.series.online_rules import MinorState, PrincipalState
from skmoderndata.decomposition._online_base import (
    AMNESIC_CONSTRAINTS,
    RATE_CONSTRAINTS,
    OnlineComponents,
    shortfall,
)
from skmoderndata.decomposition._slow_base import (
    check_ids,
    exact_mean,
    exported_steps,
    follows_before,
    mean_slowness,
)

# Number of rows at the beginning of a stream whose mean is subtracted before the expansion.
ROWS_OF_ORIGIN = 200
# Smallest variance, relative to the largest variance, at which a direction is whitened by its
# running estimate.
_STREAM_TOL = 1e-3


class IncrementalSlowFeatureAnalysis(OnlineComponents):
    r"""Learn slowly varying features from one row at a time, without a covariance matrix.

    Estimates the solution of slow feature analysis: outputs
    :math:`y_j(t) = w_j^\top (f(x_t) - m)` of zero mean and unit variance, uncorrelated, with the
    smallest mean squared steps :math:`\Delta_j = \langle (y_j(t) - y_j(t - 1))^2 \rangle`. The
    covariance of the D features f is never formed [1]_: the rows are whitened by the online
    principal components of :class:`CCIPCA`, and the slow directions are the minor components of
    the whitened steps, learned as in :class:`MinorComponentAnalysis`.

    Prefer :class:`SlowFeatureAnalysis`, whose `partial_fit` is exact, unless D x D matrices are
    too large or the data drift.

    Parameters
    ----------
    n_components : int, default=2
        Number of slow features.

    n_whitened : int or None, default=None
        Number K of principal components in which the rows are whitened. None means
        ``min(n_samples, D)`` in `fit` and D in `partial_fit`. Streams converge much better if K
        excludes directions that contain only noise.

    degree : {1, 2, 3}, default=1
        Degree of the polynomial expansion: the features are all monomials up to this degree.

    learning_rate : float, default=0.08
        Rate of the minor components for the first steps of a stream, below 1.

    learning_rate_hold : float, default=1000
        Number of steps after which the learning rate of a stream decreases as one over the number
        of steps. It should not decrease before the whitening has converged.

    amnesic : float, default=2.0
        Memory loss of the running means, as in :class:`CCIPCA`; 0 gives all rows equal weight.

    amnesic_ramp : tuple of two int, default=(20, 200)
        Number of rows up to which the memory loss is 0, and from which it is `amnesic`.

    amnesic_growth : float or None, default=None
        Number of rows after the ramp in which the memory loss grows by one. None keeps it
        constant.

    min_learning_rate : float, default=0.0
        Smallest value of the learning rate and of the rate of the means, up to 0.5. A positive
        value follows drifting data with a memory of about ``1 / min_learning_rate`` rows.

    rank_tol : float or None, default=None
        Tolerance for small variances: directions whose variance is at most this fraction of the
        largest variance are not whitened. None means 1e-10 if the whitening is exact (`fit` with
        `refine`) and 1e-3 if it is estimated; after an exact whitening, `partial_fit` keeps its
        directions.

    refine : bool, default=True
        If True, `fit` refines the estimates with all rows: passes of CCIPCA until its subspace
        converges, its refinement, exact whitening within the subspace, passes over the whitened
        steps with the rates of :class:`MinorComponentAnalysis`, and a final Rayleigh-Ritz step
        within the span of the features. If False, `fit` repeats the rule of a stream, which
        updates whitening and slow directions together as in [1]_.

    max_iter : int, default=100
        Largest number of passes in `fit`; with `refine`, in each of its two stages.

    tol : float or None, default=1e-2
        Tolerance: passes stop when one of them changes the subspace by less than this (see
        `subspace_change_` and `whitening_change_`). None makes `max_iter` passes.

    random_state : int, RandomState instance or None, default=None
        Seed or generator of the initial directions, and of the order of rows and whitened steps
        in `fit` with `refine`. Pass an int for reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, D)
        Weights of the expanded features, slowest output first; the entry of largest magnitude in
        each row is positive. Outputs beyond the number of directions in which the rows vary have
        zero weights.

    origin_ : ndarray of shape (n_features,)
        Row subtracted before the expansion, so that the result does not depend on the origin of
        the data: the mean of all rows after `fit` with `refine`, otherwise of the first 200. None
        with `degree=1`.

    mean_ : ndarray of shape (D,)
        Mean of the expanded features: exact after `fit`, amnesic after `partial_fit`.

    delta_values_ : ndarray of shape (n_components,)
        Mean squared step of each output, ascending; infinite for an output with zero weights.
        Exact after `fit` with `refine`, otherwise a running estimate.

    whitening_variance_ : ndarray of shape (n_whitened,)
        Variances along the principal components used for whitening, in descending order.

    n_samples_seen_ : int
        Number of rows seen. The rows of `fit` count once, whatever the number of passes.

    n_steps_ : int
        Number of steps seen, counted in the same way.

    n_iter_ : int
        Number of passes of `fit`, over both stages.

    subspace_change_ : float
        Stopping criterion of `fit`: sine of the largest principal angle between the spans of the
        features before and after the last pass; infinite after a single pass.

    whitening_change_ : float
        Root mean square of the sines of the principal angles between the whitened subspaces
        before and after the last pass of CCIPCA, after `fit` with `refine`.

    eigen_residuals_ : ndarray of shape (n_components,)
        Residuals ``|M w - delta w| / gamma`` of the features after `fit` with `refine`, with the
        second moment M of the whitened steps and its largest eigenvalue gamma; 0 for the features
        of batch slow feature analysis in the whitened subspace. `partial_fit` removes the
        attribute.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    SlowFeatureAnalysis : The exact solution with D x D matrices, also from chunks of rows.
    CCIPCA : The principal components used for whitening.
    MinorComponentAnalysis : The rule that learns the slow directions.
    sklearn.decomposition.IncrementalPCA : Directions of largest variance from batches; the order
        of the rows is irrelevant.

    Notes
    -----
    One row takes about ``12 D K + 4 K k^2`` operations for K whitened directions and k features,
    and memory for K + k vectors. `fit` with `refine` also stores the whitened steps, n x K.

    Do not shuffle the rows: their order is the information that the method uses.

    The result of `partial_fit` depends only on the order of the rows and on `random_state`: any
    division of the rows into calls gives bitwise identical results. Early outputs are based on a
    whitening that has not converged; their scale and signs vary.

    Four details differ from [1]_. The whitened coordinates are inner products with the residuals
    of CCIPCA, not with the row itself: the vectors are orthogonal only in the limit, and large
    components would contaminate small ones, which whitening amplifies. The current whitening is
    applied to both rows of a step. Deflation is complete, and the step is implicit; see
    :class:`MinorComponentAnalysis`.

    References
    ----------
    .. [1] V. R. Kompella, M. Luciw and J. Schmidhuber, "Incremental slow feature analysis:
       adaptive low-complexity slow feature updating from high-dimensional input streams", Neural
       Computation 24(11), 2012, pp. 2994-3024, section 3.
    .. [2] J. Weng, Y. Zhang and W.-S. Hwang, "Candid covariance-free incremental principal
       component analysis", IEEE Transactions on Pattern Analysis and Machine Intelligence 25(8),
       2003, pp. 1034-1040.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.datasets import make_slow_signal
    >>> from skmoderndata.decomposition import IncrementalSlowFeatureAnalysis
    >>> X, slow = make_slow_signal(500)
    >>> sfa = IncrementalSlowFeatureAnalysis(n_components=1, degree=2, random_state=0).fit(X)
    >>> y = sfa.transform(X)[:, 0]
    >>> round(float(abs(np.corrcoef(y, slow)[0, 1])), 3)
    1.0
    """

    _card = MethodCard(
        family="slow features",
        cite=("kompella2012incremental", "weng2003candid"),
        cost="(12 D K + 4 K k^2) n T, D expanded, K whitened features",
        tier="textbook",
        instead="Use `SlowFeatureAnalysis`, with `partial_fit` for streams: it is exact, and "
        "faster up to a few thousand expanded features.",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        "n_whitened": [AT_LEAST_ONE, None],
        "degree": [Interval(Integral, 1, 3, closed="both")],
        **RATE_CONSTRAINTS,
        **AMNESIC_CONSTRAINTS,
        "rank_tol": [Interval(Real, 0, 1, closed="left"), None],
        "refine": ["boolean"],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE, None],
        "random_state": ["random_state"],
    }
    _sparse = False
    __metadata_request__fit = {"sequence_ids": True}
    __metadata_request__partial_fit = {"sequence_ids": True, "new_sequence": True}
    __metadata_request__score = {"sequence_ids": True}

    @parameters_are_named
    def __init__(
        self,
        n_components=2,
        *,
        n_whitened=None,
        degree=1,
        learning_rate=0.08,
        learning_rate_hold=1000,
        amnesic=2.0,
        amnesic_ramp=(20, 200),
        amnesic_growth=None,
        min_learning_rate=0.0,
        rank_tol=None,
        refine=True,
        max_iter=100,
        tol=1e-2,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_whitened = n_whitened
        self.degree = degree
        self.learning_rate = learning_rate
        self.learning_rate_hold = learning_rate_hold
        self.amnesic = amnesic
        self.amnesic_ramp = amnesic_ramp
        self.amnesic_growth = amnesic_growth
        self.min_learning_rate = min_learning_rate
        self.rank_tol = rank_tol
        self.refine = refine
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, sequence_ids=None):
        """Learn the slow features in passes over the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            At least two rows in temporal order.

        y : Ignored
            Not used, present by convention.

        sequence_ids : array-like of shape (n_samples,), default=None
            Label of the sequence of each row; a new sequence begins wherever the label changes,
            and steps between sequences are ignored. None means a single sequence.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = self._check(X, reset=True, ensure_min_samples=2)
        ids = check_ids(sequence_ids, X)
        follows = follows_before(ids, len(X))
        if not follows.any():
            raise ValueError(
                f"{type(self).__name__} needs a step between two rows of one sequence, but each "
                f"of the {len(X)} rows is a separate sequence. Check sequence_ids."
            )

        schedule = self._schedule()
        step = self._step()
        expansion = self._monomials(X if self.refine else X[:ROWS_OF_ORIGIN])
        k, K = self._sizes(expansion.n_outputs, limit=len(X))
        rng = check_random_state(self.random_state)
        source = self._source(X, expansion)
        mean, total = source.moments()
        if total == 0:
            raise ValueError(
                f"{type(self).__name__}: every feature is constant, so no output has unit "
                "variance. Check X."
            )

        principal = PrincipalState.empty(K, source.p)
        principal.mean[:] = mean
        for name in ("whitening_change_", "eigen_residuals_"):
            vars(self).pop(name, None)
        self._whitened_tol = _STREAM_TOL

        # make the passes over the rows
        run = self._refined if self.refine else self._plain
        with FitProgress(
            self, X, y, max_passes=self.max_iter * (1 + self.refine), task_name="pass"
        ) as progress:
            result = run(source, follows, principal, k, schedule, step, rng, progress)
        principal, minor, B, delta, passes = result

        # store the state from which `partial_fit` continues
        n = len(X)
        n_steps = int(np.count_nonzero(follows))
        principal.total[:] = total
        principal.n_seen[:] = n
        minor.n_seen[0] = n_steps
        last = next(RowSource(X[-1:], expansion).blocks())[0].copy()
        self._state = principal, minor, last, None if ids is None else ids[-1]
        self._beginning = None
        self._publish(B, delta)

        self.subspace_change_ = passes[-1].residual
        self.n_iter_ = sum(stage.n_iter for stage in passes)

        unconverged = [stage for stage in passes if not stage.converged]
        if unconverged and not any(stage.stopped for stage in passes):
            in_whitening = unconverged[0] is not passes[-1]
            criterion = "whitening_change_" if in_whitening else "subspace_change_"
            warn_not_converged(
                self,
                reached=shortfall(unconverged[0], criterion, self.tol),
                remedy="increase max_iter or tol, or change n_components or n_whitened",
            )

        self._warn_missing(k, int(np.isinf(delta).sum()))
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, *, sequence_ids=None, new_sequence=False):
        """Update the estimates with the rows of X, one row at a time.

        Each row is used once, and updates the mean, the whitening and the slow directions. The
        division of rows into calls does not change the result. An error or interrupt leaves the
        estimator unchanged.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Next rows in temporal order; at least one.

        y : Ignored
            Not used, present by convention.

        sequence_ids : array-like of shape (n_samples,), default=None
            Label of the sequence of each row. The first row continues the last sequence if their
            labels agree. None means that all rows continue one sequence.

        new_sequence : bool, default=False
            If True, the first row begins a new sequence in any case.

        Returns
        -------
        self : object
            The estimator.
        """
        first = "_state" not in vars(self)
        X = self._check(X, reset=first)
        ids = check_ids(sequence_ids, X)
        follows = follows_before(ids, len(X))
        schedule = self._schedule()
        step = self._step()

        # the first call initialises the state; later calls work on copies
        last_id = None if ids is None else ids[-1]
        if first:
            k, K = self._sizes(PolynomialExpansion(X.shape[1], self.degree).n_outputs)
            rng = check_random_state(self.random_state)
            directions = orthonormal_rows(rng.standard_normal((k, K)))
            beginning = _Beginning(X[:0], follows[:0], directions, K)
            self._whitened_tol = _STREAM_TOL
        else:
            principal, minor, last, id_before = self._state
            principal = principal.copy()
            minor = minor.copy()
            last = last.copy()
            expansion = self._expansion
            beginning = self._beginning
            self._check_unchanged(minor)

            same_kind = (ids is None) == (id_before is None)
            follows[0] = (
                not new_sequence and same_kind and (ids is None or bool(ids[0] == id_before))
            )

        # until the origin is final, start again from all rows seen so far
        if beginning is not None:
            beginning = beginning.followed_by(X, follows)
            X = beginning.X
            follows = beginning.follows
            expansion = self._monomials(X[:ROWS_OF_ORIGIN])
            principal = PrincipalState.empty(beginning.n_whitened, expansion.n_outputs)
            minor = MinorState.start(beginning.directions.copy())
            last = np.zeros(expansion.n_outputs)
            if self.degree == 1 or len(X) >= ROWS_OF_ORIGIN:
                beginning = None

        source = self._source(X, expansion)
        tol = self._stream_tol()
        slow_update(
            source, follows, True, last, principal, minor, schedule, step, rank_tol=tol
        )

        self._state = principal, minor, last, last_id
        self._beginning = beginning
        vars(self).pop("eigen_residuals_", None)
        self._publish(*slow_components(principal, minor, rank_tol=tol))
        return self

    @by_rows
    def transform(self, X):
        """Compute the slow features of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in any order: the features of a row depend only on that row.

        Returns
        -------
        Y : ndarray of shape (n_samples, n_components)
            Slow features, slowest first.
        """
        check_is_fitted(self)
        return self._project(self._check(X, reset=False))

    def to_sklearn(self):
        """Return the model as a transformer of scikit-learn, with the same outputs.

        Returns
        -------
        transformer : PCA or Pipeline
            For degree 1 a `PCA` whose components are the linear map; otherwise a pipeline that
            centres the rows, expands them, and ends with this `PCA`. Its components are not
            orthonormal, so only `transform` makes sense.

        Raises
        ------
        ValueError
            If `expansion` is a function; a `FunctionTransformer` is accepted.
        """
        check_is_fitted(self)
        return in_pipeline(self, exported_steps(self, self._expansion, self.origin_))

    @in_memory
    def score(self, X, y=None, *, sequence_ids=None):
        """Compute the negative mean slowness of the outputs on X.

        The slowness of an output is its mean squared step divided by its mean square (about the
        mean of the training data), between 0 and 4. Outputs with zero weights are ignored. Fewer
        components tend to score higher; to choose their number, use the score of a later step in a
        pipeline.

        Parameters
        ----------
        X, y, sequence_ids
            Same as in `fit`.

        Returns
        -------
        score : float
            Score between -4 and 0; higher means slower. -4 if all weights are zero.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        follows = follows_before(check_ids(sequence_ids, X), len(X))
        if not follows.any():
            raise ValueError(
                f"score needs a step between two rows of one sequence; X has {len(X)} row(s) and "
                "no such step."
            )

        # score the outputs that have nonzero weights; without such outputs, the score is -4, which
        # is the lowest possible value
        Y = self._project(X).astype(np.float64, copy=False)[:, self.components_.any(axis=1)]
        if Y.shape[1] == 0:
            return -4.0
        return -mean_slowness(Y, follows[1:])

    # ---- two ways to fit -----------------------------------------------------------------

    def _refined(self, source, follows, principal, k, schedule, step, rng, progress):
        """Whiten exactly in the subspace of CCIPCA, then find minor components of the steps."""
        # 1. find the principal subspace by CCIPCA
        K, p = principal.V.shape
        whitening = principal_passes(
            source,
            principal,
            schedule,
            lambda: rng.permutation(source.n),
            max_iter=self.max_iter,
            tol=self.tol,
            weighted=False,  # All whitened directions have a variance of one.
            progress=progress,
        )

        mean = principal.mean

        # 2. whiten exactly in this subspace
        exact_tol = RANK_TOL if self.rank_tol is None else float(self.rank_tol)
        V, lam = refine_principal(source, mean, principal.V, rank_tol=exact_tol)
        kept = lam > 0
        self._whitened_tol = min(_STREAM_TOL, 0.1 * float(lam[kept].min() / lam.max()))
        rank = int(np.count_nonzero(kept))

        # 3. find slow directions of the whitened steps
        rows = whitener(source, mean, V[kept], lam[kept])
        steps = RowSource(whitened_steps(source, mean, follows, rows))
        zero = np.zeros(rank)
        start = orthonormal_rows(rng.standard_normal((min(k, rank), rank)))
        minor = MinorState.start(start)
        slow, rate = minor_passes(
            steps,
            zero,
            minor,
            schedule,
            None,
            lambda: rng.permutation(steps.n),
            max_iter=1 if whitening.stopped else self.max_iter,
            tol=self.tol,
            progress=None if whitening.stopped else progress,
        )

        W, delta = refine_minor(steps, zero, minor.W)
        B = np.zeros((k, p))
        B[: len(W)] = W @ rows

        self.whitening_change_ = whitening.residual
        residuals = np.zeros(k)
        residuals[: len(W)] = eigen_residual(steps, zero, W, delta, float(minor.gamma[0]))
        self.eigen_residuals_ = residuals

        # 4. store the state from which `partial_fit` continues: all K directions and all k
        # features
        state = MinorState.start(np.zeros((k, K)))
        state.W[: len(W), :rank] = W
        state.eigenvalues[: len(W)] = delta
        state.top[:, :rank] = minor.top
        state.gamma[:] = minor.gamma
        state.n_seen[1] = clock_of_rate(step, rate)
        principal.V[:] = V
        principal.lam[:] = lam

        delta = np.concatenate([delta, np.full(k - len(W), np.inf)])
        return principal, state, B, delta, [whitening, slow]

    def _plain(self, source, follows, principal, k, schedule, step, rng, progress):
        """Repeat the rule of the stream with the exact mean."""
        start = orthonormal_rows(rng.standard_normal((k, len(principal.lam))))
        minor = MinorState.start(start)
        tol = self._stream_tol()
        passes = slow_passes(
            source,
            follows,
            principal,
            minor,
            schedule,
            step,
            rank_tol=tol,
            max_iter=self.max_iter,
            tol=self.tol,
            progress=progress,
        )
        return principal, minor, *slow_components(principal, minor, rank_tol=tol), [passes]

    # ---- input and output ----------------------------------------------------------------

    def _warn_missing(self, k, n_missing):
        if n_missing:
            warnings.warn(
                f"n_components={k} exceeds the number {k - n_missing} of directions in which the "
                f"rows vary: the remaining features of {type(self).__name__} are zero. Lower "
                "n_components.",
                stacklevel=3,
            )

    def _sizes(self, n_expanded, limit=None):
        """Check and return n_components and the number of whitened directions."""
        # choose the number of whitened directions, limited by the number of features
        K = n_expanded if limit is None else min(n_expanded, limit)
        if self.n_whitened is not None:
            K = int(self.n_whitened)
        if n_expanded < K:
            raise ValueError(
                f"n_whitened={K} exceeds n_features={n_expanded}, the number of features after "
                f"the expansion to degree={self.degree}: lower n_whitened."
            )
        reason = f"the number {K} of whitened directions"
        return self._at_most(int(self.n_components), K, reason), K

    def _check_unchanged(self, minor):
        k, K = minor.W.shape
        changed = [
            f"{name}={value} (was {before})"
            for name, value, before in (
                ("n_components", min(self.n_components, K), k),
                ("n_whitened", K if self.n_whitened is None else self.n_whitened, K),
                ("degree", self.degree, self._expansion.degree),
            )
            if value != before
        ]
        if changed:
            raise ValueError(
                f"{', '.join(changed)} cannot change between calls of partial_fit. Call fit."
            )

    def _stream_tol(self):
        return self._whitened_tol if self.rank_tol is None else float(self.rank_tol)

    def _monomials(self, X):
        """Return the expansion, centred at the mean of the rows of X unless it is linear."""
        expansion = PolynomialExpansion(X.shape[1], self.degree)
        return expansion if self.degree == 1 else expansion.about(exact_mean(X))

    def _source(self, X, expansion):
        """Return the expanded rows."""
        if not expansion.in_range(X):
            raise ValueError(
                f"{type(self).__name__}: squares of the monomials of degree={self.degree} leave "
                "the range of float64. Rescale X, for example with StandardScaler."
            )
        self._expansion = expansion
        return RowSource(X, expansion)

    def _project(self, X):
        source = RowSource(X, self._expansion)
        with np.errstate(over="ignore", invalid="ignore"):
            Y = [(block - self.mean_) @ self.components_.T for block in source.blocks()]
        return np.concatenate(Y).astype(X.dtype, copy=False)

    def _publish(self, B, delta):
        principal, minor = self._state[:2]
        self.components_ = fix_signs(B)
        self.origin_ = self._expansion.origin
        self.mean_ = principal.mean.copy()
        self.delta_values_ = delta
        self.whitening_variance_ = np.sort(principal.lam)[::-1]
        self.n_samples_seen_ = int(principal.n_seen[0])
        self.n_steps_ = int(minor.n_seen[0])


class _Beginning(NamedTuple):
    """First rows of a stream, kept until the origin is final, and initial directions."""

    X: np.ndarray
    follows: np.ndarray
    directions: np.ndarray
    n_whitened: int

    def followed_by(self, X, follows):
        """Return the beginning with more rows."""
        return self._replace(
            X=np.concatenate([self.X, X]), follows=np.concatenate([self.follows, follows])
        )

"""Candid covariance-free incremental principal component analysis."""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import FitProgress
from skmoderndata._estimator.compat import AT_LEAST_ONE, NON_NEGATIVE
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.export import described, projection
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import FLOATS, check_array
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.series.online_components import (
    RowSource,
    orthogonality_error,
    principal_components,
    principal_passes,
    refine_principal,
)
from skmoderndata._solvers.series.online_rules import PrincipalState, principal_rows
from skmoderndata.decomposition._online_base import AMNESIC_CONSTRAINTS, OnlineSubspace


class CCIPCA(OnlineSubspace):
    r"""Estimate principal components from one row at a time, without a covariance matrix.

    Candid covariance-free incremental principal component analysis [1]_ keeps one vector
    :math:`v_j` for each component: its direction is the component, its norm the variance. Starting
    from the residual :math:`r_1`, the row minus the running mean, each row updates, for j = 1,
    ..., k,

    .. math::

        v_j \leftarrow (1 - \eta_t)\, v_j + \eta_t \, r_j r_j^\top \frac{v_j}{\|v_j\|},
        \qquad
        r_{j+1} = r_j - r_j^\top \frac{v_j}{\|v_j\|} \, \frac{v_j}{\|v_j\|} .

    With the rate :math:`\eta_t = (1 + \ell(t)) / t`, :math:`v_j` is an amnesic mean:
    :math:`\ell > 0` gives later rows more weight, because earlier rows were processed with worse
    estimates of the directions. No step size has to be tuned.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, reduced to the number of features with a warning if it is larger.
        None uses ``min(n_samples, n_features)`` in `fit` and ``n_features`` in `partial_fit`.

    whiten : bool, default=False
        If True, the outputs are divided by their standard deviations.

    amnesic : float, default=2.0
        Final memory loss :math:`\ell`, usually 2 to 4. 0 gives all rows equal weight, which is
        better in a single pass if the variances are well separated.

    amnesic_ramp : tuple of two int, default=(20, 200)
        Number of rows up to which the memory loss is 0, and from which it is `amnesic`; linear
        in between.

    amnesic_growth : float or None, default=None
        Number of rows after the ramp in which the memory loss grows by one (2000 in [1]_), so that
        the memory extends over about this many rows. None keeps the memory loss at `amnesic`,
        which converges for data without drift.

    min_learning_rate : float, default=0.0
        Smallest rate, up to 0.5. A positive value follows drifting data with a memory of about
        ``1 / min_learning_rate`` rows.

    shuffle : bool, default=True
        If True, `fit` processes the rows in a new random order in each pass. `partial_fit` never
        shuffles.

    refine : bool, default=True
        If True, `fit` ends with one step of orthogonal iteration, which multiplies the subspace
        by the covariance of the rows, and a Rayleigh-Ritz step, which diagonalises the covariance
        inside the subspace. Both cost less than a pass. If False, the estimates of the rule above
        are returned.

    max_iter : int, default=100
        Largest number of passes over the rows in `fit`.

    tol : float or None, default=3e-3
        Tolerance of `fit`, which stops when a pass changes the subspace by less than this (see
        `subspace_change_`). None makes `max_iter` passes.

    random_state : int, RandomState instance or None, default=None
        Seed or generator of the order of the rows if `shuffle` is True.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows in descending order of variance; the entry of largest magnitude in each is
        positive. Components without variance are zero.

    explained_variance_ : ndarray of shape (n_components,)
        Variance along each component, with divisor n; always float64.

    explained_variance_ratio_ : ndarray of shape (n_components,)
        Explained variance divided by the total variance; 0 if the total variance is 0.

    singular_values_ : ndarray of shape (n_components,)
        Singular values, ``sqrt(n_samples_seen_ * explained_variance_)``.

    noise_variance_ : float
        Mean variance of the omitted directions; 0 if there are none.

    mean_ : ndarray of shape (n_features,)
        Mean of the rows: exact after `fit`, amnesic after `partial_fit`.

    n_components_ : int
        Number of components.

    n_samples_seen_ : int
        Number of rows seen. The rows of `fit` count once, whatever the number of passes.

    orthogonality_error_ : float
        Largest inner product of two vectors :math:`v_i, v_j`, scaled to unit norm, before they
        were orthonormalised. The rule makes them orthogonal only in the limit.

    n_iter_ : int
        Number of passes of `fit`.

    subspace_change_ : float
        Stopping criterion of `fit`: the relative change of the captured standard deviation in the
        last pass, between 0 and 1; infinite after a single pass.

    eigen_residuals_ : ndarray of shape (n_components,)
        Residuals ``|C v - lambda v|`` of the components after `fit`, divided by the largest
        lambda, with the covariance C of the rows; 0 for exact eigenvectors. `partial_fit` removes
        the attribute.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.IncrementalPCA : Uses singular value decompositions of batches of rows.
        It needs more work for each row, but has no rate.
    sklearn.decomposition.PCA : The exact solution, for rows that fit into memory.
    MinorComponentAnalysis : Directions of smallest variance, one row at a time.

    Notes
    -----
    One row costs ``8 n_features n_components`` operations; no memory is needed beyond the
    components.

    The result of `partial_fit` depends only on the order of the rows: it is bitwise independent of
    how they are divided into calls. Rows sorted by class give worse estimates than shuffled rows.
    `fit` centres the rows at their exact mean and makes passes over them until the subspace
    converges.

    Two details differ from [1]_. A component is initialised with ``eta r r'`` instead of the
    residual `r`, so that its norm is a variance from the start and the result does not depend on
    the unit of the data. The mean before the row is subtracted, and the residual has the factor
    ``sqrt(1 - eta)``, so that for one feature the variance is exact, as in Welford's formula. With
    the mean after the row, the first residual would be zero and the first component undefined.

    Components with nearly equal variances remain exchanged and mixed for a long time. Only their
    span is reliable.

    References
    ----------
    .. [1] J. Weng, Y. Zhang and W.-S. Hwang, "Candid covariance-free incremental principal
       component analysis", IEEE Transactions on Pattern Analysis and Machine Intelligence 25(8),
       2003, pp. 1034-1040, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.decomposition import CCIPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 5)) * [5, 3, 1, 1, 1]
    >>> pca = CCIPCA(n_components=2, random_state=0).fit(X)
    >>> abs(pca.components_).round(1)
    array([[1., 0., 0., 0., 0.],
           [0., 1., 0., 0., 0.]])
    >>> stream = CCIPCA(n_components=2)
    >>> for chunk in np.split(X, 10):
    ...     stream = stream.partial_fit(chunk)
    >>> stream.n_samples_seen_
    1000
    """

    _card = MethodCard(
        family="principal components",
        cite=("weng2003candid",),
        cost="8 n p k T",
        tier="textbook",
        instead="Use `IncrementalPCA`: on digits in batches, its components explain as much "
        "variance in a fraction of the time.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, None],
        "whiten": ["boolean"],
        **AMNESIC_CONSTRAINTS,
        "shuffle": ["boolean"],
        "refine": ["boolean"],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE, None],
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=None,
        *,
        whiten=False,
        amnesic=2.0,
        amnesic_ramp=(20, 200),
        amnesic_growth=None,
        min_learning_rate=0.0,
        shuffle=True,
        refine=True,
        max_iter=100,
        tol=3e-3,
        random_state=None,
    ):
        self.n_components = n_components
        self.whiten = whiten
        self.amnesic = amnesic
        self.amnesic_ramp = amnesic_ramp
        self.amnesic_growth = amnesic_growth
        self.min_learning_rate = min_learning_rate
        self.shuffle = shuffle
        self.refine = refine
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _learn(self, X, y):
        n, p = X.shape
        k = self._number_of_components(p, default=min(n, p))
        schedule = self._schedule()
        rng = check_random_state(self.random_state)

        # compute the exact mean and total variance before the first pass
        source = RowSource(X)
        mean, total = source.moments()
        state = PrincipalState.empty(k, p)
        state.mean[:] = mean

        with FitProgress(self, X, y, max_passes=self.max_iter, task_name="pass") as progress:
            orders = self._orders(n, rng)
            passes = principal_passes(
                source,
                state,
                schedule,
                orders,
                max_iter=self.max_iter,
                tol=self.tol,
                progress=progress,
            )

        # measure the orthogonality error before refining, so that it shows the convergence of the
        # passes alone
        error = orthogonality_error(state.V)
        if self.refine:
            V, lam = refine_principal(source, mean, state.V)
            state.V[:] = V
            state.lam[:] = lam
        state.total[:] = total
        state.n_seen[:] = n

        self._publish(state, X.dtype, error)
        lam = self.explained_variance_
        remedy = "increase max_iter or tol, or lower n_components"
        self._judge(source, mean, passes, lam, lam[0], remedy)

    def _follow(self, X, first):
        p = X.shape[1]
        k = self._number_of_components(p, default=p if first else len(self.components_))
        schedule = self._schedule()
        if first:
            state = PrincipalState.empty(k, p)
        else:
            self._refuse_other_number(k, len(self._state.lam))
            state = self._state.copy()

        # make one pass without shuffling
        work = np.empty(p)
        for block in RowSource(X).blocks():
            principal_rows(block, True, state, schedule, work)
        self._publish(state, X.dtype, orthogonality_error(state.V))

    @by_rows
    def transform(self, X):
        """Project rows onto the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Coordinates; 0 for components without variance.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        Z = self._coordinates(X)
        if self.whiten:
            Z /= self._scales(Z.dtype)
        return Z.astype(X.dtype, copy=False)

    @by_rows
    def inverse_transform(self, X):
        """Map coordinates back to rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Coordinates.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Rows in the subspace with these coordinates.
        """
        check_is_fitted(self)
        Z = check_array(X, dtype=FLOATS)
        if Z.shape[1] != len(self.components_):
            raise ValueError(
                f"CCIPCA.inverse_transform needs n_components={len(self.components_)} columns, "
                f"got {Z.shape[1]}."
            )
        if self.whiten:
            Z = Z * self._scales(Z.dtype)
        X = Z @ self.components_ + self.mean_
        return X.astype(Z.dtype, copy=False)

    def to_sklearn(self):
        """Return the model as a `PCA`, with the same outputs.

        Returns
        -------
        transformer : PCA
            The components, divided by their standard deviations if `whiten` is set.
        """
        check_is_fitted(self)
        components = self.components_
        if self.whiten:
            components = components / self._scales(components.dtype)[:, None]
        return described(self, projection(components, self.mean_))

    @in_memory
    def score(self, X, y=None):
        """Compute the negative relative squared reconstruction error of X.

        ``-|X - X_hat|^2 / |X - mean_|^2``: 0 is perfect, and one plus the score is the explained
        variance ratio on these rows. The score increases with `n_components`; to choose that
        number, use the score of a later step in a pipeline.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        y : Ignored
            Not used, present by convention.

        Returns
        -------
        score : float
            Score between -1 and 0; 0 if every row equals the mean.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        _, missed = self._fractions(X)
        return -missed

    def _number_of_components(self, n_features, *, default):
        if self.n_components is None:
            return default
        reason = f"the number {n_features} of features"
        return self._at_most(int(self.n_components), n_features, reason)

    def _scales(self, dtype):
        """Return standard deviations, 1 in place of 0."""
        scales = np.sqrt(self.explained_variance_)
        scales = np.where(scales > 0, scales, 1.0)
        return scales.astype(dtype)

    def _publish(self, state, dtype, error):
        Q, lam = principal_components(state)
        k, p = Q.shape
        n = int(state.n_seen[0])
        total = float(state.total[0])
        self._state = state

        # make the components orthonormal, and the largest entry of each one positive
        self.components_ = fix_signs(Q).astype(dtype, copy=False)
        self.mean_ = state.mean.astype(dtype)
        self.explained_variance_ = lam
        self.explained_variance_ratio_ = lam / total if total > 0 else np.zeros(k)
        self.singular_values_ = np.sqrt(n * lam)

        # compute the mean variance in the omitted directions
        unexplained = max(total - float(lam.sum()), 0.0)
        self.noise_variance_ = unexplained / (p - k) if p > k else 0.0
        self.n_components_ = k
        self.n_samples_seen_ = n
        self.orthogonality_error_ = error

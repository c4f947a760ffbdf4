"""Online minor component analysis."""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import FitProgress
from skmoderndata._estimator.compat import AT_LEAST_ONE, NON_NEGATIVE
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.export import described, projection
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.series.online_components import (
    RowSource,
    clock_of_rate,
    minor_components,
    minor_passes,
    orthonormal_rows,
    refine_minor,
)
from skmoderndata._solvers.series.online_rules import MinorState, PrincipalState, minor_rows
from skmoderndata.decomposition._online_base import (
    AMNESIC_CONSTRAINTS,
    RATE_CONSTRAINTS,
    OnlineSubspace,
)


class MinorComponentAnalysis(OnlineSubspace):
    r"""Estimate the directions of smallest variance from one row at a time.

    Successively minimises :math:`w_j^\top C w_j` over orthonormal :math:`w_1, \dots, w_k` with
    the covariance C, which is never formed. The matrix :math:`\gamma I - C` with :math:`\gamma`
    at least the largest eigenvalue of C has the eigenvectors of C in opposite order. The rule of
    online principal components is applied to this matrix, with sequential deflation [1]_: for
    each centred row u and j = 1, ..., k,

    .. math::

        w_j \leftarrow (1 - \eta)\, w_j - \frac{\eta}{\gamma} (u^\top w_j)\, u, \qquad
        w_j \leftarrow w_j - \sum_{i < j} (w_i^\top w_j)\, w_i, \qquad
        w_j \leftarrow w_j / \|w_j\| .

    The estimate of :math:`\gamma` is the first variance of :class:`CCIPCA` on the same rows.

    Parameters
    ----------
    n_components : int, default=1
        Number of components, reduced to the number of features with a warning if it is larger.

    learning_rate : float, default=0.08
        Rate :math:`\eta` of the first rows of a stream, below 1.

    learning_rate_hold : float, default=1000
        Number of rows after which the learning rate of a stream decreases as one over the number
        of rows. Larger values suit spectra whose smallest eigenvalues are close together, relative
        to the largest.

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

    shuffle : bool, default=True
        If True, `fit` processes the rows in a new random order in each pass. `partial_fit` never
        shuffles.

    refine : bool, default=True
        If True, `fit` refines the estimates with all rows: the learning rate is 0.9 at first and
        is multiplied by 0.7 after each pass that lowers the variance inside the subspace by less
        than one per cent, and a final Rayleigh-Ritz step diagonalises the covariance of the rows
        inside the subspace. If False, `fit` repeats the rule above with the learning rate of a
        stream.

    max_iter : int, default=100
        Largest number of passes over the rows in `fit`.

    tol : float or None, default=1e-2
        Tolerance of `fit`, which stops when a pass rotates the subspace by less than this (see
        `subspace_change_`). None makes `max_iter` passes.

    random_state : int, RandomState instance or None, default=None
        Seed or generator of the initial directions, and of the order of the rows if `shuffle` is
        True. Pass an int for reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows in ascending order of variance; the entry of largest magnitude in each is
        positive.

    eigenvalues_ : ndarray of shape (n_components,)
        Variance along each component, with divisor n; always float64. Exact after `fit` with
        `refine`, otherwise a running estimate.

    largest_variance_ : float
        Estimate of the largest variance of any direction.

    mean_ : ndarray of shape (n_features,)
        Mean of the rows: exact after `fit`, amnesic after `partial_fit`.

    n_samples_seen_ : int
        Number of rows seen. The rows of `fit` count once, whatever the number of passes.

    n_iter_ : int
        Number of passes of `fit`.

    subspace_change_ : float
        Stopping criterion of `fit`: sine of the largest principal angle between the subspaces
        before and after the last pass; infinite after a single pass.

    eigen_residuals_ : ndarray of shape (n_components,)
        Residuals ``|C w - lambda w| / largest_variance_`` of the components after `fit`, with the
        covariance C of the rows; 0 for exact eigenvectors. `partial_fit` removes the attribute.

    n_features_in_ : int
        Number of features seen during `fit`.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    CCIPCA : Directions of largest variance, one row at a time.
    sklearn.decomposition.PCA : Its last components are the exact solution, if the rows and a
        square matrix fit into memory.

    Notes
    -----
    One row costs ``4 n_features n_components (n_components + 2)`` operations.

    The speed of convergence depends on the gap between the smallest eigenvalues and the next one,
    relative to the largest. A gap of one in a thousand needs several thousand rows at the full
    rate; standardise the features, or remove large components first, if their variance is
    irrelevant. A small `subspace_change_` shows that the estimate is stationary, not that it is
    correct: check `eigen_residuals_`.

    In [1]_ the deflation removes the fraction :math:`\eta` of :math:`w_i^\top w_j` with each row.
    While :math:`\gamma` is underestimated this is insufficient, and two components can become
    equal and remain so; this class removes the full inner product, which has the same limit.

    Gradient descent on :math:`w^\top C w` with a row in place of C overshoots if the norm of the
    row is large. Here the step is implicit (a proximal step), with the factor
    :math:`\eta / (\gamma (1 - \eta) + \eta \|u\|^2)`; it equals the rule above for small rates
    and is stable for every row.

    Constant features and directions that the rows do not span are minor components of variance 0;
    their basis depends on `random_state`.

    The result of `partial_fit` depends only on the order of the rows and on `random_state`: any
    division of the rows into calls gives bitwise identical results.

    References
    ----------
    .. [1] V. R. Kompella, M. Luciw and J. Schmidhuber, "Incremental slow feature analysis:
       adaptive low-complexity slow feature updating from high-dimensional input streams", Neural
       Computation 24(11), 2012, pp. 2994-3024, section 3.
    .. [2] D. Peng, Z. Yi and W. Luo, "Convergence analysis of a simple minor component analysis
       algorithm", Neural Networks 20(7), 2007, pp. 842-850.

    Examples
    --------
    Fit a plane through noisy points by its normal vector:

    >>> import numpy as np
    >>> from skmoderndata.decomposition import MinorComponentAnalysis
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> X[:, 2] = X[:, 0] + 2 * X[:, 1] + 0.01 * rng.normal(size=2000)
    >>> mca = MinorComponentAnalysis(random_state=0).fit(X)
    >>> normal = mca.components_[0]
    >>> (normal / normal[2]).round(2)
    array([-1., -2.,  1.])
    """

    _card = MethodCard(
        family="principal components",
        cite=("kompella2012incremental", "peng2007convergence"),
        cost="4 n p k (k + 2) T",
        tier="textbook",
        instead="Use the last components of `PCA`: they are exact, and a stream needs only sums "
        "of products.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        **RATE_CONSTRAINTS,
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
        n_components=1,
        *,
        learning_rate=0.08,
        learning_rate_hold=1000,
        amnesic=2.0,
        amnesic_ramp=(20, 200),
        amnesic_growth=None,
        min_learning_rate=0.0,
        shuffle=True,
        refine=True,
        max_iter=100,
        tol=1e-2,
        random_state=None,
    ):
        self.n_components = n_components
        self.learning_rate = learning_rate
        self.learning_rate_hold = learning_rate_hold
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
        schedule = self._schedule()
        step = self._step()
        rng = check_random_state(self.random_state)
        state = self._start(p, rng)

        source = RowSource(X)
        mean = source.moments()[0]

        with FitProgress(self, X, y, max_passes=self.max_iter, task_name="pass") as progress:
            passes, rate = minor_passes(
                source,
                mean,
                state,
                schedule,
                None if self.refine else step,
                self._orders(n, rng),
                max_iter=self.max_iter,
                tol=self.tol,
                progress=progress,
            )

        if self.refine:
            state.W[:], state.eigenvalues[:] = refine_minor(source, mean, state.W)
        # `partial_fit` continues with rows of weight 1 / n, at the learning rate that this fit has
        # reached.
        state.n_seen[:] = n, clock_of_rate(step, rate)

        self._publish(PrincipalState.empty(0, p)._replace(mean=mean), state, X.dtype)
        remedy = "increase max_iter or tol" + (
            "" if self.refine else ", or lower learning_rate_hold"
        )
        self._judge(source, mean, passes, np.sort(state.eigenvalues), state.gamma[0], remedy)

    def _follow(self, X, first):
        p = X.shape[1]
        schedule = self._schedule()
        step = self._step()
        if first:
            state = self._start(p, check_random_state(self.random_state))
            moving = PrincipalState.empty(0, p)
        else:
            moving, state = (array.copy() for array in self._state)
            self._refuse_other_number(self._number_of_components(p), len(state.W))
        # The row count continues from the count in `fit`, which counted each row once.
        moving.n_seen[:] = state.n_seen[0]
        work = np.empty((2, p))
        for block in RowSource(X).blocks():
            minor_rows(block, True, moving, state, schedule, step, work)
        self._publish(moving, state, X.dtype)

    @by_rows
    def transform(self, X):
        """Project rows onto the minor components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Signed distances from the hyperplanes through the mean with the components as normal
            vectors.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        return self._coordinates(X).astype(X.dtype, copy=False)

    def to_sklearn(self):
        """Return the model as a `PCA`, with the same outputs.

        Returns
        -------
        transformer : PCA
            The minor components as `components_`.
        """
        check_is_fitted(self)
        return described(self, projection(self.components_, self.mean_))

    @in_memory
    def score(self, X, y=None):
        """Compute the negative fraction of the variance of X in the minor subspace.

        ``-|transform(X)|^2 / |X - mean_|^2``: 0 if the rows lie on the hyperplanes. The score
        decreases with `n_components`; to choose that number, inspect `eigenvalues_`.

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
        return -self._fractions(self._check(X, reset=False))[0]

    def _number_of_components(self, n_features):
        reason = f"the number {n_features} of features"
        return self._at_most(int(self.n_components), n_features, reason)

    def _start(self, n_features, rng):
        W = rng.standard_normal((self._number_of_components(n_features), n_features))
        return MinorState.start(orthonormal_rows(W))

    def _publish(self, moving, state, dtype):
        W, lam = minor_components(state)
        self._state = moving, state
        self.components_ = fix_signs(W).astype(dtype, copy=False)
        self.eigenvalues_ = lam
        self.largest_variance_ = float(state.gamma[0])
        self.mean_ = moving.mean.astype(dtype)
        self.n_samples_seen_ = int(state.n_seen[0])

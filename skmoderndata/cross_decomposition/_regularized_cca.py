"""Canonical correlation analysis of two views with regularised covariances."""

import numpy as np

from skmoderndata._estimator.compat import AT_LEAST_ONE, NON_NEGATIVE, StrOptions
from skmoderndata._estimator.registry import MethodCard
from skmoderndata.cross_decomposition._base import AGAINST_CCA, PAIRS, SecondViewPredictor
from skmoderndata.cross_decomposition._linear_base import (
    LinearViews,
    alpha_of_folds,
    solve_linear,
)


class RegularizedCCA(SecondViewPredictor, LinearViews):
    r"""Estimate linear functions of two views with maximum correlation and shrunk covariances.

    For centred views with covariances :math:`C_{aa}, C_{bb}, C_{ab}`, `fit` solves, successively
    for each pair of directions [1]_,

    .. math::
        \max_{w_a, w_b}\ w_a^\top C_{ab}\, w_b \quad\text{subject to}\quad
        (1 - \tau)\, w_v^\top C_{vv}\, w_v + \tau\, \|w_v\|^2 = 1,\quad v = a, b.

    :math:`\tau = 0` is canonical correlation analysis, :math:`\tau = 1` finds the directions of
    maximum covariance. Covariances have the divisor n.

    Parameters
    ----------
    n_components : int, default=2
        Number of pairs, reduced to the smaller rank with a warning if it is larger.
    alpha : float, list of float or "auto", default="auto"
        Weight :math:`\tau` of the norm, between 0 and 1; a single value or one for each view. 0 is
        refused if the columns suffice to fit any data. "auto" takes, of twelve values between
        1e-6 and 0.99, the one for which the scores of held-out rows correlate most, by five-fold
        cross-validation.
    scale : bool, default=True
        Whether to divide the columns by their standard deviations, so that their units do not
        matter. It has no effect for ``alpha=0``.
    view_slices : list of slice or of pairs of int, default=None
        Columns of each view in a single array, which Pipeline and GridSearchCV require. None means
        that the views are separate arrays.

    Attributes
    ----------
    alpha_ : ndarray of shape (2,)
        Regularisation of each view.
    correlations_ : ndarray of shape (n_components_,)
        Weighted correlations of the training scores. Components are in the order of
        `regularized_correlations_`.
    regularized_correlations_ : ndarray of shape (n_components_,)
        Maxima of the problem, in descending order, between 0 and ``1 / (1 - alpha)``; equal to
        `correlations_` for ``alpha=0``.
    weights_ : list of two ndarray of shape (n_features_of_view, n_components_)
        Directions of each view in the units of X: scores are ``(X - mean) @ weights``. The
        largest entry of each direction of the first view, times `scales_`, is positive.
    x_weights_, y_weights_ : ndarray of shape (n_features_of_view, n_components_)
        The two entries of `weights_`.
    means_ : list of two ndarray
        Means of the columns.
    scales_ : list of two ndarray
        Standard deviations of the columns (with divisor n), ones with ``scale=False``.
    ranks_ : ndarray of shape (2,)
        Ranks of the centred views.
    prediction_coef_ : ndarray of shape (n_components_, n_targets)
        Slopes of `predict`: least squares of the second view on the scores of the first.
    prediction_intercept_ : ndarray of shape (n_targets,)
        Constants of `predict`.
    residual_ : float
        Certificate: the largest violation of the stationarity conditions, relative to the largest
        correlation.
    n_components_ : int
        Number of pairs.
    n_iter_ : int
        1, the problem being solved directly.
    n_views_ : int
        2.
    n_features_in_ : int
        Number of columns of the first view, or of both with `view_slices`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of these columns, if they are all strings.

    See Also
    --------
    sklearn.cross_decomposition.CCA : No regularisation; computes pairs successively by power
        iteration.
    skmoderndata.cross_decomposition.KernelCCA : Nonlinear functions.
    skmoderndata.cross_decomposition.MultisetCCA : More than two views.

    Notes
    -----
    Each view is whitened in the eigenvectors of its covariance (its singular vectors for small
    `alpha`, or with more columns than rows); the pairs are a singular value decomposition of the
    whitened cross-covariance. Cost ``n p^2`` for p columns, or ``n^2 p`` if p is larger than n;
    six times that for ``alpha="auto"``, which decomposes each fold once for all values. Folds
    depend on the values of the rows alone: their order does not matter, and copies share a fold.

    float32 input is computed in float64 and returned as float32. Sparse views are never made
    dense: their covariance is formed, or the inner products of their rows, whichever is smaller.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, Cambridge University
       Press, 2004, computation 6.34.
    .. [2] Vinod, Canonical ridge and econometrics of joint production, Journal of Econometrics
       4(2), 1976.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.cross_decomposition import RegularizedCCA
    >>> rng = np.random.default_rng(0)
    >>> common = rng.normal(size=(120, 1))
    >>> X = common + 2 * rng.normal(size=(120, 25))
    >>> Y = common + 2 * rng.normal(size=(120, 25))
    >>> cca = RegularizedCCA(1).fit(X[:60], Y[:60])
    >>> plain = RegularizedCCA(1, alpha=0).fit(X[:60], Y[:60])
    >>> round(float(plain.correlations_[0]), 2)          # noise is fitted
    0.99
    >>> round(cca.score(X[60:], Y[60:]), 1), round(plain.score(X[60:], Y[60:]), 1)
    (0.9, 0.1)
    >>> cca.predict(X[60:]).shape                        # the second view that is expected
    (60, 25)
    """

    _card = MethodCard(
        family="two and more views",
        cite=("shawetaylor2004kernel", "vinod1976canonical"),
        cost="n p min(n, p)",
        checks=(
            {"n_components": 1},
            {"alpha": 0.5, "scale": False, "n_components": 1},
            {"scale": False, "n_components": 1},
        ),
        known_failures=PAIRS,
        tier="standard",
        instead="PCA of both views, its number of components cross-validated, then CCA, finds "
        "pairs that correlate as much.",
        comparison=AGAINST_CCA,
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        "alpha": [NON_NEGATIVE, StrOptions({"auto"}), list, tuple],
        "scale": ["boolean"],
        "view_slices": [list, tuple, None],
    }

    def __init__(self, n_components=2, *, alpha="auto", scale=True, view_slices=None):
        self.n_components = n_components
        self.alpha = alpha
        self.scale = scale
        self.view_slices = view_slices

    def _fit_views(self, views, samples, progress):
        if len(views) != 2:
            raise ValueError(
                f"RegularizedCCA takes two views, and received {len(views)}: MultisetCCA takes "
                "any number."
            )

        # 1. penalties: given, or by the held-out correlation of rows left out
        if self.alpha == "auto":
            alpha = alpha_of_folds(views, samples, scale=self.scale, k=self.n_components)
            alphas = [alpha, alpha]
        else:
            alphas = self._alphas(2)

        # 2. canonical pairs of the whitened views
        solution = solve_linear(
            views,
            samples,
            alphas=alphas,
            scale=self.scale,
            k=self.n_components,
            name="RegularizedCCA",
            progress=progress,
        )
        self._store(solution, samples, progress)
        self._store_prediction(views, samples, solution.scores)
        self.alpha_ = np.array(alphas, dtype=np.float64)

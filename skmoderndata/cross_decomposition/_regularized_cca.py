"""Canonical correlation analysis of two and more views with regularised covariances."""

import numpy as np

from skmoderndata._estimator.compat import AT_LEAST_ONE, NON_NEGATIVE, StrOptions
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata.cross_decomposition._base import warn_of_moving
from skmoderndata.cross_decomposition._confounders_base import PartialViews
from skmoderndata.cross_decomposition._linear_base import alpha_of_folds, solve_linear


class RegularizedCCA(PartialViews):
    r"""Estimate linear functions of two or more views with maximum correlation.

    For centred views with covariances :math:`C_{vv}` and cross-covariances :math:`C_{uv}`, and
    with regularised variances :math:`s_v(w) = (1 - \tau)\, w^\top C_{vv} w + \tau \|w\|^2`, `fit`
    solves for two views, successively for each pair of directions [1]_,

    .. math::
        \max_{w_a, w_b}\ w_a^\top C_{ab}\, w_b \quad\text{subject to}\quad
        s_a(w_a) = s_b(w_b) = 1.

    :math:`\tau = 0` is canonical correlation analysis; :math:`\tau = 1` finds the directions of
    maximum covariance. Covariances have the divisor n. For V views, ``criterion="maxvar"`` and
    ``"sumcor"`` solve [3]_

    .. math::
        \max\ \frac{1}{V (V - 1)} \sum_{u \neq v} w_u^\top C_{uv}\, w_v
        \quad\text{subject to}\quad \tfrac{1}{V} \textstyle\sum_v s_v(w_v) = 1
        \quad\text{or}\quad s_v(w_v) = 1 \text{ for all } v,

    and ``"gcca"`` fits all views to a consensus [4]_

    .. math::
        \min_{Z, w_1, \dots, w_V}\ \sum_v \sum_{i\ \mathrm{has}\ v} (z_i - w_v^\top x_i^v)^2
        + \text{regularisation}.

    Parameters
    ----------
    n_components : int, default=2
        Number of components. If it exceeds the rank, it is reduced to the rank, with a warning.
    alpha : float, list of float or "auto", default="auto"
        Weight :math:`\tau` of the norm, between 0 and 1; a single value or one for each view. 0
        raises ValueError if the columns suffice to fit any data. "auto" chooses, from twelve
        values between 1e-6 and 0.99, the value for which the scores of held-out rows correlate
        most, by five-fold cross-validation over the rows that have all views.
    criterion : {"maxvar", "sumcor", "gcca"}, default="maxvar"
        Objective for more than two views, see above. "maxvar" and "gcca" are eigenproblems, which
        coincide without regularisation; "sumcor" is solved by block coordinate ascent over the
        views. For two views, "maxvar" and "sumcor" are the same. "gcca" allows views that are
        missing for some samples (rows of NaN).
    scale : bool, default=True
        Whether to divide the columns by their standard deviations, so that their units do not
        matter. It has no effect for ``alpha=0``.
    max_iter : int, default=1000
        Maximum number of passes over the views for one component, for "sumcor".
    tol : float, default=1e-9
        Maximum change of a direction of unit norm in the last pass, for "sumcor".
    view_slices : list of slice or of pairs of int, default=None
        Columns of each view in a single array, which Pipeline and GridSearchCV require. None means
        that the views are separate arrays.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_views_,)
        Regularisation of each view.
    correlations_ : ndarray of shape (n_components_,)
        Weighted correlations of the training scores, averaged over pairs of views. The components
        have the same order as in `regularized_correlations_`.
    regularized_correlations_ : ndarray of shape (n_components_,)
        Maxima of the problem, averaged over pairs of views, between 0 and ``1 / (1 - alpha)``;
        equal to `correlations_` for two views and ``alpha=0``. For "gcca", the eigenvalues on the
        same scale.
    weights_ : list of ndarray of shape (n_features_of_view, n_components_)
        Directions of each view in the units of X: scores are ``(X - mean) @ weights``. The
        largest entry of each direction of the first view, times `scales_`, is positive.
    x_weights_, y_weights_ : ndarray of shape (n_features_of_view, n_components_)
        The two entries of `weights_`, if there are two views.
    means_ : list of ndarray
        Means of the columns.
    scales_ : list of ndarray
        Standard deviations of the columns (with divisor n), ones with ``scale=False``.
    ranks_ : ndarray of shape (n_views_,)
        Ranks of the centred views.
    prediction_coef_ : ndarray of shape (n_components_, n_targets)
        Slopes of `predict`: least squares of the second view on the scores of the first.
    prediction_intercept_ : ndarray of shape (n_targets,)
        Constants of `predict`.
    confounder_means_ : ndarray of shape (n_confounders,) or None
        Means of the confounders; None if `fit` received none.
    confounder_coef_ : list of ndarray of shape (n_confounders, n_features_of_view) or None
        Slopes of the least squares fit of each view on the confounders, which are subtracted
        from the view as ``(confounders - confounder_means_) @ confounder_coef_[v]``.
    residual_ : float
        Certificate: the largest violation of the stationarity conditions, relative to the largest
        correlation.
    dual_gap_ : float
        Upper bound on the relative suboptimality of the sum of correlations, for "sumcor", from
        the eigenproblem of "maxvar". 0 for the eigenproblems.
    consensus_ : ndarray of shape (n_samples, n_components_)
        Consensus of the views for "gcca", scaled to mean square 1, where the weight of each sample
        is the number of views that are present.
    n_components_ : int
        Number of components.
    n_iter_ : int
        Number of passes; 1 for the eigenproblems, which are solved directly.
    n_views_ : int
        Number of views.
    n_features_in_ : int
        Number of columns of the first view, or of all views with `view_slices`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of these columns, if they are all strings.

    See Also
    --------
    sklearn.cross_decomposition.CCA : Has no regularisation; computes pairs successively by power
        iteration.
    skmoderndata.cross_decomposition.KernelCCA : Nonlinear functions.

    Notes
    -----
    Each view is whitened in the eigenvectors of its covariance (its singular vectors if `alpha` is
    small or the columns outnumber the rows); a singular value decomposition of the whitened
    cross-covariance gives the pairs. The cost is ``n p^2`` for p columns, or ``n^2 p`` if p is
    larger than n. ``alpha="auto"`` costs six times as much; it decomposes each fold once for all
    values. The folds depend only on the values of the rows: their order does not matter, and
    copies share a fold. With "sumcor", the folds are compared by "maxvar", which needs no ascent.

    For more than two views, `fit` solves an eigenproblem for a few eigenvalues; its size is the
    sum of the ranks (for "gcca", n if that is smaller). Components of "maxvar" have uncorrelated
    stacked scores; components of "sumcor" are uncorrelated in every view.

    With `confounders`, the analysis uses the residuals of each view after a least squares fit on
    the confounders (partial canonical correlations) [6]_. The means are unchanged, so scores are
    ``(X - (confounders - confounder_means_) @ confounder_coef_[v] - means_[v]) @ weights_[v]``.
    ``alpha="auto"`` compares held-out rows of the residuals. The residuals of n samples after q
    confounders vary in n - 1 - q directions only, and ``alpha=0`` counts these.

    float32 input is computed in float64 and returned as float32. Sparse views are never made
    dense: either their covariance or the inner products of their rows are formed, whichever is
    smaller.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, Cambridge University
       Press, 2004, computation 6.34.
    .. [2] Vinod, Canonical ridge and econometrics of joint production, Journal of Econometrics
       4(2), 1976.
    .. [3] Kettenring, Canonical analysis of several sets of variables, Biometrika 58(3), 1971.
    .. [4] Carroll, Generalization of canonical correlation analysis to three or more sets of
       variables, Proceedings of the American Psychological Association, 1968.
    .. [5] van de Velden and Bijmolt, Generalized canonical correlation analysis of matrices with
       missing rows, Psychometrika 71(2), 2006.
    .. [6] Rao, Partial canonical correlations, Trabajos de estadistica y de investigacion
       operativa 20(2-3), 1969.

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
    >>> round(float(plain.correlations_[0]), 2)          # overfitted
    0.99
    >>> round(cca.score(X[60:], Y[60:]), 1), round(plain.score(X[60:], Y[60:]), 1)
    (0.9, 0.1)
    >>> cca.predict(X[60:]).shape                        # predicted second view
    (60, 25)

    Age explains the relation of two views; nothing is left when its effect is removed:

    >>> age = rng.uniform(20, 80, size=(200, 1))
    >>> X = age / 20 + rng.normal(size=(200, 3))
    >>> Y = age / 20 + rng.normal(size=(200, 3))
    >>> cca = RegularizedCCA(1, alpha=0.1)
    >>> round(cca.fit(X[:150], Y[:150]).score(X[150:], Y[150:]), 1)
    0.7
    >>> partial = cca.fit(X[:150], Y[:150], confounders=age[:150])
    >>> abs(partial.score(X[150:], Y[150:], confounders=age[150:])) < 0.2
    True

    Three views, the last of which is missing for some samples:

    >>> common = rng.normal(size=(200, 1))
    >>> views = [common + rng.normal(size=(200, p)) for p in (4, 5, 6)]
    >>> views[2][:40] = np.nan
    >>> cca = RegularizedCCA(1, alpha=0.1, criterion="gcca").fit(views)
    >>> round(float(abs(np.corrcoef(cca.consensus_[:, 0], common[:, 0])[0, 1])), 1)
    1.0
    """

    _card = MethodCard(
        family="two and more views",
        cite=(
            "shawetaylor2004kernel",
            "vinod1976canonical",
            "kettenring1971canonical",
            "carroll1968generalization",
            "vandevelden2006generalized",
            "rao1969partial",
        ),
        cost="n p min(n, p)",
        tier="standard",
        instead="PCA of both views, its number of components cross-validated, then CCA, finds "
        "pairs that correlate as much.",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        "alpha": [NON_NEGATIVE, StrOptions({"auto"}), list, tuple],
        "criterion": [StrOptions({"maxvar", "sumcor", "gcca"})],
        "scale": ["boolean"],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "view_slices": [list, tuple, None],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=2,
        *,
        alpha="auto",
        criterion="maxvar",
        scale=True,
        max_iter=1000,
        tol=1e-9,
        view_slices=None,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.criterion = criterion
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.view_slices = view_slices

    def _fit_views(self, views, samples, progress):
        # 1. Use the given penalties, or choose them by the correlation on held-out rows.
        if self.alpha == "auto":
            judged = "gcca" if self.criterion == "gcca" else "maxvar"
            alpha = alpha_of_folds(
                views,
                samples,
                scale=self.scale,
                k=self.n_components,
                criterion=judged,
                name="RegularizedCCA",
            )
            alphas = [alpha] * len(views)
        else:
            alphas = self._alphas(len(views))

        # 2. Compute canonical components of the whitened views.
        solution = solve_linear(
            views,
            samples,
            alphas=alphas,
            scale=self.scale,
            k=self.n_components,
            name="RegularizedCCA",
            criterion=self.criterion,
            max_iter=self.max_iter,
            tol=self.tol,
            progress=progress,
        )
        self._store(solution, samples, progress)
        self._store_prediction(views, samples, solution.scores)
        self.alpha_ = np.array(alphas, dtype=np.float64)

        # 3. Store the certificate and the consensus.
        pairs = solution.pairs
        self.dual_gap_ = float(pairs.gap)
        if pairs.consensus is not None:
            self.consensus_ = pairs.consensus
        iterative = self.criterion == "sumcor" and len(views) > 2
        if iterative and self.residual_ > self.tol:
            warn_of_moving(self)

    @property
    def _missing_remedy(self):
        return (
            "criterion='gcca' accepts such views, "
            f"criterion={self.criterion!r} does not: set the former"
        )

    def _allows_missing(self):
        return self.criterion == "gcca"

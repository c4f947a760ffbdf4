"""Canonical correlation analysis of more than two views."""

from skmoderndata._estimator.compat import AT_LEAST_ONE, NON_NEGATIVE, StrOptions
from skmoderndata._estimator.registry import Comparison, MethodCard
from skmoderndata.cross_decomposition._base import LABELS, PAIRS, warn_of_moving
from skmoderndata.cross_decomposition._linear_base import LinearViews, solve_linear


class MultisetCCA(LinearViews):
    r"""Estimate linear functions of several views with maximum mutual correlation.

    With regularised variances :math:`s_v(w) = (1 - \tau)\, w^\top C_{vv} w + \tau \|w\|^2` of V
    views, ``criterion="maxvar"`` and ``"sumcor"`` solve [1]_

    .. math::
        \max\ \frac{1}{V (V - 1)} \sum_{u \neq v} w_u^\top C_{uv}\, w_v
        \quad\text{subject to}\quad \tfrac{1}{V} \textstyle\sum_v s_v(w_v) = 1
        \quad\text{or}\quad s_v(w_v) = 1 \text{ for all } v,

    and ``"gcca"`` the fit of a consensus [2]_

    .. math::
        \min_{Z, w_1, \dots, w_V}\ \sum_v \sum_{i\ \mathrm{has}\ v} (z_i - w_v^\top x_i^v)^2
        + \text{regularisation}.

    Parameters
    ----------
    n_components : int, default=2
        Number of components, reduced to the rank with a warning if it is larger.
    criterion : {"maxvar", "sumcor", "gcca"}, default="maxvar"
        Objective, see above. "maxvar" and "gcca" are eigenproblems, which coincide without
        regularisation; "sumcor" is solved by block coordinate ascent over the views. "gcca" allows
        views that are missing for some samples (rows of NaN).
    alpha : float or list of float, default=0.1
        Weight :math:`\tau` of the norm, between 0 and 1; a single value or one for each view.
    scale : bool, default=True
        Whether to divide the columns by their standard deviations, so that their units do not
        matter. It has no effect for ``alpha=0``.
    max_iter : int, default=1000
        Largest number of passes over the views for one component, for "sumcor".
    tol : float, default=1e-9
        Largest change of a direction of unit norm in the last pass, for "sumcor".
    view_slices : list of slice or of pairs of int, default=None
        Columns of each view in a single array, which Pipeline and GridSearchCV require. None means
        that the views are separate arrays.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components_,)
        Weighted correlations of the training scores, averaged over pairs of views. Components are
        in the order of `regularized_correlations_`.
    regularized_correlations_ : ndarray of shape (n_components_,)
        Maxima of the problem: regularised correlations, averaged over pairs of views. For "gcca"
        the eigenvalue on the same scale, equal to it without regularisation.
    weights_ : list of ndarray of shape (n_features_of_view, n_components_)
        Directions of each view in the units of X: scores are ``(X - mean) @ weights``. The
        largest entry of each direction of the first view, times `scales_`, is positive.
    x_weights_, y_weights_ : ndarray of shape (n_features_of_view, n_components_)
        The two entries of `weights_`, where there are two views.
    means_ : list of ndarray
        Means of the columns.
    scales_ : list of ndarray
        Standard deviations of the columns (with divisor n), ones with ``scale=False``.
    ranks_ : ndarray of shape (n_views_,)
        Ranks of the centred views.
    residual_ : float
        Certificate: the largest violation of the stationarity conditions.
    dual_gap_ : float
        For "sumcor", an upper bound on the relative suboptimality of the sum of correlations, from
        the eigenproblem of "maxvar". 0 for the eigenproblems.
    consensus_ : ndarray of shape (n_samples, n_components_)
        For "gcca": consensus of the views, with mean square 1, where each sample is weighted by
        its number of present views.
    n_components_ : int
        Number of components.
    n_iter_ : int
        Number of passes.
    n_views_ : int
        Number of views.
    n_features_in_ : int
        Number of columns of the first view, or of all with `view_slices`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of these columns, if they are all strings.

    See Also
    --------
    skmoderndata.cross_decomposition.RegularizedCCA : Two views.
    skmoderndata.cross_decomposition.KernelCCA : Nonlinear functions of any number of views.
    sklearn.cross_decomposition.CCA : Two views, without regularisation.

    Notes
    -----
    Each view is whitened first, at ``n p^2`` operations; then an eigenproblem of the size of the
    sum of the ranks is solved for a few eigenvalues (for "gcca" of n if that is smaller).
    Components of "maxvar" have uncorrelated stacked scores, those of "sumcor" are uncorrelated in
    every view. For two views "maxvar" and "sumcor" equal `RegularizedCCA`.

    float32 input is computed in float64 and returned as float32. Sparse views remain sparse: only
    their covariance or the Gram matrix of their rows is formed, whichever is smaller. Passes are
    reported to callbacks.

    References
    ----------
    .. [1] Kettenring, Canonical analysis of several sets of variables, Biometrika 58(3), 1971.
    .. [2] Carroll, Generalization of canonical correlation analysis to three or more sets of
       variables, Proceedings of the American Psychological Association, 1968.
    .. [3] van de Velden and Bijmolt, Generalized canonical correlation analysis of matrices with
       missing rows, Psychometrika 71(2), 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.cross_decomposition import MultisetCCA
    >>> rng = np.random.default_rng(0)
    >>> common = rng.normal(size=(200, 1))
    >>> views = [common + rng.normal(size=(200, p)) for p in (4, 5, 6)]
    >>> views[2][:40] = np.nan                       # not measured
    >>> cca = MultisetCCA(1, criterion="gcca").fit(views)
    >>> round(float(abs(np.corrcoef(cca.consensus_[:, 0], common[:, 0])[0, 1])), 2)
    0.96
    """

    _card = MethodCard(
        family="two and more views",
        cite=(
            "kettenring1971canonical",
            "carroll1968generalization",
            "vandevelden2006generalized",
        ),
        cost="n p min(n, p)",
        checks=(
            {"n_components": 1},
            {"criterion": "sumcor", "alpha": 0.5, "n_components": 1},
            {"criterion": "gcca", "scale": False},
        ),
        known_failures=PAIRS | {"check_transformer_n_iter": LABELS},
        tier="standard",
        instead="PCA of tables that PCA with `whiten=True` has whitened, side by side, missing "
        "parts zero and each row divided by the root of its number of tables, finds "
        "common factors as well in the same time.",
        comparison=Comparison(
            baseline="sklearn.cross_decomposition.CCA",
            problem="digit_halves",
            params={"n_components": 5, "criterion": "gcca"},
            grid={"alpha": (0.001, 0.01, 0.1)},
            baseline_params={"n_components": 5, "max_iter": 5000},
            baseline_grid={"scale": (True, False)},
        ),
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        "criterion": [StrOptions({"maxvar", "sumcor", "gcca"})],
        "alpha": [NON_NEGATIVE, list, tuple],
        "scale": ["boolean"],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "view_slices": [list, tuple, None],
    }

    def __init__(
        self,
        n_components=2,
        *,
        criterion="maxvar",
        alpha=0.1,
        scale=True,
        max_iter=1000,
        tol=1e-9,
        view_slices=None,
    ):
        self.n_components = n_components
        self.criterion = criterion
        self.alpha = alpha
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.view_slices = view_slices

    def _fit_views(self, views, samples, progress):
        solution = solve_linear(
            views,
            samples,
            alphas=self._alphas(len(views)),
            scale=self.scale,
            k=self.n_components,
            name="MultisetCCA",
            criterion=self.criterion,
            max_iter=self.max_iter,
            tol=self.tol,
            progress=progress,
        )
        self._store(solution, samples, progress)

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
            f"criterion='gcca' takes such views, criterion={self.criterion!r} does not: set it"
        )

    def _allows_missing(self):
        return self.criterion == "gcca"

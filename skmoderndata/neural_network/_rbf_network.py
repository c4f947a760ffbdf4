"""Radial basis function networks: placed centres and ridge regression."""

import warnings
from numbers import Integral

import numpy as np
from sklearn import config_context
from sklearn.base import is_classifier
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    POSITIVE,
    Interval,
    RealNotInt,
    StrOptions,
)
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.export import cannot_export
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_array, check_magnitude
from skmoderndata._kernelized.export import (
    kernel_functions,
    support_vector_classifier,
    support_vector_regressor,
)
from skmoderndata._kernelized.gram import Gram
from skmoderndata._solvers.common.arrays import as_numpy, move_array, namespace
from skmoderndata._solvers.common.quantities import MAX_INT32
from skmoderndata._solvers.dictionaries.neural_gas import batch_neural_gas, centred
from skmoderndata._solvers.networks.forward_selection import forward_selection
from skmoderndata._solvers.networks.radial_functions import (
    BASES,
    KINKED,
    distances_sq,
    nearest_widths,
)
from skmoderndata.neural_network._base import (
    NetworkClassifier,
    NetworkRegressor,
    RidgeNetwork,
)

# Number of samples above which k-means uses mini-batches.
MANY = 10_000
# Maximum number of samples among which "ols" chooses.
CANDIDATES = 5000
# Widths that "auto" compares, as multiples of the median distance of neighbouring centres.
MULTIPLES = tuple(2.0**i for i in range(6))
# Basis functions of the distance alone, without a width.
WITHOUT_WIDTH = {"linear", "thin_plate_spline"}
RADIAL = {
    "n_centers": [AT_LEAST_ONE],
    "centers": [StrOptions({"k-means", "neural_gas", "random", "ols"}), "array-like"],
    "basis": [StrOptions(set(BASES))],
    "width": [StrOptions({"auto", "nearest", "shared"}), POSITIVE],
    "n_nearest": [AT_LEAST_ONE],
    "power": [POSITIVE],
    "theta": [Interval(RealNotInt, None, None, closed="neither"), Integral],
    "alpha": [StrOptions({"loo"}), NON_NEGATIVE],
    "alphas": ["array-like", None],
    "fit_intercept": ["boolean"],
    "direct_links": ["boolean"],
    "random_state": ["random_state"],
    "n_jobs": N_JOBS,
}


class RadialNetwork(RidgeNetwork):
    """First layer of centres with widths, and functions of the distance from the centres."""

    _SAME = ("basis", "power", "theta", "direct_links", "fit_intercept")
    _SPARSE = False
    batch_size = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.array_api_support = True
        return tags

    def _open(self, X, Y, w, rng):
        fourth = self.basis == "thin_plate_spline" or (
            self.basis == "multiquadric" and self.power > 0.5
        )
        rows = as_numpy(X)
        dtype = X.dtype
        if fourth:
            check_magnitude(rows, owner=type(self).__name__, fourth_powers=True)

        # Remove attributes of an earlier fit with other centres
        for name in ("selected_", "error_reduction_"):
            vars(self).pop(name, None)
        weights = as_numpy(w)

        rows = rows.astype(np.float64, copy=False)
        centers, widths = self._place(rows, as_numpy(Y), weights, rng)
        self.centers_ = move_array(centers, X, dtype)
        self.widths_ = move_array(widths, X, dtype)

        for name in {"selected_", "error_reduction_"} & set(vars(self)):
            setattr(self, name, move_array(vars(self)[name], X))

    def _place(self, X, Y, w, rng):
        """Return the centres, given or from samples of positive weight, and their widths."""
        used = np.flatnonzero(w)

        # Use the given centres, or choose them among the samples
        if not isinstance(self.centers, str):
            centers = check_array(
                np.asarray(as_numpy(self.centers)),
                dtype=np.float64,
                input_name="centers",
                estimator=self,
            )
            if centers.shape[1] != X.shape[1]:
                raise ValueError(
                    f"centers have {centers.shape[1]} columns, but X has {X.shape[1]}: pass "
                    "points in the space of the samples."
                )
            return centers.copy(), self._widths(centers)

        if self.centers == "ols":
            return self._select(X, Y, w, used, rng)

        k = min(self.n_centers, len(used))
        drawn = rng.choice(used, k, replace=False)
        if self.centers == "random":
            _, first = np.unique(X[drawn], axis=0, return_index=True)
            self.selected_ = np.sort(drawn[first])
            centers = X[self.selected_]
            return centers, self._chosen_widths(centers, X, Y, w, rng)

        # Place centres between the samples, by k-means or a neural gas
        if self.centers == "k-means":
            cls = MiniBatchKMeans if len(used) > MANY else KMeans
            search = cls(k, n_init=1, random_state=rng.randint(MAX_INT32))
            # Allow fewer distinct samples than centres; k-means of older scikit-learn fails with
            # array API dispatch
            with warnings.catch_warnings(), config_context(array_api_dispatch=False):
                warnings.simplefilter("ignore", ConvergenceWarning)
                centers = search.fit(X[used], sample_weight=w[used]).cluster_centers_
        else:
            rows, shift = centred(X[used])
            gas = batch_neural_gas(
                rows,
                w[used],
                rows[rng.permutation(len(used))[:k]],
                width=max(k / 2, 0.5),
                last_width=0.01,
                max_iter=30,
                polish=0,
                progress=None,
            )
            centers = gas.centers + shift

        centers = np.unique(centers, axis=0)
        return centers, self._chosen_widths(centers, X, Y, w, rng)

    def _select(self, X, Y, w, used, rng):
        """Choose samples as centres by orthogonal least squares, all with one width."""
        candidates = np.sort(rng.permutation(used)[:CANDIDATES])

        # Estimate a width from random samples, because the centres are not known yet
        drawn = rng.permutation(candidates)[: self.n_centers]
        places = np.unique(X[drawn], axis=0)
        width = np.mean(self._chosen_widths(places, X, Y, w, rng))
        widths = np.full(len(candidates), width)
        P = self._functions(X, X[candidates], widths)
        selection = forward_selection(
            P, Y, w, max_columns=self.n_centers, intercept=self.fit_intercept
        )
        index = selection.chosen
        error_reduction = selection.error_reduction

        # Use the first candidate if none explains anything, which happens for a constant target
        if len(index) == 0:
            index = np.zeros(1, dtype=int)
            error_reduction = np.zeros(1)

        self.selected_ = candidates[index]
        self.error_reduction_ = error_reduction
        return X[self.selected_], widths[index]

    def _widths(self, centers):
        if not isinstance(self.width, str):
            return np.full(len(centers), float(self.width))
        widths = nearest_widths(centers, self.n_nearest)
        if self.width == "nearest":
            return widths
        # use the median, because a centre at an outlying sample is far from all others
        common = np.median(widths) if self.width == "auto" else widths.mean()
        return np.full(len(centers), common)

    def _chosen_widths(self, centers, X, Y, w, rng):
        """Return the widths; "auto" takes the multiple of the median width of best score."""
        common = self._widths(centers)
        if self.width != "auto" or self.basis in WITHOUT_WIDTH:
            return common

        widths = [multiple * common for multiple in MULTIPLES]
        layers = [{"centers_": centers, "widths_": some} for some in widths]
        return widths[self._best_layer(layers, X, Y, w, rng)]

    def _functions(self, X, centers, widths):
        d = distances_sq(X, centers, exact=self.basis in KINKED)
        return BASES[self.basis](d, widths, self.power, self.theta)

    def _layer(self, X):
        xp = namespace(X)

        # Use double precision: squares of small distances underflow in single precision
        X, centers, widths = (
            xp.astype(A, xp.float64, copy=False) for A in (X, self.centers_, self.widths_)
        )
        H = self._functions(X, centers, widths)
        return xp.concat([X, H], axis=1) if self.direct_links else H

    def _not_additive(self):
        if not isinstance(self.centers, str):
            return None
        return (
            "needs fixed centres: pass an array, for example `centers_` of a fit on a subset."
        )

    def to_sklearn(self):
        """Return the model as a support vector machine of scikit-learn, with the same values.

        Returns
        -------
        machine : SVR, SVC, MultiOutputRegressor, OneVsRestClassifier or Pipeline
            The centres are the support vectors. Several targets or more than two classes have one
            machine each. If the centres are far from the origin, a step that centres the samples
            comes first.

        Raises
        ------
        ValueError
            If a class has no samples of positive weight, or the network differs from a kernel
            expansion: another basis than "gaussian", unequal widths, or a direct link.
        """
        check_is_fitted(self)
        # reject networks that are not the expansion of a single kernel
        widths = as_numpy(self.widths_).astype(np.float64)
        reason = None
        if self.basis != "gaussian":
            reason = f"scikit-learn's machines do not have basis={self.basis!r}"
        elif np.ptp(widths) > 0:
            reason = "the centres have different widths, and a kernel has a single one"
        elif self.direct_links:
            reason = "scikit-learn's machines have no direct link"
        if reason is not None:
            remedy = "Use basis='gaussian', direct_links=False, and width='shared' or a number"
            raise cannot_export(self, reason, remedy)

        # the centres are the support vectors
        gram = Gram("rbf", {"gamma": float(0.5 / widths[0] ** 2)})
        centers, coef, intercept = map(
            as_numpy, (self.centers_, self.output_coef_, self.intercept_)
        )
        functions = kernel_functions(self, gram, centers, coef, intercept)
        if is_classifier(self):
            return support_vector_classifier(self, functions)
        return support_vector_regressor(self, functions, is_table=coef.ndim == 2)

    def _n_outputs(self):
        return self.centers_.shape[0] + self.direct_links * self.n_features_in_

    def _parameters_of_layer(self):
        return as_numpy(self.centers_), as_numpy(self.widths_)


class RBFNetworkRegressor(NetworkRegressor, RadialNetwork):
    r"""Radial basis function network for regression, with ridge output weights.

    It minimises [1]_

    .. math::
        \sum_{i=1}^n \Bigl(y_i - \sum_j v_j\, \varphi_j(\|x_i - c_j\|) - c\Bigr)^2
        + \alpha \|v\|^2

    over the output weights v and the constant c. The centres are placed first and stay fixed; the
    exact leave-one-out error chooses the penalty.

    Parameters
    ----------
    n_centers : int, default=100
        Number of centres, limited by the number of distinct samples; with "ols", the maximum
        number.
    centers : str or array-like of shape (n_centers, n_features), default="k-means"
        "k-means" (in mini-batches above 10,000 samples), "neural_gas", "random" samples, or "ols":
        samples chosen by orthogonal least squares [2]_, whose number leave-one-out determines. An
        array contains the centres.
    basis : str, default="gaussian"
        With r the distance and s the width: "gaussian" ``exp(-r^2 / (2 s^2))``,
        "inverse_multiquadric" ``(s^2 + r^2)^-power``, "multiquadric" ``(s^2 + r^2)^power``,
        "linear" ``r``, "thin_plate_spline" ``r^2 ln r``, "logistic"
        ``1 / (1 + exp(r / s^2 - theta))``.
    width : {"auto", "nearest", "shared"} or float, default="auto"
        "nearest" uses the mean distance of each centre from its nearest centres, "shared" the mean
        of these widths; with "ols", the centres are random samples here. "auto" chooses the best
        of 1, 2, 4, 8, 16 and 32 times the median of these widths by leave-one-out on up to 5000
        samples; if you pass the centres, it uses the median.
    n_nearest : int, default=2
        Number of nearest centres from which the widths are computed.
    power : float, default=0.5
        Exponent of the multiquadrics.
    theta : float, default=0.0
        Offset of the logistic function.
    alpha : {"loo"} or float, default="loo"
        Ridge penalty. "loo" chooses one of `alphas` by the best exact leave-one-out r^2.
        0 gives the coefficients of minimum norm.
    alphas : array-like, default=None
        Penalties that "loo" compares. None means 25 of them from 1e-6 to 1e6 times the mean
        variance of an output, times the number of samples.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    direct_links : bool, default=False
        Whether to append the inputs to the outputs of the centres.
    random_state : int, RandomState instance or None, default=None
        Controls the centres. Pass an int for reproducible results.
    n_jobs : int, default=None
        Number of threads over blocks of samples, in addition to BLAS threads.

    Attributes
    ----------
    centers_ : ndarray of shape (n_centers, n_features)
        The centres.
    widths_ : ndarray of shape (n_centers,)
        Their widths.
    selected_ : ndarray of shape (n_centers,)
        Indices of the samples that are centres, with "random" and "ols"; with "ols" in order of
        selection.
    error_reduction_ : ndarray of shape (n_centers,)
        Fraction of the variance of the targets explained by each centre when it was selected, with
        "ols".
    output_coef_ : ndarray of shape (n_outputs,) or (n_targets, n_outputs)
        Weights of the first layer's outputs, by neuron. With `direct_links` the weights of the
        inputs come first.
    intercept_ : float or ndarray of shape (n_targets,)
        The constant.
    alpha_ : float
        Penalty used.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties compared, with `alpha="loo"`.
    loo_score_ : float
        Leave-one-out r^2 at `alpha_`, with `alpha="loo"`. It ignores that the centres depend on
        all samples, so it is optimistic if there are many centres.
    loo_path_ : ndarray of shape (n_alphas,)
        Leave-one-out scores of all penalties; -inf if a single sample determines a coefficient.
    n_parameters_ : float
        Effective number of coefficients, the sum of ``s / (s + alpha)`` over the eigenvalues s.
    optimality_ : float
        Certificate: norm of the gradient, relative to the norm at zero coefficients.
    n_samples_seen_ : int
        Number of samples.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    ELMRegressor : Random directions instead of centres.
    sklearn.kernel_ridge.KernelRidge : A centre at every sample, another penalty.
    scipy.interpolate.RBFInterpolator : A centre at every sample, and no penalty by default.

    Notes
    -----
    A Gaussian network with a centre at every sample has the same functions as kernel ridge
    regression, but the penalty ``|v|^2`` instead of ``v'Kv``: the two agree only in the limit of
    no penalty.

    Placing the centres costs as much as k-means, or with "ols" one product of a matrix of at most
    5000 candidates with a vector for each centre. Then ``2 n k^2 + k^3`` operations follow for k
    centres. Condition numbers do not matter, because coefficients come from eigenvectors; they
    have minimum norm if they are not unique.

    With given `centers` the sums add up: `partial_fit` and `merge` are exact, in any order; with
    ``alpha="loo"`` they choose the penalty by generalised cross-validation, which needs only the
    sums, as :class:`ELMRegressor` does. With array API dispatch enabled in scikit-learn, arrays
    of other libraries are used as they are; only the centres are placed by NumPy.

    References
    ----------
    .. [1] Moody and Darken, Fast learning in networks of locally-tuned processing units, Neural
       Computation 1(2), 1989.
    .. [2] Chen, Cowan and Grant, Orthogonal least squares learning algorithm for radial basis
       function networks, IEEE Transactions on Neural Networks 2(2), 1991.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.neural_network import RBFNetworkRegressor
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> model = RBFNetworkRegressor(15, random_state=0).fit(x, np.sin(x[:, 0]))
    >>> round(model.loo_score_, 3)
    1.0
    """

    _card = MethodCard(
        family="networks",
        cite=("moody1989fast", "chen1991orthogonal", "allen1974relationship"),
        cost="n k^2 + k^3, k centres",
        fits_blocks=True,
        method="rbf_network",
        tier="standard",
        instead="Nystroem with RidgeCV is just as accurate if you search its gamma. So is RidgeCV "
        "on a Gaussian of the distances from the centres of KMeans, if you search its width.",
        scaler="StandardScaler",
    )
    _parameter_constraints = RADIAL

    @parameters_are_named
    def __init__(
        self,
        n_centers=100,
        *,
        centers="k-means",
        basis="gaussian",
        width="auto",
        n_nearest=2,
        power=0.5,
        theta=0.0,
        alpha="loo",
        alphas=None,
        fit_intercept=True,
        direct_links=False,
        random_state=None,
        n_jobs=None,
    ):
        self.n_centers = n_centers
        self.centers = centers
        self.basis = basis
        self.width = width
        self.n_nearest = n_nearest
        self.power = power
        self.theta = theta
        self.alpha = alpha
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.direct_links = direct_links
        self.random_state = random_state
        self.n_jobs = n_jobs


class RBFNetworkClassifier(NetworkClassifier, RadialNetwork):
    r"""Radial basis function network for classification, with ridge output weights.

    It minimises [1]_

    .. math::
        \sum_{i=1}^n \Bigl(t_i - \sum_j v_j\, \varphi_j(\|x_i - c_j\|) - c\Bigr)^2
        + \alpha \|v\|^2

    over the output weights v and the constant c, with :math:`t_i = \pm 1` for each class. The
    centres are placed first and stay fixed; the exact leave-one-out error chooses the penalty.

    Parameters
    ----------
    n_centers : int, default=100
        Number of centres, limited by the number of distinct samples; with "ols", the maximum
        number.
    centers : str or array-like of shape (n_centers, n_features), default="k-means"
        "k-means" (in mini-batches above 10,000 samples), "neural_gas", "random" samples, or "ols":
        samples chosen by orthogonal least squares [2]_, whose number leave-one-out determines. An
        array contains the centres.
    basis : str, default="gaussian"
        With r the distance and s the width: "gaussian" ``exp(-r^2 / (2 s^2))``,
        "inverse_multiquadric" ``(s^2 + r^2)^-power``, "multiquadric" ``(s^2 + r^2)^power``,
        "linear" ``r``, "thin_plate_spline" ``r^2 ln r``, "logistic"
        ``1 / (1 + exp(r / s^2 - theta))``.
    width : {"auto", "nearest", "shared"} or float, default="auto"
        "nearest" uses the mean distance of each centre from its nearest centres, "shared" the mean
        of these widths; with "ols", the centres are random samples here. "auto" chooses the best
        of 1, 2, 4, 8, 16 and 32 times the median of these widths by leave-one-out on up to 5000
        samples; if you pass the centres, it uses the median.
    n_nearest : int, default=2
        Number of nearest centres from which the widths are computed.
    power : float, default=0.5
        Exponent of the multiquadrics.
    theta : float, default=0.0
        Offset of the logistic function.
    alpha : {"loo"} or float, default="loo"
        Ridge penalty. "loo" chooses one of `alphas` by the best exact leave-one-out accuracy.
        0 gives the coefficients of minimum norm.
    alphas : array-like, default=None
        Penalties that "loo" compares. None means 25 of them from 1e-6 to 1e6 times the mean
        variance of an output, times the number of samples.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    direct_links : bool, default=False
        Whether to append the inputs to the outputs of the centres.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" gives all classes the same total weight.
    random_state : int, RandomState instance or None, default=None
        Controls the centres. Pass an int for reproducible results.
    n_jobs : int, default=None
        Number of threads over blocks of samples, in addition to BLAS threads.

    Attributes
    ----------
    centers_ : ndarray of shape (n_centers, n_features)
        The centres.
    widths_ : ndarray of shape (n_centers,)
        Their widths.
    selected_ : ndarray of shape (n_centers,)
        Indices of the samples that are centres, with "random" and "ols"; with "ols" in order of
        selection.
    error_reduction_ : ndarray of shape (n_centers,)
        Fraction of the variance of the targets explained by each centre when it was selected, with
        "ols".
    output_coef_ : ndarray of shape (1, n_outputs) or (n_classes, n_outputs)
        Weights of the first layer's outputs, by neuron. With `direct_links` the weights of the
        inputs come first.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The constant.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    alpha_ : float
        Penalty used.
    alphas_ : ndarray of shape (n_alphas,)
        Penalties compared, with `alpha="loo"`.
    loo_score_ : float
        Leave-one-out accuracy at `alpha_`, with `alpha="loo"`. It ignores that the centres depend
        on all samples, so it is optimistic if there are many centres.
    loo_path_ : ndarray of shape (n_alphas,)
        Leave-one-out scores of all penalties; -inf if a single sample determines a coefficient.
    n_parameters_ : float
        Effective number of coefficients, the sum of ``s / (s + alpha)`` over the eigenvalues s.
    optimality_ : float
        Certificate: norm of the gradient, relative to the norm at zero coefficients.
    n_samples_seen_ : int
        Number of samples.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    ELMClassifier : Random directions instead of centres.
    sklearn.svm.SVC : Chooses the centres by their margin, with a kernel.
    scipy.interpolate.RBFInterpolator : A centre at every sample, and no penalty by default.

    Notes
    -----
    A Gaussian network with a centre at every sample has the same functions as kernel ridge
    regression, but the penalty ``|v|^2`` instead of ``v'Kv``: the two agree only in the limit of
    no penalty.

    Placing the centres costs as much as k-means, or with "ols" one product of a matrix of at most
    5000 candidates with a vector for each centre. Then ``2 n k^2 + k^3`` operations follow for k
    centres. Condition numbers do not matter, because coefficients come from eigenvectors; they
    have minimum norm if they are not unique.

    With given `centers` the sums add up: `partial_fit` and `merge` are exact, in any order; with
    ``alpha="loo"`` they choose the penalty by generalised cross-validation, which needs only the
    sums, as :class:`ELMRegressor` does. With array API dispatch enabled in scikit-learn, arrays
    of other libraries are used as they are; only the centres are placed by NumPy.

    References
    ----------
    .. [1] Moody and Darken, Fast learning in networks of locally-tuned processing units, Neural
       Computation 1(2), 1989.
    .. [2] Chen, Cowan and Grant, Orthogonal least squares learning algorithm for radial basis
       function networks, IEEE Transactions on Neural Networks 2(2), 1991.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skmoderndata.neural_network import RBFNetworkClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = RBFNetworkClassifier(200, width="shared", random_state=0).fit(X, y)
    >>> round(model.loo_score_, 2)
    0.99
    """

    _card = MethodCard(
        family="networks",
        cite=("moody1989fast", "chen1991orthogonal", "allen1974relationship"),
        cost="n k^2 + k^3, k centres",
        fits_blocks=True,
        method="rbf_network",
        tier="standard",
        instead="SVC is just as accurate on digits, and its search takes a quarter of the time.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {**RADIAL, "class_weight": [dict, StrOptions({"balanced"}), None]}

    @parameters_are_named
    def __init__(
        self,
        n_centers=100,
        *,
        centers="k-means",
        basis="gaussian",
        width="auto",
        n_nearest=2,
        power=0.5,
        theta=0.0,
        alpha="loo",
        alphas=None,
        fit_intercept=True,
        direct_links=False,
        class_weight=None,
        random_state=None,
        n_jobs=None,
    ):
        self.n_centers = n_centers
        self.centers = centers
        self.basis = basis
        self.width = width
        self.n_nearest = n_nearest
        self.power = power
        self.theta = theta
        self.alpha = alpha
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.direct_links = direct_links
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs

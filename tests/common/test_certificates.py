"""Certificates of all estimators: they follow the scale of the data, and stay honest when stopped.

A problem whose kernel or data are multiplied by a factor, and its penalty so that the minimiser
changes by a factor only, has a minimum that is known from the original one. A solver that stops
early reports a gap that is at least its distance from the minimum. Objectives are computed here,
from the public attributes, and those that are maximised are negative.
"""

import warnings
from collections.abc import Callable
from functools import cache, partial
from inspect import getdoc
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

import skmoderndata as sk
from skmoderndata._estimator.registry import all_estimators

SCALES = (1e-9, 1e9)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(70, 4))
SCORE = X @ [1.0, 2.0, -1.0, 0.5] + 0.7 * RNG.normal(size=70)
LABELS = np.where(SCORE > 0, 1, -1)
RANKS = np.digitize(SCORE, [-1.5, 1.5])
K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
WIDE = RNG.normal(size=(20, 40))
TARGET = WIDE[:, :3] @ [1.0, -2.0, 1.5] + 0.1 * RNG.normal(size=20)
TABLE = X[:30] @ WIDE[:4, :12]
SPIKES = np.where(RNG.random((30, 12)) < 0.1, 5.0, 0.0)
KNOWN = RNG.random((30, 12)) < 0.6


class Reached(NamedTuple):
    """A fitted model, the value of what it minimises, and what its gap is relative to."""

    model: object
    value: float
    unit: float


class Samples(NamedTuple):
    """Samples whose kernel matrix has the scale `factor`."""

    kernel: str
    given: np.ndarray
    K: np.ndarray
    factor: float


def samples(s, linear=False):
    """Return a matrix times s, or rows times s with the linear kernel."""
    if linear:
        return Samples("linear", s * X, s * s * (X @ X.T), s * s)
    return Samples("precomputed", s * K, s * K, s)


def function(model, K):
    """Values of `sum_j coef_j k(x, z_j)` and the squared norm."""
    coef = np.zeros(len(K))
    coef[model.support_] = np.ravel(model.dual_coef_)
    return K @ coef, float(coef @ K @ coef)


# large margins ------------------------------------------------------------------------------


def l2_svc(s, linear=False, **params):
    data = samples(s, linear)
    C = 1.0 / data.factor
    model = sk.svm.L2SVC(C, data.kernel, **params).fit(data.given, LABELS)
    f, norm = function(model, data.K)
    slack = np.maximum(1 - LABELS * (f + model.intercept_), 0)
    value = norm / 2 + C * slack @ slack
    return Reached(model, value, value)


def l2_svr(s, linear=False, **params):
    data = samples(s, linear)
    C = 1.0 / data.factor
    params = {"epsilon": 0.2, **params}
    model = sk.svm.L2SVR(C, data.kernel, **params).fit(data.given, SCORE)
    f, norm = function(model, data.K)
    excess = np.maximum(abs(SCORE - f - model.intercept_) - params["epsilon"], 0)
    value = norm / 2 + C * excess @ excess
    return Reached(model, value, value)


def svdd(s, linear=False, **params):
    data = samples(s, linear)
    if not linear:  # the diagonal is not constant
        data = data._replace(given=data.given + s * X @ X.T, K=data.K + s * X @ X.T)
    model = sk.svm.SVDD(data.kernel, nu=0.2, **params).fit(data.given)
    f, norm = function(model, data.K)
    beyond = np.diag(data.K) - 2 * f + norm - model.radius_**2
    value = model.radius_**2 + np.maximum(beyond, 0).sum() / (0.2 * len(X))
    return Reached(model, value, value)


def nu_svor(s, linear=False, **params):
    data = samples(s, linear)
    model = sk.ranking.NuSVOR(0.4, data.kernel, **params).fit(data.given, RANKS)
    f, norm = function(model, data.K)
    assert_allclose(norm, 1.0, rtol=1e-9)
    b = model.thresholds_
    margin = model.margin_
    below = RANKS < 2
    above = RANKS > 0
    loss = np.maximum(f[below] - b[RANKS[below]] + margin, 0).sum()
    loss += np.maximum(b[RANKS[above] - 1] + margin - f[above], 0).sum()
    value = loss / (0.4 * (below.sum() + above.sum())) - margin
    # the unit is the magnitude of the bound if this is larger: gap = (value + unit) / unit
    unit = value / (model.dual_gap_ - 1) if model.dual_gap_ != 1 else 0.0
    return Reached(model, value, max(margin, unit))


def adatron_classifier(s, linear=False, **params):
    data = samples(s, linear)
    C = 1.0 / data.factor
    params = {"random_state": 0, **params}
    model = sk.svm.KernelAdatronClassifier(C, data.kernel, **params).fit(data.given, LABELS)
    f, norm = function(model, data.K)
    slack = np.maximum(1 - LABELS * f, 0)
    squared = model.loss == "squared_hinge"
    value = norm / 2 + C * (slack @ slack if squared else slack.sum())
    return Reached(model, value, value)


def adatron_regressor(s, linear=False, **params):
    data = samples(s, linear)
    C = 1.0 / data.factor
    params = {"fit_intercept": False, "epsilon": 0.2, "random_state": 0, **params}
    model = sk.svm.KernelAdatronRegressor(C, data.kernel, **params).fit(data.given, SCORE)
    f, norm = function(model, data.K)
    value = norm / 2 + C * np.maximum(abs(SCORE - f) - 0.2, 0).sum()
    return Reached(model, value, value)


def core_vector_machine(s, linear=False, **params):
    data = samples(s, linear)
    C = 1.0 / data.factor
    # the constant feature has the same scale as the other features
    params = {"intercept_scaling": float(np.sqrt(data.factor)), "random_state": 0, **params}
    model = sk.CoreVectorMachine(C, kernel=data.kernel, **params).fit(data.given, LABELS)
    f, norm = function(model, data.K)
    slack = np.maximum(1 - LABELS * (f + model.intercept_), 0)
    value = (norm + model.intercept_[0] ** 2 / data.factor) / 2 + C * slack @ slack
    return Reached(model, value, value)


def core_vector_regressor(s, **params):
    # the constant feature is 1, so K + 1 is scaled as a whole
    C = 1.0 / s
    G = s * (K + 1) - 1
    params = {"tube_distance": 0.1, "random_state": 0, **params}
    model = sk.svm.CoreVectorRegressor(C, kernel="precomputed", **params).fit(G, SCORE)
    f, _ = function(model, G)
    spread = SCORE.std()
    coef = model.dual_coef_ / spread
    norm = coef @ (s * (K + 1))[np.ix_(model.support_, model.support_)] @ coef
    width = model.epsilon_ / spread
    excess = np.maximum(abs((SCORE - f - model.intercept_) / spread) - width, 0)
    value = norm / 2 + C * (excess @ excess + 2 * 0.1 * len(K) * width)
    return Reached(model, value, value)


def core_vector_outlier_detector(s, linear=False, **params):
    data = samples(s, linear)
    if linear:  # move the data away from the origin
        rows = s * (X + np.array([9.0, 0.0, 0.0, 0.0]))
        data = data._replace(given=rows, K=rows @ rows.T)
    params = {"slack": 0.2, "random_state": 0, **params}
    model = sk.svm.CoreVectorOutlierDetector(kernel=data.kernel, **params).fit(data.given)
    f, norm = function(model, data.K)
    slack = np.maximum(model.rho_ - f, 0)
    value = norm / 2 - model.rho_ + model.cost_ / 2 * slack @ slack
    # the gap is relative to the magnitude of the bound: gap = (value + unit) / unit
    return Reached(model, value, value / (model.dual_gap_ - 1))


def core_vector_ranker(s, linear=False, **params):
    data = samples(s, linear)
    C = 0.1 / data.factor
    params = {"random_state": 0, **params}
    model = sk.svm.CoreVectorRanker(C, kernel=data.kernel, **params).fit(data.given, RANKS)
    f, norm = function(model, data.K)
    slack = np.maximum(1 - f[:, None] + f, 0)[RANKS[:, None] > RANKS]
    value = norm / 2 + C * slack @ slack
    return Reached(model, value, value)


def minimum_enclosing_ball(s, linear=False, **params):
    data = samples(s, linear)
    if not linear:
        data = data._replace(given=data.given + s * X @ X.T, K=data.K + s * X @ X.T)
    model = sk.MinimumEnclosingBall(data.kernel, random_state=0, **params).fit(data.given)
    f, norm = function(model, data.K)
    value = np.sqrt((np.diag(data.K) - 2 * f + norm).max())
    return Reached(model, value, model.radius_lower_)


# sparse coefficients ------------------------------------------------------------------------


def bridge_regression(s, **params):
    alpha = 0.05 * np.sqrt(s)  # the penalty has the exponent 1.5, the loss 2
    params = {"fit_intercept": False, "exponent": 1.5, **params}
    model = sk.linear_model.BridgeRegression(alpha, **params).fit(WIDE, s * TARGET)
    value = np.mean((s * TARGET - WIDE @ model.coef_) ** 2) / 2
    value += alpha * (abs(model.coef_) ** 1.5).sum()
    return Reached(model, value, np.mean((s * TARGET) ** 2) / 2)


def group_lasso(s, **params):
    alpha = 0.05 * s
    groups = np.repeat(np.arange(20), 2)
    params = {"fit_intercept": False, "l1_ratio": 0.3, **params}
    model = sk.GroupLasso(alpha, groups, **params).fit(WIDE, s * TARGET)
    norms = np.linalg.norm(model.coef_.reshape(20, 2), axis=1)
    value = np.mean((s * TARGET - WIDE @ model.coef_) ** 2) / 2
    value += alpha * (0.7 * np.sqrt(2) * norms.sum() + 0.3 * abs(model.coef_).sum())
    return Reached(model, value, np.mean((s * TARGET) ** 2) / 2)


def group_lasso_classifier(s, **params):
    alpha = 0.02 * s  # the loss does not scale with the data, but the penalty does
    groups = np.repeat(np.arange(20), 2)
    y = np.where(TARGET > np.median(TARGET), 1.0, -1.0)
    model = sk.GroupLassoClassifier(alpha, groups, **params).fit(s * WIDE, y)
    norms = np.linalg.norm(model.coef_.reshape(20, 2), axis=1)
    value = np.logaddexp(0, -y * (s * WIDE @ model.coef_[0] + model.intercept_[0])).mean()
    value += alpha * np.sqrt(2) * norms.sum()
    return Reached(model, value, np.log(2))


def basis_pursuit(s, **params):
    params = {"fit_intercept": False, **params}
    model = sk.BasisPursuit(0.3 * s, **params).fit(WIDE, s * TARGET)
    value = abs(model.coef_).sum()
    return Reached(model, value, value)


def sparse_recovery(s, **params):
    model = sk.SparseRecovery(algorithm="basis_pursuit", residual_tol=0.3 * s, **params)
    value = abs(model.fit(WIDE, s * TARGET).coef_).sum()
    return Reached(model, value, value)


class Codes(NamedTuple):
    """What `SparseCoder.encode` certifies, as attributes of a model."""

    dual_gap_: float


def sparse_coder(s, **params):
    alpha = 0.5 * s
    signals = s * X @ WIDE[:4]
    params = {"transform_algorithm": "lasso", "normalize": False, **params}
    coder = sk.SparseCoder(WIDE, transform_alpha=alpha, **params).fit(signals)
    found = coder.encode(signals)
    values = 0.5 * ((signals - found.codes @ WIDE) ** 2).sum(axis=1)
    values += alpha * abs(found.codes).sum(axis=1)
    return Reached(Codes(found.dual_gap.max()), values.sum(), values.sum())


def feature_sign_dictionary_learning(s, **params):
    model = sk.FeatureSignDictionaryLearning(8, 0.5 * s, init="data", random_state=0, **params)
    model.fit(s * WIDE)
    return Reached(Codes(model.dual_gap_.max()), model.objective_, model.objective_)


# low rank, two views, embeddings ------------------------------------------------------------


def robust_pca(s, **params):
    table = s * (TABLE + SPIKES)
    model = sk.RobustPCA(alpha=0.2, algorithm="pcp", **params).fit(table)
    value = linalg.svdvals(model.low_rank_).sum() + 0.2 * abs(table - model.low_rank_).sum()
    return Reached(model, value, value)


def nuclear_norm_imputer(s, **params):
    alpha = 0.5 * s
    table = np.where(KNOWN, s * TABLE, np.nan)
    params = {"center": False, "scale": False, "debias": False, **params}
    model = sk.NuclearNormImputer(alpha=alpha, alpha_scale="absolute", **params).fit(table)
    L = model.row_scores_ @ model.components_
    value = np.nansum((table - L) ** 2) / 2 + alpha * linalg.svdvals(L).sum()
    return Reached(model, value, value)


def regularized_cca(s, **params):
    views = [s * X[:, :2], X[:, 1:3] + WIDE.ravel()[:140].reshape(70, 2), X[:, 2:] ** 2]
    model = sk.cross_decomposition.RegularizedCCA(
        criterion="sumcor", alpha=0.1, n_components=1, **params
    ).fit(views)
    value = float(model.regularized_correlations_[0])
    return Reached(model, -value, value)


def kernel_cca(s, **params):
    views = [s * X[:, :2], X[:, 1:3] + WIDE.ravel()[:140].reshape(70, 2), X[:, 2:] ** 2]
    model = sk.KernelCCA(criterion="sumcor", n_components=1, kernel="linear", **params)
    value = float(model.fit(views).regularized_correlations_[0])
    return Reached(model, -value, value)


def maximum_variance_unfolding(s, **params):
    params = {"constraints": "soft", "n_neighbors": 4, "solver": "low_rank", **params}
    model = sk.manifold.MaximumVarianceUnfolding(random_state=0, **params).fit(s * X[:40, :3])
    ends = s * X[model.edges_, :3]
    G = model.kernel_
    squares = ((ends[:, 0] - ends[:, 1]) ** 2).sum(axis=1)
    i, j = model.edges_.T
    errors = G[i, i] + G[j, j] - 2 * G[i, j] - squares
    if params["constraints"] == "at_most":
        assert (errors / squares).max() <= 1e-9
    variance = np.trace(G) - G.sum() / len(G)  # variance of the centred points
    return Reached(model, model.alpha_ * errors @ errors - variance, model.dual_bound_)


# the table ----------------------------------------------------------------------------------


class Row(NamedTuple):
    """How the certificate of a class, or of one of its solvers, is tried."""

    fit: Callable[..., Reached]
    power: float  # the value is multiplied by `scale^power`
    tight: dict  # parameters with which the gap is at most `gap`
    early: tuple  # sets of parameters that end the search early
    gap: float = 1e-7
    accuracy: float = 2e-7  # tolerance of the value, in units of the gap
    scales: tuple = SCALES


TIGHT = {"tol": 1e-9}
EARLY = ({"max_iter": 1}, {"max_iter": 10}, {"tol": 0.3})
# Limits of the core set; without them, problems of few samples are solved as a whole.
CORE = ({"max_core": 4}, {"max_core": 12})
PASSES = {"tol": 1e-8, "max_iter": 10**5}
FISTA = {"transform_algorithm": "fista", "transform_max_iter": 1}
SQUARED = {"loss": "squared_hinge"}

ROWS = {
    "L2SVC": Row(l2_svc, -1, TIGHT, EARLY),
    "L2SVR": Row(l2_svr, -1, TIGHT, EARLY),
    "L2SVR, width 0": Row(partial(l2_svr, epsilon=0.0), -1, TIGHT, ()),
    "SVDD": Row(svdd, 1, TIGHT, EARLY),
    "NuSVOR": Row(nu_svor, 0.5, {"tol": 1e-8}, EARLY),
    "KernelAdatronClassifier": Row(adatron_classifier, -1, PASSES, EARLY),
    "KernelAdatronClassifier, squares": Row(
        partial(adatron_classifier, **SQUARED), -1, PASSES, EARLY
    ),
    "KernelAdatronRegressor": Row(adatron_regressor, -1, PASSES, EARLY),
    "CoreVectorMachine": Row(core_vector_machine, -1, TIGHT, CORE),
    # at 1e-9, the matrix s (K + 1) - 1 itself has only seven correct digits
    "CoreVectorRegressor": Row(core_vector_regressor, -1, TIGHT, CORE, scales=(1e-5, 1e9)),
    "CoreVectorOutlierDetector": Row(core_vector_outlier_detector, 1, TIGHT, CORE),
    "CoreVectorRanker": Row(core_vector_ranker, -1, TIGHT, EARLY + CORE),
    "MinimumEnclosingBall": Row(minimum_enclosing_ball, 0.5, TIGHT, EARLY),
    "BridgeRegression": Row(bridge_regression, 2, {"tol": 1e-10}, EARLY),
    "GroupLasso": Row(group_lasso, 2, {"tol": 1e-10}, EARLY),
    "GroupLassoClassifier": Row(
        group_lasso_classifier, 0, {"tol": 1e-9}, ({"max_iter": 1}, {"tol": 0.3})
    ),
    "BasisPursuit": Row(basis_pursuit, 1, {}, ({"tol": 0.3},)),
    "SparseRecovery": Row(sparse_recovery, 1, {}, ({"tol": 0.3},)),
    "SparseCoder": Row(
        sparse_coder, 2, {"tol": 1e-9}, ({"transform_max_iter": 1}, {"tol": 0.3})
    ),
    # the objective is not convex: there are certificates for the codes and for the atoms only
    "FeatureSignDictionaryLearning": Row(feature_sign_dictionary_learning, 2, {}, ()),
    "RobustPCA": Row(robust_pca, 1, {"tol": 1e-8}, EARLY),
    "NuclearNormImputer": Row(nuclear_norm_imputer, 2, {"tol": 1e-8}, EARLY),
    # the bound is the optimum of a relaxation and is not attained
    "RegularizedCCA": Row(regularized_cca, 0, {}, ({"max_iter": 1},), gap=1.0),
    # the penalty of KernelCCA is a fraction of a variance, so it has no unit that could be scaled
    "KernelCCA": Row(kernel_cca, 0, {}, ({"max_iter": 1},), gap=1.0, scales=()),
    "MaximumVarianceUnfolding": Row(
        maximum_variance_unfolding, 2, {"tol": 1e-4}, EARLY, gap=1e-4, accuracy=2e-4
    ),
    "MaximumVarianceUnfolding, at most": Row(
        partial(maximum_variance_unfolding, constraints="at_most"),
        2,
        {"tol": 1e-3},
        EARLY,
        gap=1e-3,
        accuracy=2e-3,
    ),
}
LINEAR = {
    f"{name}, linear": row._replace(fit=partial(row.fit, linear=True), power=2 * row.power)
    for name, row in ROWS.items()
    if name
    in (
        "L2SVC", "L2SVR", "SVDD", "NuSVOR", "KernelAdatronClassifier", "KernelAdatronRegressor",
        "CoreVectorMachine", "CoreVectorOutlierDetector", "CoreVectorRanker",
        "MinimumEnclosingBall",
    )
}  # fmt: skip
ROWS |= LINEAR
# Classes without a row, for different reasons: the certificate of SupportFeatureMachine refers to
# the last linear program, with columns in standard units, and not to the minimum of the objective;
# GroupLassoCV leaves its last fit to GroupLasso; for SparseGaussianProcessClassifier, labels have
# no unit, and tests of the class stop the solver early.
WITHOUT_ROW = {"SupportFeatureMachine", "GroupLassoCV", "SparseGaussianProcessClassifier"}


@pytest.mark.certificate
def test_every_certificate_is_tested():
    certified = {cls.__name__ for cls in all_estimators() if "\ndual_gap_ :" in getdoc(cls)}
    tried = {name.split(",")[0] for name in ROWS}
    assert certified - tried == WITHOUT_ROW
    assert tried - certified == {"SparseCoder"}  # SparseCoder certifies its codes one by one


@cache
def optimum(name):
    """Fit to the data as they are, to small tolerances."""
    row = ROWS[name]
    return row.fit(1.0, **row.tight)


@pytest.mark.certificate
@pytest.mark.parametrize(
    ("name", "scale"), [(name, scale) for name, row in ROWS.items() for scale in row.scales]
)
def test_scale(name, scale):
    row = ROWS[name]
    base = optimum(name)
    other = row.fit(scale, **row.tight)
    power = scale**row.power
    assert base.model.dual_gap_ <= row.gap
    assert other.model.dual_gap_ <= row.gap
    assert abs(other.value / power - base.value) <= row.accuracy * base.unit


@pytest.mark.certificate
@pytest.mark.parametrize("name", ROWS)
def test_early(name):
    row = ROWS[name]
    best = optimum(name)
    for params in row.early:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            early = row.fit(1.0, **params)
        lost = early.value - best.value
        assert early.model.dual_gap_ * early.unit >= lost - 1e-9 * best.unit


# linear kernels far from the origin ----------------------------------------------------------

FAR = 2.0**30  # Size of the shift; numbers of few digits are shifted without rounding errors.
ROWS_OF_FEW_DIGITS = np.round(X * 2.0**20) / 2.0**20


def scores_of(model, rows):
    """Values of a fitted machine at its samples, and of its public attributes."""
    if isinstance(model, sk.svm.SVDD):
        squares = ((rows - model.center_) ** 2).sum(axis=1)
        return model.score_samples(rows), -squares
    score = getattr(model, "decision_function", model.predict)
    values = getattr(model, "rank_score", score)(rows)
    if hasattr(model, "coef_"):
        return values, rows @ np.ravel(model.coef_) + model.intercept_
    return values - values.mean(), (rows - rows.mean(axis=0)) @ weights_of(model)


def weights_of(model):
    """Weights of the features."""
    return (model.support_vectors_ - model.support_vectors_[0]).T @ model.dual_coef_


@pytest.mark.invariance
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (sk.svm.L2SVC(0.1, "linear", tol=1e-10), LABELS),
        (sk.svm.L2SVR(0.1, "linear", tol=1e-10), SCORE),
        (sk.svm.L2SVR(0.1, "linear", epsilon=0.0), SCORE),
        (sk.svm.SVDD("linear", nu=0.2, tol=1e-10), None),
        (sk.ranking.NuSVOR(0.4, "linear", tol=1e-8), RANKS),
        (sk.svm.CoreVectorRanker(kernel="linear", tol=1e-12, random_state=0), RANKS),
    ],
    ids=lambda one: type(one).__name__,
)
def test_free_offset_centres_linear_kernels(model, y):
    near = ROWS_OF_FEW_DIGITS
    far = ROWS_OF_FEW_DIGITS + FAR
    expected, _ = scores_of(model.fit(near, y), near)
    labels = model.predict(near)
    found, by_attributes = scores_of(model.fit(far, y), far)
    # near the origin, values are rounded by 2e-16 of 1e9 times the weights
    assert_allclose(found, expected, atol=1e-5)
    assert_allclose(by_attributes, found, atol=1e-5)
    if isinstance(model, (sk.svm.L2SVC, sk.ranking.NuSVOR)):
        assert (model.predict(far) == labels).all()


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore:L2SVR depends on the scales")
def test_column_of_time_stamps():
    hours = 1.7e9 + 3600.0 * np.arange(70)
    far = np.c_[X[:, 0], hours]
    near = np.c_[X[:, 0], hours - hours.mean()]
    exact = sk.svm.L2SVR(kernel="linear", epsilon=0.0)
    expected = exact.fit(near, SCORE).predict(near)
    assert_allclose(exact.fit(far, SCORE).predict(far), expected, atol=1e-5)
    # with two columns whose scales differ so much, pairwise steps would take far too long
    stopped = sk.svm.L2SVR(kernel="linear", max_iter=10_000)
    with pytest.warns(ConvergenceWarning, match="StandardScaler"):
        stopped.fit(far, SCORE)
    assert stopped.dual_gap_ > stopped.tol
    assert abs(stopped.predict(far)).max() < 1e3


@pytest.mark.edge
@pytest.mark.parametrize("cls", [sk.svm.L2SVC, sk.svm.L2SVR, sk.svm.SVDD, sk.ranking.NuSVOR])
def test_rejects_distances_lost_to_rounding_in_a_polynomial_kernel(cls):
    with pytest.raises(ValueError, match="cannot resolve these samples"):
        cls(kernel="poly").fit(X + 1e15, LABELS)

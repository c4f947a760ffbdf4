"""Evidence that RBFNetworkRegressor and RBFNetworkClassifier solve the problem they state."""

import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import RBFInterpolator
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge

from skmoderndata.neural_network import (
    RBFNetworkClassifier,
    RBFNetworkRegressor,
    _base,
)
from tests.oracles.networks import forward_selection, leave_one_out


def data(seed, n=80, p=3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, p))
    return X, np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


FORMULAS = {
    "gaussian": lambda r, s: np.exp(-(r**2) / (2 * s**2)),
    "inverse_multiquadric": lambda r, s: 1 / np.sqrt(s**2 + r**2),
    "multiquadric": lambda r, s: np.sqrt(s**2 + r**2),
    "linear": lambda r, s: r,
    "thin_plate_spline": lambda r, s: np.where(r > 0, r**2 * np.log(np.where(r > 0, r, 1)), 0),
    "logistic": lambda r, s: 1 / (1 + np.exp(r / s**2 - 0.3)),
}


@pytest.mark.oracle
@pytest.mark.parametrize("basis", FORMULAS)
@pytest.mark.parametrize("direct_links", [True, False])
def test_ridge_and_leave_one_out_on_the_formulas(basis, direct_links, seed):
    X, y = data(seed)
    alphas = [0.01, 0.5, 20.0]
    model = RBFNetworkRegressor(
        12, basis=basis, theta=0.3, alphas=alphas, direct_links=direct_links, random_state=seed
    ).fit(X, y)
    H = FORMULAS[basis](cdist(X, model.centers_), model.widths_)
    H = np.hstack([X, H]) if direct_links else H
    errors = [np.sum((y - leave_one_out(H, y, alpha)) ** 2) for alpha in alphas]
    assert_allclose(model.loo_path_, 1 - errors / np.sum((y - y.mean()) ** 2), rtol=1e-8)
    twin = Ridge(alpha=model.alpha_).fit(H, y)
    assert_allclose(model.predict(X), twin.predict(H), rtol=1e-7, atol=1e-9)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:`degree` should not be below")
@pytest.mark.parametrize(
    ("basis", "known", "width"),
    [
        ("gaussian", "gaussian", 0.5),
        ("linear", "linear", 1.0),
        ("multiquadric", "multiquadric", 0.4),
        ("inverse_multiquadric", "inverse_multiquadric", 0.4),
    ],
)
def test_a_centre_at_every_sample_interpolates_as_scipy_does(basis, known, width, seed):
    X, y = data(seed, n=40, p=2)
    new = data(seed + 1, n=50, p=2)[0]
    epsilon = {"gaussian": 1 / (np.sqrt(2) * width), "linear": 1.0}.get(basis, 1 / width)
    want = RBFInterpolator(X, y, kernel=known, epsilon=epsilon, degree=-1)(new)
    model = RBFNetworkRegressor(
        centers=X, basis=basis, width=width, alpha=0, fit_intercept=False
    ).fit(X, y)
    # the condition number of 1e5 is squared
    assert_allclose(model.predict(X), y, rtol=1e-3, atol=1e-3)
    # the condition number of 1e5 is squared
    assert_allclose(model.predict(new), want, rtol=1e-2, atol=1e-2)


@pytest.mark.oracle
def test_orthogonal_least_squares_by_refitting(seed):
    X, y = data(seed)
    model = RBFNetworkRegressor(15, centers="ols", width=1.0, random_state=seed).fit(X, y)
    H = FORMULAS["gaussian"](cdist(X, X), 1.0)
    k = len(model.selected_)
    assert_array_equal(model.selected_, forward_selection(H, y, k))
    assert_array_equal(model.centers_, X[model.selected_])
    total = np.sum((y - y.mean()) ** 2)
    left = [total]
    for m in range(1, k + 1):
        A = np.column_stack([np.ones(80), H[:, model.selected_[:m]]])
        left.append(np.sum((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2))
    assert_allclose(model.error_reduction_, -np.diff(left) / total, rtol=1e-6)


@pytest.mark.edge
def test_selection_for_a_constant_target_has_one_centre():
    X, y = data(0)
    model = RBFNetworkRegressor(15, centers="ols", random_state=0).fit(X, np.ones_like(y))
    assert model.centers_.shape == (1, X.shape[1])
    assert_array_equal(model.error_reduction_, [0.0])
    assert_allclose(model.predict(X), 1.0)


@pytest.mark.oracle
def test_widths_are_distances_from_the_nearest_centres(seed):
    X, y = data(seed)
    model = RBFNetworkRegressor(10, n_nearest=3, width="nearest", random_state=seed).fit(X, y)
    C = model.centers_
    wanted = [np.sort(np.linalg.norm(C - c, axis=1))[1:4].mean() for c in C]
    assert_allclose(model.widths_, wanted, rtol=1e-12)
    shared = RBFNetworkRegressor(10, n_nearest=3, width="shared", random_state=seed).fit(X, y)
    assert_allclose(shared.widths_, np.mean(wanted), rtol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("centers", ["k-means", "random"])
def test_width_has_the_best_leave_one_out_score(centers, seed):
    X, y = data(seed)
    settings = {"centers": centers, "random_state": seed}
    model = RBFNetworkRegressor(10, **settings).fit(X, y)
    nearest = RBFNetworkRegressor(10, width="nearest", **settings).fit(X, y)
    widths = np.median(nearest.widths_) * 2.0 ** np.arange(6)
    scores = [
        RBFNetworkRegressor(10, width=w, **settings).fit(X, y).loo_score_ for w in widths
    ]
    assert_allclose(model.widths_, widths[np.argmax(scores)], rtol=1e-12)
    assert_allclose(model.loo_score_, max(scores), rtol=1e-9)

    two = y > np.median(y)
    chosen = RBFNetworkClassifier(10, **settings).fit(X, two)
    scores = [
        RBFNetworkClassifier(10, width=w, **settings).fit(X, two).loo_score_ for w in widths
    ]
    assert chosen.loo_score_ == max(scores)


@pytest.mark.recovery
def test_wide_functions_fit_a_plane_with_noise(seed):
    """Widths of the distance between centres need many more centres for a nearly linear target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 8))
    y = X @ rng.normal(size=8) + 0.1 * rng.normal(size=400)
    wide, narrow = (
        RBFNetworkRegressor(40, width=width, random_state=seed).fit(X[:300], y[:300])
        for width in ("auto", "nearest")
    )
    assert 1 - wide.score(X[300:], y[300:]) < 0.2 * (1 - narrow.score(X[300:], y[300:]))


@pytest.mark.edge
def test_given_centres_and_functions_without_width_use_the_median():
    X, y = data(0)
    for settings in ({"centers": X[:7]}, {"basis": "linear"}, {"basis": "thin_plate_spline"}):
        auto, nearest = (
            RBFNetworkRegressor(7, width=width, random_state=0, **settings).fit(X, y)
            for width in ("auto", "nearest")
        )
        assert_array_equal(auto.widths_, np.median(nearest.widths_))


@pytest.mark.edge
def test_outlying_row_does_not_widen_the_functions(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    X[0] *= 1e3
    auto, mean = (
        RBFNetworkRegressor(60, width=width, random_state=seed).fit(X[:400], y[:400])
        for width in ("auto", "shared")
    )
    rest = X[400:], y[400:]
    assert 1 - auto.score(*rest) < 0.5 * (1 - mean.score(*rest))
    assert auto.score(*rest) > 0.8


@pytest.mark.edge
def test_width_of_many_samples_is_chosen_on_some(monkeypatch):
    X, y = data(0)
    monkeypatch.setattr(_base, "COMPARED", 50)
    model = RBFNetworkRegressor(10, alpha=0.1, random_state=0).fit(X, y)
    assert len(model.centers_) == 10
    assert not hasattr(model, "loo_score_")
    assert model.alpha_ == 0.1


@pytest.mark.certificate
def test_gradient_vanishes(seed):
    X, y = data(seed)
    for centers in ("k-means", "neural_gas", "random", "ols"):
        model = RBFNetworkRegressor(15, centers=centers, random_state=seed).fit(X, y)
        H = FORMULAS["gaussian"](cdist(X, model.centers_), model.widths_)
        residual = y - H @ model.output_coef_ - model.intercept_
        assert_allclose(
            (H - H.mean(axis=0)).T @ residual,
            model.alpha_ * model.output_coef_,
            rtol=1e-6,
            atol=1e-8,
        )
        assert model.optimality_ < 1e-9


@pytest.mark.recovery
def test_planted_centres_are_chosen(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(400, 2))
    planted = [3, 50, 200]
    y = FORMULAS["gaussian"](cdist(X, X[planted]), 0.5) @ [2.0, -3.0, 2.5]
    model = RBFNetworkRegressor(20, centers="ols", width=0.5, random_state=seed).fit(X, y)
    assert set(planted) <= set(model.selected_[:5])
    digits, labels = load_digits(return_X_y=True)
    machine = RBFNetworkClassifier(300, width="shared", random_state=seed)
    machine.fit(digits[:900], labels[:900])
    assert machine.score(digits[900:], labels[900:]) > 0.93


@pytest.mark.paper
def test_chosen_centres_are_fewer_than_random_ones(seed):
    """Chen, Cowan and Grant 1991: the same error with fewer centres than by random choice."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(500, 2))
    new = rng.uniform(-3, 3, size=(500, 2))
    hills = FORMULAS["gaussian"](cdist(np.vstack([X, new]), [[1, 1], [-1, 0]]), 0.5).sum(
        axis=1
    )
    y = hills[:500] + 0.1 * rng.normal(size=500)
    chosen = RBFNetworkRegressor(10, centers="ols", width=0.6, random_state=seed).fit(X, y)
    drawn = [
        RBFNetworkRegressor(50, centers="random", width=0.6, random_state=s).fit(X, y)
        for s in range(5)
    ]
    assert len(chosen.centers_) <= 10
    assert chosen.score(new, hills[500:]) > max(m.score(new, hills[500:]) for m in drawn)


@pytest.mark.invariance
def test_shift_scale_and_blocks(seed):
    X, y = data(seed)
    want = RBFNetworkRegressor(10, random_state=0).fit(X, y).predict(X)
    for scale, shift in ((1e3, 0.0), (1.0, 1e3)):
        moved = X * scale + shift
        found = RBFNetworkRegressor(10, random_state=0).fit(moved, y).predict(moved)
        assert_allclose(found, want, rtol=1e-6, atol=1e-8)
    X, y = data(seed, n=3000)
    # the rows are processed in several blocks
    want = RBFNetworkRegressor(300, random_state=0).fit(X, y).predict(X)
    two = RBFNetworkRegressor(300, random_state=0, n_jobs=2).fit(X, y)
    assert_allclose(two.predict(X), want, rtol=1e-8)


@pytest.mark.invariance
@pytest.mark.parametrize("cls", [RBFNetworkRegressor, RBFNetworkClassifier])
def test_streaming_and_merging_with_given_centres(cls, seed):
    X, y = data(seed)
    known = {}
    if cls is RBFNetworkClassifier:
        y = np.digitize(y, [0.5, 1.5])
        known = {"classes": [0, 1, 2]}
    centers = X[:10]
    whole = cls(centers=centers, alpha=0.1).fit(X, y)
    parts = [cls(centers=centers, alpha=0.1).partial_fit(X[a::3], y[a::3], **known)
             for a in range(3)]  # fmt: skip
    merged = parts[1].merge(parts[0]).merge(parts[2])
    stream = cls(centers=centers, alpha=0.1).partial_fit(X[:5], y[:5], **known)
    stream.partial_fit(X[5:], y[5:])
    for model in (merged, stream):
        assert_allclose(model.output_coef_, whole.output_coef_, rtol=1e-7, atol=1e-9)
        assert model.n_samples_seen_ == 80


@pytest.mark.invariance
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("name", ["float64", "float32"])
@pytest.mark.parametrize("basis", FORMULAS)
def test_arrays_of_another_library(basis, name, library, seed):
    xp = pytest.importorskip(library)
    X, y = data(seed)
    X = X.astype(name)
    rtol = 1e-10 if name == "float64" else 1e-4  # products are summed in a different order
    settings = {"basis": basis, "alphas": [0.1, 1.0], "random_state": 0}
    want = RBFNetworkRegressor(10, **settings).fit(X, y)
    with sklearn.config_context(array_api_dispatch=True):
        model = RBFNetworkRegressor(10, **settings).fit(xp.asarray(X), xp.asarray(y))
        found = model.predict(xp.asarray(X))
        assert type(found) is type(xp.asarray(X))
        assert type(model.centers_) is type(xp.asarray(X))
    assert_allclose(np.asarray(found), want.predict(X), rtol=rtol, atol=rtol)


@pytest.mark.edge
@pytest.mark.parametrize("centers", ["k-means", "neural_gas", "random", "ols"])
def test_duplicates_and_more_centres_than_samples(centers):
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 2)), 5, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RBFNetworkRegressor(50, centers=centers, random_state=0).fit(X, X[:, 0])
    assert len(model.centers_) <= 20
    assert (model.widths_ > 0).all()
    assert np.isfinite(model.predict(X)).all()
    same = RBFNetworkRegressor(5, centers=centers, random_state=0).fit(X[:5], np.arange(5.0))
    assert_allclose(same.predict(X[:5]), 2, rtol=1e-9)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"centers": np.zeros((4, 7))}, "centers have 7 columns, but X has 3"),
        ({"centers": np.full((4, 3), np.nan)}, "centers contains NaN"),
        ({"centers": "elsewhere"}, "The 'centers' parameter"),
        ({"alphas": [-1.0]}, "list of positive numbers"),
    ],
)
def test_messages(parameters, message):
    with pytest.raises(ValueError, match=message):
        RBFNetworkRegressor(5, **parameters).fit(*data(0))


@pytest.mark.invariance
@pytest.mark.parametrize("basis", ["gaussian", "multiquadric", "linear"])
def test_small_numbers_in_single_precision(basis, seed):
    """Squares of their distances underflow there."""
    X, y = data(seed)
    small = (1e-30 * X).astype(np.float32)
    single = RBFNetworkRegressor(8, basis=basis, random_state=0).fit(small, y)
    double = RBFNetworkRegressor(8, basis=basis, random_state=0).fit(small.astype(float), y)
    assert single.predict(small).dtype == np.float32
    # centres and widths are rounded to single precision
    assert_allclose(single.predict(small), double.predict(small.astype(float)), rtol=1e-3)


@pytest.mark.edge
def test_adding_samples_needs_given_centres_and_splines_moderate_numbers():
    X, y = data(0)
    with pytest.raises(AttributeError, match="partial_fit needs fixed centres"):
        RBFNetworkRegressor(5, alpha=1.0).partial_fit(X, y)
    with pytest.raises(ValueError, match="merge needs fixed centres"):
        RBFNetworkRegressor(5).fit(X, y).merge(RBFNetworkRegressor(5).fit(X, y))
    one = RBFNetworkRegressor(centers=X[:5], alpha=1.0).fit(X, y)
    with pytest.raises(ValueError, match="first layers differ"):
        one.merge(RBFNetworkRegressor(centers=X[5:10], alpha=1.0).fit(X, y))
    with pytest.raises(ValueError, match="fourth powers"):
        RBFNetworkRegressor(5, basis="thin_plate_spline").fit(X * 1e60, y)

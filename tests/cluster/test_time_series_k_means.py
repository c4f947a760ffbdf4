"""Evidence that clusters of series and their averages minimise what they state."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skmoderndata._solvers.alignment import barycenters
from skmoderndata._solvers.alignment.corridors import SAKOE_CHIBA, SLANTED, Band
from skmoderndata.cluster import ClusterPrototypesDisplay, TimeSeriesKMeans
from skmoderndata.metrics import (
    dtw,
    dtw_barycenter,
    dtw_path,
    pairwise_dtw,
    soft_dtw,
    soft_dtw_barycenter,
)
from skmoderndata.preprocessing import SeriesFormatter


def bumps(seed, n=45, ragged=True):
    """Draw one, two or three bumps at any time, and their number."""
    rng = np.random.default_rng(seed)
    X = []
    y = np.arange(n) % 3
    for count in y:
        x = 0.02 * rng.normal(size=rng.integers(50, 60) if ragged else 55)
        for k in range(count + 1):
            at = 16 * k + rng.integers(0, 6)
            x[at : at + 10] += np.hanning(10)
        X.append(x)
    return X, y


def objective(center, X, weights=None, **settings):
    weights = np.ones(len(X)) if weights is None else weights
    return sum(
        w * dtw(center, x, root=False, **settings) for w, x in zip(weights, X, strict=True)
    )


@pytest.mark.certificate
@pytest.mark.parametrize("radius", [None, 12, 0.3])
def test_average_is_the_mean_of_aligned_points(radius, seed):
    """A fixed point: each point of the center is the mean of the points aligned with it."""
    X, _ = bumps(seed, n=9)
    weights = np.random.default_rng(seed).uniform(0.5, 2, size=9)
    center = dtw_barycenter(X, weights, radius=radius, max_iter=200, tol=0.0)
    sums = np.zeros(len(center))
    masses = np.zeros(len(center))
    for w, x in zip(weights, X, strict=True):
        path, _ = dtw_path(center, x, radius=radius)
        np.add.at(sums, path[:, 0], w * x[path[:, 1]])
        np.add.at(masses, path[:, 0], w)
    assert_allclose(center[:, 0], sums / masses, rtol=0, atol=1e-12)
    start = X[int(np.argmin(weights @ pairwise_dtw(X, root=False, radius=radius)))]
    better = objective(center, X, weights, radius=radius)
    assert better < objective(start, X, weights, radius=radius)


@pytest.mark.recovery
def test_average_is_the_better_of_two_starts(seed):
    X = bumps(seed, n=6)[0]
    of_medoid = objective(dtw_barycenter(X, init="medoid"), X)
    length = len(dtw_barycenter(X, init="medoid"))
    grid = np.linspace(0, 1, length)
    mean = np.mean(
        [np.interp(grid, np.linspace(0, 1, len(x)), np.ravel(x)) for x in X], axis=0
    )
    of_mean = objective(dtw_barycenter(X, init=mean), X)
    assert objective(dtw_barycenter(X), X) == pytest.approx(min(of_medoid, of_mean), rel=1e-9)


@pytest.mark.certificate
def test_gradient_of_the_soft_average_vanishes(seed):
    X, _ = bumps(seed, n=5)
    center = soft_dtw_barycenter(X, gamma=0.1, max_iter=2000, tol=1e-15)
    slopes = [soft_dtw(center, x, 0.1, gradient=True)[1] for x in X]
    # L-BFGS stops when the objective no longer falls in double precision
    assert np.abs(np.sum(slopes, axis=0)).max() < 1e-4
    assert center.shape == (len(X[0]), 1) or center.shape[1] == 1


@pytest.mark.oracle
def test_averages_without_warping_are_means(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 10, 2))
    weights = rng.uniform(size=6)
    expected = np.average(X, axis=0, weights=weights)
    assert_allclose(dtw_barycenter(X, weights, radius=0), expected, atol=1e-13)
    with pytest.warns(ConvergenceWarning, match="after 1 iterations .* increase max_iter=1"):
        start = dtw_barycenter(X, init=X[2], length=17, max_iter=1)
    assert start.shape == (17, 2)
    with pytest.warns(
        ConvergenceWarning, match="soft_dtw_barycenter stopped before it converged"
    ):
        soft_dtw_barycenter(X, max_iter=2)


@pytest.mark.oracle
def test_euclidean_metric_is_scikit_learns(seed):
    X = np.stack(bumps(seed, ragged=False)[0])
    model = TimeSeriesKMeans(3, metric="euclidean", n_init=8, random_state=seed).fit(X)
    theirs = KMeans(3, n_init=20, random_state=seed).fit(X)
    assert model.inertia_ <= theirs.inertia_ * (1 + 1e-3)  # both results are local minima
    centers = np.stack([c[:, 0] for c in model.cluster_centers_])
    for c in range(3):
        assert_allclose(centers[c], X[model.labels_ == c].mean(axis=0), atol=1e-12)
    costs = ((X[:, None] - centers[None]) ** 2).sum(axis=2)
    assert_allclose(model.inertia_, costs.min(axis=1).sum(), rtol=1e-12)


@pytest.mark.recovery
@pytest.mark.parametrize(
    "settings", [{}, {"radius": 15}, {"metric": "soft_dtw", "gamma": 0.1}]
)
def test_numbers_of_bumps_are_found(settings, seed):
    X, y = bumps(seed)
    model = TimeSeriesKMeans(3, n_init=3, random_state=seed, **settings).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    new, truth = bumps(seed + 1)
    assert adjusted_rand_score(truth, model.predict(new)) == 1.0


@pytest.mark.recovery
@pytest.mark.parametrize("slanted", [True, False])
def test_a_radius_does_not_sort_series_by_length(slanted, seed):
    """The same numbers of bumps at two speeds, within a radius of few steps."""
    rng = np.random.default_rng(seed)
    y = np.arange(40) % 2
    lengths = np.where(np.arange(40) % 4 < 2, 60, 100)
    times = [np.linspace(0, 1, n) for n in lengths]
    X = [
        np.sin((1 + c) * np.pi * t) ** 2 + 0.05 * rng.normal(size=len(t))
        for c, t in zip(y, times, strict=True)
    ]
    model = TimeSeriesKMeans(2, radius=6, slanted=slanted, n_init=3, random_state=seed)
    if slanted:
        assert adjusted_rand_score(y, model.fit_predict(X)) == 1.0
        assert adjusted_rand_score(y, model.predict(X[::-1])[::-1]) == 1.0
    else:  # each cluster contains the series that have one of the lengths
        assert adjusted_rand_score(lengths, model.fit_predict(X)) == 1.0


@pytest.mark.certificate
@pytest.mark.parametrize("settings", [
    {}, {"radius": 8}, {"averaging_iter": 4}, {"metric": "soft_dtw", "gamma": 0.5},
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_objective_never_rises_and_matches_the_centers(settings, seed):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(rng.integers(9, 15), 2)).cumsum(axis=0) for _ in range(30)]
    model = TimeSeriesKMeans(5, random_state=seed, **settings).fit(X)
    assert (np.diff(model.objective_history_) <= 0).all()
    assert model.objective_history_[-1] == model.inertia_
    if "metric" in settings:
        costs = np.array([[soft_dtw(c, x, 0.5) for x in X] for c in model.cluster_centers_])
    else:
        radius = settings.get("radius")
        costs = pairwise_dtw(model.cluster_centers_, X, root=False, radius=radius)
    assert_array_equal(model.labels_, costs.argmin(axis=0))
    assert_allclose(model.inertia_, costs.min(axis=0).sum(), rtol=1e-12)
    assert_allclose(model.score(X), -model.inertia_, rtol=1e-12)
    assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.invariance
def test_containers_threads_copies_and_searches(seed):
    X = np.stack(bumps(seed, ragged=False)[0])
    model = TimeSeriesKMeans(3, random_state=0).fit(X)
    for given in (list(X), [x.tolist() for x in X], X[:, :, None]):
        assert_array_equal(clone(model).fit(given).labels_, model.labels_)
    threads = clone(model).set_params(n_jobs=2).fit(X)
    assert_array_equal(threads.cluster_centers_[1], model.cluster_centers_[1])
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.labels_)
    given = X.copy()
    again = clone(model).fit(given)
    given[:] = 3.0
    assert_array_equal(again.predict(X), model.labels_)
    steps = make_pipeline(SeriesFormatter(), TimeSeriesKMeans(3, random_state=0))
    search = GridSearchCV(steps, {"timeserieskmeans__radius": [None, 10]}, cv=3).fit(list(X))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


class Counting:
    """Callback that counts passes, and stops at one."""

    def __init__(self, stop=np.inf):
        self.stop = stop
        self.seen = 0

    def setup(self, estimator, context):
        """Start to count."""

    def teardown(self, estimator, context):
        """Nothing is held."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to do."""

    def on_fit_task_end(self, estimator, context):
        """Count a pass."""
        self.seen += 1
        return self.seen >= self.stop


@pytest.mark.newest
@pytest.mark.edge
def test_callbacks_see_passes_and_can_stop():
    X, _ = bumps(0)
    model = TimeSeriesKMeans(3, random_state=0)
    counting = Counting()
    model.set_callbacks(counting).fit(X)
    assert counting.seen == model.n_iter_ + 1  # the fit as a whole also counts as a task
    stopped = TimeSeriesKMeans(3, random_state=0).set_callbacks(Counting(1)).fit(X)
    assert stopped.n_iter_ == 1


@pytest.mark.edge
def test_no_cluster_stays_empty():
    X = [np.zeros(5), np.zeros(5), np.zeros(4), np.ones(5), np.full(6, 2.0)]
    for seed in range(5):
        model = TimeSeriesKMeans(3, random_state=seed).fit(X)
        assert model.inertia_ == 0
        assert sorted(np.bincount(model.labels_)) == [1, 1, 3]
    with pytest.warns(ConvergenceWarning, match=r"clusters found \(3\) is smaller than"):
        model = TimeSeriesKMeans(4, random_state=0).fit(X)  # there are three distinct series
    assert model.inertia_ == 0
    assert_array_equal(model.labels_, model.predict(X))
    assert len(set(model.labels_)) == 3


@pytest.mark.invariance
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_default_smoothing_has_the_units_of_the_series(unit, seed):
    X = [x * unit + 3 * unit for x in bumps(seed)[0][:20]]
    want = TimeSeriesKMeans(3, metric="soft_dtw", max_iter=5, tol=1e-2, random_state=0)
    model = clone(want).fit(X)
    want.fit([x / unit for x in X])
    assert_allclose(model.gamma_, np.var(np.concatenate(X)), rtol=1e-9)
    assert_array_equal(model.labels_, want.labels_)
    assert_allclose(model.inertia_, want.inertia_ * unit**2, rtol=1e-4)


@pytest.mark.certificate
def test_default_reaches_a_joint_fixed_point(seed):
    """Neither averaging to convergence nor a new assignment lowers what the default reaches."""
    X, _ = bumps(seed)
    model = TimeSeriesKMeans(3, random_state=seed).fit(X)
    for c, center in enumerate(model.cluster_centers_):
        members = [X[i] for i in np.flatnonzero(model.labels_ == c)]
        better = dtw_barycenter(members, init=center, max_iter=200, tol=0.0)
        before, after = (
            pairwise_dtw([z], members, root=False).sum() for z in (center, better)
        )
        assert before - after <= 1e-6 * model.inertia_
    again = TimeSeriesKMeans(3, init=model.cluster_centers_).fit(X)
    assert_allclose(again.inertia_, model.inertia_, rtol=1e-6)
    assert again.inertia_ <= model.inertia_ * (1 + 1e-12)


@pytest.mark.invariance
def test_given_starts_are_used_and_kept():
    X, _ = bumps(0)
    starts = [X[i].copy() for i in (0, 1, 2)]
    one, two = (TimeSeriesKMeans(3, init=starts, random_state=i, n_init=i + 1) for i in (0, 4))
    assert_array_equal(one.fit(X).labels_, two.fit(X).labels_)
    for start, i in zip(starts, (0, 1, 2), strict=True):
        assert_array_equal(start, X[i])


@pytest.mark.edge
def test_warns_if_not_converged():
    X, _ = bumps(0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        TimeSeriesKMeans(3, max_iter=1, random_state=0).fit(X)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        ([], {}, "empty collection"),
        ([[1.0], []], {"n_clusters": 1}, "series 1 is empty"),
        ([[1.0], [np.nan]], {"n_clusters": 1}, "series 1 has NaN"),
        ([[1.0]], {"n_clusters": 2}, "should be >= n_clusters=2"),
        ([[1.0], [1.0, 2.0]], {"n_clusters": 1, "metric": "euclidean"}, "equal lengths"),
        (
            [[1.0], [1.0, 2.0, 3.0]],
            {"n_clusters": 1, "radius": 1, "slanted": False},
            "set slanted",
        ),
        ([[1.0]], {"n_clusters": 1, "init": [[1.0], [2.0]]}, "init has 2 series"),
        ([[1.0]], {"n_clusters": 1, "init": [[[1.0, 2.0]]]}, "same channels"),
        ([[1.0]], {"n_clusters": 1, "init": "random"}, "init"),
        ([[1.0]], {"radius": -1}, "radius"),
        ([[1.0]], {"gamma": 0.0}, "gamma"),
        ([[1.0]], {"metric": "cosine"}, "metric"),
        ([[1.0]], {"metric": "softdtw"}, "'softdtw' is 'soft_dtw' here"),
    ],
)
def test_error_names_bad_input(X, settings, message):
    with pytest.raises(ValueError, match=message):
        TimeSeriesKMeans(**settings).fit(X)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dtw_barycenter([[1.0]], [0.0]), "at least one non-zero"),
        (lambda: dtw_barycenter([[1.0]], max_iter=0), "max_iter=0"),
        (lambda: dtw_barycenter([[1.0]], length=0), "length=0"),
        (lambda: dtw_barycenter([[1.0]], init="mean"), "init='mean'"),
        (lambda: dtw_barycenter([[1.0]], init=np.zeros((2, 2))), "init has 2 channels"),
        (
            lambda: dtw_barycenter([[1.0], [1.0] * 4], radius=1, slanted=False),
            "set slanted=True",
        ),
        (lambda: soft_dtw_barycenter([[1.0]], gamma=0), "gamma=0"),
        (lambda: soft_dtw_barycenter([[1.0]], tol=-1), "tol=-1"),
    ],
)
def test_errors_name_bad_parameters_of_averages(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.edge
def test_queries_of_other_channels_are_rejected():
    model = TimeSeriesKMeans(1, random_state=0).fit([[1.0], [2.0]])
    with pytest.raises(ValueError, match="same channels"):
        model.predict([np.zeros((2, 3))])


@pytest.mark.recovery
def test_picture_of_the_prototypes():
    import matplotlib.pyplot as plt

    X, _ = bumps(0)
    model = TimeSeriesKMeans(3, random_state=0).fit(X)
    display = ClusterPrototypesDisplay.from_estimator(model, X)
    assert len(display.axes_) == 3
    for c, ax in enumerate(display.axes_):
        assert len(ax.lines) == (model.labels_ == c).sum() + 1
        assert_array_equal(ax.lines[-1].get_ydata(), model.cluster_centers_[c][:, 0])
    plt.close(display.figure_)


@pytest.mark.oracle
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("band", [Band(), Band(SAKOE_CHIBA, 4.0), Band(SLANTED, 1.0)])
def test_long_series_are_averaged_as_short_ones(channels, band, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    series = [
        rng.normal(size=(rng.integers(9, 13), channels)).cumsum(axis=0) for _ in range(50)
    ]
    offsets = np.concatenate([[0], np.cumsum([len(z) for z in series])])
    X = (np.concatenate(series), offsets)
    weights = rng.uniform(0.5, 2, size=50)
    center = rng.normal(size=(11, channels)).cumsum(axis=0)
    short = barycenters.average_step(X, weights, center, band)
    monkeypatch.setattr(barycenters, "CELLS", 0)
    assert_allclose(barycenters.average_step(X, weights, center, band), short, rtol=1e-12)

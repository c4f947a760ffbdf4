"""Evidence that HierarchicalSlowFeatureAnalysis solves the problem it states."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata.datasets import make_moving_object
from skmoderndata.decomposition import HierarchicalSlowFeatureAnalysis
from tests.oracles import hierarchical_slow_feature_analysis as oracle
from tests.oracles.slow_feature_analysis import slow_certificate

TWO_LAYERS = (
    {"field": (2, 3), "stride": (2, 1), "n_pre": 5, "n_out": 3, "degree": 2},
    {"n_pre": 6, "n_out": 4, "degree": 2},
)


def images(seed, n=600, shape=(4, 5, 2), n_sequences=3):
    """Rows with time scales from slow to fast in all pixels, and their sequences."""
    rng = np.random.default_rng(seed)
    p = int(np.prod(shape))
    drive = rng.normal(size=(n, p))
    for t in range(1, n):
        drive[t] = np.linspace(0.98, 0.2, p) * drive[t - 1] + 0.3 * drive[t]
    X = np.tanh(drive @ rng.normal(size=(p, p)) / np.sqrt(p)) + 0.1 * rng.normal(size=(n, p))
    return X, np.sort(rng.integers(0, n_sequences, n))


def up_to_sign(Y, reference):
    return Y * np.sign(np.sum(Y * reference, axis=0))


def measured_slowness(Y, ids):
    """Mean squared step inside sequences, in plain steps."""
    inside = [t for t in range(1, len(Y)) if ids[t] == ids[t - 1]]
    return np.mean([(Y[t] - Y[t - 1]) ** 2 for t in inside], axis=0)


def explained_position(model, film, half):
    """R squared of a linear readout of the position, learned on the first rows."""
    Y = model.transform(film.data)
    readout = LinearRegression().fit(Y[:half], film.position[:half])
    return readout.score(Y[half:], film.position[half:])


@pytest.mark.oracle
@pytest.mark.parametrize("sharing", [True, False])
def test_network_of_whole_arrays(seed, sharing):
    X, ids = images(seed)
    X[::100] *= 5  # some values reach the clipping bounds
    est = HierarchicalSlowFeatureAnalysis(
        image_shape=(4, 5, 2), layers=TWO_LAYERS, weight_sharing=sharing, batch_size=97
    ).fit(X, sequence_ids=ids)
    full = (
        {**TWO_LAYERS[0], "weight_sharing": sharing},
        {**TWO_LAYERS[1], "field": (2, 3), "stride": (2, 3), "weight_sharing": sharing},
    )
    Y, delta = oracle.train_and_apply(X.reshape(-1, 4, 5, 2), ids, full)
    reference = Y.reshape(len(X), -1)
    # two eigenproblems are solved in sequence, so rounding errors grow if eigenvalues are close
    assert_allclose(est.delta_values_, delta[0], rtol=1e-6)
    assert_allclose(up_to_sign(est.transform(X), reference), reference, rtol=1e-5, atol=1e-5)


@pytest.mark.oracle
def test_one_linear_layer_solves_the_generalised_eigenproblem(seed):
    X, ids = images(seed, shape=(1, 6, 1))
    est = HierarchicalSlowFeatureAnalysis(6, degree=1, clip=None).fit(X, sequence_ids=ids)
    mean, W, delta = oracle.slow_features([X[ids == i] for i in np.unique(ids)], 6)
    assert_allclose(est.delta_values_, delta, rtol=1e-9)
    reference = (X - mean) @ W.T
    assert_allclose(up_to_sign(est.transform(X), reference), reference, atol=1e-9)


@pytest.mark.certificate
def test_outputs_have_unit_covariance_and_the_stated_slowness(seed):
    X, ids = images(seed)
    est = HierarchicalSlowFeatureAnalysis(image_shape=(4, 5, 2), layers=TWO_LAYERS)
    Y = est.fit_transform(X, sequence_ids=ids)
    assert_allclose(Y.mean(axis=0), 0, atol=1e-8)
    assert_allclose(Y.T @ Y / len(Y), np.eye(4), atol=1e-8)
    assert np.all(np.diff(est.delta_values_) >= 0)
    assert_allclose(est.delta_values_, measured_slowness(Y, ids), rtol=1e-8)


@pytest.mark.certificate
@pytest.mark.parametrize("sharing", [True, False])
def test_fields_of_the_last_layer(seed, sharing):
    """With sharing the conditions hold over all fields together, without it in each field."""
    X, ids = images(seed)
    est = HierarchicalSlowFeatureAnalysis(
        3, image_shape=(4, 5, 2), layers=TWO_LAYERS[:1], weight_sharing=sharing
    )
    Y = est.fit_transform(X, sequence_ids=ids).reshape(len(X), 6, 3)
    delta = est.delta_values_.reshape(6, 3)
    slowness = np.array([measured_slowness(Y[:, f], ids) for f in range(6)])
    gram = np.einsum("tfa,tfb->fab", Y, Y) / len(X)
    if sharing:
        assert len(est.layers_[0].nodes) == 1
        assert_allclose(Y.mean(axis=(0, 1)), 0, atol=1e-8)
        assert_allclose(gram.mean(axis=0), np.eye(3), atol=1e-8)
        assert_allclose(delta, np.tile(slowness.mean(axis=0), (6, 1)), rtol=1e-8)
    else:
        assert len(est.layers_[0].nodes) == 6
        assert_allclose(Y.mean(axis=0), 0, atol=1e-8)
        assert_allclose(gram, np.tile(np.eye(3), (6, 1, 1)), atol=1e-8)
        assert_allclose(delta, slowness, rtol=1e-8)


@pytest.mark.certificate
def test_nodes_solve_their_eigenproblems(seed):
    """Both stages of the first node, on moments computed here."""
    X, ids = images(seed)
    est = HierarchicalSlowFeatureAnalysis(image_shape=(4, 5, 2), layers=TWO_LAYERS)
    node = est.fit(X, sequence_ids=ids).layers_[0].nodes[0]
    cut = oracle.patches(X.reshape(-1, 4, 5, 2), (2, 3), (2, 1))
    apart = [patch[ids == i] for patch in cut for i in np.unique(ids)]
    expanded = [oracle.expand(np.clip((s - node.mean) @ node.pre.T, -4, 4), 2) for s in apart]
    for sequences, W in [(apart, node.pre), (expanded, node.components)]:
        C = np.cov(np.vstack(sequences).T, bias=True)
        steps = np.vstack([np.diff(s, axis=0) for s in sequences])
        A = steps.T @ steps / len(steps)
        found = slow_certificate(C, A, W, np.einsum("ij,jk,ik->i", W, A, W))
        assert found.stationarity < 1e-8
        assert found.orthonormality < 1e-8


@pytest.mark.paper
def test_example_of_the_first_paper():
    """Wiskott and Sejnowski 2002, section 2.3: sin t is hidden in a quadratic mixture."""
    t = np.linspace(0, 2 * np.pi, 5000)
    X = np.column_stack([np.sin(t) + np.cos(11 * t) ** 2, np.cos(11 * t)])
    est = HierarchicalSlowFeatureAnalysis(1).fit(X)
    assert abs(np.corrcoef(est.transform(X)[:, 0], np.sin(t))[0, 1]) >= 1 - 1e-8
    assert est.delta_values_[0] == pytest.approx((2 * np.pi / 5000) ** 2, rel=1e-3)


@pytest.mark.recovery
def test_position_of_a_moving_object(seed):
    """A linear readout finds the object on new films; principal components do not show it."""
    film = make_moving_object(8, 500, random_state=seed)
    train = slice(0, 3000)
    est = HierarchicalSlowFeatureAnalysis(8, image_shape=film.image_shape)
    est.fit(film.data[train], sequence_ids=film.sequence_ids[train])
    assert explained_position(est, film, 3000) > 0.95
    assert explained_position(PCA(8).fit(film.data[train]), film, 3000) < 0.7


@pytest.mark.recovery
def test_sharing_needs_fewer_rows(seed):
    """From 500 images the shared network generalises; one node per field learns by heart."""
    film = make_moving_object(8, 250, random_state=seed)
    train = slice(0, 500)
    test = slice(500, 2000)
    score = {}
    for sharing in (True, False):
        est = HierarchicalSlowFeatureAnalysis(
            4, image_shape=film.image_shape, weight_sharing=sharing
        )
        est.fit(film.data[train], sequence_ids=film.sequence_ids[train])
        score[sharing] = est.score(film.data[test], sequence_ids=film.sequence_ids[test])
    assert score[True] > -0.3
    assert score[False] < -0.6  # white noise has a score of -2


@pytest.mark.recovery
@pytest.mark.parametrize("sharing", [True, False])
def test_clipping_bounds_rows_unlike_the_training(seed, sharing):
    film = make_moving_object(4, 300, random_state=seed)
    shape = film.image_shape
    strange = 100 * film.data[:50]
    largest = {}
    for clip in (4.0, None):
        est = HierarchicalSlowFeatureAnalysis(
            4, image_shape=shape, clip=clip, weight_sharing=sharing, n_pre=8
        )
        est.fit(film.data, sequence_ids=film.sequence_ids)
        largest[clip] = np.abs(est.transform(strange)).max()
    assert largest[4.0] < 1e-4 * largest[None]


@pytest.mark.invariance
@pytest.mark.parametrize("sharing", [True, False])
def test_chunks_and_processes_do_not_matter(seed, sharing):
    X, ids = images(seed)
    make = HierarchicalSlowFeatureAnalysis(
        image_shape=(4, 5, 2),
        layers=TWO_LAYERS,
        weight_sharing=sharing,
        noise_std=0.01,
        random_state=7,
    )
    whole = clone(make).fit(X, sequence_ids=ids)
    small = clone(make).set_params(batch_size=13).fit(X, sequence_ids=ids)
    assert_allclose(small.delta_values_, whole.delta_values_, rtol=1e-7)
    assert_allclose(small.transform(X), whole.transform(X), rtol=1e-6, atol=1e-6)
    parallel = clone(make).set_params(n_jobs=2).fit(X, sequence_ids=ids)
    assert_allclose(parallel.transform(X), whole.transform(X), rtol=1e-9, atol=1e-9)


@pytest.mark.invariance
def test_noise_follows_random_state(seed):
    X, ids = images(seed)
    make = HierarchicalSlowFeatureAnalysis(
        image_shape=(4, 5, 2), layers=TWO_LAYERS, noise_std=0.1, random_state=0
    )
    once, again = (clone(make).fit(X, sequence_ids=ids).delta_values_ for _ in range(2))
    other = clone(make).set_params(random_state=1).fit(X, sequence_ids=ids).delta_values_
    assert_array_equal(once, again)
    assert np.all(once != other)


@pytest.mark.oracle
def test_noise_enters_as_theory_says(seed):
    """White noise adds s^2 to the variance and 2 s^2 to the steps of whitened outputs."""
    X, ids = images(seed, n=4000, shape=(1, 5, 1))
    make = HierarchicalSlowFeatureAnalysis(5, degree=1, clip=None, random_state=seed)
    clean = clone(make).fit(X, sequence_ids=ids).delta_values_
    noisy = clone(make).set_params(noise_std=0.5).fit(X, sequence_ids=ids).delta_values_
    # with 4000 rows, the sample moments of the noise have errors of a few per cent
    assert_allclose(noisy, (clean + 2 * 0.25) / (1 + 0.25), rtol=0.1)


@pytest.mark.invariance
def test_order_and_names_of_sequences_do_not_matter(seed):
    X, ids = images(seed)
    make = HierarchicalSlowFeatureAnalysis(image_shape=(4, 5, 2), layers=TWO_LAYERS)
    Y = clone(make).fit(X, sequence_ids=ids).transform(X)
    order = np.argsort(-ids, kind="stable")
    names = np.array(["c", "a", "b"])[ids]
    other = clone(make).fit(X[order], sequence_ids=names[order]).transform(X)
    assert_allclose(other, Y, rtol=1e-6, atol=1e-6)
    joined = clone(make).fit(X).transform(X)  # the joined sequence has two more steps
    assert np.abs(joined - Y).max() > 1e-6


@pytest.mark.invariance
@pytest.mark.parametrize("scale", [1e-90, -3.0, 1e90])
def test_scale_and_offset_of_the_input_do_not_matter(seed, scale):
    X, ids = images(seed)
    make = HierarchicalSlowFeatureAnalysis(image_shape=(4, 5, 2), layers=TWO_LAYERS)
    Y = clone(make).fit(X, sequence_ids=ids).transform(X)
    other = scale * (X + 10)
    Y_other = clone(make).fit(other, sequence_ids=ids).transform(other)
    assert_allclose(up_to_sign(Y_other, Y), Y, rtol=1e-5, atol=1e-5)


@pytest.mark.invariance
def test_channels_may_be_mixed(seed):
    """Each field sees an invertible map of its values: slow features do not change."""
    X, ids = images(seed)
    mix = np.array([[1.0, 0.4], [-0.7, 2.0]])
    mixed = (X.reshape(-1, 4, 5, 2) @ mix).reshape(len(X), -1)
    make = HierarchicalSlowFeatureAnalysis(image_shape=(4, 5, 2), layers=TWO_LAYERS)
    Y = clone(make).fit(X, sequence_ids=ids).transform(X)
    Y_mixed = clone(make).fit(mixed, sequence_ids=ids).transform(mixed)
    assert_allclose(up_to_sign(Y_mixed, Y), Y, rtol=1e-5, atol=1e-5)


@pytest.mark.invariance
def test_transform_looks_at_one_row_at_a_time(seed):
    X, ids = images(seed)
    est = HierarchicalSlowFeatureAnalysis(image_shape=(4, 5, 2), layers=TWO_LAYERS)
    Y = est.fit(X, sequence_ids=ids).transform(X)
    assert_allclose(est.transform(X[::-1])[::-1], Y, rtol=1e-9, atol=1e-9)
    assert_allclose(est.transform(X[5:6]), Y[5:6], rtol=1e-9, atol=1e-9)
    clone_ = clone(est).set_params(batch_size=1).fit(X[:60])
    assert_allclose(clone_.transform(X[:9]), clone_.transform(X)[:9], rtol=1e-9, atol=1e-9)


@pytest.mark.invariance
def test_float32_is_preserved(seed):
    film = make_moving_object(3, 300, random_state=seed)
    X = film.data.astype(np.float32)
    est = HierarchicalSlowFeatureAnalysis(4, image_shape=film.image_shape)
    Y = est.fit_transform(X, sequence_ids=film.sequence_ids)
    double = clone(est).fit(X.astype(float), sequence_ids=film.sequence_ids).transform(X)
    assert Y.dtype == np.float32
    assert_allclose(Y, double, rtol=1e-4, atol=1e-5)  # the computation is in double precision


@pytest.mark.edge
@pytest.mark.parametrize(
    ("shape", "grids"),
    [
        ((16, 16), [(7, 7), (3, 3), (1, 1)]),
        ((5, 12), [(2, 5), (1, 2), (1, 1)]),
        ((1, 9), [(1, 4), (1, 1)]),
        ((4, 3), [(1, 1)]),
        (None, [(1, 1)]),
    ],
)
def test_default_layers_cover_every_shape(shape, grids):
    n_features = 7 if shape is None else int(np.prod(shape))
    X = np.random.default_rng(0).normal(size=(60, n_features))
    est = HierarchicalSlowFeatureAnalysis(2, image_shape=shape, n_pre=3, n_out=2).fit(X)
    assert [layer.grid for layer in est.layers_] == grids
    assert est.image_shape_ == ((1, 7, 1) if shape is None else (*shape, 1))


@pytest.mark.edge
def test_default_layers_leave_no_pixel_out():
    """Any shape can be fitted, so no default layer has an uncovered margin."""
    rng = np.random.default_rng(0)
    for height, width in zip(range(1, 30), range(29, 0, -1), strict=True):
        X = rng.normal(size=(12, height * width))
        est = HierarchicalSlowFeatureAnalysis(
            1, image_shape=(height, width), n_pre=1, n_out=1, degree=1
        )
        assert est.fit(X).layers_[-1].grid == (1, 1)


@pytest.mark.edge
@pytest.mark.parametrize(
    "X", [np.zeros((9, 6)), np.full((999, 6), 0.1), np.tile([1.1, 2e9], (999, 3))]
)
@pytest.mark.parametrize("sharing", [True, False])
def test_constant_images_are_rejected(X, sharing):
    est = HierarchicalSlowFeatureAnalysis(
        image_shape=(2, 3), weight_sharing=sharing, batch_size=70
    )
    with pytest.raises(ValueError, match="input of layer 0 is constant"):
        est.fit(X)


@pytest.mark.edge
@pytest.mark.parametrize("sharing", [True, False])
def test_constant_fields_have_no_features(seed, sharing):
    """The left half of the image is black: nothing comes from it, nothing breaks."""
    X, ids = images(seed, shape=(4, 4, 1))
    dark = X.reshape(-1, 4, 4).copy()
    dark[:, :, :2] = 0.3
    dark = dark.reshape(len(X), -1)
    layers = [{"field": 2, "n_pre": 4, "n_out": 3}, {"n_pre": 6}]
    est = HierarchicalSlowFeatureAnalysis(
        3, image_shape=(4, 4), layers=layers, weight_sharing=sharing
    )
    Y = est.fit_transform(dark, sequence_ids=ids)
    assert Y.shape == (len(X), 3)
    assert_allclose(Y.T @ Y / len(Y), np.eye(3), atol=1e-8)
    first = HierarchicalSlowFeatureAnalysis(
        3, image_shape=(4, 4), layers=layers[:1], weight_sharing=sharing
    ).fit(dark, sequence_ids=ids)
    n_fields = 4 if sharing else 2  # columns of constant fields are omitted
    assert first.transform(dark).shape == (len(X), 3 * n_fields)
    assert len(first.delta_values_) == len(first.get_feature_names_out()) == 3 * n_fields


@pytest.mark.edge
def test_fewer_directions_than_requested():
    """Rank one input: one linear output, two monomials."""
    X = np.outer(np.sin(np.arange(50) / 3), np.arange(1.0, 5))
    with pytest.warns(UserWarning, match="n_components=5 exceeds the rank 2 .* returns 2"):
        est = HierarchicalSlowFeatureAnalysis(5).fit(X)
    assert est.transform(X).shape == (50, 2)
    with pytest.warns(UserWarning, match="returns 2"):
        with_copy = HierarchicalSlowFeatureAnalysis(5).fit(np.c_[X, X, np.ones(50)])
    Y = est.transform(X)
    Y_copy = with_copy.transform(np.c_[X, X, np.ones(50)])
    assert_allclose(up_to_sign(Y_copy, Y), Y, rtol=1e-6, atol=1e-6)


@pytest.mark.edge
def test_more_pixels_than_rows_is_finite(seed):
    X = np.random.default_rng(seed).normal(size=(12, 64)).cumsum(axis=0)
    est = HierarchicalSlowFeatureAnalysis(3, image_shape=(8, 8)).fit(X)
    assert np.isfinite(est.transform(X)).all()
    assert np.isfinite(est.score(X))


@pytest.mark.edge
@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"image_shape": (5, 5)}, "has 25 values, but X has 24 features"),
        ({"image_shape": (4, 6, 1, 1)}, "image_shape=.*must be"),
        ({"image_shape": (-4, -6)}, "positive integers"),
        ({"image_shape": (4.0, 6)}, "positive integers"),
        ({"layers": []}, "layers is empty"),
        ({"layers": [{"size": 3}]}, r"layers\[0\] has unknown keys \['size'\]"),
        ({"layers": [{"field": (5, 2)}]}, "fields of height 5 do not fit into .* height 4"),
        (
            {"layers": [{"field": (2, 4), "stride": 2}, {"field": 3}]},
            r"layers\[1\].*height 3 do not fit",
        ),
        ({"layers": [{"field": (4, 4), "stride": (1, 4)}]}, "width 4 at stride 4.*uncovered"),
        ({"layers": [{"field": 2, "stride": (2, 4)}]}, "width 2 at stride 4.*uncovered"),
        ({"layers": [{"field": 0}]}, r"layers\[0\]\['field'\] must be a positive integer"),
        ({"layers": [{"field": (1, 2, 3)}]}, "positive integer or a pair"),
        ({"layers": [{"n_out": 0}]}, r"layers\[0\]\['n_out'\] must be an integer"),
        ({"layers": [{"n_out": None}]}, r"layers\[0\]\['n_out'\] must be an integer"),
        ({"layers": [{"degree": 1.5}]}, r"layers\[0\]\['degree'\]"),
        ({"layers": [{"weight_sharing": "no"}]}, r"layers\[0\]\['weight_sharing'\]"),
    ],
)
def test_impossible_layers_are_rejected(params, match):
    est = HierarchicalSlowFeatureAnalysis(**{"image_shape": (4, 6), **params})
    with pytest.raises(ValueError, match=match):
        est.fit(np.random.default_rng(0).normal(size=(10, 24)))
    assert not hasattr(est, "n_features_in_")


@pytest.mark.edge
def test_rejects_layers_that_are_not_dicts():
    with pytest.raises(TypeError, match=r"layers\[0\] must be a dict"):
        HierarchicalSlowFeatureAnalysis(layers=[(3, 3)]).fit(np.ones((5, 9)))


@pytest.mark.edge
def test_uncovered_margin_can_be_allowed(seed):
    X = np.random.default_rng(seed).normal(size=(40, 25))
    layers = ({"field": 2, "n_pre": 2}, {})
    est = HierarchicalSlowFeatureAnalysis(2, image_shape=(5, 5), layers=layers)
    with pytest.raises(ValueError, match="allow_uncovered=True"):
        est.fit(X)
    est.set_params(allow_uncovered=True).fit(X)
    other = X.reshape(-1, 5, 5).copy()
    other[:, 4] = other[:, :, 4] = 99.0
    assert_array_equal(est.transform(other.reshape(40, 25)), est.transform(X))


@pytest.mark.edge
@pytest.mark.parametrize(
    ("X", "error", "match"),
    [
        (sparse.eye_array(6, format="csr"), TypeError, "dense data is required"),
        (np.where(np.eye(6), np.nan, 1), ValueError, "NaN"),
        (np.where(np.eye(6), np.inf, 1), ValueError, "infinity"),
        (np.ones((6, 2), dtype=complex), ValueError, "Complex"),
        (np.array([["a"], ["b"]]), ValueError, "convert"),
        (np.ones((1, 4)), ValueError, "minimum of 2"),
    ],
)
def test_raises_on_invalid_input(X, error, match):
    with pytest.raises(error, match=match):
        HierarchicalSlowFeatureAnalysis().fit(X)


@pytest.mark.edge
def test_raises_on_invalid_sequence_ids(seed):
    X = np.random.default_rng(seed).normal(size=(6, 3))
    est = HierarchicalSlowFeatureAnalysis(2)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[6, 2\]"):
        est.fit(X, sequence_ids=[0, 0])
    with pytest.raises(ValueError, match="sequence_ids contains NaN"):
        est.fit(X, sequence_ids=[0, 0, 0, np.nan, 1, 1])
    with pytest.raises(ValueError, match="every sequence has only one row"):
        est.fit(X, sequence_ids=np.arange(6))
    est.fit(X)
    with pytest.raises(ValueError, match="score needs at least two rows"):
        est.score(X[:1])


@pytest.mark.edge
def test_score_is_the_slowness_on_the_passed_rows(seed):
    X, ids = images(seed)
    est = HierarchicalSlowFeatureAnalysis(3).fit(X[:400], sequence_ids=ids[:400])
    Y = est.transform(X[400:])
    expected = -np.mean(measured_slowness(Y, ids[400:]) / Y.var(axis=0))
    assert est.score(X[400:], sequence_ids=ids[400:]) == pytest.approx(expected, rel=1e-10)
    assert est.score(np.tile(X[:1], (5, 1))) == -2.0


@pytest.mark.edge
def test_search_and_pipeline_with_sequences(seed):
    X, ids = images(seed, n_sequences=6)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), HierarchicalSlowFeatureAnalysis(2))
        grid = {"hierarchicalslowfeatureanalysis__n_pre": [2, 4]}
        search = GridSearchCV(pipe, grid, cv=GroupKFold(3), error_score="raise")
        search.fit(X, groups=ids, sequence_ids=ids)
    assert np.isfinite(search.best_score_)
    plain = GridSearchCV(HierarchicalSlowFeatureAnalysis(2), {"degree": [1, 2]}, cv=3)
    assert np.isfinite(plain.fit(X).best_score_)


class Watch:
    """Callback that notes the tasks and may ask to stop."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.tasks = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.tasks.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        return context.task_name == "layer" and self.tasks.count("layer") == self.stop_after


@pytest.mark.newest
@pytest.mark.edge
@pytest.mark.parametrize("stop_after", [None, 1])
def test_callbacks_see_one_task_per_layer(stop_after):
    film = make_moving_object(2, 60, random_state=0)
    watch = Watch(stop_after)
    est = HierarchicalSlowFeatureAnalysis(3, image_shape=(16, 16)).set_callbacks(watch)
    est.fit(film.data)
    assert watch.tasks.count("layer") == len(est.layers_) == (3 if stop_after is None else 1)
    assert est.transform(film.data).shape[1] == (3 if stop_after is None else 49 * 8)


@pytest.mark.edge
def test_no_training_rows_are_kept(seed):
    X, ids = images(seed)
    est = HierarchicalSlowFeatureAnalysis(image_shape=(4, 5, 2), layers=TWO_LAYERS)
    est.fit(X, sequence_ids=ids)
    X.setflags(write=False)
    arrays = [a for layer in est.layers_ for node in layer.nodes for a in node]
    assert max(a.size for a in arrays) < X.size / 10
    assert_array_equal(est.fit(X, sequence_ids=ids).transform(X).shape, (len(X), 4))

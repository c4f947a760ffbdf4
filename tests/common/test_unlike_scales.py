"""Classes whose answer depends on the scales of columns warn when these differ, and name a scaler.

The card of such a class names the scaler. Classes without one do not depend on the scales, or are
listed below with the reason why no scaler is advised.
"""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler

from skmoderndata._estimator.scale import N_ENTRIES, scale_ratio
from skmoderndata.cluster import KMedoids
from skmoderndata.cross_decomposition import KernelCCA
from skmoderndata.decomposition import RobustPCA
from skmoderndata.svm import L2SVC
from tests.common.instances import FIRST, label, outputs, sample, target

SCALERS = {"StandardScaler": StandardScaler, "RobustScaler": RobustScaler}
FLAGGED = [one for one in FIRST if one._card.scaler]
OTHERS = [
    one
    for one in FIRST
    if not one._card.scaler
    and one._card.samples == "rows"
    and one._card.family != "Boolean data"
    and not one.__sklearn_tags__().input_tags.pairwise
]

GIVEN_UNIT = "the answer is a set of points or an estimate in the units of the columns"
SIGNALS = "columns have one unit: the dictionary or the measurements are given in it"
PARTS = "columns have one unit, as in spectra, images and counts, and zero has a meaning"
NO_SCALER = {
    "ClusteringStability": "the estimator that it gets may begin with a scaler, and warns if not",
    "CompressedSensing": SIGNALS,
    "ConvexNMF": PARTS,
    "JamesStein": GIVEN_UNIT,
    "MinimumEnclosingBall": GIVEN_UNIT,
    "ProbabilisticLSA": PARTS,
    "SemiNMF": PARTS,
    "SparseCoder": SIGNALS,
    "SparseNMF": PARTS,
    "SparseRecovery": SIGNALS,
}


def table(ratio, n=60, p=6):
    """Return rows whose columns differ in interquartile range by a given factor."""
    X = RobustScaler().fit_transform(sample(n, p)) + 5.0
    return X * np.geomspace(1.0, ratio, p)[[2, 0, 5, 1, 3, 4]]


def scale_warnings(estimator, X, *, scaler=None):
    """Fit, and return the messages of warnings about unlike scales."""
    y = target(estimator, X)
    model = clone(estimator)
    if scaler is not None:
        X = scaler.fit_transform(X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(one.message) for one in caught if "interquartile" in str(one.message)]


@pytest.mark.edge
@pytest.mark.parametrize("estimator", FLAGGED, ids=label)
def test_warns_once_and_names_the_scaler(estimator):
    name = type(estimator).__name__
    scaler = estimator._card.scaler
    messages = scale_warnings(estimator, table(1000))
    assert len(messages) == 1
    assert f"make_pipeline({scaler}(), {name}(...))" in messages[0]


@pytest.mark.edge
@pytest.mark.parametrize("estimator", FLAGGED, ids=label)
def test_is_silent_for_like_scales(estimator):
    assert scale_warnings(estimator, table(10)) == []
    scaler = SCALERS[estimator._card.scaler]()
    assert scale_warnings(estimator, table(1000), scaler=scaler) == []


@pytest.mark.edge
@pytest.mark.parametrize("estimator", OTHERS, ids=label)
def test_other_classes_are_silent(estimator):
    assert scale_warnings(estimator, table(1000)) == []


def answers(estimator, X):
    """Return the outputs of a fit; transformed values standardised, with a fixed sign."""
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, target(estimator, table(1)))
        found = outputs(model, X)

    if "transform" in found:
        Z = np.asarray(found["transform"].reshape(len(X), -1), dtype=float)
        Z = (Z - Z.mean(axis=0)) / np.maximum(Z.std(axis=0), 1e-12)
        found["transform"] = Z * np.where(Z[0] < 0, -1, 1)
    return found


@pytest.mark.invariance
@pytest.mark.parametrize(
    "estimator", [one for one in OTHERS if type(one).__name__ not in NO_SCALER], ids=label
)
def test_other_classes_do_not_depend_on_scales(estimator):
    like = answers(estimator, table(1))
    unlike = answers(estimator, table(1000))
    for method, values in like.items():
        values = np.asarray(values)
        if values.dtype.kind in "fc":
            error = np.abs(values - unlike[method]).max() / np.ptp(values)
            # Optimisers of kernel parameters stop at slightly different points.
            assert error < 0.05, method
        else:
            assert np.mean(values != unlike[method]) <= 0.05, method


def test_reasons_are_of_classes_without_a_scaler():
    assert NO_SCALER.keys() <= {type(one).__name__ for one in OTHERS}


@pytest.mark.edge
def test_is_silent_for_kernel_matrices_and_kernel_objects():
    X = table(1000)
    K = X @ X.T
    assert scale_warnings(L2SVC(kernel=RBF(X.std(axis=0))), X) == []
    unlike = np.outer(np.geomspace(1, 1e4, 60), np.geomspace(1, 1e4, 60))
    distances = unlike - np.diag(np.diag(unlike))
    assert scale_ratio(distances) > 100
    assert scale_warnings(KMedoids(3, metric="precomputed"), distances) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelCCA(kernel="precomputed", max_rank=3).fit(unlike + np.eye(60), K / K.max())


@pytest.mark.edge
def test_is_silent_for_non_negative_kernels():
    assert scale_warnings(L2SVC(kernel="chi2"), table(1000) + 5e3) == []


@pytest.mark.edge
def test_is_silent_if_the_class_scales_the_columns():
    assert scale_warnings(RobustPCA(scale="auto"), table(1000)) == []
    assert len(scale_warnings(RobustPCA(), table(1000))) == 1


@pytest.mark.edge
def test_is_silent_for_few_rows_and_columns():
    rng = np.random.default_rng(0)
    few = rng.normal(size=(5, 2000))
    assert scale_ratio(few) > 100
    assert scale_warnings(KMedoids(2), few) == []
    assert scale_warnings(KMedoids(2), table(1000)[:, :1]) == []


@pytest.mark.edge
def test_looks_at_each_view():
    X = table(10)
    Y = table(1000)
    Z = table(10) * 1e6

    with pytest.warns(
        UserWarning, match=r"view 2.*StandardScaler\(\).fit_transform"
    ) as caught:
        KernelCCA().fit(X, Y)
    assert len(caught) == 1
    with pytest.warns(
        UserWarning, match=r"make_pipeline\(StandardScaler\(\), KernelCCA\(...\)\)"
    ):
        KernelCCA(view_slices=[(0, 6), (6, 12)]).fit(np.hstack([X, Y]))

    # The views may differ in scale, because each has its own kernel width.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelCCA().fit(X, Z)
        KernelCCA(view_slices=[(0, 6), (6, 12)]).fit(np.hstack([X, Z]))


@pytest.mark.edge
def test_missing_cells_and_constant_columns_do_not_count():
    X = np.repeat(np.arange(100.0)[:, None], 4, axis=1) * [1, 5, 200, 0]
    X[::3, 1] = np.nan
    assert 150 < scale_ratio(X) < 250
    X[:, 2] = np.nan
    assert scale_ratio(X) < 10


def test_reads_a_sample_of_the_entries():
    class Counted(np.ndarray):
        read = 0

        def __getitem__(self, key):
            part = super().__getitem__(key)
            Counted.read = max(Counted.read, part.size)
            return np.asarray(part)

    for shape in ((20_000, 20), (2_000, 3_000)):
        Counted.read = 0
        scale_ratio(np.ones(shape).view(Counted))
        assert 0 < Counted.read <= 1.1 * N_ENTRIES


@pytest.mark.edge
def test_is_silent_in_a_pipeline_with_a_scaler():
    X = table(1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_pipeline(StandardScaler(), L2SVC()).fit(X, X[:, 0] > np.median(X[:, 0]))

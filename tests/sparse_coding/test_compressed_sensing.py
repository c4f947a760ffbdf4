"""Evidence that CompressedSensing measures as it says, and brings signals back."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata._solvers.recovery.measurements import (
    BASES,
    FAST,
    RANDOM,
    basis_operator,
    from_matrix,
    to_matrix,
)
from skmoderndata.linear_model import BasisPursuit
from skmoderndata.sparse_coding import CompressedSensing, dct_dictionary, wavelet_dictionary
from tests.oracles import compressed_sensing as naive

KINDS = (*RANDOM, *FAST)


def signals(seed, n=128, s=5, n_signals=3, basis=None):
    rng = np.random.default_rng(seed)
    codes = np.zeros((n_signals, n))
    for row in codes:
        row[rng.choice(n, s, replace=False)] = rng.choice([-1, 1], s) * rng.uniform(1, 2, s)
    return codes if basis is None else codes @ basis


def matrix_of(model, n):
    return model.transform(np.eye(n)).T


@pytest.mark.recovery
@pytest.mark.parametrize("basis", ["haar", "dct"])
@pytest.mark.parametrize("kind", KINDS)
def test_recovers_signals(kind, basis, seed):
    # rows of an orthonormal transform are suitable only for bases far from it, such as spikes
    if kind in ("fourier", "dct", "hadamard"):
        basis = None
    Psi = {"dct": dct_dictionary(128), "haar": wavelet_dictionary(128)}.get(basis)
    X = signals(seed, s=3, basis=Psi)
    model = CompressedSensing(64, kind=kind, basis=basis, random_state=seed).fit(X)
    Y = model.transform(X)
    assert Y.shape == (3, 64)
    back = model.recover(Y)
    assert_allclose(back.signals, X, atol=1e-7)
    assert (back.dual_gap <= 1e-8).all()
    assert_allclose(model.inverse_transform(Y), back.signals, atol=1e-12)
    assert model.score(X) > -1e-12


@pytest.mark.oracle
def test_rows_of_the_transforms(seed):
    rng = np.random.default_rng(seed)
    for kind, n, full in (
        ("dct", 20, naive.dct_matrix(20)),
        ("fourier", 20, naive.fourier_rows(20)),
        ("fourier", 15, naive.fourier_rows(15)),
        ("hadamard", 32, naive.hadamard_rows(32)),
    ):
        m = int(rng.integers(2, n))
        model = CompressedSensing(m, kind=kind, random_state=seed).fit(np.zeros((1, n)))
        rows = matrix_of(model, n) / np.sqrt(n / m)
        # each one is a row of the transform up to sign, and no row is used twice
        products = np.abs(rows @ full.T)
        assert_allclose(products.max(axis=1), 1, atol=1e-12)
        assert len(set(products.argmax(axis=1))) == m
    image = CompressedSensing(12, kind="dct", shape=(4, 6), random_state=seed).fit(
        np.zeros((1, 24))
    )
    both = np.kron(naive.dct_matrix(4), naive.dct_matrix(6))
    assert_allclose(np.abs(matrix_of(image, 24) @ both.T).max(axis=1), np.sqrt(2), atol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("name", BASES)
def test_bases_are_the_dictionaries(name, seed):
    shape = (16, 8)
    made = to_matrix(basis_operator(name, shape)).T
    assert_allclose(made @ made.T, np.eye(128), atol=1e-10)
    if name in ("dct", "haar"):
        build = {"dct": dct_dictionary, "haar": wavelet_dictionary}[name]
        assert_allclose(made, build(shape), atol=1e-12)
    long = to_matrix(basis_operator(name, (256,)))  # the operator stores a sparse matrix
    assert_allclose(long.T @ long, np.eye(256), atol=1e-9)


@pytest.mark.oracle
def test_single_pixel_patterns(seed):
    n = 64
    m = 20
    model = CompressedSensing(m, kind="single_pixel", random_state=seed).fit(np.zeros((1, n)))
    patterns = matrix_of(model, n)
    assert set(np.unique(patterns)) == {0.0, 1.0}
    assert_array_equal(patterns[0], 1)
    assert_array_equal(patterns[1:].sum(axis=1), n / 2)
    # differences of a pattern and its complement are orthogonal
    signs = 2 * patterns - patterns[:1]
    assert_array_equal(signs @ signs.T, n * np.eye(m))
    # recovery therefore depends on the signs
    x = signals(seed, n, 3, 1)[0]
    reading = patterns @ x
    back = CompressedSensing(
        m, kind="single_pixel", basis=None, residual_tol=0.1, random_state=seed
    ).fit(x[None]).inverse_transform(reading[None])[0]  # fmt: skip
    scaled = signs / np.sqrt(m)
    wanted = BasisPursuit(residual_tol=0.1, fit_intercept=False).fit(scaled, scaled @ x).coef_
    assert_allclose(back, wanted, atol=1e-7)


@pytest.mark.certificate
@pytest.mark.parametrize("kind", KINDS)
def test_operator_and_its_transpose(kind, seed):
    n = 64
    m = 23
    rng = np.random.default_rng(seed)
    model = CompressedSensing(m, kind=kind, random_state=seed).fit(np.zeros((1, n)))
    A = matrix_of(model, n)
    X = rng.normal(size=(n, 3))
    Y = rng.normal(size=(m, 3))
    operator = model.operator_
    assert operator.shape == (m, n)
    assert_allclose(operator @ X, A @ X, atol=1e-12)
    assert_allclose(operator.T @ Y, A.T @ Y, atol=1e-12)
    assert_allclose(operator @ X[:, 0], A @ X[:, 0], atol=1e-12)
    if kind in ("dct", "fourier", "hadamard", "scrambled_hadamard"):
        assert_allclose(A @ A.T, n / m * np.eye(m), atol=1e-12)
    if kind in RANDOM:
        dense = model.components_.toarray() if kind == "sparse" else model.components_
        assert_allclose(dense, A, atol=1e-15)
    else:
        assert model.components_ is None


@pytest.mark.paper
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "single_pixel"])
def test_lengths_are_kept_on_average(kind):
    """Achlioptas (2003), lemma 4.1: the mean squared length of the measurements."""
    X = np.random.default_rng(0).normal(size=(4, 64))
    ratios = [
        (CompressedSensing(32, kind=kind, random_state=seed).fit(X).transform(X) ** 2).sum()
        for seed in range(150)
    ] / (X**2).sum()
    # for 150 draws of 4 signals, the error of the mean is about 2 percent
    assert abs(np.mean(ratios) - 1) < 0.08
    values = np.unique(
        CompressedSensing(32, kind="sparse", density=0.2, random_state=0)
        .fit(X)
        .components_.data
    )
    assert_allclose(values, [-1 / np.sqrt(6.4), 1 / np.sqrt(6.4)])


@pytest.mark.recovery
def test_decay_prefers_low_frequencies():
    X = np.zeros((1, 256))
    plain = CompressedSensing(40, kind="dct", shape=(16, 16), random_state=0).fit(X)
    low = CompressedSensing(40, kind="dct", shape=(16, 16), decay=3, random_state=0).fit(X)
    smooth = np.outer(np.hanning(16), np.hanning(16)).reshape(1, -1)
    kept = [np.square(m.transform(smooth)).sum() * 40 / 256 for m in (plain, low)]
    assert kept[1] > 0.95 * np.square(smooth).sum() > kept[0]
    for kind in ("fourier", "hadamard"):
        low = CompressedSensing(80, kind=kind, shape=(16, 16), decay=3, random_state=0).fit(X)
        assert (
            np.square(low.transform(smooth)).sum() * 80 / 256 > 0.9 * np.square(smooth).sum()
        )


@pytest.mark.recovery
def test_noise_costs_in_proportion(seed):
    X = signals(seed, basis=dct_dictionary(128))
    rng = np.random.default_rng(seed)
    for level in (0.01, 0.1):
        model = CompressedSensing(
            80, kind="gaussian", random_state=seed, residual_tol=level
        ).fit(X)
        Y = model.transform(X)
        noise = rng.normal(size=Y.shape)
        Y += level * noise / np.linalg.norm(noise, axis=1, keepdims=True)
        errors = np.linalg.norm(model.inverse_transform(Y) - X, axis=1)
        assert (errors <= 10 * level).all()  # the constant of the theory is about 8


@pytest.mark.invariance
@pytest.mark.parametrize("kind", KINDS)
def test_sparse_input_blocks_and_seed(kind, seed):
    # use few non-zeros, so that the solution is unique for Walsh functions, too
    X = signals(seed, 64, 2)
    model = CompressedSensing(0.5, kind=kind, basis=None, random_state=seed).fit(X)
    Y = model.transform(X)
    assert model.n_measurements_ == 32
    assert_allclose(model.transform(sparse.csr_array(X)), Y, atol=1e-12)

    # process one row at a time, and recover without a matrix
    with config_context(working_memory=1e-3):
        assert_allclose(model.transform(X), Y, atol=1e-12)
        free = model.recover(Y)
    usual = model.recover(Y)
    l1 = np.abs(usual.codes).sum(axis=1)
    assert_allclose(np.abs(free.codes).sum(axis=1), l1, rtol=1e-6)

    again = CompressedSensing(0.5, kind=kind, basis=None, random_state=seed).fit(
        sparse.csr_array(X)
    )
    assert_array_equal(again.transform(X), Y)
    other = CompressedSensing(0.5, kind=kind, basis=None, random_state=seed + 100).fit(X)
    assert np.abs(other.transform(X) - Y).max() > 1e-3

    single = CompressedSensing(0.5, kind=kind, basis=None, random_state=seed).fit(
        X.astype(np.float32)
    )
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert single.inverse_transform(Y.astype(np.float32)).dtype == np.float32
    assert_allclose(model.inverse_transform(1e-80 * Y) * 1e80, usual.signals, atol=1e-6)


@pytest.mark.invariance
def test_methods_agree_if_all_succeed(seed):
    X = signals(seed, s=4, basis=dct_dictionary(128))
    Y = None
    for method in ("basis_pursuit", "omp", "iht", "htp", "cosamp", "subspace_pursuit"):
        model = CompressedSensing(
            90, algorithm=method, n_nonzero_coefs=4, random_state=seed
        ).fit(X)
        Y = model.transform(X) if Y is None else Y
        assert_allclose(model.inverse_transform(Y), X, atol=1e-7)


def test_pipeline_and_search():
    X = signals(0, 64, 3, 30, basis=dct_dictionary(64))
    search = GridSearchCV(
        make_pipeline(StandardScaler(with_std=False, with_mean=False),
                      CompressedSensing(32, random_state=0)),
        {"compressedsensing__basis": ["dct", None], "compressedsensing__n_measurements": [8, 32]},
        cv=3,
    ).fit(X)  # fmt: skip
    assert search.best_params_ == {
        "compressedsensing__basis": "dct", "compressedsensing__n_measurements": 32
    }  # fmt: skip
    names = CompressedSensing(3, random_state=0).fit(X).get_feature_names_out()
    assert_array_equal(names, [f"compressedsensing{i}" for i in range(3)])


@pytest.mark.edge
def test_degenerate_input():
    for kind in KINDS:
        model = CompressedSensing(8, kind=kind, random_state=0).fit(np.zeros((2, 16)))
        assert_array_equal(model.inverse_transform(np.zeros((2, 8))), 0)
        assert model.score(np.zeros((2, 16))) == 0
        one = CompressedSensing(1, kind=kind, random_state=0).fit(np.ones((1, 1)))
        assert one.transform(np.ones((1, 1))).shape == (1, 1)
        whole = CompressedSensing(1.0, kind=kind, random_state=0).fit(np.ones((1, 16)))
        x = np.arange(16.0)[None]
        assert_allclose(whole.inverse_transform(whole.transform(x)), x, atol=1e-6)
    more = CompressedSensing(40, random_state=0).fit(np.ones((1, 16)))
    assert_allclose(more.inverse_transform(more.transform(x)), x, atol=1e-8)
    empty = CompressedSensing(4, kind="sparse", density=1e-9, random_state=0).fit(x)
    assert_array_equal(empty.transform(x), 0)
    assert_array_equal(empty.inverse_transform(empty.transform(x)), 0)
    assert from_matrix(np.eye(2)).shape == (2, 2)


@pytest.mark.edge
def test_rejects_sizes_and_fits_impossible_measurements():
    X = np.ones((2, 24))
    for kind in ("hadamard", "scrambled_hadamard", "single_pixel"):
        with pytest.raises(
            ValueError, match=f"kind='{kind}' needs a power of two features, got"
        ):
            CompressedSensing(5, kind=kind).fit(X)
    # no signal gives these measurements: return the smallest residual, or raise an error that
    # names the bound
    spikes = CompressedSensing(40, basis=None, random_state=0).fit(X)
    far = np.random.default_rng(0).normal(size=(1, 40))
    found = spikes.recover(far)
    fitted = spikes.components_ @ np.linalg.lstsq(spikes.components_, far[0])[0]
    assert_allclose(spikes.components_ @ found.signals[0], fitted, atol=1e-7)
    assert_allclose(found.residual_norm, np.linalg.norm(far - fitted), rtol=1e-7)
    for wrong in (0, 0.0, 1.5):
        with pytest.raises(ValueError, match="'n_measurements' parameter"):
            CompressedSensing(wrong).fit(X)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            r"n_measurements=30 exceeds the 24 rows of a transform of 24 features",
            lambda X, spikes, far, model: CompressedSensing(30, kind="dct").fit(X),
        ),
        (
            r"shape=\(5, 5\) has 25 values, but signals have 24",
            lambda X, spikes, far, model: CompressedSensing(5, kind="dct", shape=(5, 5)).fit(
                X
            ),
        ),
        (
            "basis has atoms of 8 values, but signals have 24",
            lambda X, spikes, far, model: CompressedSensing(5, basis=np.eye(8)).fit(X),
        ),
        (
            "basis has complex values",
            lambda X, spikes, far, model: CompressedSensing(5, basis=1j * np.eye(24)).fit(X),
        ),
        (
            r"no coefficients reproduce .* residual_rtol: increase",
            lambda X, spikes, far, model: spikes.set_params(residual_tol=0.01).recover(far),
        ),
        (
            "X has 6 measurements per row, but Compressed",
            lambda X, spikes, far, model: model.inverse_transform(np.ones((2, 6))),
        ),
    ],
)
def test_errors_name_the_remedy(message, call):
    X = np.ones((2, 24))
    # no signal gives these measurements: return the smallest residual, or raise an error that
    # names the bound
    spikes = CompressedSensing(40, basis=None, random_state=0).fit(X)
    far = np.random.default_rng(0).normal(size=(1, 40))
    model = CompressedSensing(5).fit(X)
    with pytest.raises(ValueError, match=message):
        call(X, spikes, far, model)

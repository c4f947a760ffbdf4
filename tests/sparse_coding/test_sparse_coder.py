"""Evidence that SparseCoder solves the problem it states."""

import tracemalloc
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_sample_image
from sklearn.decomposition import SparseCoder as SklearnCoder
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.feature_extraction.image import extract_patches_2d
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skmoderndata._solvers.codes import signal_blocks
from skmoderndata.sparse_coding import SparseCoder, dct_dictionary, random_dictionary
from tests.oracles import sparse_coder as oracle

ALGORITHMS = [
    "omp", "ormp", "mp", "iht", "htp", "cosamp", "subspace_pursuit",
    "lasso", "homotopy", "feature_sign", "coordinate_descent", "ista", "fista",
]  # fmt: skip
CONVEX = ALGORITHMS[7:]


def signals(seed, n_signals=40, n=12, k=24):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_signals, n)), rng.normal(size=(k, n))


def patches(n_patches, seed=0):
    grey = load_sample_image("flower.jpg").mean(axis=2)
    grey += 20 * np.random.default_rng(seed).normal(size=grey.shape)
    X = extract_patches_2d(grey, (8, 8), max_patches=n_patches, random_state=seed)
    X = X.reshape(n_patches, 64)
    return X - X.mean(axis=1, keepdims=True)


@pytest.mark.invariance
@pytest.mark.parametrize(
    "settings", [{}, {"transform_algorithm": "lasso"}, {"residual_tol": 0.5, "n_jobs": 2}]
)
def test_a_given_dictionary_needs_no_fit(settings):
    X, D = signals(0)
    coder = SparseCoder(D, **settings)
    fitted = SparseCoder(D, **settings).fit(X)
    codes = coder.transform(X)
    assert_array_equal(codes, fitted.transform(X))
    assert_array_equal(coder.encode(X).dual_gap, fitted.encode(X).dual_gap)
    assert_array_equal(coder.inverse_transform(codes), fitted.inverse_transform(codes))
    assert coder.score(X) == fitted.score(X)
    assert_array_equal(coder.get_feature_names_out(), fitted.get_feature_names_out())
    assert set(vars(coder)) == set(coder.get_params())  # and nothing is kept

    # use it as the first step of a pipeline, without `fit`
    classifier = LogisticRegression().fit(codes, X[:, 0] > 0)
    assert_array_equal(make_pipeline(coder, classifier).predict(X), classifier.predict(codes))


@pytest.mark.edge
def test_without_fit_messages_match_fit():
    X, D = signals(0)
    with pytest.raises(NotFittedError):
        SparseCoder().transform(X)
    with pytest.raises(NotFittedError):
        SparseCoder().get_feature_names_out()
    with pytest.raises(ValueError, match=r"atoms of 12 features, but X has 5"):
        SparseCoder(D).transform(X[:, :5])
    with pytest.raises(ValueError, match=r"does not accept residual_tol"):
        SparseCoder(D, transform_algorithm="fista", residual_tol=1.0).encode(X)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("lasso_lars", "'lasso_lars' is called 'homotopy' here"),
        ("lasso_cd", "'lasso_cd' is called 'coordinate_descent'"),
        ("lars", "'lars' .* use 'omp'"),
        ("threshold", "'threshold' .* use 'omp'"),
    ],
)
def test_suggests_names_for_algorithms_of_scikit_learn(theirs, ours):
    X, D = signals(0)
    with pytest.raises(ValueError, match=rf"{ours}.*Got '{theirs}' instead"):
        SparseCoder(D, transform_algorithm=theirs).transform(X)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("theirs", "ours"), [("lasso_lars", "homotopy"), ("lasso_cd", "coordinate_descent")]
)
def test_named_algorithms_solve_the_same_problem(theirs, ours):
    X, D = signals(0)
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    expected = SklearnCoder(D, transform_algorithm=theirs, transform_alpha=0.5)
    found = SparseCoder(D, transform_algorithm=ours, transform_alpha=0.5, tol=1e-10)
    # scikit-learn's coordinate descent stops at steps of 1e-4
    assert_allclose(found.transform(X), expected.fit_transform(X), atol=5e-3)


@pytest.mark.oracle
def test_pursuit_of_image_patches_matches_the_textbook():
    X = patches(200)
    D = dct_dictionary((8, 8), n_atoms=16)
    bound = 8 * 1.15 * 20
    sizes = np.linalg.norm(X, axis=1)
    for settings, limit, bounds in (
        ({"transform_n_nonzero_coefs": 4}, 4, None),
        ({"transform_n_nonzero_coefs": 10}, 10, None),
        ({"residual_tol": bound}, 64, np.full(len(X), bound)),
        ({"residual_tol": bound, "transform_n_nonzero_coefs": 2}, 2, np.full(len(X), bound)),
        ({"residual_rtol": 0.45}, 64, 0.45 * sizes),
    ):
        coder = SparseCoder(D, **settings)
        codes = coder.fit_transform(X)

        squares = np.full(len(X), -1.0) if bounds is None else bounds**2
        expected = [oracle.omp(x, D, limit, t) for x, t in zip(X, squares, strict=True)]
        assert_array_equal(codes != 0, np.array(expected) != 0)

        residual = np.linalg.norm(X - codes @ D, axis=1)
        met = coder.encode(X).stop_reason == "tol"
        assert_array_equal(coder.encode(X).n_nonzero_coefs, (codes != 0).sum(axis=1))
        assert_allclose(coder.encode(X).residual_norm, residual, rtol=1e-8)
        if bounds is not None:
            assert (residual[met] <= bounds[met] * (1 + 1e-12)).all()
            assert met.any()


@pytest.mark.oracle
def test_codes_match_scikit_learn(seed):
    X, D = signals(seed)
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    ours = SparseCoder(D, transform_n_nonzero_coefs=3).fit_transform(X)
    theirs = SklearnCoder(D, transform_algorithm="omp", transform_n_nonzero_coefs=3)
    assert_allclose(ours, theirs.fit_transform(X), rtol=1e-8, atol=1e-10)
    theirs = SklearnCoder(D, transform_algorithm="lasso_lars", transform_alpha=0.5)
    for algorithm in ("lasso", "homotopy", "feature_sign"):
        ours = SparseCoder(
            D, transform_algorithm=algorithm, transform_alpha=0.5
        ).fit_transform(X)
        # the path of the other is followed in steps that lose digits
        assert_allclose(ours, theirs.fit_transform(X), atol=1e-6)


@pytest.mark.certificate
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("algorithm", CONVEX)
def test_the_gap_is_reached_for_every_signal(algorithm, positive, seed):
    X, D = signals(seed)
    coder = SparseCoder(
        D,
        transform_algorithm=algorithm,
        transform_alpha=0.3,
        positive_code=positive,
        transform_max_iter=50_000,
    )
    codes = coder.fit_transform(X)
    assert (coder.encode(X).stop_reason == "tol").all()
    norms = np.linalg.norm(D, axis=1)
    for x, a, gap in zip(X, codes * norms, coder.encode(X).dual_gap, strict=True):
        true_gap = oracle.lasso_gap(x, a, D / norms[:, None], 0.3, positive=positive)
        assert true_gap <= 1e-6 + 1e-12
        assert_allclose(gap, true_gap, atol=1e-9)


@pytest.mark.certificate
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [False, True])
def test_lasso_within_a_bound_has_the_least_l1_norm(missing, dtype, seed):
    X, D = signals(seed)
    X = X.astype(dtype)
    D = D.astype(dtype)
    if missing:
        X[np.random.default_rng(seed).uniform(size=X.shape) < 0.2] = np.nan
    known = np.where(np.isnan(X), 0, X).astype(np.float64)

    coder = SparseCoder(D, transform_algorithm="lasso", residual_rtol=0.3)
    codes = coder.fit_transform(X).astype(np.float64)
    R = np.where(np.isnan(X), 0, known - codes @ D.astype(np.float64))
    residual = np.linalg.norm(R, axis=1)
    bound = 0.3 * np.linalg.norm(known, axis=1)
    assert (coder.encode(X).stop_reason == "tol").all()
    assert (residual <= bound).all()
    assert_allclose(coder.encode(X).residual_norm, residual, rtol=1e-9)

    # compute a dual point from the residual
    norms = np.linalg.norm(D.astype(np.float64), axis=1)
    theta = R / np.abs(R @ (D / norms[:, None]).T).max(axis=1)[:, None]
    dual = np.sum(known * theta, axis=1) - bound * np.linalg.norm(theta, axis=1)
    size = np.abs(codes * norms).sum(axis=1)

    # a rounded residual is an inexact dual point; the gap belongs to the exact one
    rounding = 1e-12 if dtype == np.float64 else 1e-5
    assert (coder.encode(X).dual_gap <= 1e-6).all()
    assert_allclose(coder.encode(X).dual_gap, (size - dual) / size, atol=1e-9 + rounding)

    # set a smallest penalty as well; whichever limit comes first applies
    floor = SparseCoder(
        D, transform_algorithm="lasso", residual_rtol=0.3, transform_alpha=1.0
    ).fit(X)
    plain = SparseCoder(D, transform_algorithm="lasso").fit(X)
    expected = np.maximum(plain.encode(X).residual_norm, residual)
    assert_allclose(floor.encode(X).residual_norm, expected, rtol=1e-4)
    assert_array_equal(
        floor.encode(X).stop_reason == "tol", plain.encode(X).residual_norm <= bound
    )


@pytest.mark.oracle
@pytest.mark.parametrize("algorithm", ["omp", "mp", "htp", "lasso"])
def test_every_signal_has_its_bound(algorithm, seed):
    X, D = signals(seed, n_signals=12)
    bounds = np.random.default_rng(seed).uniform(1, 2.5, size=12)
    given = {"transform_algorithm": algorithm, "transform_n_nonzero_coefs": 9}
    together = SparseCoder(D, residual_tol=bounds, **given).fit(X)
    reached = together.encode(X).residual_norm
    with config_context(working_memory=0.003):
        table = sparse.csr_array(X)
        stretches = SparseCoder(D, residual_tol=list(bounds), **given).fit(table).encode(table)
    assert_allclose(stretches.residual_norm, reached, rtol=1e-9)
    for i, bound in enumerate(bounds):
        alone = SparseCoder(D, residual_tol=bound, **given).fit(X).encode(X[i : i + 1])
        assert_allclose(alone.residual_norm[0], reached[i], rtol=1e-9)
    assert_array_equal(together.encode(X).codes, together.transform(X))
    with pytest.raises(
        ValueError, match="residual_tol of SparseCoder has 12 bounds, but X has 3 signals"
    ):
        together.transform(X[:3])
    with pytest.raises(ValueError, match="a number of at least 0, or a list"):
        SparseCoder(D, residual_tol=-bounds, **given).fit(X)


@pytest.mark.certificate
def test_codes_in_single_precision_report_residuals(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 8)).astype(np.float32)
    D = rng.normal(size=(14, 2)) @ rng.normal(size=(2, 8)) + 1e-7 * rng.normal(size=(14, 8))
    D = D.astype(np.float32)
    labels = np.arange(14) // 2
    for settings in (
        {"transform_alpha": 1e-9},
        {"transform_alpha": 0.1},
        {"transform_alpha": 0.1, "groups": labels},
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            coder = SparseCoder(D, transform_algorithm="lasso", **settings)
            encoding = coder.fit(X).encode(X)
            double = SparseCoder(D.astype(np.float64), transform_algorithm="lasso", **settings)
            exact = double.fit(X).encode(X.astype(np.float64))

        codes = encoding.codes.astype(np.float64)
        other = exact.codes
        E = D.astype(np.float64)
        Y = X.astype(np.float64)
        rest = np.sum((Y - codes @ E) ** 2, axis=1)
        assert_allclose(encoding.residual_norm**2, rest, rtol=1e-6)
        assert_array_equal(encoding.n_nonzero_coefs, (codes != 0).sum(axis=1))

        norms = np.linalg.norm(E, axis=1)
        scaled = np.abs(codes * norms)
        penalty = scaled.sum(axis=1)
        if "groups" in settings:
            penalty = np.sqrt(2) * np.hypot(scaled[:, ::2], scaled[:, 1::2]).sum(axis=1)
        objective = 0.5 * rest + settings["transform_alpha"] * penalty
        assert (objective <= 0.5 * np.sum(Y**2, axis=1) * (1 + 1e-12)).all()

        # what the gap claims to be below the optimum is below another code
        other = np.abs(other * norms)
        least = other.sum(axis=1)
        if "groups" in settings:
            least = np.sqrt(2) * np.hypot(other[:, ::2], other[:, 1::2]).sum(axis=1)
        least = 0.5 * exact.residual_norm**2 + settings["transform_alpha"] * least
        assert (objective * (1 - encoding.dual_gap) <= least * (1 + 1e-9)).all()

        sure = exact.stop_reason == "tol"
        assert (objective * (1 - encoding.dual_gap) >= least * (1 - 1e-5))[sure].all()


@pytest.mark.invariance
@pytest.mark.parametrize(
    ("algorithm", "positive"),
    [
        ("omp", False), ("omp", True), ("ormp", False), ("mp", False), ("mp", True),
        ("lasso", False), ("coordinate_descent", False), ("fista", False),
    ],
)  # fmt: skip
def test_few_signals_and_little_memory_need_no_gram_matrix(algorithm, positive, seed):
    X, D = signals(seed, n_signals=150, n=16, k=120)
    given = {
        "transform_algorithm": algorithm,
        "transform_n_nonzero_coefs": 4,
        "tol": 1e-7,
        "transform_max_iter": 50_000,
    }
    given["positive_code"] = positive

    whole = SparseCoder(D, **given).fit(X)
    with config_context(working_memory=0.05):
        lean = SparseCoder(D, **given).fit(X)
        codes = lean.transform(X)
    assert whole._atoms.gram is not None
    assert lean._atoms.gram is None
    atol = 1e-3 if algorithm in ("coordinate_descent", "fista") else 1e-8
    assert_allclose(codes, whole.transform(X), atol=atol)

    # more atoms than a Gram matrix has room for
    big = np.random.default_rng(seed).normal(size=(3000, 16))
    coder = SparseCoder(big, **given).fit(X[:2])
    assert coder._atoms.gram is None

    tracemalloc.start()
    coder.transform(X[:5])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 3000**2 / 4


@pytest.mark.certificate
def test_group_lasso_reaches_its_gap_and_takes_whole_groups(seed):
    X, D = signals(seed)
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    labels = np.random.default_rng(seed).permutation(np.repeat([7, 3, 5, 1, 0, 2], 4))
    coder = SparseCoder(D, transform_algorithm="lasso", groups=labels, transform_alpha=0.5)
    codes = coder.fit_transform(X)
    for x, a in zip(X, codes, strict=True):
        assert oracle.lasso_gap(x, a, D, 0.5, groups=labels) <= 1e-6 + 1e-12
        for g in range(8):
            members = a[labels == g]
            assert (members == 0).all() or (members != 0).all()
    listed = [np.flatnonzero(labels == g) for g in np.unique(labels)]
    other = SparseCoder(
        D, transform_algorithm="lasso", groups=listed, transform_alpha=0.5
    ).fit_transform(X)
    assert_allclose(other, codes, rtol=1e-12)


@pytest.mark.recovery
@pytest.mark.parametrize("algorithm", ALGORITHMS[:7])
def test_planted_codes_are_found(algorithm, seed):
    rng = np.random.default_rng(seed)
    D = random_dictionary(64, 128, random_state=seed) * rng.uniform(0.1, 10, size=(128, 1))
    A = np.zeros((60, 128))
    for row in A:
        row[rng.choice(128, 5, replace=False)] = rng.choice([-1, 1], 5) * rng.uniform(1, 2, 5)
    unit = A / np.linalg.norm(D, axis=1)
    X = unit @ D
    coder = SparseCoder(
        D, transform_algorithm=algorithm, transform_n_nonzero_coefs=5, transform_max_iter=2000
    )
    codes = coder.fit_transform(X)
    exact = np.abs(codes - unit).max(axis=1) < 1e-5 * np.abs(unit).max()
    # plain matching pursuit chooses atoms it need not
    assert exact.mean() >= (0.6 if algorithm == "mp" else 0.9)


@pytest.mark.invariance
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_scale_and_sign_of_atoms_order_and_threads_do_not_matter(algorithm, seed):
    X, D = signals(seed, n_signals=300)
    rng = np.random.default_rng(seed)
    given = {
        "transform_algorithm": algorithm,
        "transform_n_nonzero_coefs": 3,
        "tol": 1e-10,
        "transform_max_iter": 100_000,
    }

    codes = SparseCoder(D, **given).fit_transform(X)
    factor = rng.choice([-1, 1], len(D)) * rng.uniform(0.1, 10, len(D))
    other = SparseCoder(D * factor[:, None], **given).fit_transform(X)
    # the tolerance is the accuracy of first-order steps
    atol = 1e-4 if algorithm in ("ista", "fista", "coordinate_descent") else 1e-8
    assert_allclose(other * factor, codes, atol=atol)

    order = rng.permutation(len(D))
    assert_allclose(
        SparseCoder(D[order], **given).fit_transform(X), codes[:, order], atol=atol
    )

    assert_array_equal(SparseCoder(D, n_jobs=2, **given).fit_transform(X), codes)
    sparse_codes = SparseCoder(D, code_format="csr", **given).fit_transform(X)
    assert sparse.issparse(sparse_codes)
    assert_array_equal(sparse_codes.toarray(), codes)


@pytest.mark.invariance
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_single_precision_and_sparse_input(algorithm, seed):
    X, D = signals(seed)
    X[np.abs(X) < 0.5] = 0
    given = {
        "transform_algorithm": algorithm,
        "transform_n_nonzero_coefs": 3,
        "transform_max_iter": 20_000,
    }
    codes = SparseCoder(D, **given).fit_transform(X)
    with config_context(working_memory=0.005):
        other = SparseCoder(D, **given).fit_transform(sparse.csr_array(X))
    assert_allclose(other, codes, atol=1e-12)
    single = SparseCoder(D.astype(np.float32), **given).fit(X.astype(np.float32))
    rounded = single.transform(X.astype(np.float32))
    assert rounded.dtype == np.float32
    # the last digit can decide between two atoms
    assert np.mean(np.abs(rounded - codes).max(axis=1) < 1e-3) >= 0.95


@pytest.mark.invariance
def test_the_bound_holds_for_codes_in_single_precision(seed):
    X = patches(500, seed).astype(np.float32)
    D = dct_dictionary((8, 8), n_atoms=16)
    for relative in (0.7, 0.3, 0.03, 3e-3):
        coder = SparseCoder(D.astype(np.float32), residual_rtol=relative).fit(X)
        codes = coder.transform(X)
        A = codes.astype(np.float64)
        E = coder.components_.astype(np.float64)
        residual = np.linalg.norm(X.astype(np.float64) - A @ E, axis=1)
        met = coder.encode(X).stop_reason == "tol"
        bound = relative * np.linalg.norm(X.astype(np.float64), axis=1)
        assert (residual[met] <= bound[met]).all()
        assert met.mean() > 0.99


@pytest.mark.oracle
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_missing_entries_do_not_count(algorithm, seed):
    X, D = signals(seed, n=16)
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    hidden = np.random.default_rng(seed).uniform(size=X.shape) < 0.2
    hidden[0] = True
    given = {
        "transform_algorithm": algorithm,
        "transform_n_nonzero_coefs": 3,
        "transform_max_iter": 50_000,
        "tol": 1e-9,
    }
    codes = SparseCoder(D, transform_alpha=0.3, **given).fit_transform(
        np.where(hidden, np.nan, X)
    )
    assert (codes[0] == 0).all()
    for x, a, h in zip(X[1:10], codes[1:], hidden[1:], strict=False):
        alone = SparseCoder(D[:, ~h], transform_alpha=0.3, normalize=False, **given)
        expected = alone.fit_transform(x[None, ~h])[0]
        assert_allclose(a, expected, atol=1e-3 if algorithm in CONVEX else 1e-8)


@pytest.mark.oracle
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_with_an_orthonormal_dictionary_every_coder_is_a_threshold(algorithm, seed):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    X = rng.normal(size=(30, 10))
    C = X @ Q.T
    if algorithm in CONVEX:
        expected = np.sign(C) * np.maximum(np.abs(C) - 0.7, 0)
    else:
        least = np.sort(np.abs(C), axis=1)[:, -3][:, None]
        expected = np.where(np.abs(C) >= least, C, 0)
    coder = SparseCoder(
        Q, transform_algorithm=algorithm, transform_n_nonzero_coefs=3, transform_alpha=0.7
    )
    assert_allclose(coder.fit_transform(X), expected, atol=1e-8)


@pytest.mark.certificate
def test_encode_and_score_report_residuals(seed):
    X, D = signals(seed)
    coder = SparseCoder(D, transform_n_nonzero_coefs=2).fit(X)
    encoding = coder.encode(X)
    assert_array_equal(encoding.codes, coder.transform(X))
    rest = X - coder.inverse_transform(encoding.codes)
    assert_allclose(encoding.residual_norm, np.linalg.norm(rest, axis=1), rtol=1e-10)
    assert_allclose(coder.score(X), -np.sum(rest**2) / np.sum(X**2), rtol=1e-10)
    assert np.isnan(encoding.dual_gap).all()
    X[0, :5] = np.nan
    known = ~np.isnan(X)
    rest = np.where(known, X - coder.inverse_transform(coder.transform(X)), 0)
    assert_allclose(coder.score(X), -np.sum(rest**2) / np.sum(X[known] ** 2), rtol=1e-10)


@pytest.mark.recovery
def test_in_a_pipeline_with_grid_search(seed):
    rng = np.random.default_rng(seed)
    D = random_dictionary(16, 32, random_state=seed)
    A = np.zeros((120, 32))
    y = np.arange(120) % 2
    A[np.arange(120), rng.integers(16, size=120) + 16 * y] = 3
    X = A @ D + 0.1 * rng.normal(size=(120, 16))
    pipe = make_pipeline(SparseCoder(D), LogisticRegression())
    search = GridSearchCV(pipe, {"sparsecoder__transform_n_nonzero_coefs": [1, 8]}, cv=3).fit(
        X, y
    )
    assert search.best_score_ > 0.8
    alone = GridSearchCV(SparseCoder(D), {"transform_n_nonzero_coefs": [1, 8]}, cv=3).fit(X)
    assert alone.best_params_ == {"transform_n_nonzero_coefs": 8}


@pytest.mark.edge
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dictionary": np.ones((3, 5))}, "atoms of 5 features, but X has 4 features"),
        (
            {"transform_algorithm": "ormp", "positive_code": True},
            "'ormp'\\) has no positive version",
        ),
        (
            {"transform_algorithm": "mp", "groups": [0] * 6},
            "does not accept groups: use 'omp'",
        ),
        ({"transform_algorithm": "feature_sign", "groups": [0] * 6}, "does not accept groups"),
        ({"transform_algorithm": "fista", "groups": [0] * 6}, "does not accept groups"),
        ({"positive_code": True, "groups": [0] * 6}, "either groups or positive_code=True"),
        ({"groups": [0, 1]}, "groups has 2 labels, and the dictionary 6 atoms"),
        ({"groups": [[0, 1], [1, 2, 3, 4, 5]]}, "groups overlap"),
        ({"groups": [[0, 1], [2, 3]]}, "groups leave out 2 of 6 atoms, the first is 4"),
        ({"groups": [[0, 1, 2, 3, 4, 5, 6]]}, "names atom 6"),
        ({"groups": [[0, 1, 2, 3, 4, 5], []]}, r"groups\[1\] must be a list"),
        ({"transform_n_nonzero_coefs": 0}, "transform_n_nonzero_coefs"),
        ({"transform_alpha": 0.0}, "transform_alpha"),
        (
            {"transform_algorithm": "fista", "residual_tol": 0.1},
            "does not accept residual_tol: omit it and set transform_alpha, or use",
        ),
        (
            {"transform_algorithm": "feature_sign", "residual_rtol": 0.3},
            "does not accept residual_rtol: omit it",
        ),
        (
            {"transform_algorithm": "lasso", "residual_tol": 0.1, "groups": [0] * 6},
            "does not accept residual_tol with groups",
        ),
        ({"residual_tol": -1.0}, "residual_tol"),
        ({"residual_tol": [[1.0, 1, 1]]}, "a number of at least 0, or a list of such numbers"),
        ({"transform_algorithm": "lars"}, "transform_algorithm"),
    ],
)
def test_raises_on_conflicting_settings(settings, message):
    D = np.random.default_rng(0).normal(size=(6, 4))
    with pytest.raises(ValueError, match=message):
        SparseCoder(**{"dictionary": D, **settings}).fit(np.ones((3, 4)))


@pytest.mark.edge
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_degenerate_input_has_a_result(algorithm):
    rng = np.random.default_rng(0)
    D = np.vstack([np.zeros(4), rng.normal(size=(3, 4))])
    D = np.vstack([D, D[1], -3 * D[2]])
    X = np.vstack([np.zeros(4), D[1], np.full(4, np.nan), rng.normal(size=(3, 4))])

    coder = SparseCoder(
        D,
        transform_algorithm=algorithm,
        transform_n_nonzero_coefs=6,
        transform_alpha=0.01,
        transform_max_iter=100_000,
    )

    codes = coder.fit_transform(X)
    assert np.isfinite(codes).all()
    assert (codes[[0, 2]] == 0).all()
    assert (codes[:, [0, 4, 5]] == 0).all()  # these atoms are zero or repeated

    if algorithm in ("omp", "lasso", "iht", "htp", "cosamp", "subspace_pursuit"):
        grouped = SparseCoder(
            D[:4], transform_algorithm=algorithm, groups=[0, 0, 1, 1], transform_alpha=0.01
        )
        assert (grouped.fit_transform(X)[[0, 2]] == 0).all()

    assert (
        SparseCoder(np.zeros((3, 4)), transform_algorithm=algorithm).fit_transform(X) == 0
    ).all()
    one = SparseCoder(
        np.ones((1, 1)), transform_algorithm=algorithm, transform_alpha=1e-3
    ).fit_transform([[2.0]])
    assert_allclose(one, [[2.0]], atol=2e-3)


@pytest.mark.invariance
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("scale", [2.0**-200, 2.0**200])
def test_scale_of_signals_does_not_matter(algorithm, scale, seed):
    X, D = signals(seed, n_signals=6)
    given = {
        "transform_algorithm": algorithm,
        "transform_n_nonzero_coefs": 3,
        "transform_max_iter": 50_000,
    }
    codes = SparseCoder(D, transform_alpha=0.5, **given).fit_transform(X)
    scaled = SparseCoder(D, transform_alpha=0.5 * scale, **given).fit_transform(X * scale)
    assert_allclose(scaled / scale, codes, atol=1e-12)
    if algorithm in ("omp", "ormp", "mp", "lasso", "homotopy"):
        bounded = SparseCoder(
            D, transform_algorithm=algorithm, residual_rtol=0.5, code_format="csr"
        )
        coarse = bounded.fit_transform(X).toarray()
        assert_allclose(bounded.fit_transform(X * scale).toarray() / scale, coarse, atol=1e-12)


@pytest.mark.edge
def test_warns_if_coder_is_stopped(seed):
    X, D = signals(seed)
    with pytest.warns(ConvergenceWarning, match="increase transform_max_iter or tol, or use"):
        SparseCoder(
            D, transform_algorithm="ista", transform_alpha=0.01, transform_max_iter=3
        ).fit_transform(X)
    with pytest.warns(ConvergenceWarning, match="increase transform_max_iter or tol\\.$"):
        SparseCoder(
            D[:1] + 1e-5 * D,
            transform_algorithm="lasso",
            transform_alpha=1e-6,
            transform_max_iter=5,
        ).fit_transform(X)
    with pytest.warns(ConvergenceWarning, match="supports of .* have not converged"):
        SparseCoder(
            D, transform_algorithm="iht", transform_n_nonzero_coefs=4, transform_max_iter=1
        ).fit_transform(X)


@pytest.mark.edge
def test_stop_reasons():
    D = np.eye(4)[:3]
    X = np.array([[3.0, 2, 1, 0], [3, 0, 0, 1], [0, 0, 0, 0]])
    coder = SparseCoder(D, transform_n_nonzero_coefs=2).fit(X)
    assert list(coder.encode(X).stop_reason) == ["atoms", "stall", "stall"]
    assert list(coder.encode(X).n_nonzero_coefs) == [2, 1, 0]
    coder = SparseCoder(D, residual_tol=1.0).fit(X)
    assert list(coder.encode(X).stop_reason) == ["tol", "tol", "tol"]
    assert list(coder.encode(X).n_nonzero_coefs) == [2, 1, 0]
    with pytest.raises(ValueError, match="X has 5 codes a row"):
        coder.inverse_transform(np.ones((2, 5)))


@pytest.mark.invariance
@pytest.mark.parametrize("algorithm", ["omp", "lasso"])
def test_codes_of_short_signals_do_not_depend_on_blocks(algorithm, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(12, 5))
    X = rng.normal(size=(900, 5))
    settings = (
        {"transform_n_nonzero_coefs": 2} if algorithm == "omp" else {"transform_alpha": 0.3}
    )
    coder = SparseCoder(D, transform_algorithm=algorithm, **settings)
    whole = coder.fit_transform(X)
    monkeypatch.setattr(signal_blocks, "BLOCK_BYTES", 0)
    monkeypatch.setattr(signal_blocks, "BLOCK_SIGNALS", 100)
    assert_allclose(coder.transform(X), whole, atol=1e-12)

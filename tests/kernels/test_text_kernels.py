"""Evidence that kernels on text match their formulas, without a matrix of terms by terms."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from skmoderndata._solvers.text.spectra import diffused, spectrum
from skmoderndata.cluster import KernelKMeans
from skmoderndata.kernel_approximation import IncompleteCholesky
from skmoderndata.kernels import (
    GeneralizedVectorSpace,
    GramCache,
    LatentSemantic,
    Normalized,
    SemanticDiffusion,
    SemanticSmoothing,
    TfIdf,
    VectorSpace,
)
from skmoderndata.neighbors import KernelNearestCentroid
from skmoderndata.preprocessing import KernelTransformer, SampleColumn
from tests.oracles.text_twins import rows

D = np.array([[2, 1, 0, 0], [0, 1, 1, 0], [1, 0, 2, 1]])
BOOK = [
    "the cat sat on the mat",
    "a dog chased the cat",
    "stocks fell and bonds rose",
    "the bank sold bonds",
    "a dog sat on a mat",
    "stocks of the bank rose",
]
KINDS = np.array([0, 0, 1, 1, 0, 1])
UNSETTLED = [
    VectorSpace(),
    TfIdf(),
    GeneralizedVectorSpace(),
    SemanticDiffusion(),
    SemanticDiffusion("exponential"),
    LatentSemantic(2),
]
each = pytest.mark.parametrize("kernel", UNSETTLED, ids=lambda k: type(k).__name__)


@pytest.mark.paper
@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (VectorSpace(), [[5, 1, 2], [1, 2, 2], [2, 2, 6]]),
        (
            SemanticSmoothing(
                [[1, 0, 0, 0], [0, 1, 0.5, 0], [0, 0.5, 1, 0], [0, 0, 0, 1]],
            ),
            [[5.25, 2.25, 4], [2.25, 4.5, 4.5], [4, 4.5, 7]],
        ),
        (GeneralizedVectorSpace(corpus=D), [[30, 11, 24], [11, 9, 18], [24, 18, 44]]),
        (SemanticDiffusion(decay=0.05, corpus=D), [[7.35797, 1.98566, 4.19195]]),
        (
            SemanticDiffusion("exponential", decay=0.05, corpus=D),
            [[6.79815, 1.69500, 3.52838]],
        ),
        (LatentSemantic(1, corpus=D), [[2.58630, 1.52719, 3.53721]]),
        (LatentSemantic(2, corpus=D), [[4.99667, 1.05788, 1.97744]]),
    ],
    ids=lambda x: type(x).__name__,
)
def test_worked_examples(kernel, expected):
    # the book prints only five digits
    assert_allclose(kernel(D)[: len(expected)], expected, atol=5e-6)


@pytest.mark.paper
def test_worked_example_of_tf_idf():
    K = TfIdf(corpus=D)(D)
    # the tolerance covers the printed digits
    assert_allclose([K[0, 2], K[2, 2]], [0.3288039, 2.0289587], atol=5e-8)


@pytest.mark.oracle
def test_smooth_weights_match_scikit_learn(seed):
    kernel = TfIdf(CountVectorizer(), smooth=True).from_data(BOOK)
    features = TfidfVectorizer(norm=None).fit(BOOK).transform(BOOK)
    assert_allclose(kernel(BOOK), (features @ features.T).toarray(), rtol=1e-12)
    assert_allclose(kernel.features(BOOK).toarray(), features.toarray(), rtol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("shape", [(900, 700), (700, 900), (30, 900)], ids=str)
def test_latent_features_match_truncated_svd(shape, seed):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(shape[1], 0.05), size=6)
    mixed = rng.dirichlet(np.full(6, 0.3), size=shape[0]) * [9.0, 7.0, 5.0, 3.5, 2.5, 2.0]
    X = sparse.csr_array(rng.poisson(60 * mixed @ topics).astype(float))
    kernel = LatentSemantic(3, random_state=0).from_data(X)
    theirs = TruncatedSVD(3, algorithm="arpack", random_state=0).fit_transform(X)
    scale = np.abs(theirs).max() ** 2
    assert_allclose(kernel(X), theirs @ theirs.T, atol=1e-9 * scale)


@pytest.mark.certificate
@pytest.mark.parametrize("n", [4, 30], ids=["fewer documents", "fewer terms"])
@pytest.mark.parametrize("kind", ["von_neumann", "exponential"])
def test_diffused_features_solve_the_equation_of_diffusion(n, kind, seed):
    """``(I - decay G) R = I``, and ``d exp(decay G) / d decay = G exp(decay G)``."""
    rng = np.random.default_rng(seed)
    D = sparse.csr_array(rng.poisson(1.0, size=(n, 9)).astype(float))
    one = sparse.eye_array(9)
    G = (D.T @ D).toarray()
    s = spectrum(D)
    assert s.of_terms == (n > 9)
    decay = 0.7 / s.values[-1]

    def relation(decay):
        F = diffused(sparse.csr_array(one), D, s, decay, kind)
        return np.eye(9) + F @ F.T

    if kind == "von_neumann":
        assert_allclose((np.eye(9) - decay * G) @ relation(decay), np.eye(9), atol=1e-12)
    else:
        step = 1e-5 * decay
        slope = (relation(decay + step) - relation(decay - step)) / (2 * step)
        # central differences have an error of about step^2
        assert_allclose(slope, G @ relation(decay), rtol=1e-7, atol=1e-7 * s.values[-1])


@pytest.mark.oracle
@each
def test_products_of_features_equal_the_kernel(kernel, seed):
    rng = np.random.default_rng(seed)
    X = rows(rng, 9)
    Y = rows(rng, 5)
    settled = kernel.from_data(rows(rng, 7))
    A = settled.features(X)
    B = settled.features(Y)
    product = A @ B.T
    product = product.toarray() if sparse.issparse(product) else product
    assert_allclose(product, settled(X, Y), rtol=1e-12, atol=1e-12)


@pytest.mark.certificate
@each
def test_no_matrix_of_terms_by_terms(kernel):
    """Twenty thousand terms: a dense square of them would take 3 GB."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((60, 20_000), density=0.003, rng=rng, format="csr")
    tracemalloc.start()
    kernel.from_data(X)(X[:30])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


@pytest.mark.recovery
def test_terms_are_similar_through_other_documents():
    """Queries have one word each, and the corpus shows which words occur together."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{i:02d}" for i in range(40)])
    subject = rng.integers(2, size=300)
    corpus = [" ".join(rng.choice(words[20 * s : 20 * s + 20], size=4)) for s in subject]
    X = words.tolist()
    y = np.repeat([0, 1], 20)
    train = np.r_[0:5, 20:25]
    test = np.setdiff1d(np.arange(40), train)

    def score(kernel):
        model = make_pipeline(KernelTransformer(Normalized(kernel)), SVC(kernel="precomputed"))
        return model.fit([X[i] for i in train], y[train]).score([X[i] for i in test], y[test])

    assert score(VectorSpace(CountVectorizer(), corpus)) < 0.6
    for kernel in (
        GeneralizedVectorSpace(CountVectorizer(), corpus),
        SemanticDiffusion(relative_decay=0.99, vectorizer=CountVectorizer(), corpus=corpus),
        LatentSemantic(2, vectorizer=CountVectorizer(), corpus=corpus),
    ):
        assert score(kernel) > 0.9


@pytest.mark.invariance
@each
def test_all_containers_of_rows_give_the_same_matrix(kernel, seed):
    X = rows(np.random.default_rng(seed), 8)
    settled = kernel.from_data(X)
    K = settled(X)
    with_zero = sparse.csr_array(X)
    with_zero.data[:1] += 0.0
    forms = [
        sparse.csr_matrix(X), sparse.csr_array(X), sparse.coo_array(X), sparse.csc_array(X),
        X.tolist(), list(X), X.astype(np.int32), pd.DataFrame(X), with_zero,
        [sparse.csr_array(x[None, :]) for x in X], SampleColumn().fit_transform(list(X)),
    ]  # fmt: skip
    for other in forms:
        assert_array_equal(settled(other), K)
        assert_allclose(settled(X[:3], other), K[:3], rtol=1e-12, atol=1e-12)
        assert_allclose(settled.diag(other), np.diag(K), rtol=1e-12, atol=1e-12)
        assert_array_equal(kernel.from_data(other)(X), K)


@pytest.mark.invariance
@each
def test_all_containers_of_texts_give_the_same_matrix(kernel):
    kernel = clone(kernel).set_params(vectorizer=CountVectorizer())
    settled = kernel.from_data(BOOK)
    K = settled(BOOK)
    by_rows = clone(kernel).set_params(vectorizer=None)
    counts = CountVectorizer().fit_transform(BOOK)
    assert_allclose(K, by_rows.from_data(counts)(counts), rtol=1e-12)
    objects = np.array(BOOK, dtype=object)
    for other in (tuple(BOOK), objects, np.array(BOOK), pd.Series(BOOK), pl.Series(BOOK),
                  SampleColumn().fit_transform(BOOK), settled.encode(BOOK)):  # fmt: skip
        assert_array_equal(settled(other), K)
        assert_array_equal(settled(other, settled.encode(BOOK)[2:]), K[:, 2:])
        assert_allclose(settled.diag(other), np.diag(K), rtol=1e-12)
    assert_array_equal(settled(["words never seen"], BOOK), 0.0)


@pytest.mark.invariance
@each
def test_fixed_kernels_stay_fixed(kernel):
    kernel = clone(kernel).set_params(vectorizer=CountVectorizer())
    settled = kernel.from_data(BOOK)
    K = settled(BOOK)
    assert kernel.corpus is None
    other = [text.upper() for text in BOOK[:2]]
    copies = [clone(settled), pickle.loads(pickle.dumps(settled)), settled.from_data(other)]
    for copy in copies:
        assert copy == settled
        assert repr(copy) == repr(settled)
        assert_array_equal(copy(BOOK), K)
    assert kernel.from_data(BOOK) == settled
    assert kernel.from_data(BOOK[:3]) != settled
    assert Normalized(kernel).from_data(BOOK) == Normalized(settled)
    changed = clone(kernel).set_params(vectorizer__lowercase=False)
    assert changed.get_params()["vectorizer__lowercase"] is False
    assert changed != kernel
    assert "\n" not in repr(kernel)


@pytest.mark.invariance
def test_a_corpus_apart_from_the_training_samples():
    background = [*BOOK, "cats and dogs", "bonds and stocks"]
    kernel = TfIdf(CountVectorizer(), corpus=background)
    expected = TfIdf(CountVectorizer()).from_data(background)
    assert_array_equal(kernel(BOOK[:2]), expected(BOOK[:2]))
    assert kernel.from_data(BOOK[:2]) == expected
    fitted = KernelTransformer(kernel).fit(BOOK[:2])
    assert fitted.kernel_ == expected
    counts = CountVectorizer().fit(background)
    by_rows = TfIdf(corpus=counts.transform(background))
    assert_allclose(by_rows(counts.transform(BOOK)), expected(BOOK), rtol=1e-13)
    # all copies and parameters use one decomposition
    diffusion = SemanticDiffusion(vectorizer=CountVectorizer()).from_data(background)
    diffusion(BOOK)
    copy = clone(diffusion).set_params(relative_decay=0.9)
    assert copy.corpus is diffusion.corpus
    assert list(copy.corpus._derived) == ["spectrum"]


@pytest.mark.invariance
def test_vectorizers_of_every_kind():
    hashing = HashingVectorizer(n_features=2**10, alternate_sign=False, norm=None)
    counts = CountVectorizer()
    K = VectorSpace(counts).from_data(BOOK)(BOOK)
    assert_allclose(VectorSpace(hashing).from_data(BOOK)(BOOK), K)
    assert_array_equal(
        VectorSpace(CountVectorizer(binary=True)).from_data(BOOK)(BOOK) <= K, True
    )
    assert not hasattr(counts, "vocabulary_")  # a clone was fitted


@pytest.mark.invariance
@pytest.mark.parametrize(
    "make",
    [
        lambda k: make_pipeline(KernelTransformer(k), SVC(kernel="precomputed")),
        lambda k: make_pipeline(KernelTransformer(Normalized(k)), SVC(kernel="precomputed")),
        lambda k: KernelNearestCentroid(kernel=k),
        lambda k: KernelKMeans(2, kernel=k, random_state=0),
        lambda k: IncompleteCholesky(kernel=k, n_components=3, random_state=0),
    ],
    ids=["transformer", "normalised", "centroid", "kmeans", "cholesky"],
)
@each
def test_estimators_accept_texts_and_sparse_rows(kernel, make):
    outputs = []
    by_text = make(clone(kernel).set_params(vectorizer=CountVectorizer()))
    by_rows = make_pipeline(CountVectorizer(), make(clone(kernel)))
    for model in (by_text, by_rows):
        model.fit(BOOK, KINDS)
        outputs.append((model.predict if hasattr(model, "predict") else model.transform)(BOOK))
    assert_allclose(outputs[0], outputs[1], rtol=1e-9, atol=1e-9)


@pytest.mark.invariance
def test_gaussian_process_on_rows():
    X = CountVectorizer().fit_transform(BOOK).toarray()
    kernel = TfIdf().from_data(X)
    model = GaussianProcessRegressor(kernel, alpha=0.1).fit(X, KINDS)
    K = kernel(X)
    expected = K @ np.linalg.solve(K + 0.1 * np.eye(6), KINDS)
    assert_allclose(model.predict(X), expected, rtol=1e-9)


@pytest.mark.certificate
def test_a_grid_reaches_the_vectorizer_and_computes_each_value_once():
    X = [f"{text} {i}x" for i, text in enumerate(BOOK * 4)]
    y = np.tile(KINDS, 4)
    cache = GramCache()
    kernel = VectorSpace(CountVectorizer(), corpus=X).from_data(X)
    model = make_pipeline(KernelTransformer(kernel, cache=cache), SVC(kernel="precomputed"))
    GridSearchCV(model, {"svc__C": [0.1, 1.0, 10.0]}, cv=3).fit(X, y)
    assert cache.n_computed <= 24**2
    grid = {"kerneltransformer__kernel__vectorizer__ngram_range": [(1, 1), (1, 2)]}
    model.set_params(kerneltransformer__kernel=TfIdf(CountVectorizer()))
    found = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert found.best_score_ > 0.9
    sizes = {len(found.best_estimator_[0].kernel_.corpus.vectorizer.vocabulary_)}
    assert sizes <= {
        len(CountVectorizer(ngram_range=(1, n)).fit(X).vocabulary_) for n in (1, 2)
    }


@pytest.mark.recovery
def test_features_serve_linear_models():
    kernel = SemanticDiffusion(vectorizer=CountVectorizer()).from_data(BOOK)
    model = LinearSVC().fit(kernel.features(BOOK), KINDS)
    assert_array_equal(model.predict(kernel.features(["cat and dog", "bonds fell"])), [0, 1])


# ---- borders and bad input ------------------------------------------------------------------


@pytest.mark.edge
@each
def test_empty_samples_and_collections(kernel):
    settled = kernel.from_data(D)
    assert settled(np.empty((0, 4))).shape == (0, 0)
    assert settled(np.empty((0, 4)), D).shape == (0, 3)
    assert settled.diag(np.empty((0, 4))).shape == (0,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        K = Normalized(settled)(np.vstack([np.zeros(4), D]))
    assert_allclose(np.diag(K), [0, 1, 1, 1])
    assert_array_equal(K[0], 0.0)
    by_text = clone(kernel).set_params(vectorizer=CountVectorizer()).from_data(BOOK)
    assert by_text([]).shape == (0, 0)
    assert_array_equal(by_text([""], BOOK), 0.0)


@pytest.mark.edge
def test_terms_in_every_document_and_in_none():
    corpus = np.array([[1, 1, 0], [2, 0, 0]])
    kernel = TfIdf(corpus=corpus)
    assert_array_equal(kernel.diag([[5, 0, 0], [0, 0, 7]]), 0.0)
    assert_array_equal(TfIdf(corpus=np.zeros((2, 3)))(corpus), 0.0)
    assert_array_equal(GeneralizedVectorSpace(corpus=corpus)([[0, 0, 1]]), 0.0)
    # the kernel retains 3 dimensions
    assert_array_equal(SemanticDiffusion(corpus=corpus).diag([[0, 0, 3]]), 9.0)
    assert_array_equal(SemanticDiffusion(corpus=np.zeros((2, 3)))(corpus), corpus @ corpus.T)


@pytest.mark.edge
def test_more_components_than_the_rank():
    with pytest.warns(
        UserWarning, match="n_components=100 exceeds the rank of the corpus; 3 "
    ):
        K = LatentSemantic(corpus=D)(D)
    assert_allclose(K, D @ D.T, rtol=1e-12)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("kernel", "X", "error", "message"),
    [
        (VectorSpace(), BOOK, TypeError, "samples are texts, but vectorizer=None"),
        (VectorSpace(), np.array(BOOK), TypeError, "samples are texts, but vectorizer=None"),
        (VectorSpace(), BOOK[0], TypeError, "needs a collection of samples"),
        (VectorSpace(), [[np.nan, 1.0]], ValueError, "NaN"),
        (VectorSpace(), [[np.inf, 1.0]], ValueError, "infinity"),
        (VectorSpace(), [[1e200, 1.0]], ValueError, "magnitude"),
        (VectorSpace(), [1.0, 2.0], ValueError, "needs a table of counts"),
        (VectorSpace(CountVectorizer(), BOOK), BOOK[0], TypeError, "needs a collection"),
        (VectorSpace(CountVectorizer(), BOOK), ["a", None], ValueError, "sample 1 is missing"),
        (VectorSpace(CountVectorizer(), BOOK), [3], TypeError, "sample 0 is of type int"),
        (
            VectorSpace(CountVectorizer()),
            BOOK,
            ValueError,
            "corpus=None needs training samples",
        ),
        (
            TfIdf(),
            D,
            ValueError,
            "TfIdf: corpus=None needs training samples; call kernel.from_data",
        ),
        (TfIdf(corpus=D), D[:, :3], ValueError, "samples have 3 terms, but the corpus has 4"),
        (TfIdf(corpus=D, smooth="yes"), D, ValueError, "one of True, False"),
        (TfIdf(corpus=np.empty((0, 4))), D, ValueError, "no documents"),
        (TfIdf("words", BOOK), BOOK, ValueError, "a vectorizer of scikit-learn"),
        (SemanticSmoothing(), D, ValueError, "pass either proximity or similarity"),
        (SemanticSmoothing(np.eye(4), np.eye(4)), D, ValueError, "pass either"),
        (SemanticSmoothing(np.eye(3)), D, ValueError, "4 terms, but the matrix has 3 rows"),
        (
            SemanticSmoothing(similarity=[[1, 2], [2, 1]]),
            D[:, :2],
            ValueError,
            "eigenvalue -1",
        ),
        (SemanticSmoothing(similarity=[[1, 2], [0, 1]]), D[:, :2], ValueError, "symmetric"),
        (SemanticDiffusion("heat", corpus=D), D, ValueError, "'von_neumann', 'exponential'"),
        (
            SemanticDiffusion(relative_decay=1.0, corpus=D),
            D,
            ValueError,
            "below 1 for the von Neumann",
        ),
        (SemanticDiffusion(decay=0.2, corpus=D), D, ValueError, "decay=0.2; it must be below"),
        (SemanticDiffusion(decay=-1.0, corpus=D), D, ValueError, "above 0"),
        (LatentSemantic(0, corpus=D), D, ValueError, "an integer of at least 1"),
    ],
)
def test_raises_on_invalid_input(kernel, X, error, message):
    with pytest.raises(error, match=message):
        kernel(X)


@pytest.mark.edge
def test_two_collections_of_different_terms():
    with pytest.raises(ValueError, match="samples have 4 and 3 terms"):
        VectorSpace()(D, D[:, :3])
    with pytest.raises(TypeError, match="with a vectorizer a sample must be a text"):
        VectorSpace(CountVectorizer()).from_data(D)

"""Evidence that SequenceFeatures gives the features of kernels on strings."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from skmoderndata.feature_extraction import SequenceFeatures
from skmoderndata.kernels import (
    AllSubtree,
    BlendedSpectrum,
    CompleteSubtree,
    Fisher,
    GapWeighted,
    HMMFisher,
    LatentSemantic,
    MarkovFisher,
    Mismatch,
    Normalized,
    PSpectrum,
    RestrictedGapWeighted,
    TfIdf,
)
from tests.oracles.sequence_features import count_table

KERNELS = [
    PSpectrum(2),
    BlendedSpectrum(3, decay=0.7),
    BlendedSpectrum(3, weights=[0, 2, 1]),
    RestrictedGapWeighted(2, 1, 0.6),
    Mismatch(2, 1, "abcd"),
]
each = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def strings(seed, n=12, symbols="abc"):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(symbols), size=k)) for k in rng.integers(0, 20, size=n)]


def families(n, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    words = [("abc", "bca"), ("acb", "bac")]
    return ["".join(rng.choice(words[label], size=4)) for label in y], y


@pytest.mark.oracle
@each
def test_inner_products_are_the_kernel(kernel, seed):
    X = strings(seed)
    A = SequenceFeatures(kernel, normalize=False).fit_transform(X)
    assert_allclose((A @ A.T).toarray(), kernel(X), rtol=1e-12)
    B = SequenceFeatures(kernel).fit_transform(X)
    assert_allclose((B @ B.T).toarray(), Normalized(kernel)(X), rtol=1e-12, atol=1e-15)


@pytest.mark.oracle
@pytest.mark.parametrize("p", [1, 2, 4])
def test_columns_count_their_substrings(p, seed):
    X = strings(seed)
    Y = strings(seed + 1, symbols="abx")
    features = SequenceFeatures(PSpectrum(p), normalize=False).fit(X)
    names = features.get_feature_names_out()
    assert len(set(names)) == len(names) == features.n_features_out_
    assert set(names) == {x[i : i + p] for x in X for i in range(len(x) - p + 1)}
    assert_array_equal(features.transform(X).toarray(), count_table(X, names))
    assert_array_equal(features.transform(Y).toarray(), count_table(Y, names))


@pytest.mark.certificate
@each
def test_inner_products_with_new_samples_match_the_kernel(kernel, seed):
    """Substrings that no training sample has change no inner product with one."""
    X = strings(seed)
    Y = strings(seed + 1, symbols="abcd")
    features = SequenceFeatures(kernel, normalize=False).fit(X)
    K = (features.transform(Y) @ features.transform(X).T).toarray()
    assert_allclose(K, kernel(Y, X), rtol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("kernel", KERNELS[:4], ids=repr)
def test_hashed_features_without_collisions(kernel, seed):
    X = strings(seed)
    A = SequenceFeatures(kernel, n_features=2**22, normalize=False).transform(X)
    assert A.shape == (12, 2**22)
    assert_allclose((A @ A.T).toarray(), kernel(X), rtol=1e-12)


@pytest.mark.certificate
def test_hashes_are_spread():
    """A million substrings in 2^10 columns: as even as throws of dice."""
    X = [np.arange(1000) * 7 % 1009, np.arange(1000) ** 2 % 1013]
    X += [np.random.default_rng(0).integers(0, 500, size=100_000)]
    A = SequenceFeatures(PSpectrum(3), n_features=2**10, normalize=False).transform(X)
    counts = np.asarray(A[[2]].toarray()).ravel()
    statistic = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
    assert abs(statistic - 1023) < 5 * np.sqrt(2 * 1023)  # allow five standard deviations


@pytest.mark.recovery
def test_linear_model_is_the_kernel_machine():
    X, y = families(120)
    kernel = Normalized(PSpectrum(3))
    machine = SVC(kernel="precomputed").fit(kernel(X[:80]), y[:80])
    linear = make_pipeline(SequenceFeatures(PSpectrum(3)), LinearSVC()).fit(X[:80], y[:80])
    assert linear.score(X[80:], y[80:]) == machine.score(kernel(X[80:], X[:80]), y[80:]) == 1.0
    grid = {"sequencefeatures__kernel__p": [1, 3]}
    search = GridSearchCV(linear, grid, cv=3).fit(X, y)
    assert search.best_params_ == {"sequencefeatures__kernel__p": 3}


@pytest.mark.recovery
def test_stream_of_samples():
    features = SequenceFeatures(PSpectrum(3), n_features=2**12)
    model = SGDClassifier()
    model.set_params(random_state=0)
    for seed in range(20):
        X, y = families(50, seed)
        model.partial_fit(features.partial_fit(X).transform(X), y, classes=[0, 1])
    X, y = families(100, 99)
    assert model.score(features.transform(X), y) == 1.0


MILLION = """
import resource
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from skmoderndata.feature_extraction import SequenceFeatures
from skmoderndata.kernels import BlendedSpectrum

rng = np.random.default_rng(0)
words = np.array([["abc", "bca"], ["acb", "bac"]])
y = rng.integers(2, size=1_000_000)
X = ["".join(row) for row in words[y[:, None], rng.integers(2, size=(len(y), 6))].tolist()]
model = make_pipeline(
    SequenceFeatures(BlendedSpectrum(3), n_features=2**18), SGDClassifier(random_state=0)
)
model.fit(X, y)
print(model.score(X[::100], y[::100]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


@pytest.mark.slow
@pytest.mark.recovery
def test_a_million_strings_in_four_gigabytes():
    found = subprocess.run(
        [sys.executable, "-c", MILLION], capture_output=True, text=True, check=True
    )
    accuracy, gigabytes = map(float, found.stdout.split())
    assert accuracy > 0.99
    assert gigabytes < 4.0


@pytest.mark.invariance
@pytest.mark.parametrize("n_features", [None, 64])
def test_containers_copies_and_order(n_features):
    X = strings(0)
    features = SequenceFeatures(BlendedSpectrum(2), n_features).fit(X)
    A = features.transform(X).toarray()
    for other in (pd.Series(X), np.array(X, dtype=object), [list(x) for x in X]):
        again = clone(features).fit(other)
        assert_array_equal(np.sort(again.transform(other).toarray()), np.sort(A))
        assert_array_equal(features.transform(other).toarray(), A)
    assert_array_equal(pickle.loads(pickle.dumps(features)).transform(X).toarray(), A)
    assert_array_equal(features.transform(X[::-1]).toarray(), A[::-1])
    assert_array_equal(features.transform(X[:1]).toarray(), A[:1])


@pytest.mark.invariance
def test_hashes_are_equal_in_every_process():
    code = (
        "from skmoderndata.feature_extraction import SequenceFeatures as S\n"
        "A = S(n_features=2**20).transform(['gattaca'])\n"
        "print(A.indices.tolist())"
    )
    ours = SequenceFeatures(n_features=2**20).transform(["gattaca"]).indices.tolist()
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == str(ours)


@pytest.mark.edge
def test_samples_without_a_known_substring_are_zero():
    for features in (SequenceFeatures(PSpectrum(2)), SequenceFeatures(PSpectrum(2), 16)):
        A = features.fit(["abab", ""]).transform(["", "a", "ab"]).toarray()
        assert_array_equal(A[:2], 0)
        assert np.linalg.norm(A[2]) == pytest.approx(1)


@pytest.mark.edge
def test_names():
    features = SequenceFeatures(PSpectrum(2)).fit([("to", "be"), ("be", 4)])
    assert sorted(features.get_feature_names_out()) == ["be 4", "to be"]
    mismatch = SequenceFeatures(Mismatch(2, 1), normalize=False).fit(["abc"])
    assert mismatch.kernel_.alphabet == "abc"
    names = mismatch.get_feature_names_out()
    expected = [[sum(a != b for a, b in zip(w, v, strict=True)) <= 1 for v in ("ab", "bc")]
                for w in names]  # fmt: skip
    assert_array_equal(mismatch.transform(["abc"]).toarray()[0], np.sum(expected, axis=1))
    assert SequenceFeatures(n_features=3).fit(["a"]).get_feature_names_out()[2] == (
        "sequencefeatures2"
    )


@pytest.mark.edge
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SequenceFeatures().fit([]), "0 samples"),
        (lambda: SequenceFeatures().fit(["a", None]), "sample 1 is missing"),
        (lambda: SequenceFeatures(PSpectrum(0)).fit(["a"]), "p=0"),
        (lambda: SequenceFeatures(PSpectrum(5)).fit(["ab", ""]), "no columns; lower p"),
        (lambda: SequenceFeatures(Mismatch(5)).fit(["ab", ""]), "no columns; lower p"),
        (lambda: SequenceFeatures(n_features=0).fit(["a"]), "'n_features' parameter"),
        (lambda: SequenceFeatures(n_features=0).transform(["a"]), "'n_features' parameter"),
        (lambda: SequenceFeatures(Mismatch(), 16).fit(["a"]), "does not support hashing"),
        (lambda: SequenceFeatures().partial_fit(["a"]), "set n_features"),
        (lambda: SequenceFeatures().transform(["a"]), "not fitted"),
        (lambda: SequenceFeatures(Mismatch(1)).fit(["ab"]).transform(["c"]), "'c' is not in"),
    ],
)
def test_raises_on_invalid_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


FIXED = [
    (MarkovFisher(2), "abc", False),
    (MarkovFisher(2, information="diagonal"), "abc", False),
    (
        HMMFisher(
            startprob=[0.6, 0.4],
            transmat=[[0.7, 0.3], [0.2, 0.8]],
            emissionprob=[[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]],
        ),
        "abc",
        True,
    ),
    (TfIdf(vectorizer=CountVectorizer(analyzer="char")), "abc", False),
    (LatentSemantic(vectorizer=CountVectorizer(analyzer="char"), n_components=2), "abc", True),
]


@pytest.mark.oracle
@pytest.mark.parametrize(("kernel", "symbols", "dense"), FIXED, ids=repr)
def test_columns_of_scores_and_texts(kernel, symbols, dense, seed):
    X = [x + symbols for x in strings(seed, symbols=symbols)]
    train = X[:8]
    test = X[8:]
    for cosine in (False, True):
        model = SequenceFeatures(kernel, normalize=cosine).fit(train)
        A = model.transform(train)
        B = model.transform(test)
        assert isinstance(A, np.ndarray) == dense
        settled = kernel.from_data(train)
        expected = (Normalized(settled) if cosine else settled)(test, train)
        assert_allclose(B @ A.T if dense else (B @ A.T).toarray(), expected, atol=1e-10)
        assert len(model.get_feature_names_out()) == A.shape[1] == model.n_features_out_


@pytest.mark.edge
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (GapWeighted(2), "GapWeighted has no columns.*KernelTransformer.*IncompleteCholesky"),
        (AllSubtree(), "AllSubtree has no columns.*KernelTransformer"),
        (CompleteSubtree(), "CompleteSubtree has no columns.*KernelTransformer"),
        (Fisher(GaussianMixture()), "rows of a table; use FunctionTransformer"),
        (TfIdf(), "rows of a table; use FunctionTransformer"),
    ],
)
def test_kernels_without_columns_are_rejected(kernel, message):
    with pytest.raises(TypeError, match=message):
        SequenceFeatures(kernel).fit(["ab", "ba"])


@pytest.mark.edge
@pytest.mark.parametrize(
    "kernel", [MarkovFisher(), TfIdf(vectorizer=CountVectorizer(analyzer="char"))]
)
def test_columns_that_are_fixed_are_not_hashed(kernel):
    with pytest.raises(ValueError, match="does not support hashing"):
        SequenceFeatures(kernel, 16).fit(["ab", "ba"])


@pytest.mark.edge
@pytest.mark.parametrize(
    "kernel",
    [
        *(PSpectrum(2), BlendedSpectrum(3), RestrictedGapWeighted(2), Mismatch(2)),
        *(MarkovFisher(2), MarkovFisher(2, information="diagonal")),
    ],
    ids=repr,
)
def test_samples_that_are_all_empty_are_rejected(kernel):
    """Without symbols there are no columns."""
    with pytest.raises(
        ValueError, match=r"samples are empty|no training sample has|at least one"
    ):
        SequenceFeatures(kernel).fit(["", ""])

"""Evidence that kernels on strings match their definitions, for any symbols and any length."""

import warnings
from itertools import combinations, product
from math import comb

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from joblib import Parallel, delayed
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skmoderndata._samples.encoded import Encoded
from skmoderndata._solvers.sequences import windows
from skmoderndata._solvers.sequences.mismatch import (
    n_common_neighbours,
    neighbour_counts,
    pattern_weights,
)
from skmoderndata._solvers.sequences.windows import count_windows, gram_of_counts
from skmoderndata.cluster import KernelKMeans
from skmoderndata.cross_decomposition import KernelPLSRegression, PrincipalComponentsRegression
from skmoderndata.datasets import load_peptides
from skmoderndata.decomposition import ConvexNMF, KernelPCAOutlierDetector
from skmoderndata.discriminant_analysis import (
    KernelDiscriminantAnalysis,
)
from skmoderndata.kernel_approximation import IncompleteCholesky
from skmoderndata.kernels import (
    AllSubsequences,
    BlendedSpectrum,
    DirectSum,
    FixedLengthSubsequences,
    GapNumberWeighted,
    GapWeighted,
    GaussianOf,
    GramCache,
    Intersection,
    Mismatch,
    Normalized,
    PowerSet,
    PSpectrum,
    RestrictedGapWeighted,
)
from skmoderndata.neighbors import KernelCentroidOutlierDetector, KernelNearestCentroid
from skmoderndata.preprocessing import KernelTransformer, SampleColumn
from skmoderndata.svm import (
    CoreVectorMachine,
    CoreVectorOutlierDetector,
    CoreVectorRanker,
    CoreVectorRegressor,
    MinimumEnclosingBall,
)

KERNELS = [
    PSpectrum(2),
    BlendedSpectrum(3, decay=0.7),
    Mismatch(3, 1, 12),
    AllSubsequences(),
    FixedLengthSubsequences(2),
    GapWeighted(2, 0.6),
    GapNumberWeighted(2, 0.5),
    RestrictedGapWeighted(2, 2, 0.5),
]
each = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
LOGARITHMIC = [AllSubsequences(), FixedLengthSubsequences(5), GapWeighted(5, 0.9)]
SOFT = np.eye(4)
SOFT[2, 3] = SOFT[3, 2] = 0.5


def texts(rng, n, longest=30, symbols="abcd"):
    lengths = rng.integers(0, longest, size=n)
    return ["".join(rng.choice(list(symbols), size=k)) for k in lengths]


def families(n, seed=0):
    """Strings over the same symbols, whose order distinguishes two classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    words = [("abc", "bca"), ("acb", "bac")]
    return ["".join(rng.choice(words[label], size=4)) for label in y], y


@pytest.mark.paper
@pytest.mark.parametrize(
    ("kernel", "x", "z", "expected"),
    [
        (PSpectrum(2), "cat", "car", 1),
        (PSpectrum(2), "cat", "cat", 2),
        (PSpectrum(1), "gatta", "cata", 6),
        (PSpectrum(2), "gatta", "cata", 2),
        (PSpectrum(3), "gatta", "cata", 0),
        (BlendedSpectrum(2), "cat", "car", 3),
        (BlendedSpectrum(2), "gatta", "cata", 8),
        (BlendedSpectrum(2, decay=0.5), "cat", "car", 0.5625),
        (BlendedSpectrum(2, decay=0.5), "gatta", "cata", 1.625),
        (Mismatch(2, 1, "acrt"), "cat", "car", 15),
        (Mismatch(2, 1, "acrt"), "cat", "cat", 18),
        (Mismatch(2, 1, "abcrt"), "cat", "car", 18),
        (Mismatch(2, 2, 5), "gatta", "cata", 5**2 * 4 * 3),
        (AllSubsequences(), "cat", "car", 4),
        (AllSubsequences(), "aa", "aa", 6),
        (AllSubsequences(), "gatta", "cata", 14),
        (FixedLengthSubsequences(0), "gatta", "cata", 1),
        (FixedLengthSubsequences(1), "gatta", "cata", 6),
        (FixedLengthSubsequences(2), "gatta", "cata", 5),
        (FixedLengthSubsequences(3), "gatta", "cata", 2),
        (GapNumberWeighted(2), "cart", "cat", 1.75),
        (GapNumberWeighted(2), "cat", "cat", 2.25),
        (GapNumberWeighted(1), "gatta", "cata", 6),
        (GapNumberWeighted(2), "gatta", "cata", 3.25),
        (GapNumberWeighted(3), "gatta", "cata", 1),
        (RestrictedGapWeighted(2, 1), "cat", "car", 1),
        (RestrictedGapWeighted(2, 1), "cat", "cat", 2.25),
        (RestrictedGapWeighted(2, 1), "gatta", "cata", 3),
        (GapWeighted(2, 0.7), "cat", "car", 0.7**4),
        (GapWeighted(2, 0.7), "cat", "cat", 2 * 0.7**4 + 0.7**6),
        (GapWeighted(1), "gatta", "cata", 1.5),
        (GapWeighted(2), "gatta", "cata", 0.1953125),
        (GapWeighted(3), "gatta", "cata", 0.015625),
        (GapWeighted(2, similarity=SOFT, alphabet="acrt"), "cat", "car", 0.1015625),
        (
            GapWeighted(
                2,
                match_weights={"a": 0.5},
                skip_weights={"c": 0.5, "a": 0.2, "t": 0.5, "r": 0.1},
            ),
            "cart",
            "cat",
            0.279,
        ),
    ],
    ids=repr,
)
def test_worked_examples(kernel, x, z, expected):
    assert kernel([x], [z])[0, 0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("p", [1, 3, 5])
def test_spectrum_matches_character_counts(p, seed):
    X = texts(np.random.default_rng(seed), 30, 80)
    counts = CountVectorizer(
        analyzer="char", ngram_range=(p, p), lowercase=False
    ).fit_transform(X)
    K = (counts @ counts.T).toarray()
    assert_array_equal(PSpectrum(p)(X), K)
    assert_array_equal(PSpectrum(p)(X[:7], X), K[:7])


@pytest.mark.oracle
def test_common_neighbours_by_enumeration():
    for sigma, p, m in product((1, 2, 4), (1, 2, 3), (0, 1, 2)):
        if m > p:
            continue
        words = list(product(range(sigma), repeat=p))
        for d in range(p + 1 if sigma > 1 else 1):
            other = [1] * d + [0] * (p - d)
            near = [
                w
                for w in words
                if sum(a != 0 for a in w) <= m
                and sum(a != b for a, b in zip(w, other, strict=True)) <= m
            ]
            found = n_common_neighbours(d, p, m, sigma)
            assert found == len(near)
            weights = pattern_weights(p, m, sigma)
            assert found == sum(w * comb(p - d, k) for k, w in enumerate(weights))
    assert [n_common_neighbours(d, 2, 1, 4) for d in range(3)] == [7, 4, 2]


@pytest.mark.oracle
@pytest.mark.parametrize(("p", "m"), [(3, 1), (4, 2), (5, 1), (2, 2)])
def test_both_routes_and_the_features_of_mismatch_agree(p, m, seed):
    rng = np.random.default_rng(seed)
    X = texts(rng, 9, 40)
    Y = texts(rng, 5, 40)
    kernel = Mismatch(p, m, "abcd")
    K = kernel(X, Y)
    # there is no room for the counts of all words
    with sklearn.config_context(working_memory=0):
        assert_array_equal(kernel(X, Y), K)
        assert_array_equal(kernel(X), Mismatch(p, m, "abcd")(X, X))
        assert_array_equal(kernel.diag(X), np.diag(kernel(X)))
    assert_array_equal((kernel.features(X) @ kernel.features(Y).T).toarray(), K)


@pytest.mark.invariance
def test_costs_of_symbols(seed):
    """If all replacements cost 1, costs count mismatches; their scale does not matter."""
    rng = np.random.default_rng(seed)
    X = texts(rng, 9, 40)
    Y = texts(rng, 5, 40)
    for p, m in ((3, 1), (4, 2), (2, 0)):
        plain = Mismatch(p, m, "abcd")
        costs = Mismatch(p, alphabet="abcd", costs=1 - np.eye(4), threshold=m + 1)
        scaled = Mismatch(p, alphabet="abcd", costs=7 * (1 - np.eye(4)), threshold=7 * m + 1)
        for kernel in (costs, scaled):
            assert_array_equal(kernel(X, Y), plain(X, Y))
            assert_array_equal(kernel(X), plain(X))
            assert_array_equal(kernel.diag(X), plain.diag(X))
            assert_array_equal(kernel.features(X).toarray(), plain.features(X).toarray())
    # the alphabet has 4^13 > 2^24 words
    long = Mismatch(13, alphabet="abcd", costs=1 - np.eye(4), threshold=2)
    assert_array_equal(long(X, Y), Mismatch(13, 1, "abcd")(X, Y))
    assert_array_equal(long(X), Mismatch(13, 1, "abcd")(X))


@pytest.mark.edge
def test_too_many_words_near_a_substring(monkeypatch):
    from skmoderndata.kernels._strings import spectrum

    monkeypatch.setattr(spectrum, "MOST_WORDS", 1000)
    kernel = Mismatch(6, alphabet="abcd", costs=1 - np.eye(4), threshold=3)
    with pytest.raises(ValueError, match="more than 1000 neighbouring words"):
        kernel(["abcdcbacbdbacbd", "bdcabbd"])
    assert kernel(["abcdab"])[0, 0] == 1 + 6 * 3 + 15 * 9


@pytest.mark.certificate
def test_neighbour_counts_add_up(seed):
    """Each window has as many neighbours as a ball of radius m."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(3**4, size=50)
    offsets = np.array([0, 20, 20, 50])
    for m in range(5):
        counts = neighbour_counts(numbers, offsets, 3, 4, m)
        ball = sum(comb(4, i) * 2**i for i in range(m + 1))
        assert_array_equal(counts.sum(axis=1), np.array([20, 0, 30]) * ball)


@pytest.mark.oracle
def test_products_of_counts_by_both_ways(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    # some columns are full, others are not
    numbers = np.minimum(rng.geometric(0.05, size=2000), 90)
    offsets = np.sort(rng.integers(2000, size=39))
    A = count_windows(numbers, np.concatenate([[0], offsets, [2000]]), 91)
    dense = A.toarray()
    assert_array_equal(gram_of_counts(A), dense @ dense.T)
    assert_array_equal(gram_of_counts(A, n_bytes=1), dense @ dense.T)
    assert_array_equal(gram_of_counts(A[:7], A), dense[:7] @ dense.T)
    for products in (0.0, np.inf):  # copy the lower half to the upper half, or compute both
        monkeypatch.setattr(windows, "WORTH_HALVES", products)
        assert_array_equal(gram_of_counts(A), dense @ dense.T)


@pytest.mark.oracle
def test_products_of_features_equal_the_kernel(seed):
    rng = np.random.default_rng(seed)
    X = texts(rng, 9)
    Y = texts(rng, 5, symbols="cdxy")
    for kernel in (PSpectrum(2), BlendedSpectrum(3, decay=0.7), RestrictedGapWeighted(2, 2)):
        A, B = kernel.features(X, Y)
        assert_allclose((A @ B.T).toarray(), kernel(X, Y), rtol=1e-13)
        own = kernel.features(X)
        assert_allclose((own @ own.T).toarray(), kernel(X), rtol=1e-13)


@pytest.mark.oracle
def test_any_length_of_substrings_is_exact():
    """Windows of 100 symbols have no number in 64 bits; equal ranks mean equal windows."""
    rng = np.random.default_rng(0)
    motif = "".join(map(chr, rng.integers(0x4E00, 0x9FFF, size=120)))
    X = [motif, "x" + motif[:-1] + "y", motif[::-1]]
    assert_array_equal(PSpectrum(100)(X), [[21, 20, 0], [20, 22, 0], [0, 0, 21]])


@pytest.mark.recovery
def test_order_of_symbols_is_learnt():
    """All strings have the same numbers of each symbol; only substrings distinguish them."""
    X, y = families(80)
    model = make_pipeline(
        KernelTransformer(Normalized(PSpectrum(1))), SVC(kernel="precomputed")
    )
    grid = {"kerneltransformer__kernel__kernel__p": [1, 3]}
    found = GridSearchCV(model, grid, cv=4).fit(X, y)
    assert found.best_params_ == {"kerneltransformer__kernel__kernel__p": 3}
    assert found.cv_results_["mean_test_score"][0] < 0.7
    assert found.best_score_ > 0.95


@pytest.mark.invariance
@each
def test_all_containers_give_the_same_matrix(kernel, seed):
    X = texts(np.random.default_rng(seed), 8, 12)
    K = kernel(X)

    objects = np.empty(8, dtype=object)
    objects[:] = X
    containers = [
        tuple(X),
        objects,
        np.array(X),
        pd.Series(X, index=range(5, 13)),
        pl.Series(X),
        SampleColumn().fit_transform(X),
        [list(x) for x in X],
        [tuple(x) for x in X],
        kernel.encode(X),
    ]

    for other in containers:
        assert_array_equal(kernel(other), K)
        # the two sequences may be exchanged, which changes the order of summation
        assert_allclose(kernel(X[:3], other), K[:3], rtol=1e-14)
        assert_array_equal(kernel.diag(other), np.diag(K))

    numbers = [np.array([ord(c) for c in x], dtype=np.uint16) for x in X]
    for other in (numbers, [x.tolist() for x in numbers], [x.encode() for x in X]):
        assert_array_equal(kernel(other), K)


@pytest.mark.invariance
@each
def test_every_code_point_is_a_symbol(kernel):
    strange = str.maketrans("abcd", "\u00e9\x00\U0001f600\ud800")
    X = texts(np.random.default_rng(1), 8, 12)
    assert_array_equal(kernel([x.translate(strange) for x in X]), kernel(X))
    # compare one code point with two code points
    composed = "\u00e9"
    decomposed = "e\u0301"
    assert_array_equal(PSpectrum(1)([composed], [decomposed]), [[0.0]])


@pytest.mark.invariance
@each
def test_new_symbols_match_nothing(kernel):
    X = ["abc", "cab", ""]
    K = kernel(X, ["abc"])
    assert_array_equal(kernel(X, ["abc", "xyz", "zxa"])[:, :1], K)
    if not isinstance(kernel, Mismatch):
        empty = kernel(X, [""])
        assert_array_equal(kernel(X, ["xyz"]), empty)


@pytest.mark.invariance
@each
def test_values_do_not_depend_on_the_collection(kernel, seed):
    """Batches, lanes and blocks do not change values, not even in the last bit."""
    rng = np.random.default_rng(seed)
    X = texts(rng, 11, 60)
    Y = texts(rng, 14, 60)
    K = kernel(X, Y)
    alone = np.array([[kernel([x], [y])[0, 0] for y in Y] for x in X])
    assert_array_equal(K, alone)
    with sklearn.config_context(working_memory=1):
        assert_array_equal(kernel(X, Y), K)


@pytest.mark.certificate
@pytest.mark.parametrize("kernel", LOGARITHMIC, ids=repr)
def test_normalised_long_sequences_are_finite(kernel, seed):
    rng = np.random.default_rng(seed)
    X = [*texts(rng, 4, 12), "", "ab" * 400, "abcd" * 700]
    K = Normalized(kernel)(X)
    assert np.isfinite(K).all()
    assert_allclose(K, K.T, atol=1e-14)
    assert np.linalg.eigvalsh(K)[0] > -1e-8
    raw = kernel(X[:4])
    d = np.sqrt(np.maximum(np.diag(raw), 1e-300))
    assert_allclose(K[:4, :4], raw / np.outer(d, d), atol=1e-12)


@pytest.mark.oracle
def test_counts_beyond_the_range_of_numbers():
    """`a^n` has ``comb(2 n, n)`` pairs of equal subsequences with itself."""
    kernel = AllSubsequences()
    for n in (10, 500, 700, 5000):
        packed = kernel.encode(["a" * n]).form
        digits = comb(2 * n, n)
        exact = np.log(digits >> max(0, digits.bit_length() - 60)) + np.log(2.0) * max(
            0, digits.bit_length() - 60
        )
        assert kernel._log_diag(packed)[0] == pytest.approx(exact, rel=1e-12)
    assert kernel(["a" * 500])[0, 0] == pytest.approx(float(comb(1000, 500)), rel=1e-12)
    assert np.isinf(kernel(["a" * 600])[0, 0])


@pytest.mark.oracle
def test_counts_whose_rows_differ_by_more_than_the_range_of_numbers():
    """First 1300 bits of the count come from one block of symbols, then 1400 from another."""
    s = "b" * 660 + "a" * 710
    t = "a" * 710 + "b" * 660
    exact = comb(1420, 710)  # the pairs in the blocks of "a" dominate by 100 bits
    kernel = AllSubsequences()
    X = kernel.encode([s]).form
    Y = kernel.encode([t]).form
    shift = exact.bit_length() - 60
    assert kernel._log_gram(X, Y)[0, 0] == pytest.approx(
        np.log(exact >> shift) + shift * np.log(2.0), rel=1e-12
    )


@pytest.mark.oracle
def test_long_subsequences_by_their_closed_form():
    """`a^n` has ``comb(n, p)`` subsequences of p symbols; far outside of the range of numbers."""
    kernel = FixedLengthSubsequences(300)
    packed = kernel.encode(["a" * 1400]).form
    exact = 2 * sum(np.log((1400 - i) / (i + 1)) for i in range(300))
    assert kernel._log_diag(packed)[0] == pytest.approx(exact, rel=1e-10)
    assert exact > np.log(np.finfo(float).max)


@pytest.mark.invariance
def test_gap_weighted_between_its_limits(seed):
    X = texts(np.random.default_rng(seed), 8, 12)
    assert_allclose(GapWeighted(3, 1.0)(X), FixedLengthSubsequences(3)(X), rtol=1e-13)
    tiny = 1e-5
    assert_allclose(
        GapWeighted(2, tiny, penalize_gaps_only=True)(X), PSpectrum(2)(X), rtol=1e-3, atol=1e-3
    )  # gaps of one symbol have a weight of 1e-5 or less
    assert_allclose(
        GapWeighted(2, 0.5, penalize_gaps_only=True)(X),
        GapWeighted(2, 0.5)(X) / 0.5**4,
        rtol=1e-13,
    )
    assert_array_equal(RestrictedGapWeighted(3, 0)(X), PSpectrum(3)(X))
    assert_allclose(RestrictedGapWeighted(2, 12)(X) * 0.5**4, GapWeighted(2)(X), rtol=1e-13)
    assert_allclose(GapNumberWeighted(3, 1.0)(X), FixedLengthSubsequences(3)(X), rtol=1e-13)
    parts = [GapWeighted(q, 0.5)(X) for q in (1, 2, 3)]
    expected = 0.5 * parts[0] + 2.0 * parts[2]
    assert_allclose(GapWeighted(3, 0.5, lengths=[0.5, 0.0, 2.0])(X), expected, rtol=1e-13)


@pytest.mark.oracle
def test_similarity_by_a_kernel_of_symbols(seed):
    """Sequences of numbers, matched softly."""
    rng = np.random.default_rng(seed)
    X = [tuple(rng.integers(0, 5, size=k).tolist()) for k in (3, 4, 5)]
    by_kernel = GapWeighted(2, 0.5, similarity=RBF(1.5))(X)
    table = GapWeighted(
        2, 0.5, similarity=RBF(1.5)(np.arange(5.0)[:, None]), alphabet=range(5)
    )(X)
    assert_allclose(by_kernel, table, rtol=1e-13)
    x = X[0]
    z = X[1]
    k = RBF(1.5)
    expected = sum(
        k([[x[a]]], [[z[c]]])[0, 0]
        * k([[x[b]]], [[z[d]]])[0, 0]
        * 0.5 ** (b - a + 1 + d - c + 1)
        for a, b in combinations(range(3), 2)
        for c, d in combinations(range(4), 2)
    )
    assert by_kernel[0, 1] == pytest.approx(expected, rel=1e-12)


# ---- encoded samples, parameters from data, cache -----------------------------------------


@pytest.mark.invariance
def test_encoded_samples_are_a_sequence():
    X = ["cat", "", "gatta", "car"]
    E = PSpectrum(2).encode(X)
    assert (len(E), E.shape, list(E), E[2]) == (4, (4,), X, "gatta")
    assert list(E[1:3]) == X[1:3]
    assert list(E[np.array([3, 0])]) == ["car", "cat"]
    assert list(E[np.array([True, False, True, False])]) == ["cat", "gatta"]
    assert PSpectrum(1).encode(E) is E
    K = PSpectrum(2)(X)
    assert_array_equal(PSpectrum(2)(E[[3, 0]], E[1:]), K[[3, 0], 1:])


@pytest.mark.invariance
def test_samples_of_another_encoding_are_encoded_again():
    X = [frozenset("ab"), frozenset("bc")]
    E = PowerSet().encode(X)
    assert_array_equal(PowerSet()(E), PowerSet()(X))
    tokens = [("a", "b"), ("b", "c")]
    wrong = Encoded(tokens, object(), "another")
    assert_array_equal(PSpectrum(1)(wrong), PSpectrum(1)(tokens))
    nested = Normalized(GaussianOf(PSpectrum(1)))
    assert_array_equal(nested(nested.encode(tokens)), nested(tokens))
    assert_array_equal(nested(wrong), nested(tokens))


@pytest.mark.invariance
@pytest.mark.parametrize("kernel", [PSpectrum(2), GapWeighted(2)], ids=repr)
def test_diagonals_stay_with_encoded_samples(kernel, seed):
    X = texts(np.random.default_rng(seed), 9, 12)
    nested = Normalized(kernel)
    E = nested.encode(X)
    K = nested(X)
    assert_allclose(nested(E[:4], E), K[:4], rtol=1e-13)
    assert len(E.diagonals) == 1
    assert_allclose(nested(E[[5, 2]], E[3:]), K[[5, 2], 3:], rtol=1e-13)
    other = Normalized(clone(kernel).set_params(p=1))
    assert_allclose(other(E[:4], E), other(X)[:4], rtol=1e-13)
    assert_array_equal(nested.diag(E), np.diag(K))
    d = kernel.diag(E)
    d[:] = 0.0  # overwriting this copy must not change anything
    assert_array_equal(kernel.diag(E), kernel.diag(X))


class Counting(PSpectrum):
    n_encoded = 0

    def _check(self, X):
        Counting.n_encoded += len(X)
        return super()._check(X)


@pytest.mark.certificate
@pytest.mark.parametrize(
    "make",
    [
        lambda k: make_pipeline(KernelTransformer(Normalized(k)), SVC(kernel="precomputed")),
        lambda k: KernelKMeans(2, kernel=k, random_state=0),
        lambda k: KernelNearestCentroid(kernel=k),
        lambda k: KernelPCAOutlierDetector(kernel=k, n_components=2),
        lambda k: IncompleteCholesky(kernel=k, n_components=8),
        lambda k: CoreVectorMachine(kernel=k),
        lambda k: ConvexNMF(2, kernel=k, random_state=0),
        lambda k: KernelPLSRegression(2, kernel=k),
        lambda k: PrincipalComponentsRegression(2, kernel=k),
    ],
    ids=[
        "transformer",
        "kmeans",
        "centroid",
        "novelty",
        "cholesky",
        "core",
        "nmf",
        "pls",
        "components",
    ],
)
def test_a_fit_encodes_each_sample_once(make):
    X, y = families(60)
    Counting.n_encoded = 0
    make(Counting(2)).fit(X, y)
    assert Counting.n_encoded == 60


def columns(X):
    """The same samples in every container."""
    objects = np.empty(len(X), dtype=object)
    objects[:] = X
    found = [X, tuple(X), objects, pd.Series(objects, index=range(5, 5 + len(X)))]
    found += [pl.Series(values=X, dtype=pl.Object), SampleColumn().fit_transform(X)]
    return found if not isinstance(X[0], str) else [*found, np.array(X), pl.Series(X)]


@pytest.mark.invariance
@pytest.mark.parametrize("kernel", [Normalized(PSpectrum(3)), Intersection()], ids=repr)
@pytest.mark.parametrize(
    "estimator",
    [
        CoreVectorMachine(),
        CoreVectorOutlierDetector(),
        CoreVectorRanker(),
        CoreVectorRegressor(),
        IncompleteCholesky(),
        KernelCentroidOutlierDetector(),
        KernelDiscriminantAnalysis(),
        KernelKMeans(2),
        KernelNearestCentroid(),
        KernelPCAOutlierDetector(),
        MinimumEnclosingBall(),
    ],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_estimators_accept_every_container(estimator, kernel):
    X, y = families(30)
    if isinstance(kernel, Intersection):
        X = [frozenset(x[i : i + 2] for i in range(5)) for x in X]
    results = []
    for samples in columns(X):
        model = clone(estimator).set_params(kernel=kernel)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        model.fit(samples, y)
        names = ("decision_function", "predict", "transform")
        output = next(getattr(model, name) for name in names if hasattr(model, name))
        results.append(output(samples))
    for other in results[1:]:
        assert_array_equal(other, results[0])


@pytest.mark.invariance
def test_the_alphabet_is_fitted_by_fit():
    X, y = families(20)
    kernel = Mismatch(2, 1)
    assert kernel.from_data(["ca", "", "tc"]).alphabet == "act"
    assert kernel.from_data([(3, 1), (2,)]).alphabet == (3, 1, 2)
    settled = kernel.from_data(X)
    assert settled.from_data(["xyz"]) == settled
    assert Normalized(kernel).from_data(X) == Normalized(settled)
    pair = DirectSum([kernel, PSpectrum()]).from_data([("ab", "x"), ("c", "y")])
    assert pair.kernels[0].alphabet == "abc"
    assert (2.0 * kernel + PSpectrum()).k1.k2.alphabet is None
    assert KernelTransformer(2.0 * kernel).fit(X).kernel_.k2.alphabet == "abc"
    model = KernelNearestCentroid(kernel=kernel).fit(X, y)
    assert_array_equal(
        model.predict(X), KernelNearestCentroid(kernel=settled).fit(X, y).predict(X)
    )


@pytest.mark.certificate
@pytest.mark.parametrize("container", [list, np.array, pd.Series, pl.Series], ids=repr)
def test_a_grid_computes_each_value_once(container):
    X, y = families(48)
    X = [f"{x}{i:03d}" for i, x in enumerate(X)]  # make all strings different
    cache = GramCache()
    model = make_pipeline(
        KernelTransformer(PSpectrum(), cache=cache), SVC(kernel="precomputed")
    )
    grid = {"kerneltransformer__kernel__p": [1, 2], "svc__C": [0.1, 1, 10]}
    GridSearchCV(model, grid, cv=3).fit(container(X), y)
    assert cache.n_computed <= 2 * 48**2
    held = sum(len(table.numbers) for table in cache._tables.values())
    assert held == 2 * 48


@pytest.mark.invariance
def test_cache_recognises_equal_samples():
    cache = GramCache()
    rng = np.random.default_rng(0)
    arrays = [rng.integers(3, size=k) for k in (4, 5)]
    for samples in (arrays, ["ab", "b"], [("a", 1), ("b",)], [b"ab", b"b"]):
        kernel = PSpectrum(1)
        before = cache.n_computed
        assert_array_equal(cache.values(kernel, samples), kernel(samples))
        copies = [type(x)(x) if not isinstance(x, np.ndarray) else x.copy() for x in samples]
        assert_array_equal(cache.values(kernel, copies), kernel(samples))
        assert cache.n_computed == before + 4
    assert cache._size() > sum(table.K.nbytes for table in cache._tables.values())


# ---- borders and bad input ------------------------------------------------------------------


@pytest.mark.edge
@each
def test_empty_samples_and_empty_collections(kernel):
    assert kernel([]).shape == (0, 0)
    assert kernel([], ["ab"]).shape == (0, 1)
    assert kernel.diag([]).shape == (0,)
    own = kernel(["", "", "abcabc"])
    constant = 1.0 if isinstance(kernel, AllSubsequences) else 0.0
    assert_array_equal(own[:2], constant)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        K = Normalized(kernel)(["", "", "abcabc"])
    assert_array_equal(np.diag(K), [constant, constant, 1.0])
    assert np.isfinite(K).all()


class ZeroInLogarithms(Intersection):
    """A kernel in logarithms with samples that are similar to nothing."""

    def _log_gram(self, X, Y):
        with np.errstate(divide="ignore"):
            return np.log(self._common(X, Y)[0])

    def _log_diag(self, X):
        with np.errstate(divide="ignore"):
            return np.log(self._diag(X))


@pytest.mark.edge
def test_zero_self_similarity_in_logarithms():
    K = Normalized(ZeroInLogarithms())([{1}, set(), {1, 2}])
    assert_allclose(K, [[1, 0, 0.5**0.5], [0, 0, 0], [0.5**0.5, 0, 1]], rtol=1e-15)
    assert_array_equal(Normalized(ZeroInLogarithms()).diag([{1}, set()]), [1, 0])


@pytest.mark.edge
@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ("one long text", TypeError, "needs a collection of samples"),
        (["ab", None], ValueError, "sample 1 is missing"),
        (["ab", float("nan")], ValueError, "sample 1 is missing"),
        (pd.Series(["ab", None, "c"], dtype="str"), ValueError, "sample 1 is missing"),
        (["ab", b"ab"], TypeError, "sample 0 is of type str, but sample 1 is of type bytes"),
        (["ab", ["a", "b"]], TypeError, "sample 1 is of type list"),
        ([3, 4], TypeError, "sample 0 is of type int"),
        ([np.array([0.5, 1.0])], TypeError, "an integer array of one dimension"),
        (np.ones((3, 2, 2), dtype=int), TypeError, r"an array of shape \(2, 2\)"),
        ([[["a"], ["b"]]], TypeError, "sample 0 has symbols that are not"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), ValueError, "select one column"),
        (np.array([["x", "y"]], dtype=object), ValueError, "select one column"),
    ],
)
def test_raises_on_invalid_samples(X, error, message):
    with pytest.raises(error, match=message):
        PSpectrum(1)(X)


@pytest.mark.edge
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (PSpectrum(0), "p=0; it must be an integer of at least 1"),
        (PSpectrum(2.0), "p=2.0"),
        (PSpectrum(True), "p=True"),
        (BlendedSpectrum(2, weights=[1.0]), "of length p=2"),
        (BlendedSpectrum(2, weights=[1.0, -1.0]), "at least 0"),
        (BlendedSpectrum(2, decay=1.5), "above 0 and at most 1"),
        (BlendedSpectrum(2, weights=[1, 1], decay=0.5), "weights or decay, not both"),
        (Mismatch(2, 3, "ab"), "at most p=2"),
        (Mismatch(2, 1), "alphabet=None needs training samples"),
        (Mismatch(2, 1, "aba"), "none repeated"),
        (Mismatch(2, 1, 0), "alphabet=0"),
        (Mismatch(2, 1, "ab"), "'c' is not in the alphabet of 2"),
        (Mismatch(2, 1, 2), "alphabet=2 symbols, but the samples have 3"),
        (Mismatch(2, 1, "abc", unknown="drop"), "one of 'raise', 'ignore'"),
        (Mismatch(2, alphabet="abc", costs=np.eye(3)), "costs and threshold must be given"),
        (
            Mismatch(2, alphabet="abc", threshold=1.0),
            "costs and threshold must be given together",
        ),
        (
            Mismatch(2, alphabet="ab", costs=np.eye(3), threshold=1),
            r"matrix of shape \(2, 2\)",
        ),
        (Mismatch(2, alphabet="abc", costs=-np.eye(3), threshold=1), "at least 0"),
        (Mismatch(2, alphabet="abc", costs=np.eye(3), threshold=0.0), "threshold=0.0"),
        (Mismatch(2, alphabet=3, costs=np.eye(3), threshold=1), "costs require the symbols"),
        (Mismatch(40, alphabet="abc", costs=np.eye(3), threshold=1), "too many for costs"),
        (FixedLengthSubsequences(-1), "at least 0"),
        (GapNumberWeighted(2, 1.5), "above 0 and at most 1"),
        (RestrictedGapWeighted(2, -1), "max_gaps=-1"),
        (GapWeighted(2, 0.0), "above 0 and at most 1"),
        (GapWeighted(2, lengths=[1.0]), "of length p=2"),
        (GapWeighted(2, match_weights={"a": -1.0}), "numbers of at least 0"),
        (
            GapWeighted(2, match_weights={"a": 1.0}, penalize_gaps_only=True),
            "do not set match_weights",
        ),
        (GapWeighted(2, similarity=np.eye(2)), "requires alphabet"),
        (GapWeighted(2, similarity=np.eye(2), alphabet="abc"), r"shape \(3, 3\)"),
        (GapWeighted(2, similarity=[[1, 2], [2, 1]], alphabet="ab"), "the eigenvalue -1"),
        (GapWeighted(2, similarity=[[1, 2], [0, 1]], alphabet="ab"), "symmetric"),
        (GapWeighted(2, similarity=np.eye(2), alphabet="ab"), "'c' is not in the alphabet"),
        (GapWeighted(2, alphabet="ab"), "alphabet requires a similarity matrix"),
    ],
    ids=repr,
)
def test_raises_on_invalid_parameters(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(["abc"])


@pytest.mark.edge
def test_more_words_and_bytes():
    with pytest.raises(TypeError, match="one collection is of str and the other of bytes"):
        PSpectrum(1)(["a"], [b"a"])
    with pytest.raises(ValueError, match="features require the symbols"):
        Mismatch(2, 1, 4).features(["ab"])
    with pytest.raises(ValueError, match="too many columns"):
        Mismatch(12, 1, "abcdefgh").features(["ab"])
    with pytest.raises(ValueError, match="not available with match_weights"):
        GapWeighted(2, match_weights={"a": 1.0}, decay_bounds=(0.1, 1.0))(
            ["ab"], eval_gradient=True
        )
    kernel = Mismatch(2, 1, "ab", unknown="ignore")
    assert_array_equal(kernel(["abxab"]), kernel.diag(["abxab"])[:, None])
    assert kernel(["abxab"])[0, 0] == 4 * Mismatch(2, 1, "ab")(["ab"])[0, 0]


# ---- real data, threads, a million samples --------------------------------------------------


@pytest.mark.slow
@pytest.mark.recovery
@pytest.mark.parametrize(
    ("kernel", "grid", "least"),
    [
        (
            GapWeighted(),
            {"kernel__kernel__p": [3, 4], "kernel__kernel__decay": [0.5, 0.7, 0.9]},
            0.97,
        ),
        (Mismatch(alphabet="ACDEFGHIKLMNPQRSTVWY"), {"kernel__kernel__p": [3, 4, 5]}, 0.96),
    ],
    ids=["gap-weighted", "mismatch"],
)
def test_peptides_by_a_search_in_a_pipeline(kernel, grid, least):
    """Antimicrobial against transmembrane; the spectrum of 3 symbols reaches .956."""
    X, y = load_peptides(return_X_y=True)
    step = KernelTransformer(Normalized(kernel), cache=GramCache())
    model = make_pipeline(step, SVC(kernel="precomputed"))
    grid = {f"kerneltransformer__{name}": values for name, values in grid.items()}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(model, grid | {"svc__C": [1, 10, 100]}, cv=folds).fit(X, y)
    assert search.best_score_ >= least


@pytest.mark.invariance
@each
def test_threads_change_nothing(kernel, seed):
    """Eight threads at once, each with different rows: the compiled loops share nothing."""
    rng = np.random.default_rng(seed)
    X = texts(rng, 40, 50)
    Y = texts(rng, 15, 50)
    K = kernel(X, Y)
    blocks = [
        slice(start, start + size) for size in (3, 5, 40) for start in range(0, 40, size)
    ]
    found = Parallel(n_jobs=8, prefer="threads")(
        delayed(kernel)(X[rows], Y) for rows in blocks
    )
    for rows, part in zip(blocks, found, strict=True):
        assert_array_equal(part, K[rows])


@pytest.mark.edge
def test_more_gaps_than_symbols_cost_nothing():
    words = ["cat", "gattac", "a"]
    expected = RestrictedGapWeighted(3, 3)(words)
    # for positions beyond the longest sequence, there would be 2e17 patterns
    assert_array_equal(RestrictedGapWeighted(3, 10**17)(words), expected)

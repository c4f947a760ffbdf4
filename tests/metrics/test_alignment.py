"""Evidence that alignments have the largest scores, and that their paths have these scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skmoderndata._samples import edits as edits_module
from skmoderndata._solvers.common import pieces
from skmoderndata.metrics import alignment, edit_distance, pairwise_alignment, pairwise_elastic
from skmoderndata.preprocessing import (
    DistanceTransformer,
    KernelTransformer,
    SpectrumCorrector,
)
from tests.oracles import gapped as plain

GAPS = [(1.0, None), (2.0, 0.5), (0.75, 0.0), (0.0, 0.0)]
MODES = ["global", "local"]


def texts(seed, n=10, longest=9, symbols="abc"):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, longest, size=n)
    return ["".join(rng.choice(list(symbols), size=k)) for k in lengths]


def random_scores(seed, symbols="abcde"):
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for i, a in enumerate(symbols) for b in symbols[i:]]
    return {(a, b): rng.normal() + 2 * (a == b) for a, b in pairs}


def score_function(scores):
    return lambda a, b: scores.get((a, b), scores.get((b, a)))


def series(seed, n=6, channels=1):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(rng.integers(1, 9), channels)) for _ in range(n)]


def is_alignment(path, n, m, whole):
    """Whether each sequence is run through in its order, without a break."""
    for positions, length in zip(path.T, (n, m), strict=True):
        used = positions[positions >= 0]
        assert_array_equal(np.diff(used), 1)
        if whole:
            assert_array_equal(used, np.arange(length))
    assert (path.max(axis=1, initial=-1) >= 0).all()


@pytest.mark.oracle
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("first", "further"), GAPS)
def test_symbols_equal_the_recursion_and_paths_their_scores(mode, first, further, seed):
    X = texts(seed)
    Z = texts(seed + 1, n=8, symbols="bcde")
    scores = random_scores(seed)
    local = mode == "local"
    costs = (first, first if further is None else further)
    settings = {
        "mode": mode,
        "gap_cost": first,
        "extension_cost": further,
        "substitution_scores": scores,
    }

    of = score_function(scores)
    expected = [[plain.alignment_score(x, z, of, *costs, local) for z in Z] for x in X]
    S = pairwise_alignment(X, Z, **settings)
    assert_allclose(S, expected, rtol=1e-12, atol=1e-13)
    own = pairwise_alignment(X, **settings)
    assert_allclose(own, pairwise_alignment(X, list(X), **settings), rtol=1e-14)
    assert_array_equal(own, own.T)

    # check the path of each pair
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            path, score = alignment(x, z, **settings)
            assert score == pytest.approx(S[i, j], rel=1e-13, abs=1e-13)
            of_path = plain.score_of_path(path, x, z, of, *costs)
            assert of_path == pytest.approx(score, rel=1e-12, abs=1e-12)
            is_alignment(path, len(x), len(z), whole=not local)


@pytest.mark.oracle
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("channels", [1, 2])
def test_series_equal_the_recursion_and_paths_their_scores(mode, channels, seed):
    X = series(seed, channels=channels)
    costs = (1.0, 0.25)
    settings = {"mode": mode, "match": 0.9, "gap_cost": costs[0], "extension_cost": costs[1]}

    def of(a, b):
        return 0.9 - np.linalg.norm(a - b)

    expected = [
        [plain.alignment_score(x, z, of, *costs, mode == "local") for z in X] for x in X
    ]
    S = pairwise_alignment(X, metric="euclidean", **settings)
    assert_allclose(S, expected, rtol=1e-12, atol=1e-13)
    assert_allclose(pairwise_alignment(X, X[:3], metric="euclidean", **settings), S[:, :3])

    # pass a function as the distance
    def distance(x, z):
        return np.sqrt(((x[:, None] - z) ** 2).sum(axis=2))

    assert_allclose(pairwise_alignment(X, metric=distance, **settings), S, atol=1e-13)
    path, score = alignment(X[0], X[1], metric="euclidean", **settings)
    assert score == pytest.approx(S[0, 1], abs=1e-13)
    of_path = plain.score_of_path(path, X[0], X[1], of, *costs)
    assert of_path == pytest.approx(score, abs=1e-12)
    is_alignment(path, len(X[0]), len(X[1]), whole=mode == "global")


@pytest.mark.certificate
@pytest.mark.parametrize(("first", "further"), [(1.0, 1.0), (1.5, 0.25)])
def test_no_alignment_has_a_larger_score(first, further, seed):
    x, z = texts(seed + 40, n=2, longest=6)
    x = x or "ab"
    scores = random_scores(seed)
    of = score_function(scores)
    _, score = alignment(
        x, z, substitution_scores=scores, gap_cost=first, extension_cost=further
    )
    every = plain.all_alignments(len(x), len(z))
    best = max(plain.score_of_path(path, x, z, of, first, further) for path in every)
    assert score == pytest.approx(best, abs=1e-12)


# Scores of the pairs of amino acids in the example.
BLOSUM50 = {
    **{("A", b): s for b, s in zip("AEGHPW", (5, -1, 0, -2, -1, -3), strict=True)},
    **{("E", b): s for b, s in zip("EGHPW", (6, -3, 0, -1, -3), strict=True)},
    **{("G", b): s for b, s in zip("GHPW", (8, -2, -2, -3), strict=True)},
    **{("H", b): s for b, s in zip("HPW", (10, -2, -3), strict=True)},
    **{("P", b): s for b, s in zip("PW", (10, -4), strict=True)},
    ("W", "W"): 15,
}


def rows(path, x, z):
    return tuple(
        "".join("-" if i < 0 else sequence[i] for i in positions)
        for sequence, positions in zip((x, z), path.T, strict=True)
    )


@pytest.mark.paper
def test_example_of_durbin_eddy_krogh_and_mitchison():
    """Biological sequence analysis, 1998, Figures 2.5 and 2.6: scores 1 and 28."""
    x = "HEAGAWGHEE"
    z = "PAWHEAE"
    settings = {"substitution_scores": BLOSUM50, "gap_cost": 8}
    path, score = alignment(x, z, **settings)
    assert score == 1
    assert rows(path, x, z) == ("HEAGAWGHE-E", "--P-AW-HEAE")
    of = score_function(BLOSUM50)
    assert plain.score_of_path(path, x, z, of, 8, 8) == 1
    path, score = alignment(x, z, mode="local", **settings)
    assert score == 28
    assert rows(path, x, z) == ("AWGHE", "AW-HE")


@pytest.mark.paper
def test_example_of_smith_and_waterman():
    """Smith and Waterman 1981, Figure 1: matches 1, others -1/3, gaps 1 + k / 3; score 3.3."""
    x = "AAUGCCAUUGACGG"
    z = "CAGCCUCGCUUAG"
    settings = {"mismatch": -1 / 3, "gap_cost": 4 / 3, "extension_cost": 1 / 3}
    path, score = alignment(x, z, mode="local", **settings)
    assert score == pytest.approx(10 / 3)
    assert rows(path, x, z) == ("GCCAUUG", "GCC-UCG")


@pytest.mark.paper
def test_example_of_needleman_and_wunsch():
    """Needleman and Wunsch 1970, Figure 2: a maximum match of 8 where gaps are free."""
    x = "ABCNJRQCLCRPM"
    z = "AJCJNRCKCRBP"
    path, score = alignment(x, z, mismatch=0, gap_cost=0)
    assert score == 8
    paired = path[(path >= 0).all(axis=1)]
    assert sum(x[i] == z[j] for i, j in paired) == 8


@pytest.mark.invariance
def test_matches_related_distances(seed):
    X = texts(seed, n=8)
    # gaps cost as much as changes of single symbols
    S = pairwise_alignment(X, match=0)
    assert_array_equal(-S, [[edit_distance(x, z) for z in X] for x in X])
    # this gives the longest common subsequence of series
    A = [np.random.default_rng([seed, i]).normal(size=6 + i) for i in range(5)]
    common = pairwise_alignment(
        A, match=0, metric=lambda x, z: np.where(abs(x - z.T) <= 0.4, -1.0, 1.0), gap_cost=0
    )
    lengths = np.minimum.outer(*[[len(x) for x in A]] * 2)
    assert_allclose(1 - common / lengths, pairwise_elastic(A, metric="lcss", epsilon=0.4))


@pytest.mark.certificate
@pytest.mark.parametrize("gap_cost", [0.3, 1.0, 4.0])
def test_minus_the_global_score_is_a_metric(gap_cost, seed):
    X = [*texts(seed, n=12), "", "a", "b"]
    D = -pairwise_alignment(X, match=0, gap_cost=gap_cost)
    assert_array_equal(D > 0, np.array([[x != z for z in X] for x in X]))
    A = series(seed, n=15)
    of_series = -pairwise_alignment(A, match=0, metric="euclidean", gap_cost=gap_cost)
    for distances in (D, of_series):
        assert (
            distances <= (distances[:, :, None] + distances[None]).min(axis=1) + 1e-12
        ).all()
        assert_allclose(distances.diagonal(), 0, atol=1e-15)


@pytest.mark.invariance
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("normalize", [False, True])
def test_pieces_threads_and_blocks_do_not_matter(mode, normalize, monkeypatch, seed):
    X = texts(seed, n=20)
    A = series(seed)
    settings = {"mode": mode, "extension_cost": 0.5, "normalize": normalize}
    of_series = {**settings, "metric": "cityblock"}
    S = pairwise_alignment(X, **settings)
    S_series = pairwise_alignment(A, **of_series)
    path, _ = alignment(X[0] + "abcab", X[1] + "cab", mode=mode)

    monkeypatch.setattr(pieces, "PIECE_CELLS", 1)
    monkeypatch.setattr(edits_module, "CELLS", 50)
    assert_array_equal(pairwise_alignment(X, n_jobs=2, **settings), S)
    assert_array_equal(pairwise_alignment(X[:7], X, **settings), S[:7])
    assert_array_equal(pairwise_alignment(A, n_jobs=2, **of_series), S_series)
    assert_array_equal(alignment(X[0] + "abcab", X[1] + "cab", mode=mode)[0], path)
    if normalize:
        assert_allclose(S.diagonal(), [len(x) > 0 for x in X], atol=1e-15)


@pytest.mark.invariance
def test_kinds_of_sequences_do_not_matter(seed):
    X = texts(seed)
    S = pairwise_alignment(X, mode="local")
    as_bytes = [x.encode() for x in X]
    as_tokens = [list(x) for x in X]
    for other in (np.array(X), tuple(X), as_bytes, as_tokens):
        assert_array_equal(pairwise_alignment(other, mode="local"), S)
    # give each pair of symbols in one order or in both
    scores = random_scores(seed)
    both = scores | {(b, a): s for (a, b), s in scores.items()}
    assert_array_equal(
        pairwise_alignment(X, substitution_scores=scores),
        pairwise_alignment(X, substitution_scores=both),
    )


@pytest.mark.recovery
def test_local_scores_find_a_planted_word():
    """Texts of one class share a word with small errors, at any place of random letters."""
    rng = np.random.default_rng(0)
    X = []
    y = np.arange(80) % 2
    for label in y:
        noise = "".join(rng.choice(list("acgt"), size=40))
        word = list(("gattacagattaca", "ccgtatgcatcgga")[label])
        word[rng.integers(len(word))] = rng.choice(list("acgt"))
        place = rng.integers(40)
        X.append(noise[:place] + "".join(word) + noise[place:])

    settings = {"mode": "local", "gap_cost": 2.0, "extension_cost": 0.5, "normalize": True}
    model = make_pipeline(
        KernelTransformer(pairwise_alignment, kernel_params=settings),
        SpectrumCorrector(),
        SVC(kernel="precomputed"),
    )
    search = GridSearchCV(
        model, {"svc__C": [1.0, 10.0], "spectrumcorrector__algorithm": ["clip"]}
    )
    search.fit(X[:50], y[:50])
    assert accuracy_score(y[50:], search.predict(X[50:])) >= 0.9


def minus_global_score(X, Z):
    return -pairwise_alignment(X, Z, match=0)


@pytest.mark.edge
def test_empty_sequences_and_collections():
    for x, z, score in (("", "", 0), ("", "abc", -2), ("abc", "", -2)):
        path, value = alignment(x, z, gap_cost=1, extension_cost=0.5)
        assert value == score
        assert len(path) == len(x) + len(z)
        assert alignment(x, z, mode="local")[1] == 0
        assert alignment(x, z, mode="local")[0].shape == (0, 2)
    assert pairwise_alignment([]).shape == (0, 0)
    assert pairwise_alignment([], ["a"]).shape == (0, 1)
    assert pairwise_alignment(["a"], []).shape == (1, 0)
    assert_array_equal(pairwise_alignment(["", "a"], normalize=True), [[0, 0], [0, 1]])
    # the words have no symbol in common
    path, score = alignment("aaa", "bb", mode="local")
    assert len(path) == 0
    assert score == 0
    assert_array_equal(
        DistanceTransformer(minus_global_score).fit_transform(["ab", "b"]), [[0, 1], [1, 0]]
    )


@pytest.mark.edge
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gap_cost": -1.0}, "gap_cost"),
        ({"extension_cost": -0.5}, "extension_cost"),
        ({"gap_cost": np.nan}, "gap_cost"),
        ({"gap_cost": 1.0, "extension_cost": 2.0}, "is above gap_cost=1.*lower it"),
        ({"mode": "semi"}, "mode"),
        ({"match": np.inf}, "match"),
        ({"substitution_scores": {("a", "b"): 1.0}}, "no score for the symbols 'a' and 'a'"),
        ({"substitution_scores": {"ab": 1.0}}, "must be pairs of symbols"),
        ({"substitution_scores": {("a", "a"): np.nan}}, "must be a finite number"),
        (
            {"substitution_scores": {("a", "b"): 1.0, ("b", "a"): 2.0}},
            "must not depend on the order",
        ),
        ({"substitution_scores": {}, "metric": "euclidean"}, "set only one"),
    ],
)
@pytest.mark.parametrize("function", [alignment, pairwise_alignment])
def test_raises_on_invalid_parameters(function, settings, message):
    pair = ("ab", "b") if function is alignment else (["ab"], ["b"])
    with pytest.raises(ValueError, match=message):
        function(*pair, **settings)


@pytest.mark.edge
def test_raises_on_invalid_samples():
    with pytest.raises(ValueError, match="no score for the symbols 'c'"):
        alignment(
            "ab", "ac", substitution_scores={("a", "a"): 1, ("a", "b"): 0, ("b", "b"): 1}
        )
    with pytest.raises(ValueError, match="NaN or infinity"):
        alignment([1.0, np.nan], [1.0], metric="euclidean")
    with pytest.raises(ValueError, match="is empty"):
        alignment([], [1.0], metric="euclidean")
    with pytest.raises(ValueError, match="the same channels"):
        alignment([[1.0, 2.0]], [1.0], metric="euclidean")
    with pytest.raises(ValueError, match=r"distances of shape \(1, 2\)"):
        alignment([1.0], [1.0, 2.0], metric=lambda x, z: np.zeros((2, 1)))
    with pytest.raises(ValueError, match="increase match"):
        pairwise_alignment([[1.0], [2.0]], metric="euclidean", match=-1.0, normalize=True)
    with pytest.raises(TypeError, match="str"):
        alignment("ab", b"ab")

"""Evidence that long loops in pieces compute what they compute in one go."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skmoderndata._solvers.common import pieces
from skmoderndata.cluster import TimeSeriesKMeans
from skmoderndata.kernels import (
    AllSubsequences,
    AllSubtree,
    GapNumberWeighted,
    GapWeighted,
    GlobalAlignment,
    Mismatch,
    Normalized,
    PairHMM,
    PSpectrum,
)
from skmoderndata.metrics import (
    alignment,
    dtw,
    dtw_barycenter,
    dtw_path,
    pairwise_alignment,
    pairwise_dtw,
    pairwise_edit_distance,
    soft_dtw,
)
from skmoderndata.neighbors import DTWNeighborsClassifier


def series(n=12, channels=1, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(k, channels)).cumsum(axis=0) for k in rng.integers(6, 12, n)]


X = series()
X2 = series(channels=2)
EQUAL = np.stack([x[:6] for x in series()])
LABELS = np.arange(12) % 2
# Series whose similarities are 2^-650, so that numbers underflow after two rows.
STEEP = np.tile([0.0, 0.3], 10)[:, None]

CASES = {
    "pairs": lambda: pairwise_dtw(X),
    "channels": lambda: pairwise_dtw(X2, local="euclidean"),
    "two collections": lambda: pairwise_dtw(X[:5], X[5:], radius=3),
    "one by one": lambda: pairwise_dtw(X[:3]),
    "itakura": lambda: pairwise_dtw(X[:1] * 6, band="itakura"),
    "cutoff": lambda: pairwise_dtw(EQUAL, max_distance=2.0),
    "one pair": lambda: dtw(X[0], X[1]),
    "path": lambda: dtw_path(X[0], X[1])[0],
    "path of costs": lambda: dtw_path(X[0], X[1], local=lambda a, b: np.abs(a - b.T))[0],
    "soft": lambda: soft_dtw(X2[0], X2[1], gradient=True)[1],
    "soft and steep": lambda: soft_dtw(STEEP, STEEP[::-1] + 3.0, gamma=0.02, gradient=True)[1],
    "average": lambda: dtw_barycenter(EQUAL),
    "clusters": lambda: TimeSeriesKMeans(2, random_state=0).fit(X).labels_,
    "soft clusters": lambda: (
        TimeSeriesKMeans(2, metric="soft_dtw", random_state=0).fit(EQUAL).inertia_
    ),
    "neighbours": lambda: DTWNeighborsClassifier(3).fit(X, LABELS).kneighbors(X)[0],
    "bounds": lambda: DTWNeighborsClassifier(3, radius=1).fit(EQUAL, LABELS).kneighbors()[0],
}


WORDS = [
    "".join(np.random.default_rng(i).choice(list("abc"), size=i % 7 + 1)) for i in range(9)
]
TREES = [("a", ("b", "c"), ("b", "c")), ("a", ("a", ("b", "c"), "c"), ("b", "c")), ("b", "c")]
BUSH = ("a", *[("a", "b")] * 1100)  # Tree with 2^1100 subtrees.
LONG = ["ab" * 50, "abc" * 40]
LETTERS = ["".join(np.random.default_rng(i).choice(list("abcd"), size=9)) for i in range(90)]
PAIRS = PairHMM(np.full((3, 3), 0.02) + 0.82 / 3 * np.eye(3), [0.3, 0.3, 0.4], symbols="abc")
CASES |= {
    "edit of words": lambda: pairwise_edit_distance(WORDS),
    "edit": lambda: pairwise_edit_distance([*WORDS, *LONG]),
    "weighted edit": lambda: pairwise_edit_distance(WORDS, LONG, gap_cost=1.5),
    "alignments": lambda: pairwise_alignment(WORDS, LONG, extension_cost=0.5),
    "one alignment": lambda: alignment(*LONG, mode="local")[0],
    "gaps": lambda: GapWeighted(2, 0.5)(WORDS),
    "gaps of two": lambda: GapWeighted(2, 0.5)(WORDS[:5], WORDS),
    "normalised gaps": lambda: Normalized(GapWeighted(3, 0.5))(WORDS, WORDS[:3]),
    "all subsequences": lambda: AllSubsequences()(WORDS),
    "global alignment": lambda: Normalized(GlobalAlignment(3.0))(X2, X2[:4]),
    "of far points": lambda: Normalized(GlobalAlignment(0.1))([10.0 * x for x in X2[:4]]),
    "triangle": lambda: GlobalAlignment(3.0, triangular=3)(X),
    "subtrees": lambda: AllSubtree(decay=0.5)(TREES),
    "logarithms of subtrees": lambda: Normalized(AllSubtree(decay=0.5))(TREES, TREES[:2]),
    "large sums": lambda: Normalized(AllSubtree(decay=1.0))([BUSH]),
    "logarithms": lambda: Normalized(AllSubsequences())(WORDS, WORDS[:3]),
    "derivatives of gaps": lambda: GapWeighted(3, 0.5)(WORDS, eval_gradient=True)[1],
    "without the decay of matches": lambda: GapWeighted(2, 0.7, penalize_gaps_only=True)(
        WORDS, eval_gradient=True
    )[1],
    "derivatives of alignments": lambda: GlobalAlignment(3.0)(X2, eval_gradient=True)[1],
    "of far series": lambda: GlobalAlignment(3.0)([np.zeros((9, 1)), np.full((8, 1), 1e3)]),
    "derivatives of subtrees": lambda: AllSubtree(decay=0.5)(TREES, eval_gradient=True)[1],
    "derivatives of their logarithms": lambda: Normalized(AllSubtree(decay=0.5))(
        [*TREES, BUSH], eval_gradient=True
    )[1],
    "numbers of gaps": lambda: GapNumberWeighted(2, 0.5)(WORDS),
    "normalised numbers": lambda: Normalized(GapNumberWeighted(3, 0.5))(WORDS, WORDS[:3]),
    "pair models": lambda: PAIRS(WORDS),
    "normalised pair models": lambda: Normalized(PAIRS)(WORDS, WORDS[:4]),
    "mismatches": lambda: Mismatch(3, 1, alphabet="abc")(LONG),
    "windows": lambda: PSpectrum(4)(LETTERS),
    "windows of two": lambda: PSpectrum(4)(LETTERS[:20], LETTERS),
}


@pytest.mark.invariance
@pytest.mark.parametrize("name", CASES)
def test_pieces_give_the_same_values(name, monkeypatch):
    expected = CASES[name]()
    for cells in (1, 7, 50):
        monkeypatch.setattr(pieces, "PIECE_CELLS", cells)
        assert_array_equal(CASES[name](), expected)

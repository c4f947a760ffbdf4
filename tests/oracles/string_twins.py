"""Twins of the kernels on strings, by enumeration of substrings and of index tuples."""

from collections import Counter
from itertools import combinations, pairwise, product

import numpy as np

from skmoderndata import kernels as sk
from tests.oracles.kernel_twins import Twin


def strings(rng, n):
    """Draw strings of 0 to 8 symbols of three."""
    lengths = rng.integers(0, 9, size=n)
    return ["".join(rng.choice(list("abc"), size=k)) for k in lengths]


def substrings(s, p):
    """Count the substrings of p symbols."""
    return Counter(s[i : i + p] for i in range(len(s) - p + 1))


def inner(a, b):
    """Inner product of two counters."""
    return float(sum(a[u] * b[u] for u in a))


def spectrum(s, t, p):
    """Inner product of the counts of substrings."""
    return inner(substrings(s, p), substrings(t, p))


def blended(kernel, s, t):
    """Weighted sum of the spectrum kernels of the lengths 1 to p."""
    if kernel.weights is not None:
        weights = list(kernel.weights)
    else:
        decay = 1.0 if kernel.decay is None else kernel.decay
        weights = [decay ** (2 * q) for q in range(1, kernel.p + 1)]
    return sum(w * spectrum(s, t, q) for q, w in enumerate(weights, 1))


def mismatches(kernel, s):
    """Count, for every word over the alphabet, the substrings at most m symbols from it."""
    size = kernel.alphabet if isinstance(kernel.alphabet, int) else len(kernel.alphabet)
    symbols = "abcdefgh"[:size] if isinstance(kernel.alphabet, int) else kernel.alphabet
    found = Counter()
    for word in product(symbols, repeat=kernel.p):
        for v, count in substrings(s, kernel.p).items():
            if near(kernel, word, v):
                found[word] += count
    return found


def near(kernel, word, v):
    """Whether a word may stand in place of a substring."""
    pairs = list(zip(word, v, strict=True))
    if kernel.costs is None:
        return sum(a != b for a, b in pairs) <= kernel.m
    number = kernel.alphabet.index
    return sum(kernel.costs[number(a)][number(b)] for a, b in pairs) < kernel.threshold


def picks(s, p):
    """Yield the index tuples of the subsequences of p symbols."""
    return combinations(range(len(s)), p)


def all_subsequences(s):
    """Count the subsequences of all lengths, the empty one included."""
    return Counter(
        tuple(s[i] for i in pick) for p in range(len(s) + 1) for pick in picks(s, p)
    )


def fixed_length(s, p):
    """Count the subsequences of p symbols."""
    return Counter(tuple(s[i] for i in pick) for pick in picks(s, p))


def price(kernel, s, pick):
    """Weight of a pick: matched symbols, and those skipped between the first and the last."""
    value = 1.0
    for i in range(pick[0], pick[-1] + 1):
        if i not in pick:
            value *= (kernel.skip_weights or {}).get(s[i], kernel.decay)
        elif kernel.match_weights is not None:
            value *= kernel.match_weights.get(s[i], 1.0)
        elif not kernel.penalize_gaps_only:
            value *= kernel.decay
    return value


def alike(kernel, a, b):
    """Similarity of two symbols."""
    if kernel.similarity is None:
        return float(a == b)
    i = kernel.alphabet.index(a)
    j = kernel.alphabet.index(b)
    return float(kernel.similarity[i, j])


def gap_weighted(kernel, s, t):
    """Sum over all pairs of index tuples."""
    lengths = [0.0] * (kernel.p - 1) + [1.0] if kernel.lengths is None else kernel.lengths
    total = 0.0
    for q, weight in enumerate(lengths, 1):
        for i in picks(s, q):
            for j in picks(t, q):
                match = np.prod([alike(kernel, s[a], t[b]) for a, b in zip(i, j, strict=True)])
                if match:
                    total += weight * match * price(kernel, s, i) * price(kernel, t, j)
    return total


def by_gaps(kernel, s):
    """Sum ``decay`` to the number of gaps, for each subsequence."""
    found = Counter()
    for pick in picks(s, kernel.p):
        gaps = sum(b > a + 1 for a, b in pairwise(pick))
        found["".join(s[i] for i in pick)] += kernel.decay**gaps
    return found


def restricted(kernel, s):
    """Sum ``decay`` to the number of skipped symbols, for each subsequence with few of them."""
    found = Counter()
    for pick in picks(s, kernel.p):
        skipped = pick[-1] - pick[0] + 1 - kernel.p
        if skipped <= kernel.max_gaps:
            found["".join(s[i] for i in pick)] += kernel.decay**skipped
    return found


COSTS = np.array([[0, 0.25, 1, 0.5], [0.5, 0, 0.25, 1], [0.25, 0.5, 0.125, 1], [1, 1, 1, 0]])
SIMILARITY = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.25], [0.0, 0.25, 2.0]])
BOUNDS = (1e-3, 1.0)

TWINS = {
    "PSpectrum": Twin(
        lambda: [sk.PSpectrum(p) for p in (1, 2, 3)],
        lambda k, s, t: spectrum(s, t, k.p),
        strings,
    ),
    "BlendedSpectrum": Twin(
        lambda: [
            sk.BlendedSpectrum(3),
            sk.BlendedSpectrum(2, weights=[0.0, 2.0]),
            sk.BlendedSpectrum(2, decay=0.5),
        ],
        blended,
        strings,
    ),
    "Mismatch": Twin(
        lambda: [
            sk.Mismatch(2, 1, "abc"),
            sk.Mismatch(3, 1, "abcd"),
            sk.Mismatch(3, 0, "abc"),
            sk.Mismatch(2, 2, "abc"),
            sk.Mismatch(2, 1, 7),
            sk.Mismatch(3, alphabet="abcd", costs=COSTS, threshold=0.75),
            sk.Mismatch(2, alphabet="cabd", costs=COSTS, threshold=0.5),
        ],
        lambda k, s, t: inner(mismatches(k, s), mismatches(k, t)),
        strings,
    ),
    "AllSubsequences": Twin(
        lambda: [sk.AllSubsequences()],
        lambda k, s, t: inner(all_subsequences(s), all_subsequences(t)),
        strings,
    ),
    "FixedLengthSubsequences": Twin(
        lambda: [sk.FixedLengthSubsequences(p) for p in (0, 1, 3)],
        lambda k, s, t: inner(fixed_length(s, k.p), fixed_length(t, k.p)),
        strings,
    ),
    "GapNumberWeighted": Twin(
        lambda: [
            sk.GapNumberWeighted(p, decay) for p, decay in ((1, 0.5), (2, 0.3), (3, 1.0))
        ],
        lambda k, s, t: inner(by_gaps(k, s), by_gaps(k, t)),
        strings,
    ),
    "RestrictedGapWeighted": Twin(
        lambda: [
            sk.RestrictedGapWeighted(),
            sk.RestrictedGapWeighted(2, 0),
            sk.RestrictedGapWeighted(1, 2, 0.3),
            sk.RestrictedGapWeighted(3, 3, 1.0),
        ],
        lambda k, s, t: inner(restricted(k, s), restricted(k, t)),
        strings,
    ),
    "GapWeighted": Twin(
        lambda: [
            sk.GapWeighted(),
            sk.GapWeighted(2, 1.0),
            sk.GapWeighted(2, 0.7, lengths=[0.5, 2.0]),
            sk.GapWeighted(2, match_weights={"a": 0.5}, skip_weights={"b": 0.1, "c": 2.0}),
            sk.GapWeighted(2, 0.4, similarity=SIMILARITY, alphabet="abc"),
            sk.GapWeighted(2, 0.4, penalize_gaps_only=True),
        ],
        gap_weighted,
        strings,
        lambda: [
            sk.GapWeighted(2, 0.6, decay_bounds=BOUNDS),
            sk.GapWeighted(3, 0.3, lengths=[1.0, 0.5, 2.0], decay_bounds=BOUNDS),
            sk.GapWeighted(2, 0.6, penalize_gaps_only=True, decay_bounds=BOUNDS),
        ],
    ),
}

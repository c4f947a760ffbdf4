"""Attempts on misspelt names: counts of characters and of runs of them, with the angle between."""

from itertools import pairwise

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import pairwise_distances


def _nearest(vectorizer, inputs, metric="cosine"):
    counts = vectorizer.fit_transform([*inputs.names, *inputs.typed])
    n = len(inputs.names)
    return pairwise_distances(counts[n:], counts[:n], metric=metric).argmin(axis=1)


def pairs(inputs):
    """pairs of characters in TfidfVectorizer."""
    return _nearest(TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 2)), inputs)


def runs(inputs):
    """runs of up to three characters in TfidfVectorizer."""
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3), sublinear_tf=True)
    return _nearest(vectorizer, inputs)


def long_runs(inputs):
    """runs of two to four characters in TfidfVectorizer."""
    return _nearest(TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)), inputs)


def letters(inputs):
    """differences of counts of characters and pairs."""
    return _nearest(CountVectorizer(analyzer="char", ngram_range=(1, 2)), inputs, "manhattan")


def gaps(inputs):
    """pairs of characters with gaps in TfidfVectorizer."""

    def parts(word):
        padded = f"^{word}$"
        found = [
            padded[i : i + k : k - 1] for k in (2, 3, 4) for i in range(len(padded) - k + 1)
        ]
        return [*word, *found]

    return _nearest(TfidfVectorizer(analyzer=parts), inputs)


def places(inputs):
    """characters with their positions in TfidfVectorizer."""

    def parts(word):
        near = [
            f"{c}{(i + shift) // 2} {shift}" for i, c in enumerate(word) for shift in (0, 1)
        ]
        back = [f"{c}{(i - len(word)) // 2}" for i, c in enumerate(word)]
        return [*near, *back, *map("".join, pairwise(word))]

    return _nearest(TfidfVectorizer(analyzer=parts), inputs)


def edits(inputs):
    """a vectorised edit distance in NumPy."""
    lengths = np.array([len(name) for name in inputs.names])
    places = np.arange(lengths.max() + 1, dtype=np.int8)[:, None]
    letters = np.array([[*name.ljust(lengths.max())] for name in inputs.names]).T
    same = {c: letters == c for c in {c for word in inputs.typed for c in word}}
    found = []
    for word in inputs.typed:
        D = np.repeat(places, len(lengths), axis=1)
        for c in word:
            new = D + np.int8(1)
            np.minimum(new[1:], D[:-1] + ~same[c], out=new[1:])
            D = np.minimum.accumulate(new - places) + places
        found.append(D[lengths, np.arange(len(lengths))].argmin())
    return np.array(found)

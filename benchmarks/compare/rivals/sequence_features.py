"""Attempts on counts of runs of characters: vectorizers of scikit-learn, numbers in numpy."""

from collections import Counter
from itertools import chain

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize


def vectorizer(given):
    """CountVectorizer."""
    runs = (1, given.longest)
    counts = CountVectorizer(analyzer="char", lowercase=False, ngram_range=runs, dtype=float)
    counts.preprocessor = str  # white space counts as it is
    counts._white_spaces = __import__("re").compile("$^")
    return normalize(counts.fit_transform(given.X))


def analyzer(given):
    """CountVectorizer with an analyzer of its own."""

    def runs(text):
        ends = range(1, given.longest + 1)
        return [text[i : i + k] for k in ends for i in range(len(text) - k + 1)]

    return normalize(CountVectorizer(analyzer=runs, dtype=float).fit_transform(given.X))


def counters(given):
    """DictVectorizer."""
    ends = range(1, given.longest + 1)
    counts = [Counter(x[i : i + k] for k in ends for i in range(len(x) - k + 1)) for x in given.X]
    return normalize(DictVectorizer().fit_transform(counts))


def numbers(given):
    """numbers of runs in numpy."""
    codes = np.unique(np.array(list(chain(*given.X))), return_inverse=True)[1].astype(np.int64)
    rows = np.repeat(np.arange(len(given.X)), [len(x) for x in given.X])
    found = []
    number = np.zeros(len(codes), dtype=np.int64)
    for k in range(given.longest):
        ok = rows[k:] == rows[: len(rows) - k]
        number = number[: len(rows) - k] * 1000 + codes[k:]
        columns = np.unique(number[ok], return_inverse=True)[1]
        ones = np.ones(len(columns))
        found.append(sparse.csr_matrix((ones, (rows[k:][ok], columns))))
    return normalize(sparse.hstack(found).tocsr())

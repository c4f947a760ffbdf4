"""Samples that are not strings, in every kernel on strings: an answer, or one clear message."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer

from skmoderndata._estimator.registry import all_kernels
from skmoderndata.feature_extraction import SequenceFeatures
from skmoderndata.kernels import (
    BlendedSpectrum,
    GapWeighted,
    Mismatch,
    PSpectrum,
    RestrictedGapWeighted,
    SemanticDiffusion,
    TfIdf,
    VectorSpace,
)
from skmoderndata.preprocessing import DistanceTransformer
from tests.oracles.kernel_twins import all_twins

WORDS = ["abab", "baba", "aabb"]


def on_strings(twin):
    return all(isinstance(x, str) for x in twin.samples(np.random.default_rng(0), 3))


# Kernels on strings; for `Convolution`, a user's function divides the samples.
KERNELS = [
    kernel
    for cls in all_kernels()
    if cls.__name__ != "Convolution" and on_strings(all_twins()[cls.__name__])
    for kernel in all_twins()[cls.__name__].make()[:1]
]
COUNTED = [
    cls(vectorizer=vectorizer)
    for cls in (TfIdf, VectorSpace, SemanticDiffusion)
    for vectorizer in (CountVectorizer(analyzer="char"), None)
]
FEATURES = [
    SequenceFeatures(),
    SequenceFeatures(n_features=16),
    SequenceFeatures(BlendedSpectrum(2)),
    SequenceFeatures(Mismatch(2, 1)),
    SequenceFeatures(RestrictedGapWeighted(2)),
    DistanceTransformer(),
]

ODD = {
    "bytes": [b"abab", b"baba"],
    "bytes_among_strings": ["abab", b"baba"],
    "none": ["abab", None, "aabb"],
    "nan": ["abab", np.nan, "aabb"],
    "na": ["abab", pd.NA, "aabb"],
    "nat": [pd.NaT, "aabb"],
    "series_with_none": pd.Series(["abab", None, "aabb"]),
    "series_with_na": pd.Series(["abab", None, "aabb"], dtype="string"),
    "numbers": [1, 2, 3],
    "array": np.arange(3.0),
    "flags": [True, False],
    "sequences": [["ab", "c"], ["d"]],
    "nested": [[["a"], ["b"]], [["a"]]],
    "nan_in_sequences": [["a", np.nan], ["b"]],
    "na_in_sequences": [["a", pd.NA], ["b"]],
    "dictionaries": [{"a": 1}, {"b": 1}],
    "bytearrays": [bytearray(b"ab"), bytearray(b"b")],
    "table": np.array([["a", "b"], ["c", "d"]]),
    "table_of_objects": np.array([["a", "b"], ["c", "d"]], dtype=object),
    "frame": pd.DataFrame({"word": WORDS}),
    "masked": np.ma.masked_array(np.array(WORDS, dtype=object), mask=[0, 1, 0]),
    "one": "abab",
    "one_of_bytes": b"abab",
    "without_dimensions": np.array("abab"),
    "nothing": None,
    "set": set(WORDS),
    "generator": (word for word in WORDS),
    "empty": [],
    "empty_array": np.array([], dtype=object),
    "empty_strings": ["", ""],
}
# Inputs that are mistakes of the caller and must raise an error.
WRONG = {"none", "nan", "na", "nat", "series_with_none", "series_with_na", "numbers", "array"}
WRONG |= {"flags", "nested", "nan_in_sequences", "na_in_sequences", "dictionaries"}
WRONG |= {"table_of_objects", "masked", "one", "one_of_bytes", "without_dimensions", "nothing"}
WRONG |= {"frame", "set", "generator"}
# Words in messages of NumPy, pandas and Python that do not describe samples.
FOREIGN = ("inhomogeneous", "not iterable", "boolean value of NA", "could not convert")
FOREIGN += ("Expected 2D", "has no len", "object is not", "unhashable", "0-d array")


def check(compute, kind):
    """Expect finite numbers, or a message of our own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = compute()
    except (TypeError, ValueError) as error:
        message = str(error)
        assert len(message) > 30
        own = message.split(": unhashable")[0]
        assert not any(words in own for words in FOREIGN), message
        return
    assert kind not in WRONG
    values = values.toarray() if hasattr(values, "toarray") else values
    assert np.isfinite(values).all()
    assert len(values) == len(ODD[kind])


@pytest.mark.edge
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("kernel", [*KERNELS, *COUNTED], ids=lambda k: repr(k)[:40])
def test_kernels_accept_samples_or_name_requirements(kernel, kind):
    check(lambda: kernel.from_data(ODD[kind])(ODD[kind]), kind)
    check(lambda: kernel.from_data(ODD[kind]).diag(ODD[kind]), kind)


@pytest.mark.edge
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("estimator", FEATURES, ids=repr)
def test_features_accept_samples_or_name_requirements(estimator, kind):
    check(lambda: estimator.fit(ODD[kind]).transform(ODD[kind]), kind)


@pytest.mark.edge
@pytest.mark.parametrize("kernel", [PSpectrum(1), GapWeighted(2), RestrictedGapWeighted(2)])
@pytest.mark.parametrize("others", [WORDS, [list(word) for word in WORDS]])
def test_bytes_have_no_symbol_in_common_with_strings(kernel, others):
    for X, Y in ((ODD["bytes"], others), (others, ODD["bytes"])):
        with pytest.raises(TypeError, match="decode the bytes"):
            kernel(X, Y)


@pytest.mark.edge
def test_lists_of_letters_equal_strings():
    letters = [list(word) for word in WORDS]
    assert_array_equal(PSpectrum(2)(letters), PSpectrum(2)(WORDS))
    assert_array_equal(PSpectrum(2)(letters, WORDS), PSpectrum(2)(WORDS))


@pytest.mark.edge
def test_none_is_a_symbol():
    assert_array_equal(PSpectrum(1)([["a", None], [None]]), [[2.0, 1.0], [1.0, 1.0]])


@pytest.mark.edge
def test_names_the_vectorizer_that_finds_no_terms():
    kernel = TfIdf(CountVectorizer())
    with pytest.raises(
        ValueError, match="TfIdf: CountVectorizer finds no terms in the corpus"
    ):
        kernel.from_data(["a", "b"])

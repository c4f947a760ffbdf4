"""Containers: index types of sparse matrices, gaps among strings, lists, ragged tables, Dask."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

from skmoderndata import suggest
from skmoderndata.cross_decomposition import RegularizedCCA
from skmoderndata.kernels import PSpectrum
from skmoderndata.manifold import KernelGraphEmbedding
from skmoderndata.model_selection import canonical_permutation_test
from tests.common.instances import INSTANCES, sample, target
from tests.common.test_weights import answers

SPARSE = [one for one in INSTANCES if one.__sklearn_tags__().input_tags.sparse]
FIRST = {type(one): one for one in reversed(SPARSE)}.values()


def halves_zero():
    X = sample()
    X[X < np.median(X)] = 0.0
    return X


def with_mixed_indices(X):
    """A CSR matrix with 32-bit indices and 64-bit pointers, as some readers make it."""
    made = sparse.csr_matrix(X)
    made.indices = made.indices.astype(np.int32)
    made.indptr = made.indptr.astype(np.int64)
    return made


@pytest.mark.edge
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(one, id=repr(one), marks=() if one in FIRST else pytest.mark.full)
        for one in SPARSE
    ],
)
def test_index_types_of_sparse_matrices_may_differ(estimator):
    X = halves_zero()
    y = target(estimator, X)
    plain = clone(estimator)
    if "random_state" in plain.get_params():
        plain.set_params(random_state=0)
    try:
        plain.fit(sparse.csr_matrix(X), y)
        expected = answers(plain, sparse.csr_matrix(X))
    except (AttributeError, ValueError) as error:
        pytest.skip(f"no answer for this table: {str(error)[:40]}")
    mixed = with_mixed_indices(X)
    found = answers(clone(plain).fit(mixed, y), with_mixed_indices(X))
    assert mixed.indptr.dtype == np.int64  # the caller's matrix is unchanged
    if expected.dtype.kind in "biuf":
        scale = max(float(np.abs(expected).max(initial=0.0)), 1e-300)
        assert_allclose(found, expected, rtol=0, atol=1e-9 * scale)
    else:
        assert (found == expected).all()


@pytest.mark.edge
@pytest.mark.parametrize("gap", [None, np.nan, pd.NA], ids=repr)
@pytest.mark.parametrize("kind", [list, pd.Series, lambda x: np.array(x, dtype=object)])
def test_suggest_ignores_missing_strings(gap, kind, capsys):
    found = suggest(kind(["ab cd", gap, "cd ef gh", "ab"]))
    assert found.facts.kind == suggest(["ab cd", "cd ef gh", "ab"]).facts.kind


@pytest.mark.edge
@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([b"ab", b"c"], "type bytes: decode them"),
        (["ab", b"c"], "type bytes: decode them"),
        (["ab", 3, "c"], "X mixes strings and other samples, such as 3"),
        ([3, "ab"], "X mixes strings and other samples, such as 3"),
    ],
)
def test_suggest_rejects_other_samples_among_strings(X, message):
    with pytest.raises(TypeError, match=message):
        suggest(X)


@pytest.mark.edge
def test_suggest_recognises_nested_lists_and_ragged_series(capsys):
    tree = ["S", ["NP", "d", "n"], ["VP", "v"]]
    with pytest.raises(TypeError, match="for example about='trees'"):
        suggest([tree, ["S", ["NP", "n"]]])
    assert suggest([["a", "b"], ["c"]]).facts.kind == "sequences"
    assert suggest([[1.0, 2.0, 3.0], [1.0, 2.0]]).facts.kind == "series"


@pytest.mark.edge
def test_suggest_accepts_a_dask_frame(capsys):
    frames = pytest.importorskip("dask.dataframe")
    table = frames.from_pandas(pd.DataFrame(np.eye(4)), npartitions=2)
    assert suggest(table).facts.kind == "table"


@pytest.mark.edge
def test_one_structured_sample_is_too_few():
    with pytest.raises(
        ValueError, match="KernelGraphEmbedding needs at least 2 samples, got 1"
    ):
        KernelGraphEmbedding(kernel=PSpectrum(1)).fit(["abc"])


@pytest.mark.edge
def test_ragged_views_raise():
    Y = np.random.default_rng(0).normal(size=(20, 2))
    ragged = [[1.0, 2.0], [3.0]] * 10
    message = "rows of different lengths: 2 values in row 0, 1 in row 1"
    for views in ((ragged, Y), (Y, ragged)):
        with pytest.raises(ValueError, match=message):
            canonical_permutation_test(RegularizedCCA(1), *views)
    with pytest.raises(ValueError, match=message):
        RegularizedCCA(1).fit(Y, ragged)

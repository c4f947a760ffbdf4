"""Documents as rows of counts, and the corpus of a kernel on text."""

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skmoderndata._estimator.validation import check_array
from skmoderndata._samples.containers import Sample, as_samples, is_missing, is_sparse
from skmoderndata._samples.keys import Key, key_of_kernel
from skmoderndata._solvers.common.typing import Array


class Corpus:
    """A collection of documents as counts, their vectorizer, and quantities derived from them.

    Copies of a kernel share the corpus: it never changes, and `copy.deepcopy` returns it
    unchanged.

    Parameters
    ----------
    counts : csr_array of shape (n_documents, n_terms)
        Rows of counts or weights.
    vectorizer : object or None
        Fitted on the documents; None if the documents were rows.
    """

    def __init__(self, counts: sparse.csr_array, vectorizer: Any) -> None:
        self.counts = counts
        self.vectorizer = vectorizer
        self._derived: dict[Any, Any] = {}
        self._key: Key | None = None
        names = getattr(vectorizer, "vocabulary_", None)
        shown = repr(sorted(names.items()) if names else vectorizer)
        checksum = zlib.crc32(shown.encode())
        for array in (counts.indptr, counts.indices, counts.data):
            content = np.ascontiguousarray(array).tobytes()
            checksum = zlib.crc32(content, checksum)
        self.checksum = f"{checksum:08x}"

    def derive(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the result of `make` on the corpus, computed once for each key."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]

    def value_key(self) -> Key:
        """Return the key of the counts and the vectorizer, computed once."""
        if self._key is None:
            self._key = key_of_kernel([self.counts, self.vectorizer])
        return self._key

    def __deepcopy__(self, memo: dict[int, Any]) -> "Corpus":
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_derived": {}, "_key": None}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Corpus) and self.value_key() == other.value_key()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        n, p = self.counts.shape
        return f"Corpus(<{n} documents, {p} terms, checksum {self.checksum}>)"


def read_corpus(documents: Any, vectorizer: Any, name: str) -> Corpus:
    """Return documents as a corpus; a vectorizer is cloned and fitted on them."""
    if vectorizer is None:
        counts = rows_of_counts(documents, name)
    else:
        vectorizer = clone(vectorizer)
        counts = sparse.csr_array(_fitted_counts(vectorizer, texts(documents, name), name))
    if not counts.shape[0]:
        raise ValueError(f"{name}: the corpus has no documents.")
    return Corpus(_sorted(counts.astype(np.float64)), vectorizer)


def _fitted_counts(vectorizer: Any, documents: list[str], name: str) -> Any:
    """Fit a vectorizer and return its counts; name the kernel in errors."""
    if not documents:
        return sparse.csr_array((0, 0))
    try:
        return vectorizer.fit_transform(documents)
    except ValueError as error:
        raise ValueError(
            f"{name}: {type(vectorizer).__name__} finds no terms in the corpus: {error}."
        ) from None


def texts(X: Any, name: str) -> list[str]:
    """Return documents as a list of `str`."""
    documents = as_samples(X, name)
    for i, x in enumerate(documents):
        if is_missing(x):
            raise ValueError(
                f"{name}: sample {i} is missing ({x!r}); drop it, or replace it by ''."
            )
        if not isinstance(x, str | bytes):
            raise TypeError(
                f"{name}: with a vectorizer a sample must be a text; sample {i} is of type "
                f"{type(x).__name__}. For rows of counts set vectorizer=None."
            )
    return documents


def rows_of_counts(X: Any, name: str) -> sparse.csr_array:
    """Return documents as finite rows of counts or weights."""
    if isinstance(X, str | bytes) or not hasattr(X, "__len__"):
        as_samples(X, name)  # this call raises the error

    # convert a collection of rows to one table
    if not is_sparse(X) and not (isinstance(X, np.ndarray) and X.dtype != object):
        if hasattr(X, "columns"):
            X = np.asarray(X)
        rows = [x.value if isinstance(x, Sample) else x for x in X]
        if any(isinstance(x, str | bytes) for x in rows):
            raise TypeError(
                f"{name}: samples are texts, but vectorizer=None needs rows of counts; set "
                "vectorizer=CountVectorizer(), or put one before the kernel in a pipeline."
            )

        if rows and all(is_sparse(x) for x in rows):
            X = sparse.vstack(rows, format="csr")
        else:
            X = _as_table(rows, name) if rows else np.empty((0, 0))

    # reject an array of texts
    if isinstance(X, np.ndarray) and X.dtype.kind in "US":
        raise TypeError(
            f"{name}: samples are texts, but vectorizer=None needs rows of counts; set "
            "vectorizer=CountVectorizer(), or put one before the kernel in a pipeline."
        )

    if X.ndim != 2:
        raise ValueError(
            f"{name}: vectorizer=None needs a table of counts, one row for each sample, but "
            f"received an array of shape {X.shape}."
        )

    # `check_array` needs at least one document
    if isinstance(X, np.ndarray) and X.ndim == 2 and not X.shape[0]:
        return sparse.csr_array(X.shape)
    table = check_array(X, accept_sparse="csr", dtype=np.float64)
    return _sorted(sparse.csr_array(table))


def _as_table(rows: list[Any], name: str) -> Array:
    """Return rows of numbers as one array."""
    try:
        return np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name}: vectorizer=None needs rows of counts that have the same length; samples "
            f"are of type {type(rows[0]).__name__}. For texts set vectorizer=CountVectorizer()."
        ) from None


def _sorted(table: sparse.csr_array) -> sparse.csr_array:
    """Sort the columns, so that the order of summation depends only on the documents."""
    if not table.has_sorted_indices:
        table = table.sorted_indices()
    return table


def document_frequencies(counts: sparse.csr_array) -> Array:
    """Count the documents in which each term occurs."""
    return np.bincount(counts.indices[counts.data != 0], minlength=counts.shape[1])

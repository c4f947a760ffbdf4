"""Base class of the Boolean factorisations: memberships from Boolean components."""

import warnings
from functools import partial

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base
from skmoderndata._estimator.blocks_input import (
    block_of,
    blocks_of,
    check_entries,
    in_blocks,
    rows_named,
)
from skmoderndata._estimator.compat import fit_context
from skmoderndata._estimator.doors import by_rows, in_memory
from skmoderndata._estimator.validation import (
    BitCounts,
    bits_of,
    check_memberships,
    validate_boolean,
    warn_default_threshold,
)
from skmoderndata._solvers.boolean_data.bit_blocks import BitBlocks, Data
from skmoderndata._solvers.boolean_data.boolean import (
    best_cover,
    boolean_product,
    count_differences,
    pack_bits,
    pack_rows,
)


def warn_fewer_clusters(estimator, n_distinct):
    """Warn if there are fewer clusters than requested, as scikit-learn's `KMeans` does."""
    if n_distinct < estimator.n_clusters:
        warnings.warn(
            f"{type(estimator).__name__}: the number of distinct clusters found ({n_distinct}) "
            f"is smaller than n_clusters={estimator.n_clusters}, possibly because X has "
            "duplicate samples. Lower n_clusters.",
            ConvergenceWarning,
            stacklevel=3,
        )


class BooleanComponents(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    """Mixin for models with Boolean `components_`: memberships of rows, and reconstruction."""

    _factors = "components"  # name of the factors in error messages

    @by_rows
    def transform(self, X):
        """Compute the memberships of rows, as `assignments_` for the training rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows. If the estimator accepts NaN, NaN marks unobserved bits, which are ignored.

        Returns
        -------
        assignments : ndarray of bool of shape (n_samples, n_clusters)
            Memberships. In a tie between sets of components, the smallest set is chosen.
        """
        check_is_fitted(self)
        return self._memberships(X)

    @by_rows
    def predict(self, X):
        """Compute the memberships of rows, as `transform` does.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows. If the estimator accepts NaN, NaN marks unobserved bits, which are ignored.

        Returns
        -------
        assignments : ndarray of bool of shape (n_samples, n_clusters)
            Memberships.
        """
        check_is_fitted(self)
        return self._memberships(X)

    @by_rows
    def inverse_transform(self, Z):
        """Reconstruct each row from its memberships, as the OR of its components.

        Parameters
        ----------
        Z : array-like of shape (n_samples, n_clusters)
            Memberships; entries above one half count as True.

        Returns
        -------
        X : ndarray of bool of shape (n_samples, n_features)
            Reconstructed bits.
        """
        check_is_fitted(self)
        Z = check_memberships(Z, len(self.components_), called=self._factors)
        return boolean_product(Z, self.components_)

    def _bits_in_blocks(self, X, *, allow_nan=False):
        """Return the bits of a table in blocks, packed in a first pass."""
        name = type(self).__name__
        rows = blocks_of(self, X, dtype="numeric", accept_sparse="csr")
        read = partial(_read_bits, threshold=self.threshold, owner=name)
        look = partial(_look_at, threshold=self.threshold, owner=name, allow_nan=allow_nan)
        data, counts = BitBlocks.of(rows, read, look)
        if self.threshold is not None:
            warn_default_threshold(self, counts, self.threshold)
        return data

    @property
    def _n_features_out(self):
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _read_bits(X, *, threshold, owner):
    """Read the bits of the rows of one block."""
    with rows_named():
        bits, missing = bits_of(block_of(X), threshold=threshold, owner=owner)
    return Data(bits, None if missing is None else ~missing)


def _look_at(X, *, threshold, owner, allow_nan):
    """Raise ValueError if a block has invalid rows; count the kinds of numbers in it."""
    check_entries(X, owner=owner, allow_nan=allow_nan)
    return BitCounts((), 0, 0) if threshold is None else BitCounts.of(block_of(X), threshold)


class BooleanFactors(BooleanComponents):
    """Base class of Boolean factorisations, in which a row is the OR of components.

    A subclass has the parameter `threshold` and implements ``_find(bits, X, y)``, which sets
    `components_` and the other attributes. It overrides ``_cover(words)`` if memberships are not
    the set of components that differs in the fewest bits.
    """

    @fit_context()
    def fit(self, X, y=None):
        """Estimate components, and the memberships of the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Boolean data, or numbers that `threshold` converts to bits.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if in_blocks(X, on_disk=self._card.fits_blocks):
            bits = self._bits_in_blocks(X)
        else:
            bits, _ = validate_boolean(self, X, threshold=self.threshold, reset=True)
        self._find(bits, X, y)
        return self

    @in_memory
    def score(self, X, y=None):
        """Compute the negative fraction of bits that differ between rows and their reconstruction.

        The score tends to increase with `n_clusters`, even on new rows;
        `skmoderndata.metrics.generalization_error` is a better criterion for the number of
        clusters.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : None
            Not used, present by convention.

        Returns
        -------
        score : float
            Number between -1 and 0; higher is better.
        """
        check_is_fitted(self)
        words = self._pack(X)
        return -self._fraction_wrong(words, self._cover(words))

    def _memberships(self, X):
        return self._cover(self._pack(X))

    def _pack(self, X):
        return pack_bits(validate_boolean(self, X, threshold=self.threshold, reset=False)[0])

    def _cover(self, words):
        return best_cover(words, pack_rows(self.components_))

    def _fraction_wrong(self, words, Z):
        """Return the fraction of the bits of packed rows that differ from the reconstruction."""
        wrong = sum(count_differences(words, Z, pack_rows(self.components_)))
        return wrong / (len(words) * self.n_features_in_)

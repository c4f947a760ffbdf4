"""Memberships out of Boolean components: what Boolean factorisations share after `fit`."""

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skmoderndata._base import Base
from skmoderndata._compat import fit_context
from skmoderndata._solvers.boolean_data.boolean import (
    best_cover,
    boolean_product,
    count_differences,
    pack_bits,
    pack_rows,
)
from skmoderndata._validation import check_memberships, validate_boolean

NO_LABELS = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    "predict gives memberships, a Boolean matrix, as a row may have several components",
)


class BooleanComponents(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    """Boolean `components_` of which each row has some, and the way back to rows."""

    _factors = "components"  # what error messages call them

    def transform(self, X):
        """Memberships of each row, chosen as `assignments_` are for the training rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows. Where the estimator takes NaN, it marks unobserved bits, which have no say.

        Returns
        -------
        assignments : ndarray of bool of shape (n_samples, n_clusters)
            Memberships. Where the best set is searched, the smallest of equally good ones.
        """
        check_is_fitted(self)
        return self._memberships(X)

    def predict(self, X):
        """Memberships of each row, as `transform`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows. Where the estimator takes NaN, it marks unobserved bits, which have no say.

        Returns
        -------
        assignments : ndarray of bool of shape (n_samples, n_clusters)
            Memberships.
        """
        check_is_fitted(self)
        return self._memberships(X)

    def inverse_transform(self, Z):
        """Rows explained by memberships: the OR of the components.

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

    @property
    def _n_features_out(self):
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class BooleanFactors(BooleanComponents):
    """Rows as the OR of the components that they have.

    A subclass has the parameter `threshold` and implements ``_find(bits, X, y)``, which sets
    `components_` and the other attributes. Where rows do not get the set of components that
    differs in the fewest bits, it overrides ``_cover(words)``.
    """

    @fit_context()
    def fit(self, X, y=None):
        """Find components, and the memberships of the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Boolean data, or numbers that `threshold` turns into such.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        bits, _ = validate_boolean(self, X, threshold=self.threshold, reset=True)
        self._find(bits, X, y)
        return self

    def score(self, X, y=None):
        """Compute the negative fraction of bits that differ between rows and their reconstruction.

        It tends to rise with `n_clusters`, also on new rows:
        `skmoderndata.metrics.generalization_error` is the better criterion for the number.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : None
            Not used, present by convention.

        Returns
        -------
        score : float
            Between -1 and 0; higher is better.
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
        """Fraction of the bits of packed rows that differ from what memberships explain."""
        wrong = sum(count_differences(words, Z, pack_rows(self.components_)))
        return wrong / (len(words) * self.n_features_in_)

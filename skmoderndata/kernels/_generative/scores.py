"""Kernels that are inner products of scores, and samples that cache their scores."""

from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._samples.containers import is_sparse
from skmoderndata._samples.encoded import Encoded
from skmoderndata._samples.keys import Key, key_of_kernel
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, ROUNDING
from skmoderndata._solvers.common.typing import Array
from skmoderndata.kernels._base import BaseKernel


class Scored:
    """Samples whose scores are computed together, when a fitted kernel first needs them.

    Estimators convert their samples before they fit the parameters of the kernel. Subsets of a
    collection use the same scores.
    """

    def __init__(
        self, samples: Any, indices: Any = None, cache: dict[Key, Any] | None = None
    ) -> None:
        self.samples = samples
        self.indices = indices
        self.cache: dict[Key, Any] = {} if cache is None else cache

    def __getitem__(self, indices: Array) -> "Scored":
        subset = indices if self.indices is None else self.indices[indices]
        return Scored(self.samples, subset, self.cache)

    def under(self, kernel: "ScoreKernel") -> Any:
        """Return one row of scores for each sample; the scores of the last kernel are cached."""
        key = key_of_kernel(kernel)
        scores = self.cache.get(key)
        if scores is None:
            scores = kernel.scores(self.samples)
            self.cache.clear()
            self.cache[key] = scores
        return scores if self.indices is None else scores[self.indices]


class ScoreKernel(BaseKernel):
    """Inner product of feature vectors that a fitted model computes from single samples.

    Subclasses define `_scores(X)`, and `is_fitted`, which is True if scores can be computed.
    Encoded samples cache their scores, so that the model evaluates each sample once.
    """

    information: Any

    def _scores(self, X: Any) -> Any:
        raise NotImplementedError

    @property
    def is_fitted(self) -> bool:
        """Whether all data-dependent parameters are set."""
        raise NotImplementedError

    @property
    def encoding(self) -> str | None:
        """Name of the form that `encode` stores: scores, computed on demand."""
        return "samples with scores"

    def _check(self, X: Any) -> Scored:
        return Scored(X)

    def _encode(self, X: list[Any]) -> Scored:
        form = Scored(X)
        if self.is_fitted:  # otherwise estimators have to fit the parameters first
            form.under(self)
        return form

    def scores(self, X: Any) -> Any:
        """Compute scores of samples times the square root of the inverse information."""
        if not self.is_fitted:
            name = type(self).__name__
            raise ValueError(
                f"{name}: {self!r} has no fitted model yet; call kernel.from_data(X_train), or "
                "use KernelTransformer."
            )
        return times_root(self._scores(X), self.information)

    def _validate_information(self) -> None:
        if not isinstance(self.information, str):
            self._check_information_array()
        elif self.information not in ("identity", "diagonal", "empirical"):
            raise self._refuse(
                "information", "'identity', 'diagonal', 'empirical', or an information matrix"
            )

    def _check_information_array(self) -> None:
        info = np.asarray(self.information, dtype=np.float64)
        diagonal = info.ndim == 1
        square = info.ndim == 2 and info.shape[0] == info.shape[1]
        if not (diagonal or square) or not np.isfinite(info).all():
            raise self._refuse(
                "information", "finite, of shape (n_scores,) or (n_scores, n_scores)"
            )
        valid = not (info < 0).any() if diagonal else np.allclose(info, info.T)
        if not valid:
            raise self._refuse("information", "symmetric and positive semi-definite")

    def _estimate_information(self, X: Any) -> None:
        """Replace the name of an information matrix by its estimate from the training samples."""
        name = self.information
        if not isinstance(name, str) or name == "identity":
            return
        self._validate_information()
        G = self._scores(X.samples if isinstance(X, Encoded) else X)
        n = G.shape[0]
        if name == "diagonal":
            squares = np.asarray((G * G).sum(axis=0))
            self.information = squares.ravel() / n
        else:
            self.information = G.T @ G / n

    def _gram(self, X: Scored, Y: Scored | None) -> Array:
        A = X.under(self)
        B = A if Y is None else Y.under(self)
        K = A @ B.T
        return np.asarray(K.toarray() if is_sparse(K) else K)

    def _diag(self, X: Scored) -> Array:
        A = X.under(self)
        if is_sparse(A):
            return np.asarray(A.multiply(A).sum(axis=1)).ravel()
        return np.asarray(np.einsum("ij,ij->i", A, A))

    def features(self, X: Any) -> Any:
        """Return the vectors whose inner products are the kernel, for linear models.

        Parameters
        ----------
        X : array or list
            Samples.

        Returns
        -------
        features : ndarray or csr_array of shape (n_samples, n_features)
            Scores times the square root of the inverse information: Fisher vectors.
        """
        self._validate()
        return self._real(X).under(self)


def times_root(G: Any, information: Any) -> Any:
    """Multiply scores by the square root of the pseudo-inverse of the information matrix."""
    # "identity" is the only string that is left; other names have been replaced by arrays
    if isinstance(information, str):
        return G
    info = np.asarray(information, dtype=np.float64)
    if info.shape[0] != G.shape[1]:
        raise ValueError(
            f"information has {info.shape[0]} rows for {G.shape[1]} scores; pass one row for each."
        )
    if info.ndim == 1:
        possible = info > ROUNDING * info.max(initial=0.0)
        divisors = np.where(possible, info, 1.0)
        root = np.where(possible, divisors**-0.5, 0.0)
        return sparse.csr_array(G.multiply(root)) if is_sparse(G) else G * root

    values, vectors = np.linalg.eigh(info)
    large = values > ACCUMULATED_ROUNDING * max(values[-1], 0.0)
    V = vectors[:, large]
    return np.asarray(G @ (V * values[large] ** -0.5) @ V.T)

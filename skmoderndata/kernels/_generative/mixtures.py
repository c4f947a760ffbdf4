"""Fitted models among the parameters of kernels."""

import pickle
import zlib
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from skmoderndata._solvers.common.typing import Array
from skmoderndata.kernels._base import show


class NormalMixture(NamedTuple):
    """Arrays of a fitted Gaussian mixture; a tuple, so that cloning preserves the fit.

    Attributes
    ----------
    weights : ndarray of shape (n_components,)
        Probabilities of the components.
    means : ndarray of shape (n_components, n_features)
        Means of the components.
    covariances : ndarray of shape (n_components, n_features[, n_features])
        Covariances of the components; variances if the features are independent.
    covariance_type : {"full", "tied", "diag", "spherical"}
        Structure of the covariances, as in `GaussianMixture`.
    """

    weights: Array
    means: Array
    covariances: Array
    covariance_type: str


def read_mixture(model: Any) -> NormalMixture | None:
    """Read a fitted Gaussian mixture or Gaussian naive Bayes model; None for anything else."""
    if isinstance(model, NormalMixture):
        return model
    if hasattr(model, "theta_") and hasattr(model, "var_"):
        return NormalMixture(model.class_prior_, model.theta_, model.var_, "diag")
    if not (hasattr(model, "weights_") and hasattr(model, "precisions_cholesky_")):
        return None
    kind = model.covariance_type
    (K, p) = model.means_.shape
    covariances = np.asarray(model.covariances_)
    if kind == "tied":
        covariances = np.broadcast_to(covariances, (K, p, p)).copy()
    elif kind == "spherical":
        covariances = np.broadcast_to(covariances[:, None], (K, p)).copy()
    return NormalMixture(model.weights_, model.means_, covariances, kind)


def is_fitted(model: Any) -> bool:
    """Whether a model is fitted, or needs no fit."""
    if not hasattr(model, "fit"):
        return True
    return any(name.endswith("_") for name in vars(inner(model)))


def inner(model: Any) -> Any:
    """Return a model without the wrapper that protects it from refitting."""
    return model.estimator if isinstance(model, FrozenEstimator) else model


def model_from_data(model: Any, X: Any, owner: str) -> Any:
    """Return a fitted model in a form that cloning preserves; fit it to X if necessary."""
    model = inner(model)
    if isinstance(model, tuple | list):
        return model
    if not is_fitted(model):
        if hasattr(model, "classes_") or "NB" in type(model).__name__:
            raise ValueError(
                f"{owner}: {type(model).__name__} needs labels, which a kernel does not receive; "
                "fit it first and pass FrozenEstimator(model)."
            )
        model = clone(model).fit(X)
    mixture = read_mixture(model)
    if mixture is not None:
        return mixture
    return FrozenEstimator(model) if hasattr(model, "get_params") else model


def show_model(model: Any) -> str:
    """Print a model, with a checksum of its fitted state."""
    content: Any = read_mixture(inner(model))
    if content is not None:
        return show(content)
    if model is None or isinstance(model, tuple | list) or not is_fitted(model):
        return show(model)
    state = pickle.dumps(inner(model))
    return f"{show(model)}<checksum {zlib.crc32(state):08x}>"

"""Suggestions for unknown parameters and options, and for columns that contain text."""

import difflib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

# Parameter names in papers and other libraries, with the parameters that have the same meaning
# here, likeliest first.
PARAMETERS = {
    "alpha_H": ("sparseness_components", "alpha"),
    "alpha_W": ("sparseness_codes", "sparseness_components", "alpha"),
    "bandwidth": ("gamma", "sigma", "width"),
    "eps": ("epsilon", "tol"),
    "k": ("n_clusters", "n_components", "n_neighbors", "n_nonzero_coefs"),
    "lam": ("alpha", "C", "penalty"),
    "lambda_": ("alpha", "C", "penalty"),
    "lmbda": ("alpha", "C", "penalty"),
    "max_iterations": ("max_iter",),
    "n_atoms": ("n_components",),
    "n_epochs": ("max_iter",),
    "n_iter": ("max_iter",),
    "n_roles": ("n_components", "n_clusters"),
    "n_sources": ("n_clusters", "n_components"),
    "n_topics": ("n_components",),
    "rank": ("n_components", "max_rank"),
    "rng": ("random_state",),
    "seed": ("random_state",),
    "sigma": ("gamma", "width", "noise_std"),
    "sparsity": ("n_nonzero_coefs", "sparseness_components", "sparseness_codes"),
}
# Parameters of other libraries that no class here has, with the class to use instead.
CLASSES = {
    "beta_loss": "ProbabilisticLSA minimises the Kullback-Leibler divergence, with missing "
    "entries too; sklearn.decomposition.NMF has further divergences",
}
OPTIONS = {
    "chi-squared": "chi2",
    "exponential": "laplacian",
    "gauss": "rbf",
    "gaussian": "rbf",
    "squared_exponential": "rbf",
    "tanh": "sigmoid",
}


def meant_parameter(name: str, available: Sequence[str]) -> str | None:
    """Return the parameter that a misspelt name, or a name from elsewhere, means; or None."""
    for parameter in PARAMETERS.get(name, ()):
        if parameter in available:
            return parameter
    return _closest(name, available)


def meant_option(value: str, message: str) -> str | None:
    """Return the option that a value means, among options that an error quotes; or None."""
    options = re.findall(r"'([^']*)'", message.rpartition("Got ")[0])
    meant = OPTIONS.get(value.lower(), value.lower())
    return _closest(meant, options)


def _closest(word: str, words: Sequence[str]) -> str | None:
    """Return the most similar word, or None if none is similar."""
    return next(iter(difflib.get_close_matches(word, words, n=1, cutoff=0.7)), None)


@contextmanager
def text_is_named(X: Any) -> Iterator[None]:
    """Name the columns of X that contain text if they cannot be converted to numbers."""
    try:
        yield
    except ValueError as error:
        columns = text_columns(X) if "could not convert string" in str(error) else []
        if not columns:
            raise
        raise ValueError(f"{error}. {_remedy(X, columns)}") from error


def text_columns(X: Any) -> list:
    """Return the names or indices of the columns that contain text other than numbers."""
    names = getattr(X, "columns", None)
    table = np.asarray(X, dtype=object)
    if table.ndim != 2:
        return []
    names = range(table.shape[1]) if names is None else list(names)
    return [
        name for name, column in zip(names, table.T, strict=True) if any(map(_is_text, column))
    ]


def _is_text(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def _remedy(X: Any, columns: list) -> str:
    named = ", ".join(repr(column) for column in columns[:5])
    if remaining := columns[5:]:
        named += f" and {len(remaining)} more"
    text = f"Text is in {named} of the columns of X: drop or encode it (OneHotEncoder)."

    pairs = len(columns) == 2 and np.shape(X)[1] <= 3
    return f"{text} A list of pairs becomes a table by pandas.crosstab." if pairs else text

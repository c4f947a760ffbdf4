"""Shared parts of the classifiers by sparse codes."""

from numbers import Integral

from skmoderndata._estimator.compat import warn_user


def check_count(name, value):
    """Convert a count to int; raise ValueError unless it is an int of at least 1."""
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name}={value!r} must be an int of at least 1.")
    return int(value)


def warn_few_dimensions(estimator, *, counts, remedy):
    """Warn that there are so few columns that samples of any class represent every sample."""
    warn_user(
        f"{type(estimator).__name__}: {counts} of any class represent every sample, so "
        f"residuals hardly distinguish classes: use at least 20 columns, or {remedy}."
    )

"""What the classifiers by sparse codes share."""

import warnings
from numbers import Integral


def check_count(name, value):
    """Refuse a number of things that is no int of at least 1; return it as int."""
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name}={value!r} must be an int of at least 1.")
    return int(value)


def warn_few_dimensions(estimator, *, counts, remedy):
    """Warn that a few samples of any class represent every sample, as there are few columns."""
    warnings.warn(
        f"{type(estimator).__name__}: {counts} of any class represent every sample, so that "
        f"residuals hardly tell classes apart: give 20 columns and more, or take {remedy}.",
        stacklevel=5,
    )

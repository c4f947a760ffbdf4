"""What the classifiers by sparse codes share."""

import warnings


def warn_few_dimensions(estimator, *, found, remedy):
    """Warn that a few samples of any class represent every sample, as there are few columns."""
    warnings.warn(
        f"{type(estimator).__name__}: {found} of any class represent every sample, so that "
        f"residuals hardly tell classes apart: give 20 columns and more, or take {remedy}.",
        stacklevel=5,
    )

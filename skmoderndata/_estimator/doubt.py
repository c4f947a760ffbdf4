"""Doubt about a result: the attribute `doubt_`, and the warning that comes with it."""

from typing import Any, NamedTuple

from skmoderndata._estimator.compat import warn_user
from skmoderndata.exceptions import DoubtfulResultWarning


class Evidence(NamedTuple):
    """Limits at which evidence against a result becomes a doubt, for all classes."""

    # Minimum number of observed rows per parameter of a function; with fewer rows, the value of
    # the function on the training data is much higher than its value on new rows.
    rows_per_parameter: int = 8
    # Largest duality gap, as a fraction of the objective of a convex problem, at which the result
    # is not doubtful.
    unproven: float = 0.5
    # Relative difference below which two starts count as having reached the same objective.
    same_objective: float = 0.01
    # Cosine above which two starts count as having found the same component.
    same_component: float = 0.9


EVIDENCE = Evidence()


def record_doubt(estimator: Any, *reasons: str | None) -> None:
    """Set `doubt_` to the reasons, and issue one warning; without a reason set it to None.

    Parameters
    ----------
    estimator : estimator instance
        Estimator, which has just been fitted.
    *reasons : str or None
        Sentences that name the evidence and the remedy; None for no doubt.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace()
    >>> record_doubt(model, None)
    >>> model.doubt_ is None
    True
    """
    given = [reason for reason in reasons if reason]
    estimator.doubt_ = " ".join(given) or None
    if given:
        name = type(estimator).__name__
        warn_user(
            f"The result of {name} is doubtful: {estimator.doubt_}", DoubtfulResultWarning
        )

"""Warnings of the package, in addition to the exceptions and warnings of `sklearn.exceptions`."""

from sklearn.exceptions import ConvergenceWarning

__all__ = ["DoubtfulResultWarning"]


class DoubtfulResultWarning(ConvergenceWarning):
    """The fit ended, but there is evidence against its result.

    Issued, for example, if several starts of a non-convex method disagree, if a trivial model
    explains the data better, or if a stream has left components unused. The message names the
    evidence and the remedy.

    It is a `sklearn.exceptions.ConvergenceWarning`, so code that handles or silences convergence
    warnings covers it.


    Examples
    --------
    >>> from skmoderndata.exceptions import DoubtfulResultWarning
    >>> from sklearn.exceptions import ConvergenceWarning
    >>> issubclass(DoubtfulResultWarning, ConvergenceWarning)
    True
    """

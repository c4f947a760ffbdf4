"""Edit distances of strings and of sequences of tokens."""

from skmoderndata._samples.edits import edit_matrix, matrix_of_edits
from skmoderndata._solvers.sequences.edits import levenshtein

# Maximum number of symbols of two words, taken together, for which Python's integers are faster
# than arrays for a compiled loop.
SHORT_PAIR = 200
NUMBERS = (float, int)
WORDS = (str, bytes)


def edit_distance(x, z, *, gap_cost=1.0, substitution_cost=1.0, normalize=False):
    r"""Compute the smallest total cost of edits that turn one sequence into another.

    Edits are insertions, deletions and substitutions.

    Parameters
    ----------
    x : str, bytes, or sequence of hashable tokens
        First sequence.
    z : str, bytes, or sequence of hashable tokens
        Second sequence.
    gap_cost : float, default=1.0
        Positive cost of an insertion or deletion.
    substitution_cost : float, default=1.0
        Non-negative cost of replacing one symbol by another; from ``2 * gap_cost`` on, a deletion
        and an insertion are used instead. If it is above 0, the distance is a metric.
    normalize : bool, default=False
        Whether to return :math:`2 d / (g (|x| + |z|) + d)`, where d is the distance and g is
        `gap_cost`. This is a metric with values up to 1 [3]_.

    Returns
    -------
    distance : float
        The distance; with unit costs, the Levenshtein distance.

    See Also
    --------
    pairwise_edit_distance : All pairs of two collections.
    skmoderndata.preprocessing.DistanceTransformer : Distances as a step of a pipeline.

    References
    ----------
    .. [1] Wagner and Fischer, The string-to-string correction problem, Journal of the ACM 21(1),
       1974, pp. 168-173.
    .. [2] Hyyro, A bit-vector algorithm for computing Levenshtein and Damerau edit distances,
       Nordic Journal of Computing 10(1), 2003, pp. 29-39.
    .. [3] Yujian and Bo, A normalized Levenshtein distance metric, IEEE Transactions on Pattern
       Analysis and Machine Intelligence 29(6), 2007, pp. 1091-1095.

    Examples
    --------
    >>> from skmoderndata.metrics import edit_distance
    >>> edit_distance("kitten", "sitting")
    3.0
    >>> edit_distance(["to", "be"], ["not", "to", "be"])
    1.0
    """
    # for two words and unit costs, checks and arrays would take ten times as long as the
    # computation
    unit = type(gap_cost) in NUMBERS and type(substitution_cost) in NUMBERS
    unit = unit and gap_cost == substitution_cost == 1
    if unit and normalize is False and type(x) is type(z) and type(x) in WORDS:
        if len(x) + len(z) <= SHORT_PAIR:
            return float(levenshtein(x, z))
        return float(matrix_of_edits([x], [z])[0, 0])

    costs = {"gap_cost": gap_cost, "substitution_cost": substitution_cost}
    D = edit_matrix([x], [z], **costs, normalize=normalize)
    return float(D[0, 0])


def pairwise_edit_distance(
    X, Z=None, *, gap_cost=1.0, substitution_cost=1.0, normalize=False, n_jobs=None
):
    """Compute the edit distances of all pairs of sequences.

    Parameters
    ----------
    X : collection of str, of bytes, or of sequences of hashable tokens
        Samples.
    Z : collection of the same kind, default=None
        Other samples; None uses `X`.
    gap_cost : float, default=1.0
        Positive cost of an insertion or deletion.
    substitution_cost : float, default=1.0
        Non-negative cost of replacing one symbol by another.
    normalize : bool, default=False
        Whether to normalise distances by the lengths, as in `edit_distance`.
    n_jobs : int, default=None
        Number of threads; the distances do not depend on it.

    Returns
    -------
    D : ndarray of shape (n_X, n_Z)
        Distances.

    See Also
    --------
    edit_distance : One pair, with the formulas and references.

    Examples
    --------
    >>> from skmoderndata.metrics import pairwise_edit_distance
    >>> pairwise_edit_distance(["cat", "cart", "dog"])
    array([[0., 1., 3.],
           [1., 0., 4.],
           [3., 4., 0.]])
    """
    costs = {"gap_cost": gap_cost, "substitution_cost": substitution_cost}
    name = "pairwise_edit_distance"
    return edit_matrix(X, Z, **costs, normalize=normalize, n_jobs=n_jobs, name=name)

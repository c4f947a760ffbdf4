"""Alignments with gaps of strings, of sequences of tokens, and of series."""

from skmoderndata._estimator.compat import N_JOBS, validate_params
from skmoderndata._samples.gapped import aligned_pair, alignment_matrix, scoring


def alignment(
    x,
    z,
    *,
    mode="global",
    match=1.0,
    mismatch=-1.0,
    substitution_scores=None,
    metric=None,
    gap_cost=1.0,
    extension_cost=None,
):
    r"""Find the best alignment with gaps of two sequences of symbols, or of two series.

    Symbols are aligned in their order, each with at most one symbol of the other sequence; symbols
    without a partner form gaps. The score is the sum of the scores of aligned symbols minus the
    costs of the gaps; a gap of k symbols costs ``gap_cost + (k - 1) * extension_cost``. The
    recursion of Gotoh [3]_ for the largest score H of the first i and j symbols,

    .. math::
        V(i, j) &= \max\{H(i-1, j) - g,\ V(i-1, j) - e\}, \quad
        W(i, j) = \max\{H(i, j-1) - g,\ W(i, j-1) - e\}, \\
        H(i, j) &= \max\{H(i-1, j-1) + s(x_i, z_j),\ V(i, j),\ W(i, j)\},

    gives :math:`H(n, m)` for whole sequences, ``mode="global"`` [1]_. With ``mode="local"`` the
    stretches of both sequences with the largest score are aligned [2]_: H is at least 0
    everywhere, and its largest value is the score.

    Parameters
    ----------
    x, z : str, bytes, or sequence of hashable tokens
        Sequences of any lengths; with `metric` series, of shape (length,) or (length, n_channels).
    mode : {"global", "local"}, default="global"
        Whether to align whole sequences, or the stretches that are most similar.
    match : float, default=1.0
        Score of two equal symbols. With `metric`, the score of two points at distance d is
        ``match - d``.
    mismatch : float, default=-1.0
        Score of two different symbols.
    substitution_scores : dict, default=None
        Scores of pairs of symbols, such as ``{("A", "G"): -1.0}``, each pair in one order or in
        both; in place of `match` and `mismatch`.
    metric : str or callable, default=None
        Distance of the points of two series: a name of `scipy.spatial.distance.cdist`, such as
        "euclidean", or a function of arrays of shapes (n, n_channels) and (m, n_channels) that
        returns the matrix of distances. None compares symbols.
    gap_cost : float, default=1.0
        Non-negative cost g of the first symbol of a gap.
    extension_cost : float, default=None
        Cost e of each further symbol of a gap, from 0 to `gap_cost`; None uses `gap_cost`.

    Returns
    -------
    path : ndarray of int of shape (n_steps, 2)
        Aligned positions, in their order, with -1 where one sequence has a gap. A local alignment
        has only the positions of the two stretches; none if no two symbols score above 0.
    score : float
        Score of the alignment.

    See Also
    --------
    pairwise_alignment : Scores of all pairs of two collections.
    edit_distance : Returns minus the score, if ``match=0`` and costs are 1.
    dtw_path : Repeats points in place of gaps.
    erp_distance : Uses gaps of series that cost as much as the omitted points.

    Notes
    -----
    Among alignments of equal scores, looking back from the end, a pair is preferred to a gap in
    `z`, and a gap in `z` to a gap in `x`; among local alignments the first to end in `x` is
    returned. The path needs a byte of memory for each pair of positions.

    With ``match=0``, a metric as local distance (for symbols a constant `mismatch`) and equal
    costs of all symbols of a gap, minus the global score is a metric of sequences.

    Other libraries use scores of gaps, which are minus these costs; BLAST charges the sum of both
    costs for the first symbol.

    References
    ----------
    .. [1] Needleman and Wunsch, A general method applicable to the search for similarities in the
       amino acid sequence of two proteins, Journal of Molecular Biology 48(3), 1970.
    .. [2] Smith and Waterman, Identification of common molecular subsequences, Journal of
       Molecular Biology 147(1), 1981.
    .. [3] Gotoh, An improved algorithm for matching biological sequences, Journal of Molecular
       Biology 162(3), 1982.

    Examples
    --------
    >>> from skmoderndata.metrics import alignment
    >>> x, z = "GCATGCG", "GATTACA"
    >>> path, score = alignment(x, z)
    >>> score
    0.0
    >>> for sequence, positions in zip((x, z), path.T):
    ...     print("".join("-" if i < 0 else sequence[i] for i in positions))
    GCA-TGCG
    G-ATTACA

    The common stretch of two series, whose points match if they differ by less than 0.2:

    >>> x, z = [0, 5, 1, 2, 3, 9], [7, 7, 1.1, 2, 3.1]
    >>> path, score = alignment(x, z, mode="local", metric="euclidean", match=0.2)
    >>> path.tolist(), round(score, 2)
    ([[2, 2], [3, 3], [4, 4]], 0.4)
    """
    scores = scoring(
        mode=mode,
        match=match,
        mismatch=mismatch,
        substitution_scores=substitution_scores,
        metric=metric,
        gap_cost=gap_cost,
        extension_cost=extension_cost,
    )
    return aligned_pair(x, z, scores)


@validate_params(
    {"normalize": ["boolean"], "n_jobs": N_JOBS}, prefer_skip_nested_validation=False
)
def pairwise_alignment(
    X,
    Z=None,
    *,
    mode="global",
    match=1.0,
    mismatch=-1.0,
    substitution_scores=None,
    metric=None,
    gap_cost=1.0,
    extension_cost=None,
    normalize=False,
    n_jobs=None,
):
    r"""Compute the scores of the best alignments of all pairs of sequences, or of series.

    Parameters
    ----------
    X : collection of str, of bytes, of sequences of hashable tokens, or of series
        Samples.
    Z : collection of the same kind, default=None
        Other samples; None uses `X`.
    mode : {"global", "local"}, default="global"
        Whether to align whole sequences, or the stretches that are most similar.
    match : float, default=1.0
        Score of two equal symbols. With `metric`, the score of two points at distance d is
        ``match - d``.
    mismatch : float, default=-1.0
        Score of two different symbols.
    substitution_scores : dict, default=None
        Scores of pairs of symbols, in place of `match` and `mismatch`.
    metric : str or callable, default=None
        Distance of the points of series, as in :func:`alignment`; None compares symbols.
    gap_cost : float, default=1.0
        Non-negative cost of the first symbol of a gap.
    extension_cost : float, default=None
        Cost of each further symbol of a gap, from 0 to `gap_cost`; None uses `gap_cost`.
    normalize : bool, default=False
        Whether to return :math:`s(x, z) / \sqrt{s(x, x)\, s(z, z)}`, and 0 if a sample has
        score 0 with itself.
    n_jobs : int, default=None
        Number of threads; the scores do not depend on it.

    Returns
    -------
    scores : ndarray of shape (n_X, n_Z)
        Scores.

    See Also
    --------
    alignment : One pair with its path; formulas and references.
    skmoderndata.preprocessing.SpectrumCorrector : Makes a kernel of these similarities.
    skmoderndata.preprocessing.DistanceTransformer : Distances as a step of a pipeline.
    skmoderndata.kernels.PairHMM : A kernel that sums over all alignments of sequences.
    skmoderndata.kernels.GlobalAlignment : A kernel that sums over all alignments of series.

    Notes
    -----
    Scores are similarities, and in general not positive semi-definite: correct them before you use
    a kernel method, as in the example. The time for each pair is proportional to the product of
    the lengths; the memory is the result and two rows.

    Examples
    --------
    >>> from skmoderndata.metrics import pairwise_alignment
    >>> pairwise_alignment(["cat", "cart", "dog"], gap_cost=0.5)
    array([[ 3. ,  2.5, -3. ],
           [ 2.5,  4. , -3.5],
           [-3. , -3.5,  3. ]])

    Local scores as a kernel of a support vector machine:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from skmoderndata.preprocessing import KernelTransformer, SpectrumCorrector
    >>> settings = {"mode": "local", "normalize": True}
    >>> model = make_pipeline(
    ...     KernelTransformer(pairwise_alignment, kernel_params=settings),
    ...     SpectrumCorrector(),
    ...     SVC(kernel="precomputed"),
    ... )
    >>> words = ["unhappiness", "happily", "happier", "colourless", "recolour", "colouring"]
    >>> model.fit(words, [0, 0, 0, 1, 1, 1]).predict(["unhappy", "discoloured"])
    array([0, 1])
    """
    scores = scoring(
        mode=mode,
        match=match,
        mismatch=mismatch,
        substitution_scores=substitution_scores,
        metric=metric,
        gap_cost=gap_cost,
        extension_cost=extension_cost,
        name="pairwise_alignment",
    )
    return alignment_matrix(X, Z, scores, normalize=normalize, n_jobs=n_jobs)

"""What can be said of a dictionary before anything is coded with it."""

from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from skmoderndata._solvers.dictionaries.fixed import unit_rows
from skmoderndata._solvers.recovery import coherence as guarantees
from skmoderndata._validation import check_atoms


def mutual_coherence(dictionary):
    r"""Largest cosine between two atoms, :math:`\mu = \max_{i \ne j} |\langle d_i, d_j \rangle|`.

    Parameters
    ----------
    dictionary : {array-like, sparse matrix} of shape (n_atoms, n_features)
        Atoms of any norm, real or complex; zero atoms are ignored.

    Returns
    -------
    coherence : float
        Between 0 (orthogonal) and 1 (two atoms the same); 0 for one atom.

    See Also
    --------
    welch_bound : The least value that there can be.
    babel_function : The same for sums of several inner products.
    exact_recovery_bound : What follows for sparse recovery.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import mutual_coherence
    >>> float(round(mutual_coherence([[1, 0], [0, 1], [1, 1]]), 4))
    0.7071
    """
    return _coherence(_unit_atoms(dictionary))


def welch_bound(n_features, n_atoms):
    r"""Least mutual coherence that a dictionary of this size can have.

    .. math:: \mu \ge \sqrt{\frac{k - n}{n (k - 1)}}

    for k atoms of n values [1]_, reached where any two atoms have the same angle and their outer
    products add up to a multiple of the identity. That takes at most ``n (n + 1) / 2`` real atoms,
    or ``n ** 2`` complex ones.

    Parameters
    ----------
    n_features : int
        Number of values of an atom.
    n_atoms : int
        Number of atoms.

    Returns
    -------
    bound : float
        0 for no more atoms than values.

    References
    ----------
    .. [1] Welch, Lower bounds on the maximum cross correlation of signals, IEEE Transactions on
       Information Theory 20(3), 1974.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import mutual_coherence, welch_bound
    >>> angles = np.pi * np.arange(3) / 3
    >>> three = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> float(round(mutual_coherence(three), 9)), welch_bound(2, 3)
    (0.5, 0.5)
    """
    for name, value in (("n_features", n_features), ("n_atoms", n_atoms)):
        if not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name}={value!r} must be an int of at least 1.")
    n, k = int(n_features), int(n_atoms)
    return float(np.sqrt((k - n) / (n * (k - 1)))) if k > n else 0.0


def babel_function(dictionary, n_terms=None):
    r"""Largest sum of s inner products with one atom, for every s.

    .. math::
        \mu_1(s) = \max_i \max_{|J| \le s,\ i \notin J}
        \sum_{j \in J} |\langle d_i, d_j\rangle|

    Parameters
    ----------
    dictionary : {array-like, sparse matrix} of shape (n_atoms, n_features)
        Atoms of any norm, real or complex; zero atoms are ignored.
    n_terms : int, default=None
        Largest s. None means one less than the number of atoms that are not zero, beyond
        which the function is constant.

    Returns
    -------
    babel : ndarray of shape (n_terms,)
        The values for s = 1, 2, ..., which do not fall; the first is the mutual coherence.

    Examples
    --------
    >>> from skmoderndata.sparse_coding import babel_function
    >>> babel_function([[1, 0], [0, 1], [1, 1]]).round(4)
    array([0.7071, 1.4142])
    """
    if n_terms is not None and (not isinstance(n_terms, Integral) or n_terms < 1):
        raise ValueError(f"n_terms={n_terms!r} must be an int of at least 1, or None for all.")
    atoms = _unit_atoms(dictionary)
    return guarantees.babel(atoms, atoms.shape[0] - 1 if n_terms is None else int(n_terms))


def exact_recovery_bound(dictionary):
    r"""Largest sparsity for which greedy and convex pursuit are proved to be right.

    The largest s with :math:`\mu_1(s - 1) + \mu_1(s) < 1` [1]_: every signal that is a combination
    of s atoms has no other combination of as few, and both orthogonal matching pursuit and basis
    pursuit find it. The condition is sufficient only; for redundant dictionaries that are useful
    in practice it often allows a single atom, and pursuit works well beyond.

    Parameters
    ----------
    dictionary : {array-like, sparse matrix} of shape (n_atoms, n_features)
        Atoms of any norm, real or complex; zero atoms are ignored.

    Returns
    -------
    n_nonzero_coefs : int
        At least 1 where no two atoms are the same, else 0; at most the number of features, or of
        atoms where there are fewer of them.

    See Also
    --------
    exact_recovery_coefficient : The same for atoms that are named.
    two_bases_recovery_bound : A better bound for two orthonormal bases and basis pursuit.
    smallest_recoverable_coefficient : What noise demands in addition.

    References
    ----------
    .. [1] Tropp, Greed is good: algorithmic results for sparse approximation, IEEE Transactions on
       Information Theory 50(10), 2004, theorem 3.5.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import (
    ...     dct_dictionary, exact_recovery_bound, union_dictionary
    ... )
    >>> exact_recovery_bound(union_dictionary(np.eye(64), dct_dictionary(64)))
    3
    """
    return guarantees.recovery_bound(_unit_atoms(dictionary))


def exact_recovery_coefficient(dictionary, support):
    r"""Whether combinations of these atoms are recovered, whatever their coefficients.

    .. math:: 1 - \max_{j \notin I} \|D_I^+ d_j\|_1

    where the columns of :math:`D_I` are the atoms of the support. If it is positive, orthogonal
    matching pursuit takes up no other atom, and basis pursuit finds the combination as well
    [1]_. If it is negative, there are coefficients for which the first step of the greedy pursuit
    is wrong. It is exact for its support where `exact_recovery_bound` has to think of the worst.

    Parameters
    ----------
    dictionary : array-like of shape (n_atoms, n_features)
        Atoms of any norm, real or complex; they are taken at unit norm.
    support : array-like of int of shape (n_nonzero_coefs,)
        Different atoms, none of them zero.

    Returns
    -------
    coefficient : float
        At most 1; ``-inf`` where the atoms depend on each other, so that there are other
        combinations of them.

    See Also
    --------
    exact_recovery_bound : For all supports of a size at once.

    References
    ----------
    .. [1] Tropp, Greed is good: algorithmic results for sparse approximation, IEEE Transactions on
       Information Theory 50(10), 2004, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import exact_recovery_coefficient
    >>> D = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]
    >>> round(exact_recovery_coefficient(D, [0, 2]), 4)
    0.2929
    >>> round(exact_recovery_coefficient(D, [0, 1]), 4)
    -0.4142
    """
    atoms = check_atoms(dictionary)
    atoms = atoms.toarray() if sparse.issparse(atoms) else atoms
    places = np.atleast_1d(np.asarray(support))
    if places.ndim != 1 or (places.size and not np.issubdtype(places.dtype, np.integer)):
        raise ValueError(f"support={support!r} must be a list of the numbers of atoms.")
    k = len(atoms)
    if places.size and not -k <= places.min() <= places.max() < k:
        raise ValueError(f"support={support!r} must have numbers below that of atoms, {k}.")
    inside = np.zeros(k, bool)
    inside[places.astype(int)] = True
    if inside.sum() < places.size:
        raise ValueError(f"support={support!r} must name every atom once.")
    used = atoms.any(axis=1)
    if not used[inside].all():
        raise ValueError(
            f"support has zero atoms, {np.flatnonzero(inside & ~used).tolist()}: leave them out."
        )
    return guarantees.recovery_coefficient(unit_rows(atoms), np.flatnonzero(inside[used]))


def two_bases_recovery_bound(first, second):
    r"""Largest sparsity for which basis pursuit is right in the union of two bases.

    The largest s below :math:`(\sqrt 2 - 1/2) / \mu`, with the mutual coherence of the union
    [1]_: for two orthonormal bases almost twice what `exact_recovery_bound` can promise, and for
    basis pursuit alone.

    Parameters
    ----------
    first, second : array-like of shape (n_features, n_features)
        Orthonormal bases, real or complex, a vector in each row.

    Returns
    -------
    n_nonzero_coefs : int
        Number of atoms, of both bases together.

    References
    ----------
    .. [1] Elad and Bruckstein, A generalized uncertainty principle and sparse representation in
       pairs of bases, IEEE Transactions on Information Theory 48(9), 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import dct_dictionary, two_bases_recovery_bound
    >>> two_bases_recovery_bound(np.eye(64), dct_dictionary(64))
    5
    """
    bases = []
    for name, basis in (("first", first), ("second", second)):
        rows = check_atoms(basis)
        rows = rows.toarray() if sparse.issparse(rows) else rows
        n = len(rows)
        if rows.shape[1] != n or not np.allclose(rows @ rows.conj().T, np.eye(n), atol=1e-8):
            raise ValueError(
                f"{name} must be an orthonormal basis, a square matrix with rows of unit norm at "
                "right angles; for other dictionaries there is exact_recovery_bound."
            )
        bases.append(rows)
    if len(bases[0]) != len(bases[1]):
        sizes = [len(basis) for basis in bases]
        raise ValueError(f"first and second must have equal numbers of features, got {sizes}.")
    coherence = float(np.abs(bases[0] @ bases[1].conj().T).max())
    return _largest_below((np.sqrt(2) - 0.5) / coherence)


def smallest_recoverable_coefficient(dictionary, n_nonzero_coefs, residual_tol):
    r"""Size from which coefficients are not lost in noise, by a proof.

    .. math:: \frac{2 \varepsilon}{1 - (2 s - 1) \mu}

    If all s coefficients are at least of this size, and the norm of the noise is at most
    :math:`\varepsilon`, orthogonal matching pursuit down to a residual of that norm finds their
    atoms and no other [1]_.

    Parameters
    ----------
    dictionary : {array-like, sparse matrix} of shape (n_atoms, n_features)
        Atoms, real or complex; the coefficients are those of atoms of unit norm.
    n_nonzero_coefs : int
        The sparsity s.
    residual_tol : float
        Largest Euclidean norm of the residual: a bound on that of the noise.

    Returns
    -------
    size : float
        ``inf`` where the atoms are too alike for s of them, :math:`(2 s - 1) \mu \ge 1`.

    References
    ----------
    .. [1] Cai and Wang, Orthogonal matching pursuit for sparse signal recovery with noise, IEEE
       Transactions on Information Theory 57(7), 2011, theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import smallest_recoverable_coefficient
    >>> smallest_recoverable_coefficient(np.eye(4), 3, residual_tol=0.5)
    1.0
    """
    if not isinstance(n_nonzero_coefs, Integral) or n_nonzero_coefs < 1:
        raise ValueError(f"n_nonzero_coefs={n_nonzero_coefs!r} must be an int of at least 1.")
    if not 0 <= residual_tol < np.inf:
        raise ValueError(f"residual_tol={residual_tol} must be at least 0 and finite.")
    left = 1.0 - (2 * int(n_nonzero_coefs) - 1) * _coherence(_unit_atoms(dictionary))
    return 2.0 * float(residual_tol) / left if left > guarantees.MARGIN else np.inf


def restricted_isometry_constant(
    dictionary, n_nonzero_coefs, *, rescale=False, max_supports=1_000_000, random_state=None
):
    r"""How far combinations of a few atoms are from preserving norms.

    .. math::
        \delta_s = \min \{ \delta : (1 - \delta) \|a\|^2 \le \|a D\|^2 \le (1 + \delta) \|a\|^2
        \text{ for all } a \text{ with at most } s \text{ non-zeros} \}

    Parameters
    ----------
    dictionary : {array-like, sparse matrix} of shape (n_atoms, n_features)
        Atoms as they are, real or complex: the constant depends on their norms.
    n_nonzero_coefs : int
        The sparsity s.
    rescale : bool, default=False
        Multiply the dictionary by the number for which the constant is least, which changes
        nothing for sparse recovery.
    max_supports : int, default=1_000_000
        With at most so many supports of s atoms all are tried, and the answer is exact.
    random_state : int, RandomState instance or None, default=None
        Draws supports for the lower bound.

    Returns
    -------
    bounds : IsometryBounds
        Named tuple `(lower, upper, exact)`. Where it is not exact, the lower bound is reached by a
        support that was found, and the upper bound holds for all supports, by Gershgorin's circles
        and the largest eigenvalue. To tell more is hard in the strict sense.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import restricted_isometry_constant
    >>> bounds = restricted_isometry_constant([[1, 0], [0, 1], [0.6, 0.8]], 2)
    >>> bounds.exact, round(bounds.upper, 6)
    (True, 0.8)
    """
    atoms = check_atoms(dictionary)
    atoms = atoms.toarray() if sparse.issparse(atoms) else atoms
    if not isinstance(n_nonzero_coefs, Integral) or not 1 <= n_nonzero_coefs <= len(atoms):
        raise ValueError(
            f"n_nonzero_coefs={n_nonzero_coefs!r} must be an int between 1 and the number of "
            f"atoms, {len(atoms)}."
        )
    rng = check_random_state(random_state)
    return guarantees.isometry_bounds(
        atoms, int(n_nonzero_coefs), max_supports=max_supports, rescale=rescale, rng=rng
    )


def _unit_atoms(dictionary):
    """Atoms of unit norm without those that are zero; a sparse dictionary stays sparse."""
    atoms = check_atoms(dictionary)
    if not sparse.issparse(atoms):
        return unit_rows(atoms)
    atoms = sparse.csr_array(atoms)
    norms = np.sqrt(atoms.multiply(atoms).sum(axis=1))
    atoms, norms = atoms[norms > 0], norms[norms > 0]
    atoms.data = atoms.data / np.repeat(norms, np.diff(atoms.indptr))
    return atoms


def _coherence(atoms):
    return float(min(1.0, guarantees.babel(atoms, 1)[0]))


def _largest_below(limit):
    """Largest int that is less than `limit`, with room for rounding."""
    return max(0, int(np.ceil(limit * (1 - guarantees.MARGIN))) - 1)

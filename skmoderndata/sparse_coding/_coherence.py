"""Properties of dictionaries: coherence, recovery bounds, restricted isometry."""

from numbers import Integral

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from skmoderndata._estimator.validation import check_atoms, dense
from skmoderndata._solvers.dictionaries.fixed import unit_rows
from skmoderndata._solvers.recovery import coherence as guarantees
from skmoderndata.sparse_coding._base import check_count


def mutual_coherence(dictionary, other=None):
    r"""Compute the mutual coherence :math:`\mu = \max_{i \ne j} |\langle d_i, d_j \rangle|`.

    It is the largest cosine of two atoms. With `other`, it is the largest cosine between an atom
    of `dictionary` and an atom of `other`, :math:`\max_{i, j} |\langle d_i, e_j \rangle|`. For two
    orthonormal bases of n values, it lies in :math:`[1 / \sqrt{n}, 1]`; multiplied by
    :math:`\sqrt{n}`, it is the coherence of measurements and basis in compressed sensing [1]_.

    Parameters
    ----------
    dictionary : {array-like, sparse matrix} of shape (n_atoms, n_features)
        Atoms of any norm, real or complex; zero atoms are ignored.
    other : {array-like, sparse matrix} of shape (n_others, n_features), default=None
        Atoms to compare with; None compares the atoms of `dictionary` with each other.

    Returns
    -------
    coherence : float
        Coherence between 0 (orthogonal) and 1 (two equal atoms); 0 for a single atom.

    Raises
    ------
    ValueError
        If the atoms of `other` have a different number of values.

    See Also
    --------
    welch_bound : Bounds the coherence of any dictionary of the same size.
    babel_function : Generalisation to sums of several inner products.
    exact_recovery_bound : Consequence for sparse recovery.

    References
    ----------
    .. [1] Candes and Romberg, Sparsity and incoherence in compressive sampling, Inverse Problems
       23(3), 2007, pp. 969-985.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import fourier_dictionary, mutual_coherence
    >>> float(round(mutual_coherence([[1, 0], [0, 1], [1, 1]]), 4))
    0.7071
    >>> waves = fourier_dictionary(16, complex_valued=True)
    >>> float(round(mutual_coherence(waves, np.eye(16)), 4))    # the minimum, 1 / sqrt(16)
    0.25
    """
    atoms = _unit_atoms(dictionary)
    if other is None:
        return _coherence(atoms)

    others = _unit_atoms(other)
    if others.shape[1] != atoms.shape[1]:
        raise ValueError(
            f"The atoms of dictionary have {atoms.shape[1]} values but the atoms of other have "
            f"{others.shape[1]}: compare atoms of equal length."
        )
    cosines = abs(atoms @ others.conj().T)
    return float(min(1.0, cosines.max())) if 0 not in cosines.shape else 0.0


def welch_bound(n_features, n_atoms):
    r"""Compute a lower bound on the mutual coherence of a dictionary of a certain size.

    .. math:: \mu \ge \sqrt{\frac{k - n}{n (k - 1)}}

    for k atoms of n values [1]_. The bound is attained if all pairs of atoms have the same angle
    and their outer products sum to a multiple of the identity, which is possible for at most
    ``n (n + 1) / 2`` real or ``n ** 2`` complex atoms.

    Parameters
    ----------
    n_features : int
        Number of values of an atom.
    n_atoms : int
        Number of atoms.

    Returns
    -------
    bound : float
        Lower bound; 0 if there are at most as many atoms as values.

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
    n = check_count("n_features", n_features)
    k = check_count("n_atoms", n_atoms)
    if k <= n:
        return 0.0
    squared_cosine = (k - n) / (n * (k - 1))
    return float(np.sqrt(squared_cosine))


def babel_function(dictionary, n_terms=None):
    r"""Compute the largest sum of s inner products with one atom, for every s.

    .. math::
        \mu_1(s) = \max_i \max_{|J| \le s,\ i \notin J}
        \sum_{j \in J} |\langle d_i, d_j\rangle|

    Parameters
    ----------
    dictionary : {array-like, sparse matrix} of shape (n_atoms, n_features)
        Atoms of any norm, real or complex; zero atoms are ignored.
    n_terms : int, default=None
        Maximum s. None means the number of non-zero atoms minus one, beyond which the function is
        constant.

    Returns
    -------
    babel : ndarray of shape (n_terms,)
        Non-decreasing values for s = 1, 2, ...; the first value is the mutual coherence.

    Examples
    --------
    >>> from skmoderndata.sparse_coding import babel_function
    >>> babel_function([[1, 0], [0, 1], [1, 1]]).round(4)
    array([0.7071, 1.4142])
    """
    if n_terms is not None and (not isinstance(n_terms, Integral) or n_terms < 1):
        raise ValueError(f"n_terms={n_terms!r} must be an int of at least 1, or None for all.")
    atoms = _unit_atoms(dictionary)
    if n_terms is None:
        n_terms = atoms.shape[0] - 1
    return guarantees.babel(atoms, int(n_terms))


def exact_recovery_bound(dictionary):
    r"""Compute the largest sparsity with a recovery guarantee for greedy and convex pursuit.

    This is the largest s with :math:`\mu_1(s - 1) + \mu_1(s) < 1` [1]_: every signal that is a
    combination of s atoms has no other representation by at most s atoms, and both orthogonal
    matching pursuit and basis pursuit recover it. The condition is sufficient, not necessary: for
    the redundant dictionaries used in practice, it often guarantees only a single atom, whereas
    pursuit succeeds for many more.

    Parameters
    ----------
    dictionary : {array-like, sparse matrix} of shape (n_atoms, n_features)
        Atoms of any norm, real or complex; zero atoms are ignored.

    Returns
    -------
    n_nonzero_coefs : int
        Number of atoms with a guarantee: at least 1 if no two atoms are equal, otherwise 0; at
        most the number of features and the number of atoms.

    See Also
    --------
    exact_recovery_coefficient : Guarantee for a particular support.
    two_bases_recovery_bound : Better bound for two orthonormal bases and basis pursuit.
    smallest_recoverable_coefficient : Additional condition for noisy signals.

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
    r"""Compute the exact recovery coefficient of a support; positive values guarantee recovery.

    .. math:: 1 - \max_{j \notin I} \|D_I^+ d_j\|_1

    where the columns of :math:`D_I` are the atoms of the support. If it is positive, orthogonal
    matching pursuit selects no other atom, and basis pursuit recovers the combination, too [1]_,
    whatever the coefficients. If it is negative, there are coefficients for which the first step
    of the greedy pursuit is wrong. The coefficient is exact for this support, whereas
    `exact_recovery_bound` covers the worst case.

    Parameters
    ----------
    dictionary : array-like of shape (n_atoms, n_features)
        Atoms of any norm, real or complex; they are scaled to unit norm.
    support : array-like of int of shape (n_nonzero_coefs,)
        Indices of distinct non-zero atoms.

    Returns
    -------
    coefficient : float
        Exact recovery coefficient, no larger than 1; ``-inf`` if the atoms are linearly dependent.

    See Also
    --------
    exact_recovery_bound : Guarantee for all supports of a certain size.

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
    atoms = dense(check_atoms(dictionary))

    # Check the indices of the atoms; negative indices count from the end.
    indices = np.atleast_1d(np.asarray(support))
    integral = indices.size == 0 or np.issubdtype(indices.dtype, np.integer)
    if indices.ndim != 1 or not integral:
        raise ValueError(f"support={support!r} must be a list of the numbers of atoms.")

    k = len(atoms)
    if indices.size and not -k <= indices.min() <= indices.max() < k:
        raise ValueError(f"support={support!r} must contain numbers of atoms, below {k}.")
    inside = np.zeros(k, bool)
    inside[indices.astype(int)] = True
    if inside.sum() < indices.size:
        raise ValueError(f"support={support!r} must name each atom only once.")

    # Drop zero atoms, which no pursuit selects.
    used = atoms.any(axis=1)
    if not used[inside].all():
        zero_atoms = np.flatnonzero(inside & ~used).tolist()
        raise ValueError(f"support contains zero atoms, {zero_atoms}: remove them.")
    support = np.flatnonzero(inside[used])
    return guarantees.recovery_coefficient(unit_rows(atoms), support)


def two_bases_recovery_bound(first, second):
    r"""Compute the largest sparsity that basis pursuit in the union of two bases recovers.

    This is the largest s below :math:`(\sqrt 2 - 1/2) / \mu`, with the mutual coherence of the
    union [1]_. For two orthonormal bases it is almost twice the value of `exact_recovery_bound`,
    but holds only for basis pursuit.

    Parameters
    ----------
    first, second : array-like of shape (n_features, n_features)
        Orthonormal bases, real or complex, with vectors in rows.

    Returns
    -------
    n_nonzero_coefs : int
        Number of atoms from both bases together.

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
        rows = dense(check_atoms(basis))
        n = len(rows)
        square = rows.shape[1] == n
        if not square or not np.allclose(rows @ rows.conj().T, np.eye(n)):
            raise ValueError(
                f"{name} must be an orthonormal basis, a square matrix with rows of unit norm at "
                "right angles; use exact_recovery_bound for other dictionaries."
            )
        bases.append(rows)

    sizes = [len(basis) for basis in bases]
    if sizes[0] != sizes[1]:
        raise ValueError(f"first and second must have equal numbers of features, got {sizes}.")

    cosines = np.abs(bases[0] @ bases[1].conj().T)
    coherence = float(cosines.max())
    return _largest_below((np.sqrt(2) - 0.5) / coherence)


def smallest_recoverable_coefficient(dictionary, n_nonzero_coefs, residual_tol):
    r"""Compute the smallest coefficient with a recovery guarantee under noise.

    .. math:: \frac{2 \varepsilon}{1 - (2 s - 1) \mu}

    If all s coefficients are at least this large in magnitude and the norm of the noise is at most
    :math:`\varepsilon`, orthogonal matching pursuit, stopped at a residual of this norm, selects
    exactly their atoms [1]_.

    Parameters
    ----------
    dictionary : {array-like, sparse matrix} of shape (n_atoms, n_features)
        Atoms, real or complex; the coefficients refer to atoms scaled to unit norm.
    n_nonzero_coefs : int
        Sparsity s.
    residual_tol : float
        Maximum Euclidean norm of the residual, an upper bound on the norm of the noise.

    Returns
    -------
    size : float
        Smallest magnitude; ``inf`` if the coherence is too large, :math:`(2 s - 1) \mu \ge 1`.

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
    n_nonzero = check_count("n_nonzero_coefs", n_nonzero_coefs)
    if not 0 <= residual_tol < np.inf:
        raise ValueError(f"residual_tol={residual_tol} must be at least 0 and finite.")
    coherence = _coherence(_unit_atoms(dictionary))
    slack = 1.0 - (2 * n_nonzero - 1) * coherence
    if slack <= guarantees.MARGIN:
        return np.inf
    return 2.0 * float(residual_tol) / slack


def restricted_isometry_constant(
    dictionary, n_nonzero_coefs, *, rescale=False, max_supports=1_000_000, random_state=None
):
    r"""Compute bounds on the restricted isometry constant of a dictionary.

    .. math::
        \delta_s = \min \{ \delta : (1 - \delta) \|a\|^2 \le \|a D\|^2 \le (1 + \delta) \|a\|^2
        \text{ for all } a \text{ with at most } s \text{ non-zeros} \}

    Parameters
    ----------
    dictionary : {array-like, sparse matrix} of shape (n_atoms, n_features)
        Atoms, real or complex; the constant depends on their norms.
    n_nonzero_coefs : int
        Sparsity s.
    rescale : bool, default=False
        Whether to multiply the dictionary by the factor that minimises the constant, which has no
        effect on sparse recovery.
    max_supports : int, default=1_000_000
        Maximum number of supports of s atoms for which all supports are evaluated, so that the
        result is exact.
    random_state : int, RandomState instance or None, default=None
        Generator or seed for the random supports of the lower bound. Pass an int for reproducible
        results.

    Returns
    -------
    bounds : IsometryBounds
        Named tuple `(lower, upper, exact)`. If it is not exact, some support attains the lower
        bound, and the upper bound follows from Gershgorin's theorem and the largest eigenvalue.
        Computing the constant exactly is NP-hard.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import restricted_isometry_constant
    >>> bounds = restricted_isometry_constant([[1, 0], [0, 1], [0.6, 0.8]], 2)
    >>> bounds.exact, round(bounds.upper, 6)
    (True, 0.8)
    """
    atoms = dense(check_atoms(dictionary))
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
    """Scale atoms to unit norm and drop zero atoms; a sparse dictionary stays sparse."""
    atoms = check_atoms(dictionary)
    if not sparse.issparse(atoms):
        return unit_rows(atoms)
    atoms = sparse.csr_array(atoms)
    squares = atoms.multiply(atoms)
    norms = np.sqrt(squares.sum(axis=1))
    atoms = atoms[norms > 0]
    norms = norms[norms > 0]
    entries = np.diff(atoms.indptr)
    atoms.data = atoms.data / np.repeat(norms, entries)
    return atoms


def _coherence(atoms):
    coherence = guarantees.babel(atoms, 1)[0]
    return float(min(1.0, coherence))


def _largest_below(limit):
    """Return the largest int that is less than `limit`, with a margin for rounding."""
    inner = limit * (1 - guarantees.MARGIN)
    return max(0, int(np.ceil(inner)) - 1)

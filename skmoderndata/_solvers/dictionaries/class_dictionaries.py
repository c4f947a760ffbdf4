"""One dictionary per class, which first represents its samples and then separates the classes.

``R_j(x) = min |x - a D_j|^2`` over codes a with few non-zeros is the residual of sample x with the
dictionary of class j. Samples X (N, n) are rows, `target` holds the indices of their classes.

Differs from the paper (Mairal et al. 2008): the new dictionary of a class is only accepted if the
cost falls; if necessary, its step is halved.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from skmoderndata._solvers.codes.greedy import orthogonal_matching_pursuit
from skmoderndata._solvers.codes.signal_blocks import SparseCodes, prepare_atoms, to_csr
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.dictionaries.atom_updates import (
    leading_direction,
    residual_without,
    users_of_atoms,
)

# Maximum number of trial steps for a dictionary, each half as long as the one before.
HALVINGS = 6


class PassResult(NamedTuple):
    """Dictionaries after a pass, residuals (N, n_classes), and the cost before and after."""

    dictionaries: Array
    residuals: Array
    before: float
    after: float


def code_class(
    X: Array, atoms: Array, n_nonzero: int, n_jobs: int | None = None
) -> SparseCodes:
    """Code samples with one dictionary by orthogonal matching pursuit."""
    prepared = prepare_atoms(atoms, distinct=True)
    no_bounds = np.full(len(X), -1.0)
    return orthogonal_matching_pursuit(
        X, prepared, n_nonzero=n_nonzero, tol_sq=no_bounds, n_jobs=n_jobs
    )


def class_residuals(
    X: Array, dictionaries: Array, n_nonzero: int, n_jobs: int | None = None
) -> Array:
    """Return the squared residuals of samples for each class, of shape (N, n_classes)."""
    columns = [code_class(X, D, n_nonzero, n_jobs).residual_sq for D in dictionaries]
    return np.stack(columns, axis=1)


def discriminative_cost(
    residuals: Array, target: Array, sharpness: float, weight: float
) -> float:
    """Return the mean of ``log sum_j exp(-lam (R_j - R_i)) + lam gamma R_i`` for classes i.

    `sharpness` is lam, `weight` is gamma, and i is the class of the sample. The first term is a
    smooth count of wrong decisions: the negative log-likelihood of the softmax of ``-lam R``. The
    second term keeps the dictionaries able to represent their own class.
    """
    class_residual = residuals[np.arange(len(target)), target]
    logs = logsumexp(-sharpness * residuals, axis=1) + sharpness * class_residual
    return float(np.mean(logs + sharpness * weight * class_residual))


def cost_slopes(residuals: Array, target: Array, sharpness: float, weight: float) -> Array:
    """Return N times the gradient of `discriminative_cost` at the residuals, (N, n_classes)."""
    slopes: Array = -sharpness * softmax(-sharpness * residuals, axis=1)
    slopes[np.arange(len(target)), target] += sharpness * (1 + weight)
    return slopes


def discriminative_pass(
    X: Array,
    target: Array,
    dictionaries: Array,
    *,
    n_nonzero: int,
    sharpness: float,
    weight: float,
    rng: np.random.RandomState,
    n_jobs: int | None = None,
) -> PassResult:
    """Lower the cost by new atoms for one class after the other [Mairal et al. 2008].

    To first order, the cost is a sum of residuals with the weights `cost_slopes`, which are
    positive for samples of the class and negative for nearby samples of other classes. For fixed
    supports, the best atom is the leading eigenvector of ``sum_x w_x e_x e_x^T``, where e is the
    residual of sample x without the atom. The new dictionary of a class is accepted if the cost
    falls with all samples coded again; otherwise, half of the step is tried, and so on.
    """
    D = dictionaries.copy()
    residuals = class_residuals(X, D, n_nonzero, n_jobs)
    cost = before = discriminative_cost(residuals, target, sharpness, weight)
    for j in range(len(D)):
        # compute the atoms of a weighted K-SVD, towards which the dictionary moves
        slopes = cost_slopes(residuals, target, sharpness, weight)[:, j]
        codes = code_class(X, D[j], n_nonzero, n_jobs)
        target_atoms = _better_atoms(X, D[j], codes, slopes, rng)

        # line search: halve the step until the cost falls
        step = 1.0
        for _ in range(HALVINGS):
            trial = D[j] + step * (target_atoms - D[j])
            # on the way between unit atoms at an acute angle, the norm is at least sqrt(1 / 2),
            # unless both atoms are zero
            norms = np.linalg.norm(trial, axis=1, keepdims=True)
            trial = trial / np.where(norms > 0, norms, 1.0)

            column = code_class(X, trial, n_nonzero, n_jobs).residual_sq
            changed = residuals.copy()
            changed[:, j] = column
            new = discriminative_cost(changed, target, sharpness, weight)
            if new < cost:
                D[j] = trial
                residuals = changed
                cost = new
                break
            step /= 2

    return PassResult(D, residuals, before, cost)


def _better_atoms(
    X: Array, atoms: Array, codes: SparseCodes, weights: Array, rng: np.random.RandomState
) -> Array:
    """Lower the weighted sum of residuals by one atom after the other, with fixed supports."""
    D = np.ascontiguousarray(atoms, dtype=np.float64).copy()
    k = len(D)
    A = to_csr(codes._replace(values=codes.values.copy()), k)
    start, rows, entries = users_of_atoms(codes, k)
    for j in rng.permutation(k):
        which = slice(start[j], start[j + 1])
        users = rows[which]
        entries_of_j = entries[which]
        if users.size == 0:
            continue

        # as in K-SVD, find the leading direction of the residual without the atom
        E = residual_without(X, D, A, users, entries_of_j, j)
        d = leading_direction(E, weights[users])
        if d is None:
            continue
        D[j] = d if d @ D[j] >= 0 else -d
        A.data[entries_of_j] = E @ D[j]
    return D

"""Rules that combine the predictions of experts, each a Gaussian process on a part of the samples.

As in the papers (Tresp 2000; Deisenroth and Ng 2015; Liu and others 2018).
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def expert_weights(combine: str, variances: Array, prior: Array) -> Array:
    """Return the exponents beta (experts x points) of the experts' predictions.

    Parameters
    ----------
    combine : {"poe", "gpoe", "bcm", "rbcm", "grbcm"}
        The rule. With "grbcm" expert 0 holds the samples that all experts share.
    variances : ndarray of shape (n_experts, n_points)
        Latent variances of the experts.
    prior : ndarray of shape (n_points,)
        Variances before any data.
    """
    n_experts = len(variances)
    if combine in ("poe", "bcm"):
        return np.ones_like(variances)
    if combine == "gpoe":
        return np.full_like(variances, 1 / n_experts)
    if combine == "rbcm":  # difference in entropy, Deisenroth and Ng (2015), equation 20
        return 0.5 * (np.log(prior) - np.log(variances))

    # use equation 12 of Liu et al. (2018)
    logs = np.log(variances)
    beta: Array = 0.5 * (logs[0] - logs)
    beta[1:2] = 1.0
    beta[0] = 1 - beta[1:].sum(axis=0)
    return beta


def combine_experts(
    combine: str, means: Array, variances: Array, prior: Array
) -> tuple[Array, Array]:
    """Return the mean (points x targets) and the latent variance of the committee.

    ``precision = sum beta_k / s_k^2 + (1 - sum beta_k) / s_0^2`` and ``mean = sum beta_k mu_k /
    s_k^2 / precision``. "poe" and "gpoe" have no prior term. With "grbcm" the shared expert
    replaces the prior.
    """
    beta = expert_weights(combine, variances, prior)
    weight = beta / variances
    precision = weight.sum(axis=0)
    if combine in ("bcm", "rbcm"):
        precision = precision + (1 - beta.sum(axis=0)) / prior
    total = np.einsum("kq,kqt->qt", weight, means)
    return total / precision[:, None], 1 / precision


def balanced_parts(X: Array, centres: Array, size: int) -> list[NDArray[np.intp]]:
    """Assign each row to a near centre, with at most `size` rows per centre.

    Rows choose their nearest centre, in the order of their additional distance to the second
    nearest centre. Rows whose centre is full choose the next one.
    """
    norms = (X**2).sum(axis=1)
    norms_of_centres = (centres**2).sum(axis=1)
    d = (norms[:, None] - 2 * X @ centres.T) + norms_of_centres
    order = np.argsort(d, axis=1, kind="stable")
    if len(centres) == 1:
        return [np.arange(len(X))]

    # sort the rows by the strength of their preference, strongest first
    sorted_d = np.take_along_axis(d, order[:, :2], axis=1)
    preference = sorted_d[:, 0] - sorted_d[:, 1]
    rows = np.argsort(preference, kind="stable")
    vacancies = np.full(len(centres), size)
    label = np.empty(len(X), dtype=np.intp)

    # assign all remaining rows to their next choice at once
    for column in range(len(centres)):
        choice = order[rows, column]
        taken = np.zeros(len(rows), dtype=bool)
        for k in np.unique(choice):
            accepted = np.flatnonzero(choice == k)[: vacancies[k]]
            label[rows[accepted]] = k
            taken[accepted] = True
            vacancies[k] -= len(accepted)
        rows = rows[~taken]
        if not len(rows):
            break

    parts = [np.flatnonzero(label == k) for k in range(len(centres))]
    return [members for members in parts if len(members)]

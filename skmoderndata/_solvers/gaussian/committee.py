"""Rules that combine the predictions of experts, each a Gaussian process on some samples."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def expert_weights(combine: str, variances: Array, prior: Array) -> Array:
    """Exponents beta (experts x points) of the experts' predictions.

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

    # Liu and others (2018), equation 12
    logs = np.log(variances)
    beta: Array = 0.5 * (logs[0] - logs)
    beta[1:2] = 1.0
    beta[0] = 1 - beta[1:].sum(axis=0)
    return beta


def combine_experts(
    combine: str, means: Array, variances: Array, prior: Array
) -> tuple[Array, Array]:
    """Mean (points x targets) and latent variance of the committee.

    ``precision = sum beta_k / s_k^2 + (1 - sum beta_k) / s_0^2`` and ``mean = sum beta_k mu_k /
    s_k^2 / precision``; the prior term is left out for "poe" and "gpoe". With "grbcm" the shared
    expert takes the place of the prior.
    """
    beta = expert_weights(combine, variances, prior)
    weight = beta / variances
    precision = weight.sum(axis=0)
    if combine in ("bcm", "rbcm"):
        precision = precision + (1 - beta.sum(axis=0)) / prior
    total = np.einsum("kq,kqt->qt", weight, means)
    return total / precision[:, None], 1 / precision


def balanced_parts(X: Array, centres: Array, size: int) -> list[NDArray[np.intp]]:
    """Split rows among centres, at most `size` each, near ones first.

    Rows take their nearest centre in the order of what they would lose by the second nearest;
    centres that are full are passed over.
    """
    norms = (X**2).sum(axis=1)
    norms_of_centres = (centres**2).sum(axis=1)
    d = (norms[:, None] - 2 * X @ centres.T) + norms_of_centres
    order = np.argsort(d, axis=1, kind="stable")
    if len(centres) == 1:
        return [np.arange(len(X))]

    # rows that prefer a centre most come first
    sorted_d = np.take_along_axis(d, order[:, :2], axis=1)
    preference = sorted_d[:, 0] - sorted_d[:, 1]
    rows = np.argsort(preference, kind="stable")
    vacancies = np.full(len(centres), size)
    label = np.empty(len(X), dtype=np.intp)

    # all rows that still look, their next choice at once
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

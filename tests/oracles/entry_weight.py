"""Objectives with weights of entries, term by term: a term of weight w is added w times."""

import numpy as np


def repeated_squares(X, fit, weights):
    """Half of the sum of squared residuals, each added as often as its weight says."""
    total = 0.0
    for i, j in np.ndindex(*X.shape):
        for _ in range(int(weights[i, j])):
            total += (X[i, j] - fit[i, j]) ** 2 / 2
    return total


def nuclear_norm(model, X, weights):
    """Objective of NuclearNormImputer, in its units; the known cells are repeated."""
    fit = model.row_scores_ @ model.components_
    Z = (X - model.mean_) / model.scale_
    nuclear = np.linalg.svd(fit, compute_uv=False).sum()
    return repeated_squares(Z, fit, weights) + model.alpha_ * nuclear


def pursuit(model, X, weights):
    """Objective of RobustPCA for exact cells: every magnitude of an error is repeated."""
    total = np.linalg.svd(model.low_rank_, compute_uv=False).sum()
    for i, j in np.ndindex(*X.shape):
        for _ in range(int(weights[i, j])):
            total += model.alpha_ * abs(X[i, j] - model.low_rank_[i, j])
    return total


def stable_pursuit(model, X, weights):
    """Objective of RobustPCA for noisy cells: every squared residual is repeated."""
    mean = weights[weights > 0].mean()
    delta = model.noise_std_ * np.sqrt(2 * max(X.shape) * mean)
    total = np.linalg.svd(model.low_rank_, compute_uv=False).sum()
    for i, j in np.ndindex(*X.shape):
        if weights[i, j]:
            residual = X[i, j] - model.low_rank_[i, j]
            # the best error is what exceeds the slope
            step = model.alpha_ * delta / int(weights[i, j])
            error = np.sign(residual) * max(abs(residual) - step, 0)
            total += model.alpha_ * abs(error)
            for _ in range(int(weights[i, j])):
                total += (residual - error) ** 2 / (2 * delta)
    return total


def probabilistic_lsa(model, X, weights):
    """Minus the log-likelihood of ProbabilisticLSA per token: each word is there c times.

    The c copies of a word are observed as one.
    """
    P = model.transform(X, entry_weight=weights) @ model.components_
    total = 0.0
    for x, c, p in zip(X, weights, P, strict=True):
        copies = np.repeat(p, c)
        for count, copy, each in zip(np.repeat(x, c), copies, np.repeat(c, c), strict=True):
            if count > 0:
                total -= count * np.log(each * copy / copies.sum())
    return total / (weights * X).sum()


def discrete_basis(model, X, weights):
    """Cost of DiscreteBasis over the sum of the weights, each wrong bit repeated."""
    covered = model.inverse_transform(model.transform(X, entry_weight=weights))
    total = 0.0
    for i, j in np.ndindex(*X.shape):
        for _ in range(int(weights[i, j])):
            if X[i, j] > 0 and not covered[i, j]:
                total += model.bonus
            if X[i, j] <= 0 and covered[i, j]:
                total += model.penalty
    return total / weights.sum()


def sparse_nmf(model, X, weights):
    """Objective of SparseNMF with the plain l1 penalty of the codes, and a ridge."""
    codes = model.transform(X, entry_weight=weights)
    total = repeated_squares(X, codes @ model.components_, weights)
    for code in codes:
        total += model.alpha * sum(code)
    return total + model.ridge_ / 2 * (model.components_**2).sum()


def semi_nmf(model, X, weights):
    """Objective of SemiNMF, with a ridge of both factors."""
    codes = model.transform(X, entry_weight=weights)
    total = repeated_squares(X, codes @ model.components_, weights)
    return total + model.ridge_ / 2 * ((codes**2).sum() + (model.components_**2).sum())

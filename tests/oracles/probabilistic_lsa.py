"""Probabilistic latent semantic analysis, probability by probability."""

import numpy as np


def step(X, C, U, beta=1.0):
    """One step of expectation maximisation [Hofmann 2001]; `beta` below 1 tempers the posterior.

    Row d of C is the mixture ``P(z | d)``, row z of U the topic ``P(w | z)``.
    """
    in_documents = np.zeros_like(C)
    in_words = np.zeros_like(U)
    for d in range(X.shape[0]):
        for w in range(X.shape[1]):
            if X[d, w] > 0:
                posterior = (C[d] * U[:, w]) ** beta
                posterior = posterior / posterior.sum()
                in_documents[d] += X[d, w] * posterior
                in_words[:, w] += X[d, w] * posterior
    return (
        in_documents / in_documents.sum(axis=1, keepdims=True),
        in_words / in_words.sum(axis=1, keepdims=True),
    )


def log_likelihood(X, C, U):
    P = C @ U
    return sum(
        X[d, w] * np.log(P[d, w])
        for d in range(X.shape[0])
        for w in range(X.shape[1])
        if X[d, w] > 0
    )


def step_with_gaps(X, C, U):
    """One step of expectation maximisation with missing counts, NaN [Dempster et al. 1977, 4.2].

    They are expected like the observed ones of their document; then the step for full counts.
    """
    X = X.copy()
    for d in range(len(X)):
        p = C[d] @ U
        missing = np.isnan(X[d])
        tokens = X[d, ~missing].sum()
        X[d, missing] = tokens * p[missing] / p[~missing].sum()
    return step(X, C, U)


def weighted_log_likelihood(X, C, U, weights):
    """Sum of weighted counts times log-probabilities among the observed words of the document."""
    P = C @ U
    total = 0.0
    for d in range(X.shape[0]):
        exposed = sum(weights[d, v] * P[d, v] for v in range(X.shape[1]))
        for w in range(X.shape[1]):
            if weights[d, w] * X[d, w] > 0:
                y = weights[d, w] * X[d, w]
                total += y * np.log(weights[d, w] * P[d, w] / exposed)
    return total


def weighted_mixture_by_cvxpy(x, U, weights):
    """Most likely mixture of one document with weights of its counts, by a conic solver."""
    import cvxpy as cp

    rates = cp.Variable(len(U), nonneg=True)
    y = weights * x
    seen = y > 0
    value = y[seen] @ cp.log(rates @ U[:, seen]) - (U @ weights) @ rates
    cp.Problem(cp.Maximize(value)).solve(solver=cp.CLARABEL)
    return rates.value / rates.value.sum()


def mixture_by_cvxpy(x, U):
    """Most likely mixture of one document, by a conic solver."""
    import cvxpy as cp

    z = cp.Variable(len(U), nonneg=True)
    seen = x > 0
    problem = cp.Problem(cp.Maximize(x[seen] @ cp.log(z @ U[:, seen])), [cp.sum(z) == 1])
    problem.solve(solver=cp.CLARABEL)
    return problem.value, z.value

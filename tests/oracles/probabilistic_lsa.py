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


def mixture_by_cvxpy(x, U):
    """Most likely mixture of one document, by a conic solver."""
    import cvxpy as cp

    z = cp.Variable(len(U), nonneg=True)
    seen = x > 0
    problem = cp.Problem(cp.Maximize(x[seen] @ cp.log(z @ U[:, seen])), [cp.sum(z) == 1])
    problem.solve(solver=cp.CLARABEL)
    return problem.value, z.value

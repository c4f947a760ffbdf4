"""Attempts on a stream with wrong cells: components in batches, cells cut or fitted in turn."""

import numpy as np
from sklearn.decomposition import PCA, FactorAnalysis, IncrementalPCA
from sklearn.linear_model import HuberRegressor


def plain(given):
    """IncrementalPCA."""
    model = IncrementalPCA(6)
    for rows in given.batches:
        model.partial_fit(rows)
    return model.inverse_transform(model.transform(given.batches[-1]))


def clipped(given):
    """IncrementalPCA of clipped cells."""
    middle = np.median(given.batches[0], axis=0)
    reach = 2.5 * 1.4826 * np.median(np.abs(given.batches[0] - middle), axis=0)
    model = IncrementalPCA(6)
    for rows in given.batches:
        model.partial_fit(np.clip(rows, middle - reach, middle + reach))
    return model.inverse_transform(model.transform(rows))


def trimmed(given):
    """IncrementalPCA, cells of large residuals fitted in turn."""
    rank = None
    model = IncrementalPCA(6).fit(given.batches[0])
    for rows in given.batches:
        filled = rows
        for _ in range(20):
            values = model.explained_variance_
            rank = 1 + int(np.sum(values[1:] > 0.05 * values[0]))
            V = model.components_[:rank]
            fitted = (filled - model.mean_) @ V.T @ V + model.mean_
            residual = np.abs(rows - fitted)
            filled = np.where(residual <= 3 * 1.4826 * np.median(residual), rows, fitted)
        model.partial_fit(filled)
    return fitted


def huber(given):
    """IncrementalPCA, the last rows by HuberRegressor."""
    model = IncrementalPCA(10)
    for rows in given.batches:
        model.partial_fit(rows)
    values = model.explained_variance_
    V = model.components_[: 1 + int(np.argmax(values[:-1] / values[1:]))]
    fits = [HuberRegressor(epsilon=1.1, alpha=0.01, max_iter=300) for _ in rows]
    scores = [fit.fit(V.T, row - model.mean_).coef_ for fit, row in zip(fits, rows, strict=True)]
    return np.array(scores) @ V + model.mean_


def all_rows(given):
    """PCA of all rows, cells of large residuals fitted in turn."""
    given_rows = np.vstack(given.batches)
    X = given_rows
    for step in range(60):
        s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
        rank = min(1 + int(np.argmax(s[:12] / s[1:13])), 1 + step // 5)
        model = PCA(rank).fit(X)
        fitted = model.inverse_transform(model.transform(X))
        residual = np.abs(given_rows - fitted)
        X = np.where(residual <= 3 * 1.4826 * np.median(residual), given_rows, fitted)
    return fitted[-len(given.batches[-1]) :]


def factors(given):
    """FactorAnalysis without cells of large residuals."""
    given_rows = np.vstack(given.batches)
    X = given_rows
    for _ in range(30):
        s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
        rank = 1 + int(np.argmax(s[:12] / s[1:13]))
        model = FactorAnalysis(rank, svd_method="lapack").fit(X)
        fitted = model.transform(X) @ model.components_ + model.mean_
        residual = np.abs(given_rows - fitted)
        X = np.where(residual <= 3 * 1.4826 * np.median(residual), given_rows, fitted)
    return fitted[-len(given.batches[-1]) :]

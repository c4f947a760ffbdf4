"""Networks with a given first layer written out: refitting without each sample, plain loops."""

import numpy as np
from sklearn.linear_model import Ridge


def leave_one_out(H, Y, alpha, weights=None, fit_intercept=True):
    """Predict each sample by a ridge regression that was fitted without it."""
    n = len(H)
    weights = np.ones(n) if weights is None else weights
    found = np.empty_like(Y, dtype=float)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        model = Ridge(alpha=alpha, fit_intercept=fit_intercept, solver="cholesky")
        model.fit(H[others], Y[others], sample_weight=weights[others])
        found[i] = model.predict(H[i : i + 1])[0]
    return found


def forward_selection(P, y, n_columns):
    """Columns whose projection reduces the error most, by refitting least squares each time."""
    chosen = []
    for _ in range(n_columns):
        errors = {}
        for j in range(P.shape[1]):
            if j in chosen:
                continue
            A = np.column_stack([np.ones(len(y)), P[:, [*chosen, j]]])
            errors[j] = np.sum((y - A @ np.linalg.lstsq(A, y, rcond=None)[0]) ** 2)
        chosen.append(min(errors, key=errors.get))
    return chosen

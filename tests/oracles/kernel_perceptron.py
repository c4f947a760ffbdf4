"""The perceptron with a kernel, sample by sample."""

import numpy as np


def perceptron(K, steps, n_passes, budget=np.inf, policy="oldest"):
    """Coefficients after each sample [Rosenblatt 1958; in the dual, Freund and Schapire 1999].

    A sample on the wrong side adds its step, its sign times its weight, to its coefficient. Beyond
    the budget the oldest goes, or the one of smallest norm. With "project" a sample is projected
    on the span of the support beyond the budget, and where its distance from the span is at most
    a thousandth of its norm [Orabona, Keshet and Caputo 2009].
    """
    a = np.zeros(len(K))
    support = []
    functions = []

    for _ in range(n_passes):
        for i, step in enumerate(steps):
            # after a mistake, make a step, or project the step on the support [Orabona 2009]
            if step * (a @ K[:, i]) <= 0:
                if policy == "project":
                    projection = np.linalg.solve(K[np.ix_(support, support)], K[support, i])
                    distance_sq = K[i, i] - K[support, i] @ projection
                if policy == "project" and (
                    len(support) >= budget or distance_sq <= 1e-6 * K[i, i]
                ):
                    a[support] += step * projection
                else:
                    a[i] += step
                    support += [] if i in support else [i]

                # beyond the budget, remove one support vector
                if len(support) > budget:
                    norms = [abs(a[j]) * np.sqrt(K[j, j]) for j in support]
                    out = 0 if policy == "oldest" else int(np.argmin(norms))
                    a[support.pop(out)] = 0

            functions.append(a.copy())

    return functions

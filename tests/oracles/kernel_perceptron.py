"""The perceptron with a kernel, sample by sample."""

import numpy as np


def perceptron(K, signs, n_passes, budget=np.inf, policy="oldest"):
    """Coefficients after each sample [Rosenblatt 1958; in the dual, Freund and Schapire 1999].

    A sample on the wrong side adds its sign to its coefficient. Beyond the budget the oldest
    goes, or the one of smallest norm, or the sample is projected on the span of the others.
    """
    a, support, functions = np.zeros(len(K)), [], []
    for _ in range(n_passes):
        for i, sign in enumerate(signs):
            if sign * (a @ K[:, i]) <= 0:
                if policy == "project" and len(support) >= budget:
                    inside = K[np.ix_(support, support)]
                    a[support] += sign * np.linalg.solve(inside, K[support, i])
                else:
                    a[i] += sign
                    support += [] if i in support else [i]
                if len(support) > budget:
                    norms = [abs(a[j]) * np.sqrt(K[j, j]) for j in support]
                    out = 0 if policy == "oldest" else int(np.argmin(norms))
                    a[support.pop(out)] = 0
            functions.append(a.copy())
    return functions

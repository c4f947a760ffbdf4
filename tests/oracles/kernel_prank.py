"""PRank with a kernel, sample by sample."""

import numpy as np


def prank(K, ranks, n_passes, budget=np.inf):
    """Coefficients and thresholds after each sample [Crammer and Singer 2001].

    The value of a sample is compared with the thresholds; if its rank is wrong, its coefficient
    changes by the difference, and the thresholds between the two ranks move by one. Beyond the
    budget the sample that came first goes.
    """
    a = np.zeros(len(K))
    b = np.zeros(ranks.max())
    queue = []
    functions = []
    for _ in range(n_passes):
        for i, y in enumerate(ranks):
            guess = (a @ K[:, i] >= b).sum()
            a[i] += y - guess
            if guess < y:
                b[guess:y] -= 1
            elif guess > y:
                b[y:guess] += 1
            if guess != y and i not in queue:
                queue.append(i)
            if len(queue) > budget:
                a[queue.pop(0)] = 0
            functions.append((a.copy(), b.copy()))
    return functions

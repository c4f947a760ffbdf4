"""Bounds from Rademacher complexities, by their definitions."""

import itertools

import numpy as np


def complexity_by_all_signs(K, norm):
    """Empirical Rademacher complexity of the functions of norm at most `norm`, by its definition.

    The mean over all vectors s of signs of the largest ``2/n |sum_i s_i f(x_i)|``, which is
    ``2/n norm sqrt(s'K s)``.
    """
    n = len(K)
    signs = map(np.array, itertools.product((-1, 1), repeat=n))
    return np.mean([2 / n * norm * np.sqrt(s @ K @ s) for s in signs])


def margin_bound_in_steps(slacks, margin, K, delta):
    """Probability of an error with a large margin [Shawe-Taylor and Cristianini 2004, 7.30].

    The loss is 1 on the wrong side, 0 beyond the margin, and a straight line of slope 1 / margin
    between. It bounds the error from above, and the slack over the margin bounds it from above.
    With probability 1 - delta its mean on the samples, its complexity and three deviations are not
    exceeded.
    """
    n = len(K)
    mean_loss = np.mean(slacks) / margin
    # bound the complexity of functions of norm one by the trace
    complexity = 2 / n * np.sqrt(np.trace(K))
    deviation = np.sqrt(np.log(2 / delta) / (2 * n))
    return mean_loss + 2 / margin * complexity + 3 * deviation

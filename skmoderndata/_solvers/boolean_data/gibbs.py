"""Posterior samples of Boolean sources, for multi-assignment clustering of very noisy data."""

import numpy as np

from skmoderndata._solvers.boolean_data.bit_blocks import Data
from skmoderndata._solvers.boolean_data.boolean import assignment_sets
from skmoderndata._solvers.boolean_data.multi_assignment import (
    CERTAIN,
    Model,
    Statistics,
    boolean_model,
    expectation,
    likelihood_blocks,
    one_hot,
    pattern_scores,
    rates_of,
    union_counts,
)
from skmoderndata._solvers.common.tolerances import TINY
from skmoderndata._solvers.common.typing import Array

# Number of sweeps; samples are counted after the first quarter of them.
SWEEPS = 200


def gibbs(
    data: Data,
    model: Model,
    *,
    noise: str | None,
    rng: np.random.RandomState,
) -> tuple[Model, Statistics]:
    """Take the majority over posterior samples of Boolean sources; all priors are uniform.

    A sweep draws the set of each row, the frequencies of sets (Dirichlet), the column of the
    sources for each feature among all 2^K patterns, the frequencies of patterns (Dirichlet), and
    the two error rates (Beta).
    """
    sets = model.sets
    U = model.beta < 0.5
    K, D = U.shape
    patterns = assignment_sets(K, K)
    q1, q0 = rates_of(model)
    log_sets = np.zeros(len(sets))
    log_patterns = np.zeros(len(patterns))
    mean_U = np.zeros((K, D))
    mean_rates = np.zeros(2)
    n_kept = 0

    for sweep in range(SWEEPS):
        # 1. draw the set of each row, and the frequencies of the sets
        sample = boolean_model(sets, U, q1, q0, noise=noise)
        counts = _sample_sets(data, sample, log_sets, rng)
        in_set = (counts.ones + counts.zeros).sum(axis=0) / D
        log_sets = np.log(rng.dirichlet(1 + in_set) + TINY)

        # 2. draw the column of the sources for each feature, and the frequencies of the columns
        gain = counts.ones * np.log(q1 / q0) + counts.zeros * np.log((1 - q1) / (1 - q0))
        scores = pattern_scores(patterns, sets, gain) + log_patterns[:, None]
        pattern_numbers = (scores + rng.gumbel(size=scores.shape)).argmax(axis=0)
        U = patterns[pattern_numbers].T
        log_patterns = np.log(
            rng.dirichlet(1 + np.bincount(pattern_numbers, minlength=len(patterns))) + TINY
        )

        # 3. draw the error rates
        q1, q0 = _sample_rates(sets, U, counts, rng)

        if sweep >= SWEEPS // 4:
            mean_U += U
            mean_rates += q1, q0
            n_kept += 1

    q1, q0 = mean_rates / n_kept
    final = boolean_model(sets, mean_U > n_kept / 2, q1, q0, noise=noise)
    return final, expectation(data, final, 0)


def _sample_sets(
    data: Data, model: Model, log_sets: Array, rng: np.random.RandomState
) -> Statistics:
    """Draw the set of each row; count the ones and zeros of each set."""
    D = model.beta.shape[1]
    n_sets = len(model.sets)
    ones = np.zeros((D, n_sets))
    seen_by_set = np.zeros((D, n_sets))
    for _, X, seen, log_p in likelihood_blocks(data, model):
        drawn = (log_p + log_sets + rng.gumbel(size=log_p.shape)).argmax(axis=1)
        q = one_hot(drawn, n_sets)
        ones += X.T @ q
        seen_by_set += q.sum(axis=0) if seen is None else seen.T @ q
    return Statistics(ones, np.maximum(seen_by_set - ones, 0.0), 0.0)


def _sample_rates(
    sets: Array, U: Array, counts: Statistics, rng: np.random.RandomState
) -> tuple[float, float]:
    """Draw both error rates from their Beta posteriors."""
    q1, q0 = (rng.beta(1 + n1, 1 + n0) for n1, n0 in union_counts(sets, U, counts))
    q1, q0 = (float(np.clip(q, CERTAIN, 1 - CERTAIN)) for q in (q1, q0))
    return (q1, q0) if q1 > q0 else (q0, q1)

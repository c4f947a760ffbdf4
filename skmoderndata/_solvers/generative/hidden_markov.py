"""Forward-backward over packed sequences, and the derivatives of the log-likelihood.

As in the paper (Rabiner 1989), with its scaled passes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.arrays import working_memory
from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.typing import Array


class Observations(NamedTuple):
    """Probabilities of the observations in each state.

    Step t of the packed sequences has the probabilities ``exp(log_scale[rows[t]]) *
    table[rows[t]]`` in the states. The table has one row per symbol or one row per step.
    """

    table: Array  # (n_rows, n_states)
    log_scale: Array  # (n_rows,)
    rows: Array  # (n_steps,) int64
    offsets: Array  # (n_sequences + 1,) int64


class Posteriors(NamedTuple):
    """Results of the forward and backward passes for a block of sequences."""

    states: Array  # (n_steps, n_states), P(h_t = k given x)
    # (n_sequences, n_states, n_states), expected numbers of moves divided by their probabilities
    moves: Array
    log_likelihood: Array  # (n_sequences,)


@jit_leaf
def _product(v, M, columns, out):
    """Write ``v' M`` into `out`; `columns` is the transpose of M.

    For up to 12 states, dot products with the columns keep their sums in registers; with 5 states
    both passes take a third of the time of sums of rows. For more states, sums of rows handle
    several entries at once; they are as fast with 20 states and take a third of the time with 50.
    """
    # use dot products with columns if there are few states, and sums of rows if there are more
    if len(v) <= 12:
        for k in range(len(v)):
            total = 0.0
            column = columns[k]
            for j in range(len(v)):
                total += v[j] * column[j]
            out[k] = total
        return

    for k in range(len(v)):
        out[k] = 0.0
    for k in range(len(v)):
        weight = v[k]
        row = M[k]
        for j in range(len(v)):
            out[j] += weight * row[j]


@jit_leaf
def _forward(startprob, transmat, columns, table, rows, alpha, c):
    """Compute ``alpha_t = b_t o (Q' alpha_{t-1}) / c_t`` with sum 1: the scaled forward pass.

    The likelihood is the product of the scales c. If a scale is zero, the sequence is impossible
    and the pass returns False.
    """
    for t in range(len(rows)):
        # take one step of the chain, and multiply by the emission
        new = alpha[t]
        b = table[rows[t]]
        if t > 0:
            _product(alpha[t - 1], transmat, columns, new)
        total = 0.0
        for k in range(len(new)):
            new[k] = b[k] * (startprob[k] if t == 0 else new[k])
            total += new[k]

        # scale to sum one; the logarithms of the scales add up to the log-likelihood
        c[t] = total
        if total == 0.0:
            return False
        scale = 1.0 / total
        for k in range(len(new)):
            new[k] *= scale
    return True


@jit_leaf
def _backward(transmat, columns, table, rows, alpha, c, beta, v, moves):
    """Turn `alpha` into posteriors and add up the expected moves by the scaled backward pass.

    With ``v_t = b_t o beta_t / c_t`` the pass is ``beta_{t-1} = Q v_t``. The posterior of a state
    is ``alpha_t o beta_t``; the posterior of a move from k to l is
    ``alpha_{t-1}(k) Q(k, l) v_t(l)``. `moves` sums these moves without the factor Q; `beta` and
    `v` are work space.
    """
    S = len(beta)
    for k in range(S):
        beta[k] = 1.0

    for t in range(len(rows) - 1, -1, -1):
        # compute the posterior of the state at time t
        b = table[rows[t]]
        now = alpha[t]
        scale = 1.0 / c[t]
        for k in range(S):
            v[k] = b[k] * beta[k] * scale
            now[k] *= beta[k]
        if t == 0:
            continue

        # add the expected moves from the state at time t - 1
        _product(v, columns, transmat, beta)
        before = alpha[t - 1]
        for k in range(S):
            row = moves[k]
            before_k = before[k]
            for j in range(S):
                row[j] += before_k * v[j]


@jit
def _forward_all(startprob, transmat, table, rows, offsets, c):
    longest = (offsets[1:] - offsets[:-1]).max()
    alpha = np.empty((longest, len(startprob)))
    columns = transmat.T.copy()
    for i in range(len(offsets) - 1):
        steps = slice(offsets[i], offsets[i + 1])
        _forward(startprob, transmat, columns, table, rows[steps], alpha, c[steps])


@jit
def _two_passes(startprob, transmat, table, rows, offsets, states, moves, c):
    columns = transmat.T.copy()
    beta = np.empty(len(startprob))
    v = np.empty(len(startprob))
    for i in range(len(offsets) - 1):
        steps = slice(offsets[i], offsets[i + 1])
        x = rows[steps]
        alpha = states[steps]
        scales = c[steps]
        if _forward(startprob, transmat, columns, table, x, alpha, scales):
            _backward(transmat, columns, table, x, alpha, scales, beta, v, moves[i])


@jit
def _count_symbols(states, rows, offsets, counts):
    for i in range(len(counts)):
        for t in range(offsets[i], offsets[i + 1]):
            for k in range(states.shape[1]):
                counts[i, k, rows[t]] += states[t, k]


def log_likelihoods(startprob: Array, transmat: Array, seen: Observations) -> Array:
    """Return the log-probabilities of sequences, minus infinity for impossible ones.

    Runs the forward pass of Rabiner 1989, scaled at each step, in time ``n_steps n_states ** 2``.
    """
    c = np.ones(len(seen.rows))
    if len(seen.offsets) > 1:
        _forward_all(startprob, transmat, seen.table, seen.rows, seen.offsets, c)
    return _log_products(c, seen)


def posteriors(startprob: Array, transmat: Array, seen: Observations) -> Posteriors:
    """Return posterior probabilities of states and moves by both passes of Rabiner 1989.

    `moves` is the expected number of moves divided by the probability of the move. This quotient
    is the derivative of the log-likelihood with respect to that probability; it exists at
    probability 0, too.
    """
    n = len(seen.offsets) - 1
    S = len(startprob)
    states = np.zeros((len(seen.rows), S))
    moves = np.zeros((n, S, S))
    c = np.ones(len(seen.rows))
    if n:
        _two_passes(startprob, transmat, seen.table, seen.rows, seen.offsets, states, moves, c)
    return Posteriors(states, moves, _log_products(c, seen))


def _log_products(c: Array, seen: Observations) -> Array:
    """Add up the logarithms of the scales of steps and table rows over each sequence."""
    # a scale of 0 leads to the documented log-likelihood of -inf
    with np.errstate(divide="ignore"):
        logs = np.log(c) + seen.log_scale[seen.rows]
    return sums_by_sequence(logs[:, None], seen.offsets)[:, 0]


def blocks(
    seen: Observations, bytes_per_sequence: int
) -> Iterator[tuple[slice, Observations]]:
    """Yield consecutive sequences whose passes stay within scikit-learn's working memory."""
    budget = working_memory()
    per_step = 8.0 * seen.table.shape[1]
    ends = seen.offsets[1:] * per_step + np.arange(1, len(seen.offsets)) * bytes_per_sequence

    # take as many sequences as the budget allows, but at least one
    first = 0
    while first < len(ends):
        done = ends[first - 1] if first else 0.0
        last = max(first + 1, int(np.searchsorted(ends, done + budget, side="right")))
        start = seen.offsets[first]
        stop = seen.offsets[last]
        offsets = seen.offsets[first : last + 1] - start
        yield slice(first, last), seen._replace(rows=seen.rows[start:stop], offsets=offsets)
        first = last


def sums_by_sequence(values: Array, offsets: Array) -> Array:
    """Add up rows over each sequence; empty sequences have sum zero."""
    sums = np.zeros((len(offsets) - 1, values.shape[1]))
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        sums[filled] = np.add.reduceat(values, offsets[filled], axis=0)
    return sums


def sums_by_symbol(states: Array, rows: Array, offsets: Array, n_symbols: int) -> Array:
    """Count expected emissions of symbols by states: (n_sequences, n_states, n_symbols)."""
    counts = np.zeros((len(offsets) - 1, states.shape[1], n_symbols))
    _count_symbols(states, rows, offsets, counts)
    return counts


def start_scores(
    startprob: Array, posterior: Posteriors, offsets: Array, constrained: bool
) -> Array:
    """Return derivatives with respect to the start probabilities, 0 where pi is 0.

    The derivatives are ``gamma_1(k) / pi_k``. Constrained scores are the derivatives with respect
    to the logits of the softmax function, divided by the probability: ``gamma_1(k) / pi_k - 1``.
    """
    filled = np.flatnonzero(np.diff(offsets))
    scores = np.zeros((len(offsets) - 1, len(startprob)))
    possible = startprob > 0
    first = posterior.states[offsets[filled]]
    scores[filled] = np.divide(first, startprob, out=np.zeros_like(first), where=possible)
    if constrained:
        scores[filled] -= possible
    return scores


def move_scores(transmat: Array, posterior: Posteriors, constrained: bool) -> Array:
    """Return derivatives with respect to the transition probabilities, 0 where Q is 0.

    The derivatives are ``N(k, l) / Q(k, l)``, where N(k, l) is the expected number of moves.
    Constrained scores are ``N(k, l) / Q(k, l) - N(k, .)``.
    """
    scores = posterior.moves
    if constrained:
        scores = scores - np.einsum("ikl,kl->ik", scores, transmat)[:, :, None]
    return np.where(transmat > 0, scores, 0.0).reshape(len(scores), transmat.size)


def symbol_scores(emissionprob: Array, counts: Array, constrained: bool) -> Array:
    """Return derivatives with respect to the emission probabilities, 0 where E is 0.

    The derivatives are ``N(k, a) / E(k, a)``, where N(k, a) is the expected number of times that
    state k emits a. Constrained scores are ``N(k, a) / E(k, a) - N(k, .)``.
    """
    possible = emissionprob > 0
    scores = np.divide(counts, emissionprob, out=np.zeros(counts.shape), where=possible)
    if constrained:
        scores -= counts.sum(axis=2, keepdims=True)
    return np.where(possible, scores, 0.0).reshape(len(counts), emissionprob.size)

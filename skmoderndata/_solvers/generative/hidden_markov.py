"""Forward-backward over packed sequences, and the derivatives of the log-likelihood."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import get_config

from skmoderndata._jit import jit, jit_leaf

Array = np.ndarray[Any, np.dtype[Any]]


class Observations(NamedTuple):
    """Probabilities of what was seen, one row for each step of all sequences.

    Step t of the packed sequences has the probabilities ``exp(log_scale[rows[t]]) *
    table[rows[t]]`` in the states: a row for each symbol, or a row for each step.
    """

    table: Array  # (n_rows, n_states)
    log_scale: Array  # (n_rows,)
    rows: Array  # (n_steps,) int64
    offsets: Array  # (n_sequences + 1,) int64


class Posteriors(NamedTuple):
    """What the two passes give for a block of sequences."""

    states: Array  # (n_steps, n_states), P(h_t = k given x)
    moves: Array  # (n_sequences, n_states, n_states), expected moves over their probability
    log_likelihood: Array  # (n_sequences,)


@jit_leaf
def _forward(startprob, transmat, table, rows, alpha, c):
    """Scaled forward pass: ``alpha_t = b_t o (Q' alpha_{t-1}) / c_t`` with sum 1.

    Returns the logarithm of the product of the scales c, minus infinity where one is zero.
    """
    log_likelihood = 0.0
    for t in range(len(rows)):
        new, b = alpha[t], table[rows[t]]
        for k in range(len(new)):
            new[k] = startprob[k] if t == 0 else 0.0
        if t > 0:
            for k in range(len(new)):
                weight, row = alpha[t - 1, k], transmat[k]
                for j in range(len(new)):
                    new[j] += weight * row[j]
        total = 0.0
        for k in range(len(new)):
            new[k] *= b[k]
            total += new[k]
        if total == 0.0:
            return -np.inf
        c[t] = total
        log_likelihood += np.log(total)
        scale = 1.0 / total
        for k in range(len(new)):
            new[k] *= scale
    return log_likelihood


@jit_leaf
def _backward(columns, table, rows, alpha, c, beta, v, moves):
    """Scaled backward pass; turns `alpha` into posteriors and adds up the expected moves.

    With ``v_t = b_t o beta_t / c_t`` the pass is ``beta_{t-1} = Q v_t``, the posterior of a state
    ``alpha_t o beta_t`` and that of a move from k to l ``alpha_{t-1}(k) Q(k, l) v_t(l)``. `moves`
    is the sum of the last one without Q, `columns` the transpose of Q; `beta` and `v` are work
    space.
    """
    S = len(beta)
    for k in range(S):
        beta[k] = 1.0
    for t in range(len(rows) - 1, -1, -1):
        b, now, scale = table[rows[t]], alpha[t], 1.0 / c[t]
        for k in range(S):
            v[k] = b[k] * beta[k] * scale
            now[k] *= beta[k]
        if t == 0:
            continue
        for k in range(S):
            beta[k] = 0.0
        before = alpha[t - 1]
        for k in range(S):
            weight, column, row, before_k = v[k], columns[k], moves[k], before[k]
            for j in range(S):
                beta[j] += weight * column[j]
                row[j] += before_k * v[j]


@jit
def _forward_all(startprob, transmat, table, rows, offsets, log_likelihood):
    longest = (offsets[1:] - offsets[:-1]).max()
    alpha, c = np.empty((longest, len(startprob))), np.empty(longest)
    for i in range(len(log_likelihood)):
        part = rows[offsets[i] : offsets[i + 1]]
        log_likelihood[i] = _forward(startprob, transmat, table, part, alpha, c)


@jit
def _both_all(startprob, transmat, table, rows, offsets, states, moves, log_likelihood):
    longest = (offsets[1:] - offsets[:-1]).max()
    c, columns = np.empty(longest), transmat.T.copy()
    beta, v = np.empty(len(startprob)), np.empty(len(startprob))
    for i in range(len(log_likelihood)):
        part, alpha = rows[offsets[i] : offsets[i + 1]], states[offsets[i] : offsets[i + 1]]
        log_likelihood[i] = _forward(startprob, transmat, table, part, alpha, c)
        if np.isfinite(log_likelihood[i]):
            _backward(columns, table, part, alpha, c, beta, v, moves[i])


def log_likelihoods(startprob: Array, transmat: Array, seen: Observations) -> Array:
    """Logarithms of the probabilities of sequences, minus infinity for impossible ones.

    The forward pass of Rabiner 1989, scaled at each step; time ``n_steps n_states ** 2``.
    """
    found = np.zeros(len(seen.offsets) - 1)
    if len(found):
        _forward_all(startprob, transmat, seen.table, seen.rows, seen.offsets, found)
    return found + sums_by_sequence(seen.log_scale[seen.rows][:, None], seen.offsets)[:, 0]


def posteriors(startprob: Array, transmat: Array, seen: Observations) -> Posteriors:
    """Posterior probabilities of states and moves by both passes of Rabiner 1989.

    `moves` is the expected number of moves divided by the probability of the move, which is the
    derivative of the log-likelihood in it, and exists where that is zero as well.
    """
    n, S = len(seen.offsets) - 1, len(startprob)
    states, moves, found = np.zeros((len(seen.rows), S)), np.zeros((n, S, S)), np.zeros(n)
    if n:
        _both_all(startprob, transmat, seen.table, seen.rows, seen.offsets, states, moves, found)
    found += sums_by_sequence(seen.log_scale[seen.rows][:, None], seen.offsets)[:, 0]
    return Posteriors(states, moves, found)


def blocks(seen: Observations, bytes_per_sequence: int) -> Iterator[tuple[slice, Observations]]:
    """Yield consecutive sequences whose passes stay within scikit-learn's working memory."""
    budget = get_config()["working_memory"] * 2**20
    per_step = 8.0 * seen.table.shape[1]
    ends = seen.offsets[1:] * per_step + np.arange(1, len(seen.offsets)) * bytes_per_sequence
    first = 0
    while first < len(ends):
        done = ends[first - 1] if first else 0.0
        last = max(first + 1, int(np.searchsorted(ends, done + budget, side="right")))
        start, stop = seen.offsets[first], seen.offsets[last]
        offsets = seen.offsets[first : last + 1] - start
        yield slice(first, last), seen._replace(rows=seen.rows[start:stop], offsets=offsets)
        first = last


def sums_by_sequence(values: Array, offsets: Array) -> Array:
    """Add up rows over each sequence, zero for empty ones."""
    found = np.zeros((len(offsets) - 1, values.shape[1]))
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        found[filled] = np.add.reduceat(values, offsets[filled], axis=0)
    return found


def sums_by_symbol(states: Array, rows: Array, offsets: Array, n_symbols: int) -> Array:
    """Count how often a state is expected to emit a symbol: (n_sequences, n_states, n_symbols)."""
    n, steps = len(offsets) - 1, np.arange(len(rows))
    cells = np.repeat(np.arange(n), np.diff(offsets)) * n_symbols + rows
    chosen = sparse.csr_array((np.ones(len(rows)), (cells, steps)), (n * n_symbols, len(rows)))
    return np.asarray(chosen @ states).reshape(n, n_symbols, -1).transpose(0, 2, 1)


def start_scores(startprob: Array, found: Posteriors, offsets: Array, constrained: bool) -> Array:
    """Give derivatives in the start probabilities, ``gamma_1(k) / pi_k``, 0 where pi is 0.

    Constrained scores are the derivatives in the logits of the softmax function, divided by the
    probability: ``gamma_1(k) / pi_k - 1``.
    """
    filled = np.flatnonzero(np.diff(offsets))
    scores = np.zeros((len(offsets) - 1, len(startprob)))
    possible = startprob > 0
    first = found.states[offsets[filled]]
    scores[filled] = np.divide(first, startprob, out=np.zeros_like(first), where=possible)
    if constrained:
        scores[filled] -= possible
    return scores


def move_scores(transmat: Array, found: Posteriors, constrained: bool) -> Array:
    """Give derivatives in the transition probabilities, ``N(k, l) / Q(k, l)``, 0 where Q is 0.

    N(k, l) is the expected number of moves; constrained: ``N(k, l) / Q(k, l) - N(k, .)``.
    """
    scores = found.moves
    if constrained:
        scores = scores - np.einsum("ikl,kl->ik", scores, transmat)[:, :, None]
    return np.where(transmat > 0, scores, 0.0).reshape(len(scores), transmat.size)


def symbol_scores(emissionprob: Array, counts: Array, constrained: bool) -> Array:
    """Give derivatives in the emission probabilities, ``N(k, a) / E(k, a)``, 0 where E is 0.

    N(k, a) is the expected number of times that state k emits a; constrained: minus ``N(k, .)``.
    """
    possible = emissionprob > 0
    scores = np.divide(counts, emissionprob, out=np.zeros(counts.shape), where=possible)
    if constrained:
        scores -= counts.sum(axis=2, keepdims=True)
    return np.where(possible, scores, 0.0).reshape(len(counts), emissionprob.size)

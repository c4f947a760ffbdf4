"""Sums over common subsequences of two sequences, by dynamic programming.

Differs from the papers (Lodhi et al. 2002; Shawe-Taylor and Cristianini 2004): 1. symbols have
individual weights, and may be similar instead of equal. 2. A sequence is compared with four others
at a time. 3. Sums over long subsequences are scaled by powers of two.
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.quantities import CELLS_OF_PRODUCTS, LOG2
from skmoderndata._solvers.common.tolerances import TINY
from skmoderndata._solvers.common.typing import Array

# Number of symbols whose weights for four sequences are cached; the remainder of a symbol modulo
# this number determines its slot.
PLANES = 32


class Weighting(NamedTuple):
    """Weights of symbols and lengths.

    Attributes
    ----------
    match : ndarray of shape (n_symbols,)
        Factor for a matched symbol, in each of the two sequences.
    skip : ndarray of shape (n_symbols,)
        Factor for a symbol that is skipped between the first and the last matched symbol.
    similarity : ndarray of shape (n_symbols, n_symbols), or (0, 0)
        Similarity of two symbols, used in place of equality.
    lengths : ndarray of shape (p,)
        Weight of the subsequences of each length.
    decay : float
        Typical value of `skip`, used to estimate the scales of long subsequences.
    """

    match: Array
    skip: Array
    similarity: Array
    lengths: Array
    decay: float


@jit
def _level_shifts(n, m, p, decay, match):
    """Return powers of two, one for each length, that keep sums of long subsequences in range.

    The sum over subsequences of q symbols is about
    ``(match * min((n - q + 1) / q, 1 / (1 - decay)))^2`` times the sum for q - 1 symbols.
    """
    shifts = np.zeros(p, dtype=np.int64)
    total = extreme = 0.0
    reach = np.inf if decay >= 1.0 else 1.0 / (1.0 - decay)
    for q in range(1, min(n, m, p) + 1):
        growth = np.log2(max(match, TINY)) * 2.0
        growth += np.log2(min((n - q + 1) / q, reach)) + np.log2(min((m - q + 1) / q, reach))
        shifts[q - 1] = -int(np.rint(growth))
        total += growth
        extreme = max(extreme, abs(total))
    if extreme < 500.0:
        shifts[:] = 0
    return shifts


@jit_leaf
def _match_plane(a, lanes, weighting, plane):
    """Compute weights of matching symbol `a` with the symbols of the lanes; 0 past the ends."""
    soft = weighting.similarity.shape[0] > 0
    for j in range(lanes.shape[0]):
        for lane in range(4):
            b = lanes[j, lane]
            if soft:
                here = weighting.similarity[a, b] if b >= 0 else 0.0
            else:
                here = 1.0 if a == b else 0.0
            plane[j, lane] = here * weighting.match[a] * weighting.match[max(b, 0)]


@jit_leaf
def _level(plane, before, row, skips, skip, scale, total):
    """Process one symbol of the first sequence, for subsequences of one length.

    Let S(j) = match(j) v(j), where v is the row of shorter subsequences before this symbol. The
    row becomes ``w(j + 1) = skip w(j + 1) + run(j)`` with ``run(j) = skips(j) run(j - 1) + S(j)``.
    The four lanes are written as scalars; a loop over lanes would be 3 times slower, because the
    compiler cannot prove that the arrays do not overlap.
    """
    r0 = r1 = r2 = r3 = 0.0
    t0 = total[0]
    t1 = total[1]
    t2 = total[2]
    t3 = total[3]
    for j in range(plane.shape[0]):
        # compute S(j)
        s0 = plane[j, 0] * before[j, 0] * scale
        s1 = plane[j, 1] * before[j, 1] * scale
        s2 = plane[j, 2] * before[j, 2] * scale
        s3 = plane[j, 3] * before[j, 3] * scale

        # compute run(j), the sums over subsequences that end at j
        r0 = skips[j, 0] * r0 + s0
        r1 = skips[j, 1] * r1 + s1
        r2 = skips[j, 2] * r2 + s2
        r3 = skips[j, 3] * r3 + s3

        # compute w(j + 1), the weights of these subsequences
        w0 = skip * row[j + 1, 0] + r0
        w1 = skip * row[j + 1, 1] + r1
        w2 = skip * row[j + 1, 2] + r2
        w3 = skip * row[j + 1, 3] + r3
        row[j + 1, 0] = w0
        row[j + 1, 1] = w1
        row[j + 1, 2] = w2
        row[j + 1, 3] = w3

        # add up the totals
        t0 += s0
        t1 += s1
        t2 += s2
        t3 += s3
    total[0] = t0
    total[1] = t1
    total[2] = t2
    total[3] = t3


@jit_leaf
def _weighted_sum(totals, lane, shifts, lengths, logarithm):
    """Return the sum of ``lengths[q] totals[q] 2^-(shifts[0] + ... + shifts[q])``, or its log."""
    # find the power of two of the largest term; the power is 0 except for very long sequences
    shift = top = 0
    largest = -np.inf
    shifted = False
    for q in range(len(lengths)):
        shifted = shifted or shifts[q] != 0
    for q in range(len(lengths) if shifted else 0):
        shift -= shifts[q]
        value = lengths[q] * totals[q, lane]
        if value > 0.0 and np.log2(value) + shift > largest:
            largest = np.log2(value) + shift
            top = shift

    # compute the sum in units of this power
    value = 0.0
    shift = 0
    for q in range(len(lengths)):
        shift -= shifts[q]
        term = lengths[q] * totals[q, lane]
        value += term * 2.0 ** (shift - top) if shifted else term
    if logarithm:
        return np.log(value) + top * LOG2 if value > 0.0 else -np.inf
    return value * 2.0**top if shifted else value


@jit_leaf
def _one_against_lanes(
    s, lanes, skips, weighting, shifts, rows, totals, planes, holds, first, cells
):
    """Compare the sequence s with four others, by rows of length `len(lanes) + 1`.

    `shifts` come from `_level_shifts`; ``planes[a % PLANES]`` contains the weights of matching the
    symbol ``holds[a % PLANES]``. Resumes at symbol `first` and works through about `cells` cells;
    returns the next symbol and the number of cells left over.
    """
    p = len(weighting.lengths)
    m = lanes.shape[0]
    if first == 0:
        for q in range(p + 1):
            for j in range(m + 1):
                # only the empty subsequence comes before the first symbol
                for lane in range(4):
                    rows[q, j, lane] = 1.0 if q == 0 else 0.0
        for q in range(p):
            for lane in range(4):
                totals[q, lane] = 0.0

    for i in range(first, len(s)):
        if cells <= 0 and i > first:  # each call processes at least one symbol
            return i, cells
        cells -= 4 * p * m

        # use the plane of the symbol again unless another symbol has replaced it
        a = s[i]
        plane = planes[a % PLANES, :m]
        if holds[a % PLANES] != a:
            _match_plane(a, lanes, weighting, plane)
            holds[a % PLANES] = a

        # update the levels from the longest to the shortest, so that row q - 1 still belongs to
        # the previous symbol
        for q in range(p, 0, -1):
            scale = 2.0 ** shifts[q - 1]
            _level(plane, rows[q - 1], rows[q], skips, weighting.skip[a], scale, totals[q - 1])
    return len(s), cells


@jit_leaf
def _sums_of_lanes(weighting, shifts, totals, logarithm, out):
    """Add up the totals of all lengths, for each of the four lanes."""
    for lane in range(4):
        out[lane] = _weighted_sum(totals, lane, shifts, weighting.lengths, logarithm)


@jit
def _fill_lanes(codes, offsets, indices, weighting, lanes, skips):
    """Put up to four sequences side by side, padded with -1."""
    lanes[:] = -1
    skips[:] = 1.0
    for lane in range(len(indices)):
        start = offsets[indices[lane]]
        for j in range(offsets[indices[lane] + 1] - start):
            lanes[j, lane] = codes[start + j]
            skips[j, lane] = weighting.skip[codes[start + j]]


@jit
def _all_pairs(X, order, Y, order_y, own, weighting, logarithm, K, position, saved, cells):
    """Write the sums over common subsequences of all pairs to K; the orders sort by length.

    Resumes at symbol ``position[2]`` of the sequence ``order[position[1]]`` against the four
    sequences from ``order_y[position[0]]`` on, with the rows and totals in `saved`. Returns True
    when finished.
    """
    (codes, offsets) = X
    (codes_y, offsets_y) = Y
    longest = (offsets_y[1:] - offsets_y[:-1]).max()
    p = len(weighting.lengths)
    match = weighting.match.max()
    rows = np.empty((p + 1, longest + 1, 4))
    totals = np.empty((p, 4))
    planes = np.empty((PLANES, longest, 4))
    holds = np.empty(PLANES, np.int32)
    out = np.empty(4)
    all_lanes = np.empty((longest, 4), dtype=np.int32)
    all_skips = np.empty((longest, 4))
    for first in range(position[0], len(order_y), 4):
        columns = order_y[first : first + 4]
        m = offsets_y[columns[-1] + 1] - offsets_y[columns[-1]]
        lanes = all_lanes[:m]
        skips = all_skips[:m]
        _fill_lanes(codes_y, offsets_y, columns, weighting, lanes, skips)
        holds[:] = -1
        shifts = _level_shifts(0, m, p, weighting.decay, match)
        n_before = 0

        for r in range(position[1], first + len(columns) if own else len(order)):
            # update the powers of two when the length changes
            i = order[r]
            s = codes[offsets[i] : offsets[i + 1]]
            if len(s) != n_before:
                shifts = _level_shifts(len(s), m, p, weighting.decay, match)
                n_before = len(s)

            if position[2] > 0:
                rows[:] = saved[:-1, : longest + 1]
                totals[:] = saved[-1, :p]
            done, cells = _one_against_lanes(
                *(s, lanes, skips, weighting, shifts, rows, totals, planes, holds),
                *(position[2], cells),
            )
            if done < len(s):
                position[0] = first
                position[1] = r
                position[2] = done
                saved[:-1, : longest + 1] = rows
                saved[-1, :p] = totals
                return False

            # write the four entries
            position[2] = 0
            _sums_of_lanes(weighting, shifts, totals, logarithm, out)
            for lane in range(len(columns)):
                if not own:
                    K[i, columns[lane]] = out[lane]
                elif r <= first + lane:
                    K[i, columns[lane]] = K[columns[lane], i] = out[lane]
        position[1] = 0
    return True


@jit
def _own_pairs(codes, offsets, weighting, logarithm, d, position, saved, cells):
    """Do the same for each sequence with itself.

    Resumes at symbol ``position[1]`` of sequence ``position[0]``.
    """
    longest = (offsets[1:] - offsets[:-1]).max()
    p = len(weighting.lengths)
    rows = np.empty((p + 1, longest + 1, 4))
    totals = np.empty((p, 4))
    planes = np.empty((PLANES, longest, 4))
    holds = np.empty(PLANES, np.int32)
    out = np.empty(4)
    index = np.zeros(1, dtype=np.int64)

    for i in range(position[0], len(d)):
        m = offsets[i + 1] - offsets[i]
        lanes = np.empty((m, 4), dtype=np.int32)
        skips = np.empty((m, 4))

        index[0] = i
        _fill_lanes(codes, offsets, index, weighting, lanes, skips)
        holds[:] = -1

        s = codes[offsets[i] : offsets[i + 1]]
        if position[1] > 0:
            rows[:] = saved[:-1, : longest + 1]
            totals[:] = saved[-1, :p]
        shifts = _level_shifts(m, m, p, weighting.decay, weighting.match.max())
        done, cells = _one_against_lanes(
            *(s, lanes, skips, weighting, shifts, rows, totals, planes, holds),
            *(position[1], cells),
        )

        # if unfinished, store the state; otherwise sum over the lengths
        if done < len(s):
            position[0] = i
            position[1] = done
            saved[:-1, : longest + 1] = rows
            saved[-1, :p] = totals
            return False
        position[1] = 0
        _sums_of_lanes(weighting, shifts, totals, logarithm, out)
        d[i] = out[0]
    return True


def _lane_state(offsets: Array, weighting: Weighting) -> tuple[Array, Array]:
    """Return the initial position, and workspace for the rows of all lengths and the totals."""
    p = len(weighting.lengths)
    longest = int(np.diff(offsets).max())
    return np.zeros(3, dtype=np.int64), np.empty((p + 2, max(longest + 1, p), 4))


def subsequence_sums(
    codes: Array,
    offsets: Array,
    weighting: Weighting,
    others: tuple[Array, Array] | None = None,
    *,
    logarithm: bool = False,
) -> Array:
    """Sum over all pairs of equal subsequences of two sequences, for all pairs of sequences.

    A pair of subsequences of q symbols counts ``lengths[q - 1]`` times the weights of its matched
    and of its skipped symbols [Lodhi et al. 2002; Shawe-Taylor and Cristianini 2004, section
    11.5]. The time for a pair is ``p |s| |t|``; memory is ``4 p`` numbers for each symbol of the
    longest sequence. A sequence is compared with four sequences of similar length at a time.

    Parameters
    ----------
    codes, offsets : ndarray
        Sequences of symbol numbers.
    weighting : Weighting
        Weights of symbols and lengths.
    others : tuple of ndarray
        Codes and offsets of the second collection, with the same alphabet; None uses the first.
    logarithm : bool
        Whether to return logarithms, which stay finite if the sums overflow.

    Returns
    -------
    K : ndarray of shape (n_sequences, n_others)
        Sums, or their logarithms.
    """
    own = others is None
    codes_y, offsets_y = (codes, offsets) if others is None else others
    K = np.full((len(offsets) - 1, len(offsets_y) - 1), -np.inf if logarithm else 0.0)
    if K.size:
        order, order_y = (np.argsort(np.diff(o), kind="stable") for o in (offsets, offsets_y))
        state = _lane_state(offsets_y, weighting)
        X = (codes, offsets)
        Y = (codes_y, offsets_y)
        in_pieces(_all_pairs, X, order, Y, order_y, own, weighting, logarithm, K, *state)
    return K


def own_subsequence_sums(
    codes: Array, offsets: Array, weighting: Weighting, *, logarithm: bool = False
) -> Array:
    """Return the diagonal of `subsequence_sums`."""
    d = np.zeros(len(offsets) - 1)
    if len(d):
        state = _lane_state(offsets, weighting)
        in_pieces(_own_pairs, codes, offsets, weighting, logarithm, d, *state)
    return d


@jit
def _derivative(s, t, matching, lengths, w, dw, first, total, cells):
    """Differentiate with respect to the logarithm of the decay, by the recursion of `_level`.

    `matching` contains the decay, the weight of a match, and the derivative of its logarithm.
    Resumes at symbol `first` and works through about `cells` cells; returns the sum so far, the
    next symbol and the number of cells left over.
    """
    decay, match, match_slope = matching
    if first == 0:
        total = 0.0
        w[0] = 1.0
        dw[0] = 0.0
        w[1:] = 0.0
        dw[1:] = 0.0

    for i in range(first, len(s)):
        if cells <= 0 and i > first:  # each call processes at least one symbol
            return total, i, cells
        cells -= CELLS_OF_PRODUCTS * len(lengths) * len(t)

        a = s[i]
        for q in range(len(lengths), 0, -1):
            run = slope = 0.0
            for j in range(len(t)):
                # compute the contribution of matching s_i with t_j, and its derivative
                here = match if t[j] == a else 0.0
                value = here * w[q - 1, j]
                change = here * (dw[q - 1, j] + match_slope * w[q - 1, j])

                # update the running sums, which decay by one more skip, and their derivatives
                slope = decay * (run + slope) + change
                run = decay * run + value
                dw[q, j + 1] = decay * (w[q, j + 1] + dw[q, j + 1]) + slope
                w[q, j + 1] = decay * w[q, j + 1] + run
                total += lengths[q - 1] * change
    return total, len(s), cells


@jit
def _derivatives(codes, offsets, matching, lengths, G, position, w, dw, cells):
    """Differentiate for all pairs.

    Resumes at symbol ``position[2]`` of the pair ``position[0], position[1]``.
    """
    for i in range(position[0], len(G)):
        s = codes[offsets[i] : offsets[i + 1]]
        for j in range(position[1], i + 1):
            t = codes[offsets[j] : offsets[j + 1]]
            m = len(t) + 1
            G[i, j], done, cells = _derivative(
                s, t, matching, lengths, w[:, :m], dw[:, :m], position[2], G[i, j], cells
            )
            if done < len(s):
                position[0] = i
                position[1] = j
                position[2] = done
                return False
            position[2] = 0
            G[j, i] = G[i, j]
        position[1] = 0
    return True


def subsequence_slopes(
    codes: Array, offsets: Array, decay: float, lengths: Array, *, matches_decay: bool
) -> Array:
    """Differentiate `subsequence_sums` with respect to the logarithm of a common decay.

    A match has the weight ``decay^2`` if `matches_decay`, and otherwise 1.
    """
    G = np.zeros((len(offsets) - 1, len(offsets) - 1))
    if G.size:
        matching = (decay, decay**2, 2.0) if matches_decay else (decay, 1.0, 0.0)
        shape = (len(lengths) + 1, int(np.diff(offsets).max()) + 1)
        state = np.zeros(3, dtype=np.int64), np.empty(shape), np.empty(shape)
        in_pieces(_derivatives, codes, offsets, matching, lengths, G, *state)
    return G


# ---- all subsequences -----------------------------------------------------------------------

# Largest number that is stored without an exponent; larger numbers are divided by it.
STEP = 2.0**400


@jit
def _plus(a, ea, b, eb):
    """Add ``a STEP^ea`` and ``b STEP^eb``; a number that is two steps smaller is negligible."""
    if ea < eb:
        a, ea, b, eb = b, eb, a, ea
    if eb == ea:
        a += b
    elif eb == ea - 1:
        a += b / STEP
    if a > STEP:
        return a / STEP, ea + 1
    return a, ea


@jit
def _all_common(s, t, r, e, logarithm, first, cells):
    """Count pairs of equal subsequences, ``r(i, j) = r(i - 1, j) + P(i, j)``.

    Here ``P(i, j) = P(i, j - 1) + [s_i = t_j] r(i - 1, j - 1)``. Each entry has its own exponent,
    because the entries of a row may differ by more than the range of a number. Resumes at row
    `first` and works through about `cells` cells; returns the count, the next row and the number
    of cells left over.
    """
    if first == 0:
        r[:] = 1.0
        e[:] = 0
    for i in range(first, len(s)):
        if cells <= 0 and i > first:  # each call fills at least one row
            return 0.0, i, cells
        cells -= CELLS_OF_PRODUCTS * len(t)

        # compute P(i, j) along the row, and update the row in place
        a = s[i]
        p = 0.0
        ep = 0
        before = r[0]
        e_before = e[0]
        for j in range(len(t)):
            if t[j] == a:
                p, ep = _plus(p, ep, before, e_before)
            before = r[j + 1]
            e_before = e[j + 1]
            r[j + 1], e[j + 1] = _plus(before, e_before, p, ep)

    if logarithm:
        return np.log(r[-1]) + e[-1] * np.log(STEP), len(s), cells
    return r[-1] * STEP ** e[-1], len(s), cells


@jit
def _all_common_pairs(X, Y, own, logarithm, K, position, numbers, powers, cells):
    """Count for all pairs; return True when finished.

    Resumes at row ``position[2]`` of the pair ``position[0], position[1]``.
    """
    (codes, offsets) = X
    (codes_y, offsets_y) = Y
    r = numbers.copy()
    e = powers.copy()
    for i in range(position[0], K.shape[0]):
        s = codes[offsets[i] : offsets[i + 1]]
        for j in range(position[1], i + 1 if own else K.shape[1]):
            t = codes_y[offsets_y[j] : offsets_y[j + 1]]

            m = len(t) + 1
            K[i, j], done, cells = _all_common(
                s, t, r[:m], e[:m], logarithm, position[2], cells
            )

            # if interrupted, store where to resume
            if done < len(s):
                position[0] = i
                position[1] = j
                position[2] = done
                numbers[:] = r
                powers[:] = e
                return False

            position[2] = 0
            if own:
                K[j, i] = K[i, j]
        position[1] = 0
    return True


@jit
def _all_common_own(codes, offsets, logarithm, d, position, numbers, powers, cells):
    """Count for each sequence with itself, resuming at row ``position[1]`` of ``position[0]``."""
    r = numbers.copy()
    e = powers.copy()
    for i in range(position[0], len(d)):
        s = codes[offsets[i] : offsets[i + 1]]
        m = len(s) + 1
        d[i], done, cells = _all_common(s, s, r[:m], e[:m], logarithm, position[1], cells)
        if done < len(s):
            position[0] = i
            position[1] = done
            numbers[:] = r
            powers[:] = e
            return False
        position[1] = 0
    return True


def _common_state(offsets: Array) -> tuple[Array, Array, Array]:
    """Return the initial position, and workspace for the numbers and exponents of a row."""
    n = int(np.diff(offsets).max()) + 1
    return np.zeros(3, dtype=np.int64), np.empty(n), np.empty(n, dtype=np.int64)


def all_subsequence_counts(
    codes: Array,
    offsets: Array,
    others: tuple[Array, Array] | None = None,
    *,
    logarithm: bool = False,
) -> Array:
    """Count pairs of equal subsequences of any length, including the empty subsequence.

    See Shawe-Taylor and Cristianini 2004, section 11.3. The time for a pair is ``|s| |t|``.
    """
    codes_y, offsets_y = (codes, offsets) if others is None else others
    K = np.zeros((len(offsets) - 1, len(offsets_y) - 1))
    if K.size:
        own = others is None
        state = _common_state(offsets_y)
        X = (codes, offsets)
        Y = (codes_y, offsets_y)
        in_pieces(_all_common_pairs, X, Y, own, logarithm, K, *state)
    return K


def own_all_subsequence_counts(
    codes: Array, offsets: Array, *, logarithm: bool = False
) -> Array:
    """Return the diagonal of `all_subsequence_counts`."""
    d = np.zeros(len(offsets) - 1)
    if len(d):
        in_pieces(_all_common_own, codes, offsets, logarithm, d, *_common_state(offsets))
    return d

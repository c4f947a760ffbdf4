"""Sums over common subsequences of two sequences, by dynamic programming."""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.typing import Array

LOG2 = float(np.log(2.0))
CELLS_OF_SLOPES = 4  # cells of sums that one of their derivatives is worth
PLANES = 32  # symbols whose weights against four sequences are kept, one for each remainder


class Weighting(NamedTuple):
    """How symbols count.

    Attributes
    ----------
    match : ndarray of shape (n_symbols,)
        A matched symbol multiplies by this in each of the two sequences.
    skip : ndarray of shape (n_symbols,)
        So does a symbol that is skipped between the first and the last matched one.
    similarity : ndarray of shape (n_symbols, n_symbols), or (0, 0)
        Similarity of two symbols, in place of equality.
    lengths : ndarray of shape (p,)
        Weight of the subsequences of each length.
    decay : float
        Typical value of `skip`, from which the scales of long subsequences are guessed.
    """

    match: Array
    skip: Array
    similarity: Array
    lengths: Array
    decay: float


@jit
def _level_shifts(n, m, p, decay, match):
    """Powers of two, one for each length, that keep sums of long subsequences in range.

    The sum over subsequences of q symbols is that of q - 1 times about
    ``(match * min((n - q + 1) / q, 1 / (1 - decay)))^2``.
    """
    shifts = np.zeros(p, dtype=np.int64)
    total = extreme = 0.0
    reach = 1e300 if decay >= 1.0 else 1.0 / (1.0 - decay)
    for q in range(1, min(n, m, p) + 1):
        growth = np.log2(max(match, 1e-300)) * 2.0
        growth += np.log2(min((n - q + 1) / q, reach)) + np.log2(min((m - q + 1) / q, reach))
        shifts[q - 1] = -int(np.rint(growth))
        total += growth
        extreme = max(extreme, abs(total))
    if extreme < 500.0:
        shifts[:] = 0
    return shifts


@jit_leaf
def _match_plane(a, lanes, weighting, plane):
    """Weight of matching symbol `a` with each symbol of the lanes; 0 beyond their ends."""
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
    """One symbol of the first sequence, for subsequences of one length.

    With S(j) = match(j) v(j), v the row of the shorter subsequences before this symbol, the row
    becomes ``w(j + 1) = skip w(j + 1) + run(j)`` with ``run(j) = skips(j) run(j - 1) + S(j)``.
    Four lanes are scalars: written as a loop over lanes this is 3 times slower, as the
    compiler cannot tell that the arrays do not overlap.
    """
    r0 = r1 = r2 = r3 = 0.0
    t0 = total[0]
    t1 = total[1]
    t2 = total[2]
    t3 = total[3]
    for j in range(plane.shape[0]):
        # S(j)
        s0 = plane[j, 0] * before[j, 0] * scale
        s1 = plane[j, 1] * before[j, 1] * scale
        s2 = plane[j, 2] * before[j, 2] * scale
        s3 = plane[j, 3] * before[j, 3] * scale

        # the sums over what ends at j, run(j)
        r0 = skips[j, 0] * r0 + s0
        r1 = skips[j, 1] * r1 + s1
        r2 = skips[j, 2] * r2 + s2
        r3 = skips[j, 3] * r3 + s3

        # the row of these subsequences
        w0 = skip * row[j + 1, 0] + r0
        w1 = skip * row[j + 1, 1] + r1
        w2 = skip * row[j + 1, 2] + r2
        w3 = skip * row[j + 1, 3] + r3
        row[j + 1, 0] = w0
        row[j + 1, 1] = w1
        row[j + 1, 2] = w2
        row[j + 1, 3] = w3

        # their total
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
    """Sum of ``lengths[q] totals[q] 2^-(shifts[0] + ... + shifts[q])``, or its logarithm."""
    # the power of two of the largest term; few sequences are so long that there is one
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

    # the sum, in units of it
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

    `shifts` are those of `_level_shifts`; ``planes[a % PLANES]`` has the weights of matching the
    symbol ``holds[a % PLANES]``. Goes on from symbol `first` for about so many cells; returns the
    next symbol, and the cells left.
    """
    p = len(weighting.lengths)
    m = lanes.shape[0]
    if first == 0:
        for q in range(p + 1):
            for j in range(m + 1):
                for lane in range(4):  # the empty subsequence goes before any symbol
                    rows[q, j, lane] = 1.0 if q == 0 else 0.0
        for q in range(p):
            for lane in range(4):
                totals[q, lane] = 0.0

    for i in range(first, len(s)):
        if cells <= 0 and i > first:  # one symbol at least
            return i, cells
        cells -= 4 * p * m

        # the plane of a symbol is kept as long as no other needs its place
        a = s[i]
        plane = planes[a % PLANES, :m]
        if holds[a % PLANES] != a:
            _match_plane(a, lanes, weighting, plane)
            holds[a % PLANES] = a

        # levels from the longest on
        for q in range(p, 0, -1):  # the row of q - 1 is still that of the symbol before
            scale = 2.0 ** shifts[q - 1]
            _level(plane, rows[q - 1], rows[q], skips, weighting.skip[a], scale, totals[q - 1])
    return len(s), cells


@jit_leaf
def _sums_of_lanes(weighting, shifts, totals, logarithm, out):
    """Add up the sums of the four lanes, from those over the subsequences of each length."""
    for lane in range(4):
        out[lane] = _weighted_sum(totals, lane, shifts, weighting.lengths, logarithm)


@jit
def _fill_lanes(codes, offsets, chosen, weighting, lanes, skips):
    """Put up to four sequences side by side, -1 beyond the end of each."""
    lanes[:] = -1
    skips[:] = 1.0
    for lane in range(len(chosen)):
        start = offsets[chosen[lane]]
        for j in range(offsets[chosen[lane] + 1] - start):
            lanes[j, lane] = codes[start + j]
            skips[j, lane] = weighting.skip[codes[start + j]]


@jit
def _all_pairs(X, order, Y, order_y, own, weighting, logarithm, K, position, saved, cells):
    """Write sums over common subsequences of all pairs into K; the orders are by length.

    Goes on with symbol ``position[2]`` of the sequence ``order[position[1]]`` against the four
    from ``order_y[position[0]]`` on, after the rows and totals that are `saved`; True at the end.
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
        chosen = order_y[first : first + 4]
        m = offsets_y[chosen[-1] + 1] - offsets_y[chosen[-1]]
        lanes = all_lanes[:m]
        skips = all_skips[:m]
        _fill_lanes(codes_y, offsets_y, chosen, weighting, lanes, skips)
        holds[:] = -1
        shifts = _level_shifts(0, m, p, weighting.decay, match)
        n_before = 0

        for r in range(position[1], first + len(chosen) if own else len(order)):
            # powers of two, for one length after another
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

            # the four entries
            position[2] = 0
            _sums_of_lanes(weighting, shifts, totals, logarithm, out)
            for lane in range(len(chosen)):
                if not own:
                    K[i, chosen[lane]] = out[lane]
                elif r <= first + lane:
                    K[i, chosen[lane]] = K[chosen[lane], i] = out[lane]
        position[1] = 0
    return True


@jit
def _own_pairs(codes, offsets, weighting, logarithm, d, position, saved, cells):
    """Compute the same for each sequence with itself.

    Goes on with symbol ``position[1]`` of sequence ``position[0]``.
    """
    longest = (offsets[1:] - offsets[:-1]).max()
    p = len(weighting.lengths)
    rows = np.empty((p + 1, longest + 1, 4))
    totals = np.empty((p, 4))
    planes = np.empty((PLANES, longest, 4))
    holds = np.empty(PLANES, np.int32)
    out = np.empty(4)
    chosen = np.zeros(1, dtype=np.int64)

    for i in range(position[0], len(d)):
        m = offsets[i + 1] - offsets[i]
        lanes = np.empty((m, 4), dtype=np.int32)
        skips = np.empty((m, 4))

        chosen[0] = i
        _fill_lanes(codes, offsets, chosen, weighting, lanes, skips)
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

        # to be continued, or the sum over the lengths
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
    """Where a sum is, and room for the rows of all lengths and, last, for their totals."""
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
    11.5]. Time ``p |s| |t|`` for each pair, memory ``4 p`` numbers for each symbol of the longest
    sequence. One sequence meets four of similar length at a time.

    Parameters
    ----------
    codes, offsets : ndarray
        Sequences of symbol numbers.
    weighting : Weighting
        Weights of symbols and lengths.
    others : tuple of ndarray
        Codes and offsets of the second collection, of the same alphabet; None takes the first.
    logarithm : bool
        Whether to return logarithms, which are finite where the sums are not.

    Returns
    -------
    K : ndarray of shape (n_sequences, n_others)
        The sums.
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
    """Diagonal of `subsequence_sums`."""
    d = np.zeros(len(offsets) - 1)
    if len(d):
        state = _lane_state(offsets, weighting)
        in_pieces(_own_pairs, codes, offsets, weighting, logarithm, d, *state)
    return d


@jit
def _derivative(s, t, matching, lengths, w, dw, first, total, cells):
    """Differentiate in the logarithm of the decay: the recursion of `_level`, differentiated.

    `matching` are the decay, the weight of a match, and the derivative of its logarithm. Goes on
    from symbol `first` for about so many cells; returns the sum so far, the next symbol, and the
    cells left.
    """
    decay, match, match_slope = matching
    if first == 0:
        total = 0.0
        w[0] = 1.0
        dw[0] = 0.0
        w[1:] = 0.0
        dw[1:] = 0.0

    for i in range(first, len(s)):
        if cells <= 0 and i > first:  # one symbol at least
            return total, i, cells
        cells -= CELLS_OF_SLOPES * len(lengths) * len(t)

        a = s[i]
        for q in range(len(lengths), 0, -1):
            run = slope = 0.0
            for j in range(len(t)):
                # weight of the matches of s_i and t_j, and its derivative
                here = match if t[j] == a else 0.0
                value = here * w[q - 1, j]
                change = here * (dw[q - 1, j] + match_slope * w[q - 1, j])

                # the same, one more skip for each symbol since
                slope = decay * (run + slope) + change
                run = decay * run + value
                dw[q, j + 1] = decay * (w[q, j + 1] + dw[q, j + 1]) + slope
                w[q, j + 1] = decay * w[q, j + 1] + run
                total += lengths[q - 1] * change
    return total, len(s), cells


@jit
def _derivatives(codes, offsets, matching, lengths, G, position, w, dw, cells):
    """Differentiate for all pairs.

    Goes on with symbol ``position[2]`` of the pair ``position[0], position[1]``.
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
    """Return derivatives of `subsequence_sums` in the logarithm of one decay for all symbols.

    `matches_decay` tells whether a match weighs ``decay^2`` or 1.
    """
    G = np.zeros((len(offsets) - 1, len(offsets) - 1))
    if G.size:
        matching = (decay, decay**2, 2.0) if matches_decay else (decay, 1.0, 0.0)
        shape = (len(lengths) + 1, int(np.diff(offsets).max()) + 1)
        state = np.zeros(3, dtype=np.int64), np.empty(shape), np.empty(shape)
        in_pieces(_derivatives, codes, offsets, matching, lengths, G, *state)
    return G


# ---- all subsequences -----------------------------------------------------------------------

STEP = 2.0**400  # a number above it is stored divided by it
CELLS_OF_EXPONENTS = 4  # cells of others that one with an exponent is worth


@jit
def _plus(a, ea, b, eb):
    """Add ``a STEP^ea`` and ``b STEP^eb``; what is two steps smaller is lost in rounding."""
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
    """Count pairs of equal subsequences: ``r(i, j) = r(i - 1, j) + P(i, j)``.

    ``P(i, j) = P(i, j - 1) + [s_i = t_j] r(i - 1, j - 1)``. Every entry has an exponent of its
    own, as the entries of one row may differ by more than the range of a number. Goes on from row
    `first` for about so many cells; returns the count, the next row, and the cells left.
    """
    if first == 0:
        r[:] = 1.0
        e[:] = 0
    for i in range(first, len(s)):
        if cells <= 0 and i > first:  # one row at least
            return 0.0, i, cells
        cells -= CELLS_OF_EXPONENTS * len(t)

        # P(i, j) along the row, with the row before in place
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
        return np.log(r[-1]) + e[-1] * 400 * LOG2, len(s), cells
    return r[-1] * STEP ** e[-1], len(s), cells


@jit
def _all_common_pairs(X, Y, own, logarithm, K, position, numbers, powers, cells):
    """Count for all pairs; True at the end.

    Goes on with row ``position[2]`` of the pair ``position[0], position[1]``.
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

            # interrupted: where to go on
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
    """Count for each sequence with itself, from row ``position[1]`` of ``position[0]`` on."""
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
    """Where a count is, and room for a row: its numbers and their exponents."""
    n = int(np.diff(offsets).max()) + 1
    return np.zeros(3, dtype=np.int64), np.empty(n), np.empty(n, dtype=np.int64)


def all_subsequence_counts(
    codes: Array,
    offsets: Array,
    others: tuple[Array, Array] | None = None,
    *,
    logarithm: bool = False,
) -> Array:
    """Numbers of pairs of equal subsequences of any length, the empty ones included.

    Shawe-Taylor and Cristianini 2004, section 11.3; time ``|s| |t|`` for each pair.
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
    """Diagonal of `all_subsequence_counts`."""
    d = np.zeros(len(offsets) - 1)
    if len(d):
        in_pieces(_all_common_own, codes, offsets, logarithm, d, *_common_state(offsets))
    return d

"""Sums over the common subtrees of two trees, by productions [Collins2002, section 3].

A subtree has with each node all children of it or none. ``Delta(v, w)`` sums `decay` to the number
of productions over the subtrees that begin at v and at w alike: 0 unless both have the same
production, and then ``decay * prod_c (1 + Delta(c-th child of v, c-th child of w))``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skmoderndata._jit import jit, jit_leaf
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.trees.interning import children, productions
from skmoderndata._typing import Array

CELLS_OF_PAIRS = 4  # cells of others that a pair of nodes is worth
CELLS_OF_LOGARITHMS = 16  # and a pair with logarithms


class Nodes(NamedTuple):
    """Nodes of a forest in post-order, and those with children sorted by their production.

    Attributes
    ----------
    offsets : ndarray of int64, of shape (n_trees + 1,)
        Where the nodes of each tree begin.
    key : ndarray of int64, of shape (n_nodes,)
        Production; -1 for leaves.
    starts, child : ndarray of int64
        The children of node v are ``child[starts[v]:starts[v + 1]]``.
    order, sorted_key : ndarray of int64
        Nodes with children, in each tree by production and then by position; their productions.
    bounds : ndarray of int64, of shape (n_trees + 1,)
        Where each tree begins in `order`.
    rank : ndarray of int64, of shape (n_nodes,)
        Position of a node among those of its tree with the same production.
    """

    offsets: Array
    key: Array
    starts: Array
    child: Array
    order: Array
    sorted_key: Array
    bounds: Array
    rank: Array


def sort_nodes(labels: Array, degrees: Array, offsets: Array, *, of_children: bool) -> Nodes:
    """Return the nodes of a forest with their productions."""
    starts, child = children(degrees)
    key, n_keys = productions(labels, degrees, starts, child, of_children=of_children)
    inner = np.flatnonzero(degrees)
    tree = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[inner]
    group = tree * n_keys + key[inner]
    by_group = np.argsort(group, kind="stable")
    order = inner[by_group]
    group = group[by_group]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    rank = np.zeros(len(labels), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
    sorted_key = key[order]
    key[degrees == 0] = -1
    bounds = np.searchsorted(inner, offsets)
    return Nodes(offsets, key, starts, child, order, sorted_key, bounds, rank)


@jit_leaf
def _match(nodes, i, j, first, base, begin, keep):
    """Nodes of tree j with the production of each node of tree i, and cells for the pairs.

    Pair (v, w) has the cell ``base[v] + rank[w]``. The cells of a node are read by its parent
    only, so they lie on a stack: those of v are written from `begin[v]` on, above those of its
    children, and then take their place. `keep` gives each pair a cell of its own. Returns the
    number of cells.
    """
    start = nodes.offsets[i]

    for v in range(nodes.offsets[i + 1] - start):
        first[v] = -1
        base[v] = 0

    # both lists of productions are sorted
    a = nodes.bounds[i]
    b = nodes.bounds[j]
    while a < nodes.bounds[i + 1] and b < nodes.bounds[j + 1]:
        if nodes.sorted_key[a] < nodes.sorted_key[b]:
            a += 1
        elif nodes.sorted_key[a] > nodes.sorted_key[b]:
            b += 1
        else:
            key = nodes.sorted_key[a]
            g = b
            while b < nodes.bounds[j + 1] and nodes.sorted_key[b] == key:
                b += 1
            while a < nodes.bounds[i + 1] and nodes.sorted_key[a] == key:
                first[nodes.order[a] - start] = g
                base[nodes.order[a] - start] = b - g
                a += 1

    # the cells of a node lie above those of its children
    top = cells = 0
    for v in range(nodes.offsets[i + 1] - start):
        size = base[v]
        begin[v] = top
        base[v] = top
        if not keep and nodes.starts[start + v] < nodes.starts[start + v + 1]:
            base[v] = base[nodes.child[nodes.starts[start + v]] - start]
        top = base[v] + size
        cells = max(cells, begin[v] + size)
    return cells


@jit_leaf
def _settle(delta, base, begin, end):
    """Move the cells of a node to where those of its children were."""
    if base < begin:
        for cell in range(begin, end):
            delta[base + cell - begin] = delta[cell]


@jit_leaf
def _all_subtrees(nodes, i, j, decay, first, base, begin, delta, at, total, cells):
    """Sum of Delta over all pairs of nodes, children before parents.

    Goes on from node ``at[1]`` of tree i and from `total` for about so many cells; ``at[1]`` is
    the next node. Returns the sum, and the cells left.
    """
    start = nodes.offsets[i]
    for v in range(start + at[1], nodes.offsets[i + 1]):
        if cells <= 0 and v > start + at[1]:  # one node at least
            at[1] = v - start
            return total, cells

        # the nodes of tree j with its production are in sequence
        g = first[v - start]
        if g < 0:
            continue

        key = nodes.key[v]
        cell = begin[v - start]
        while g < nodes.bounds[j + 1] and nodes.sorted_key[g] == key:
            shift = nodes.starts[nodes.order[g]] - nodes.starts[v]

            # Delta(v, w) = decay prod (1 + Delta(children))
            d = decay
            for e in range(nodes.starts[v], nodes.starts[v + 1]):
                c = nodes.child[e]
                o = nodes.child[e + shift]
                if nodes.key[c] >= 0 and nodes.key[c] == nodes.key[o]:
                    d *= 1.0 + delta[base[c - start] + nodes.rank[o]]

            delta[cell] = d
            total += d
            cell += 1
            g += 1

        cells -= CELLS_OF_PAIRS * (cell - begin[v - start])
        _settle(delta, base[v - start], begin[v - start], cell)
    at[1] = nodes.offsets[i + 1] - start
    return total, cells


@jit_leaf
def _softplus(x):
    """log(1 + exp(x)), without overflow."""
    return x + np.log1p(np.exp(-x)) if x > 0.0 else np.log1p(np.exp(x))


@jit_leaf
def _log_all_subtrees(nodes, i, j, log_decay, first, base, begin, delta, at, sums, cells):
    """Logarithm of the sum of Delta, for sums beyond the range of numbers.

    As `_all_subtrees`, with the sum so far and its largest term, to which it is relative, in
    `sums`.
    """
    start = nodes.offsets[i]
    total = sums[0]
    top = sums[1]
    for v in range(start + at[1], nodes.offsets[i + 1]):
        if cells <= 0 and v > start + at[1]:  # one node at least
            at[1] = v - start
            sums[0] = total
            sums[1] = top
            return 0.0, cells
        g = first[v - start]
        # log Delta(v, w) = log decay + sum log(1 + Delta(children))
        if g < 0:
            continue
        key = nodes.key[v]
        cell = begin[v - start]

        while g < nodes.bounds[j + 1] and nodes.sorted_key[g] == key:
            shift = nodes.starts[nodes.order[g]] - nodes.starts[v]

            d = log_decay
            for e in range(nodes.starts[v], nodes.starts[v + 1]):
                c = nodes.child[e]
                o = nodes.child[e + shift]
                if nodes.key[c] >= 0 and nodes.key[c] == nodes.key[o]:
                    d += _softplus(delta[base[c - start] + nodes.rank[o]])

            delta[cell] = d

            if d > top:  # total is relative to the largest term
                total *= np.exp(top - d)
                top = d
            total += np.exp(d - top)
            cell += 1
            g += 1

        cells -= CELLS_OF_LOGARITHMS * (cell - begin[v - start])
        _settle(delta, base[v - start], begin[v - start], cell)
    at[1] = nodes.offsets[i + 1] - start
    return top + np.log(total), cells


@jit_leaf
def _slope(nodes, i, j, first, base, begin, delta, slope, at, sums, cells):
    """Add up ``d Delta / d log decay`` in ``sums[0]``; `delta` holds the values of all pairs.

    With s = d log Delta / d log decay: s(v, w) = 1 + sum_c s_c Delta_c / (1 + Delta_c). Goes on
    from node ``at[1]`` of tree i for about so many cells, and returns the cells left.
    """
    start = nodes.offsets[i]
    for v in range(start + at[1], nodes.offsets[i + 1]):
        if cells <= 0 and v > start + at[1]:  # one node at least
            at[1] = v - start
            return cells

        g = first[v - start]
        if g < 0:
            continue

        key = nodes.key[v]
        cell = begin[v - start]
        while g < nodes.bounds[j + 1] and nodes.sorted_key[g] == key:
            shift = nodes.starts[nodes.order[g]] - nodes.starts[v]

            # derivatives of the children's factors
            s = 1.0
            for e in range(nodes.starts[v], nodes.starts[v + 1]):
                c = nodes.child[e]
                o = nodes.child[e + shift]
                if nodes.key[c] >= 0 and nodes.key[c] == nodes.key[o]:
                    below = base[c - start] + nodes.rank[o]
                    s += slope[below] * delta[below] / (1.0 + delta[below])

            slope[cell] = s
            sums[0] += s * delta[cell]
            cell += 1
            g += 1

        cells -= CELLS_OF_PAIRS * (cell - begin[v - start])
    at[1] = nodes.offsets[i + 1] - start
    return cells


@jit_leaf
def _log_slope(nodes, i, j, first, base, begin, delta, slope, at, sums, cells):
    """Add up s Delta, with s as in `_slope`, and Delta, from the logarithms `delta` of all pairs.

    `sums` are the two, relative to the largest Delta, and its logarithm; their ratio is the
    derivative of the logarithm of the sum. Goes on as `_slope`.
    """
    start = nodes.offsets[i]
    top = sums[2]
    numerator = sums[0]
    denominator = sums[1]
    for v in range(start + at[1], nodes.offsets[i + 1]):
        if cells <= 0 and v > start + at[1]:  # one node at least
            at[1] = v - start
            sums[0] = numerator
            sums[1] = denominator
            sums[2] = top
            return cells
        g = first[v - start]

        if g < 0:
            continue
        key = nodes.key[v]
        cell = begin[v - start]

        while g < nodes.bounds[j + 1] and nodes.sorted_key[g] == key:
            shift = nodes.starts[nodes.order[g]] - nodes.starts[v]
            s = 1.0

            for e in range(nodes.starts[v], nodes.starts[v + 1]):
                c = nodes.child[e]
                o = nodes.child[e + shift]
                if nodes.key[c] >= 0 and nodes.key[c] == nodes.key[o]:
                    below = base[c - start] + nodes.rank[o]
                    s += slope[below] * np.exp(delta[below] - _softplus(delta[below]))

            slope[cell] = s

            # sums relative to their largest term
            if delta[cell] > top:  # both are relative to the largest term
                numerator *= np.exp(top - delta[cell])
                denominator *= np.exp(top - delta[cell])
                top = delta[cell]

            weight = np.exp(delta[cell] - top)
            numerator += weight * s
            denominator += weight
            cell += 1
            g += 1

        cells -= CELLS_OF_LOGARITHMS * (cell - begin[v - start])
    at[1] = nodes.offsets[i + 1] - start
    sums[0] = numerator
    sums[1] = denominator
    sums[2] = top
    return cells


@jit
def _row_of_all(nodes, i, start, stop, decay, logarithm, out, at, totals, saved, cells):
    """Sum over all pairs of nodes for tree i and the trees from `start` to `stop`.

    Goes on with node ``at[1]`` of tree i against tree ``start + at[0]``, after `totals` and the
    cells that are `saved`; ``at[2]`` says whether sums are logarithms, and ``at[3]`` how many
    cells are needed. True at the end.
    """
    size = nodes.offsets[i + 1] - nodes.offsets[i]

    first = np.empty(size, dtype=np.int64)
    base = np.empty(size, dtype=np.int64)
    begin = np.empty(size, dtype=np.int64)
    total = totals[0]
    delta = saved[0]
    for j in range(start + at[0], stop):
        # 1. room for the pairs
        n_cells = _match(nodes, i, j, first, base, begin, False)
        if n_cells > len(delta):
            at[0] = j - start
            at[3] = n_cells
            return False

        # 2. plain sums
        if at[1] == 0 and at[2] == 0:
            total = 0.0
        if at[2] == 0:
            total, cells = _all_subtrees(
                nodes, i, j, decay, first, base, begin, delta, at, total, cells
            )

            # 3. logarithms where these overflow
            if at[1] == size and logarithm:
                if np.isfinite(total):
                    total = np.log(total)
                else:
                    at[1] = 0
                    at[2] = 1
                    totals[0] = 0.0
                    totals[1] = -np.inf

        if at[2] == 1 and at[1] < size:
            total, cells = _log_all_subtrees(
                nodes, i, j, np.log(decay), first, base, begin, delta, at, totals, cells
            )

        if at[1] < size:
            at[0] = j - start
            if at[2] == 0:
                totals[0] = total
            return False

        at[1] = at[2] = 0
        out[j - start] = total
    return True


@jit
def _row_of_slopes(nodes, i, start, stop, decay, logarithm, out, at, totals, saved, cells):
    """Differentiate `_row_of_all` in log decay, or its logarithm.

    Goes on as that does; ``at[2]`` says whether the values of all pairs, the first row of `saved`,
    are known, and the second row are their derivatives.
    """
    size = nodes.offsets[i + 1] - nodes.offsets[i]
    first = np.empty(size, dtype=np.int64)
    base = np.empty(size, dtype=np.int64)
    begin = np.empty(size, dtype=np.int64)
    for j in range(start + at[0], stop):
        at[0] = j - start
        n_cells = _match(nodes, i, j, first, base, begin, True)
        if n_cells > saved.shape[1]:
            at[3] = n_cells
            return False
        delta = saved[0]
        slope = saved[1]

        # 1. values of all pairs
        if at[2] == 0:
            if at[1] == 0:
                totals[0] = 0.0
                totals[1] = -np.inf
            if logarithm:
                _, cells = _log_all_subtrees(
                    nodes, i, j, np.log(decay), first, base, begin, delta, at, totals, cells
                )
            else:
                _, cells = _all_subtrees(
                    nodes, i, j, decay, first, base, begin, delta, at, 0.0, cells
                )
            if at[1] < size:
                return False
            at[1] = 0
            at[2] = 1
            totals[0] = 0.0
            totals[1] = 0.0
            totals[2] = -np.inf

        # 2. their derivatives, children before parents
        if logarithm:
            cells = _log_slope(
                nodes, i, j, first, base, begin, delta, slope, at, totals, cells
            )
            value = totals[0] / totals[1] if totals[1] > 0.0 else 0.0
        else:
            cells = _slope(nodes, i, j, first, base, begin, delta, slope, at, totals, cells)
            value = totals[0]
        if at[1] < size:
            return False
        at[1] = at[2] = 0
        out[j - start] = value
    return True


@jit
def _row_of_roots(nodes, i, start, stop, decay, logarithm, out):
    """Delta of the two roots: pairs from the roots down, values from the leaves up."""
    size = nodes.offsets[i + 1] - nodes.offsets[i]

    pairs = np.empty((size, 2), dtype=np.int64)
    parent = np.empty(size, dtype=np.int64)
    value = np.empty(size)
    for j in range(start, stop):
        # pairs of equal productions, from the roots down
        pairs[0, 0] = nodes.offsets[i + 1] - 1
        pairs[0, 1] = nodes.offsets[j + 1] - 1
        if nodes.key[pairs[0, 0]] < 0 or nodes.key[pairs[0, 0]] != nodes.key[pairs[0, 1]]:
            out[j - start] = -np.inf if logarithm else 0.0
            continue

        n = 1
        k = 0
        while k < n:
            v = pairs[k, 0]
            w = pairs[k, 1]
            for e in range(nodes.starts[v + 1] - nodes.starts[v]):
                c = nodes.child[nodes.starts[v] + e]
                o = nodes.child[nodes.starts[w] + e]
                if nodes.key[c] >= 0 and nodes.key[c] == nodes.key[o]:
                    pairs[n, 0] = c
                    pairs[n, 1] = o
                    parent[n] = k
                    n += 1
            k += 1

        # values, from the leaves up
        if logarithm:
            value[:n] = np.log(decay)
            for k in range(n - 1, 0, -1):
                value[parent[k]] += _softplus(value[k])
        else:
            value[:n] = decay
            for k in range(n - 1, 0, -1):
                value[parent[k]] *= 1.0 + value[k]

        out[j - start] = value[0]


def _row_in_pieces(row: Any, n_tables: int) -> Callable[..., None]:
    """Return a function that calls `row` to its end, with room for tables of values of pairs."""

    def whole(
        nodes: Nodes, i: int, start: int, stop: int, decay: float, logarithm: bool, out: Array
    ) -> None:
        at = np.zeros(4, dtype=np.int64)
        totals = np.zeros(3)
        saved = np.empty((n_tables, 0))

        def go_on(cells: int) -> bool:
            nonlocal saved
            # no array is returned: an interrupt while it is boxed would be a SystemError
            ended = row(nodes, i, start, stop, decay, logarithm, out, at, totals, saved, cells)
            if at[3] > saved.shape[1]:
                saved = np.empty((n_tables, max(at[3], 2 * saved.shape[1])))
            return bool(ended)

        in_pieces(go_on)

    return whole


ROWS: dict[str, Any] = {
    "all": _row_in_pieces(_row_of_all, 1),
    "slopes": _row_in_pieces(_row_of_slopes, 2),
    "roots": _row_of_roots,
}


def subtree_sums(
    nodes: Nodes, n_rows: int, what: str, *, decay: float, logarithm: bool = False
) -> Array:
    """Sum Delta for pairs of trees.

    Parameters
    ----------
    nodes : Nodes
        Trees of the rows, and after them those of the columns; without these, the matrix of the
        first with themselves.
    n_rows : int
        Number of rows.
    what : {"all", "slopes", "roots"}
        All pairs of nodes, the derivative of this, or of its logarithm, in the logarithm of
        `decay`, or the two roots.
    decay : float
        Factor for each production.
    logarithm : bool
        Whether to return logarithms, which do not overflow.
    """
    n = len(nodes.offsets) - 1
    row = ROWS[what]
    if n > n_rows:
        K = np.empty((n_rows, n - n_rows))
        for i in range(n_rows):
            row(nodes, i, n_rows, n, decay, logarithm, K[i])
        return K
    K = np.empty((n, n))
    for i in range(n):
        row(nodes, i, i, n, decay, logarithm, K[i, i:])
        K[i:, i] = K[i, i:]
    return K


def own_subtree_sums(
    nodes: Nodes, what: str, *, decay: float, logarithm: bool = False
) -> Array:
    """Sum Delta of each tree with itself, arguments as in `subtree_sums`."""
    d = np.empty(len(nodes.offsets) - 1)
    for i in range(len(d)):
        ROWS[what](nodes, i, i, i + 1, decay, logarithm, d[i : i + 1])
    return d

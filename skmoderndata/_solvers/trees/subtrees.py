"""Sums over the common subtrees of two trees, by productions [Collins2002, section 3].

For each of its nodes, a subtree contains either all children or none. ``Delta(v, w)`` is the sum
of ``decay ** n_productions`` over the subtrees that occur both with root v and with root w. It is
0 unless both nodes have the same production, and otherwise
``decay * prod_c (1 + Delta(c-th child of v, c-th child of w))``.

Differs from the paper: 1. only pairs with equal productions are visited, found by merging two
sorted lists. 2. The table is a stack that keeps the pairs of a node only until its parent is done.
3. Sums that overflow are computed again as logarithms.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skmoderndata._solvers.common.jit import jit, jit_leaf
from skmoderndata._solvers.common.pieces import in_pieces
from skmoderndata._solvers.common.quantities import CELLS_OF_EXPONENTIALS, CELLS_OF_PRODUCTS
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.trees.interning import children, productions


class Nodes(NamedTuple):
    """Nodes of a forest in post-order, and its inner nodes sorted by production.

    Attributes
    ----------
    offsets : ndarray of int64, of shape (n_trees + 1,)
        Position at which the nodes of each tree begin.
    key : ndarray of int64, of shape (n_nodes,)
        Number of the production of each node; -1 for leaves.
    starts, child : ndarray of int64
        The children of node v are ``child[starts[v]:starts[v + 1]]``.
    order, sorted_key : ndarray of int64
        Nodes with children, sorted within each tree by production and then by position; the
        productions of these nodes.
    bounds : ndarray of int64, of shape (n_trees + 1,)
        Position in `order` at which each tree begins.
    rank : ndarray of int64, of shape (n_nodes,)
        Position of a node among the nodes of its tree with the same production.
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
    """Find the productions of a forest and sort its nodes by them."""
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


class Matches(NamedTuple):
    """Pairs of a node v of one tree and a node w of another that have the same production.

    The cell of pair (v, w) is ``base[v] + rank[w]``.

    Attributes
    ----------
    first : ndarray of int64, of shape (n_nodes,)
        Position in `Nodes.order` of the first w for each v; -1 if there is none.
    base, begin : ndarray of int64, of shape (n_nodes,)
        First cell of v: cells are written from `begin` on and moved to `base` afterwards.
    """

    first: Array
    base: Array
    begin: Array


@jit_leaf
def _match(nodes, i, j, matches, keep):
    """Find the pairs of nodes of trees i and j with equal productions, and assign cells to them.

    Only the parent of a node reads its cells, so they lie on a stack: the cells of v are written
    from `begin[v]` on, above the cells of its children, and then moved down to replace these. If
    `keep`, no cell is used twice. Returns the number of cells needed.
    """
    first = matches.first
    base = matches.base
    start = nodes.offsets[i]
    size = nodes.offsets[i + 1] - start

    for v in range(size):
        first[v] = -1
        base[v] = 0

    # merge the two sorted lists of productions
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

    # stack the cells of each node above the cells of its children
    top = cells = 0
    for v in range(size):
        n_pairs = base[v]
        matches.begin[v] = top
        base[v] = top
        if not keep and nodes.starts[start + v] < nodes.starts[start + v + 1]:
            base[v] = base[nodes.child[nodes.starts[start + v]] - start]
        top = base[v] + n_pairs
        cells = max(cells, matches.begin[v] + n_pairs)
    return cells


@jit_leaf
def _settle(delta, base, begin, end):
    """Move the cells of a node down, over the cells of its children."""
    if base < begin:
        for cell in range(begin, end):
            delta[base + cell - begin] = delta[cell]


@jit_leaf
def _softplus(x):
    """Return log(1 + exp(x)) without overflow."""
    return x + np.log1p(np.exp(-x)) if x > 0.0 else np.log1p(np.exp(x))


@jit_leaf
def _with_child(value, delta, slope, cell, logarithm):
    """Extend the product Delta of a pair, or its sum s, by a pair of children with a cell."""
    d = delta[cell]
    if slope is None:
        return value * (1.0 + d) if logarithm is None else value + _softplus(d)
    if logarithm is None:
        return value + slope[cell] * d / (1.0 + d)
    return value + slope[cell] * np.exp(d - _softplus(d))


@jit_leaf
def _sum_over_pairs(
    nodes, i, j, matches, single, logarithm, delta, slope, position, sums, cells
):
    """Add up Delta over all pairs of nodes with equal productions, children before parents.

    Fills the cells of `delta`. Unless `slope` is None, `delta` is already full and the cells of
    `slope` are filled with ``s = d log Delta / d log decay = 1 + sum_c s_c Delta_c / (1 +
    Delta_c)``. `sums` collects the sum of ``s Delta`` and the sum of Delta. With `logarithm`, the
    cells of `delta` are logarithms and both sums are relative to the largest Delta, whose
    logarithm is ``sums[2]``; with None, which is a different type, the compiled code contains no
    logarithms. `single` is the value of a pair without common children: ``decay``, its logarithm,
    or 1 for s.

    Resumes at node ``position[1]`` of tree i, works through about `cells` cells and stores the
    next node there. Returns the number of cells left over.
    """
    start = nodes.offsets[i]
    stop = nodes.offsets[i + 1]
    next_node = start + position[1]
    position[1] = stop - start

    sum_of_slopes = sums[0]
    total = sums[1]
    top = sums[2]

    for v in range(next_node, stop):
        if cells <= 0 and v > next_node:  # each call processes at least one node
            position[1] = v - start
            break

        # the nodes of tree j that have the same production are contiguous
        g = matches.first[v - start]
        if g < 0:
            continue

        key = nodes.key[v]
        begin = matches.begin[v - start]
        cell = begin
        while g < nodes.bounds[j + 1] and nodes.sorted_key[g] == key:
            # 1. compute Delta(v, w), or s, from the children that match; numba would not inline a
            # function for this, and the loop would take three times as long
            shift = nodes.starts[nodes.order[g]] - nodes.starts[v]
            value = single
            for e in range(nodes.starts[v], nodes.starts[v + 1]):
                c = nodes.child[e]
                o = nodes.child[e + shift]
                if nodes.key[c] >= 0 and nodes.key[c] == nodes.key[o]:
                    below = matches.base[c - start] + nodes.rank[o]
                    value = _with_child(value, delta, slope, below, logarithm)
            if slope is None:
                delta[cell] = value
            else:
                slope[cell] = value

            # 2. update the sums, relative to the largest term if they are logarithms
            term = delta[cell]
            if logarithm is not None:
                if term > top:
                    sum_of_slopes *= np.exp(top - term)
                    total *= np.exp(top - term)
                    top = term
                term = np.exp(term - top)
            total += term
            if slope is not None:
                sum_of_slopes += value * term
            cell += 1
            g += 1

        worth = CELLS_OF_PRODUCTS if logarithm is None else CELLS_OF_EXPONENTIALS
        cells -= worth * (cell - begin)
        _settle(delta, matches.base[v - start], begin, cell)

    sums[0] = sum_of_slopes
    sums[1] = total
    sums[2] = top
    return cells


@jit_leaf
def _clear(sums):
    """Reset the sums of `_sum_over_pairs`."""
    sums[0] = 0.0
    sums[1] = 0.0
    sums[2] = -np.inf


@jit
def _row_of_all(nodes, i, start, stop, decay, logarithm, out, position, sums, tables, cells):
    """Sum over all pairs of nodes for tree i and each tree from `start` to `stop`.

    Resumes at node ``position[1]`` of tree i against tree ``start + position[0]``, with the state
    in `sums` and `tables`. ``position[2]`` is 1 while sums are logarithms, and ``position[3]`` is
    the number of cells needed. Returns True when finished.
    """
    size = nodes.offsets[i + 1] - nodes.offsets[i]
    matches = Matches(
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
    )
    delta = tables[0]

    for j in range(start + position[0], stop):
        # 1. assign cells to the pairs
        position[0] = j - start
        n_cells = _match(nodes, i, j, matches, False)
        if n_cells > len(delta):
            position[3] = n_cells
            return False

        # 2. compute the sums without logarithms
        if position[2] == 0:
            if position[1] == 0:
                _clear(sums)
            cells = _sum_over_pairs(
                nodes, i, j, matches, decay, None, delta, None, position, sums, cells
            )
            if position[1] < size:
                return False

            # 3. use logarithms if the plain sums overflow
            if logarithm and not np.isfinite(sums[1]):
                position[1] = 0
                position[2] = 1
                _clear(sums)

        if position[2] == 1:
            cells = _sum_over_pairs(
                nodes, i, j, matches, np.log(decay), True, delta, None, position, sums, cells
            )
            if position[1] < size:
                return False

        if position[2] == 1:
            out[j - start] = sums[2] + np.log(sums[1])
        else:
            out[j - start] = np.log(sums[1]) if logarithm else sums[1]
        position[1] = position[2] = 0
    return True


@jit
def _row_of_slopes(
    nodes, i, start, stop, decay, logarithm, out, position, sums, tables, cells
):
    """Differentiate `_row_of_all`, or its logarithm, with respect to log decay.

    Resumes in the same way. ``position[2]`` is 1 once the values of all pairs, the first row of
    `tables`, are complete; the second row holds their derivatives.
    """
    size = nodes.offsets[i + 1] - nodes.offsets[i]
    matches = Matches(
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int64),
    )
    delta = tables[0]
    slope = tables[1]

    for j in range(start + position[0], stop):
        position[0] = j - start
        n_cells = _match(nodes, i, j, matches, True)
        if n_cells > len(delta):
            position[3] = n_cells
            return False

        # 1. compute the values of all pairs
        if position[1] == 0:
            _clear(sums)
        if position[2] == 0:
            if logarithm:
                single = np.log(decay)
                cells = _sum_over_pairs(
                    nodes, i, j, matches, single, True, delta, None, position, sums, cells
                )
            else:
                cells = _sum_over_pairs(
                    nodes, i, j, matches, decay, None, delta, None, position, sums, cells
                )

            if position[1] < size:
                return False
            position[1] = 0
            position[2] = 1
            _clear(sums)

        # 2. compute their derivatives
        if logarithm:
            cells = _sum_over_pairs(
                nodes, i, j, matches, 1.0, True, delta, slope, position, sums, cells
            )
        else:
            cells = _sum_over_pairs(
                nodes, i, j, matches, 1.0, None, delta, slope, position, sums, cells
            )
        if position[1] < size:
            return False

        # use d log (sum of Delta) = sum of s Delta / sum of Delta
        value = sums[0]
        if logarithm:
            value = sums[0] / sums[1] if sums[1] > 0.0 else 0.0
        out[j - start] = value
        position[1] = position[2] = 0
    return True


@jit
def _row_of_roots(nodes, i, start, stop, decay, logarithm, out):
    """Compute Delta of two roots: collect pairs from the roots down, values from the leaves up."""
    size = nodes.offsets[i + 1] - nodes.offsets[i]

    pairs = np.empty((size, 2), dtype=np.int64)
    parent = np.empty(size, dtype=np.int64)
    value = np.empty(size)
    for j in range(start, stop):
        # 1. collect pairs with equal productions, from the roots down
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

        # 2. compute the values of these pairs, from the leaves up
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
    """Return a function that calls `row` until it is finished, with tables for the pairs."""

    def row_sums(
        nodes: Nodes, i: int, start: int, stop: int, decay: float, logarithm: bool, out: Array
    ) -> None:
        position = np.zeros(4, dtype=np.int64)
        sums = np.zeros(3)
        tables = np.empty((n_tables, nodes.offsets[i + 1] - nodes.offsets[i]))

        def resume(cells: int) -> bool:
            nonlocal tables
            # do not return an array: an interrupt while numba converts it would raise SystemError
            ended = row(
                nodes, i, start, stop, decay, logarithm, out, position, sums, tables, cells
            )
            # enlarge the tables if there are more pairs of nodes than nodes in tree i
            if position[3] > tables.shape[1]:
                tables = np.empty((n_tables, max(position[3], 2 * tables.shape[1])))
            return bool(ended)

        in_pieces(resume)

    return row_sums


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
        Trees of the rows, followed by the trees of the columns. Without trees of columns, the
        rows are compared with themselves.
    n_rows : int
        Number of rows.
    what : {"all", "slopes", "roots"}
        Sum over all pairs of nodes; its derivative (or the derivative of its logarithm) with
        respect to log `decay`; or only Delta of the two roots.
    decay : float
        Factor for each production.
    logarithm : bool
        Whether to return logarithms, which cannot overflow.
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
    """Sum Delta of each tree with itself; the arguments are the same as in `subtree_sums`."""
    d = np.empty(len(nodes.offsets) - 1)
    for i in range(len(d)):
        ROWS[what](nodes, i, i, i + 1, decay, logarithm, d[i : i + 1])
    return d

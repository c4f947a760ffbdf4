"""Equal numbers for equal rows of integers: productions, complete subtrees, refined labels.

Differs from the papers: an exact hash table assigns the numbers, instead of sorted label strings
or suffix trees.
"""

import numpy as np

from skmoderndata._solvers.common.jit import jit
from skmoderndata._solvers.common.typing import Array


@jit
def _slot(values, begin, end, starts, firsts, table):
    """Return the slot of a row in the hash table: its own, or the empty one to insert it in.

    Rows that share a slot are compared entry by entry, so the numbers are exact.
    """
    h = end - begin
    for k in range(begin, end):
        h = (h ^ values[k]) * 0x1E3779B97F4A7C15  # overflow wraps around
        h ^= h >> 29
    mask = len(table) - 1
    slot = h & mask
    while table[slot] >= 0:
        begin_of_stored = starts[firsts[table[slot]]]
        k = 0
        if starts[firsts[table[slot]] + 1] - begin_of_stored == end - begin:
            while k < end - begin and values[begin + k] == values[begin_of_stored + k]:
                k += 1
            if k == end - begin:
                return slot
        slot = (slot + 1) & mask
    return slot


@jit
def _number_rows(values, starts, numbers, firsts, table):
    n = 0
    for r in range(len(starts) - 1):
        slot = _slot(values, starts[r], starts[r + 1], starts, firsts, table)
        if table[slot] < 0:
            table[slot] = n
            firsts[n] = r
            n += 1
        numbers[r] = table[slot]
    return n


def number_rows(values: Array, starts: Array) -> tuple[Array, int]:
    """Assign numbers to rows by their content, in the order of first appearance.

    Parameters
    ----------
    values : ndarray of int64
        Entries of all rows, one row after the other.
    starts : ndarray of int64, of shape (n_rows + 1,)
        Position at which each row begins.

    Returns
    -------
    numbers : ndarray of int64, of shape (n_rows,)
        Two rows have the same number if and only if they are equal.
    n_numbers : int
        Number of distinct rows.
    """
    n_rows = len(starts) - 1
    numbers = np.empty(n_rows, dtype=np.int64)
    firsts = np.empty(n_rows, dtype=np.int64)
    n = _number_rows(values, starts, numbers, firsts, _empty_table(n_rows))
    return numbers, n


def _empty_table(n_rows: int) -> Array:
    """Return a table whose size is a power of two and that stays at most half full."""
    return np.full(2 ** int(2 * n_rows + 1).bit_length(), -1, dtype=np.int64)


@jit
def _children(degrees, child):
    """Write the children of each node, using a stack of nodes whose parent is yet to come."""
    stack = np.empty(len(degrees), dtype=np.int64)
    top = k = 0
    for v in range(len(degrees)):
        top -= degrees[v]
        for c in range(degrees[v]):
            child[k] = stack[top + c]
            k += 1
        stack[top] = v
        top += 1


def children(degrees: Array) -> tuple[Array, Array]:
    """Return the children of the nodes of a forest in post-order.

    Returns
    -------
    starts : ndarray of int64, of shape (n_nodes + 1,)
        The children of node v are ``child[starts[v]:starts[v + 1]]``.
    child : ndarray of int64
        Positions among all nodes, from the first child to the last.
    """
    starts = np.concatenate([[0], np.cumsum(degrees, dtype=np.int64)])
    child = np.empty(int(starts[-1]), dtype=np.int64)
    _children(degrees, child)
    return starts, child


def productions(
    labels: Array, degrees: Array, starts: Array, child: Array, *, of_children: bool
) -> tuple[Array, int]:
    """Assign numbers to nodes by label and by the labels, or the number, of their children."""
    if not of_children:
        rows = np.column_stack([labels, degrees]).astype(np.int64)
        return number_rows(rows.ravel(), 2 * np.arange(len(labels) + 1))
    # a row is the label of a node, followed by the labels of its children
    heads = starts[:-1] + np.arange(len(labels))
    values = np.empty(len(labels) + len(child), dtype=np.int64)
    tail = np.ones(len(values), dtype=bool)
    tail[heads] = False
    values[heads] = labels
    values[tail] = labels[child]
    return number_rows(values, np.append(heads, len(values)))


@jit
def _complete_subtrees(labels, starts, child, numbers, n_inner, firsts, table):
    values = np.empty(len(labels) + len(child), dtype=np.int64)
    heads = np.zeros(len(labels) + 1, dtype=np.int64)
    n = 0
    # in post-order, all children get their numbers before their parent
    for v in range(len(labels)):
        k = heads[v]
        values[k] = labels[v]
        n_inner[v] = starts[v + 1] > starts[v]
        for e in range(starts[v], starts[v + 1]):
            k += 1
            values[k] = numbers[child[e]]
            n_inner[v] += n_inner[child[e]]
        heads[v + 1] = k + 1
        slot = _slot(values, heads[v], k + 1, heads, firsts, table)
        if table[slot] < 0:
            table[slot] = n
            firsts[n] = v
            n += 1
        numbers[v] = table[slot]
    return n


def complete_subtrees(labels: Array, starts: Array, child: Array) -> tuple[Array, Array]:
    """Assign numbers to nodes by the complete subtree below them.

    Returns
    -------
    numbers : ndarray of int64, of shape (n_nodes,)
        Numbers, which are equal for two nodes if and only if their subtrees are equal.
    n_inner : ndarray of int64, of shape (n_numbers,)
        Number of nodes with children in each distinct subtree.
    """
    n_nodes = len(labels)
    numbers = np.empty(n_nodes, dtype=np.int64)
    inner = np.empty(n_nodes, dtype=np.int64)
    firsts = np.empty(n_nodes, dtype=np.int64)
    table = _empty_table(n_nodes)
    n = _complete_subtrees(labels, starts, child, numbers, inner, firsts, table)
    return numbers, inner[firsts[:n]]


@jit
def _sort_within(values, starts):
    for r in range(len(starts) - 1):
        values[starts[r] : starts[r + 1]].sort()


def refine(labels: Array, starts: Array, neighbours: Array, edges: Array) -> Array:
    """Assign numbers to nodes of graphs by their label and the sorted labels of their neighbours.

    This is one round of the Weisfeiler-Lehman refinement [Shervashidze2011, Alg. 1].

    Parameters
    ----------
    labels : ndarray of int64, of shape (n_nodes,)
        Numbers of the labels.
    starts : ndarray of int64, of shape (n_nodes + 1,)
        The neighbours of node v are ``neighbours[starts[v]:starts[v + 1]]``.
    neighbours, edges : ndarray of int64
        Positions of the neighbours among all nodes, and the labels of the edges to them.
    """
    n_edge_labels = int(edges.max(initial=0)) + 1
    around = labels[neighbours] * n_edge_labels + edges
    _sort_within(around, starts)
    heads = starts[:-1] + np.arange(len(labels))
    values = np.empty(len(labels) + len(around), dtype=np.int64)
    tail = np.ones(len(values), dtype=bool)
    tail[heads] = False
    values[heads] = labels
    values[tail] = around
    return number_rows(values, np.append(heads, len(values)))[0]

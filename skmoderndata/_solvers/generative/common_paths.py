"""Pairs of samples that share a hidden state at each node of a tree or each step of a line.

As in the book (Shawe-Taylor and Cristianini 2004, section 12.1), with one scale per node.
"""

import numpy as np

from skmoderndata._solvers.common.typing import Array


def common_path_logarithms(
    codes: Array,
    codes_y: Array,
    parents: Array,
    startprob: Array,
    transmat: Array,
    emissionprob: Array,
) -> Array:
    """Return logarithms of ``sum_h P(h) P(x given h) P(z given h)`` over states h of a tree.

    The upward pass computes ``beta_v = E(., x_v) o E(., z_v) o prod (Q beta_c)`` over the children
    c of v, where x and z are observed at each node; the value is ``pi' beta_root``. On a line this
    is the backward pass. Each node is scaled separately.

    Parameters
    ----------
    codes, codes_y : ndarray of shape (..., n_nodes)
        Symbols of x and z at the nodes; the shapes before the last axis are broadcast.
    parents : ndarray of shape (n_nodes,)
        Parent of each node; its number is smaller than the node's. -1 for the root, node 0.
    startprob, transmat, emissionprob : ndarray
        Probabilities of the root's state, of a child's state, and of the symbols.
    """
    by_symbol = np.ascontiguousarray(emissionprob.T)
    shape = np.broadcast_shapes(codes.shape[:-1], codes_y.shape[:-1])
    logarithm = np.zeros(shape)
    waiting: dict[int, Array] = {}

    # go from the leaves to the root: multiply the emissions of x and z by the messages from the
    # children
    for v in range(len(parents) - 1, -1, -1):
        beta = by_symbol[codes[..., v]] * by_symbol[codes_y[..., v]]
        if v in waiting:
            beta *= waiting.pop(v)

        scale = beta.max(axis=-1)
        with np.errstate(divide="ignore"):
            logarithm += np.log(scale)
        beta /= np.where(scale > 0.0, scale, 1.0)[..., None]

        if v == 0:
            with np.errstate(divide="ignore"):
                logarithm += np.log(beta @ startprob)
            continue

        # send the message to the parent
        message = beta @ transmat.T
        u = int(parents[v])
        waiting[u] = waiting[u] * message if u in waiting else message

    return logarithm

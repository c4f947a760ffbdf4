"""Kernels that count common subtrees of labelled ordered trees."""

from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._estimator.registry import KernelCard
from skmoderndata._samples.trees import Forest, plant, together
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.sequences.windows import (
    count_windows,
    gram_of_counts,
    squared_norms,
)
from skmoderndata._solvers.trees.interning import children, complete_subtrees
from skmoderndata._solvers.trees.subtrees import (
    Nodes,
    own_subtree_sums,
    sort_nodes,
    subtree_sums,
)
from skmoderndata.kernels._base import BaseKernel

FAMILY = "kernels on trees and structures"
PAGE = "tree_kernels"


class TreeKernel(BaseKernel):
    """A kernel on trees: `_gram` and `_diag` accept a `Forest`."""

    @property
    def encoding(self) -> str | None:
        """Name of the form that `encode` stores, common to all kernels on trees."""
        return "trees"

    def _check(self, X: Any) -> Forest:
        return plant(X, type(self).__name__)


class _Subtrees(TreeKernel):
    """Sums of Delta over pairs of nodes with equal productions."""

    _what: str
    labelled: bool
    match: str
    decay: float

    def _validate(self) -> None:
        self._check_choice("labelled", (True, False))
        self._check_choice("match", ("children", "node"))
        self._check_real("decay", 0.0, 1.0)

    def _nodes(self, X: Forest) -> Nodes:
        labels = X.labels.codes if self.labelled else np.zeros_like(X.labels.codes)
        of_children = self.labelled and self.match == "children"
        return sort_nodes(labels, X.degrees.codes, X.labels.offsets, of_children=of_children)

    def _gram(self, X: Forest, Y: Forest | None, *, logarithm: bool = False) -> Array:
        nodes = self._nodes(together(X, Y))
        return subtree_sums(nodes, len(X), self._what, decay=self.decay, logarithm=logarithm)

    def _diag(self, X: Forest, *, logarithm: bool = False) -> Array:
        nodes = self._nodes(X)
        return own_subtree_sums(nodes, self._what, decay=self.decay, logarithm=logarithm)

    def _log_gram(self, X: Forest, Y: Forest | None) -> Array:
        return self._gram(X, Y, logarithm=True)

    def _log_diag(self, X: Forest) -> Array:
        return self._diag(X, logarithm=True)


class CoRootedSubtree(_Subtrees):
    r"""Number of common subtrees rooted at the roots of the two trees.

    .. math:: k(T, T') = \Delta(r, r')

    for the roots r and r', with :math:`\Delta` as in :class:`AllSubtree`.

    Parameters
    ----------
    labelled : bool, default=True
        Whether labels must agree; False compares only the shapes of trees.
    match : {"children", "node"}, default="children"
        Definition of a production: the label of a node and the labels of its children
        ("children"), or its label and the number of its children ("node").
    decay : float, default=1.0
        Factor for each production of a subtree, above 0 and at most 1.

    See Also
    --------
    AllSubtree : Common subtrees at all positions.

    Notes
    -----
    A sample is a tree in one of the forms of `AllSubtree`. A subtree contains, for each of its
    nodes, all children or none. The kernel is positive semi-definite. ``match="node"`` is the
    definition printed in the source, in which leaves need not agree.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 11.7.

    Examples
    --------
    >>> from skmoderndata.kernels import CoRootedSubtree
    >>> trees = [("a", ("b", "d", "e"), "c"), ("a", ("b", "d", "f"), ("c", "g"))]
    >>> CoRootedSubtree()(trees)
    array([[2., 1.],
           [1., 4.]])
    >>> CoRootedSubtree(labelled=False)(trees)
    array([[2., 2.],
           [2., 4.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",),
        cost="smaller tree, for each pair", domain="tree", method=PAGE,
    )  # fmt: skip
    _what = "roots"

    def __init__(
        self, labelled: bool = True, match: str = "children", decay: float = 1.0
    ) -> None:
        self.labelled = labelled
        self.match = match
        self.decay = decay


class AllSubtree(_Subtrees):
    r"""Number of common subtrees at all positions.

    .. math:: k(T, T') = \sum_{v \in T} \sum_{w \in T'} \Delta(v, w), \qquad
       \Delta(v, w) = \lambda \prod_i (1 + \Delta(v_i, w_i))

    for nodes with the same production, a label and the labels of the children :math:`v_i`, and
    :math:`\Delta = 0` for other pairs of nodes and for leaves.

    Parameters
    ----------
    labelled : bool, default=True
        Whether labels must agree; False compares only the shapes of trees.
    match : {"children", "node"}, default="children"
        Definition of a production: the label of a node and the labels of its children
        ("children"), or its label and the number of its children ("node").
    decay : float, default=1.0
        Factor for each production of a subtree, above 0 and at most 1. Large trees need a small
        factor.
    include_leaves : bool, default=False
        Whether to add the number of pairs of equal leaves.
    decay_bounds : pair of floats or "fixed", default="fixed"
        Range of `decay` in hyperparameter search.

    See Also
    --------
    CompleteSubtree : Subtrees that extend to the leaves, in linear time.
    CoRootedSubtree : Subtrees rooted at the roots only.
    Normalized : Works with logarithms, so that large trees do not overflow.

    Notes
    -----
    A sample is an ordered tree: nested tuples or lists ``(label, child, ...)`` with a bare label
    for a leaf; a pair ``(parents, labels)``, where the root has parent -1 and children are in the
    order of their positions; an object with ``label()`` that iterates over its children, such as
    `nltk.Tree`; an `ast` node, whose label is its class; an `ElementTree` element, whose label is
    its tag; or a networkx arborescence whose nodes have an attribute ``label``.

    A subtree contains, for each of its nodes, all children or none; this is the kernel of Collins
    and Duffy on parse trees. The kernel is positive semi-definite. With ``decay=1`` a large tree
    is similar only to itself, because the number of its subtrees is exponential: kernel matrices
    of large trees are then finite only inside `Normalized`, and close to the identity.

    The value of a pair of nodes is stored until their parents have been compared: a chain of 6,000
    equal nodes takes less than a megabyte of additional memory, compared with half a gigabyte for
    all pairs. The gradient in `decay` stores all pairs of nodes with equal productions, 16 bytes
    each.

    References
    ----------
    .. [1] Collins and Duffy, Convolution kernels for natural language, NIPS 14, 2002.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 11.7.

    Examples
    --------
    >>> import ast
    >>> from skmoderndata.kernels import AllSubtree, Normalized
    >>> trees = [("a", ("b", "d", "e"), "c"), ("a", ("b", "d", "f"), ("c", "g"))]
    >>> AllSubtree(labelled=False)(trees)
    array([[5., 5.],
           [5., 8.]])
    >>> lines = [ast.parse(line) for line in ("y = a + b", "y = a + 1", "print(y)")]
    >>> Normalized(AllSubtree(decay=0.5))(lines).round(2)
    array([[1.  , 0.6 , 0.34],
           [0.6 , 1.  , 0.21],
           [0.34, 0.21, 1.  ]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("collins2002convolution", "shawetaylor2004kernel"),
        cost="pairs of nodes with equal productions", domain="tree", method=PAGE,
    )  # fmt: skip
    _what = "all"
    _tunable = ("decay",)

    def __init__(
        self, labelled: bool = True, match: str = "children", decay: float = 1.0,
        include_leaves: bool = False, decay_bounds: Any = "fixed",
    ) -> None:  # fmt: skip
        self.labelled = labelled
        self.match = match
        self.decay = decay
        self.include_leaves = include_leaves
        self.decay_bounds = decay_bounds

    def _validate(self) -> None:
        super()._validate()
        self._check_choice("include_leaves", (True, False))

    def _leaves(self, X: Forest) -> sparse.csr_array:
        """Count the labels of leaves."""
        leaf = X.degrees.codes == 0
        labels = X.labels.codes if self.labelled else np.zeros_like(X.labels.codes)
        of_leaves = labels[leaf].astype(np.int64)
        n_leaves = np.concatenate([[0], np.cumsum(leaf)])
        offsets = n_leaves[X.labels.offsets]
        return count_windows(of_leaves, offsets, len(X.labels.symbols) + 1)

    def _gram(self, X: Forest, Y: Forest | None, *, logarithm: bool = False) -> Array:
        K = super()._gram(X, Y, logarithm=logarithm)
        if not self.include_leaves:
            return K
        n = len(X)
        counts = self._leaves(together(X, Y))
        second = None if Y is None else counts[n:]
        L = gram_of_counts(counts[:n], second)
        return _log_sum(K, L) if logarithm else K + L

    def _diag(self, X: Forest, *, logarithm: bool = False) -> Array:
        d = super()._diag(X, logarithm=logarithm)
        if not self.include_leaves:
            return d
        leaf_pairs = squared_norms(self._leaves(X))
        return _log_sum(d, leaf_pairs) if logarithm else d + leaf_pairs

    def _gradients(self, X: Forest, K: Array) -> dict[str, Array]:
        nodes = self._nodes(X)
        slopes = subtree_sums(nodes, len(X), "slopes", decay=self.decay)
        return {"decay": slopes}

    def _log_gradients(self, X: Forest) -> dict[str, Array]:
        """Return derivatives of the logarithms of the matrix."""
        nodes = self._nodes(X)
        slopes = subtree_sums(nodes, len(X), "slopes", decay=self.decay, logarithm=True)
        if self.include_leaves:  # leaf counts do not depend on the decay
            alone = super()._gram(X, None, logarithm=True)
            total = self._log_gram(X, None)
            # logarithm of the fraction of the total that depends on the decay
            fraction = alone - np.maximum(total, np.finfo(np.float64).min)
            slopes *= np.exp(np.where(total > -np.inf, fraction, -np.inf))
        return {"decay": slopes}


def _log_sum(logarithm: Array, values: Array) -> Array:
    logs = np.log(values, out=np.full_like(values, -np.inf), where=values > 0)
    return np.asarray(np.logaddexp(logarithm, logs))


class CompleteSubtree(TreeKernel):
    r"""Number of common complete subtrees, each a node with all its descendants.

    .. math:: k(T, T') = \sum_u \lambda^{|u|} \phi_u(T) \phi_u(T')

    with :math:`\phi_u(T)` the number of nodes of T whose complete subtree is u, and :math:`|u|`
    the number of inner nodes of u.

    Parameters
    ----------
    decay : float, default=1.0
        Factor for each production of a subtree, above 0 and at most 1.

    See Also
    --------
    AllSubtree : Subtrees that need not extend to the leaves.

    Notes
    -----
    A sample is a tree in one of the forms of `AllSubtree`. Leaves count as subtrees of one node.
    The kernel is positive semi-definite. This is the cheapest kernel on trees: one pass over the
    collection numbers the subtrees of all nodes, and the features are sparse counts.

    References
    ----------
    .. [1] Vishwanathan and Smola, Fast kernels for string and tree matching, NIPS 15, 2003.

    Examples
    --------
    >>> from skmoderndata.kernels import CompleteSubtree
    >>> CompleteSubtree()([("a", ("b", "d", "e"), "c"), ("a", ("b", "d", "f"), ("c", "g"))])
    array([[5., 1.],
           [1., 6.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("vishwanathan2003fast",), cost="nodes + common subtrees",
        domain="tree", method=PAGE,
    )  # fmt: skip

    def __init__(self, decay: float = 1.0) -> None:
        self.decay = decay

    def _validate(self) -> None:
        self._check_real("decay", 0.0, 1.0)

    def _counts(self, X: Forest, Y: Forest | None) -> tuple[Any, Any]:
        forest = together(X, Y)
        starts, child = children(forest.degrees.codes)
        numbers, n_inner = complete_subtrees(forest.labels.codes, starts, child)
        counts = count_windows(numbers, forest.labels.offsets, len(n_inner))
        weights = float(self.decay) ** (n_inner / 2)
        counts.data *= weights[counts.indices]
        n = len(X)
        return counts[:n], None if Y is None else counts[n:]

    def _gram(self, X: Forest, Y: Forest | None) -> Array:
        A, B = self._counts(X, Y)
        second = A if B is None else B
        # K[i, j] is summed in the order of the nodes of X[i], so K[i, j] and K[j, i] may have
        # different rounding errors
        K: Array = (A @ second.T).toarray()
        return np.triu(K) + np.triu(K, 1).T if B is None else K

    def _diag(self, X: Forest) -> Array:
        counts, _ = self._counts(X, None)
        return squared_norms(counts)

    def features(self, X: Any, Y: Any = None) -> Any:
        """Return counts of complete subtrees as sparse rows, whose inner products are the kernel.

        Parameters
        ----------
        X : collection of trees
            Samples.
        Y : collection of trees, default=None
            Other samples, with the same columns.

        Returns
        -------
        features : csr_array of shape (n_X, n_subtrees), or two of them
            One column for each subtree that occurs; with `Y` a pair of matrices.
        """
        self._validate()
        trees = self._real(X)
        others = None if Y is None else self._real(Y)
        left, right = self._counts(trees, others)
        return left if Y is None else (left, right)

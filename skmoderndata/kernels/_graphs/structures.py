"""Convolution kernels on structured objects, and kernels on labelled graphs."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skmoderndata._estimator.registry import KernelCard
from skmoderndata._samples.containers import as_samples, as_vectors
from skmoderndata._samples.keys import key_of_sample
from skmoderndata._samples.sequences import Packed, joined, pack
from skmoderndata._solvers.common.arrays import working_memory
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.sequences.windows import (
    count_windows,
    gram_of_counts,
    squared_norms,
)
from skmoderndata._solvers.trees.interning import refine
from skmoderndata.kernels._base import BaseKernel, kernel_from_data

FAMILY = "kernels on trees and structures"
PAGE = "tree_kernels"

Parts = dict[Hashable, tuple[list[int], list[tuple[Any, ...]]]]


class Convolution(BaseKernel):
    r"""Sum over all pairs of decompositions of products of kernels on the parts.

    .. math:: k(x, z) = \sum_{(t, x_1, \dots) \in R(x)} \; \sum_{(t, z_1, \dots) \in R(z)}
       \prod_i k_{t i}(x_i, z_i)

    where R lists the decompositions of a sample into parts, each with a type t; only
    decompositions of equal types are compared.

    Parameters
    ----------
    decompose : callable
        ``decompose(x)`` yields pairs ``(type, parts)`` for a sample, where `parts` is a sequence.
    kernels : list, or dict from types to lists
        One kernel for each part, the same for all types or one list for each type. None instead of
        a kernel means 1 for equal parts and 0 otherwise; lists, sets and arrays are equal if their
        entries are.

    See Also
    --------
    AllSubtree : All subtrees as parts, without listing them.
    TensorProduct : A single decomposition.
    ANOVA : Sets of coordinates as parts, without listing them.

    Notes
    -----
    The kernel is positive semi-definite if the kernels on parts are. Each kernel is called once,
    on the distinct parts of all samples, so that the cost is quadratic in the number of distinct
    parts. `decompose` runs at every call.

    References
    ----------
    .. [1] Haussler, Convolution kernels on discrete structures, UCSC-CRL-99-10, 1999.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 11.7.

    Examples
    --------
    Dates with a word, compared by word and by a Gaussian of the day; all pairs count.

    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skmoderndata.kernels import Convolution
    >>> diary = [[("rain", 1.0), ("sun", 3.0)], [("rain", 2.0)], [("snow", 9.0)]]
    >>> kernel = Convolution(lambda x: [("entry", pair) for pair in x], [None, RBF()])
    >>> kernel(diary).round(3)
    array([[2.   , 0.607, 0.   ],
           [0.607, 1.   , 0.   ],
           [0.   , 0.   , 1.   ]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("haussler1999convolution", "shawetaylor2004kernel"),
        cost="(distinct parts)^2", domain="any", method=PAGE,
    )  # fmt: skip

    def __init__(self, decompose: Callable[[Any], Iterable[Any]], kernels: Any) -> None:
        self.decompose = decompose
        self.kernels = kernels

    def _validate(self) -> None:
        if not callable(self.decompose):
            raise self._refuse("decompose", "a function from a sample to pairs (type, parts)")
        lists = self.kernels.values() if isinstance(self.kernels, Mapping) else [self.kernels]
        for kernels in lists:
            if not isinstance(kernels, list | tuple) or not kernels:
                raise self._refuse(
                    "kernels", "a list of kernels, one for each part, or a dict"
                )

    def _kernels_of(self, kind: Hashable) -> Sequence[Any]:
        if not isinstance(self.kernels, Mapping):
            return self.kernels
        if kind not in self.kernels:
            raise ValueError(
                f"Convolution: decompose yields the type {kind!r}, but kernels has only "
                f"{list(self.kernels)}."
            )
        return self.kernels[kind]

    def _check(self, X: Any) -> tuple[int, Parts]:
        """Return the number of samples, and for each type the parts and their samples."""
        samples = as_samples(X, "Convolution")
        decompositions: Parts = {}
        for i, x in enumerate(samples):
            for kind, parts in self.decompose(x):
                n = len(self._kernels_of(kind))
                if len(parts) != n:
                    raise ValueError(
                        f"Convolution: decompose yields {len(parts)} parts of the type {kind!r} "
                        f"for sample {i}, but there are {n} kernels."
                    )
                rows, tuples = decompositions.setdefault(kind, ([], []))
                rows.append(i)
                tuples.append(tuple(parts))
        return len(samples), decompositions

    def from_data(self, X: Any) -> BaseKernel:
        """Return a copy in which each kernel is set from the parts of training samples.

        Parameters
        ----------
        X : array or list
            Training samples.

        Returns
        -------
        kernel : Convolution
            A copy.
        """
        # decompose the samples, because the parts determine kernel parameters
        self._validate()
        _, decompositions = self._check(X)

        def of(kind: Hashable, kernels: Sequence[Any]) -> list[Any]:
            kinds = decompositions if kind is None else [kind]
            tuples: list[tuple[Any, ...]] = []
            for k in kinds:
                if k in decompositions:
                    tuples += decompositions[k][1]
            columns = [[parts[i] for parts in tuples] for i in range(len(kernels))]
            return [*map(from_parts, kernels, columns)]

        def from_parts(kernel: Any, parts: list[Any]) -> Any:
            if kernel is None:
                return None
            if not parts:
                return clone(kernel)
            return kernel_from_data(kernel, _collection(kernel, parts))

        # configure each kernel from the parts of its kind, and a shared kernel from all parts
        if isinstance(self.kernels, Mapping):
            kernels: Any = {kind: of(kind, self.kernels[kind]) for kind in self.kernels}
        else:
            kernels = of(None, self.kernels)
        return Convolution(self.decompose, kernels)

    def _gram(self, X: tuple[int, Parts], Y: tuple[int, Parts] | None) -> Array:
        n, A = X
        m, B = X if Y is None else Y
        K = np.zeros((n, m))
        for kind in A:
            if kind not in B:
                continue

            # compute kernel values of the distinct parts
            left = _Distinct(*A[kind], n)
            right = left if Y is None else _Distinct(*B[kind], m)
            tables = self._tables(kind, left, None if Y is None else right)

            # process blocks of left decompositions that fit into the working memory; the sums do
            # not depend on the blocks
            row_bytes = 2 * FLOAT_BYTES * max(1, len(right.entries[0]))
            step = max(1, working_memory() // (row_bytes * left.largest_count))
            for start in range(0, n, step):
                rows = slice(start, start + step)
                counts = left.counts[rows]
                used = np.unique(counts.indices)

                # multiply the kernel values of all parts
                product = np.ones((len(used), right.counts.shape[1]))
                for table, a, b in zip(tables, left.entries, right.entries, strict=True):
                    product *= table[np.ix_(a[used], b)]

                # sum over the decompositions of each pair
                sums = (right.counts @ product.T).T
                K[rows] += np.asarray(counts[:, used] @ sums)

        return np.triu(K) + np.triu(K, 1).T if Y is None else K

    def _diag(self, X: tuple[int, Parts]) -> Array:
        n, A = X
        d = np.zeros(n)
        for kind in A:
            distinct = _Distinct(*A[kind], n)
            tables = self._tables(kind, distinct, None)
            c = distinct.counts
            for i in range(n):
                of_sample = slice(c.indptr[i], c.indptr[i + 1])
                used = c.indices[of_sample]
                times = c.data[of_sample]
                product = np.ones((len(used), len(used)))
                for table, entries in zip(tables, distinct.entries, strict=True):
                    numbers = entries[used]
                    product *= table[np.ix_(numbers, numbers)]
                d[i] += times @ (product @ times)
        return d

    def _tables(
        self, kind: Hashable, left: "_Distinct", right: "_Distinct | None"
    ) -> list[Array]:
        """Compute the kernel matrices of the distinct parts, one for each position."""
        tables = []
        for i, kernel in enumerate(self._kernels_of(kind)):
            a = left.parts[i]
            b = a if right is None else right.parts[i]
            if kernel is None:
                table = _equal(a, b)
            elif right is None:
                table = kernel(_collection(kernel, a))
            else:
                table = kernel(_collection(kernel, a), _collection(kernel, b))
            tables.append(table)
        return tables


def _equal(a: list[Any], b: list[Any]) -> Array:
    """Matrix with 1 for equal parts and 0 otherwise; the parts of each list are distinct."""
    columns = {_key(part): j for j, part in enumerate(b)}
    table = np.zeros((len(a), len(b)))
    for i, part in enumerate(a):
        j = columns.get(_key(part))
        if j is not None:
            table[i, j] = 1.0
    return table


class _Distinct:
    """Distinct tuples of parts, with their counts in each sample and their distinct entries.

    `entries[i][u]` is the number in `parts[i]` of entry i of tuple u.
    """

    def __init__(self, rows: list[int], tuples: list[tuple[Any, ...]], n: int) -> None:
        # number the distinct parts, and keep the first occurrence of each
        self.parts: list[list[Any]] = []
        columns = []
        for column in zip(*tuples, strict=True):
            keys: dict[Any, int] = {}
            numbers = [keys.setdefault(_key(part), len(keys)) for part in column]
            first = dict(zip(reversed(numbers), reversed(column), strict=True))
            self.parts.append([first[j] for j in range(len(keys))])
            columns.append(numbers)

        # find the distinct tuples, and count them in each sample
        distinct, tuple_of = np.unique(np.array(columns), axis=1, return_inverse=True)
        self.entries = list(distinct)
        ones = np.ones(len(rows))
        shape = (n, distinct.shape[1])
        self.counts = sparse.csr_array((ones, (rows, tuple_of.ravel())), shape=shape)
        self.counts.sum_duplicates()
        n_tuples = np.diff(self.counts.indptr)
        self.largest_count = int(n_tuples.max(initial=1))


def _key(part: Any) -> Any:
    """Return a key of a part: equal parts have equal keys, even if they cannot be hashed."""
    try:
        hash(part)
    except TypeError:
        pass
    else:
        return part
    if isinstance(part, np.ndarray):
        entries = [v if v == v else "NaN" for v in map(_key, part.ravel().tolist())]
        return "array", part.shape, tuple(entries)
    if isinstance(part, list | tuple):
        return type(part), *map(_key, part)
    if isinstance(part, set):
        return frozenset(part)
    if isinstance(part, dict):
        return frozenset((name, _key(value)) for name, value in part.items())
    return key_of_sample(part, "Convolution: a part", any_object=True)


def _collection(kernel: Any, parts: list[Any]) -> Any:
    """Return parts in the form of samples: a list, or the rows of a table."""
    if not kernel.requires_vector_input:
        return parts
    rows = [np.atleast_1d(np.asarray(part)) for part in parts]
    return as_vectors(rows, "Convolution")


@dataclass(frozen=True, eq=False)
class Graphs:
    """A collection of labelled graphs; indexing returns a subset, as for `Packed`.

    Attributes
    ----------
    labels, degrees : Packed
        Labels of the nodes of each graph, and their numbers of neighbours.
    neighbours, edges : Packed
        For each node, the numbers of its neighbours and the labels of the edges to them.
    """

    labels: Packed
    degrees: Packed
    neighbours: Packed
    edges: Packed

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, indices: Array) -> "Graphs":
        fields = (self.labels, self.degrees, self.neighbours, self.edges)
        return Graphs(*(field[indices] for field in fields))

    def joined(self, other: "Graphs | None") -> "Graphs":
        """Return one collection, with the graphs of `other` last."""
        if other is None:
            return self
        return Graphs(
            joined(self.labels, other.labels),
            joined(self.degrees, other.degrees),
            joined(self.neighbours, other.neighbours),
            joined(self.edges, other.edges),
        )


class _Graph(NamedTuple):
    """One graph: the ends of the edges come node by node."""

    labels: list[Any]
    degrees: Array
    neighbours: Array
    edge_labels: list[Any] | None  # one label for each end of an edge; None without labels


def read_graphs(X: Any, name: str = "The kernel") -> Graphs:
    """Return graphs of any type as one `Graphs` collection."""
    samples = as_samples(X, name)
    graphs = [_read_graph(x, f"{name}: sample {i}") for i, x in enumerate(samples)]
    degrees = _one_after_another([graph.degrees for graph in graphs])
    neighbours = _one_after_another([graph.neighbours for graph in graphs])

    # read the labels of the edges; if no graph has edge labels, all edges get the same label
    if all(graph.edge_labels is None for graph in graphs):
        n_ends = len(neighbours.codes)
        symbols = (None,) if n_ends else ()
        edges = Packed(np.zeros(n_ends, np.int32), neighbours.offsets, symbols, "tokens")
    else:
        edge_labels = [
            [None] * len(graph.neighbours) if graph.edge_labels is None else graph.edge_labels
            for graph in graphs
        ]
        edges = pack(edge_labels, name)

    return Graphs(pack([graph.labels for graph in graphs], name), degrees, neighbours, edges)


def _one_after_another(arrays: list[Array]) -> Packed:
    """Concatenate the numbers of all graphs."""
    lengths = [len(array) for array in arrays]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    numbers = np.concatenate([np.zeros(0, np.int32), *arrays]).astype(np.int32)
    return Packed(numbers, offsets, (), "tokens")


def _read_graph(x: Any, name: str) -> _Graph:
    """Read a graph of any type."""
    if hasattr(x, "nodes") and hasattr(x, "adjacency"):
        return _read_networkx(x, name)
    if not isinstance(x, list | tuple) or len(x) not in (2, 3):
        raise TypeError(
            f"{name} is of type {type(x).__name__}; pass a networkx graph whose nodes have an "
            "attribute label, or a tuple (labels, edges) or (labels, edges, edge_labels)."
        )

    # read the labels, the edges, and the labels of edges if there are any
    labels = x[0].tolist() if isinstance(x[0], np.ndarray) else list(x[0])
    pairs = _edges(x[1], len(labels), name)
    kinds = None if len(x) == 2 else list(x[2])
    if kinds is not None and len(kinds) != len(pairs):
        raise ValueError(f"{name} has {len(pairs)} edges and {len(kinds)} edge labels.")

    # list each edge at both of its ends, but a loop only once; sort by node, and keep the order of
    # the edges
    nodes = pairs.ravel()
    opposite = pairs[:, ::-1].ravel()
    at_second_end = np.arange(len(nodes)) % 2 == 1
    ends = np.flatnonzero(~(at_second_end & (nodes == opposite)))
    ends = ends[np.argsort(nodes[ends], kind="stable")]

    degrees = np.bincount(nodes[ends], minlength=len(labels))
    of_ends = None if kinds is None else [kinds[end // 2] for end in ends.tolist()]
    return _Graph(labels, degrees, opposite[ends], of_ends)


def _read_networkx(x: Any, name: str) -> _Graph:
    """Read a graph of networkx, whose nodes are numbered in their order."""
    number = {v: i for i, v in enumerate(x.nodes)}
    missing = [v for v in number if "label" not in x.nodes[v]]
    if missing:
        raise ValueError(
            f'{name}: node {missing[0]!r} has no attribute "label"; set one, for example the '
            "degree."
        )

    degrees = []
    ends: list[tuple[int, Any]] = []
    for _, neighbours in x.adjacency():
        before = len(ends)
        for u, data in neighbours.items():
            parallel = data.values() if x.is_multigraph() else [data]
            ends += [(number[u], edge.get("label")) for edge in parallel]
        degrees.append(len(ends) - before)

    labels = [x.nodes[v]["label"] for v in number]
    opposite = np.array([node for node, _ in ends], dtype=np.int64)
    return _Graph(
        labels, np.array(degrees, dtype=np.int64), opposite, [kind for _, kind in ends]
    )


def _edges(edges: Any, n_nodes: int, name: str) -> Array:
    """Check edges; return them as an integer array of shape (n_edges, 2)."""
    pairs = np.asarray(edges, dtype=np.int64 if len(edges) == 0 else None)
    if not len(pairs):
        pairs = pairs.reshape(0, 2)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(f"{name}: edges must be pairs of node numbers.")
    outside = (pairs < 0) | (pairs >= n_nodes)
    if outside.any():
        raise ValueError(f"{name}: edges refer to nodes outside 0 to {n_nodes - 1}.")
    return pairs


class WeisfeilerLehman(BaseKernel):
    r"""Inner product of the counts of refined labels of the nodes of graphs.

    .. math:: k(G, G') = \sum_{h = 0}^{H} \sum_{a} \phi_{h a}(G) \phi_{h a}(G')

    with :math:`\phi_{h a}(G)` the number of nodes with label a after h rounds; in each round the
    new label of a node combines its label with the sorted labels of its neighbours.

    Parameters
    ----------
    n_iter : int, default=3
        Number of refinement rounds H; 0 counts the original labels.
    edge_labels : bool, default=False
        Whether a new label also depends on the labels of the edges to the neighbours.

    See Also
    --------
    CompleteSubtree : Counts of subtrees of trees.

    Notes
    -----
    A sample is a networkx graph whose nodes (and edges) have an attribute ``label``, or a tuple
    ``(labels, edges)`` or ``(labels, edges, edge_labels)``: labels of the nodes, pairs of numbers
    of nodes, labels of the edges. Edges of directed networkx graphs are followed forward. Labels
    are any hashable values. The kernel is positive semi-definite. The refinement is exact: a hash
    table that compares rows of sorted labels assigns the new labels. Graphs that the refinement
    cannot distinguish, such as regular graphs with one label, have the same features.

    References
    ----------
    .. [1] Shervashidze, Schweitzer, van Leeuwen, Mehlhorn and Borgwardt, Weisfeiler-Lehman graph
       kernels, JMLR 12, 2011, pp. 2539-2561.

    Examples
    --------
    >>> from skmoderndata.kernels import WeisfeilerLehman
    >>> water = (["H", "O", "H"], [(0, 1), (1, 2)])
    >>> hydroxide = (["H", "O"], [(0, 1)])
    >>> WeisfeilerLehman(n_iter=1)([water, hydroxide])
    array([[10.,  5.],
           [ 5.,  4.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shervashidze2011weisfeiler",),
        cost="n_iter (edges + common labels)", domain="graph", method=PAGE,
    )  # fmt: skip

    def __init__(self, n_iter: int = 3, edge_labels: bool = False) -> None:
        self.n_iter = n_iter
        self.edge_labels = edge_labels

    def _validate(self) -> None:
        self._check_integer("n_iter", 0)
        self._check_choice("edge_labels", (True, False))

    @property
    def encoding(self) -> str | None:
        """Name of the form that `encode` stores."""
        return "graphs"

    def _check(self, X: Any) -> Graphs:
        return read_graphs(X, "WeisfeilerLehman")

    def _counts(self, X: Graphs, Y: Graphs | None) -> tuple[Any, Any]:
        """Count the labels of all rounds, columns side by side."""
        graphs = X.joined(Y)
        if self.edge_labels:
            _refuse_unlabelled(graphs.edges)

        # convert numbers of nodes within a graph to numbers among all nodes
        offsets = graphs.labels.offsets
        first = np.repeat(offsets[:-1], graphs.neighbours.lengths)
        neighbours = graphs.neighbours.codes + first

        ends = np.cumsum(graphs.degrees.codes, dtype=np.int64)
        starts = np.concatenate([[0], ends])
        edges = graphs.edges.codes.astype(np.int64) * self.edge_labels
        labels = graphs.labels.codes.astype(np.int64)

        # alternate between 1. counting the labels and 2. refining them by the labels of the
        # neighbours
        rounds = []
        for h in range(self.n_iter + 1):
            if h:
                labels = refine(labels, starts, neighbours, edges)
            n_labels = int(labels.max(initial=0)) + 1
            rounds.append(count_windows(labels, offsets, n_labels))

        counts = sparse.csr_array(sparse.hstack(rounds, format="csr"))
        n = len(X)
        return counts[:n], None if Y is None else counts[n:]

    def _gram(self, X: Graphs, Y: Graphs | None) -> Array:
        A, B = self._counts(X, Y)
        return gram_of_counts(A, B, n_bytes=working_memory())

    def _diag(self, X: Graphs) -> Array:
        counts, _ = self._counts(X, None)
        return squared_norms(counts)

    def features(self, X: Any, Y: Any = None) -> Any:
        """Return counts of refined labels as sparse rows, whose inner products are the kernel.

        Parameters
        ----------
        X : collection of graphs
            Samples.
        Y : collection of graphs, default=None
            Other samples, which get the same columns.

        Returns
        -------
        features : csr_array of shape (n_X, n_labels), or two of them
            One column for each label of each round that occurs; with `Y` a pair of matrices.
        """
        self._validate()
        graphs = self._real(X)
        others = None if Y is None else self._real(Y)
        left, right = self._counts(graphs, others)
        return left if Y is None else (left, right)


def _refuse_unlabelled(edges: Packed) -> None:
    """Raise ValueError if an edge has no label; called if the labels of edges count."""
    if None not in edges.symbols:
        return
    symbol = edges.symbols.index(None)
    unlabelled = np.flatnonzero(edges.codes == symbol)
    if len(unlabelled):
        graph = np.searchsorted(edges.offsets, unlabelled[0], side="right") - 1
        raise ValueError(
            f"WeisfeilerLehman: sample {graph} has edges without a label; add them, or "
            "set edge_labels=False."
        )

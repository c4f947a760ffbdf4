"""Kernels from graphs: sums over paths, and diffusion between nodes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.gaussian_process.kernels import Kernel

from skmoderndata._estimator.registry import KernelCard
from skmoderndata._samples.containers import Sample, as_samples, check_real, is_sparse
from skmoderndata._solvers.common.arrays import TEMPORARY_BYTES
from skmoderndata._solvers.common.quantities import FLOAT_BYTES
from skmoderndata._solvers.common.tolerances import ACCUMULATED_ROUNDING, RANK_TOL
from skmoderndata._solvers.common.typing import Array
from skmoderndata.kernels._base import BaseKernel

FAMILY = "kernels from graphs"
PAGE = "graph_kernels"


class _OverPaths(BaseKernel):
    """Sum over the paths from source to sink of the products of the kernels on the edges."""

    edges: Sequence[tuple[Any, Any, Any]]
    source: Any
    sink: Any

    @property
    def requires_vector_input(self) -> bool:
        """Whether samples are rows of a numeric table."""
        kernels = [k for _, _, k in self.edges if isinstance(k, Kernel)]
        return any(k.requires_vector_input for k in kernels)

    def _check(self, X: Any) -> Any:
        return X

    def _validate(self) -> None:
        name = type(self).__name__
        for edge in self.edges:
            if len(edge) != 3:
                raise ValueError(
                    f"{name}: an edge must be (from, to, kernel or number), not {edge!r}."
                )
            u, v, weight = edge
            if not isinstance(weight, Kernel) and not (np.isreal(weight) and weight >= 0):
                raise ValueError(
                    f"{name}: the edge from {u!r} to {v!r} has the weight "
                    f"{weight!r}; it must be a kernel or a number of at least 0."
                )

        nodes = self._nodes()
        for label in ("source", "sink"):
            if getattr(self, label) not in nodes:
                raise self._refuse(label, "a node of an edge")

    def _nodes(self) -> dict[Any, int]:
        """Return the nodes of the graph with their numbers."""
        nodes: dict[Any, int] = {}
        for u, v, _ in self.edges:
            nodes.setdefault(u, len(nodes))
            nodes.setdefault(v, len(nodes))
        return nodes

    def _edge(self, kernel: Any, X: Any, Y: Any, shape: tuple[int, ...]) -> Array:
        if not isinstance(kernel, Kernel):
            return np.full(shape, float(kernel))
        if len(shape) == 1:
            return kernel.diag(X)
        return kernel(X) if Y is None else kernel(X, Y)

    def _shape(self, X: Any, Y: Any) -> tuple[int, int]:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if Y is None:
            return n, n
        m = Y.shape[0] if hasattr(Y, "shape") else len(Y)
        return n, m

    def _sum(self, X: Any, Y: Any, shape: tuple[int, ...]) -> Array:
        raise NotImplementedError

    def _gram(self, X: Any, Y: Any) -> Array:
        return self._sum(X, Y, self._shape(X, Y))

    def _diag(self, X: Any) -> Array:
        n, _ = self._shape(X, None)
        return self._sum(X, None, (n,))


class DAGPath(_OverPaths):
    r"""Sum over the paths of an acyclic graph of the products of the kernels on their edges.

    .. math:: k(x, z) = \sum_{\text{paths}} \prod_{(u, v) \in \text{path}} k_{uv}(x, z)

    Parameters
    ----------
    edges : list of (node, node, Kernel or float)
        Start node, end node and weight of each edge; the weight is a kernel of the samples or a
        number of at least 0. Parallel edges add up.
    source : hashable
        First node of all paths.
    sink : hashable
        Last node of all paths.

    See Also
    --------
    GraphPath : For graphs with cycles.
    ANOVA : The path kernel of a grid.

    Notes
    -----
    The kernel is positive semi-definite if the kernels of all edges are. The cost is one matrix
    for each edge and one sum for each node in topological order. There are no gradients: the
    parameters of the kernels on the edges are fixed. The definition is the standard one.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 9.3.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skmoderndata.kernels import DAGPath
    >>> edges = [("s", "a", RBF()), ("a", "t", 2.0), ("s", "t", 1.0)]
    >>> DAGPath(edges, "s", "t")([[0.0], [0.0]])
    array([[3., 3.],
           [3., 3.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="sum over the edges", domain="any",
        method=PAGE,
    )  # fmt: skip

    def __init__(self, edges: Sequence[tuple[Any, Any, Any]], source: Any, sink: Any) -> None:
        self.edges = edges
        self.source = source
        self.sink = sink

    def _sum(self, X: Any, Y: Any, shape: tuple[int, ...]) -> Array:
        inward: dict[Any, list[tuple[Any, Any]]] = {}
        for u, v, kernel in self.edges:
            inward.setdefault(u, [])
            inward.setdefault(v, []).append((u, kernel))

        # sum over the paths from the source to each node
        total: dict[Any, Array] = {}
        for node in _topological(inward):
            value = np.ones(shape) if node == self.source else np.zeros(shape)
            for u, kernel in inward[node]:
                if total[u].any():
                    value += total[u] * self._edge(kernel, X, Y, shape)
            total[node] = value
        return total[self.sink]


def _topological(inward: dict[Any, list[tuple[Any, Any]]]) -> list[Any]:
    """Sort the nodes so that each node follows all its predecessors."""
    waiting = {v: len(edges) for v, edges in inward.items()}
    outward: dict[Any, list[Any]] = {v: [] for v in inward}
    for v, edges in inward.items():
        for u, _ in edges:
            outward[u].append(v)

    ready = [v for v, count in waiting.items() if not count]
    order = []
    while ready:
        u = ready.pop()
        order.append(u)
        for v in outward[u]:
            waiting[v] -= 1
            if not waiting[v]:
                ready.append(v)

    if len(order) < len(inward):
        raise ValueError("DAGPath: the graph has a cycle; use GraphPath.")
    return order


class GraphPath(_OverPaths):
    r"""Sum over all walks of a graph of the products of the kernels on their edges.

    .. math:: k(x, z) = \left[(I - A(x, z))^{-1}\right]_{st}, \qquad A_{uv} = k_{uv}(x, z)

    Parameters
    ----------
    edges, source, sink
        Same as in `DAGPath`; walks may pass a node several times.

    See Also
    --------
    DAGPath : For graphs without cycles; solves no linear systems.

    Notes
    -----
    The sum converges if the spectral radius of ``A(x, z)`` is below 1. It suffices that this holds
    for ``z = x``, which is checked for each sample. The kernel is positive semi-definite if the
    kernels of all edges are. One small linear system is solved for each pair, in batches. There
    are no gradients. The definition is the standard one.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 9.3.

    Examples
    --------
    >>> from skmoderndata.kernels import GraphPath
    >>> edges = [("s", "a", 1.0), ("a", "a", 0.5), ("a", "t", 2.0)]
    >>> GraphPath(edges, "s", "t")([[0.0]])
    array([[4.]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="n^2 V^3, V nodes", domain="any",
        method=PAGE,
    )  # fmt: skip

    def __init__(self, edges: Sequence[tuple[Any, Any, Any]], source: Any, sink: Any) -> None:
        self.edges = edges
        self.source = source
        self.sink = sink

    def _systems(self, X: Any, Y: Any, shape: tuple[int, ...]) -> tuple[Array, int, int]:
        """Return the matrices A of all pairs, and the numbers of source and sink."""
        nodes = self._nodes()
        V = len(nodes)
        n_pairs = int(np.prod(shape))
        A = np.zeros((n_pairs, V, V))
        for u, v, kernel in self.edges:
            values = self._edge(kernel, X, Y, shape)
            A[:, nodes[u], nodes[v]] += values.reshape(n_pairs)
        return A, nodes[self.source], nodes[self.sink]

    def _refuse_divergent(self, X: Any) -> None:
        n, _ = self._shape(X, None)
        A, _, _ = self._systems(X, None, (n,))
        radius = np.abs(np.linalg.eigvals(A)).max(initial=0.0)
        if radius >= 1:
            raise ValueError(
                f"GraphPath: the sum over walks diverges: the spectral radius is {radius:.3g} for "
                "a sample with itself and must be below 1. Scale down the kernels on cycles."
            )

    def _gram(self, X: Any, Y: Any) -> Array:
        self._refuse_divergent(X)
        if Y is not None:
            self._refuse_divergent(Y)
        n, m = self._shape(X, Y)
        second = X if Y is None else Y
        K = np.empty((n, m))
        V = len(self._nodes())
        row_entries = V * V * max(1, m)
        step = max(1, TEMPORARY_BYTES // (FLOAT_BYTES * row_entries))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            K[rows] = self._sum(X[rows], second, (rows.stop - start, m))
        return K

    def _diag(self, X: Any) -> Array:
        self._refuse_divergent(X)
        return super()._diag(X)

    def _sum(self, X: Any, Y: Any, shape: tuple[int, ...]) -> Array:
        A, s, t = self._systems(X, Y, shape)
        n_pairs, V, _ = A.shape
        unit = np.zeros((V, 1))
        unit[t] = 1.0
        units = np.broadcast_to(unit, (n_pairs, V, 1))
        walks = np.linalg.solve(np.eye(V) - A, units)
        return walks[:, s, 0].reshape(shape)


class _BetweenNodes(BaseKernel):
    """Function of a symmetric matrix of similarities between nodes; samples are node numbers."""

    similarity: Any

    def _matrix(self) -> Array:
        S = self.similarity
        S = S.toarray() if is_sparse(S) else S
        check_real(S, f"{type(self).__name__}: similarity")
        S = np.asarray(S, dtype=np.float64)
        if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.isfinite(S).all():
            raise self._refuse("similarity", "a square matrix of finite numbers")
        largest = np.abs(S).max(initial=0.0)
        if not np.allclose(S, S.T, rtol=RANK_TOL, atol=ACCUMULATED_ROUNDING * largest):
            raise ValueError(
                f"{type(self).__name__}: similarity must be symmetric; for a directed graph "
                "use (A + A.T) / 2."
            )
        return S

    def _spectrum(self) -> tuple[Array, Array]:
        """Return eigenvalues and eigenvectors, cached while `similarity` is the same object."""
        cached: Any = getattr(self, "_cached_spectrum", None)
        laplacian = getattr(self, "laplacian", False)
        key = (id(self.similarity), laplacian)
        if cached is None or cached[0] is not self.similarity or cached[1] != key:
            B = self._matrix()
            if laplacian:
                B = B - np.diag(B.sum(axis=1))
            spectrum = linalg.eigh(B, check_finite=False)
            cached = (self.similarity, key, spectrum)
            self._cached_spectrum = cached
        w, U = cached[2]
        return w, U

    def _check(self, X: Any) -> Array:
        name = type(self).__name__
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1:
            X = X[:, 0]

        # accept integers, and floats that are whole numbers
        samples = as_samples(X, name)
        try:
            values = np.array([x.value if isinstance(x, Sample) else x for x in samples])
            values = values.reshape(len(samples))
            nodes = values.astype(np.intp)
            are_integers = bool((nodes == values).all())
        except (TypeError, ValueError):
            are_integers = False
        if not are_integers:
            raise ValueError(f"{name}: a sample must be the number of a node, an integer.")

        # check that the graph contains the nodes
        S = self.similarity
        n = S.shape[0] if hasattr(S, "shape") else len(S)
        outside = (nodes < 0) | (nodes >= n)
        if outside.any():
            strange = nodes[outside][0]
            raise ValueError(
                f"{name}: node {strange} is not in the graph, whose nodes are 0 to {n - 1}; the "
                "kernel is not defined for new nodes."
            )

        return nodes

    def _of_spectrum(self, w: Array) -> Array:
        raise NotImplementedError

    def _gram(self, X: Any, Y: Any) -> Array:
        w, U = self._spectrum()
        A = U[X] * self._of_spectrum(w)
        B = U[X if Y is None else Y]
        K: Array = A @ B.T
        return (K + K.T) / 2 if Y is None else K

    def _diag(self, X: Any) -> Array:
        w, U = self._spectrum()
        return U[X] ** 2 @ self._of_spectrum(w)

    def _from(self, X: Array, f: Array) -> Array:
        _, U = self._spectrum()
        A = U[X]
        return (A * f) @ A.T


class ExponentialDiffusion(_BetweenNodes):
    """Exponential of a similarity matrix, ``exp(c B)``: walks of length k weigh ``c^k / k!``.

    Parameters
    ----------
    similarity : array-like or sparse matrix of shape (n_nodes, n_nodes)
        Symmetric similarities B between the nodes, such as an adjacency matrix.
    decay : float, default=1.0
        Weight c of a step: the rate of diffusion. Negative values are allowed.
    laplacian : bool, default=False
        Whether to subtract the degrees from the diagonal of B, which gives the negative Laplacian
        and the heat kernel; its rows sum to 1.
    decay_bounds : pair of floats or "fixed", default="fixed"
        Range of `decay` in hyperparameter search, where it must be above 0.

    See Also
    --------
    VonNeumann : Slower decay with the length of walks.
    sklearn.manifold.SpectralEmbedding : Coordinates from the same spectrum.

    Notes
    -----
    A sample is the number of a node. The kernel is positive semi-definite for any symmetric B. One
    eigendecomposition is computed and cached as long as `similarity` is the same object. The
    kernel is defined for the nodes of the graph only. The definition is the standard one.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 9.4.
    .. [2] Kondor and Lafferty, Diffusion kernels on graphs and other discrete structures, ICML
       2002.

    Examples
    --------
    >>> from skmoderndata.kernels import ExponentialDiffusion
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> ExponentialDiffusion(path, decay=0.5)([0, 1]).round(4)
    array([[1.1303, 0.5427],
           [0.5427, 1.2606]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel", "kondor2002diffusion"),
        cost="V^3 + n^2 V, V nodes", domain="node", method=PAGE,
        tier="textbook",
        instead="Use scipy.linalg.expm of the similarities, and SVC(kernel='precomputed'): it is "
        "the same matrix in one line.",
    )  # fmt: skip
    _tunable = ("decay",)

    def __init__(
        self,
        similarity: Any,
        decay: float = 1.0,
        laplacian: bool = False,
        decay_bounds: Any = "fixed",
    ) -> None:
        self.similarity = similarity
        self.decay = decay
        self.laplacian = laplacian
        self.decay_bounds = decay_bounds

    def _validate(self) -> None:
        self._check_real("decay", 0.0 if self._is_tuned("decay") else -np.inf)

    def _of_spectrum(self, w: Array) -> Array:
        return np.exp(self.decay * w)

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        w, _ = self._spectrum()
        slope = self.decay * w * np.exp(self.decay * w)
        return {"decay": self._from(X, slope)}


class VonNeumann(_BetweenNodes):
    """Resolvent of a similarity matrix, ``(I - c B)^-1``: walks of length k weigh ``c^k``.

    Parameters
    ----------
    similarity : array-like or sparse matrix of shape (n_nodes, n_nodes)
        Symmetric similarities B between the nodes.
    decay : float, default=None
        Weight c of a step, at least 0 and below ``1 / rho``, with rho the spectral radius of B.
        None uses ``relative_decay / rho``.
    relative_decay : float, default=0.5
        Fraction of the largest possible `decay`, above 0 and below 1; used if `decay` is None.
    include_identity : bool, default=True
        Whether walks of length 0 count. Without them the kernel is ``B (I - c B)^-1``, which is
        positive semi-definite only if B is; any other B raises ValueError.
    relative_decay_bounds : pair of floats or "fixed", default="fixed"
        Range of `relative_decay` in hyperparameter search, used if `decay` is None.

    See Also
    --------
    ExponentialDiffusion : Converges for every rate.

    Notes
    -----
    A sample is the number of a node. The kernel is positive semi-definite for any symmetric B. One
    eigendecomposition is computed and cached as long as `similarity` is the same object. A `decay`
    out of range raises ValueError; it is never lowered. The definition is the standard one.

    References
    ----------
    .. [1] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 9.4.

    Examples
    --------
    >>> from skmoderndata.kernels import VonNeumann
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> VonNeumann(path, decay=0.5)([0, 1, 2]).round(6)
    array([[1.5, 1. , 0.5],
           [1. , 2. , 1. ],
           [0.5, 1. , 1.5]])
    """

    _card = KernelCard(
        family=FAMILY, cite=("shawetaylor2004kernel",), cost="V^3 + n^2 V, V nodes",
        domain="node", method=PAGE,
    )  # fmt: skip
    _tunable = ("relative_decay",)

    def __init__(
        self, similarity: Any, decay: Any = None, relative_decay: float = 0.5,
        include_identity: bool = True, relative_decay_bounds: Any = "fixed",
    ) -> None:  # fmt: skip
        self.similarity = similarity
        self.decay = decay
        self.relative_decay = relative_decay
        self.include_identity = include_identity
        self.relative_decay_bounds = relative_decay_bounds

    def _validate(self) -> None:
        self._check_real("relative_decay", 0.0)
        if self.relative_decay >= 1:
            raise self._refuse("relative_decay", "above 0 and below 1")
        if self.decay is not None:
            self._check_real("decay", 0.0, low_included=True)

    def _rate(self, w: Array) -> float:
        rho = float(np.abs(w).max(initial=0.0))
        if self.decay is None:
            return self.relative_decay / rho if rho > 0 else 0.0
        if self.decay * rho >= 1:
            raise ValueError(
                f"VonNeumann: decay={self.decay:g}; the series converges only below 1 / rho = "
                f"{1 / rho:.6g}, with rho the spectral radius of similarity."
            )
        return float(self.decay)

    def _of_spectrum(self, w: Array) -> Array:
        values: Array = 1 / (1 - self._rate(w) * w)
        if self.include_identity:
            return values
        if w.size and w[0] < -RANK_TOL * np.abs(w).max():
            raise ValueError(
                "VonNeumann(include_identity=False) needs a positive semi-definite similarity, "
                f"but this one has an eigenvalue {w[0]:.3g}."
            )
        return w * values

    def _gradients(self, X: Any, K: Array) -> dict[str, Array]:
        w, _ = self._spectrum()
        rate = self._rate(w)
        slope = rate * w / (1 - rate * w) ** 2
        if not self.include_identity:
            slope = w * slope
        if self.decay is not None:
            slope = np.zeros_like(w)  # `relative_decay` has no effect here
        return {"relative_decay": self._from(X, slope)}

"""Maximum variance unfolding."""

import warnings
from numbers import Real

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import FLOATS, validate_data
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.embeddings.unfolding import (
    Graph,
    Unfolding,
    gap_below,
    geodesic_start,
    softness,
    unfold_at_most,
    unfold_softly,
    unfold_stated,
)

# Maximum number of samples for which solver="auto" passes the form "equal" to cvxpy.
STATED = 30


class MaximumVarianceUnfolding(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base
):
    r"""Embed samples with maximum variance under preserved distances of neighbours.

    The centred points have maximum variance under the distances d of neighbouring samples. This is
    a semidefinite program in the matrix K of inner products [1]_:

    .. math::
        \max_K \operatorname{tr} K \quad \text{s.t.} \quad K \succeq 0, \;
        \sum_{ij} K_{ij} = 0, \; K_{ii} + K_{jj} - 2 K_{ij} = d_{ij}^2
        \text{ for each edge } ij

    The embedding consists of the leading eigenvectors of K, times the roots of their eigenvalues.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    n_neighbors : int, default=6
        Number of neighbours of a sample; at most the number of other samples.
    constraints : {"equal", "at_most", "soft"}, default="equal"
        "equal" preserves the distances of edges; "at_most" allows them to shrink; "soft" replaces
        the constraint by a penalty, ``alpha_`` times the sum of squared deviations of the squared
        distances. For "equal" only ``solver="cvxpy"`` solves the stated problem; the other solvers
        solve "soft".
    slack : float, default=0.01
        Target of the relative deviation of the squared distances for "soft".
    angles : bool, default=False
        Whether to also connect any two neighbours of the same sample, which preserves angles.
    solver : {"auto", "cvxpy", "low_rank"}, default="auto"
        "cvxpy" states the program; "low_rank" ascends over ``K = Y Y'`` with `max_rank` columns,
        from distances along the graph. "auto" is "cvxpy" for "equal" and at most 30 samples, else
        "low_rank".
    max_rank : int, default=None
        Number of columns of Y; None means ``n_components + 8``, and more for fewer than 400
        samples.
    max_iter : int, default=10000
        Largest number of steps of the ascent.
    tol : float, default=0.01
        Relative duality gap at which the ascent ends.
    random_state : int, RandomState instance or None, default=None
        Controls the landmarks of the start, if there are more than 200 samples. Pass an int for
        reproducible results.
    n_jobs : int, default=None
        Number of jobs for the neighbour search.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        The embedding, with mean 0 over distinct samples.
    eigenvalues_ : ndarray of shape (n_eigenvalues,)
        Eigenvalues of K computed by the solver, in descending order.
    kernel_ : ndarray of shape (n_samples, n_samples)
        K, computed on access.
    edges_ : ndarray of shape (n_edges, 2)
        Pairs of samples in the graph of neighbours.
    edge_errors_ : ndarray of shape (n_edges,)
        Relative errors of the squared distances in K: 0.02 means two percent too long.
    variance_ : float
        Trace of K, over distinct samples.
    alpha_ : float
        Weight of the penalty of "soft"; 0 for the other constraints.
    dual_bound_ : float
        Upper bound of the optimum [2]_ of `variance_`; for "soft", of `variance_` minus the
        penalty.
    dual_gap_ : float
        Difference between the bound and the final value, relative to the bound.
    n_iter_ : int
        Number of steps.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.manifold.Isomap : Distances along the graph instead: faster, and better on sheets
        without holes.
    sklearn.manifold.LocallyLinearEmbedding : Preserves reconstruction weights instead of
        distances.
    SammonMapping : Preserves all distances, with emphasis on small ones.

    Notes
    -----
    A step takes ``n n_neighbors max_rank`` operations, and a few thousand steps are needed. The
    bound needs the second eigenvalue of a Laplacian, dense up to 400 samples. The problem of the
    ascent is not convex, because the number of columns is limited; the bound measures its result.
    With "soft" the gap decreases below one per cent; with "at_most" and more than a few hundred
    samples it does not.

    Distances are divided by their mean internally; results are in the units of the samples. Equal
    samples are unfolded once and get equal positions. A graph with several components has no
    optimum, and raises ValueError.

    The form "equal" may lack multipliers, and conic solvers differ in the third digit; then check
    `dual_gap_`, which is at least 0, and `edge_errors_`.

    The method does not define a map for new samples. `transform` writes a new sample as the affine
    combination of its `n_neighbors` nearest samples that is closest to it, as locally linear
    embedding does, and combines their positions; a sample of `fit` gets its own position.

    Axes are the eigenvectors of K, signed so that the entry of largest magnitude is positive.

    References
    ----------
    .. [1] Weinberger and Saul, Unsupervised learning of image manifolds by semidefinite
       programming, CVPR 2004.
    .. [2] Sun, Boyd, Xiao and Diaconis, The fastest mixing Markov process on a graph and a
       connection to a maximum variance unfolding problem, SIAM Review 48(4), 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.manifold import MaximumVarianceUnfolding
    >>> angle = np.linspace(0, 3, 100)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])  # an arc of length 3
    >>> model = MaximumVarianceUnfolding(1, n_neighbors=2, random_state=0).fit(X)
    >>> round(float(np.ptp(model.embedding_)), 1)
    3.0
    """

    _card = MethodCard(
        family="kernel methods",
        cite=("weinberger2004unsupervised", "sun2006fastest"),
        cost="T n n_neighbors k",
        tier="textbook",
        instead="Use LocallyLinearEmbedding with method='ltsa' and 8 neighbours, and scale its "
        "axes so that neighbours keep their distances: it recovers a sheet with a hole "
        "just as well in a small part of the time, though not with 12 neighbours.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        "n_neighbors": [AT_LEAST_ONE],
        "constraints": [StrOptions({"equal", "at_most", "soft"})],
        "slack": [Interval(Real, 0, 1, closed="neither")],
        "angles": ["boolean"],
        "solver": [StrOptions({"auto", "cvxpy", "low_rank"})],
        "max_rank": [AT_LEAST_ONE, None],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=2,
        *,
        n_neighbors=6,
        constraints="equal",
        slack=0.01,
        angles=False,
        solver="auto",
        max_rank=None,
        max_iter=10_000,
        tol=1e-2,
        random_state=None,
        n_jobs=None,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.constraints = constraints
        self.slack = slack
        self.angles = angles
        self.solver = solver
        self.max_rank = max_rank
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context()
    def fit(self, X, y=None):
        """Compute the embedding.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : MaximumVarianceUnfolding
            The fitted estimator.
        """
        X = validate_data(self, X, dtype=FLOATS)
        if self.max_rank is not None and self.max_rank < self.n_components:
            raise ValueError(
                f"max_rank={self.max_rank} is less than n_components={self.n_components}."
            )

        samples = X.astype(np.float64)
        rows, first, index = np.unique(samples, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)  # keep the distinct samples in the order of the rows
        self._rows = rows[order]
        first = first[order]
        rank_of = np.argsort(order)
        index = rank_of[np.ravel(index)]

        # build the graph of neighbours on distinct samples
        search = NearestNeighbors(n_jobs=self.n_jobs)
        self._search = search.fit(self._rows)
        i, j = self._edges(self._rows)
        self.edges_ = np.column_stack([first[i], first[j]])

        with FitProgress(self, X, y, max_passes=None) as progress:
            if len(i):
                unfolding, unit = self._unfold(self._rows, i, j, progress)
            else:  # all samples are equal
                unfolding = Unfolding(np.zeros((1, 1)), np.zeros(0), 0.0, 0.0, 0, True)
                unit = 1.0
                self.alpha_ = 0.0
                self.edge_errors_ = np.zeros(0)

        # rotate the unfolded points to their principal axes
        U, s, _ = np.linalg.svd(unfolding.Y, full_matrices=False)
        k = self.n_components
        rank = min(self.n_components, len(s))
        if k > len(X):
            warnings.warn(
                f"n_components={k} exceeds the {len(X)} samples: further coordinates of "
                "MaximumVarianceUnfolding are zero.",
                stacklevel=2,
            )

        axes = (U * s)[:, :rank]
        Y = np.zeros((len(unfolding.Y), k))
        Y[:, :rank] = fix_signs(axes.T).T * unit

        self.eigenvalues_ = (s * unit) ** 2
        self.variance_ = float(self.eigenvalues_.sum())
        self.dual_bound_ = float(unfolding.bound * unit**2)
        self.dual_gap_ = self._gap(unfolding)
        self.n_iter_ = unfolding.n_iter

        if not unfolding.converged and not progress.stopped:
            reached = f"duality gap {self.dual_gap_:.1e} after {unfolding.n_iter} steps"
            remedy = "increase max_iter, max_rank, tol"
            if self._solver(len(Y)) == "cvxpy":
                largest = np.abs(self.edge_errors_).max()
                reached += f", largest edge error {largest:.1e}"
                remedy = 'use constraints="soft"'
            warn_not_converged(self, reached=reached, remedy=remedy)

        self._places = Y
        self._factor = unfolding.Y * unit
        self._index = index
        self.embedding_ = Y[index].astype(X.dtype, copy=False)
        return self

    def fit_transform(self, X, y=None):
        """Compute and return the embedding.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : None
            Not used, present by convention.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
            `embedding_`.
        """
        return self.fit(X, y).embedding_

    @by_rows
    def transform(self, X):
        """Place new samples by the weights that reconstruct them from their neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            Positions of the samples.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        Y, _, _ = self._place(X.astype(np.float64, copy=False))
        return Y.astype(X.dtype, copy=False)

    @in_memory
    def score(self, X, y=None):
        """Compute the negative mean relative error of squared distances to the neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : None
            Not used, present by convention.

        Returns
        -------
        score : float
            At most 0; higher is better.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        Z, distances, nearest = self._place(X)
        steps = self._places[nearest] - Z[:, None]
        squares = distances**2
        errors = np.abs(np.sum(steps**2, axis=2) - squares)
        total = float(np.sum(squares))
        return -float(errors.sum()) / total if total > 0 else 0.0

    @property
    def kernel_(self):
        """Matrix K of inner products."""
        check_is_fitted(self, "embedding_")
        F = self._factor[self._index]
        return F @ F.T

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _place(self, X):
        """Positions of samples, and distances and indices of their neighbours."""
        k = min(self.n_neighbors, len(self._rows))
        distances, nearest = self._search.kneighbors(X, k)
        step = self._rows[nearest] - X[:, None]  # q x k x p
        G = np.einsum("qap,qbp->qab", step, step)
        trace = np.einsum("qaa->q", G)
        # if the neighbours span few dimensions, the system is singular, so add a small ridge
        ridge = np.where(trace > 0, 1e-3 * trace, 1.0)
        G += np.eye(k) * ridge[:, None, None]
        ones = np.ones((len(X), k, 1))
        w = np.linalg.solve(G, ones)[..., 0]
        w /= w.sum(axis=1, keepdims=True)
        w[distances[:, 0] == 0] = np.eye(k)[0]
        Y = np.einsum("qa,qac->qc", w, self._places[nearest])
        return Y, distances, nearest

    def _solver(self, n):
        if self.solver != "auto":
            return self.solver
        return "cvxpy" if self.constraints == "equal" and n <= STATED else "low_rank"

    def _edges(self, X):
        """Edges i < j of the graph of neighbours, in one component."""
        n = len(X)
        k = min(self.n_neighbors, n - 1)
        if k == 0:
            empty = np.zeros(0, dtype=int)
            return empty, empty.copy()

        # with angles preserved, connect the neighbours of a sample to each other
        A = self._search.kneighbors_graph(n_neighbors=k)
        joined = A + A.T
        if self.angles:
            joined = joined + A.T @ A
        n_components, label = connected_components(joined, directed=False)

        if n_components > 1:
            sizes = np.sort(np.bincount(label))[::-1]
            listed = ", ".join(map(str, sizes[:10]))
            listed += ", ..." if n_components > 10 else ""
            raise ValueError(
                f"The graph of n_neighbors={self.n_neighbors} has {n_components} components, of "
                f"{listed} samples: they could move apart without end. Increase n_neighbors, or "
                "unfold each component separately."
            )

        edges = sparse.triu(joined, 1).tocoo()
        order = np.lexsort((edges.col, edges.row))
        i = edges.row[order].astype(int)
        j = edges.col[order].astype(int)
        return i, j

    def _unfold(self, X, i, j, progress):
        """Solve in units of the mean length of an edge; set `alpha_` and `edge_errors_`."""
        n = len(X)
        # scale the edges to a mean length of one
        lengths = np.linalg.norm(X[i] - X[j], axis=1)
        unit = float(lengths.mean())
        squares = (lengths / unit) ** 2
        graph = Graph(n, i, j, squares)

        rng = check_random_state(self.random_state)
        default_rank = max(self.n_components + 8, 4000 // n)
        rank = min(n - 1, self.max_rank or default_rank)
        solver = self._solver(n)
        form = self.constraints
        if form == "equal" and solver != "cvxpy":
            form = "soft"

        # start from classical scaling of geodesic distances
        start = geodesic_start(graph, rank, rng)
        nu = softness(graph, start, self.slack)

        if solver == "cvxpy":
            progress.begin()
            unfolding = unfold_stated(graph, form, nu, tol=self.tol)
            progress.end()
        else:
            ascend = unfold_softly if form == "soft" else unfold_at_most
            limits = {"max_iter": self.max_iter, "tol": self.tol}
            unfolding = ascend(graph, start, nu, progress=progress, **limits)

        self.alpha_ = nu / unit**2 if form == "soft" else 0.0
        self.edge_errors_ = graph.lengths(unfolding.Y) / graph.d2 - 1
        return unfolding, unit

    def _gap(self, unfolding):
        if unfolding.bound == 0:
            return 0.0
        return gap_below(unfolding.bound, unfolding.objective)

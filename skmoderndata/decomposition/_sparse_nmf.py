"""Non-negative matrix factorisation with sparse codes, sparse components, or both."""

import warnings
from numbers import Real

import numpy as np

from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    Interval,
    StrOptions,
)
from skmoderndata._estimator.doors import parameters_are_named
from skmoderndata._estimator.doubt import EVIDENCE, record_doubt
from skmoderndata._estimator.refits import match, unit_rows
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import LARGEST
from skmoderndata._solvers.factors.coded_rows import CodedRows
from skmoderndata._solvers.factors.factor_updates import Side
from skmoderndata._solvers.factors.factorization import (
    factorize,
    idle_components,
    nndsvd_components,
    revive,
    start_from,
)
from skmoderndata.decomposition._nmf_base import (
    AlternatingFactorization,
    ridge_for_gaps,
    warn_of_rank,
)

FRACTION = Interval(Real, 0, 1, closed="both")
# Maximum length of a code of prescribed sparseness. At this length, a code takes about 2 s; the
# time grows with the cube of the length.
LONGEST = 300


class SparseNMF(AlternatingFactorization):
    r"""Factorise ``X ~ codes @ components`` into sparse non-negative factors.

    With ``penalty="l1"`` and ``side="codes"`` (SNMF/R [1]_) `fit` minimises

    .. math::
        \tfrac12 \|X - W H\|_F^2 + \tfrac{\alpha}{2} \sum_i \|w_i\|_1^2
        + \tfrac{\rho}{2} \|H\|_F^2 \quad\text{over}\quad W \ge 0,\ H \ge 0,

    where :math:`w_i` is the code of row i and :math:`\rho` is `ridge`. ``side="components"``
    (SNMF/L) exchanges the roles of the codes and the columns of H, and ``side="both"`` penalises
    both with :math:`\alpha`. With ``form="plain"`` the penalty is :math:`\alpha \|w_i\|_1`. With
    ``penalty="hoyer"`` [2]_ `fit` minimises :math:`\frac12 \|X - W H\|_F^2` over non-negative
    factors, one or both with a prescribed value of the sparseness

    .. math::
        \mathrm{sparseness}(x) = \frac{\sqrt n - \|x\|_1 / \|x\|_2}{\sqrt n - 1},

    which is 0 for equal entries and 1 for a single non-zero entry. With ``penalty=None`` it is
    non-negative matrix factorisation by alternating non-negative least squares. Missing entries
    (NaN) are ignored. With weights :math:`c_{ij}` of the entries (`entry_weight` of `fit`), the
    squared norm is :math:`\sum_{ij} c_{ij} (X - W H)_{ij}^2`.

    Parameters
    ----------
    n_components : int, default=2
        Number of components. It may exceed the numbers of rows and columns; if neither the data
        nor a penalty determines the components, a UserWarning is issued.
    penalty : {"l1", "hoyer"} or None, default="l1"
        Source of sparseness: "l1" penalises the l1 norms, "hoyer" prescribes the sparseness, None
        does neither.
    side : {"codes", "components", "both"}, default="codes"
        Sparse factors, for ``penalty="l1"``.
    alpha : float, default=0.01
        Weight of the l1 penalty: a pure number for ``form="squared"``, in units of X for "plain".
        0 is the same as ``penalty=None``.
    ridge : "auto" or float, default="auto"
        Weight of a squared norm. With ``penalty="l1"``, it applies to the factor that is not
        sparse, and prevents it from growing while the sparse factor shrinks; "auto" is the
        squared maximum of X. Without a penalty, it applies to both factors, because rows and
        columns with few observed entries do not determine their factors; "auto" is 0 for complete
        data, and otherwise a hundredth of the root mean square of the norms of the columns, with
        missing entries as 0.
    form : {"squared", "plain"}, default="squared"
        Form of the l1 penalty: "squared" means the squared l1 norm of each code, "plain" the norm
        itself.
    sparseness_components : float, default=None
        Sparseness of each component, for ``penalty="hoyer"``; None means no constraint.
    sparseness_codes : float, default=None
        Sparseness of the codes, for ``penalty="hoyer"``; None means no constraint.
    codes_axis : {"component", "sample"}, default="component"
        Axis of `sparseness_codes`: with "component", the codes of each component over all rows
        have this sparseness, as in [2]_; with "sample", the code of each row, which is not a
        constraint for a single component.
    init : {"nndsvd", "random"} or array-like, default="nndsvd"
        Initial components: "nndsvd" computes them from the singular vectors of X, "random" draws
        them; or an array of shape (n_components, n_features). The initial codes are computed
        from these components.
    n_init : int, default=1
        Number of starts; the best result is kept. Starts after the first are random. There is one
        start if `init` is an array.
    solver : {"hals", "bpp"}, default="hals"
        Solver: "hals" makes sweeps of coordinate descent over both factors, with extrapolation;
        "bpp" alternates non-negative least squares problems, solved exactly by block principal
        pivoting.
    max_iter : int, default=1000
        Largest number of passes per start.
    tol : float, default=1e-4
        Tolerance: passes stop when `kkt_residual_` is at most this.
    warm_start : bool, default=False
        If True, `fit` starts from the components of the last call.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the random starts. Pass an int for reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Components H, one per row, in descending order of the sum of squares they explain, or in
        the order of `init` if it is an array. Their norm is 1 unless the problem determines it.
    codes_ : ndarray of shape (n_samples, n_components) or None
        Codes of the training rows if they are constrained over rows (`sparseness_codes` with
        ``codes_axis="component"``), because `transform` cannot compute them; None otherwise.
    objective_ : float
        Value of the objective at the solution. After `partial_fit`, an estimate for all rows so
        far, computed from the rows that still have weight.
    objective_history_ : ndarray of shape (n_passes,)
        Objective after each pass with the penalty; it never increases.
    kkt_residual_ : float
        Norm of the projected gradient relative to the norm of the linear terms; the maximum over
        both factors. It is 0 at stationary points and independent of units. After `partial_fit`,
        the value for the components.
    reconstruction_err_ : float
        Frobenius norm of ``X - codes @ components_`` over observed entries, with weighted
        squares.
    ridge_ : float
        Weight of the squared norm used in the fit; 0 if there is none.
    doubt_ : str or None
        Reason to doubt the result, with a remedy: components that are zero, or starts with the
        same objective and different components. None if there is none. `partial_fit` does not
        change it once the first rows have been fitted.
    n_components_ : int
        Number of components.
    n_iter_ : int
        Number of passes of the best start, including up to twenty initial passes without the
        penalty.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.NMF : Has elementwise l1 and l2 penalties and other divergences, but
        neither prescribed sparseness, nor missing entries, nor a measure of optimality.
    skmoderndata.decomposition.ProbabilisticLSA : Minimises the Kullback-Leibler divergence
        (``beta_loss="kullback-leibler"`` of `NMF`), and accepts missing entries.
    skmoderndata.decomposition.SemiNMF : Components of any sign.
    skmoderndata.decomposition.ConvexNMF : Components that are averages of rows.

    Notes
    -----
    `fit` accepts Dask arrays and tables on disk; the codes stay where the rows are read. Codes of
    prescribed sparseness over rows couple all rows, so they raise an error for such tables, and
    the start "nndsvd" is computed from a sample of up to 10,000 rows.

    A pass takes two products of X with a thin matrix, ``4 n p k`` operations (for sparse X, n p is
    the number of stored entries; it is never converted to dense), and sweeps of ``n k k``
    operations. With missing or weighted entries, each row and column has its own Gram matrix,
    which takes ``n p k k`` operations. The problem is not convex: starts differ in the second or
    third digit of the objective. Up to twenty initial passes without the l1 penalty separate the
    components; the penalty then sets fewer of them to zero, and the objectives are up to 1.6
    times lower.

    `transform` computes the codes row by row, for fixed components. It solves the problem exactly
    by block principal pivoting; if the sparseness of the code of each row is prescribed, it keeps
    the best of several stationary points (the best code if the sparseness is 0 or 1).
    `fit_transform` does the same with the training rows. Products with float32 input are computed
    in float32, everything else in float64.

    References
    ----------
    .. [1] Kim and Park, Sparse non-negative matrix factorizations via alternating
       non-negativity-constrained least squares, Bioinformatics 23(12), 2007, equations (3), (6).
    .. [2] Hoyer, Non-negative matrix factorization with sparseness constraints, Journal of
       Machine Learning Research 5, 2004, pp. 1457-1469.
    .. [3] Kim and Park, Fast nonnegative matrix factorization: an active-set-like method and
       comparisons, SIAM Journal on Scientific Computing 33(6), 2011, Algorithm 2.
    .. [4] Ang and Gillis, Accelerating nonnegative matrix factorization algorithms using
       extrapolation, Neural Computation 31(2), 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.decomposition import SparseNMF
    >>> X = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [2, 2, 1, 1], [0, 0, 3, 3.0]])
    >>> nmf = SparseNMF(2, penalty="hoyer", sparseness_components=0.58578644).fit(X)
    >>> (nmf.components_ ** 2).round(3)  # of four entries two are equal, the others 0
    array([[0. , 0. , 0.5, 0.5],
           [0.5, 0.5, 0. , 0. ]])
    >>> nmf.inverse_transform(nmf.transform(X)).round(2)
    array([[1., 1., 0., 0.],
           [0., 0., 1., 1.],
           [2., 2., 1., 1.],
           [0., 0., 3., 3.]])
    """

    _card = MethodCard(
        family="non-negative factors",
        cite=("hoyer2004non", "kim2007sparse", "kim2011fast", "ang2019accelerating"),
        cost="T n p k",
        fits_blocks=True,
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        "penalty": [StrOptions({"l1", "hoyer"}), None],
        "side": [StrOptions({"codes", "components", "both"})],
        "alpha": [NON_NEGATIVE],
        "ridge": [StrOptions({"auto"}), NON_NEGATIVE],
        "form": [StrOptions({"squared", "plain"})],
        "sparseness_components": [FRACTION, None],
        "sparseness_codes": [FRACTION, None],
        "codes_axis": [StrOptions({"component", "sample"})],
        "init": [StrOptions({"nndsvd", "random"}), "array-like"],
        "n_init": [AT_LEAST_ONE],
        "solver": [StrOptions({"hals", "bpp"})],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=2,
        *,
        penalty="l1",
        side="codes",
        alpha=0.01,
        ridge="auto",
        form="squared",
        sparseness_components=None,
        sparseness_codes=None,
        codes_axis="component",
        init="nndsvd",
        n_init=1,
        solver="hals",
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        random_state=None,
    ):
        self.n_components = n_components
        self.penalty = penalty
        self.side = side
        self.alpha = alpha
        self.ridge = ridge
        self.form = form
        self.sparseness_components = sparseness_components
        self.sparseness_codes = sparseness_codes
        self.codes_axis = codes_axis
        self.init = init
        self.n_init = n_init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state

    _nonnegative = True

    @property
    def _codes_over_rows(self):
        return (
            self.penalty == "hoyer"
            and self.sparseness_codes is not None
            and self.codes_axis == "component"
        )

    @property
    def _unpenalised(self):
        """Whether the problem has no penalty except, perhaps, a ridge on both factors."""
        if self.penalty == "l1" and self.alpha == 0:
            return self.side == "both" or self.ridge in ("auto", 0)
        return self.penalty is None

    def _scale_is_free(self):
        return self._unpenalised and self.ridge_ == 0

    def _validate(self, X, entry_weight, *, reset):
        X, cells = super()._validate(X, entry_weight, reset=reset)
        values = X.data if hasattr(X, "indptr") else X
        if values.size and np.nanmin(values, initial=0.0) < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}, down to "
                f"{np.nanmin(values):.3g}: shift or clip X, or use SemiNMF."
            )
        return X, cells

    def _check(self, rows):
        """Check the parameters against each other and the data, and set `ridge_`."""
        name = type(self).__name__
        shape = rows.shape
        if rows.weighted and self._codes_over_rows:
            raise ValueError(
                f"{name}(sparseness_codes={self.sparseness_codes}, codes_axis='component') "
                "accepts no sample_weight, because the sparseness over rows gives them equal "
                "weight; set codes_axis='sample' or repeat the rows."
            )

        self.ridge_ = self._ridge_of(rows)

        # only penalty="hoyer" prescribes sparseness, and it needs sparseness_components or
        # sparseness_codes
        if self.penalty != "hoyer":
            for parameter in ("sparseness_components", "sparseness_codes"):
                if getattr(self, parameter) is not None:
                    raise ValueError(
                        f"{name}({parameter}={getattr(self, parameter)}) needs penalty='hoyer', "
                        f"got penalty={self.penalty!r}: set penalty='hoyer' or {parameter}=None."
                    )
            return

        if self.sparseness_components is None and self.sparseness_codes is None:
            raise ValueError(
                f"{name}(penalty='hoyer') needs sparseness_components, sparseness_codes or both, "
                "between 0 and 1, but both are None; set penalty=None for no sparseness."
            )

        # the sparseness of a vector needs at least two entries
        sizes = {}
        if self.sparseness_components is not None:
            sizes["sparseness_components"] = ("n_features", shape[1])
        if self._codes_over_rows:
            sizes["sparseness_codes"] = ("n_samples", shape[0])
        for parameter, (length, size) in sizes.items():
            if size < 2:
                raise ValueError(
                    f"{name}({parameter}={getattr(self, parameter)}) needs at least 2 entries "
                    f"to be sparse, got {length}={size} (n_samples={shape[0]}, "
                    f"n_features={shape[1]}); set {parameter}=None."
                )

        if self.sparseness_codes is not None and not self._codes_over_rows:
            if self.n_components > LONGEST:
                raise ValueError(
                    f"{name}(n_components={self.n_components}, sparseness_codes="
                    f"{self.sparseness_codes}, codes_axis='sample') would take minutes for each "
                    f"row: use at most {LONGEST} components, or penalty='l1'."
                )

    def _ridge_of(self, rows):
        """Return the weight of the ridge."""
        if self.penalty == "hoyer" or (self.side == "both" and not self._unpenalised):
            return 0.0
        if self.ridge != "auto":
            return float(self.ridge)
        if self._unpenalised:
            return ridge_for_gaps(rows)
        top = rows.largest()
        return top * top

    def _warn_of_rank(self, shape):
        if self.penalty == "l1" and self.alpha == 0 and not self._unpenalised:
            warnings.warn(
                f"{type(self).__name__}(alpha=0, ridge={self.ridge:g}) has no minimum: one factor "
                "shrinks without end while the other grows. Set penalty=None, whose ridge applies "
                "to both factors, or ridge='auto'.",
                UserWarning,
                stacklevel=4,
            )

        # A positive l1 penalty allows any number of components; codes of prescribed sparseness
        # allow more components than columns.
        if self.penalty != "l1" or self._unpenalised:
            rows_only = self.penalty == "hoyer" and self.sparseness_codes is not None
            remedy = "Use fewer, or penalty='l1'."
            warn_of_rank(self, shape, rows_only=rows_only, remedy=remedy)

    def _ridge_with(self, data):
        if not self.ridge_ or self.ridge != "auto":
            return self.ridge_
        top = CodedRows.of(data).largest()
        return max(self.ridge_, top * top)

    def _sides(self, ridge):
        """Return the constraints and penalties of codes and components."""
        if self._unpenalised:
            return Side(l2=ridge), Side(l2=ridge)
        if self.penalty == "l1":
            return self._penalised("codes", ridge), self._penalised("components", ridge)

        codes = Side()
        components = Side()
        if self.penalty == "hoyer":
            # If both factors are constrained, the components may have any norm.
            if self._codes_over_rows:
                codes = Side("columns_unit", level=float(self.sparseness_codes))
            elif self.sparseness_codes is not None and self.n_components > 1:
                codes = Side("rows", level=float(self.sparseness_codes))
            if self.sparseness_components is not None:
                kind = "columns" if self.sparseness_codes is not None else "columns_unit"
                components = Side(kind, level=float(self.sparseness_components))
        return codes, components

    def _penalised(self, factor, ridge):
        if self.side not in (factor, "both"):
            return Side(l2=min(ridge, LARGEST))
        alpha = min(float(self.alpha), LARGEST)
        return Side(l1=alpha) if self.form == "plain" else Side(l1_sq=alpha)

    def _start(self, rows, init, rng):
        """Return initial components, one per column."""
        if init == "nndsvd":
            return nndsvd_components(rows.some(rng), self.n_components, rng)
        V = rng.uniform(size=(rows.shape[1], self.n_components))
        return V / np.linalg.norm(V, axis=0)

    def _solve(self, rows, V, sides, progress, *, has_start):
        rows, V, n_before = start_from(
            rows, V, *sides, given=has_start, max_iter=self.max_iter // 2, progress=progress
        )
        result = None
        passes = self.max_iter - n_before
        # A component of zeros is stationary but is not a minimum: revive it, and use the remaining
        # passes.
        while True:
            result = factorize(
                rows,
                V,
                codes_side=sides[0],
                components_side=sides[1],
                exact=self.solver == "bpp",
                max_iter=passes,
                tol=self.tol,
                progress=progress,
                history=None if result is None else result.history,
            )

            passes = self.max_iter - n_before - result.n_iter
            if not self._unpenalised or progress.stopped or passes == 0:
                break
            idle = idle_components(result.rows, result.components)
            revived = revive(result.rows, result.components, sides[1], idle)
            if revived is None:
                break
            rows, V = revived

        return result._replace(n_iter=n_before + result.n_iter)

    def _record_doubt(self, ends):
        record_doubt(self, self._doubt_of_zeros(), self._doubt_of_starts(ends))

    def _doubt_of_zeros(self):
        """Return a doubt if the penalty has switched components off."""
        n_zero = int(np.count_nonzero(~self.components_.any(axis=1)))
        if not n_zero:
            return None
        remedy = "use fewer components" if self._unpenalised else "lower alpha or set ridge"
        return (
            f"{n_zero} of {self.n_components_} components are zero, so the other components "
            f"represent several parts each: {remedy}, or set penalty=None."
        )

    def _doubt_of_starts(self, ends):
        """Return a doubt if the two best starts differ in their components only."""
        if len(ends) < 2:
            return None
        (least, V), (second, other) = sorted(ends, key=lambda end: end[0])[:2]
        if second > (1 + EVIDENCE.same_objective) * least:
            return None
        cosines = np.abs(unit_rows(V.T) @ unit_rows(other.T).T)
        index, _ = match(cosines)
        worst = cosines[np.arange(len(index)), index].min()
        if worst >= EVIDENCE.same_component:
            return None
        return (
            f"The two best of {len(ends)} starts have the same objective but different "
            f"components (cosine {worst:.1f}): use fewer components, or interpret only what "
            "bootstrap_components finds stable."
        )

    def _store_codes(self, rows, size, order, dtype):
        self.codes_ = None
        if self._codes_over_rows:
            W = rows.codes * size
            self.codes_ = W[:, order].astype(dtype)

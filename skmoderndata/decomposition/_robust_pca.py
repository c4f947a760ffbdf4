"""Robust principal component analysis by principal component pursuit."""

import warnings
from numbers import Real

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress
from skmoderndata._estimator.blocks_input import (
    FitsBlocks,
    blocks_of,
    in_blocks,
)
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import check_codes, validate_data, weigh_entries
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.lowrank.false_cells import p_values
from skmoderndata._solvers.lowrank.least_absolute import scores_in_units
from skmoderndata._solvers.lowrank.outlying_rows import (
    deviation_of_new,
    in_noise,
)
from skmoderndata._solvers.lowrank.pursuit_blocks import check_tall
from skmoderndata._solvers.lowrank.quantiles import GROSS
from skmoderndata._solvers.lowrank.table import CVXPY_LIMIT, TableSettings
from skmoderndata.decomposition._robust_base import (
    MOST_OF_SIDE,
    WarnsOfDoubt,
    absolute_residuals,
    list_cells,
    list_rows,
    row_names_of,
    score_of_hidden,
    split_rows,
)
from skmoderndata.decomposition._robust_rows_base import RowsInBlocks, RowsInMemory

# Largest residual of new exact rows, relative to the root mean square of a row.
EXACT_RESIDUAL = 1e-5
OF_VERDICT = ("outlying_rows_", "leverage_", "row_distances_", "_n_cells")
OF_ROWS = ("low_rank_", "sparse_", "support_", "dual_", "_row_names", "_weights", "_inflation")


class RobustPCA(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    FitsBlocks,
    TransformerMixin,
    WarnsOfDoubt,
    Base,
):
    r"""Estimate principal components of data with gross errors, and find these errors.

    `fit` determines whether the cells are exact, apart from gross errors. If they are,
    `algorithm_` is "pcp", principal component pursuit [1]_, which solves the convex problem

    .. math::
        \min_{L, S}\ \|L\|_* + \alpha \sum_{(i,j)\ \mathrm{observed}} |S_{ij}|
        \quad\text{subject to}\quad L_{ij} + S_{ij} = X_{ij},

    where the nuclear norm is the sum of the singular values. If the rank is low and the errors are
    few, of any size, and at random positions, the minimiser recovers both matrices exactly. If
    every cell carries noise, `algorithm_` is "stable" [2]_,

    .. math::
        \min_{L, S}\ \|L\|_* + \alpha \sum |S_{ij}|
        + \frac{1}{2 \delta} \sum (X_{ij} - L_{ij} - S_{ij})^2,
        \qquad \delta = \sigma \sqrt{2 \max(n, p)},

    for columns divided by `column_scale_`, so that all have the same noise. The solution is the
    start of a refit by least squares: it counts the components above the noise, and leaves out
    cells beyond `outlier_threshold` standard deviations of the noise.

    NaN marks missing entries, which no sum contains. With weights :math:`w_{ij}` of the entries
    (`entry_weight` of `fit`) the terms are :math:`\alpha w_{ij} |S_{ij}|` for "pcp", and
    :math:`w_{ij} (X_{ij} - L_{ij} - S_{ij})^2 / (2 \delta)` for "stable", where the noise of an
    entry is :math:`\sigma / \sqrt{w_{ij}}` and :math:`\delta = \sigma \sqrt{2 \max(n, p) \bar w}`
    with the mean weight :math:`\bar w`; weight 0 means that an entry is missing. New rows are
    fitted by robust regression on the components, which is robust to gross errors in new rows,
    too.

    For "stable", `fit` also searches for rows that do not lie on the components of the other
    rows. A second fit leaves out rows that are far away along the components, or off the
    components in most of their cells. Rows that do not fit its components are outlying, and have
    no influence.

    Parameters
    ----------
    n_components : int, default=None
        Number of components; None means the number above the noise, `rank_`. With noise, the
        refit has this number of components, which is the rank of `low_rank_` (it must be below
        half of the smaller side; otherwise the refit could not see errors). Without noise, and
        with ``polish=False``, only the components with the largest singular values are kept, and
        `low_rank_` does not change. The certificate does not depend on it.
    alpha : float, default=None
        Weight of the sparse matrix. None means ``1 / sqrt(q max(n, p))`` with q the fraction of
        observed entries, the value of the recovery theorems. Smaller values classify more entries
        as errors.
    algorithm : {"auto", "pcp", "stable"}, default="auto"
        "pcp" assumes that entries without gross errors are exact; "stable" allows dense noise;
        "auto" chooses between them by the data.
    noise_std : float, default=None
        Standard deviation of the noise, the same in all columns; None estimates it. A positive
        value makes "auto" choose "stable"; with 0 the algorithm is "pcp".
    outlier_threshold : float or "fdr", default=5.0
        Number of standard deviations of the noise of its column beyond which an entry is an
        outlier. "fdr" chooses the threshold so that a fraction `fdr` of the outliers is expected
        to be false; the fit is the same as with 5.0, and only `support_`, `sparse_` and
        `noise_scale_` differ. Exact entries do not depend on it.
    fdr : float, default=0.1
        False discovery rate of the outliers for ``outlier_threshold="fdr"``.
    rows : {"auto"}, bool or float, default="auto"
        Largest share of the rows that may be outlying, between 0 and .5; "auto" (or True) means
        .25. A larger group is kept, as structure of the data, with a warning. If False, `fit`
        does not search for outlying rows; it never does with ``polish=False``, without noise, or
        in a Dask array.
    solver : {"auto", "full", "subspace", "gram", "cvxpy"}, default="auto"
        Computation of the singular value thresholding: "full" uses LAPACK's decomposition,
        "subspace" block subspace iteration started from the last pass, "gram" the Gram matrix, and
        "auto" the faster of the last two. "cvxpy" passes the problem to a conic solver, for small
        matrices (rows plus columns up to 200).
    schedule : {"auto", "balanced", "constant", "ialm"}, default="auto"
        Penalty parameter of the augmented Lagrangian: "balanced" adapts it to the residuals;
        "constant" is as in [1]_; "ialm" multiplies it by 1.5 in each pass as in the inexact method
        of [3]_, which can stop at non-optimal points and is continued with a constant penalty
        until the duality gap is small. "auto" lets it grow for entries without noise. If the
        growing penalty does not reach the optimum, it starts again with "balanced"; with
        ``algorithm="pcp"`` for a tall or wide table with noise, Newton's method follows a central
        path first.
    tol : float, default=1e-6
        Largest relative duality gap; the residuals, relative to the low-rank matrix, must be below
        a tenth of `tol`. Residuals of up to ten times this size are accepted if the gap is smaller
        by the same factor.
    max_iter : int, default=5000
        Maximum number of passes and Newton steps.
    center : {"median", "auto"} or bool, default=False
        "median" (or True) first subtracts the medians of the columns. The problem above has no
        centring, and means are not robust to the errors. "auto" does so if the median of a column
        is more than three deviations from zero, unless the columns have the same unit and offsets
        of similar size, such as the pixels of a film.
    scale : {"auto"} or bool, default=False
        True first divides the columns by their interquartile ranges, like `RobustScaler`; "auto"
        does so if the ranges differ by more than a factor of three. All attributes are in units of
        `X`. Ignored if `noise_std` is given, because it is in the unit of all columns.
    polish : {"auto"} or bool, default="auto"
        Whether to refit the solution of the convex problem. For noisy entries "auto" and True
        fit the entries within `outlier_threshold` by least squares. For exact entries True fits
        the entries outside the support of the sparse matrix to machine precision, if they have
        exactly the estimated rank; "auto" does not refit exact entries.
    store_matrices : bool, default=True
        Whether to store `low_rank_`, `sparse_`, `dual_` and `support_`, each of the size of `X`.
    random_state : int, RandomState instance or None, default=None
        Controls the initial columns of subspace iteration, and the sample of rows and columns from
        which the noise of a large table is estimated. None means a fixed seed.

    Attributes
    ----------
    low_rank_ : ndarray of shape (n_samples, n_features)
        L, with `mean_` added; entries missing in `X` are imputed. Result of the refit if
        `polished_` is True.
    sparse_ : ndarray of shape (n_samples, n_features)
        Gross errors, with exact zeros elsewhere and in missing entries: S, or for noisy entries
        ``X - low_rank_`` on `support_`. (The S of the "stable" problem is ``X - L`` reduced by
        ``alpha_ * delta`` in units of `column_scale_`.)
    support_ : ndarray of shape (n_samples, n_features)
        True where `sparse_` is not zero. For noisy entries: where ``|X - low_rank_|`` exceeds
        ``outlier_threshold_ * noise_scale_``, over the root of the weight if entries have weights.
        With ``outlier_threshold="fdr"`` an entry that the fit has left out must exceed a larger
        bound, which includes the error of its prediction.
    dual_ : ndarray of shape (n_samples, n_features)
        Dual matrix that certifies `dual_gap_`, of the convex problem; 0 in outlying rows.
    components_ : ndarray of shape (n_components_, n_features)
        Right singular vectors of the low-rank matrix (without `mean_`), largest singular value
        first, the largest loading of each positive. Result of the refit if `polished_` is True.
    singular_values_ : ndarray of shape (n_components_,)
        Singular values of the low-rank matrix that belong to `components_`.
    outlying_rows_ : ndarray of shape (n_samples,)
        True for rows that are off the components of the other rows. They have no influence on the
        components, and their `low_rank_` is their robust projection. This and the two following
        attributes exist if `fit` searched for outlying rows (see `rows`).
    leverage_ : ndarray of shape (n_samples,)
        True for rows that are far along the components, but on them; they have influence.
    row_distances_ : ndarray of shape (n_samples, 2)
        Distances of the rows, each over its cutoff: the Mahalanobis distance of the scores (1 is
        exceeded by one good row in 10,000), and how far the median residual of the row, in units
        of the noise, exceeds the typical one (1 is four standard deviations).
    n_components_ : int
        Number of components kept, or fitted.
    rank_ : int
        Number of components above the noise; without noise the rank of the low-rank matrix.
    mean_ : ndarray of shape (n_features,)
        Values subtracted from the columns; zero without `center`.
    alpha_ : float
        Weight of the sparse matrix; if there are outlying rows, in the fit without them.
    algorithm_ : str
        "pcp" if the entries are exact, "stable" if they carry noise.
    noise_std_ : float
        Standard deviation of the noise, in the refit's units of `column_scale_`; 0 for "pcp". With
        weights of the entries, the noise of an entry of weight 1, as in `noise_scale_`.
    noise_scale_ : ndarray of shape (n_features,)
        Standard deviation of the noise of each column, in units of `X`; 0 for "pcp". In columns
        with tails heavier than Gaussian tails it describes the tails. With
        ``outlier_threshold="fdr"`` it is the scale of Student's distribution.
    noise_dof_ : float
        Degrees of freedom of Student's distribution that was fitted to the noise; infinite for
        Gaussian noise and unless ``outlier_threshold="fdr"``.
    outlier_threshold_ : float
        Threshold of the outliers in units of `noise_scale_`; with "fdr" the chosen threshold.
    column_scale_ : ndarray of shape (n_features,)
        Divisors of the columns in the convex problem; 1 unless their noise differs or `scale`
        divides them.
    objective_ : float
        Objective of the convex problem at its solution, with the optimal S for it.
    dual_gap_ : float
        Upper bound on the suboptimality of `objective_`, relative to `objective_`.
    polished_ : bool
        Whether `low_rank_` is the result of a refit.
    n_iter_ : int
        Number of passes and Newton steps, including passes that decide between exact and noisy
        entries or search for outlying rows.
    doubt_ : str or None
        Reason to doubt the result, with a remedy: residuals that do not look like noise, more
        components than are above the noise, or a large group of rows that are far from the rest.
        None if there is none. The certificate `dual_gap_` is valid in any case.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.PCA : Least squares: one gross error can turn every component.
    skmoderndata.impute.NuclearNormImputer : Low rank with missing entries but no gross errors.

    Notes
    -----
    A matrix of rank r can equal at most ``r (n + p - r)`` entries of noisy data exactly. If
    pursuit fits more entries exactly, and a least squares fit to these entries leaves no
    residuals, the entries are exact. Columns in which more than half of the entries are equal do
    not count.

    The alternating direction method of multipliers starts with the sparse step, so that the rank
    stays low and a pass needs a few products with thin matrices: about ``4 n p k`` operations with
    k slightly above the rank. It ends when the duality gap is below `tol` and the residuals are
    below a tenth of it. The gap is computed from a dual matrix whose norm is bounded by the
    eigenvalues of a Gram matrix (for a smaller dimension up to 2500; estimated beyond).

    Cells farther than 10,000 median absolute deviations from the median of their column are
    errors, such as -999999 for a missing value. They are clipped to this distance, in
    `transform`, too, so that they do not dominate the objective, and the certificate is valid for
    the clipped table. `sparse_` contains the entire error.

    The certificate is valid for the convex problem of the rows that are not outlying; a row is
    declared outlying by a test of level 3e-5. ``polish=False`` keeps the convex solution. The
    refit is discarded, and `polished_` is False, if it explains the entries worse than the convex
    solution with the same number of components, or if the components are at least a third of the
    smaller side.

    Weights of the entries do not affect the decision between exact and noisy entries, `alpha`, and
    the medians of `center`. For noisy entries they multiply the squares in the estimate of the
    noise, in the refit, and in the search for outliers; columns are then not divided by their
    noise, and `column_scale_` is 1.

    `transform` minimises the absolute deviations ``|x - a components_|_1`` row by row (Huber's
    function for "stable"). `fit_transform` does the same with the training rows. If recovery is
    exact, this gives ``U * singular_values_``.

    float32 input is computed in float64 and returned as float32.

    `fit` of a Dask array or data frame, with at least ten rows for each column, solves the same
    convex problem over its blocks, without the refit. Unless `algorithm` or `noise_std` is given,
    5000 rows decide between exact and noisy entries, and determine the noise. The matrices of the
    rows are not stored: `fit_decompose` returns them.

    References
    ----------
    .. [1] Candes, Li, Ma and Wright, Robust principal component analysis?, Journal of the ACM
       58(3), 2011, equation (1.1) and Algorithm 1.
    .. [2] Zhou, Li, Wright, Candes and Ma, Stable principal component pursuit, ISIT 2010.
    .. [3] Lin, Chen and Ma, The augmented Lagrange multiplier method for exact recovery of
       corrupted low-rank matrices, arXiv:1009.5055, 2010, Algorithm 5.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.datasets import make_low_rank_plus_sparse
    >>> from skmoderndata.decomposition import RobustPCA
    >>> X, low_rank, sparse = make_low_rank_plus_sparse(
    ...     60, 40, rank=2, outlier_fraction=0.05, magnitude=20, noise=0.1, random_state=0
    ... )
    >>> rpca = RobustPCA().fit(X)
    >>> rpca.algorithm_, rpca.n_components_, round(rpca.noise_std_, 1)
    ('stable', 2, 0.1)
    >>> int(rpca.support_.sum()), int((rpca.support_ != (sparse != 0)).sum())  # outliers, mistakes
    (120, 0)
    """

    _card = MethodCard(
        family="low rank and sparse",
        cite=("candes2011robust", "zhou2010stable", "lin2010augmented", "portnoy1997gaussian"),
        cost="T n p k",
        fits_blocks=True,
        scaler="RobustScaler",
    )
    # default score of EntrySearchCV
    _ENTRY_SCORE = "neg_mean_absolute_error"
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, None],
        "alpha": [POSITIVE, None],
        "algorithm": [StrOptions({"auto", "pcp", "stable"})],
        "noise_std": [NON_NEGATIVE, None],
        "outlier_threshold": [POSITIVE, StrOptions({"fdr"})],
        "fdr": [Interval(Real, 0, 1, closed="neither")],
        "rows": ["boolean", StrOptions({"auto"}), Interval(Real, 0, 0.5, closed="neither")],
        "solver": [StrOptions({"auto", "full", "subspace", "gram", "cvxpy"})],
        "schedule": [StrOptions({"auto", "balanced", "constant", "ialm"})],
        "tol": [NON_NEGATIVE],
        "max_iter": [AT_LEAST_ONE],
        "center": ["boolean", StrOptions({"median", "auto"})],
        "scale": ["boolean", StrOptions({"auto"})],
        "polish": ["boolean", StrOptions({"auto"})],
        "store_matrices": ["boolean"],
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=None,
        *,
        alpha=None,
        algorithm="auto",
        noise_std=None,
        outlier_threshold=5.0,
        fdr=0.1,
        rows="auto",
        solver="auto",
        schedule="auto",
        tol=1e-6,
        max_iter=5000,
        center=False,
        scale=False,
        polish="auto",
        store_matrices=True,
        random_state=None,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.algorithm = algorithm
        self.noise_std = noise_std
        self.outlier_threshold = outlier_threshold
        self.fdr = fdr
        self.rows = rows
        self.solver = solver
        self.schedule = schedule
        self.tol = tol
        self.max_iter = max_iter
        self.center = center
        self.scale = scale
        self.polish = polish
        self.store_matrices = store_matrices
        self.random_state = random_state

    # Without this line, users who request metadata for `fit` would have to do so for `transform`
    # too.
    __metadata_request__transform = {"entry_weight": UNUSED}

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, entry_weight=None):
        """Decompose `X` into low-rank and sparse matrices, and compute the components.

        Parameters
        ----------
        X : array-like or Dask array or data frame of shape (n_samples, n_features)
            Data; NaN marks missing entries.
        y : Ignored
            Not used, present by convention.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Non-negative weights of the entries, which multiply the magnitude of a gross error for
            "pcp", and the squared residual for "stable". Weight 0 is the same as NaN. None means
            1.

        Returns
        -------
        self : RobustPCA
            The fitted estimator.
        """
        self._fit_rows(X, y, entry_weight)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_decompose(self, X, y=None):
        """Fit, and return the low-rank and the sparse matrix of the fit.

        `decompose` fits each row independently; this is the joint solution for all rows.

        Parameters
        ----------
        X : array-like or Dask array or data frame of shape (n_samples, n_features)
            Data; NaN marks missing entries.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        low_rank : ndarray of shape (n_samples, n_features)
            `low_rank_`. For a Dask array a Dask array, for which the workers keep the state of
            the solver.
        sparse : ndarray of shape (n_samples, n_features)
            `sparse_`, or a Dask array.

        Raises
        ------
        ValueError
            If X is in memory and `store_matrices` is False.

        Examples
        --------
        >>> import numpy as np
        >>> from skmoderndata.decomposition import RobustPCA
        >>> X = np.outer(np.arange(1.0, 13), [1.0, 2, 3, 4])
        >>> X[3, 1] += 50
        >>> low_rank, sparse = RobustPCA(algorithm="pcp").fit_decompose(X)
        >>> np.argwhere(sparse).tolist()
        [[3, 1]]
        """
        if not self.store_matrices and not in_blocks(X, on_disk=False):
            raise ValueError(
                f"{type(self).__name__}.fit_decompose returns the matrices of the fit, which "
                "store_matrices=False does not keep: set store_matrices=True."
            )
        rows = self._fit_rows(X, y, None)
        return rows.matrices(self)

    def _fit_rows(self, X, y, entry_weight):
        """Decompose the table and store the result; return the rows."""
        # 1. check the table and its weights
        read = self._rows_in_blocks if in_blocks(X, on_disk=False) else self._rows_in_memory
        rows = read(X, entry_weight)
        self._check_observed(rows.n_observed, rows.shape)

        # 2. decompose the table; with noise, judge its rows and its cells
        rows.standardise(self)
        max_passes = rows.max_passes(self)
        with FitProgress(self, X, y, max_passes=max_passes) as progress:
            found = rows.decompose(self, progress)

        # 3. store the components, the verdict on the rows, and the matrices on request
        terms = found.terms
        self._store(found, rows.dtype)
        self._store_verdict(found.verdict, terms, rows.names)
        vars(self).pop("_of_rows", None)
        if not rows.are_stored:
            self._of_rows = dict.fromkeys(("low_rank_", "sparse_", "support_"), "decompose")
        elif self.store_matrices:
            self._store_rows(terms, found.mean, rows)
            self._inflation = found.cell_test.inflation
        self._warn(terms, rows.shape, found)
        return rows

    def _rows_in_memory(self, X, entry_weight):
        names = row_names_of(X)
        X, weights = self._weighted(self._validate(X, reset=True), entry_weight)
        if self.solver == "cvxpy" and sum(X.shape) > CVXPY_LIMIT:
            raise ValueError(
                f"{type(self).__name__}(solver='cvxpy') is for rows plus columns up to "
                f"{CVXPY_LIMIT}, got X of shape {X.shape}; use solver='auto'."
            )
        return RowsInMemory(X, weights, names)

    def _rows_in_blocks(self, X, entry_weight):
        self._refuse_in_blocks(entry_weight)
        owner = type(self).__name__
        checks = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}
        blocks = blocks_of(self, X, **checks)
        check_tall(blocks.shape, owner=owner)
        return RowsInBlocks(blocks, owner)

    def _settings(self, n_observed, shape):
        """Return the settings with which a table in memory is decomposed."""
        return TableSettings(
            lam=self._slope(n_observed, shape),
            algorithm=self.algorithm,
            noise_std=self.noise_std,
            threshold=self._fit_threshold,
            solver=self.solver,
            schedule=self.schedule,
            tol=self.tol,
            max_iter=self.max_iter,
            polish=self.polish,
            n_components=self._fitted_components(shape),
        )

    @property
    def _fit_threshold(self):
        """Number of standard deviations beyond which the fit leaves cells out."""
        return GROSS if self.outlier_threshold == "fdr" else self.outlier_threshold

    def _fitted_components(self, shape):
        """Return the number of components with noise; None if the noise determines it."""
        k = self.n_components
        return None if k is None or k >= MOST_OF_SIDE * min(shape) else k

    def _refuse_in_blocks(self, entry_weight):
        """Raise ValueError for arguments that need all rows at once."""
        # state for each parameter whether it needs all rows, and what to set instead
        refused = {
            "entry_weight": (entry_weight is not None, "entry_weight=None"),
            "center": (bool(self.center), "center=False, and subtract the medians before"),
            "scale": (bool(self.scale), "scale=False, and divide the columns before"),
            "polish": (self.polish is True, "polish='auto', which does not refit there"),
            "solver": (self.solver not in ("auto", "gram"), "solver='auto'"),
            "outlier_threshold": (self.outlier_threshold == "fdr", "outlier_threshold=5.0"),
            "schedule": (self.schedule == "ialm", "schedule='auto'"),
            "rows": (
                self.rows not in ("auto", False),
                "rows='auto', which does not look for outlying rows there",
            ),
        }

        # raise an error that names the first parameter that needs all rows
        for name, (given, remedy) in refused.items():
            if given:
                value = "" if name == "entry_weight" else f"={getattr(self, name)!r}"
                raise ValueError(
                    f"{type(self).__name__}.fit of a Dask array does not take {name}{value}: set "
                    f"{remedy}, or fit to X.compute() if all rows fit into memory."
                )

    def _check_observed(self, n_observed, shape):
        if n_observed == 0:
            raise ValueError(
                f"{type(self).__name__} needs at least one observed entry, but all "
                f"{shape[0]} x {shape[1]} entries of X are NaN."
            )

    def _slope(self, n_observed, shape):
        """Weight of the sparse matrix."""
        return self.alpha or (n_observed / (shape[0] * shape[1]) * max(shape)) ** -0.5

    def fit_transform(self, X, y=None, *, entry_weight=None):
        """Fit, and compute the scores of the training rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data; NaN marks missing entries.
        y : Ignored
            Not used, present by convention.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Weights of the entries, as in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components_)
            Scores, as from ``fit(X, entry_weight=W).transform(X, entry_weight=W)``.
        """
        return self.fit(X, y, entry_weight=entry_weight).transform(
            X, entry_weight=entry_weight
        )

    @by_rows
    def transform(self, X, *, entry_weight=None):
        """Compute the scores of rows on the components by robust regression.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; gross errors and NaN are allowed. If a row has too few known entries to determine
            the scores, they have minimum norm, with a warning.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Weights of the entries of these rows, as in `fit`. They are for direct calls: metadata
            routing passes weights only to `fit`, `fit_transform` and `score`.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components_)
            Scores, which depend only on their own row.
        """
        check_is_fitted(self)
        X, weights = self._weighted(self._validate(X, reset=False), entry_weight)
        scores, deficient = self._scores(X, weights)
        if deficient.any():
            warnings.warn(
                f"{deficient.sum()} of {len(X)} rows have too few known entries to determine "
                f"{self.n_components_} scores and got scores of minimum norm; drop the rows or "
                "lower n_components.",
                UserWarning,
                stacklevel=2,
            )
        return scores.astype(X.dtype, copy=False)

    @by_rows
    def inverse_transform(self, X):
        """Reconstruct rows from scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Scores.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            ``X @ components_ + mean_``.
        """
        check_is_fitted(self)
        X = check_codes(X, self.n_components_, estimator=self)
        rows = X @ self.components_ + self.mean_
        return rows.astype(X.dtype, copy=False)

    @by_rows
    def decompose(self, X):
        """Decompose rows into their robust projections and sparse residuals.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; gross errors and NaN are allowed.

        Returns
        -------
        low_rank : ndarray of shape (n_samples, n_features)
            ``inverse_transform(transform(X))``; missing entries are imputed.
        sparse : ndarray of shape (n_samples, n_features)
            ``X - low_rank`` where it exceeds ``outlier_threshold_ * noise_scale_``, else
            zero; zero in missing entries.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        low_rank = self._scores(X)[0] @ self.components_ + self.mean_
        return split_rows(X, low_rank, self.outlier_threshold_ * self.noise_scale_)

    def get_covariance(self):
        """Compute the covariance of the columns, from the repaired table and the noise.

        Returns
        -------
        covariance : ndarray of shape (n_features, n_features)
            Covariance of `low_rank_`, without the outlying rows, plus the squares of
            `noise_scale_` on the diagonal.

        Raises
        ------
        ValueError
            After a fit to a Dask array.
        """
        check_is_fitted(self)
        if self._score_covariance is None:
            raise ValueError(
                f"{type(self).__name__}.get_covariance needs a fit to a table in memory, which "
                "knows the scores of its rows: fit to X.compute(), or to some of the rows."
            )
        V = self.components_.astype(np.float64)
        noise = self.noise_scale_.astype(np.float64)
        covariance = V.T @ self._score_covariance @ V + np.diag(noise**2)
        return covariance.astype(self.components_.dtype)

    def _covariance_of_scores(self, terms, outlying):
        """Covariance of the scores of the rows that are not outlying, on fixed signs."""
        k = self.n_components_
        low_rank = (terms.U[:, :k] * terms.s[:k]) @ terms.Vt[:k]
        scores = low_rank @ self.components_.T.astype(np.float64)
        if outlying is not None:
            scores = scores[~outlying]
        centred = scores - scores.mean(axis=0)
        return centred.T @ centred / max(len(scores) - 1, 1)

    @in_memory
    def find_outliers(self, X=None, *, kind="cells"):
        """List the cells, or the rows, that are grossly wrong, the largest errors first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows, decomposed by `decompose`; None lists the cells of `support_`, or the rows of
            `outlying_rows_` and `leverage_`.
        kind : {"cells", "rows"}, default="cells"
            Whether to list cells or rows. The list of cells omits outlying rows, because nearly
            all of their cells would be in it.

        Returns
        -------
        outliers : DataFrame or structured ndarray
            For "cells" a row for each: `row`, `column`, `value`, the value `expected` by the
            low-rank part, and the `size` of their difference in standard deviations of the noise
            of the column, infinite if `algorithm_` is "pcp"; with ``outlier_threshold="fdr"`` the
            noise includes the error of prediction, and there is also a `p_value`, the probability
            that noise is as large. For "rows": `row`, the two
            distances of `row_distances_`, `score_distance` and `residual`, the `verdict`,
            "outlying" or "leverage", and `n_cells`, the number of cells beyond the threshold.
            Rows and columns have their names in `X`, or are numbered. A DataFrame if pandas is
            installed.
        """
        check_is_fitted(self)
        if kind not in ("cells", "rows"):
            raise ValueError(
                f"{type(self).__name__}.find_outliers: kind must be 'cells' or 'rows', "
                f"got {kind!r}."
            )
        if kind == "rows":
            return self._list_rows(X)

        # list cells of the fit
        outlying = None
        if X is None:
            if not self.store_matrices:
                raise ValueError(
                    f"{type(self).__name__}.find_outliers() lists the cells of the fitted table, "
                    "which store_matrices=False does not keep: pass X, or fit with "
                    "store_matrices=True."
                )
            low_rank = self.low_rank_
            sparse = self.sparse_
            row_names = self._row_names
            if self._map is not None:
                outlying = self.outlying_rows_

        # list cells of new rows
        else:
            row_names = row_names_of(X)
            low_rank, sparse = self.decompose(X)
            if self._map is not None:
                outlying = self.row_distances(X)[:, 1] > 1
            if self.algorithm_ == "pcp":  # the residuals of exact cells are small but not zero
                typical = np.sqrt(np.mean(low_rank**2, axis=1, keepdims=True))
                sparse = np.where(np.abs(sparse) > EXACT_RESIDUAL * typical, sparse, 0.0)

        if outlying is not None:
            sparse = np.where(outlying[:, None], 0.0, sparse)
        stored = self._precision() if X is None else None
        names = getattr(self, "feature_names_in_", None)
        dof = self.noise_dof_ if self._has_rate else None
        return list_cells(
            low_rank,
            sparse,
            self.noise_scale_,
            rows=row_names,
            columns=names,
            weights=stored,
            p_values_of=None if dof is None else lambda size: p_values(size, dof),
        )

    def _precision(self):
        """Return the weights of the cells, reduced where the fit has left out a cell, or None."""
        inflation = getattr(self, "_inflation", None)
        if inflation is None:
            return self._weights
        return (1.0 if self._weights is None else self._weights) / inflation**2

    def _list_rows(self, X):
        """List the rows that are outlying or far along the components."""
        if X is None:
            self._check_judged("find_outliers(kind='rows')")
            found = self.row_distances_, self.outlying_rows_, self.leverage_, self._n_cells
            return list_rows(*found, rows=self._row_names)

        # judge new rows
        row_names = row_names_of(X)
        distances = self.row_distances(X)
        outlying = distances[:, 1] > 1
        leverage = ~outlying & (distances[:, 0] > 1)
        n_cells = np.count_nonzero(self.decompose(X).sparse, axis=1)
        return list_rows(distances, outlying, leverage, n_cells, rows=row_names)

    @in_memory
    def row_distances(self, X):
        """Compute both distances of rows, each divided by its cutoff.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; gross errors and NaN are allowed.

        Returns
        -------
        distances : ndarray of shape (n_samples, 2)
            Along the components and off them, as in `row_distances_`.

        Raises
        ------
        ValueError
            If `fit` did not search for outlying rows.
        """
        check_is_fitted(self)
        self._check_judged("row_distances")
        X = self._validate(X, reset=False)
        return self._distances(X).astype(X.dtype)

    def _check_judged(self, method):
        if self._map is None:
            raise ValueError(
                f"{type(self).__name__}.{method} needs a fit that has looked for outlying rows: "
                "to a table in memory, with noise, rows='auto' and polish='auto'. Here algorithm_="
                f"{self.algorithm_!r}, rows={self.rows!r}, polish={self.polish!r}."
            )

    @by_rows
    def outlier_scores(self, X):
        """Compute how unusual each row is: above 1 for outlying rows and leverage points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; gross errors and NaN are allowed.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The larger of the two distances of each row over their cutoffs, as in `row_distances_`.
            If `fit` did not search for outlying rows, which a table without noise does not need,
            the sum of absolute residuals, rescaled to all entries if some are missing. 0 for a row
            without observed entries.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        if self._map is not None:
            return self._distances(X).max(axis=1).astype(X.dtype)
        residual = X - (self._scores(X)[0] @ self.components_ + self.mean_)
        return absolute_residuals(residual).astype(X.dtype)

    def _distances(self, X):
        """Compute both distances of validated rows, divided by their cutoffs."""
        scores = self._scores(X)[0]
        low_rank = scores @ self.components_ + self.mean_
        residual = in_noise(X, low_rank, self._row_noise, None)
        residual /= deviation_of_new(scores, self._map.singular_values)[:, None]
        return self._map.distances(scores, residual)

    @in_memory
    def score(self, X, y=None, *, entry_weight=None):
        """Compute the negative relative error of predicting hidden entries.

        Five groups of columns (column j is in group j modulo 5) are hidden in turn and predicted
        by robust regression on the others. In contrast to the reconstruction error, this score
        does not always favour more components, and in contrast to a squared error, it is not
        dominated by gross errors, which no model can predict.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; gross errors and NaN are allowed.
        y : Ignored
            Not used, present by convention.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Weights of the entries, in the regressions and in both sums.

        Returns
        -------
        score : float
            Negative sum of the absolute prediction errors, divided by ``|X - mean_|_1``: 0 is
            perfect, and predicting `mean_` scores -1.
        """
        check_is_fitted(self)
        X, weights = self._weighted(self._validate(X, reset=False), entry_weight)
        X = X.astype(np.float64)
        return score_of_hidden(
            X,
            self.components_,
            self.mean_,
            lambda rows: self._scores(rows, weights)[0],
            weights,
        )

    def _validate(self, X, *, reset):
        return validate_data(
            self,
            X,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            reset=reset,
        )

    def _weighted(self, X, entry_weight):
        """Return X with NaN where the weight is 0, and the weights, which are 1 there, or None."""
        X, weights = weigh_entries(X, entry_weight, owner=type(self).__name__)
        return X, None if weights is None else np.where(weights > 0, weights, 1.0)

    def _store(self, found, dtype):
        # forget the rows of an earlier fit
        terms = found.terms
        cell_test = found.cell_test
        self._map = None
        self._forget(OF_VERDICT)
        self._forget(OF_ROWS)
        self._limits = found.limits
        self.outlier_threshold_ = float(cell_test.threshold)
        self.noise_dof_ = float(cell_test.dof)
        self._has_rate = self.outlier_threshold == "fdr"

        # keep the largest components; the rank counts the components above the noise
        convex = terms.convex
        largest = len(terms.s) if self.n_components is None else self.n_components
        self.rank_ = terms.rank
        self.components_ = fix_signs(terms.Vt[:largest]).astype(dtype)
        self.singular_values_ = terms.s[:largest].astype(dtype)
        self.n_components_ = len(self.components_)
        self.mean_ = found.mean.astype(dtype)

        # describe the noise, and how the convex problem was solved
        self.algorithm_ = "stable" if terms.noise_std > 0 else "pcp"
        self.polished_ = bool(terms.polished)
        self.noise_std_ = float(terms.noise_std)
        self.noise_scale_ = terms.noise_scale.astype(dtype)
        self.column_scale_ = terms.column_scale.astype(dtype)
        self.objective_ = float(convex.objective)
        self.dual_gap_ = float(convex.gap)
        self.n_iter_ = convex.n_iter

        self.alpha_ = float(terms.lam)
        self._huber_width = terms.width
        self._score_covariance = None
        if terms.U is not None:
            outlying = None if found.verdict is None else found.verdict.outlying
            self._score_covariance = self._covariance_of_scores(terms, outlying)

    def _forget(self, names):
        """Remove attributes of the rows of an earlier fit."""
        for name in names:
            vars(self).pop(name, None)

    def _store_verdict(self, verdict, terms, row_names):
        """Store the verdict on the rows; None means that there was no search for outlying rows."""
        if verdict is None:
            return
        self._map = verdict.map
        self.outlying_rows_ = verdict.outlying
        self.leverage_ = verdict.leverage
        self.row_distances_ = verdict.distances
        self._row_noise = verdict.terms.noise_scale.astype(self.noise_scale_.dtype)
        self._n_cells = np.count_nonzero(terms.support, axis=1)
        self._row_names = row_names

    def _store_rows(self, terms, mean, rows):
        dtype = rows.dtype
        low_rank = (terms.U * terms.s) @ terms.Vt + mean
        self.low_rank_ = low_rank.astype(dtype, copy=False)
        self.sparse_ = terms.sparse.astype(dtype, copy=False)
        self.support_ = terms.support
        self.dual_ = terms.convex.dual.astype(dtype, copy=False)
        self._row_names = rows.names
        self._weights = rows.weights

    def _scores(self, X, weights=None):
        """Robust scores of validated rows in float64, and a mask of underdetermined rows."""
        solved = scores_in_units(
            np.clip(X.astype(np.float64) - self.mean_, *self._limits),
            self.components_.astype(np.float64),
            self.column_scale_.astype(np.float64),
            self._huber_width,
            weights,
        )
        return solved.scores, solved.deficient

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

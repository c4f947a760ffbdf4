"""Dictionary learning with an l1 penalty, with duality gaps of both subproblems."""

from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.blocks_input import FitsBlocks, in_blocks
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    check_sample_weight,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import FLOATS, dense, known_entries, validate_data
from skmoderndata._samples.containers import row_blocks
from skmoderndata._solvers.codes.lasso import METHODS, lasso_codes
from skmoderndata._solvers.codes.signal_blocks import (
    concatenate_codes,
    prepare_atoms,
    to_csr,
    to_dense,
)
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.common.row_sample import sampled_rows
from skmoderndata._solvers.common.tolerances import SMALLEST_DIVISOR
from skmoderndata._solvers.dictionaries.coded_signals import (
    CodedSignals,
    Signals,
    code_statistics,
    coded_objective,
    worst_signals,
)
from skmoderndata._solvers.dictionaries.lagrange_dictionary import (
    draw_atoms,
    learn_l1_dictionary,
    replace_unused,
    update_atoms,
    update_positive_atoms,
)
from skmoderndata.decomposition._base import FromCodes, check_initial_atoms
from skmoderndata.decomposition._blocks_base import NO_WEIGHT, open_rows

# Default penalty, as a fraction of the median norm of the signals: if the noise is a tenth of the
# signals, their codes are sparse but not empty.
PENALTY_FRACTION = 0.1


class FeatureSignDictionaryLearning(
    FromCodes,
    CallbackSupportMixin,
    FitsBlocks,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    Base,
):
    r"""Dictionary learning with an l1 penalty, by feature-sign search and the Lagrange dual.

    Estimates atoms D (rows) and codes A of the signals X (rows) by

    .. math::
        \min_{D, A}\ \tfrac12 \|X - A D\|_F^2 + \alpha \sum_{ij} |a_{ij}|
        \quad\text{subject to}\quad \|d_j\| \le 1,

    the objective of `sklearn.decomposition.DictionaryLearning`. For fixed atoms, each code solves
    a lasso problem; for fixed codes, the atoms solve a least squares problem with a bound on each
    norm. Both problems are convex and are solved to a certified duality gap: the first by
    feature-sign search, the second by Newton's method on its dual, which has one variable for
    each atom, whatever the number of signals and features [1]_. The joint problem is not convex,
    so the result depends on the start. The objective never increases. Missing entries (NaN) are
    ignored.

    Parameters
    ----------
    n_components : int, default=None
        Number of atoms; None means twice the number of features.
    alpha : "scale" or float, default="scale"
        Weight of the penalty, in units of the signals. A signal of norm below `alpha` has a zero
        code. "scale" is a tenth of the median norm of the signals (in `partial_fit`, of the mean
        of the medians of all batches).
    algorithm : {"feature_sign", "homotopy", "coordinate_descent"}, default="feature_sign"
        Algorithm that codes the signals in `fit`. "feature_sign" and "coordinate_descent" start
        from the codes of the previous pass; all three compute the same codes.
    momentum : bool, default=True
        If True, the atoms are extrapolated along their last update before coding. A step that
        does not lower the objective is undone. Momentum reduces the number of passes a lot.
    positive_code : bool, default=False
        If True, codes are non-negative.
    positive_dict : bool, default=False
        If True, atoms are non-negative. An array `init` must then be non-negative, too.
    init : {"data", "random"} or array-like of shape (n_components, n_features), default="data"
        Initial atoms: "data" means distinct signals, "random" means random directions.
    max_iter : int, default=200
        Largest number of passes.
    tol : float, default=1e-5
        Tolerance: passes stop when one lowers the objective by a smaller relative amount. 0 makes
        all passes.
    transform_alpha : float, default=None
        Weight of the penalty in `transform` and `score`; None means `alpha`.
    store_codes : bool, default=False
        If True, `codes_` is stored.
    warm_start : bool, default=False
        If True, `fit` starts from the atoms of the last call.
    forget_factor : float, default=1.0
        Factor applied to the statistics of earlier batches in each `partial_fit`, between 0 and
        1.
    n_jobs : int, default=None
        Number of threads for coding, through joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the initial atoms. Pass an int for reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Atoms of unit norm. The entry of largest magnitude is positive, unless `positive_code`
        determines the sign.
    alpha_ : float
        Weight of the penalty used in the fit.
    objective_ : float
        Objective after the last pass; after `partial_fit`, the objective of the last batch.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective after each pass; after `partial_fit`, only the objective of the last batch.
    dual_gap_ : ndarray of shape (n_samples,)
        Duality gap of the last code of each training signal, relative to its objective. It is not
        stored for tables in blocks.
    largest_dual_gap_ : float
        Largest duality gap of a code.
    dictionary_gap_ : float
        Duality gap of the last update of the atoms, relative to the objective. With
        `positive_dict`, it is the Frank-Wolfe gap, which is also an upper bound.
    multipliers_ : ndarray of shape (n_components,)
        Lagrange multipliers of the constraints ``|d_j|^2 / 2 <= 1 / 2``: rates at which the
        objective decreases if the bound on an atom is relaxed. They are 0 for atoms that no
        signal uses.
    n_replaced_ : ndarray of shape (n_iter_,)
        Number of unused atoms replaced at the end of each pass.
    usage_ : ndarray of shape (n_components,)
        Number of training signals that use each atom.
    codes_ : csr_array of shape (n_samples, n_components)
        Codes of the training signals, if ``store_codes=True``. They belong to the atoms before
        the last update and differ slightly from the codes of `transform`.
    n_iter_ : int
        Number of passes.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.DictionaryLearning : Minimises the same objective by coordinate descent
        or least angle regression for the codes and one sweep over the atoms. It has other
        algorithms for `transform`, but no missing entries, sparse signals, weights, certificates,
        or mini-batches with the exact update.
    skmoderndata.decomposition.KSVD : Bounds the number of atoms in a code, or the residual.

    Notes
    -----
    For N signals of n values, each coded with s of k atoms, a pass costs ``N (n k + s k + s^3)``
    operations for the codes, ``N s (s + n)`` for the statistics ``A^T A`` and ``A^T X``, and a
    few times ``k^3`` for the atoms.

    Two steps are added to the algorithm of [1]_, and both lower the objective. Atoms of norm
    below the bound are scaled up and their codes scaled down: the fit is unchanged, and the
    penalty decreases. An unused atom is replaced by the direction of the largest residual if the
    norm of that residual exceeds `alpha`; otherwise no signal would use it.

    `fit` accepts Dask arrays and tables on disk. The codes stay where the signals are read; with
    missing entries, each pass reads the signals twice. For such tables, ``init="data"`` draws the
    atoms from a sample of up to 10,000 signals.

    The fit fills missing entries before each update of the atoms, which majorises the objective
    over the known entries: it still never increases, but each pass gains less. `partial_fit` codes
    a batch, adds it to the statistics, and computes the optimal atoms for these statistics. With
    `positive_dict` the dual does not separate. The atoms are then updated in turn, each to its
    optimum with the others fixed, until a bound on the possible decrease is 1e-8 of the objective
    or after 200 rounds. Sparse signals are converted to dense blocks of bounded memory. All
    computations are in double precision. X is not centred.

    References
    ----------
    .. [1] Lee, Battle, Raina and Ng, Efficient sparse coding algorithms, NIPS 2007, algorithm 1
       and section 4. The objective there is twice this one, and the penalty 2 alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.decomposition import FeatureSignDictionaryLearning
    >>> rng = np.random.default_rng(0)
    >>> D = rng.normal(size=(12, 8))
    >>> D /= np.linalg.norm(D, axis=1, keepdims=True)
    >>> A = rng.normal(size=(500, 12)) * (rng.uniform(size=(500, 12)) < 0.15)
    >>> model = FeatureSignDictionaryLearning(12, alpha=0.1, random_state=0).fit(A @ D)
    >>> found = np.abs(model.components_ @ D.T).max(axis=0) > 0.99
    >>> float(found.mean())   # fraction of the atoms
    1.0
    >>> round(float(model.dual_gap_.max()), 6), round(float(model.dictionary_gap_), 6)  # certified
    (0.0, 0.0)
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=("lee2007efficient",),
        cost="T (n (p k + s k) + k^3)",
        fits_blocks=True,
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, None],
        "alpha": [StrOptions({"scale"}), POSITIVE],
        "algorithm": [StrOptions(set(METHODS))],
        "momentum": ["boolean"],
        "positive_code": ["boolean"],
        "positive_dict": ["boolean"],
        "init": [StrOptions({"data", "random"}), "array-like"],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "transform_alpha": [POSITIVE, None],
        "store_codes": ["boolean"],
        "warm_start": ["boolean"],
        "forget_factor": [Interval(Real, 0, 1, closed="both")],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    _of_rows = {"codes_": "transform"}

    @parameters_are_named
    def __init__(
        self,
        n_components=None,
        alpha="scale",
        *,
        algorithm="feature_sign",
        momentum=True,
        positive_code=False,
        positive_dict=False,
        init="data",
        max_iter=200,
        tol=1e-5,
        transform_alpha=None,
        store_codes=False,
        warm_start=False,
        forget_factor=1.0,
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.algorithm = algorithm
        self.momentum = momentum
        self.positive_code = positive_code
        self.positive_dict = positive_dict
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.transform_alpha = transform_alpha
        self.store_codes = store_codes
        self.warm_start = warm_start
        self.forget_factor = forget_factor
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Learn the atoms.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
            Signals; NaN marks missing entries of an array. Dask arrays and tables on disk are
            read block by block in each pass.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the signals in the objective; None gives all samples weight 1.

        Returns
        -------
        self : FeatureSignDictionaryLearning
            The fitted estimator.
        """
        # start from the atoms of the last fit, or from atoms that `init` determines
        warm = self.warm_start and hasattr(self, "components_")
        rng = check_random_state(self.random_state)
        read = self._signals_in_blocks if in_blocks(X) else self._signals_in_memory
        signals, dtype, draw_signals, alpha, size = read(X, sample_weight)
        if warm:
            start = self._last(self.n_features_in_)
        else:
            start = self._start(self.n_features_in_, draw_signals, rng)

        with FitProgress(self, X, y, max_passes=self.max_iter) as progress:
            result = learn_l1_dictionary(
                signals,
                start,
                alpha=alpha,
                momentum=self.momentum,
                positive=self.positive_dict,
                positive_code=self.positive_code,
                max_iter=self.max_iter,
                tol=self.tol,
                progress=progress,
            )

        self.alpha_ = alpha
        self._size = size
        k = len(result.atoms)
        # Signs are free unless codes or atoms must be non-negative.
        fixed = self.positive_code or self.positive_dict
        atoms = result.atoms if fixed else fix_signs(result.atoms)

        self.components_ = atoms.astype(dtype, copy=False)
        self.objective_ = float(result.objective[-1])
        self.objective_history_ = result.objective
        self.n_replaced_ = result.replaced
        self.usage_, self.largest_dual_gap_ = result.signals.usage(k)
        vars(self).pop("dual_gap_", None)
        if not in_blocks(X):
            self.dual_gap_ = result.codes.gap
        self.dictionary_gap_ = result.atom_gap
        self.multipliers_ = result.multipliers
        self.n_iter_ = result.n_iter

        # change the signs of the codes together with their atoms
        if self.store_codes:
            signs = np.sign(np.einsum("ij,ij->i", atoms, result.atoms))
            codes = result.codes
            values = codes.values * signs[codes.indices]
            self.codes_ = to_csr(codes._replace(values=values), k, dtype)
        elif "codes_" in vars(self):
            del self.codes_

        self._statistics = None

        if self.tol > 0 and not result.converged and not progress.stopped:
            warn_not_converged(
                self,
                reached=f"after {result.n_iter} passes the objective still decreases by more "
                f"than tol={self.tol:g} per pass",
                remedy="increase max_iter or tol",
            )
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Update the atoms with a batch of signals.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Signals without missing entries. The first batch must have at least as many distinct
            signals as there are atoms, unless `init` is an array.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the signals; None gives all samples weight 1.

        Returns
        -------
        self : FeatureSignDictionaryLearning
            The estimator.
        """
        first = not hasattr(self, "components_")
        X = self._validate(X, reset=first)
        w = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        data, observed = self._observed(X)
        if observed is not None:
            raise ValueError(
                f"{type(self).__name__}.partial_fit accepts no missing entries; use fit."
            )

        # start from the atoms of the last fit, or from atoms that `init` determines
        rng = check_random_state(self.random_state)
        if first:
            D = self._start(X.shape[1], lambda rng: data[w > 0], rng)
        else:
            D = self.components_.astype(np.float64)

        # set the penalty from the norms of all batches
        typical = _Size.of(data, w)
        if not first:
            typical = typical.joined(self._size, self.forget_factor)
        alpha = self._penalty(typical)

        batch = self._learn_batch(data, w, D, alpha)
        self.alpha_ = alpha
        self._size = typical
        self._store_batch(batch, X.dtype, first)
        return self

    def _learn_batch(self, data, w, D, alpha):
        """Code a batch, and update the atoms from its statistics and the stored statistics."""
        # 1. Code the batch, and add the older statistics with less weight.
        codes = self._code(data, None, D, alpha)
        S, T, _ = code_statistics(codes, data, w, len(D))
        if getattr(self, "_statistics", None) is not None:
            S_before, T_before = self._statistics
            S += self.forget_factor * S_before
            T += self.forget_factor * T_before

        # 2. Update the atoms from the statistics, with norms of at most one.
        value = coded_objective(codes, alpha, w)
        improve = update_positive_atoms if self.positive_dict else update_atoms
        size = max(value, SMALLEST_DIVISOR)
        update = improve(S, T, D, size=size)

        # 3. Scale atoms to unit norm, and codes and statistics accordingly.
        norms = np.linalg.norm(update.atoms, axis=1)
        norms[norms == 0] = 1.0
        D = update.atoms / norms[:, None]
        statistics = S * np.outer(norms, norms), T * norms[:, None]
        values = codes.values * norms[codes.indices]
        scaled = codes._replace(values=values)

        # 4. Replace atoms that no code uses by signals with large residuals.
        coded = np.diag(S) > 0
        worst = partial(worst_signals, data, scaled, w, D)
        n_replaced = replace_unused(
            D, coded, worst, alpha, self.positive_dict, self.positive_code
        )
        gap = update.gap / size
        return _Batch(D, statistics, codes, value, gap, update.multipliers, n_replaced)

    def _store_batch(self, batch, dtype, first):
        usage = np.bincount(batch.codes.indices, minlength=len(batch.atoms))
        gaps = batch.codes.gap
        self._statistics = batch.statistics
        self.components_ = batch.atoms.astype(dtype, copy=False)
        self.usage_ = usage if first else self.usage_ + usage
        self.objective_ = float(batch.objective)
        self.objective_history_ = np.array([batch.objective])
        self.dual_gap_ = gaps
        self.largest_dual_gap_ = float(np.max(gaps, initial=0.0))
        self.dictionary_gap_ = batch.atom_gap
        self.multipliers_ = batch.multipliers
        self.n_replaced_ = np.array([batch.n_replaced])
        self.n_iter_ = 1 if first else self.n_iter_ + 1

        # delete the codes that `fit` stored, because they belong to the old atoms
        if "codes_" in vars(self):
            del self.codes_

    @by_rows
    def transform(self, X):
        """Code signals with the atoms.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Signals; NaN marks missing entries of an array.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components)
            Codes; the code of a row depends only on that row.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        codes = self._transform(X)
        return to_dense(codes, len(self.components_), X.dtype)

    @in_memory
    def score(self, X, y=None):
        """Compute the negative squared residuals, relative to the squared norms of the signals.

        The score increases with the number of atoms and as `alpha` decreases, because the signals
        are coded again, so it cannot be used to choose them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Signals; NaN marks missing entries of an array.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        score : float
            Score: 0 if the signals are coded exactly, -1 for zero codes.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        values = X.data if sparse.issparse(X) else X
        total = float(np.nansum(values.astype(np.float64) ** 2))
        missed = float(self._transform(X).residual_sq.sum())
        return -missed / total if total > 0 else 0.0

    def _transform(self, X):
        alpha = self.transform_alpha
        if alpha is None:
            alpha = self.alpha_ if self.alpha == "scale" else self.alpha
        data, observed = self._observed(X)
        atoms = self.components_.astype(np.float64)
        return self._code(data, observed, atoms, alpha)

    def _observed(self, X):
        """Return signals with 0 for missing entries, and the mask of observed entries or None."""
        if not sparse.issparse(X):
            return known_entries(X)
        if np.isnan(X.data).any():
            raise ValueError(
                f"{type(self).__name__} accepts missing entries (NaN) only in arrays: use "
                "X.toarray()."
            )
        return X, None

    def _code(self, data, observed, atoms, alpha):
        coder = self._coder(alpha, n_jobs=self.n_jobs)
        return coder(data, observed, atoms)

    def _penalty(self, size):
        """Return the weight of the penalty; "scale" is a fraction of the typical signal norm."""
        if self.alpha != "scale":
            return float(self.alpha)
        return PENALTY_FRACTION * size.norm if size.norm > 0 else 1.0

    def _coder(self, alpha, *, n_jobs=None):
        """Return a function that codes signals, with `n_jobs` threads."""
        return partial(
            _code_signals,
            alpha=float(alpha),
            method=self.algorithm,
            positive=self.positive_code,
            n_jobs=n_jobs,
        )

    def _signals_in_memory(self, X, sample_weight):
        """Return signals as one block, their dtype, a drawing function, penalty, and size."""
        X = self._validate(X, reset=True)
        w = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        signals = Signals(*self._observed(X), w)
        size = _Size.of(signals.X, w)
        alpha = self._penalty(size)
        coded = CodedSignals.of(signals, self._coder(alpha, n_jobs=self.n_jobs))
        return coded, X.dtype, lambda rng: signals.X[w > 0], alpha, size

    def _signals_in_blocks(self, X, sample_weight):
        """Return the same for a table that is not in memory; a first pass checks its signals."""
        name = type(self).__name__
        if self.store_codes:
            raise ValueError(
                f"{name}(store_codes=True) would store the codes of all rows of a table in "
                "blocks: set store_codes=False, and call transform(X)."
            )
        blocks, reader = open_rows(self, X, sample_weight)
        n_counted, n_gaps = blocks.sum(_check_block, reader)
        if n_counted == 0:
            raise ValueError(NO_WEIGHT)

        # draw initial atoms from signals of positive weight
        read = partial(_read_signals, reader=reader)

        def draw_signals(rng):
            signals = read(sampled_rows(blocks, rng))
            return signals.X[signals.weights > 0]

        # estimate the penalty from the norms of a sample of rows
        size = _Size(0.0, 0.0)
        if self.alpha == "scale":
            sample = read(sampled_rows(blocks, np.random.RandomState(0)))
            size = _Size.of(sample.X, sample.weights)
        alpha = self._penalty(size)
        signals = CodedSignals(blocks, read, self._coder(alpha), n_gaps == 0)
        return signals, reader.dtype, draw_signals, alpha, size

    def __getattr__(self, name):
        if name == "dual_gap_" and "n_features_in_" in vars(self):
            raise AttributeError(
                f"{type(self).__name__} does not store dual_gap_ for the rows of a table in "
                "blocks; use largest_dual_gap_."
            )
        return super().__getattr__(name)

    def _validate(self, X, reset):
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=FLOATS,
            ensure_all_finite="allow-nan",
        )

    def _last(self, n):
        """Return the atoms of the last fit as initial atoms."""
        k = 2 * n if isinstance(self.init, str) else len(self.init)
        expected_shape = (self.n_components or k, n)
        if self.components_.shape != expected_shape:
            raise ValueError(
                "the components of the last fit (warm_start=True) must be an array of shape "
                f"(n_components, n_features) = {expected_shape}, but have shape "
                f"{self.components_.shape}: restore n_components, or set warm_start=False."
            )
        return self.components_.astype(np.float64)

    def _start(self, n, draw_signals, rng):
        # start from directions of signals, or from random directions
        if isinstance(self.init, str):
            k = self.n_components or 2 * n
            signals = draw_signals(rng) if self.init == "data" else np.empty((0, n))
            return draw_atoms(
                signals,
                k,
                rng,
                positive=self.positive_dict,
                positive_code=self.positive_code,
            )

        # start from an array: scale its atoms to unit norm, but keep their signs
        start = check_initial_atoms(self.init, self.n_components, n)
        if self.positive_dict and (start < 0).any():
            raise ValueError(
                "init has negative entries, but positive_dict=True: clip them to 0."
            )
        return start / np.linalg.norm(start, axis=1, keepdims=True)

    @property
    def _n_features_out(self):
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Batch(NamedTuple):
    """Atoms and statistics after a batch, with its codes and certificates."""

    atoms: Any
    statistics: tuple[Any, Any]  # sums ``A^T A`` and ``A^T X`` over all batches
    codes: Any
    objective: float
    atom_gap: float  # duality gap of the update of the atoms, relative to the objective
    multipliers: Any
    n_replaced: int


class _Size(NamedTuple):
    """Typical norm of signals, and their weight."""

    norm: float
    weight: float

    @classmethod
    def of(cls, X, w):
        """Compute the weighted median of the norms, which a few huge cells do not change."""
        if sparse.issparse(X):
            squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        else:
            squares = np.einsum("ij,ij->i", X, X)
        order = np.argsort(squares, kind="stable")
        reached = np.cumsum(w[order])
        if len(reached) == 0 or reached[-1] == 0:
            return cls(0.0, 0.0)
        middle = order[np.searchsorted(reached, 0.5 * reached[-1])]
        return cls(float(np.sqrt(squares[middle])), float(reached[-1]))

    def joined(self, before, forget):
        """Average with earlier batches, after multiplying their weight by `forget`."""
        weight = self.weight + forget * before.weight
        norm = self.weight * self.norm + forget * before.weight * before.norm
        return _Size(norm / weight if weight > 0 else 0.0, weight)


def _code_signals(data, observed, atoms, start=None, *, alpha, method, positive, n_jobs):
    """Compute lasso codes of signals, dense or sparse, starting from the codes `start`."""
    prepared = prepare_atoms(atoms, normalize=False, distinct=True, signed=positive)
    if method == "homotopy":
        start = None

    def code(rows):
        return lasso_codes(
            dense(data[rows]),
            prepared,
            alpha=np.full(rows.stop - rows.start, alpha),
            start=None if start is None else start[rows],
            method=method,
            positive=positive,
            mask=observed,
            n_jobs=n_jobs,
        )

    n = data.shape[0]
    if not sparse.issparse(data):
        return code(slice(0, n))

    # sparse signals are converted to dense blocks within the working memory
    row_bytes = 8 * (3 * data.shape[1] + 2 * len(atoms))
    return concatenate_codes([code(rows) for rows in row_blocks(n, row_bytes)])


def _check_block(block, reader):
    """Check a block; return its number of rows of positive weight, and 1 if entries are NaN."""
    X, weights, _ = reader.checked(block, allow_nan=True)
    gaps = not sparse.issparse(X) and bool(np.isnan(X).any())
    n_counted = X.shape[0] if weights is None else np.count_nonzero(weights)
    return int(n_counted), int(gaps)


def _read_signals(block, *, reader):
    X, weights, _ = reader.read(block)
    if weights is None:
        weights = np.ones(X.shape[0])
    signals = (X, None) if sparse.issparse(X) else known_entries(X)
    return Signals(*signals, weights)

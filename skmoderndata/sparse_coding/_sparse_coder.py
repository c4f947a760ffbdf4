"""Sparse codes of signals for a fixed dictionary."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    POSITIVE,
    NamedOptions,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import (
    FLOATS,
    check_array,
    check_codes,
    check_groups,
    known_entries,
    validate_data,
)
from skmoderndata._samples.containers import row_blocks
from skmoderndata._solvers.codes.routes import ROUTES, Task
from skmoderndata._solvers.codes.signal_blocks import (
    MAX_ITER,
    STALL,
    STOP_REASONS,
    TOL,
    bounds_for_rounding,
    gram_pays,
    prepare_atoms,
    squared_residuals,
    to_csr,
    to_dense,
)
from skmoderndata._solvers.common.arrays import working_memory
from skmoderndata._solvers.dictionaries.fixed import overcomplete_cosines

SCIKIT_LEARN_NAMES = (
    "of scikit-learn's names, 'lasso_lars' is called 'homotopy' here, and 'lasso_cd' is called "
    "'coordinate_descent', but 'lasso' is faster; 'lars' and 'threshold' solve no problem: use "
    "'omp' for a number of atoms, 'lasso' for a penalty"
)


class Encoding(NamedTuple):
    """Codes of signals with residual norms and certificates, from `SparseCoder.encode`."""

    codes: np.ndarray
    n_nonzero_coefs: np.ndarray
    residual_norm: np.ndarray
    stop_reason: np.ndarray
    dual_gap: np.ndarray
    n_iter: np.ndarray


class SparseCoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base):
    r"""Sparse coding of signals with a fixed dictionary and certified accuracy.

    A signal x, a row of `X`, is written as :math:`x \approx a D` with the atoms in the rows of the
    dictionary D. The greedy and the thresholding algorithms approximate

    .. math::
        \min_a \|x - a D\|^2 \text{ with } \|a\|_0 \le s
        \qquad\text{or}\qquad
        \min_a \|a\|_0 \text{ with } \|x - a D\|^2 \le \varepsilon^2,

    the other algorithms solve

    .. math::
        \min_a \tfrac12 \|x - a D\|^2 + \alpha \sum_j |a_j|
        \qquad\text{or}\qquad
        \min_a \tfrac12 \|x - a D\|^2 + \alpha \sum_g \sqrt{|g|}\, \|a_g\|

    or, with a bound on the residual,

    .. math::
        \min_a \sum_j |a_j| \text{ with } \|x - a D\|^2 \le \varepsilon^2

    to a certified duality gap for every signal. Missing entries are NaN and do not enter any sum.

    Parameters
    ----------
    dictionary : array-like of shape (n_atoms, n_features), default=None
        Atoms of any norm. Zero atoms are never used. None means a cosine dictionary with twice as
        many atoms as features (`dct_dictionary`).
    transform_algorithm : str, default="omp"
        Algorithm that computes the codes:

        - "omp": orthogonal matching pursuit [1]_; with `groups`, it selects whole groups; with
          `positive_code`, it uses non-negative least squares.
        - "ormp": selects the atom that minimises the next residual (optimised or order-recursive
          matching pursuit). No `groups`, no `positive_code`.
        - "mp": matching pursuit, without refitting. No `groups`.
        - "iht", "htp", "cosamp", "subspace_pursuit": normalised iterative hard thresholding [2]_,
          hard thresholding pursuit [3]_, and two pursuits with pruning [4]_, [5]_.
        - "lasso": the fastest of the following; with `groups` the group lasso, by block coordinate
          descent with Newton steps.
        - "homotopy", "feature_sign" [6]_, "coordinate_descent": three exact lasso solvers; "lasso"
          uses the first, also with a bound on the residual.
        - "fista" [7]_, "ista": proximal gradient steps, with and without momentum.
    transform_n_nonzero_coefs : int, default=None
        Maximum number of atoms (or groups) in a code. None means a tenth of the features, but at
        least one; or, if `residual_tol` or `residual_rtol` is set for a greedy algorithm, as many
        as needed. Algorithms with a penalty ignore it.
    transform_alpha : float, default=None
        Weight of the penalty, for the algorithms that have one. With a bound on the residual, it
        is the smallest weight that may be used to meet the bound. None means 1.0, or no limit with
        a bound.
    residual_tol : float or array-like of shape (n_samples,), default=None
        Maximum Euclidean norm :math:`\varepsilon` of the residual of each signal, over its known
        entries. An array with one bound per signal works with `fit_transform`, or with `encode` of
        the same number of signals. The lasso meets the bound with the smallest l1 norm ("lasso"
        without groups, "homotopy"; other algorithms with a penalty do not accept a bound).
    residual_rtol : float, default=None
        Bound on the residual norm relative to the norm of the signal. Coding of a signal stops
        when it meets one of the bounds.
    groups : array-like of shape (n_atoms,) or list of arrays, default=None
        Groups of atoms: a label for each atom, or the atoms of each group. Every atom is in one
        group.
    positive_code : bool, default=False
        Whether codes must be non-negative.
    normalize : bool, default=True
        Whether to scale the atoms to unit norm and the codes back. This matters only for
        penalties: with False, atoms of large norm are penalised less.
    tol : float, default=1e-6
        Maximum duality gap of a signal, relative to its objective.
    transform_max_iter : int, default=None
        Maximum number of steps for a signal. None means 10,000 proximal gradient steps, 1000
        sweeps of coordinate descent, 100 steps of hard thresholding or of pursuit with pruning,
        and ten times the number of atoms for matching pursuit.
    code_format : {"dense", "csr"}, default="dense"
        Format of the codes, an array or a sparse array.
    n_jobs : int, default=None
        Number of threads, through joblib. None means 1, -1 all processors. The result does not
        depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (n_atoms, n_features)
        Dictionary, with atoms in rows.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.SparseCoder : Has the same name and is much slower. It has no
        certificates, no error bound for each signal, no missing entries and no groups; it can
        split codes by sign. Parameters of the same name have the same meaning for atoms of unit
        norm, but `transform_alpha` here is only for algorithms with a penalty; the bound for "omp"
        is `residual_tol`.
    skmoderndata.sparse_coding.dct_dictionary : Makes a dictionary that needs no training.

    Notes
    -----
    `fit` learns nothing; it prepares the dictionary. With a `dictionary`, the other methods work
    without `fit`, but then prepare the dictionary in every call. `encode` returns the codes of
    signals with the residual norm, stopping reason and certificate of each.

    Orthogonal matching pursuit needs ``n k + s k + s^2 k`` operations for a signal of n values, k
    atoms and s atoms in the code: one matrix product for a block of signals, then a compiled loop
    over a progressive Cholesky factorisation in which no signal allocates memory. Signals are
    processed in blocks, so that memory holds the Gram matrix of the dictionary, the codes, and a
    few dozen megabytes per thread. If all codes together have fewer atoms than a sixteenth of the
    dictionary, or the Gram matrix would not fit in scikit-learn's `working_memory`, only its rows
    for the selected atoms are computed, with ``2 n k`` operations each. The same holds with
    missing entries, because every pattern of missing entries has a separate Gram matrix, unless
    many signals share the pattern. The Gram matrix of more than 512 atoms is recomputed in every
    call.

    All computations are in double precision. Float32 input gives float32 codes: they are computed
    within bounds that leave a margin for rounding (2^-20 of the norm of the signal, at most half
    of the bound); `encode` returns the residuals of the rounded codes and the gaps of the codes
    before rounding. If atoms are equal (or opposite, unless `positive_code`), the first is used.
    Algorithms without penalty do not use atoms with more than 99.9 % of their squared norm at
    missing entries. A signal that is zero or has no known entry has a zero code.

    References
    ----------
    .. [1] Rubinstein, Zibulevsky and Elad, Efficient implementation of the K-SVD algorithm using
       batch orthogonal matching pursuit, technical report CS-2008-08, Technion, 2008.
    .. [2] Blumensath and Davies, Normalized iterative hard thresholding: guaranteed stability and
       performance, IEEE Journal of Selected Topics in Signal Processing 4(2), 2010.
    .. [3] Foucart, Hard thresholding pursuit: an algorithm for compressive sensing, SIAM Journal
       on Numerical Analysis 49(6), 2011.
    .. [4] Needell and Tropp, CoSaMP: iterative signal recovery from incomplete and inaccurate
       samples, Applied and Computational Harmonic Analysis 26(3), 2009.
    .. [5] Dai and Milenkovic, Subspace pursuit for compressive sensing signal reconstruction, IEEE
       Transactions on Information Theory 55(5), 2009.
    .. [6] Lee, Battle, Raina and Ng, Efficient sparse coding algorithms, NIPS 2007, algorithm 1.
    .. [7] Beck and Teboulle, A fast iterative shrinkage-thresholding algorithm for linear inverse
       problems, SIAM Journal on Imaging Sciences 2(1), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.sparse_coding import SparseCoder, dct_dictionary
    >>> D = dct_dictionary(16, n_atoms=32)
    >>> X = 3 * D[[4, 20]] - D[[9, 11]]
    >>> coder = SparseCoder(D, transform_algorithm="omp", transform_n_nonzero_coefs=2)
    >>> codes = coder.fit_transform(X)
    >>> np.nonzero(codes[0])[0]
    array([4, 9])
    >>> codes[:, [4, 9, 11, 20]].round(2)
    array([[ 3., -1.,  0.,  0.],
           [ 0.,  0., -1.,  3.]])
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=(
            "rubinstein2008efficient",
            "blumensath2010normalized",
            "foucart2011hard",
            "needell2009cosamp",
            "dai2009subspace",
            "lee2007efficient",
            "beck2009fast",
        ),
        cost="n (p k + s^2 k)",
    )
    _parameter_constraints = {
        "dictionary": ["array-like", None],
        "transform_algorithm": [NamedOptions({*ROUTES}, elsewhere=SCIKIT_LEARN_NAMES)],
        "transform_n_nonzero_coefs": [AT_LEAST_ONE, None],
        "transform_alpha": [POSITIVE, None],
        "residual_tol": [NON_NEGATIVE, "array-like", None],
        "residual_rtol": [NON_NEGATIVE, None],
        "groups": ["array-like", None],
        "positive_code": ["boolean"],
        "normalize": ["boolean"],
        "tol": [NON_NEGATIVE],
        "transform_max_iter": [AT_LEAST_ONE, None],
        "code_format": [StrOptions({"dense", "csr"})],
        "n_jobs": N_JOBS,
    }

    @parameters_are_named
    def __init__(
        self,
        dictionary=None,
        *,
        transform_algorithm="omp",
        transform_n_nonzero_coefs=None,
        transform_alpha=None,
        residual_tol=None,
        residual_rtol=None,
        groups=None,
        positive_code=False,
        normalize=True,
        tol=1e-6,
        transform_max_iter=None,
        code_format="dense",
        n_jobs=None,
    ):
        self.dictionary = dictionary
        self.transform_algorithm = transform_algorithm
        self.transform_n_nonzero_coefs = transform_n_nonzero_coefs
        self.transform_alpha = transform_alpha
        self.residual_tol = residual_tol
        self.residual_rtol = residual_rtol
        self.groups = groups
        self.positive_code = positive_code
        self.normalize = normalize
        self.tol = tol
        self.transform_max_iter = transform_max_iter
        self.code_format = code_format
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Prepare the dictionary.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Signals; only their number of features is used.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : SparseCoder
            The fitted estimator.
        """
        X = self._validate(X, reset=True)
        self._check_combination()
        self._given_bounds(X.shape[0])
        self.components_ = self._dictionary(X)
        k = len(self.components_)
        self._labels = None  # group of each atom: 0, 1, ...
        if self.groups is not None:
            self._labels = check_groups(self.groups, k, member="atom", whole="the dictionary")
        gram = gram_pays(k, 0, working_memory())
        self._atoms = prepare_atoms(
            self.components_,
            normalize=self.normalize or self._route().kind != "convex",
            # Equal atoms may share coefficients in any way, unless they are in different groups.
            distinct=self._labels is None,
            signed=self.positive_code,
            gram=gram,
        )
        return self

    @by_rows
    def transform(self, X):
        """Code signals.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Signals; NaN marks missing entries.

        Returns
        -------
        codes : ndarray or csr_array of shape (n_samples, n_atoms)
            Codes; the code of a row depends only on that row.
        """
        coder = self._made_ready(X)
        X = coder._validate(X, reset=False)
        return coder._encode(X, residuals=False).codes

    @in_memory
    def encode(self, X):
        """Code signals and return the codes with their residual norms and certificates.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Signals; NaN marks missing entries.

        Returns
        -------
        encoding : Encoding
            Named tuple with one entry for each signal:

            - `codes`;
            - `n_nonzero_coefs`, the number of atoms in the code;
            - `residual_norm`, the Euclidean norm of the residual;
            - `stop_reason`, the reason why the code ended: "tol" (the bound or the gap is met),
              "atoms" (`transform_n_nonzero_coefs` reached), "rank" (no atom is independent of the
              selected atoms), "stall" (nothing more to gain; the bound is out of reach, or needs a
              penalty below `transform_alpha`), "max_iter";
            - `dual_gap`, relative to the objective (with a bound that is met, to the l1 norm of
              the code); NaN for the algorithms that solve no convex problem;
            - `n_iter`, the number of steps.
        """
        coder = self._made_ready(X)
        X = coder._validate(X, reset=False)
        return coder._encode(X)

    @by_rows
    def inverse_transform(self, X):
        """Reconstruct signals from codes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_atoms)
            Codes.

        Returns
        -------
        signals : ndarray of shape (n_samples, n_features)
            Reconstructed signals ``X @ components_``.
        """
        atoms = self._atoms_in_rows()
        X = check_codes(X, len(atoms), estimator=self, accept_sparse="csr")
        atoms = atoms.astype(X.dtype, copy=False)
        return np.asarray(X @ atoms)

    @in_memory
    def score(self, X, y=None):
        """Compute the negative squared residuals, relative to the squared norms of the signals.

        The score increases with the number of atoms in a code and cannot be used to choose it.
        Instead, score the task for which the codes are used, or the prediction of entries that are
        held out as NaN.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Signals; NaN marks missing entries.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        score : float
            Score, 0 for signals that are coded exactly, -1 for codes that are zero.
        """
        coder = self._made_ready(X)
        X = coder._validate(X, reset=False)
        values = X.data if sparse.issparse(X) else X
        values = values.astype(np.float64)
        total = float(np.nansum(values**2))
        residuals = coder._encode(X).residual_norm
        missed = float(np.square(residuals).sum())
        return -missed / total if total > 0 else 0.0

    def _validate(self, X, reset):
        # NaN marks missing features
        types = {"accept_sparse": "csr", "dtype": FLOATS, "ensure_all_finite": "allow-nan"}
        return validate_data(self, X, reset=reset, **types)

    def _check_combination(self):
        name = type(self).__name__
        algorithm = self.transform_algorithm
        route = self._route()
        # Bounds on the residual need an algorithm that can stop at them.
        grouped = self.groups is not None and algorithm == "lasso"
        for bound in ("residual_tol", "residual_rtol"):
            is_set = getattr(self, bound) is not None
            if is_set and (grouped or not route.bounded):
                where = " with groups" if grouped else ""
                raise ValueError(
                    f"{name}(transform_algorithm={algorithm!r}) does not accept {bound}{where}: "
                    "omit it and set transform_alpha, or use transform_algorithm='lasso' without "
                    "groups, or 'omp'."
                )

        if self.groups is not None and not route.groups:
            raise ValueError(
                f"{name}(transform_algorithm={algorithm!r}) does not accept groups: use "
                "'omp', 'lasso' or one of the thresholding algorithms."
            )

        if self.positive_code and not route.positive:
            raise ValueError(
                f"{name}(transform_algorithm={algorithm!r}) has no positive version: use 'omp'."
            )
        grouped_omp = algorithm == "omp" and self.groups is not None
        if self.positive_code and grouped_omp:
            raise ValueError(
                f"{name}(transform_algorithm='omp') accepts either groups or positive_code=True: "
                "use 'htp' or 'subspace_pursuit' for both."
            )

    def _route(self):
        return ROUTES[self.transform_algorithm]

    def _bounded(self):
        return self.residual_tol is not None or self.residual_rtol is not None

    def _dictionary(self, X):
        if self.dictionary is None:
            n = X.shape[1]
            return overcomplete_cosines(n, 2 * n).astype(X.dtype, copy=False)
        dictionary = self._given_dictionary()
        if dictionary.shape[1] != X.shape[1]:
            raise ValueError(
                f"dictionary has atoms of {dictionary.shape[1]} features, but X has "
                f"{X.shape[1]} features: atoms are rows."
            )
        return dictionary

    def _given_dictionary(self):
        return check_array(self.dictionary, dtype=FLOATS, input_name="dictionary")

    def _encode(self, X, residuals=True):
        """Code validated signals; sparse signals are coded in stretches that fit in memory."""
        bounds = self._given_bounds(X.shape[0])
        if not sparse.issparse(X):
            return self._encode_dense(X, bounds, residuals)

        # Number of bytes per row in float64: four arrays of the size of the signals, two of the
        # size of the codes.
        row_bytes = 8 * (4 * X.shape[1] + 2 * len(self.components_))
        blocks = [
            self._encode_dense(X[rows].toarray(), bounds[rows], residuals)
            for rows in row_blocks(X.shape[0], row_bytes)
        ]
        all_codes, *certificates = zip(*blocks, strict=True)
        stack = sparse.vstack if self.code_format == "csr" else np.concatenate
        codes = stack(all_codes)
        certificates = [np.concatenate(arrays) for arrays in certificates]
        return Encoding(codes, *certificates)

    def _encode_dense(self, X, bounds, residuals):
        dtype = X.dtype
        X, mask = known_entries(X)
        X = X.astype(np.float64, copy=False)

        if self.residual_rtol is not None:
            sizes = np.sqrt(np.einsum("ij,ij->i", X, X))
            bounds = np.maximum(bounds, self.residual_rtol * sizes)

        # Leave a margin if codes are rounded to float32.
        inner = bounds_for_rounding(bounds, X) if dtype == np.float32 else bounds
        result = self._solve(X, mask, inner)
        unfinished = np.count_nonzero(result.stop == MAX_ITER)
        if unfinished:
            self._warn_unfinished(f"{unfinished} of {len(X)} signals", result.gap)

        if dtype == np.float32 and residuals:
            # A signal that rounding moves beyond its bound does not count as a success.
            rounded = result.values.astype(dtype).astype(np.float64)
            result = result._replace(values=rounded)
            residual_sq = squared_residuals(result, X, self._atoms, mask)
            met = (bounds >= 0) & (result.stop == TOL)
            missed = met & (residual_sq > bounds**2)
            stop = np.where(missed, STALL, result.stop)
            result = result._replace(residual_sq=residual_sq, stop=stop)

        k = len(self.components_)
        as_format = to_csr if self.code_format == "csr" else to_dense
        codes = as_format(result, k, dtype)
        n_nonzero = np.diff(result.indptr)
        residual = np.sqrt(result.residual_sq)
        reasons = np.array(STOP_REASONS)[result.stop]
        return Encoding(codes, n_nonzero, residual, reasons, result.gap, result.n_iter)

    def _warn_unfinished(self, which, gaps):
        algorithm = self.transform_algorithm
        kind = self._route().kind
        if kind == "greedy" and not self._bounded():
            return

        if kind == "convex":
            reached = (
                f"{which} have a duality gap of up to {gaps.max():.1e} (tol={self.tol:g})"
            )
            remedy = "increase transform_max_iter or tol"
            remedy += "" if algorithm == "lasso" else ", or use transform_algorithm='lasso'"
        elif kind == "pruning":
            reached = (
                f"the supports of {which} have not converged (the best codes are returned)"
            )
            remedy = (
                "increase transform_max_iter, or use another algorithm for very similar atoms"
            )
        else:
            limit = "transform_max_iter" if algorithm == "mp" else "transform_n_nonzero_coefs"
            reached = f"the codes of {which} do not meet their bound, and no steps are left"
            remedy = f"increase {limit} or the bound, or use another algorithm"
        warn_not_converged(self, reached=reached, remedy=remedy)

    def _solve(self, X, mask, bounds):
        """Compute codes with residual norms of at most `bounds`; -1 means no bound."""
        bounded = self._bounded()
        tol_sq = np.where(bounds < 0, -1.0, bounds**2)
        alpha = self.transform_alpha
        if alpha is None and not bounded:
            alpha = 1.0
        if alpha is not None:
            alpha = np.full(len(X), float(alpha))

        task = Task(
            atoms=self._atoms,
            mask=mask,
            tol_sq=tol_sq,
            bounded=bounded,
            n_nonzero=self.transform_n_nonzero_coefs,
            alpha=alpha,
            groups=self._labels,
            positive=self.positive_code,
            tol=self.tol,
            max_iter=self.transform_max_iter,
            n_jobs=self.n_jobs,
            memory=working_memory(),
        )
        return self._route().solve(X, task)

    def _given_bounds(self, n_signals):
        """Return `residual_tol` for each signal, with -1 for no bound."""
        name = type(self).__name__
        bound_or_bounds = self.residual_tol
        if bound_or_bounds is None or np.ndim(bound_or_bounds) == 0:
            bound = -1.0 if bound_or_bounds is None else float(bound_or_bounds)
            return np.full(n_signals, bound)
        bounds = check_array(
            bound_or_bounds, ensure_2d=False, dtype=np.float64, input_name="residual_tol"
        )
        if bounds.ndim != 1 or (bounds < 0).any():
            raise ValueError(
                f"residual_tol of {name} must be a number of at least 0, or a list of such "
                "numbers, one for each signal."
            )

        if len(bounds) != n_signals:
            raise ValueError(
                f"residual_tol of {name} has {len(bounds)} bounds, but X has {n_signals} "
                "signals: pass one number for all, or residual_rtol, to code any number of "
                "signals."
            )
        return bounds

    def _made_ready(self, X):
        """Return the fitted coder or, without `fit`, a copy that has prepared its dictionary."""
        check_is_fitted(self)
        if hasattr(self, "components_"):
            return self
        return clone(self).fit(X)

    def _atoms_in_rows(self):
        check_is_fitted(self)
        if hasattr(self, "components_"):
            return self.components_
        return self._given_dictionary()

    @property
    def _n_features_out(self):
        return len(self._atoms_in_rows())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = self.dictionary is None
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

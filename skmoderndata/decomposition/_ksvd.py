"""K-SVD: dictionary learning with a bound on the number of non-zero coefficients."""

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
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
    warn_user,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.doubt import record_doubt
from skmoderndata._estimator.early_rows import EarlyRows
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import (
    CHEAP_COMPONENTS,
    FLOATS,
    check_n_components,
    known_entries,
    validate_data,
)
from skmoderndata._solvers.codes.greedy import orthogonal_matching_pursuit
from skmoderndata._solvers.codes.matching_pursuit import nonnegative_matching_pursuit
from skmoderndata._solvers.codes.signal_blocks import (
    bounds_for_rounding,
    prepare_atoms,
    to_csr,
    to_dense,
)
from skmoderndata._solvers.common.linalg import fix_signs, row_signs
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.common.tolerances import RANK_TOL, RESULT_DIGITS
from skmoderndata._solvers.dictionaries.atom_updates import UPDATES, ridges_from
from skmoderndata._solvers.dictionaries.incomplete_signals import code_incomplete
from skmoderndata._solvers.dictionaries.ksvd import (
    WAIT,
    Rules,
    Stream,
    add_batch,
    learn_dictionary,
)
from skmoderndata._solvers.dictionaries.neural_gas import sparse_coding_gas
from skmoderndata.decomposition._base import FromCodes, check_initial_atoms

# Number of signals per atom for the initialisation by sparse coding neural gas.
GAS_STEPS = 100
# Maximum number of signals per atom between two updates within a pass. Updating twice as often
# takes more time and gains nothing.
SIGNALS_PER_ATOM = 8


class KSVD(
    FromCodes, CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base
):
    r"""Learn a dictionary for codes with few non-zero coefficients, by K-SVD.

    Estimates atoms D (rows) and codes A of the signals X (rows) by

    .. math::
        \min_{D, A}\ \|X - A D\|_F^2
        \quad\text{subject to}\quad \|a_i\|_0 \le s,\ \|d_j\| = 1,

    or with a bound on the residual norm of each signal instead of s [1]_. Passes alternate between
    coding all signals by orthogonal matching pursuit and updating each atom, together with its
    coefficients, by a rank-one approximation. The problem is not convex: the result depends on the
    start, and there is no optimality certificate. Each update of an atom lowers the objective, and
    pursuit nearly always does. Missing entries (NaN) are ignored; a ridge, estimated from the
    residuals, then bounds atoms and codes that are determined by few entries (see Notes).

    Parameters
    ----------
    n_components : int, default=None
        Number of atoms; None means twice the number of features.
    n_nonzero_coefs : int, default=None
        Largest number of atoms in a code. None means a tenth of the features (but at least
        one), or as many as needed if `residual_tol` is given.
    residual_tol : float, default=None
        Largest Euclidean norm of the residual of each signal.
    algorithm : {"ormp", "omp"}, default="ormp"
        Algorithm that codes the signals: "omp" is orthogonal matching pursuit; "ormp" selects the
        atom that minimises the next residual, which costs slightly more and recovers more planted
        atoms. Non-negative codes always use "omp".
    update : {"approximate", "exact", "mod"}, default="approximate"
        Update of the atoms: "approximate" makes one step of the power method for each atom [2]_,
        "exact" computes a singular value decomposition. "mod" is the method of optimal directions
        [3]_: least squares for all atoms simultaneously, with fixed codes. With `positive` or
        missing entries, "exact" is the same as "approximate": power steps with negative values
        set to 0, or alternating weighted least squares.
    positive : bool, default=False
        If True, atoms and codes are non-negative.
    dc_atom : bool, default=False
        If True, the first atom is constant and fixed, and all other atoms have zero mean (unless
        `positive`). This suits image patches whose mean has not been subtracted. The constant
        atom is one of the `n_components`, and in a code one of the `n_nonzero_coefs`.
    init : {"data", "random", "neural_gas"} or array-like, default="data"
        Initial atoms: "data" means distinct signals, "random" random directions, "neural_gas" the
        atoms of sparse coding neural gas [4]_ started at distinct signals; or an array of shape
        (n_components, n_features).
    max_iter : int, default=30
        Largest number of passes.
    tol : float, default=0.0
        Tolerance: passes stop when one of them lowers the objective by a smaller relative amount.
        As long as every pass replaces atoms, they stop only if five passes together do so. 0
        makes all passes.
    min_usage : int, default=3
        Smallest number of signals that use an atom. An atom used by fewer signals is replaced by
        the signal with the largest residual, and so is the less used of two atoms with a cosine
        above 0.9. 0 replaces only similar atoms.
    replace_until : float, default=1.0
        Fraction of the passes in which atoms are replaced; 0 disables replacement. In the first 60
        % of these passes, atoms that represent two true atoms are also split.
    monotone : bool, default=False
        If True, a signal keeps its old code if the new one is worse, which can happen because
        pursuit is greedy. The objective then never increases between replacements, but learning
        gets stuck more often. It has no effect with `residual_tol`, because the old code may have
        more atoms than necessary.
    batch_size : int, "auto" or None, default="auto"
        Number of signals after which the atoms are updated within a pass, in addition to the
        update at its end. These updates use the latest codes, with less weight for older ones.
        Such a pass takes slightly longer and learns about twice as much. "auto" means eight
        signals per atom, but at most a quarter of all signals and at least one per atom. None
        updates once per pass; so do all fits with missing entries, and "auto" with `monotone`.
    store_codes : bool, default=False
        If True, `codes_` is stored.
    warm_start : bool, default=False
        If True, `fit` starts from the atoms of the last call; `n_components` must be unchanged.
    forget_factor : float or "auto", default="auto"
        Factor applied to the statistics of earlier batches in each `partial_fit`. "auto" means
        ``(1 - m / N) ** 10`` for a batch of m of the N signals seen so far, because codes for old
        atoms carry little information, but at least a memory of eight signals per atom. 1 never
        forgets and often gets stuck.
    n_jobs : int, default=None
        Number of threads for coding, through joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the initial atoms and the order of the updates. Pass an int for
        reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Atoms of unit norm; the entry of largest magnitude in each is positive.
    objective_ : float
        Objective ``|X - A D|^2`` after the last pass.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective after each pass.
    n_replaced_ : ndarray of shape (n_iter_,)
        Number of atoms replaced at the end of each pass.
    usage_ : ndarray of shape (n_components,)
        Number of training signals that use each atom.
    codes_ : csr_array of shape (n_samples, n_components)
        Codes of the training signals, if ``store_codes=True``. They belong to the atoms after
        the last pass and differ slightly from the codes of `transform`.
    n_iter_ : int
        Number of passes.
    doubt_ : str or None
        Reason to doubt the result, with a remedy: atoms and codes have more unknowns than the
        signals have known entries. None if there is none. After `partial_fit`, it refers to the
        signals that were collected at the beginning.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.DictionaryLearning : Learns with an l1 penalty and codes with any method
        afterwards; its objective does not bound the number of atoms in a code.
    skmoderndata.sparse_coding.SparseCoder : Codes for a fixed dictionary, by more algorithms.

    Notes
    -----
    For N signals of n values, each coded with s of k atoms, a pass takes
    ``N (n k + s k + s^2 k)`` operations, and ``4 N n s`` for the updates. X is not centred:
    subtract the mean of image patches first.

    In a typical local minimum, one atom lies between two true atoms and represents the signals of
    both, while another atom represents hardly any signals. Each pass searches for such atoms:
    without the contribution of the first atom, the residuals of its signals lie near two lines.
    The directions of these lines replace the first atom and the atom that lowers the error least.
    In the recovery experiment of [1]_ (20 dimensions, 50 atoms, 1500 signals of 3 atoms, 80
    passes), this increases the fraction of recovered atoms from about 92 % at 10 dB, and 95 %
    above 10 dB, to at least 99 %. Atoms are not split with missing entries, `positive` or
    ``replace_until=0``.

    With missing entries, two ridges are added, with the mean squared residual v and the mean
    squared coefficient ``t_j`` of atom j: ``n v`` is added to the sum of squared coefficients
    that determines an entry of an atom, and ``v / t_j`` to the squared norm of the observed part
    of atom j in an incomplete signal. The results are the most probable values if entries of
    atoms have variance ``1 / n``. Squared predictions of hidden entries are added with the
    weights ``v / v_c``, where ``v_c`` is the mean square of feature c. The objective does not
    contain these terms, so it may increase. With ``monotone=True``, only `transform` uses them.

    `partial_fit` first collects eight signals per atom, in any number of calls, and learns from
    them together. It then codes each batch, adds it to the statistics ``A^T A`` and ``A^T X``,
    and moves each atom to its least squares optimum with the other atoms fixed. The signals of
    the batch with the largest residuals replace atoms used by fewer than `min_usage` of the last
    eight signals per atom, and the less used of two similar atoms (unless ``replace_until=0``).
    `partial_fit` does not accept missing entries. `objective_`, `objective_history_` and
    `n_replaced_` then belong to the last batch, and there are no `codes_`. Computations are in
    double precision.

    References
    ----------
    .. [1] Aharon, Elad and Bruckstein, K-SVD: an algorithm for designing overcomplete dictionaries
       for sparse representation, IEEE Transactions on Signal Processing 54(11), 2006.
    .. [2] Rubinstein, Zibulevsky and Elad, Efficient implementation of the K-SVD algorithm using
       batch orthogonal matching pursuit, technical report CS-2008-08, Technion, 2008.
    .. [3] Engan, Aase and Husoy, Method of optimal directions for frame design, ICASSP 1999,
       equation (4).
    .. [4] Labusch, Barth and Martinetz, Sparse coding neural gas: learning of overcomplete data
       representations, Neurocomputing 72, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.decomposition import KSVD
    >>> rng = np.random.default_rng(0)
    >>> D = rng.normal(size=(20, 10))
    >>> D /= np.linalg.norm(D, axis=1, keepdims=True)
    >>> A = np.zeros((500, 20))
    >>> for row in A:
    ...     row[rng.choice(20, size=2, replace=False)] = rng.normal(size=2)
    >>> model = KSVD(20, n_nonzero_coefs=2, max_iter=50, random_state=0).fit(A @ D)
    >>> found = np.abs(model.components_ @ D.T).max(axis=0) > 0.99
    >>> float(found.mean())   # fraction of the atoms
    1.0
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=(
            "aharon2006ksvd",
            "rubinstein2008efficient",
            "engan1999method",
            "labusch2009sparse",
        ),
        cost="T n (p k + s^2 k)",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, None],
        "n_nonzero_coefs": [AT_LEAST_ONE, None],
        "residual_tol": [NON_NEGATIVE, None],
        "algorithm": [StrOptions({"ormp", "omp"})],
        "monotone": ["boolean"],
        "update": [StrOptions({*UPDATES})],
        "positive": ["boolean"],
        "dc_atom": ["boolean"],
        "init": [StrOptions({"data", "random", "neural_gas"}), "array-like"],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "min_usage": [Interval(Integral, 0, None, closed="left")],
        "replace_until": [Interval(Real, 0, 1, closed="both")],
        "batch_size": [AT_LEAST_ONE, StrOptions({"auto"}), None],
        "store_codes": ["boolean"],
        "warm_start": ["boolean"],
        "forget_factor": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=None,
        *,
        n_nonzero_coefs=None,
        residual_tol=None,
        algorithm="ormp",
        update="approximate",
        positive=False,
        dc_atom=False,
        init="data",
        max_iter=30,
        tol=0.0,
        min_usage=3,
        replace_until=1.0,
        monotone=False,
        batch_size="auto",
        store_codes=False,
        warm_start=False,
        forget_factor="auto",
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.n_nonzero_coefs = n_nonzero_coefs
        self.residual_tol = residual_tol
        self.algorithm = algorithm
        self.update = update
        self.positive = positive
        self.dc_atom = dc_atom
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.min_usage = min_usage
        self.replace_until = replace_until
        self.monotone = monotone
        self.batch_size = batch_size
        self.store_codes = store_codes
        self.warm_start = warm_start
        self.forget_factor = forget_factor
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the atoms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Signals; NaN marks missing entries.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : KSVD
            The fitted estimator.
        """
        warm = self.warm_start and hasattr(self, "components_")
        if warm:
            self._check_number()
        if self.monotone and isinstance(self.batch_size, Integral):
            raise ValueError(
                f"{type(self).__name__}(monotone=True, batch_size={self.batch_size}): the codes "
                "of different batches belong to different atoms; set batch_size=None or "
                "monotone=False."
            )

        X = self._validate(X, reset=True)
        check_n_components(self, X.shape, n_allowed=max(CHEAP_COMPONENTS, 2 * X.shape[1]))

        # start from the atoms of the last fit, or from `init`
        data, observed = known_entries(X)
        rng = check_random_state(self.random_state)
        start = self._continued(X) if warm else self._start(data, rng)
        self._warn_dense_codes(len(start), X.shape[1])

        result, stopped = self._learn(data, observed, start, rng, X, y)
        self._store(result, X.dtype)
        n_known = data.size if observed is None else np.count_nonzero(observed)
        record_doubt(self, self._doubt_of_unknowns(len(data), n_known))

        if self.tol > 0 and not result.converged and not stopped:
            warn_not_converged(
                self,
                reached=f"after {result.n_iter} passes the objective still decreases by more "
                f"than tol={self.tol:g} per pass",
                remedy="increase max_iter or tol",
            )
        return self

    def _learn(self, data, observed, start, rng, X, y):
        """Make passes over signals; return the result, and whether a callback stopped them."""

        def code(atoms, rows, ridges=None):
            mask = None if observed is None else observed[rows]
            return self._code(data[rows], mask, atoms, ridges)

        # Use one BLAS thread: the products are so small that several threads would slow each other
        # down.
        rules = self._rules(len(data), len(start))
        with FitProgress(self, X, y, max_passes=self.max_iter) as progress, one_blas_thread():
            result = learn_dictionary(
                data,
                start,
                code,
                observed=observed,
                rules=rules,
                max_iter=self.max_iter,
                tol=self.tol,
                rng=rng,
                progress=progress,
            )
        return result, progress.stopped

    def _continued(self, X):
        """Return the atoms of the last call as initial atoms."""
        start = self.components_.astype(np.float64)
        if self.dc_atom:
            start = self._with_constant(start)
            start /= np.linalg.norm(start, axis=1, keepdims=True)
        if start.shape[1] != X.shape[1]:
            raise ValueError(
                f"{type(self).__name__}(warm_start=True) has atoms of {start.shape[1]} features, "
                f"but X has {X.shape[1]}: set warm_start=False."
            )
        return start

    def _rules(self, n_signals, n_atoms):
        batch_size = self._batch_size(n_signals, n_atoms)
        monotone = self.monotone and self.residual_tol is None
        return Rules(
            update=self.update,
            positive=self.positive,
            constant=self.dc_atom,
            monotone=monotone,
            batch_size=batch_size,
            min_usage=self.min_usage,
            replace_until=self.replace_until,
            ridges=not monotone,
        )

    def _store(self, result, dtype):
        # change the signs of the atoms and the codes together
        signs = row_signs(result.atoms)
        atoms = result.atoms * signs[:, None]
        self.components_ = atoms.astype(dtype, copy=False)

        codes = result.codes
        self.usage_ = _usage(codes, len(signs))
        if self.store_codes:
            values = codes.values * signs[codes.indices]
            codes = codes._replace(values=values)
            self.codes_ = to_csr(codes, len(signs), dtype)
        elif hasattr(self, "codes_"):
            del self.codes_

        self.objective_ = float(result.objective[-1])
        self.objective_history_ = result.objective
        self.n_replaced_ = result.replaced
        self.n_iter_ = result.n_iter
        self._ridges = result.ridges
        self._stream = None
        self._early = None

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Update the atoms with a batch of signals.

        The first signals, eight per atom, are collected and used together, as by `fit`, in any
        number of calls. Later signals are coded, added to statistics, and discarded.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Signals without missing entries.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : KSVD
            The estimator.
        """
        first = not hasattr(self, "components_")
        X = self._validate(X, reset=first)
        data, observed = known_entries(X)
        if observed is not None:
            raise ValueError(
                f"{type(self).__name__}.partial_fit accepts no missing entries; use fit."
            )

        # at the beginning of a stream, learn from all signals seen so far
        data = data.astype(np.float64)
        if first:
            self._start_stream(EarlyRows(data), X, y)
        elif self._early is not None:
            self._start_stream(self._early.plus(data), X, y)
        else:
            D = self.components_.astype(np.float64)
            stream = self._stream or Stream.empty(*D.shape)
            added = self._add(D, stream, data)
            usage = self.usage_ + _usage(added.codes, len(D))
            self._store_batch(added, usage, 0, X.dtype)
        return self

    def _start_stream(self, early, X, y):
        """Learn from the first signals, then add the remaining signals of the batch."""
        rng = check_random_state(self.random_state)
        start = self._start(early.X, rng)
        n_needed = WAIT * len(start)
        if early.n_rows < n_needed and not early.are_due:
            self._early = early.copy()
            return

        if not early.n_fitted:
            self._warn_dense_codes(*start.shape)
        result, _ = self._learn(early.X[:n_needed], None, start, rng, X, y)

        # add the statistics of the signals used for learning, then of the remaining signals
        D = result.atoms
        added = self._add(D, Stream.empty(*D.shape), early.X[:n_needed])
        n_replaced = int(result.replaced.sum())
        used = _usage(added.codes, len(D))
        if early.n_rows > n_needed:
            n_replaced += added.n_replaced
            added = self._add(added.atoms, added.stream, early.X[n_needed:])
            used = used + _usage(added.codes, len(D))

        enough = early.n_rows >= n_needed
        n_early = early.n_rows
        early = None if enough else early._replace(n_fitted=n_early).copy()
        self._store_batch(added, used, n_replaced, X.dtype)
        self._early = early
        record_doubt(self, self._doubt_of_unknowns(n_early, n_early * D.shape[1]))

    def _add(self, D, stream, data):
        """Code a batch, add it to the statistics, and move the atoms."""
        # Use one BLAS thread: the products are so small that several threads would slow each other
        # down.
        with one_blas_thread():
            codes = self._code(data, None, prepare_atoms(D))
            D, stream, n_replaced = add_batch(
                D,
                stream,
                data,
                codes,
                forget=None if self.forget_factor == "auto" else self.forget_factor,
                min_usage=self.min_usage,
                replace=self.replace_until > 0,
                positive=self.positive,
                constant=self.dc_atom,
            )
        return _Added(D, stream, codes, n_replaced)

    def _doubt_of_unknowns(self, n_signals, n_known):
        """Return a doubt if signals have more unknowns than observed entries.

        The choice of s of k atoms counts as log2 of the number of choices. Without noise, fewer
        entries cannot determine atoms and codes; see docs/benchmarks/doubt.md.
        """
        k, n_features = self.components_.shape
        n_nonzero = self.usage_.sum() / n_signals
        n_choices = gammaln(k + 1) - gammaln(n_nonzero + 1) - gammaln(k - n_nonzero + 1)
        of_atoms = k * (n_features - 1)
        of_codes = n_signals * (n_nonzero + n_choices / np.log(2))
        if of_atoms + of_codes <= n_known:
            return None
        return (
            f"{k} atoms, and codes with {n_nonzero:.2g} of them, have more unknowns than the "
            "signals have known entries, so other atoms fit as well. Decrease n_nonzero_coefs or "
            "n_components, or use more signals."
        )

    def _store_batch(self, added, usage, n_replaced, dtype):
        """Store the atoms after a batch; `n_replaced` counts earlier replacements."""
        # change the signs of the atoms and the statistics together
        D = added.atoms
        signs = row_signs(D)
        S = added.stream.S * np.outer(signs, signs)
        T = added.stream.T * signs[:, None]
        atoms = D * signs[:, None]

        self.components_ = atoms.astype(dtype, copy=False)
        self.usage_ = usage
        self.objective_ = float(added.codes.residual_sq.sum())
        self.objective_history_ = np.array([self.objective_])
        self.n_replaced_ = np.array([n_replaced + added.n_replaced])
        self.n_iter_ = 1 + getattr(self, "n_iter_", 0)
        codes = to_csr(added.codes, len(atoms))
        self._ridges = ridges_from(None, atoms, codes, self.objective_)
        self._stream = added.stream._replace(S=S, T=T)
        self._early = None

        if hasattr(self, "codes_"):
            del self.codes_

    @by_rows
    def transform(self, X):
        """Code signals with the atoms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Signals; NaN marks missing entries.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components)
            Codes; the code of a row depends only on that row.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        data, observed = known_entries(X)
        codes = self._code(data, observed, prepare_atoms(self.components_), self._ridges)
        return to_dense(codes, len(self.components_), X.dtype)

    @in_memory
    def score(self, X, y=None):
        """Compute the negative squared residuals, relative to the squared norms of the signals.

        The score increases with the number of atoms, also on new signals, and with the number of
        atoms in a code, because the signals are coded again. So it cannot be used to choose these
        numbers.

        Parameters
        ----------
        X, y
            Same as in `fit`.

        Returns
        -------
        score : float
            Score; 0 if the signals are coded exactly.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        data, observed = known_entries(X)
        codes = self._code(data, observed, prepare_atoms(self.components_), self._ridges)
        squares = np.square(data, dtype=np.float64)
        total = float(np.sum(squares))
        missed = float(codes.residual_sq.sum())
        return -missed / total if total > 0 else 0.0

    def _validate(self, X, reset):
        return validate_data(
            self,
            X,
            reset=reset,
            dtype=FLOATS,
            ensure_all_finite="allow-nan",
            fourth_powers=True,
        )

    def _batch_size(self, n_signals, k):
        if self.batch_size != "auto":
            return self.batch_size
        quarter = -(-n_signals // 4)
        size = max(k, min(SIGNALS_PER_ATOM * k, quarter))
        return None if self.monotone or size >= n_signals else size

    def _start(self, data, rng):
        n = data.shape[1]
        # start from the array `init`
        if not isinstance(self.init, str):
            start = check_initial_atoms(self.init, self.n_components, n)
            if self.positive and (start < 0).any():
                raise ValueError(
                    "init has negative entries, but positive=True: clip them to 0."
                )
            if self.dc_atom:
                start = self._with_constant(start)
            return start / np.linalg.norm(start, axis=1, keepdims=True)

        # otherwise start from the directions of signals that are drawn at random
        k = (self.n_components or 2 * n) - self.dc_atom
        start = np.zeros((0, n))
        if self.init != "random":
            order = rng.permutation(len(data))
            first = order[: max(2 * k, 100)]
            start = self._directions(data[first])[:k]
            # if there are many zeros or duplicates, consider all signals
            if len(start) < k and len(first) < len(data):
                start = self._directions(data[order])[:k]

        # fill up with random directions if there are too few distinct signals
        missing = k - len(start)
        if missing > 0:
            directions = rng.normal(size=(missing, n))
            if self.positive:
                directions = np.abs(directions)
            elif self.dc_atom and n > 1:
                directions -= directions.mean(axis=1, keepdims=True)
            directions /= np.linalg.norm(directions, axis=1, keepdims=True)
            start = np.concatenate([start, directions])

        # improve the atoms by neural gas, without the constant atom
        if self.init == "neural_gas" and k > 0:
            start = self._gas(data, start, rng)
        if self.dc_atom:
            start = np.concatenate([_constant_atom(n), start])

        return start

    def _directions(self, data):
        """Return distinct directions of signals as unit rows, in the order of the signals."""
        rows = data.astype(np.float64)
        if self.positive:
            rows = np.maximum(rows, 0)
        norms = np.linalg.norm(rows, axis=1)

        # with a constant atom, only the deviations from the mean are relevant
        if self.dc_atom and not self.positive:
            sizes = norms
            rows = rows - rows.mean(axis=1, keepdims=True)
            norms = np.linalg.norm(rows, axis=1)
            norms[norms <= RANK_TOL * sizes] = 0.0
        nonzero = norms > 0
        rows = rows[nonzero] / norms[nonzero, None]
        if not len(rows):
            return rows

        # remove directions that are equal up to sign and rounding
        keys = np.round(fix_signs(rows), RESULT_DIGITS) + 0.0
        _, first = np.unique(keys, axis=0, return_index=True)
        return rows[np.sort(first)]

    def _gas(self, data, start, rng):
        """Return the atoms of sparse coding neural gas, started at `start`."""
        if self.dc_atom and not self.positive:
            data = data - data.mean(axis=1, keepdims=True)

        n_nonzero = self.n_nonzero_coefs or data.shape[1] // 10
        n_nonzero = max(1, n_nonzero - self.dc_atom)
        n_steps = GAS_STEPS * len(start)
        atoms = sparse_coding_gas(data, start, n_nonzero=n_nonzero, n_steps=n_steps, rng=rng)

        # keep the larger of the positive and the negative part
        if self.positive:
            atoms = np.maximum(fix_signs(atoms), 0.0)
            atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
        return atoms

    def _with_constant(self, start):
        """Make the first atom constant, and subtract the mean of all other atoms."""
        n = start.shape[1]
        atoms = start[1:]
        if not self.positive:
            sizes = np.linalg.norm(atoms, axis=1)
            atoms = atoms - atoms.mean(axis=1, keepdims=True)
            deviations = np.linalg.norm(atoms, axis=1)
            if (deviations <= RANK_TOL * sizes).any():
                raise ValueError(
                    "init has a constant atom besides the first, but dc_atom=True: remove it."
                )
        return np.concatenate([_constant_atom(n), atoms])

    def _check_number(self):
        """Raise an error if the number of atoms to continue from differs from `n_components`."""
        n_atoms = self.n_components
        if n_atoms is None and isinstance(self.init, str):
            n_atoms = 2 * self.components_.shape[1]
        elif n_atoms is None:
            n_atoms = len(self.init)
        if n_atoms != len(self.components_):
            raise ValueError(
                f"{type(self).__name__}(n_components={self.n_components}, warm_start=True) has "
                f"{len(self.components_)} atoms from the last call, but {n_atoms} are needed: set "
                "warm_start=False, or keep n_components."
            )

    def _warn_dense_codes(self, n_atoms, n_features):
        """Warn if codes may have more non-zeros than needed: any atoms that span X would do."""
        largest = min(n_atoms, n_features)
        if self.n_nonzero_coefs is not None and self.n_nonzero_coefs > largest:
            side = "n_components" if n_atoms == largest else "n_features"
            warn_user(
                f"n_nonzero_coefs={self.n_nonzero_coefs} exceeds {side}={largest}: the codes of "
                f"{type(self).__name__} are not sparse, and the data do not determine the atoms."
            )

    def _code(self, data, observed, atoms, ridges=None):
        """Code signals; use the ridges, if there are any, for incomplete signals."""
        if observed is None or ridges is None:
            return self._pursue(data, observed, atoms)
        return code_incomplete(self._pursue, data, observed, atoms, ridges)

    def _pursue(self, data, observed, atoms):
        """Code signals by the pursuit set by the parameters."""
        n_nonzero = len(atoms.rows)
        bound = self.residual_tol
        if bound is None:
            n_nonzero = max(1, self.n_features_in_ // 10)
            bound = -1.0  # a negative bound means no bound
        bounds = np.full(len(data), bound)
        if data.dtype == np.float32:
            bounds = bounds_for_rounding(bounds, data)

        settings = {
            "n_nonzero": self.n_nonzero_coefs or n_nonzero,
            "tol_sq": np.where(bounds < 0, -1.0, bounds**2),
            "mask": observed,
            "n_jobs": self.n_jobs,
        }

        if self.positive:
            return nonnegative_matching_pursuit(data, atoms, **settings)
        optimised = self.algorithm == "ormp"
        return orthogonal_matching_pursuit(data, atoms, optimised=optimised, **settings)

    @property
    def _n_features_out(self):
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Added(NamedTuple):
    """Atoms and statistics after a batch, its codes, and the number of atoms it replaced."""

    atoms: Any
    stream: Stream
    codes: Any
    n_replaced: int


def _usage(codes, n_atoms):
    """Count the signals that use each atom."""
    return np.bincount(codes.indices[codes.values != 0], minlength=n_atoms)


def _constant_atom(n):
    return np.full((1, n), n**-0.5)

"""Sparsenet: dictionary learning with a sparse prior on the codes."""

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, FitProgress, warn_not_converged
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    StrOptions,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import FLOATS, validate_data
from skmoderndata._solvers.codes.lasso import lasso_codes
from skmoderndata._solvers.codes.signal_blocks import MAX_ITER, prepare_atoms, to_dense
from skmoderndata._solvers.common.iterate import Iterations
from skmoderndata._solvers.common.linalg import fix_signs
from skmoderndata._solvers.common.threads import one_blas_thread
from skmoderndata._solvers.dictionaries.sparsenet import (
    dictionary_step,
    energies,
    smooth_codes,
)
from skmoderndata.decomposition._base import FromCodes, check_initial_atoms

# Number of signals that are coded together.
BLOCK_SIGNALS = 512


class Sparsenet(
    FromCodes, CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base
):
    r"""Learn a dictionary by maximum likelihood under a sparse prior on the codes.

    The energy of a signal x, the negative log-posterior up to constants, is

    .. math::
        E(x, a) = \tfrac12 \|x - a D\|^2 + \alpha \sum_j S(a_j),
        \qquad S(a) = \log(1 + a^2),\ |a| \text{ or } -e^{-a^2}.

    The codes minimise the energy for fixed atoms D (rows). Stochastic gradient steps on batches of
    signals minimise the mean energy over the atoms, whose norms are controlled [1]_, [2]_. From
    whitened patches of photographs, the method learns localised, oriented edges like the receptive
    fields of simple cells in the visual cortex. The problem is not convex, and the steps are
    stochastic: the only certificate is the gradient at the codes, in `gradient_norm_`.

    Parameters
    ----------
    n_components : int, default=None
        Number of atoms; None means the number of features.
    prior : {"log", "abs", "gauss"}, default="log"
        Function S, in the order of the formula.
    alpha : float, default=0.2
        Weight of the prior: the noise variance times the scale of the negative log-prior. The
        default suits signals with a variance of 0.1 in each feature.
    norm : {"unit", "gain"}, default="unit"
        Control of the norms of the atoms: "unit" keeps them at 1; "gain" adapts them so that each
        coefficient has the variance `variance_goal`, as in the program of the authors. "gain"
        needs more passes and a smaller `learning_rate`, for example 0.3, and rarely used atoms
        learn slowly.
    variance_goal : float, default=0.1
        Target variance of the coefficients.
    learning_rate : float, default=1.0
        Step size of the atoms, divided by the largest mean square of a coefficient in the batch.
    batch_size : int, default=100
        Number of signals for each step of the atoms.
    max_iter : int, default=10
        Number of passes over the signals.
    code_tol : float, default=1e-3
        Tolerance of coding, which stops when the largest entry of the gradient, relative to the
        largest inner product of the signal with an atom, is at most this. For "abs", the criterion
        is the relative duality gap. Unless the tolerance is 0, a warning reports codes that do
        not reach it (within 300 steps for a smooth prior).
    init : {"random"} or array-like of shape (n_components, n_features), default="random"
        Initial atoms: random directions, or an array.
    n_jobs : int, default=None
        Number of threads for coding, through joblib. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the initial atoms and the batches. Pass an int for reproducible
        results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Atoms; the entry of largest magnitude in each is positive.
    objective_ : float
        Mean energy of the signals in the last pass, each with the atoms of its batch.
    objective_history_ : ndarray of shape (n_iter_,)
        Mean energy of the signals in each pass.
    gradient_norm_ : float
        Largest relative gradient at a code in the last pass, in the units of `code_tol`.
    gains_ : ndarray of shape (n_components,)
        Norms of the atoms.
    variances_ : ndarray of shape (n_components,)
        Running variances of the coefficients.
    n_iter_ : int
        Number of passes; calls of `partial_fit` count as passes.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.FastICA : The special case of a square dictionary without noise.
    sklearn.decomposition.MiniBatchDictionaryLearning : Uses the prior "abs" and atoms of unit
        norm, with accumulated least squares instead of gradient steps; converges faster.
    skmoderndata.decomposition.FeatureSignDictionaryLearning : Batch learning with the prior "abs"
        and certificates.

    Notes
    -----
    Codes under the smooth priors are computed by preconditioned conjugate gradients, for all
    signals of a block together, in some tens of steps of ``2 n k^2`` operations each. Both smooth
    priors are majorised by parabolas, so steps need no line search and never increase the energy.
    Codes under "abs" are exact lasso codes. Coefficients under smooth priors are small but rarely
    zero. Non-zero entries with magnitudes outside [1e-100, 1e100] raise an error.

    References
    ----------
    .. [1] Olshausen and Field, Emergence of simple-cell receptive field properties by learning a
       sparse code for natural images, Nature 381, 1996.
    .. [2] Olshausen and Field, Sparse coding with an overcomplete basis set: a strategy employed
       by V1?, Vision Research 37(23), 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.decomposition import Sparsenet
    >>> rng = np.random.default_rng(0)
    >>> A = rng.laplace(size=(2000, 8)) * (rng.uniform(size=(2000, 8)) < 0.2)
    >>> D = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    >>> model = Sparsenet(8, alpha=0.2, max_iter=20, random_state=0).fit(A @ D)
    >>> np.abs(model.components_ @ D.T).max(axis=0).round(2)
    array([1., 1., 1., 1., 1., 1., 1., 1.])
    """

    _card = MethodCard(
        family="dictionaries and sparse codes",
        cite=("olshausen1996emergence", "olshausen1997sparse"),
        cost="T n k (p + t k)",
        tier="textbook",
        instead="Use `MiniBatchDictionaryLearning`: with five of its atoms, the error on new "
        "digits is smaller, though it takes longer, and its codes are exactly sparse.",
        scaler="StandardScaler",
    )
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE, None],
        "prior": [StrOptions({"log", "abs", "gauss"})],
        "alpha": [POSITIVE],
        "norm": [StrOptions({"gain", "unit"})],
        "variance_goal": [POSITIVE],
        "learning_rate": [NON_NEGATIVE],
        "batch_size": [AT_LEAST_ONE],
        "max_iter": [AT_LEAST_ONE],
        "code_tol": [NON_NEGATIVE],
        "init": [StrOptions({"random"}), "array-like"],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=None,
        *,
        prior="log",
        alpha=0.2,
        norm="unit",
        variance_goal=0.1,
        learning_rate=1.0,
        batch_size=100,
        max_iter=10,
        code_tol=1e-3,
        init="random",
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.prior = prior
        self.alpha = alpha
        self.norm = norm
        self.variance_goal = variance_goal
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.code_tol = code_tol
        self.init = init
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the atoms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Signals, preferably whitened and centred.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : Sparsenet
            The fitted estimator.
        """
        X = self._validate(X, reset=True)
        rng = check_random_state(self.random_state)
        state = self._start(X.shape[1], rng)
        history = []

        with FitProgress(self, X, y, max_passes=self.max_iter) as progress:
            it = Iterations(self.max_iter, -1.0, progress)
            for _ in it:
                order = rng.permutation(len(X))
                state, mean, gradient, missed = self._pass(X, order, state)
                history.append(mean)

        self._keep(state, X.dtype)
        self.objective_ = history[-1]
        self.objective_history_ = np.array(history)
        self.gradient_norm_ = gradient
        self.n_iter_ = it.n_iter
        self._warn(missed, len(X), gradient)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Update the atoms by one pass over the signals, in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Signals.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        self : Sparsenet
            The estimator.
        """
        first = not hasattr(self, "components_")
        X = self._validate(X, reset=first)
        if first:
            rng = check_random_state(self.random_state)
            state = self._start(X.shape[1], rng)
        else:
            D = self.components_.astype(np.float64)
            state = (D, self.variances_, self.gains_)

        state, mean, gradient, missed = self._pass(X, np.arange(len(X)), state)
        self._keep(state, X.dtype)
        self.objective_ = mean
        self.objective_history_ = np.array([mean])
        self.gradient_norm_ = gradient
        self.n_iter_ = 1 if first else self.n_iter_ + 1
        self._warn(missed, len(X), gradient)
        return self

    @by_rows
    def transform(self, X):
        """Compute the codes of minimum energy.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Signals.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components)
            Codes.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        D = self.components_.astype(np.float64)
        return self._final(X, D).astype(X.dtype, copy=False)

    @in_memory
    def score(self, X, y=None):
        """Compute the negative mean energy of signals.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Signals.
        y : Ignored
            Not used, present by convention.

        Returns
        -------
        score : float
            Negative mean energy; higher is better. Compare it only between models with the same
            `alpha` and `prior`.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False).astype(np.float64)
        D = self.components_.astype(np.float64)
        A = self._final(X, D)
        energy = energies(X, D, A, alpha=self.alpha, prior=self.prior)
        return -float(energy.mean())

    def _pass(self, X, order, state):
        """Make steps over all batches; return state, mean energy, gradient, and missed codes."""
        D, variance, gain = state
        total = 0.0
        largest = 0.0
        missed = 0
        goal = self.variance_goal if self.norm == "gain" else None
        for block in gen_batches(len(order), self.batch_size):
            # compute codes, then make a gradient step on the atoms
            batch = X[order[block]].astype(np.float64)
            A, gradient, missed_in_batch = self._code(batch, D)
            energy = energies(batch, D, A, alpha=self.alpha, prior=self.prior)
            total += float(energy.sum())
            largest = max(largest, gradient)
            missed = missed + missed_in_batch

            D, variance, gain = dictionary_step(
                batch, D, A, variance, gain, rate=self.learning_rate, goal=goal
            )

        mean = total / len(order)
        return (D, variance, gain), mean, largest, missed

    def _final(self, X, D):
        """Compute codes, with a warning if some do not reach the tolerance."""
        A, gradient, missed = self._code(X, D)
        self._warn(missed, len(X), gradient)
        return A

    def _warn(self, missed, n, gradient):
        if missed and self.code_tol > 0:
            criterion = "duality gap" if self.prior == "abs" else "gradient"
            warn_not_converged(
                self,
                reached=f"the codes of {missed} of {n} signals have a {criterion} of up to "
                f"{gradient:.1e} (code_tol={self.code_tol:g})",
                remedy="increase code_tol or alpha",
            )

    def _code(self, X, D):
        """Return codes, the largest relative gradient or gap, and the number above `code_tol`."""
        # for prior="abs", solve an l1 problem, which has a duality gap
        if self.prior == "abs":
            atoms = prepare_atoms(D, normalize=False, distinct=True)
            alpha = np.full(len(X), float(self.alpha))
            codes = lasso_codes(X, atoms, alpha=alpha, tol=self.code_tol, n_jobs=self.n_jobs)
            missed = int(np.count_nonzero(codes.stop == MAX_ITER))
            largest = float(codes.gap.max())
            return to_dense(codes, len(D)), largest, missed

        # for smooth priors, code blocks of signals
        blocks = [X[rows].astype(np.float64) for rows in gen_batches(len(X), BLOCK_SIGNALS)]
        settings = {"alpha": float(self.alpha), "prior": self.prior, "tol": self.code_tol}

        if effective_n_jobs(self.n_jobs) > 1 and len(blocks) > 1:
            code_block = delayed(smooth_codes)
            with one_blas_thread():
                jobs = Parallel(n_jobs=self.n_jobs, prefer="threads")
                results = jobs(code_block(block, D, **settings) for block in blocks)
        else:
            results = [smooth_codes(block, D, **settings) for block in blocks]

        codes = np.concatenate([result.codes for result in results])
        gradient = np.concatenate([result.gradient for result in results])
        missed = int(np.count_nonzero(gradient > self.code_tol))
        return codes, float(gradient.max()), missed

    def _keep(self, state, dtype):
        D, self.variances_, self.gains_ = state
        self.components_ = fix_signs(D).astype(dtype, copy=False)

    def _start(self, n, rng):
        if isinstance(self.init, str):
            D = rng.normal(size=(self.n_components or n, n))
        else:
            D = check_initial_atoms(self.init, self.n_components, n)

        k = len(D)
        D = D / np.linalg.norm(D, axis=1, keepdims=True)
        variance = np.full(k, float(self.variance_goal))
        return D, variance, np.ones(k)

    def _validate(self, X, reset):
        return validate_data(self, X, reset=reset, dtype=FLOATS)

    @property
    def _n_features_out(self):
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

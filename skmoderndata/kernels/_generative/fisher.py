"""Fisher kernels: inner products of the gradients of log-likelihoods."""

from typing import Any

import numpy as np
from scipy import sparse

from skmoderndata._estimator.registry import KernelCard
from skmoderndata._samples.containers import as_vectors
from skmoderndata._samples.encoded import Encoded
from skmoderndata._solvers.common.quantities import MAX_INT32
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.generative.hidden_markov import (
    blocks,
    move_scores,
    posteriors,
    start_scores,
    sums_by_sequence,
    sums_by_symbol,
    symbol_scores,
)
from skmoderndata._solvers.generative.normals import (
    covariance_scores,
    log_densities,
    mean_scores,
)
from skmoderndata.kernels._base import BaseKernel, show
from skmoderndata.kernels._generative.hidden_markov import (
    HiddenMarkovModel,
    checked_model,
    fit_model,
    observations,
    probabilities,
    read_model,
    symbol_rows,
    symbols_from_data,
)
from skmoderndata.kernels._generative.mixtures import (
    NormalMixture,
    inner,
    is_fitted,
    model_from_data,
    read_mixture,
    show_model,
)
from skmoderndata.kernels._generative.scores import ScoreKernel

FAMILY = "kernels of generative models"
PAGE = "generative_kernels"
LETTERS = {"symbols": "ste", "normal": "stemc", "counts": "stel"}


class HMMFisher(ScoreKernel):
    r"""Fisher kernel of a hidden Markov model.

    .. math::
        k(x, z) = g(x)^\top I^{-1} g(z), \qquad
        g(x) = \nabla_\theta \log P(x \mid \theta)

    with g the Fisher score, the gradient of the log-likelihood of x in the parameters.

    Parameters
    ----------
    model : object of hmmlearn, default=None
        `CategoricalHMM`, `GaussianHMM` ("diag" or "full") or `PoissonHMM`. A fitted model is used
        unchanged; an unfitted model is cloned and fitted to the training sequences.
    startprob : array-like of shape (n_states,), default=None
        Probabilities of the first state; used, with `transmat` and `emissionprob`, instead of
        `model`.
    transmat : array-like of shape (n_states, n_states), default=None
        Probabilities of the next state.
    emissionprob : array-like of shape (n_states, n_symbols), default=None
        Probabilities of the symbols.
    parameters : str, default="ste"
        Parameters whose scores are used, by the letters of hmmlearn: "s" for start, "t" for
        transition, "e" for emission probabilities; "m" for means, "c" for covariances, "l" for the
        means of Poisson distributions.
    information : {"identity", "diagonal", "empirical"} or array, default="identity"
        Information matrix I. "diagonal" and "empirical" are the mean squares and products of
        the training scores; an array has shape (n_scores,) or (n_scores, n_scores).
    constrained : bool, default=True
        Whether derivatives respect the constraint that probabilities sum to one.
    symbols : str or sequence, default=None
        Symbols in the order of the columns of `emissionprob`. None means the numbers 0, 1 and so
        on; for other sequences it means the sorted symbols of the training samples.

    See Also
    --------
    MarkovFisher : Without hidden states.
    Fisher : Models of vectors.
    skmoderndata.metrics.hmm_log_likelihood : Log-likelihoods of sequences.

    Notes
    -----
    A sample is a sequence of symbols, or for Gaussian and Poisson models an array of shape
    (length, n_features). The constrained score of a transition is ``N(k, l) / Q(k, l) - N(k, .)``
    with N the expected counts given x; the other scores are analogous: derivatives with respect to
    the logits of a softmax function, divided by the probability. If a probability is 0, its score
    is 0. One forward and one backward pass compute all scores. Scores grow with the length of a
    sequence: see `Normalized`. The kernel is positive semi-definite. A sequence that is impossible
    under the model raises ValueError.

    scikit-learn's `clone` discards fitted attributes: a grid search refits a fitted model on each
    fold, unless it is wrapped in `sklearn.frozen.FrozenEstimator`.

    References
    ----------
    .. [1] Jaakkola and Haussler, Exploiting generative models in discriminative classifiers,
       NIPS 1998, pp. 487-493.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 12.2.

    Examples
    --------
    >>> from skmoderndata.kernels import HMMFisher
    >>> kernel = HMMFisher(
    ...     startprob=[0.6, 0.4],
    ...     transmat=[[0.7, 0.3], [0.2, 0.8]],
    ...     emissionprob=[[0.9, 0.1], [0.3, 0.7]],
    ... )
    >>> kernel([[0, 1, 1]], [[0, 0, 1]]).round(6)
    array([[1.479809]])
    >>> kernel.set_params(symbols="ab", parameters="e")(["abb"], ["aab"]).round(6)
    array([[-0.242858]])
    """

    _card = KernelCard(
        family=FAMILY,
        cite=("jaakkola1998exploiting", "rabiner1989tutorial", "shawetaylor2004kernel"),
        cost="total length x states^2", domain="string", method=PAGE,
    )  # fmt: skip

    def __init__(
        self,
        model: Any = None,
        startprob: Any = None,
        transmat: Any = None,
        emissionprob: Any = None,
        parameters: str = "ste",
        information: Any = "identity",
        constrained: bool = True,
        symbols: Any = None,
    ) -> None:
        self.model = model
        self.startprob = startprob
        self.transmat = transmat
        self.emissionprob = emissionprob
        self.parameters = parameters
        self.information = information
        self.constrained = constrained
        self.symbols = symbols

    def _arrays(self) -> HiddenMarkovModel | None:
        """Return the checked model; None if it must be fitted first."""
        arrays = [self.startprob, self.transmat, self.emissionprob]
        is_set = [a is not None for a in arrays]
        if self.model is None and all(is_set):
            emission = (self.emissionprob,)
            return checked_model(
                self.startprob, self.transmat, "symbols", emission, "HMMFisher"
            )
        if self.model is None or any(is_set):
            raise ValueError(
                "HMMFisher: pass either model, or all of startprob, transmat and emissionprob, "
                "but not both."
            )
        return read_model(inner(self.model), "HMMFisher")

    @property
    def is_fitted(self) -> bool:
        """Whether the model is fitted and the information matrix known."""
        data_driven = isinstance(self.information, str) and self.information != "identity"
        return not data_driven and self._arrays() is not None

    def __repr__(self) -> str:
        values = self.get_params(deep=False)
        fitted = None if self.model is None else read_model(inner(self.model), "HMMFisher")
        if fitted is not None:
            values["model"] = fitted
        shown = [f"{k}={show(v)}" for k, v in values.items()]
        return f"HMMFisher({', '.join(shown)})"

    def _validate(self) -> None:
        model = self._arrays()
        kind = "symbols" if model is None else model.kind
        allowed = LETTERS[kind]
        letters = self.parameters
        if not isinstance(letters, str) or not letters or set(letters) - set(allowed):
            raise self._refuse("parameters", f"some of the letters {allowed!r}")
        self._validate_information()

    def from_data(self, X: Any) -> BaseKernel:
        """Return a copy with a fitted model, its alphabet and its information matrix.

        Parameters
        ----------
        X : collection of sequences
            Training samples.

        Returns
        -------
        kernel : HMMFisher
            A copy, equal to this kernel if nothing depends on data.
        """
        model = self._arrays()
        symbols = self.symbols
        samples = X.samples if isinstance(X, Encoded) else X
        if model is None and "Categorical" in type(self.model).__name__:
            symbols = symbols_from_data(samples, symbols, "HMMFisher")
        if model is None:
            model = fit_model(self.model, samples, symbols, "HMMFisher")
        elif model.kind == "symbols":
            symbols = symbols_from_data(samples, symbols, "HMMFisher")
        kernel: Any = super().from_data(X)
        kernel.symbols = symbols
        if self.model is not None:
            kernel.model = model
        kernel._estimate_information(samples)
        return kernel

    def _scores(self, X: Any) -> Array:
        model = self._arrays()
        assert model is not None  # `_check` has tested `is_fitted`
        seen, values = observations(model, X, self.symbols, "HMMFisher")
        S = len(model.startprob)
        emission_size = sum(a.size for a in model.emission)
        row_bytes = 8 * (2 * S * S + 2 * emission_size)

        scores = []
        for rows, block in blocks(seen, row_bytes):
            start = seen.offsets[rows.start]
            stop = seen.offsets[rows.stop]
            vectors = None if values is None else values[start:stop]
            scores.append(self._block_scores(model, block, vectors, rows.start))
        if not scores:
            return np.zeros((0, 0))
        return np.concatenate(scores)

    def _block_scores(
        self, model: HiddenMarkovModel, seen: Any, values: Array | None, first: int
    ) -> Array:
        passed = posteriors(model.startprob, model.transmat, seen)
        impossible = np.flatnonzero(np.isneginf(passed.log_likelihood))
        if len(impossible):
            raise ValueError(
                f"HMMFisher: sample {first + impossible[0]} has probability 0 under the model; "
                "drop it, or train with small probabilities instead of zeros (in hmmlearn, set "
                "the priors transmat_prior and emissionprob_prior above 1)."
            )

        # compute the scores of the first state and of the moves
        letters = self.parameters
        groups = []
        if "s" in letters:
            start = start_scores(model.startprob, passed, seen.offsets, self.constrained)
            groups.append(start)
        if "t" in letters:
            groups.append(move_scores(model.transmat, passed, self.constrained))

        # compute the scores of the emissions, by the type of the observations
        n = len(seen.offsets) - 1
        if model.kind == "symbols":
            if "e" in letters:
                E = model.emission[0]
                counts = sums_by_symbol(passed.states, seen.rows, seen.offsets, E.shape[1])
                groups.append(symbol_scores(E, counts, self.constrained))
        elif model.kind == "normal":
            arguments = (values, passed.states, *model.emission, seen.offsets)
            if set("em") & set(letters):
                groups.append(mean_scores(*arguments).reshape(n, -1))
            if set("ec") & set(letters):
                groups.append(covariance_scores(*arguments).reshape(n, -1))
        elif set("el") & set(letters):
            rates = model.emission[0]
            assert values is not None  # the observations of count models are vectors
            ratios = values[:, None, :] / rates - 1.0
            weighted = passed.states[:, :, None] * ratios
            weighted = weighted.reshape(len(ratios), rates.size)
            groups.append(sums_by_sequence(weighted, seen.offsets))

        return np.concatenate(groups, axis=1)


class MarkovFisher(ScoreKernel):
    r"""Fisher kernel of a Markov chain of symbols.

    .. math::
        k(s, t) = \sum_v g_v(s) g_v(t) + \sum_{v, a} g_{va}(s) g_{va}(t), \qquad
        g_{va}(s) = \frac{c_{va}(s)}{P(a \mid v)} - c_{v \cdot}(s)

    with :math:`c_{va}(s)` the number of times that the symbol a follows the context v of p - 1
    symbols in s, and :math:`g_v(s) = [s \text{ begins with } v] / P(v) - 1`.

    Parameters
    ----------
    p : int, default=2
        Number of symbols of a window: each symbol depends on the p - 1 symbols before it.
    startprob : array-like of shape (n_symbols ** (p - 1),), default=None
        Probabilities of the first context; None estimates them from the training samples.
    transmat : array-like of shape (n_symbols ** (p - 1), n_symbols), default=None
        Probabilities of the next symbol for each context; the first symbol of a context is the
        highest digit of its row number. None estimates them from the training samples.
    smoothing : float, default=1.0
        Number added to all counts of the training samples, at least 0.
    symbols : str or sequence, default=None
        The alphabet, in the order of the columns of `transmat`. None means the numbers 0, 1 and so
        on; for other sequences it means the sorted symbols of the training samples.
    information : {"identity", "diagonal"} or array of shape (n_scores,), default="identity"
        Diagonal of an information matrix; scores are divided by its square root. "diagonal" is the
        mean square of the training scores.

    See Also
    --------
    PSpectrum : Counts of windows without weights.
    HMMFisher : With hidden states.

    Notes
    -----
    The less probable a window is under the chain, the larger its weight, so that rare windows
    dominate; `information="diagonal"` gives all windows the same weight. The kernel is positive
    semi-definite. Features are sparse, with one column for each window of p symbols over the
    alphabet. A sequence shorter than p - 1 symbols has score 0.

    References
    ----------
    .. [1] Jaakkola and Haussler, Exploiting generative models in discriminative classifiers,
       NIPS 1998, pp. 487-493.
    .. [2] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 12.2.

    Examples
    --------
    >>> from skmoderndata.kernels import MarkovFisher
    >>> kernel = MarkovFisher(startprob=[0.6, 0.4], transmat=[[0.7, 0.3], [0.2, 0.8]])
    >>> kernel([[0, 1, 1]], [[0, 0, 1]]).round(6)
    array([[5.126984]])
    >>> MarkovFisher(p=3).from_data(["gatta", "cata"]).features(["gat"]).shape
    (1, 80)
    """

    _card = KernelCard(
        family=FAMILY, cite=("jaakkola1998exploiting", "shawetaylor2004kernel"),
        cost="total length x symbols, and sparse products", domain="string", method=PAGE,
        tier="standard",
        instead="CountVectorizer on pairs of letters with LinearSVC recognises the language of "
        "names better, as the example shows.",
    )  # fmt: skip

    def __init__(
        self,
        p: int = 2,
        startprob: Any = None,
        transmat: Any = None,
        smoothing: float = 1.0,
        symbols: Any = None,
        information: Any = "identity",
    ) -> None:
        self.information = information
        self.p = p
        self.startprob = startprob
        self.transmat = transmat
        self.smoothing = smoothing
        self.symbols = symbols

    @property
    def is_fitted(self) -> bool:
        """Whether the probabilities and the information matrix are known."""
        data_driven = isinstance(self.information, str) and self.information != "identity"
        return not data_driven and self.startprob is not None and self.transmat is not None

    def _validate(self) -> None:
        self._check_integer("p", 1)
        self._check_real("smoothing", 0.0, low_included=True)
        self._validate_information()
        full = isinstance(self.information, str) and self.information == "empirical"
        if full or np.ndim(self.information) == 2:
            raise self._refuse("information", "'identity', 'diagonal' or one number per score")
        if self.is_fitted:
            self._chain()

    def _chain(self) -> tuple[Array, Array]:
        Q = probabilities(self.transmat, "transmat", (None, None), "MarkovFisher")
        M = Q.shape[1]
        n_contexts = M ** (self.p - 1)
        if len(Q) != n_contexts:
            raise ValueError(
                f"MarkovFisher: transmat has shape {Q.shape}, but p={self.p} with {M} "
                f"symbols needs {n_contexts} rows, one for each context."
            )
        pi = probabilities(self.startprob, "startprob", (n_contexts,), "MarkovFisher")
        return pi, Q

    def _contexts(self, X: Any, M: int) -> tuple[Array, Array, Array, Array]:
        """Return the numbers of the windows, their offsets, and each sequence's first context."""
        if float(M) ** self.p > MAX_INT32:
            raise ValueError(
                f"MarkovFisher: {M} symbols make {M}^{self.p} windows, too many columns; lower p."
            )
        # encode windows of p symbols as numbers with p digits
        p = self.p
        rows, offsets = symbol_rows(X, self.symbols, M, "MarkovFisher")
        digits = M ** np.arange(p - 1, -1, -1)
        lengths = np.diff(offsets)
        counts = np.maximum(lengths - p + 1, 0)
        ends = np.concatenate([[0], np.cumsum(counts)])
        shifts = np.repeat(offsets[:-1] - ends[:-1], counts)
        starts = shifts + np.arange(ends[-1])
        windows = rows[starts[:, None] + np.arange(p)] @ digits

        # encode the first contexts, which have p - 1 symbols
        long = np.flatnonzero((lengths >= p - 1) & (lengths > 0))
        begins = offsets[long]
        first = rows[begins[:, None] + np.arange(p - 1)] @ digits[1:]
        return windows, ends, long, first

    def from_data(self, X: Any) -> BaseKernel:
        """Return a copy with the chain and the alphabet of the training samples.

        Parameters
        ----------
        X : collection of sequences
            Training samples.

        Returns
        -------
        kernel : MarkovFisher
            A copy, equal to this kernel if the probabilities and the alphabet are given.
        """
        kernel: Any = super().from_data(X)
        samples = X.samples if isinstance(X, Encoded) else X
        self._validate()
        kernel.symbols = symbols_from_data(samples, self.symbols, "MarkovFisher")
        kernel._estimate_chain(samples)
        kernel._estimate_information(samples)
        return kernel

    def _estimate_chain(self, samples: Any) -> None:
        """Estimate the probabilities that are None from the training samples."""
        if self.startprob is not None and self.transmat is not None:
            return

        # determine the number of symbols
        if self.transmat is not None:
            M = np.shape(self.transmat)[-1]
        elif self.symbols is not None:
            M = len(self.symbols)
        else:
            largest = max((int(max(x)) for x in samples if len(x)), default=0)
            M = 1 + largest
        if M == 0:
            raise ValueError(
                "MarkovFisher: all training samples are empty, so there are no symbols; pass "
                "symbols, or drop empty samples."
            )

        # count the windows of p symbols, and the contexts at the start of a sequence
        windows, _, _, first = self._contexts(samples, M)
        n_contexts = M ** (self.p - 1)
        counts = np.bincount(windows, minlength=M**self.p)
        counts = counts.reshape(n_contexts, M)

        if self.transmat is None:
            self.transmat = frequencies(counts + self.smoothing)
        if self.startprob is None:
            begins = np.bincount(first, minlength=n_contexts) + self.smoothing
            self.startprob = frequencies(begins[None, :])[0]

    def _scores(self, X: Any) -> sparse.csr_array:
        pi, Q = self._chain()
        M = Q.shape[1]
        P = Q.ravel()
        windows, ends, long, first = self._contexts(X, M)
        n = len(ends) - 1

        # a score contains 1 / P, so P must not be zero
        wrong = np.flatnonzero(P[windows] == 0.0)
        wrong_start = long[pi[first] == 0.0]
        if len(wrong) or len(wrong_start):
            if len(wrong):
                i = np.searchsorted(ends, wrong[0], side="right") - 1
            else:
                i = wrong_start[0]
            raise ValueError(
                f"MarkovFisher: sample {i} has probability 0 under the chain; drop it, or set "
                "smoothing above 0."
            )

        # moves: add 1 / P for each window, and subtract the visits of its context, because the
        # rows of the transition matrix sum to one
        n_contexts = len(pi)
        ratios = 1.0 / P[windows]
        entries = (ratios, windows.copy(), ends.copy())
        moves = sparse.csr_array(entries, shape=(n, M**self.p))
        entries = (np.ones(len(windows)), windows // M, ends.copy())
        visits = sparse.csr_array(entries, shape=(n, n_contexts))
        moves.sum_duplicates()
        visits.sum_duplicates()
        expected = sparse.kron(visits, np.ones((1, M)), format="csr")
        possible = P > 0.0
        moves = (moves - expected).multiply(possible[None, :])

        # first context: add 1 / pi for it, and subtract one for every possible context
        begins = np.zeros((n, n_contexts))
        begins[long] = -1.0 * (pi > 0.0)
        begins[long, first] += 1.0 / pi[first]
        scores = sparse.hstack([sparse.csr_array(begins), moves], format="csr")
        return sparse.csr_array(scores)


def frequencies(counts: Array) -> Array:
    """Divide rows by their sums; a row of zeros becomes uniform."""
    totals = counts.sum(axis=1, keepdims=True)
    occurs = totals > 0
    divisors = np.where(occurs, totals, 1.0)
    return np.where(occurs, counts / divisors, 1 / counts.shape[1])


class Fisher(ScoreKernel):
    r"""Fisher kernel of a model of vectors, or of any model with scores.

    .. math::
        k(x, z) = g(x)^\top I^{-1} g(z), \qquad
        g(x) = \nabla_\theta \log P(x \mid \theta)

    Parameters
    ----------
    model : object
        `GaussianMixture`, `BayesianGaussianMixture` or a fitted `GaussianNB` of scikit-learn, or
        any object with ``score_vector(X)``, which returns the scores of samples as rows. An
        unfitted model is cloned and fitted to the training samples.
    information : {"identity", "diagonal", "empirical"} or array, default="identity"
        Information matrix I. "diagonal" and "empirical" are the mean squares and products of
        the training scores; an array has shape (n_scores,) or (n_scores, n_scores).
    parameters : str, default="wmc"
        Parameters of a mixture whose scores are used: "w" for weights, "m" for means, "c" for
        covariances.

    See Also
    --------
    HMMFisher : Models of sequences.
    MixtureP : Probability of belonging to the same component.

    Notes
    -----
    The scores of a mixture of K normal distributions are ``gamma_k / w_k - 1``,
    ``gamma_k C_k^-1 (x - mu_k)`` and
    ``gamma_k (C_k^-1 (x - mu_k)(x - mu_k)' C_k^-1 - C_k^-1) / 2``, with gamma the posterior
    probabilities of the components; with `information="diagonal"` they are the Fisher vectors of
    [2]_ up to their approximate information matrix. The kernel is positive semi-definite.

    A naive Bayes model is used as the mixture of its classes, a Bayesian mixture as the mixture at
    its posterior means. Cloning an estimator discards the fit of a model: wrap a fitted model in
    `sklearn.frozen.FrozenEstimator`.

    References
    ----------
    .. [1] Jaakkola and Haussler, Exploiting generative models in discriminative classifiers,
       NIPS 1998, pp. 487-493.
    .. [2] Perronnin and Dance, Fisher kernels on visual vocabularies for image categorization,
       CVPR 2007.
    .. [3] Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, section 12.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.mixture import GaussianMixture
    >>> from skmoderndata.kernels import Fisher
    >>> X = np.array([[0.0], [0.2], [5.0], [5.2]])
    >>> kernel = Fisher(GaussianMixture(2, random_state=0), information="diagonal").from_data(X)
    >>> kernel.features(X).shape
    (4, 6)
    >>> K = kernel(X)
    >>> K[0].round(2)   # like its neighbour, unlike the others
    array([ 6.,  2., -2., -2.])
    """

    _card = KernelCard(
        family=FAMILY,
        cite=("jaakkola1998exploiting", "perronnin2007fisher", "shawetaylor2004kernel"),
        cost="n K p for K components", domain="vector", method=PAGE,
    )  # fmt: skip

    def __init__(
        self, model: Any, information: Any = "identity", parameters: str = "wmc"
    ) -> None:
        self.model = model
        self.information = information
        self.parameters = parameters

    @property
    def requires_vector_input(self) -> bool:
        """Whether samples must be rows of a table; False if the model computes the scores."""
        return not hasattr(self.model, "score_vector")

    @property
    def is_fitted(self) -> bool:
        """Whether the model is fitted and the information matrix known."""
        data_driven = isinstance(self.information, str) and self.information != "identity"
        return not data_driven and is_fitted(self.model)

    def __repr__(self) -> str:
        values = {k: show(v) for k, v in self.get_params(deep=False).items()}
        values["model"] = show_model(self.model)
        shown = [f"{k}={v}" for k, v in values.items()]
        return f"Fisher({', '.join(shown)})"

    def _validate(self) -> None:
        usable = hasattr(self.model, "score_vector") or not is_fitted(self.model)
        if not usable:
            usable = read_mixture(inner(self.model)) is not None
        if self.model is None or not usable:
            raise self._refuse(
                "model", "a Gaussian mixture, GaussianNB, or an object with score_vector(X)"
            )
        if not self.parameters or set(self.parameters) - set("wmc"):
            raise self._refuse("parameters", "some of the letters 'wmc'")
        self._validate_information()

    def from_data(self, X: Any) -> BaseKernel:
        """Return a copy with a fitted model and its information matrix.

        Parameters
        ----------
        X : array or list
            Training samples.

        Returns
        -------
        kernel : Fisher
            A copy, equal to this kernel if nothing depends on data.
        """
        if self.requires_vector_input:
            X = as_vectors(X, "Fisher")
        self._validate()
        kernel: Any = super().from_data(X)
        kernel.model = model_from_data(self.model, X, "Fisher")
        kernel._estimate_information(X)
        return kernel

    def _scores(self, X: Any) -> Array:
        if not self.requires_vector_input:
            scores = inner(self.model).score_vector(X)
            G = np.asarray(scores, dtype=np.float64)
            if G.ndim != 2 or len(G) != len(X) or not np.isfinite(G).all():
                raise ValueError(
                    "Fisher: score_vector(X) must return finite numbers, one row for each "
                    f"sample, but returned an array of shape {G.shape}."
                )
            return G

        model = read_mixture(inner(self.model))
        assert model is not None  # `_validate` rejects other models
        table = as_vectors(X, "Fisher")
        p = table.shape[1]
        p_model = model.means.shape[1]
        if p != p_model:
            raise ValueError(
                f"Fisher: samples have {p} features, but the model has {p_model}."
            )
        return mixture_scores(model, table, self.parameters)


def mixture_scores(model: NormalMixture, X: Array, parameters: str) -> Array:
    """Compute the gradients of mixture log-densities in the parameters, one row per sample."""
    w, means, covariances, kind = model

    # compute the responsibilities of the components
    with np.errstate(divide="ignore"):
        joint = log_densities(X, means, covariances) + np.log(w)
    log_p = np.logaddexp.reduce(joint, axis=1, keepdims=True)
    gamma = np.exp(joint - log_p)

    # compute the derivatives of log p with respect to weights, means and covariances, in one block
    # each
    groups = []
    n = len(X)
    steps = np.arange(n + 1)
    if "w" in parameters:
        possible = w > 0.0
        ratio = np.divide(gamma, w, out=np.zeros_like(gamma), where=possible)
        groups.append(ratio - possible)
    if "m" in parameters:
        by_means = mean_scores(X, gamma, means, covariances, steps)
        groups.append(by_means.reshape(n, -1))
    if "c" in parameters:
        by_covariances = covariance_scores(X, gamma, means, covariances, steps)
        if kind == "tied":
            by_covariances = by_covariances.sum(axis=1)
        elif kind == "spherical":
            by_covariances = by_covariances.sum(axis=2)
        groups.append(by_covariances.reshape(n, -1))
    return np.concatenate(groups, axis=1)

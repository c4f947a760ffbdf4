"""Probabilistic latent semantic analysis: topics of documents."""

from functools import partial
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import Base, run_starts, warn_not_converged
from skmoderndata._estimator.blocks_input import in_blocks
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    CallbackSupportMixin,
    Interval,
    fit_context,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import (
    FLOATS,
    check_codes,
    check_n_components,
    validate_data,
    weigh_entries,
)
from skmoderndata._solvers.common.quantities import MAX_INT32
from skmoderndata._solvers.common.tolerances import SMALLEST_DIVISOR
from skmoderndata._solvers.factors.latent_semantics import (
    Counts,
    expected,
    fold_in,
    gains,
    largest_gain,
    log_likelihood,
)
from skmoderndata._solvers.factors.topic_fits import (
    TopicRows,
    fit_tempered,
    fit_topics,
    tokens_in_words,
    word_frequencies,
)
from skmoderndata._solvers.factors.weighted_topics import (
    fit_weighted_topics,
    weighted_gains,
    weighted_log_likelihood,
)
from skmoderndata.decomposition._blocks_base import NO_ENTRY, NO_WEIGHT, open_rows
from skmoderndata.decomposition._nmf_base import check_weights

# Tolerance for the possible gain from better mixtures with fixed topics, in nats per token.
BOUND = 1e-6
# Minimum probability in the score, used for words that the topics of a document exclude.
FLOOR = 1e-12


class ProbabilisticLSA(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Base
):
    r"""Estimate topics, with documents as mixtures of word distributions, by maximum likelihood.

    For counts :math:`x_{dw}` of words w in documents d, `fit` maximises the log-likelihood [1]_

    .. math::
        \sum_{d, w} x_{dw} \log \sum_z P(z \mid d)\, P(w \mid z)

    over mixtures :math:`P(z \mid d)` and topics :math:`P(w \mid z)`. Up to scaling, this is
    non-negative factorisation with the Kullback-Leibler divergence. Missing counts (NaN in a dense
    array) are omitted from the sum, and from the normalisation of the observed words of a
    document. With weights :math:`c_{dw}` of the counts (`entry_weight` of `fit`), `fit` maximises

    .. math::
        \sum_{d, w} c_{dw} x_{dw} \log
        \frac{c_{dw} P(w \mid d)}{\sum_v c_{dv} P(v \mid d)}, \qquad
        P(w \mid d) = \sum_z P(z \mid d)\, P(w \mid z),

    which is factorisation with weights of the terms of the Kullback-Leibler divergence; weight 0
    means that a count is missing.

    Parameters
    ----------
    n_components : int, default=2
        Number of topics.
    tempering : bool, default=False
        If True, a fraction of the counts is held out, and their likelihood controls the tempering
        of the posteriors and stops expectation maximisation.
    posterior_exponent : float, default=1.0
        Exponent of the posteriors, 1 for maximum likelihood; with `tempering`, the initial
        exponent.
    cooling : float, default=0.9
        Factor by which `tempering` decreases the exponent.
    validation_fraction : float, default=0.1
        Fraction of the counts that `tempering` holds out.
    smoothing : float, default=0.0
        Non-negative pseudo-count of each word in each topic. If positive, no word seen in `fit`
        has probability 0.
    n_init : int, default=1
        Number of starts; the result with the largest likelihood is kept.
    max_iter : int, default=500
        Largest number of passes per start.
    tol : float, default=1e-6
        Tolerance: passes stop when the log-likelihood increases by less than this, in nats per
        token. With `tempering`, they stop when the log-likelihood of the held-out counts increases
        by less than ten times this value.
    n_jobs : int, default=None
        Number of starts that run in parallel, in threads.
    random_state : int, RandomState instance or None, default=None
        Seed or generator of the starts and the choice of held-out counts. Pass an int for
        reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Topics ``P(word | topic)``, one per row, the most frequent topic first.
    topic_weights_ : ndarray of shape (n_components,)
        Probability of each topic in the training documents.
    log_likelihood_ : float
        Log-likelihood of the training counts, in nats per (weighted) token, for the stored topics
        and the mixtures of `transform`; after `partial_fit`, of the last batch.
    log_likelihood_gap_ : float
        Upper bound, in nats per token, on the increase of `log_likelihood_` by better mixtures
        with the same topics, or by better topics with the same mixtures. It tends to 0 slowly,
        because vanishing topics contribute to it.
    objective_history_ : ndarray of shape (n_iter_,)
        Objective in nats per token after each pass; it never decreases. With `tempering`, the
        log-likelihood of the held-out counts. `partial_fit` appends `log_likelihood_`.
    posterior_exponent_ : float
        Final exponent of the posteriors.
    n_components_ : int
        Number of topics.
    n_iter_ : int
        Number of passes of the best start.
    n_features_in_ : int
        Number of words seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the words, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.LatentDirichletAllocation : Adds priors on mixtures and topics; slower.
    sklearn.decomposition.NMF : Solves the same problem with ``beta_loss="kullback-leibler"``,
        without normalised probabilities; converts sparse counts partly to dense arrays.
    sklearn.decomposition.TruncatedSVD : Latent semantic indexing, with negative entries.

    Notes
    -----
    `fit` accepts Dask arrays and tables on disk; the mixtures stay where the documents are read.
    Tempering holds out counts of all documents, so it raises an error for such tables.

    A pass takes ``6 k`` operations for each non-zero count, and no memory except for the
    parameters. Missing counts and weights add ``4 n p k`` operations and are supported only for
    maximum likelihood, without tempering; mixtures and topics are then updated in turn, without
    extrapolation. Otherwise steps of expectation maximisation are extrapolated unless the
    likelihood decreases. The likelihood has many local maxima: use a larger `n_init`.

    `tempering` never holds out all counts of a document or a word. The stored topics come from a
    final step on all counts, including the held-out counts.

    `transform` folds documents in: for fixed topics, Newton's method solves the concave problem of
    the mixture of each document to a certified gap of 1e-6 nats per token (if
    `posterior_exponent_` is 1; otherwise there is no bound). If the gap remains larger, a
    ConvergenceWarning is issued. Words with probability 0 in all topics are ignored; documents
    without any other word get uniform mixtures.

    References
    ----------
    .. [1] Hofmann, Unsupervised learning by probabilistic latent semantic analysis, Machine
       Learning 42, 2001, equations (3) to (6); section 3.2 for tempering.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.decomposition import ProbabilisticLSA
    >>> X = np.array([[4, 3, 0, 0], [2, 2, 0, 0], [0, 0, 5, 1], [0, 0, 4, 2], [3, 3, 3, 1]])
    >>> plsa = ProbabilisticLSA(2, random_state=0).fit(X)
    >>> plsa.components_.round(2)
    array([[0.53, 0.47, 0.  , 0.  ],
           [0.  , 0.  , 0.75, 0.25]])
    >>> plsa.transform(X).round(2)
    array([[1. , 0. ],
           [1. , 0. ],
           [0. , 1. ],
           [0. , 1. ],
           [0.6, 0.4]])
    """

    _card = MethodCard(
        family="topics",
        cite=("hofmann2001unsupervised",),
        cost="T k times the counts that are not zero",
        fits_blocks=True,
        tier="standard",
        instead="`NMF` of frequencies, followed by rounds of EM on the counts above zero, finds "
        "equally good topics in about the same time.",
    )
    # Reason that EntrySearchCV gives when it rejects this estimator.
    _NO_ENTRIES = "distributions of words, not counts"
    _parameter_constraints = {
        "n_components": [AT_LEAST_ONE],
        "tempering": ["boolean"],
        "posterior_exponent": [Interval(Real, 0, 1, closed="right")],
        "cooling": [Interval(Real, 0, 1, closed="neither")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "smoothing": [NON_NEGATIVE],
        "n_init": [AT_LEAST_ONE],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    @parameters_are_named
    def __init__(
        self,
        n_components=2,
        *,
        tempering=False,
        posterior_exponent=1.0,
        cooling=0.9,
        validation_fraction=0.1,
        smoothing=0.0,
        n_init=1,
        max_iter=500,
        tol=1e-6,
        n_jobs=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.tempering = tempering
        self.posterior_exponent = posterior_exponent
        self.cooling = cooling
        self.validation_fraction = validation_fraction
        self.smoothing = smoothing
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Without this line, users who request metadata for `fit` would have to do so for `transform`
    # too.
    __metadata_request__transform = {"entry_weight": UNUSED}

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, *, entry_weight=None):
        """Estimate the topics.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array} of shape (n_samples, n_features)
            Counts of words, one document per row; they need not be integers. NaN marks missing
            counts of a dense array. Dask arrays and tables on disk are read block by block in
            each pass.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the documents; a document of weight 2 counts as two documents.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Non-negative weights of the counts of a dense array. They are multiplied by the
            weights of the documents. Weight 0 is the same as NaN. None means 1.

        Returns
        -------
        self : ProbabilisticLSA
            The fitted estimator.
        """
        read = self._rows_in_blocks if in_blocks(X) else self._rows_in_memory
        rows, dtype = read(X, sample_weight, entry_weight)
        check_n_components(self, rows.shape)

        rng = check_random_state(self.random_state)
        training = rows
        hidden = None
        # The likelihood of held-out counts controls the tempering.
        if self.tempering:
            counts, hidden = _hold_out(rows.counts, self.validation_fraction, rng)
            training = TopicRows.of(counts)
        (frequency,) = training.sum(word_frequencies)

        seeds = rng.randint(MAX_INT32, size=self.n_init)
        fit_from_seed = partial(self._fit_from_seed, training, hidden, frequency)
        results, stopped = run_starts(
            self,
            X,
            y,
            fit_from_seed,
            seeds,
            task_name="iteration",
            max_passes=self.n_init * self.max_iter,
            n_jobs=self.n_jobs,
            prefer="threads",
        )

        # keep the start with the largest likelihood
        best = max(results, key=lambda result: max(result.history))
        fitted = best.rows
        if self.tempering:
            fitted = TopicRows.of(rows.counts, best.mixtures)
        self._store(fitted, best, dtype)

        if not best.converged and not stopped:
            reached = (
                f"after {best.n_iter} passes better mixtures or topics could increase the "
                f"log-likelihood by up to {self.log_likelihood_gap_:.1e} nats per token"
            )
            if self.tempering:
                reached = (
                    f"after {best.n_iter} passes the likelihood of the held-out counts may still "
                    "increase"
                )
            warn_not_converged(self, reached=reached, remedy="increase max_iter or tol")

        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Update the topics with new documents.

        The first call is the same as `fit`. Later calls fold the new documents in, add the
        expected counts of words in topics to the stored sums, and normalise them, which is one
        incremental step of expectation maximisation. The result depends on the order of the
        documents.

        Parameters
        ----------
        X, y, sample_weight
            Same as in `fit`, but without missing counts.

        Returns
        -------
        self : ProbabilisticLSA
            The updated estimator.
        """
        if not hasattr(self, "components_"):
            return self.fit(X, y, sample_weight)

        # 1. Check the documents; sums of counts exist only if documents are complete.
        X, cells = self._validate(X, None, reset=False)
        if cells is not None or self._word_counts is None:
            raise ValueError(
                "ProbabilisticLSA.partial_fit accepts no missing counts, neither here nor in the "
                "preceding fit, and no weights of counts, because its sums cannot represent "
                "them; use fit."
            )

        # 2. Compute the mixtures of the documents with the current topics.
        weights = check_weights(sample_weight, X)
        counts = _counts(X, weights)
        topics = self._topics()
        beta = self.posterior_exponent_
        # New words may belong to any topic.
        new = ~topics.any(axis=1)
        topics[new] = 1.0 / len(topics)
        mixtures, _ = fold_in(counts, topics, beta=beta)
        _, in_words, _ = expected(counts, mixtures, topics, beta)

        # 3. Add the expected counts of the new documents, and normalise.
        total = self._word_counts + in_words
        self.n_iter_ += 1
        self._set_topics(total, self.components_.dtype)
        self._measure(TopicRows.of(counts))
        self.objective_history_ = np.append(self.objective_history_, self.log_likelihood_)
        return self

    def fit_transform(self, X, y=None, sample_weight=None, *, entry_weight=None):
        """Fit, and compute the topic mixtures of the training documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts of words; NaN marks missing counts of a dense array.
        y : Ignored
            Not used, present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the documents.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Weights of the counts, as in `fit`.

        Returns
        -------
        mixtures : ndarray of shape (n_samples, n_components_)
            Mixtures, equal to ``fit(X, entry_weight=W).transform(X, entry_weight=W)``.
        """
        self.fit(X, y, sample_weight, entry_weight=entry_weight)
        return self.transform(X, entry_weight=entry_weight)

    @by_rows
    def transform(self, X, *, entry_weight=None):
        """Compute the topic mixtures of documents, for the fitted topics.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts of words; NaN marks missing counts of a dense array.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Weights of the counts of these documents, as in `fit`. Pass them directly: metadata
            routing passes them only to `fit`, `fit_transform` and `score`.

        Returns
        -------
        mixtures : ndarray of shape (n_samples, n_components_)
            Mixtures ``P(topic | document)``; each row depends only on its document.
        """
        check_is_fitted(self)
        X, cells = self._validate(X, entry_weight, reset=False)
        counts = _counts(X, None, cells)
        exponent = self.posterior_exponent_
        mixtures, bounds = self._fold_in(counts, self._topics(), cells)

        # without tempering, a small bound certifies that the mixture is optimal
        improvable = np.count_nonzero(bounds > BOUND)
        if exponent == 1.0 and improvable:
            warn_not_converged(
                self,
                reached=f"better mixtures of {improvable} documents could increase the "
                f"log-likelihood by up to {bounds.max():.1e} nats per token",
                remedy="merge topics that are nearly equal, or lower n_components",
            )
        return mixtures.astype(X.dtype, copy=False)

    @by_rows
    def inverse_transform(self, X):
        """Compute the word distributions of topic mixtures.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_components_)
            Mixtures.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Distributions ``P(word | document)``. Multiply them by the numbers of tokens to get
            expected counts.
        """
        check_is_fitted(self)
        X = check_codes(X, self.n_components_, estimator=self, accept_sparse="csr")
        topics = self.components_.astype(X.dtype, copy=False)
        return np.asarray(X @ topics)

    @in_memory
    def score(self, X, y=None, *, entry_weight=None):
        """Compute the log-likelihood per token of half of the words, predicted from the rest.

        Every second word of a document is folded in to predict the remaining words, and vice
        versa. Predicted words are never folded in, so the score does not always increase with
        `n_components`. One token, distributed by `topic_weights_`, is added to each half, because
        a few words do not exclude a topic.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts of words. Words that did not occur in `fit` are ignored, and so are missing
            counts (NaN in a dense array).
        y : Ignored
            Not used, present by convention.
        entry_weight : array-like of shape (n_samples, n_features), default=None
            Weights of the counts, in the mixtures and in the mean.

        Returns
        -------
        score : float
            Mean log-probability in nats; probabilities below 1e-12 are replaced by 1e-12. 0 if
            no word remains to be predicted.
        """
        check_is_fitted(self)
        X, cells = self._validate(X, entry_weight, reset=False)
        return self._completion(_counts(X, None, cells), cells)

    @in_memory
    def perplexity(self, X):
        """Compute the perplexity of documents, ``exp(-score(X))``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Counts of words.

        Returns
        -------
        perplexity : float
            Number of equally likely words with the same uncertainty; 1 if no word remains
            to be predicted.
        """
        check_is_fitted(self)
        X, cells = self._validate(X, None, reset=False)
        return float(np.exp(-self._completion(_counts(X, None, cells), cells)))

    def _fold_in(self, counts, topics, cells):
        return _mixtures_of((counts, cells), topics, self.posterior_exponent_)

    def _completion(self, counts, cells):
        topics = self._topics()

        # select words of positive probability
        possible = topics.any(axis=1)
        words = _select(counts, possible[counts.indices])
        if words.total == 0:
            return 0.0

        # split the words of each document into two halves
        position = np.arange(len(words.data))
        start = np.repeat(words.indptr[:-1], np.diff(words.indptr))
        even = (position - start) % 2 == 0
        value = 0.0
        for half in (even, ~even):
            visible = _select(words, half)
            hidden = _select(words, ~half)
            mixtures, _ = self._fold_in(visible, topics, cells)

            # A few words cannot exclude a topic, so add one token that is distributed over all
            # topics.
            padded = np.append(visible.data, 0.0)
            length = np.add.reduceat(padded, visible.indptr[:-1])
            length[np.diff(visible.indptr) == 0] = 0.0
            length = length[:, None]
            mixtures = (mixtures * length + self.topic_weights_) / (length + 1)
            value += _likelihood(hidden, mixtures, topics, cells)
        return float(value / words.total)

    def _validate(self, X, entry_weight, *, reset):
        """Check counts; return them with 0 for missing counts, and their weights or None."""
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=FLOATS,
            ensure_all_finite="allow-nan",
            reset=reset,
        )
        name = type(self).__name__
        if sparse.issparse(X) and np.isnan(X.data).any():
            raise ValueError(
                f"{name} does not accept NaN in sparse input: use a dense array, where NaN marks "
                "a missing count."
            )

        # check the weights, and check that no count is negative
        X, cells = weigh_entries(X, entry_weight, owner=name)
        values = X.data if sparse.issparse(X) else X
        if values.size and np.nanmin(values, initial=0.0) < 0:
            raise ValueError(
                f"Negative values in data passed to X in {name}: counts must be non-negative."
            )

        X, cells = _without_gaps(X, cells)
        self._refuse_weights_of_counts(cells is not None)
        return X, cells

    def _refuse_weights_of_counts(self, celled):
        if celled and (self.tempering or self.posterior_exponent < 1):
            raise ValueError(
                f"{type(self).__name__}(tempering={self.tempering}, posterior_exponent="
                f"{self.posterior_exponent}) accepts no missing counts (NaN) and no weights of "
                "counts, because flattened posteriors have no likelihood with separate terms for "
                "them. Set tempering=False and posterior_exponent=1."
            )

    def _rows_in_memory(self, X, sample_weight, entry_weight):
        """Return counts as one block, and the dtype of the table."""
        X, cells = self._validate(X, entry_weight, reset=True)
        counts = _counts(X, check_weights(sample_weight, X), cells)
        return TopicRows.of(counts, None, cells), X.dtype

    def _rows_in_blocks(self, X, sample_weight, entry_weight):
        """Return counts of a table in blocks, checked in a first pass, and its dtype."""
        name = type(self).__name__
        if self.tempering:
            raise ValueError(
                f"{name}(tempering=True) holds out counts of all documents at once, which a table "
                "in blocks does not allow: set tempering=False, or pass X.compute()."
            )

        # in a first pass, run the checks and see whether counts have weights
        blocks, reader = open_rows(self, X, sample_weight, entry_weight)
        allow_nan = self.__sklearn_tags__().input_tags.allow_nan
        total, n_celled, *n_counting = blocks.sum(_check_block, reader, allow_nan)
        for n, message in zip(n_counting, (NO_WEIGHT, NO_ENTRY.format(name)), strict=True):
            if n == 0:
                raise ValueError(message)

        self._refuse_weights_of_counts(n_celled > 0)
        read = partial(_read_documents, reader=reader, celled=n_celled > 0)
        rows = TopicRows(blocks, read, blocks.shape, total, n_celled > 0)
        return rows, reader.dtype

    def _fit_from_seed(self, rows, hidden, frequency, *, seed, progress=None):
        rng = np.random.RandomState(seed)
        n, p = rows.shape
        k = self.n_components

        # draw random topics around the frequencies of the words
        topics = rng.exponential(size=(p, k)) * frequency[:, None]
        total = topics.sum(axis=0)
        if (total > 0).all():
            topics = topics / total
        else:
            topics = np.full_like(topics, 1 / p)

        # use a separate algorithm for weighted counts, plain counts and tempering
        settings = {
            "smoothing": float(self.smoothing),
            "max_iter": self.max_iter,
            "progress": progress,
        }
        if rows.celled:
            return fit_weighted_topics(rows, topics, tol=self.tol, **settings)

        settings["beta"] = float(self.posterior_exponent)
        if hidden is None:
            return fit_topics(rows, topics, tol=self.tol, **settings)
        mixtures = np.full((n, k), 1 / k)
        return fit_tempered(
            rows.counts,
            hidden,
            mixtures,
            topics,
            cooling=self.cooling,
            tol=10 * self.tol,
            **settings,
        )

    def _store(self, rows, result, dtype):
        beta = float(result.beta)
        self.posterior_exponent_ = beta
        self.objective_history_ = np.asarray(result.history) / max(
            rows.total, SMALLEST_DIVISOR
        )
        self.n_iter_ = result.n_iter
        if rows.celled:
            self._store_weighted(rows, result, dtype)
            return

        (in_words,) = rows.sum(tokens_in_words, result.topics, beta)
        weight = in_words.sum(axis=0)
        order = np.argsort(-weight, kind="stable")
        self._set_topics(in_words[:, order], dtype)
        self._measure(rows)

    def _store_weighted(self, rows, result, dtype):
        """Store unchanged topics in the order of their weights in the observed tokens."""
        (weight,) = rows.sum(_tokens_of_topics)
        order = np.argsort(-weight, kind="stable")
        self._word_counts = None
        self.components_ = np.ascontiguousarray(result.topics[:, order].T, dtype=dtype)
        self.n_components_ = len(self.components_)
        weight = weight[order]
        total = weight.sum()
        self.topic_weights_ = (
            weight / total if total > 0 else np.full_like(weight, 1 / len(weight))
        )
        self._measure(rows)

    def _measure(self, rows):
        """Store likelihood and gap of the stored topics, with the mixtures of `transform`."""
        topics = self._topics()
        measured = rows.sum(_measured, topics, self.posterior_exponent_)
        likelihood, gain, slopes = measured
        self.log_likelihood_ = likelihood / max(rows.total, SMALLEST_DIVISOR)
        self.log_likelihood_gap_ = largest_gain(gain, slopes, topics, rows.total)

    def _set_topics(self, in_words, dtype):
        """Compute and store topics from expected counts of words in topics."""
        self._word_counts = in_words
        weight = in_words.sum(axis=0)

        # normalise smoothed counts; topics without words become uniform
        topics = in_words + self.smoothing
        total = topics.sum(axis=0)
        uniform = 1.0 / len(topics)
        nonzero = np.where(total > 0, total, 1.0)
        topics = np.where(total > 0, topics / nonzero, uniform)

        self.components_ = np.ascontiguousarray(topics.T, dtype=dtype)
        self.n_components_ = len(self.components_)

        all_words = weight.sum()
        if all_words > 0:
            self.topic_weights_ = weight / all_words
        else:
            self.topic_weights_ = np.full(len(weight), 1 / len(weight))

    def _topics(self):
        return np.ascontiguousarray(self.components_.T, dtype=np.float64)

    @property
    def _n_features_out(self):
        return self.n_components_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = not self.tempering and self.posterior_exponent == 1
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _check_block(block, reader, allow_nan):
    """Check a block; return its number of tokens and flags of its weights.

    The flags are 1 if counts have weights, if a document has a weight above 0, and if a count
    has one.
    """
    X, weights, cells = reader.checked(
        block, allow_nan=allow_nan, nonnegative="counts must be non-negative."
    )
    X, cells = _without_gaps(X, cells)
    flags = (cells is not None, weights is None or weights.any(), reader.counts(block))
    return _counts(X, weights, cells).total, *map(int, flags)


def _read_documents(block, *, reader, celled):
    X, weights, cells = reader.read(block)
    X, cells = _without_gaps(X, cells)
    if celled and cells is None:
        cells = np.ones(X.shape)
    return _counts(X, weights, cells), cells


def _without_gaps(X, cells):
    """Replace missing counts with 0, and set their weights to 0."""
    if sparse.issparse(X):
        return X, cells
    missing = np.isnan(X)
    if missing.any():
        cells = np.where(missing, 0.0, 1.0 if cells is None else cells)
        X = np.where(missing, X.dtype.type(0), X)
    return X, cells


def _mixtures_of(data, topics, beta):
    """Return mixtures of documents and bounds, using weights of the counts if there are any."""
    counts, cells = data
    exposures = None if cells is None else cells @ topics
    return fold_in(counts, topics, beta=beta, tol=BOUND, exposures=exposures)


def _measured(data, mixtures, topics, beta):
    """Return the likelihood of documents, and possible gains by better mixtures and topics."""
    counts, cells = data
    mixtures, _ = _mixtures_of(data, topics, beta)
    likelihood = _likelihood(counts, mixtures, topics, cells)
    if cells is None:
        return likelihood, *gains(counts, mixtures, topics)[1:]
    return likelihood, *weighted_gains(counts, cells, mixtures, topics)


def _tokens_of_topics(data, mixtures):
    """Return the number of observed tokens of each topic, from the mixtures of the fit."""
    counts, _ = data
    tokens = np.add.reduceat(np.append(counts.data, 0.0), counts.indptr[:-1])
    tokens[np.diff(counts.indptr) == 0] = 0.0
    return (tokens @ mixtures.best,)


def _likelihood(counts, mixtures, topics, cells):
    """Return the log-likelihood of counts; `cells` are their weights or None."""
    if cells is None:
        return log_likelihood(counts, mixtures, topics, FLOOR)
    return weighted_log_likelihood(counts, cells, mixtures, topics, FLOOR)


def _counts(X, weights=None, cells=None):
    """Return the non-zero counts times their weights, in float64 and with sorted indices."""
    X = X if cells is None else X * cells
    if sparse.issparse(X):
        X = sparse.csr_array(X, dtype=np.float64, copy=True)
        X.sum_duplicates()
    else:
        X = _sparse(X)
    if weights is not None:
        X.data *= np.repeat(weights, np.diff(X.indptr))
    X.eliminate_zeros()
    return Counts(X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data, X.shape[1])


def _sparse(X):
    """Convert an array to CSR, in a third of the time of SciPy, which creates coordinates."""
    nonzero = X != 0
    positions = np.flatnonzero(nonzero)
    indptr = np.append(0, np.cumsum(np.count_nonzero(nonzero, axis=1)))
    data = X.ravel()[positions].astype(np.float64, copy=False)
    return sparse.csr_array((data, positions % X.shape[1], indptr), shape=X.shape)


def _select(counts, mask):
    """Return the counts selected by a mask, in the same documents."""
    before = np.concatenate([[0], np.cumsum(mask)])
    return Counts(
        before[counts.indptr], counts.indices[mask], counts.data[mask], counts.n_words
    )


def _hold_out(counts, fraction, rng):
    """Split counts at random; each document keeps at least one word, and vice versa."""
    draw = rng.uniform(size=len(counts.data))
    hidden = draw < fraction
    # If a label is repeated in the assignment below, the last position remains; sorting makes it
    # the position of the largest draw.
    order = np.argsort(draw)
    documents = np.repeat(np.arange(len(counts.indptr) - 1), np.diff(counts.indptr))
    for labels, number in (
        (documents, len(counts.indptr) - 1),
        (counts.indices, counts.n_words),
    ):
        retained = np.full(number, -1)
        retained[labels[order]] = order
        hidden[retained[retained >= 0]] = False
    return _select(counts, ~hidden), _select(counts, hidden)

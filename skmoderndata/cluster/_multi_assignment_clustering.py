"""Multi-assignment clustering of Boolean data."""

from functools import partial
from numbers import Real

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skmoderndata._estimator.base import run_starts
from skmoderndata._estimator.blocks_input import FitsBlocks, in_blocks
from skmoderndata._estimator.compat import (
    AT_LEAST_ONE,
    N_JOBS,
    NON_NEGATIVE,
    POSITIVE,
    CallbackSupportMixin,
    Interval,
    StrOptions,
    fit_context,
    warn_user,
)
from skmoderndata._estimator.doors import by_rows, in_memory, parameters_are_named
from skmoderndata._estimator.doubt import record_doubt
from skmoderndata._estimator.registry import MethodCard
from skmoderndata._estimator.validation import validate_boolean
from skmoderndata._solvers.boolean_data.boolean import (
    assignment_sets,
    count_assignment_sets,
    distinct_rows,
    pack_bits,
    pack_rows,
)
from skmoderndata._solvers.boolean_data.gibbs import gibbs
from skmoderndata._solvers.boolean_data.multi_assignment import (
    MAX_ACTIVE,
    MAX_PATTERNS,
    BitBlocks,
    Data,
    Model,
    Settings,
    Statistics,
    boolean_model,
    error_rates,
    expectation,
    improve_sources,
    learned_log_odds,
    likelihood_blocks,
    rates_of,
    set_probabilities,
    soft_rates,
    table_log_likelihood,
    undecided_bits,
    union_counts,
    with_empty_sources,
)
from skmoderndata._solvers.boolean_data.row_stream import RowStream
from skmoderndata._solvers.boolean_data.source_starts import (
    disagreement,
    kinds_of_starts,
    one_start,
    refined,
    rows_of_starts,
)
from skmoderndata._solvers.common.arrays import working_memory
from skmoderndata._solvers.common.quantities import MAX_INT32, MEBIBYTE
from skmoderndata._solvers.common.row_sample import MOST_ROWS
from skmoderndata._solvers.common.tolerances import RESULT_ROUNDING
from skmoderndata.cluster._base import BooleanComponents

# Minimum relative rise of the likelihood at which new sources replace the sources of a stream.
LEAST_RISE = 1e-6
# Fraction of the reconstructed bits in which the two likeliest starts may differ without a
# warning. In 21 % of 528 random tables, the result had clearly more wrong bits than the true
# sources. The warning appeared for 78 % of these tables (90 % of the worst of them), and for 13 %
# of the remaining tables.
MAX_DISAGREEMENT = 0.05
# Minimum number of starts, and minimum number of rows, for which a disagreement is meaningful.
MIN_STARTS = 3
MIN_ROWS = 30
# Number of tables over features and assignment sets that are in memory at the same time.
TABLES = 6


class MultiAssignmentClustering(CallbackSupportMixin, FitsBlocks, BooleanComponents):
    r"""Overlapping clusters of Boolean data: each object is the OR of several sources.

    The class maximises the likelihood of the observed bits over sources, noise and one assignment
    set :math:`L_i` of at most `max_assignments` sources per object [1]_, [2]_:

    .. math::
        \max_{\beta, \epsilon, r} \sum_i \max_{L_i} \sum_d \log p(x_{id} \mid L_i), \qquad
        p(x_{id} = 1 \mid L) = \epsilon r
        + (1 - \epsilon) \Bigl(1 - \prod_{k \in L} \beta_{kd}\Bigr),

    where :math:`\beta_{kd}` is the probability that source k emits 0, :math:`\epsilon` the
    fraction of noisy bits and r the probability that a noisy bit is 1. There are three kinds of
    starts: greedy (the discrete basis problem [3]_), cold (EM from random rows at temperature 1)
    and annealed (deterministic annealing from a high temperature, as published). Then the sources
    are rounded to 0 and 1, and as long as the likelihood rises, sources, sets and noise are
    refitted alternately, and single sources are exchanged for associated features, or for
    differences and intersections of sources. The final estimates of the noise, and of the
    probability that a row has a source, average over all sets, because the best set of a row
    overfits its noise.

    Parameters
    ----------
    n_clusters : int, default=3
        Number of sources.
    max_assignments : int, default=None
        Largest number of sources of one object; 1 is single-assignment clustering. None means no
        limit for up to 8 clusters, and a limit of three otherwise.
    allow_empty : bool, default=True
        Whether an object may have no source, so that only noise explains it.
    noise : {"mixture", "flip"} or None, default="mixture"
        "mixture" replaces a bit, with probability `epsilon_`, by a bit that is 1 with probability
        `noise_rate_`; "flip" inverts it (a mixture with rate 1/2, which has one parameter fewer);
        None assumes no noise.
    prior : {"learned", "uniform"}, default="learned"
        Prior over the assignment sets. "learned" assumes that sources are independent and, with a
        refit and noise, estimates the probability of each source at the end of each start.
        "uniform", as published, gives all sets the same probability, so a row is expected to have
        half of the sources; if rows have fewer, it adds sources that fit noise.
    algorithm : {"auto", "all", "pruned"}, default="auto"
        "all" considers every set of up to `max_assignments` sources. "pruned" considers at most
        2000 sets: the sets in use and sets that differ from them by one source. "auto" means
        "pruned" if there are more than 2000 sets.
    threshold : float or None, default=0.0
        A bit is set where `X > threshold`; None requires that X contains only 0 and 1.
    n_init : int, default=3
        Number of starts. The first start is greedy, the second cold, the third annealed, and
        further starts are cold and annealed in turn. The start with the largest value in
        `start_likelihoods_` is kept.
    start_temperature : float, default=None
        Initial temperature of annealed starts; None means an eighth of the number of features.
    end_temperature : float, default=0.1
        Final temperature.
    cooling : float, default=0.9
        Factor from one temperature to the next.
    max_iter : int, default=5
        Largest number of EM rounds at each temperature.
    tol : float, default=1e-5
        Tolerance of EM at each temperature: it stops when a round lowers the free energy by a
        smaller relative amount.
    refit : bool, default=True
        Whether to round and refit the sources, which makes the noise estimate unbiased. Without
        the refit, emissions and noise explain the same zeros, and the noise is underestimated.
        Sources are exchanged during the refit.
    refine : {"gibbs"} or None, default=None
        "gibbs" replaces the most likely sources by the majority over samples from the posterior,
        for up to 12 sources; this is better than None under very strong noise (`epsilon_` above
        0.7).
    n_jobs : int, default=None
        Number of starts that run in parallel, through joblib.
    random_state : int, RandomState instance or None, default=None
        Controls the starts, and the samples of `refine="gibbs"`. Pass an int for reproducible
        results.

    Attributes
    ----------
    components_ : ndarray of bool of shape (n_clusters, n_features)
        Sources, one per row, in descending order of the number of objects that have them.
    emission_proba_ : ndarray of shape (n_clusters, n_features)
        Probability that a source emits 1; 0 or 1 after `refit`.
    source_proba_ : ndarray of shape (n_clusters,)
        Prior probability that an object has each source.
    assignments_ : ndarray of bool of shape (n_samples, n_clusters)
        Most probable sources of each training object; the smallest of equally likely sets. Not
        stored for a Dask array; use `predict`.
    epsilon_ : float
        Estimated fraction of noisy bits; with `noise="flip"`, the fraction of inverted bits.
    noise_rate_ : float
        Estimated probability that a noisy bit is 1.
    log_likelihood_ : float
        Log-likelihood of the training data with the best set for each object, plus the log prior
        probability of these sets if it is learned.
    start_likelihoods_ : ndarray of shape (n_starts,)
        Log-likelihood of the training data for each start, averaged over the prior of the sets, or
        with the best set if ``noise=None``. There are fewer than `n_init` values if a callback
        stopped the fit.
    assignment_sets_ : ndarray of bool of shape (n_sets, n_clusters)
        Assignment sets that were considered.
    n_iter_ : int
        Number of rounds of the best start: rounds of EM (none for a greedy start with a refit)
        plus rounds of the refit, without the rounds of exchanges.
    doubt_ : str or None
        Reason to doubt the result, with a remedy: starts that disagree, or bits of the sources
        that the rows do not decide. None if there is none. `partial_fit` does not change it after
        the first call.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if `X` has names that are all strings.

    See Also
    --------
    sklearn.decomposition.NMF : Sums of non-negative components; rounding them is not optimal for
        Boolean data.
    sklearn.cluster.KMeans : One cluster per object.
    skmoderndata.metrics.generalization_error : Criterion for the number of clusters.

    Notes
    -----
    A round of EM computes two products of the data with a table over assignment sets, that is
    ``4 n p S`` operations for S sets; it needs memory for blocks of rows and for tables of p times
    S numbers. With `refit`, the starts and exchanges use at most 5000 rows, drawn at random; the
    last refit uses all rows.

    The problem is not convex, so there is no certificate of global optimality; at fixed
    temperature the free energy never increases. If there are three or more starts and the
    reconstructions by the two likeliest differ in more than 5 % of the bits, `fit` issues a
    `skmoderndata.exceptions.DoubtfulResultWarning`. It also does so if, given the assignments and
    the noise, at least one bit of the sources is expected to be wrong.

    If the noise is low, annealing alone merges pairs of sources: on 20 tables of 300 x 40 bits,
    with 5 % wrong bits and six sources, it finds all sources in 7 tables, and the three starts
    together find all sources in all 20. Starts are compared by likelihoods averaged over sets,
    because under strong noise the largest likelihood of best sets often belongs to sources that
    fit noise.

    If a source is contained in the union of two others, the data do not show whether it is present
    together with them, and the smaller set is chosen. NaN marks unobserved bits in all methods; an
    object without observed bits has the empty set. All-zero rows have the empty set, and all-zero
    columns belong to no source. The prior is learned after the search only, because at high
    temperatures this would make sources collapse onto one another.

    The emission and noise updates are closed-form EM steps with the noise switch and the single
    emissions as hidden variables; the papers solve the stationarity conditions numerically.

    References
    ----------
    .. [1] Streich, Frank, Basin and Buhmann, Multi-assignment clustering for Boolean data,
       ICML 2009, pp. 969-976.
    .. [2] Frank, Streich, Basin and Buhmann, Multi-assignment clustering for Boolean data,
       Journal of Machine Learning Research 13, 2012, pp. 459-489.
    .. [3] Miettinen, Mielikainen, Gionis, Das and Mannila, The discrete basis problem, IEEE
       Transactions on Knowledge and Data Engineering 20(10), 2008, pp. 1348-1362.

    Examples
    --------
    >>> import numpy as np
    >>> from skmoderndata.cluster import MultiAssignmentClustering
    >>> X = np.array([[1, 1, 0, 0, 0], [0, 0, 0, 1, 1], [1, 1, 0, 1, 1]] * 10)
    >>> model = MultiAssignmentClustering(n_clusters=2, random_state=0).fit(X)
    >>> model.components_.astype(int)
    array([[1, 1, 0, 0, 0],
           [0, 0, 0, 1, 1]])
    >>> model.predict([[1, 1, 0, 1, 1]])
    array([[ True,  True]])
    """

    _card = MethodCard(
        family="Boolean data",
        cite=("streich2009multi", "frank2012multi", "miettinen2008discrete"),
        cost="T n p S, for S assignment sets",
        fits_blocks=True,
    )
    _ENTRY_SCORE = "boolean_error"  # score that EntrySearchCV uses by default
    _parameter_constraints = {
        "n_clusters": [AT_LEAST_ONE],
        "max_assignments": [AT_LEAST_ONE, None],
        "allow_empty": ["boolean"],
        "noise": [StrOptions({"mixture", "flip"}), None],
        "prior": [StrOptions({"learned", "uniform"})],
        "algorithm": [StrOptions({"auto", "all", "pruned"})],
        "threshold": [Real, None],
        "n_init": [AT_LEAST_ONE],
        "start_temperature": [POSITIVE, None],
        "end_temperature": [POSITIVE],
        "cooling": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [AT_LEAST_ONE],
        "tol": [NON_NEGATIVE],
        "refit": ["boolean"],
        "refine": [StrOptions({"gibbs"}), None],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    _factors = "sources"  # name of the factors in error messages
    _of_rows = {"assignments_": "predict"}
    _log_odds = None  # models that were stored without a prior have a uniform one

    @parameters_are_named
    def __init__(
        self,
        n_clusters=3,
        *,
        max_assignments=None,
        allow_empty=True,
        noise="mixture",
        prior="learned",
        algorithm="auto",
        threshold=0.0,
        n_init=3,
        start_temperature=None,
        end_temperature=0.1,
        cooling=0.9,
        max_iter=5,
        tol=1e-5,
        refit=True,
        refine=None,
        n_jobs=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.max_assignments = max_assignments
        self.allow_empty = allow_empty
        self.noise = noise
        self.prior = prior
        self.algorithm = algorithm
        self.threshold = threshold
        self.n_init = n_init
        self.start_temperature = start_temperature
        self.end_temperature = end_temperature
        self.cooling = cooling
        self.max_iter = max_iter
        self.tol = tol
        self.refit = refit
        self.refine = refine
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_context()
    def fit(self, X, y=None):
        """Estimate sources, assignments and noise.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask array of shape (n_samples, n_features)
            Boolean data, or numbers that `threshold` converts to bits. In a dense array NaN marks
            unobserved bits. Dask arrays and tables on disk are read once, block by block, and kept
            as packed bits; `refine="gibbs"` does not accept them.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : MultiAssignmentClustering
            The fitted estimator.
        """
        data = self._check(X, reset=True)
        blocks = isinstance(data, BitBlocks)
        if blocks and self.refine == "gibbs":
            raise ValueError(
                "refine='gibbs' needs all rows in memory and does not accept a table in blocks: "
                "set refine=None."
            )
        rng = check_random_state(self.random_state)
        seeds = rng.randint(MAX_INT32, size=self.n_init)
        sample = rows_of_starts(data, rng)
        sets, settings = self._search_settings(data)

        kinds = kinds_of_starts(self.n_init)
        results, _ = run_starts(
            self,
            X,
            y,
            partial(one_start, data, sample, sets, settings),
            list(zip(kinds, seeds, strict=True)),
            task_name="pass",
            max_passes=None,  # unknown: the refits end when the likelihood does not improve
            n_jobs=self.n_jobs,
            # several threads can submit their passes to Dask
            prefer="threads" if blocks else None,
        )

        doubt_of_starts = None
        if len(results) >= MIN_STARTS and data.shape[0] >= MIN_ROWS:
            differing = disagreement(sample, results)
            doubt_of_starts = self._doubt_of_starts(differing, len(results))

        # keep the start with the largest likelihood
        best = max(results, key=lambda result: result.log_likelihood)
        model = best.model
        statistics = best.statistics
        if self.refine == "gibbs":
            model, statistics = gibbs(data, model, noise=self.noise, rng=rng)
            if settings.learns_prior:
                model = soft_rates(data, model, noise=self.noise, learns_prior=True)
                statistics = expectation(data, model, 0)

        self.start_likelihoods_ = np.array([result.log_likelihood for result in results])
        self._rates, self._rows = _soft_counts(data, model)
        self._stream = RowStream.of(sample, data.shape[0], rng)
        doubt_of_bits = self._doubt_of_bits(model, statistics)
        model = with_empty_sources(model, self.n_clusters)

        self._keep(model, statistics, -statistics.free_energy, best.n_iter)
        record_doubt(self, doubt_of_starts, doubt_of_bits)
        if not blocks:
            self.assignments_ = self._assign(data)[0]
        elif not in_blocks(X, on_disk=False):
            self.assignments_ = self.predict(X)
        return self

    @fit_context()
    def partial_fit(self, X, y=None):
        """Update sources and noise with new rows.

        The first call is the same as `fit`. Later calls assign the new rows with the current
        model, add their counts per feature and assignment set to the stored counts, and choose the
        optimal Boolean sources for the sum. The noise is estimated from counts that average over
        all sets of each row under the model of the call that contained the row.

        A uniform sample of at most 1000 rows is stored, in packed bits. Whenever the number of
        rows has doubled, all starts are repeated on this sample, so a small first batch does not
        determine the result; while a source is unused, each call tries to exchange it. Likelier
        sources replace the current sources, with counts of the sample scaled to all rows. Other
        rows are not reassigned, so the result depends on the order of the rows; `assignments_`
        belongs to the last call.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            New rows.
        y : None
            Not used, present by convention.

        Returns
        -------
        self : MultiAssignmentClustering
            The updated estimator.
        """
        if not hasattr(self, "components_"):
            return self.fit(X)
        data = self._check(X, reset=False)
        stream = self._stream.add(data)
        model = self._model()

        # add the counts of the new rows to the counts of earlier batches
        new = expectation(data, model, 0)
        ones = self._ones + new.ones
        zeros = self._zeros + new.zeros
        free_energy = self._free_energy + new.free_energy
        total = Statistics(ones, zeros, free_energy, rows=self._best_rows + new.rows)
        rates, rows = _soft_counts(data, model)
        rates = rates + self._rates
        rows = rows + self._rows

        # replace the sources if other sources have a larger likelihood on the stored rows
        doubled = stream.n_seen >= 2 * stream.n_searched
        if doubled or not _all_used(model, total):
            better = self._search_again(stream, model, doubled)
            if better is not None:
                model, total, rates, rows = better
        if doubled:
            stream = stream._replace(n_searched=stream.n_seen)

        # update the sources, then the noise; use soft counts unless the counts of some rate sum
        # to less than 1
        U = improve_sources(model, total)
        counts = rates
        if rates.sum(axis=1).min() < 1:
            counts = union_counts(model.sets, U, total)
        q1, q0 = error_rates(counts)

        log_odds = learned_log_odds(model, rows)
        model = boolean_model(model.sets, U, q1, q0, noise=self.noise)
        model = model._replace(log_odds=log_odds)
        likelihood = table_log_likelihood(model, total)
        self._rates = rates
        self._rows = rows
        self._stream = stream
        total = total._replace(free_energy=-likelihood)
        self._keep(model, total, likelihood, self.n_iter_ + 1)

        self.assignments_ = self._assign(data)[0]
        return self

    @by_rows
    def predict_proba(self, X):
        """Compute the probability of each source, given the bits of a row and the prior.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows; NaN marks unobserved bits.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_clusters)
            Probability that a row has each source; the rows need not sum to 1.
        """
        check_is_fitted(self)
        data = self._check(X, reset=False)
        model = self._model()
        proba = np.empty((data.X.shape[0], len(model.beta)))
        for rows, _, _, log_p in likelihood_blocks(data, model):
            log_sum = logsumexp(log_p, axis=1, keepdims=True)
            posterior = np.exp(log_p - log_sum)
            proba[rows] = np.clip(posterior @ model.sets, 0, 1)
        return proba

    @in_memory
    def score(self, X, y=None):
        """Compute the mean log-likelihood of the rows, each with its best set of sources.

        The log prior probability of these sets is added if it is learned.

        The score tends to increase with `n_clusters`, even on new rows, because every source adds
        a choice for each row; `skmoderndata.metrics.generalization_error` is a better criterion
        for the number of clusters.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : None
            Not used, present by convention.

        Returns
        -------
        score : float
            Number that is at most 0; higher is better.
        """
        check_is_fitted(self)
        data = self._check(X, reset=False)
        _, log_likelihood = self._assign(data)
        return float(log_likelihood / data.X.shape[0])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _memberships(self, X):
        data = self._check(X, reset=False)
        memberships, _ = self._assign(data)
        return memberships

    def _check(self, X, *, reset):
        if in_blocks(X):
            return self._bits_in_blocks(X, allow_nan=True)
        bits, missing = validate_boolean(
            self, X, threshold=self.threshold, reset=reset, allow_nan=True
        )
        observed = None if missing is None else ~missing
        return Data(bits, observed)

    def _search_settings(self, data, *, warn=True):
        """Return the initial assignment sets and the settings of the starts."""
        k = self._needed_sources(data, warn=warn)
        n_features = data.shape[1]
        sets, pruned = self._choose_sets(k, n_features)
        settings = Settings(
            k,
            self._max_assignments(),
            self.allow_empty,
            self.noise,
            self._schedule(n_features),
            self.max_iter,
            self.tol,
            self.refit,
            pruned,
            learns_prior=self.prior == "learned",
        )
        return sets, settings

    def _search_again(self, stream, model, all_starts):
        """Search for sources that are likelier on the stored rows of a stream.

        Returns the model, the counts of the stored rows scaled to all rows seen, and the counts
        for its error rates and its prior. Returns None if the current sources, refitted to the
        same rows, are as likely as the best sources, and their counts come from more rows than are
        stored.
        """
        rows = stream.rows(self.n_features_in_)
        rng = stream.rng()
        sets, settings = self._search_settings(rows, warn=False)
        settings = settings._replace(refit=True)  # the sources of a stream are Boolean

        # 1. Refit the current sources, without and with exchanges.
        current = refined(rows, rows, model, settings, rng, exchange=False)
        rivals = [refined(rows, rows, model, settings, rng)]

        # 2. Run all starts if requested.
        for kind in kinds_of_starts(self.n_init) if all_starts else ():
            seed = kind, rng.randint(MAX_INT32)
            rivals.append(one_start(rows, rows, sets, settings, seed=seed))

        # 3. Choose the sources with the largest likelihood.
        best = max(rivals, key=lambda start: start.log_likelihood)
        rise = best.log_likelihood - current.log_likelihood
        scale = stream.n_seen / rows.shape[0]
        if rise <= LEAST_RISE * abs(current.log_likelihood) and scale > 1:
            return None
        counts = best.statistics
        ones = scale * counts.ones
        zeros = scale * counts.zeros
        free_energy = scale * counts.free_energy
        total = Statistics(ones, zeros, free_energy, rows=scale * counts.rows)
        rates, n_rows = (scale * count for count in _soft_counts(rows, best.model))
        model = with_empty_sources(best.model, self.n_clusters)
        return model, total, rates, n_rows

    def _doubt_of_starts(self, differing, n_starts):
        """Return a doubt if the likeliest starts reconstruct the bits differently."""
        if differing <= MAX_DISAGREEMENT:
            return None
        return (
            f"The two likeliest of {n_starts} starts of {type(self).__name__} reconstruct "
            f"{100 * differing:.0f} % of the bits differently, so at least one of them has "
            "poor sources: increase n_init, change n_clusters, or use more rows."
        )

    def _doubt_of_bits(self, model, statistics):
        """Return a doubt if at least one bit of the sources in use is probably wrong."""
        in_use = (model.beta < 0.5).any(axis=1)
        if rates_of(model)[0] <= rates_of(model)[1] or not in_use.any():
            return None
        expected = undecided_bits(model, statistics)[in_use].sum()
        if expected < 1:
            return None
        return (
            f"Of the {model.beta[in_use].size} bits of the sources, about {expected:.0f} are "
            "wrong, because too few rows, for this noise, have a source without the others: use "
            "more rows, or decrease n_clusters."
        )

    def _max_assignments(self):
        if self.max_assignments is None:
            return self.n_clusters if self.n_clusters <= 8 else 3
        return min(self.max_assignments, self.n_clusters)

    def _needed_sources(self, data, *, warn):
        """Return n_clusters, or the number of distinct rows if the search is pruned."""
        if self.refine == "gibbs" and 2**self.n_clusters > MAX_PATTERNS:
            raise ValueError("refine='gibbs' requires n_clusters up to 12: set refine=None.")
        if self._n_sets(self.n_clusters) <= MAX_ACTIVE or not self._pruned(self.n_clusters):
            return self.n_clusters

        # count the distinct rows, first among a few rows, which may already include as many
        # distinct rows as sources
        n_rows = data.shape[0]
        blocks = isinstance(data, BitBlocks)
        if blocks:
            n_rows = min(n_rows, MOST_ROWS)
        head = 4 * self.n_clusters
        for n in (head, n_rows) if head < n_rows else (n_rows,):
            first = data.take(np.arange(n) if blocks else slice(n))
            words = pack_bits(first.X)
            if first.observed is not None:
                words = np.hstack([words, pack_rows(first.observed)])
            distinct = distinct_rows(words)[0]
            n_distinct = len(distinct)
            if n_distinct >= self.n_clusters:
                return self.n_clusters

        if warn:
            warn_user(
                f"n_clusters={self.n_clusters} sources for {n_distinct} distinct rows: the "
                "surplus sources stay empty. Lower n_clusters."
            )
        return n_distinct

    def _pruned(self, k):
        """Return whether the search over assignment sets of k sources is pruned."""
        if self.algorithm != "auto":
            return self.algorithm == "pruned"
        return self._n_sets(k) > MAX_ACTIVE

    def _n_sets(self, k):
        largest = min(self._max_assignments(), k)
        return count_assignment_sets(k, largest, allow_empty=self.allow_empty)

    def _choose_sets(self, k, n_features):
        """Return the initial assignment sets, and whether the search is pruned."""
        limit = min(self._max_assignments(), k)
        n_sets = self._n_sets(k)
        pruned = self._pruned(k)

        if pruned and k >= MAX_ACTIVE:
            raise ValueError(
                f"n_clusters={self.n_clusters} is too large: a pruned search considers at most "
                f"{MAX_ACTIVE} assignment sets, which is not enough for the sources. Lower "
                "n_clusters."
            )

        # a pruned search begins with the largest set size that gives at most MAX_ACTIVE sets
        largest = limit
        n_first = n_sets
        while pruned and n_first > MAX_ACTIVE and largest > 1:
            largest -= 1
            n_first = count_assignment_sets(k, largest, allow_empty=self.allow_empty)

        needed = TABLES * 8 * n_first * n_features
        if needed > working_memory():
            remedy = "lower n_clusters" if pruned else "set algorithm='pruned'"
            raise ValueError(
                f"n_clusters={self.n_clusters} with max_assignments={self._max_assignments()} "
                f"requires {n_first} assignment sets and tables of {needed / MEBIBYTE:.0f} MiB "
                f"for {n_features} features, above scikit-learn's working_memory: lower "
                f"max_assignments, {remedy}, or increase working_memory with sklearn.set_config."
            )

        return assignment_sets(k, largest, allow_empty=self.allow_empty), pruned

    def _schedule(self, n_features):
        """Return the temperatures from the first down to, and including, the last."""
        first = max(self.start_temperature or n_features / 8, self.end_temperature)
        fall = np.log(self.end_temperature / first)
        n_levels = fall / np.log(self.cooling)
        n_steps = int(np.floor(n_levels + RESULT_ROUNDING))
        temperatures = first * self.cooling ** np.arange(n_steps)
        return [*temperatures, self.end_temperature]

    def _keep(self, model, statistics, log_likelihood, n_iter):
        """Store the model, with its sources in descending order of use."""
        use = (statistics.ones + statistics.zeros).sum(axis=0) @ model.sets
        is_silent = model.beta > 0.5
        order = np.lexsort((*is_silent.T[::-1], -use))
        self.emission_proba_ = 1 - model.beta[order]
        self.components_ = self.emission_proba_ > 0.5
        self.assignment_sets_ = model.sets[:, order]
        self._log_odds = None if model.log_odds is None else model.log_odds[order]
        self.epsilon_ = model.eps / 2 if self.noise == "flip" else model.eps
        self.noise_rate_ = model.r
        self.log_likelihood_ = float(log_likelihood)
        self.n_iter_ = n_iter
        self._ones = statistics.ones
        self._zeros = statistics.zeros
        self._best_rows = statistics.rows
        self._free_energy = statistics.free_energy
        self.source_proba_ = set_probabilities(self._model()) @ self.assignment_sets_

    def _model(self):
        eps = 2 * self.epsilon_ if self.noise == "flip" else self.epsilon_
        beta = 1 - self.emission_proba_
        return Model(self.assignment_sets_, beta, eps, self.noise_rate_, self._log_odds)

    def _assign(self, data):
        """Return the best set of each row, and the sum of the log-likelihoods of these sets."""
        model = self._model()
        sizes = model.sets.sum(axis=1)
        smallest_first = np.argsort(sizes, kind="stable")
        model = model._replace(sets=model.sets[smallest_first])
        best = np.empty(data.X.shape[0], dtype=np.intp)
        total = 0.0
        for rows, _, _, log_p in likelihood_blocks(data, model):
            peak = log_p.max(axis=1, keepdims=True)
            # the likelihoods of sets with the same union differ only by rounding errors: use the
            # first set, which is the smallest
            best[rows] = (log_p >= peak - 1e-4).argmax(axis=1)
            total += float(peak.sum())
        return model.sets[best], total


def _all_used(model, statistics):
    """Return whether each source has features and is used by a row."""
    use = (statistics.ones + statistics.zeros).sum(axis=0) @ model.sets
    return use.min() > 0 and (model.beta < 0.5).any(axis=1).all()


def _soft_counts(data, model):
    """Count ones and zeros for the noise estimate, and the rows of each set, over all sets."""
    statistics = expectation(data, model, 1.0)
    U = model.beta < 0.5
    return union_counts(model.sets, U, statistics), statistics.rows

"""Refits of an estimator: seeds, progress, bootstrap samples, and their match with one fit."""

import sys
import warnings
from contextlib import contextmanager
from functools import partial
from numbers import Integral, Real
from time import perf_counter
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed

from skmoderndata._estimator.compat import warn_user
from skmoderndata._solvers.common.linalg import unit_rows
from skmoderndata._solvers.common.quantities import MAX_INT32
from skmoderndata._solvers.common.tolerances import RANK_TOL

# Number of seconds in a minute, and number of seconds in an hour.
MINUTE = 60
HOUR = MINUTE * MINUTE
# Maximum number of lines of progress that a bootstrap prints.
LINES = 20


def works_on_pairs(estimator):
    """Whether X is a square matrix over pairs; some clusterers that need one lack the tag."""
    if get_tags(estimator).input_tags.pairwise:
        return True
    values = estimator.get_params(deep=False).values()
    return any(isinstance(value, str) and value == "precomputed" for value in values)


class Seeded:
    """Source of clones of an estimator, with seeds for all parts that have no seed."""

    def __init__(self, estimator, **parameters):
        self.estimator = clone(estimator).set_params(**parameters)
        self.pairwise = works_on_pairs(self.estimator)
        self.unseeded = [
            name
            for name, value in sorted(
                self.estimator.get_params().items(), key=lambda pair: pair[0]
            )
            if value is None and name.rpartition("__")[2] == "random_state"
        ]

    def draw(self, rng):
        seeds = {name: int(rng.randint(MAX_INT32)) for name in self.unseeded}
        return clone(self.estimator).set_params(**seeds)


class TimeLeft:
    """Report on standard error how many candidates are done, and estimate the time left.

    A terminal shows one line, which is overwritten.
    """

    def __init__(self, owner, total, *, verbose, unit="candidates"):
        self.owner = owner
        self.total = total
        self.verbose = verbose
        self.unit = unit
        self.n_done = 0
        self.start = perf_counter()

    def report(self, n_new=1):
        """Count candidates and, if `verbose`, write the line."""
        self.n_done += n_new
        if not self.verbose:
            return
        elapsed = perf_counter() - self.start
        remaining = self.total - self.n_done
        line = (
            f"{self.owner}: {self.n_done} of {self.total} {self.unit} in {_duration(elapsed)}"
        )
        if remaining:
            line += f", about {_duration(elapsed / self.n_done * remaining)} left"

        terminal = sys.stderr.isatty() and remaining
        sys.stderr.write(f"\r{line:<79}" if sys.stderr.isatty() else line)
        sys.stderr.write("" if terminal else "\n")
        sys.stderr.flush()


def _duration(seconds):
    """Format a duration for people: `0.4 s`, `35 s`, `12 min`, `3.5 h`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / MINUTE:.0f} min" if seconds < 2 * HOUR else f"{seconds / HOUR:.1f} h"


# ---- bootstrap samples ------------------------------------------------------------------------


class Refit(NamedTuple):
    """Vectors of one bootstrap sample, matched with the k vectors of the fit of all rows.

    `values` (k, p) are the vectors, NaN for those that the sample lost. `cosines` (k,) are the
    cosines with the vectors of the fit, and `subspace` (k,) the cosines of the vectors of the fit
    with the span of all vectors of the sample; lost vectors have the cosine 0.
    """

    values: np.ndarray
    cosines: np.ndarray
    subspace: np.ndarray


def check_bootstrap(n_bootstraps, level, *, level_name):
    """Raise ValueError unless there are at least 2 samples and the level is a probability."""
    if not isinstance(n_bootstraps, Integral) or n_bootstraps < 2:
        raise ValueError(f"n_bootstraps={n_bootstraps!r} should be an integer of at least 2.")
    if not isinstance(level, Real) or not 0 < level < 1:
        raise ValueError(f"{level_name}={level!r} should be between 0 and 1.")


def bootstrap(one_refit, n_rows, seeds, *, owner, block_length=1, n_jobs=None, verbose=0):
    """Call `one_refit(rows, blocks)` for each seed, with rows drawn with replacement.

    Parameters
    ----------
    one_refit : callable
        Function that fits the rows `rows`; `blocks` numbers the block of each row.
    n_rows : int
        Number of rows to draw from, and to draw.
    seeds : ndarray of shape (n_bootstraps,)
        Seed of each sample.
    owner : str
        Name of the caller, for progress and warnings.
    block_length : int, default=1
        Number of consecutive rows that are drawn together.
    n_jobs : int, default=None
        Number of samples fitted in parallel with joblib.
    verbose : int, default=0
        If positive, report the time left.

    Returns
    -------
    refits : list
        Return values of `one_refit`, in the order of the seeds.
    """
    # report after each batch; use at most LINES batches, each large enough to keep all jobs busy
    batch = max(effective_n_jobs(n_jobs), -(-len(seeds) // LINES))
    time_left = TimeLeft(owner, len(seeds), verbose=verbose, unit="refits")
    run = delayed(partial(_on_drawn_rows, one_refit, n_rows, block_length))
    refits = []
    with _warnings_counted(owner), Parallel(n_jobs=n_jobs) as parallel:
        for start in range(0, len(seeds), batch):
            refits += parallel(run(seed) for seed in seeds[start : start + batch])
            time_left.report(len(seeds[start : start + batch]))
    return refits


def _on_drawn_rows(one_refit, n_rows, block_length, seed):
    rows, blocks = draw_rows(n_rows, block_length, np.random.RandomState(seed))
    return one_refit(rows, blocks)


def draw_rows(n_rows, block_length, rng):
    """Draw blocks of consecutive rows with replacement; return the rows and their blocks.

    The last block is cut so that there are as many rows as before.
    """
    n_blocks = -(-n_rows // block_length)
    first = rng.randint(n_rows - block_length + 1, size=n_blocks)
    rows = (first[:, None] + np.arange(block_length)).ravel()[:n_rows]
    return rows, np.arange(n_rows) // block_length


def quantiles(values, level, *, method):
    """Return the ends of the interval that holds the fraction `level` of the refits, by entry.

    The method "linear" describes the refits. "weibull" is wider: another refit would lie between
    its ends with probability `level`, whatever the number of refits.
    """
    ends = ((1 - level) / 2, (1 + level) / 2)
    with warnings.catch_warnings():
        # entries that no refit contains remain NaN, without a warning
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanquantile(values, ends, axis=0, method=method)


@contextmanager
def _warnings_counted(owner):
    """Replace the warnings of all refits with one for each category, with their number."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for category in dict.fromkeys(warning.category for warning in caught):
        messages = [w.message for w in caught if w.category is category]
        warn_user(
            f"{owner}: number of warnings in the refits: {len(messages)}. The first is: "
            f"{messages[0]}",
            category,
        )


# ---- match with the fit of all rows -----------------------------------------------------------


def match(similarity, *, free_sign=True):
    """Match rows with columns one to one, with the largest sum of (absolute) similarities.

    Returns
    -------
    index : ndarray of shape (n_rows,)
        Column for each row, or -1 if no column is left.
    signs : ndarray of shape (n_rows,)
        Sign of the similarity of each match; 1 unless `free_sign`.
    """
    strength = np.abs(similarity) if free_sign else similarity
    rows, columns = linear_sum_assignment(strength, maximize=True)
    index = np.full(len(similarity), -1)
    signs = np.ones(len(similarity))
    index[rows] = columns
    if free_sign:
        signs[rows] = np.where(similarity[rows, columns] < 0, -1.0, 1.0)
    return index, signs


def matched(reference, vectors, *, free_sign=True):
    """Match vectors with the vectors of the fit by their cosines; return a `Refit`."""
    unit = unit_rows(vectors)
    similarity = unit_rows(reference) @ unit.T
    index, signs = match(similarity, free_sign=free_sign)

    # a zero vector matches nothing
    present = np.flatnonzero((index >= 0) & unit.any(axis=1)[index])
    values = np.full(reference.shape, np.nan)
    values[present] = vectors[index[present]] * signs[present, None]
    cosines = np.zeros(len(reference))
    cosines[present] = np.maximum(similarity[present, index[present]] * signs[present], 0.0)
    return Refit(values, cosines, subspace_cosines(reference, vectors))


def subspace_cosines(reference, vectors):
    """Return the cosine of the angle between each reference vector and the span of `vectors`."""
    _, s, Vt = np.linalg.svd(unit_rows(vectors), full_matrices=False)
    basis = Vt[s > RANK_TOL * s.max(initial=0.0)]
    return np.minimum(np.linalg.norm(unit_rows(reference) @ basis.T, axis=1), 1.0)


# ---- loadings of two views --------------------------------------------------------------------


class LoadingsRefits(NamedTuple):
    """Loadings (k, p + q) of the columns of both views, and their bootstrap refits."""

    loadings: np.ndarray
    refits: list


def bootstrap_loadings(estimator, X, Y, seeds, **settings):
    """Fit two views and bootstrap samples of their rows; match the pairs by their scores.

    Parameters
    ----------
    estimator : estimator with ``fit(X, Y)`` and ``transform(X, Y)``
        Analysis of two views. The penalty chosen for all rows is used in every refit.
    X, Y : ndarray of shape (n_samples, n_features) and (n_samples, n_targets)
        The views.
    seeds : ndarray of shape (n_bootstraps,)
        Seed of each sample.
    **settings
        Keyword arguments of `bootstrap`.

    Returns
    -------
    result : LoadingsRefits
        Correlations of the columns with the scores of their view. The cosines of the refits are
        correlations of the scores on all rows, averaged over both views.
    """
    # Fit all rows; the refits use the penalty that this fit has chosen.
    fitted = clone(estimator).fit(X, Y)
    template = clone(estimator)
    if hasattr(fitted, "alpha_"):
        template.set_params(alpha=list(fitted.alpha_))
    if hasattr(fitted, "l1_bound_"):
        template.set_params(l1_bound=list(fitted.l1_bound_))

    scores = fitted.transform(X, Y)
    refit = partial(_refit_loadings, template, X, Y, scores)
    refits = bootstrap(refit, len(X), seeds, **settings)
    return LoadingsRefits(_loadings((X, Y), scores), refits)


def _refit_loadings(template, X, Y, scores, rows, blocks):
    """Compute the loadings of both views in a bootstrap sample, matched with the fitted pairs."""
    model = clone(template).fit(X[rows], Y[rows])
    refitted = model.transform(X, Y)
    similarity = sum(correlations(A, B) for A, B in zip(scores, refitted, strict=True))
    index, signs = match(similarity)

    # compute the loadings in the bootstrap sample, with NaN for pairs without a match
    present = np.flatnonzero(index >= 0)
    loadings = _loadings((X[rows], Y[rows]), [T[rows] for T in refitted])
    values = np.full((len(index), loadings.shape[1]), np.nan)
    values[present] = loadings[index[present]] * signs[present, None]

    # compare the scores of the refit with the scores of the fit, both on all rows
    cosines = np.zeros(len(index))
    cosines[present] = np.abs(similarity[present, index[present]]) / len(scores)
    spans = [
        subspace_cosines(unit_columns(A).T, unit_columns(B).T)
        for A, B in zip(scores, refitted, strict=True)
    ]
    return Refit(values, cosines, np.mean(spans, axis=0))


def _loadings(views, scores):
    """Correlate the columns of each view with its scores; one row for each pair."""
    return np.hstack([correlations(V, T).T for V, T in zip(views, scores, strict=True)])


def correlations(A, B):
    """Correlate the columns of A with the columns of B; 0 if a column is constant."""
    return unit_columns(A).T @ unit_columns(B)


def unit_columns(M):
    """Centre columns and scale them to unit norm; constant columns become zero."""
    M = np.asarray(M, dtype=np.float64)
    centred = M - M.mean(axis=0)
    centred[:, np.ptp(M, axis=0) == 0] = 0.0
    return unit_rows(centred.T).T

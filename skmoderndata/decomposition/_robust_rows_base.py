"""Readers of the tables of robust principal component analysis, in memory and in blocks."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.base import clone
from sklearn.utils import check_random_state

from skmoderndata._estimator.blocks_input import check_entries
from skmoderndata._solvers.common.tolerances import INNER_SHARE
from skmoderndata._solvers.lowrank.false_cells import CellTest, judge_cells
from skmoderndata._solvers.lowrank.huge_cells import limits_of, put_back
from skmoderndata._solvers.lowrank.outlying_rows import judge_rows
from skmoderndata._solvers.lowrank.pursuit_blocks import (
    Loss,
    Units,
    pursue_blocks,
    sizes_of_blocks,
    terms_of_rows,
)
from skmoderndata._solvers.lowrank.residual_shape import residual_shape
from skmoderndata._solvers.lowrank.table import TableTerms, decompose_table
from skmoderndata._solvers.lowrank.table_noise import noise_width
from skmoderndata._solvers.lowrank.table_units import (
    has_far_offsets,
    has_unequal_spread,
    robust_spread,
)
from skmoderndata.decomposition._robust_base import (
    Decomposition,
    column_medians,
    terms_in_units,
)

# Maximum number of rows of a table in blocks from which the noise is estimated, and with it
# whether the entries are exact.
SAMPLE = 5_000
# Largest share of outlying rows with rows="auto"; a larger group counts as structure.
ROW_SHARE = 0.25


class Fitted(NamedTuple):
    """Result of a fit."""

    terms: TableTerms
    # Means of the columns that were subtracted.
    mean: np.ndarray
    # Limits within which a cell of the standardised table must be.
    limits: tuple
    # Test by which wrong cells are detected.
    cell_test: CellTest
    # Outlying rows; None if there was no search for them.
    verdict: Any = None
    # Shape of the residuals; None if there is no noise or no refit.
    shape: Any = None


class RowsInMemory:
    """Rows of a table in memory.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Checked table; NaN marks missing entries.
    weights : ndarray or None
        Weights of the entries.
    names : ndarray or None
        Names of the rows.
    """

    are_stored = True

    def __init__(self, X, weights, names):
        self.weights = weights
        self.names = names
        self.dtype = X.dtype
        self.shape = X.shape
        self.data = X.astype(np.float64)
        self.n_observed = int(np.count_nonzero(~np.isnan(X)))

    def max_passes(self, model):
        """Return the maximum number of passes; None with noise, for several problems."""
        return model.max_iter if model.algorithm == "pcp" else None

    def standardise(self, model):
        """Subtract means, divide by scales, and clip cells that can only be errors."""
        data = self.data
        centers = has_far_offsets(data) if model.center == "auto" else model.center
        self.mean = column_medians(data) if centers else np.zeros(data.shape[1])
        scales = has_unequal_spread(data) if model.scale == "auto" else model.scale
        in_given_units = model.noise_std is not None and model.noise_std > 0
        self.spread = robust_spread(data) if scales and not in_given_units else None

        data -= self.mean
        if self.spread is not None:
            data /= self.spread
        self.limits = limits_of(data)
        self.table = data
        self.has_huge_cells = ((data < self.limits[0]) | (data > self.limits[1])).any()
        if self.has_huge_cells:
            self.data = np.clip(data, *self.limits)

    def decompose(self, model, progress):
        """Decompose the table; with noise, judge its rows and its cells."""
        rng = check_random_state(0 if model.random_state is None else model.random_state)
        settings = model._settings(self.n_observed, self.shape)
        terms = decompose_table(
            self.data, settings, weights=self.weights, progress=progress, rng=rng
        )
        verdict = None
        is_refit = terms.noise_std > 0 and model.polish is not False
        if model.rows is not False and is_refit and not progress.stopped:
            verdict = self._judge_rows(model, terms, settings, progress, rng)
            terms = verdict.terms
        terms, cell_test = self._judge_cells(model, terms, verdict)
        shape = self._shape(terms, verdict)

        # return to the units of the table
        if self.has_huge_cells:
            beyond = np.where(np.isnan(self.table), 0.0, self.table - self.data)
            terms = put_back(terms, beyond)
        limits = self.limits
        if self.spread is not None:
            terms, verdict = terms_in_units(terms, verdict, self.spread)
            limits = (limits[0] * self.spread, limits[1] * self.spread)
        return Fitted(terms, self.mean, limits, cell_test, verdict, shape)

    def _judge_rows(self, model, first, settings, progress, rng):
        """Find outlying rows, and fit the others."""

        def decompose(rows):
            part = self.data[rows]
            lam = model._slope(np.count_nonzero(~np.isnan(part)), part.shape)
            return decompose_table(
                part,
                settings._replace(lam=lam, algorithm="stable"),
                weights=None if self.weights is None else self.weights[rows],
                progress=progress,
                rng=rng,
            )

        return judge_rows(
            self.data,
            first,
            decompose,
            share=ROW_SHARE if model.rows in ("auto", True) else model.rows,
            threshold=settings.threshold,
            weights=self.weights,
            rng=rng,
        )

    def _judge_cells(self, model, terms, verdict):
        """Choose the wrong cells by their false discovery rate if requested; return the test."""
        if model.outlier_threshold != "fdr" or not terms.noise_std > 0:
            return terms, CellTest(np.inf, model._fit_threshold)
        counted = np.ones(len(self.data), bool) if verdict is None else ~verdict.outlying
        return judge_cells(
            self.data,
            terms,
            rate=model.fdr,
            counted=counted,
            known_noise=model.noise_std is not None,
            weights=self.weights,
        )

    def _shape(self, terms, verdict):
        """Describe the residuals of a refit with noise, in the rows that are not outlying."""
        if not (terms.noise_std > 0 and terms.polished):
            return None
        residual = self.data - (terms.U * terms.s) @ terms.Vt
        if self.weights is not None:
            residual *= np.sqrt(self.weights)
        good = slice(None) if verdict is None else ~verdict.outlying
        return residual_shape(residual[good], self.data[good])

    def matrices(self, model):
        """Return both terms of the table, which the model has stored."""
        return Decomposition(model.low_rank_, model.sparse_)


class RowsInBlocks:
    """Rows of a table in blocks, for which the workers keep the state of the solver.

    Parameters
    ----------
    blocks : ArrayBlocks
        Rows; NaN marks missing entries.
    owner : str
        Name of the class in messages.
    """

    are_stored = False
    names = weights = None

    def __init__(self, blocks, owner):
        self.blocks = blocks
        self.shape = blocks.shape
        self.dtype = np.float32 if blocks.arrays[0].dtype == np.float32 else np.float64
        (self.n_observed,) = blocks.sum(_count_block, owner)

    def max_passes(self, model):
        """Return the maximum number of passes."""
        return model.max_iter

    def standardise(self, model):
        """Find the noise of the columns, and divide the columns by it."""
        p = self.shape[1]
        self.noise_std, self.noise_scale, scale = self._noise(model)
        self.units = Units(np.arange(p), np.zeros(p), scale)
        self.sizes, _ = sizes_of_blocks(self.blocks, self.units)

    def _noise(self, model):
        """Return the median noise of the columns, the noise of each, and its divisor."""
        n, p = self.shape
        if model.algorithm == "pcp" or model.noise_std is not None:
            sigma = 0.0 if model.algorithm == "pcp" else float(model.noise_std)
            return sigma, np.full(p, sigma), np.ones(p)

        # fit to a sample of the rows
        rows = np.arange(n)
        if n > SAMPLE:
            rng = check_random_state(0 if model.random_state is None else model.random_state)
            rows = np.sort(rng.choice(n, SAMPLE, replace=False))
        alpha = None if model.alpha is None else model.alpha * float(np.sqrt(n / len(rows)))
        of_sample = clone(model).set_params(
            alpha=alpha, n_components=None, polish="auto", rows=False, store_matrices=False
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            of_sample.fit(self.blocks.sample(rows)[0])
        noise = of_sample.noise_scale_.astype(np.float64)
        return of_sample.noise_std_, noise, of_sample.column_scale_.astype(np.float64)

    def decompose(self, model, progress):
        """Solve the convex problem by passes over all rows."""
        lam = model._slope(self.n_observed, self.shape)
        width = noise_width(self.noise_std, self.shape)
        self.loss = Loss(lam, width)
        self.result = pursue_blocks(
            self.blocks,
            self.units,
            self.sizes,
            self.loss,
            schedule="balanced" if model.schedule == "auto" else model.schedule,
            tol=INNER_SHARE * model.tol,
            tol_gap=model.tol,
            max_iter=model.max_iter,
            progress=progress,
        )

        # convert the components to units of the table
        scale = self.units.scale
        weighted = self.result.s[:, None] * self.result.Vt * scale
        _, s, Vt = linalg.svd(weighted, full_matrices=False)
        terms = TableTerms(
            U=None,
            s=s,
            Vt=Vt,
            sparse=None,
            support=None,
            noise_std=self.noise_std,
            noise_scale=self.noise_scale,
            column_scale=scale,
            convex=self.result,
            polished=False,
            lam=lam,
            rank=len(s),
            width=lam * width,
        )
        test = CellTest(np.inf, model._fit_threshold)
        return Fitted(terms, np.zeros(self.shape[1]), (-np.inf, np.inf), test)

    def matrices(self, model):
        """Return both terms of the table as Dask arrays."""
        p = self.shape[1]
        both = self.result.blocks.map_states(
            terms_of_rows,
            self.units,
            self.loss,
            self.result.Vt,
            model._fit_threshold * self.noise_scale,
            dtype=self.dtype,
            width=2 * p,
        )
        return Decomposition(both[:, :p], both[:, p:])


def _count_block(block, owner):
    X = np.asarray(block.arrays[0])
    check_entries(X, owner=owner, allow_nan=True)
    return (int(np.count_nonzero(~np.isnan(X))),)

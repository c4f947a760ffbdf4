"""Factorisation of rows that arrive in batches: sums that fade, and components that revive.

Notation: batch X (m, p), codes W (m, k), components H (k, p), kept as ``V = H'``. Of earlier rows
only ``W' W`` and ``X' W`` remain, which determine the problem of the components.
"""

from typing import NamedTuple

import numpy as np

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.factors.coded_rows import CodedRows
from skmoderndata._solvers.factors.factor_updates import (
    Data,
    Side,
    SummedData,
    Update,
    codes_for,
    penalty_value,
    update,
)
from skmoderndata._solvers.factors.factorization import revive

# Number of rows for each component that are fitted together before the stream is, and that later
# batches leave in memory at least
ROWS_PER_COMPONENT = 8
# Power of the fraction of earlier rows by which their sums fade
FADING = 10.0
# Number of times that the codes of a batch and the components are improved in turn
ROUNDS = 3
# Maximum number of rounds of descent on the components, each of ten sweeps
SWEEP_ROUNDS = 200
# Fraction of the mean energy of a component below which one is idle
IDLE = 1e-6


class FactorStream(NamedTuple):
    """What is kept of earlier rows: their sums, which fade, and the weight of all rows so far."""

    sums: SummedData
    weight: float

    def faded(self, weight: float) -> SummedData:
        """Return the sums to which a batch of this weight is added.

        Early codes belong to components that were poor. They count by the fraction of the rows
        that came before, to a power, as in on-line dictionary learning [Mairal et al. 2010]; but
        some rows for each component count in any case.
        """
        k = self.sums.T.shape[1]
        fraction = self.weight / (self.weight + weight)
        memory = np.exp(-weight / (ROWS_PER_COMPONENT * k))
        fading = max(fraction**FADING, float(memory))
        return self.sums.times(fading)

    def plus(self, batch: SummedData) -> "FactorStream":
        """Add the sums of a batch."""
        earlier = self.faded(batch.weight)
        weight = self.weight + batch.weight
        return FactorStream(earlier + batch, weight)

    def of_all(self) -> SummedData:
        """Estimate of the sums over all rows so far, in proportion to those that still count."""
        counted = self.sums.weight or 1.0
        return self.sums.times(self.weight / counted)


class StreamResult(NamedTuple):
    """Components after a batch, what is kept, and the last look at the components."""

    components: Array  # (p, k)
    stream: FactorStream
    last: Update


def add_batch(
    V: Array,
    stream: FactorStream,
    data: Data,
    *,
    codes_side: Side,
    components_side: Side,
    tol: float,
) -> StreamResult:
    """Improve components by a batch of rows and the sums of earlier ones.

    In turn, the rows of the batch are coded, components that explain nothing become what some of
    these rows lack most, and the objective over the components is minimised, given the codes.
    """
    V, stream = _balanced(V, stream, codes_side, components_side)
    after = stream
    for _ in range(ROUNDS):
        # 1. codes of the batch
        W = codes_for(data, V, codes_side)

        # 2. revive idle components
        sums = stream.sums + data.sums(W)
        idle = _idle(V, sums)
        coded = CodedRows.of(data, W)
        revived = revive(coded, V, components_side, idle)
        if revived is not None:
            V = revived[1]
            remaining = stream.sums.without(idle)
            stream = stream._replace(sums=remaining)
            W = codes_for(data, V, codes_side)

        # 3. components, given the sums
        penalty = penalty_value(codes_side, W, data.weights)
        batch = data.sums(W)
        batch = batch._replace(sum_sq=data.sum_sq, penalty=penalty)
        after = stream.plus(batch)
        sums = after.of_all()
        V, last = _best_components(V, sums, components_side, tol)

    return StreamResult(V, after, last)


def _balanced(
    V: Array, stream: FactorStream, codes_side: Side, components_side: Side
) -> tuple[Array, FactorStream]:
    """Move the scale between both factors to where the penalties are smallest.

    The penalty of the codes grows with the rows, and that of the components does not.
    """
    # a penalty is linear or quadratic in the scale
    degree = 1 if codes_side.l1 else 2
    other_degree = 1 if components_side.l1 else 2
    sums = stream.of_all()
    of_codes = degree * sums.penalty
    of_components = other_degree * penalty_value(components_side, V)
    if min(of_codes, of_components) <= 0:
        return V, stream

    # at the minimum the derivatives of both terms by the scale cancel
    ratio = of_codes / of_components
    scale = ratio ** (1 / (degree + other_degree))
    scales = np.full(V.shape[1], 1 / scale)
    sums = stream.sums.with_codes_times(scales)
    penalty = sums.penalty / scale**degree
    sums = sums._replace(penalty=penalty)
    return scale * V, stream._replace(sums=sums)


def _idle(V: Array, sums: SummedData) -> Array:
    """Components that are zero, or that hardly any row uses."""
    # of the part of the data that each component explains by itself
    squares = (V * V).sum(axis=0)
    energy = np.diag(sums.S) * squares
    return energy <= IDLE * energy.mean()


def _best_components(
    V: Array, sums: SummedData, side: Side, tol: float
) -> tuple[Array, Update]:
    """Descend on the components until the projected gradient is small."""
    V = V.copy()
    ones = np.ones(V.shape[1])
    for _ in range(SWEEP_ROUNDS):
        terms = sums.terms()
        moved = update(terms, side, V, sweeps=10, scales=ones)
        if moved.residual_sq <= tol**2 * moved.size_sq:
            break
    return V, moved

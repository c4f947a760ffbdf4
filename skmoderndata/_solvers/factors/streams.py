"""Factorisation of rows that arrive in batches, with fading sums and revived components.

Notation: batch X (m, p), codes W (m, k), components H (k, p), stored as ``V = H'``. Only ``W' W``
and ``X' W`` of earlier rows remain; they determine the problem of the components.

Differs from the paper (Mairal et al. 2010): 1. Idle components are revived. 2. Codes and
components of a batch alternate a few times. 3. Penalties are balanced between the factors.
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

# Number of rows per component that the first fit uses together, and minimum number of rows per
# component that keep their weight in the sums after later batches.
ROWS_PER_COMPONENT = 8

# Exponent of the fading: sums are multiplied by this power of the fraction of rows that came
# earlier.
FADING = 10.0

# Number of alternations between the codes of a batch and the components.
ROUNDS = 3

# Maximum number of rounds of descent on the components, of ten sweeps each.
SWEEP_ROUNDS = 200

# Maximum energy of a component that counts as idle, as a fraction of the mean energy.
IDLE = 1e-6


class FactorStream(NamedTuple):
    """Fading sums of earlier rows, and the weight of all rows so far."""

    sums: SummedData
    weight: float

    def faded(self, weight: float) -> SummedData:
        """Return the faded sums, to which a batch of this weight can be added.

        Early codes belong to poor components. Their weight fades by a power of the fraction of
        rows that came before, as in online dictionary learning [Mairal et al. 2010], but a few
        rows per component always count.
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
        """Estimate the sums over all rows so far, in proportion to the rows that still count."""
        counted = self.sums.weight or 1.0
        return self.sums.times(self.weight / counted)


class StreamResult(NamedTuple):
    """Components after a batch, the sums, and the measures of the last update of components."""

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
    """Improve components by a batch of rows and the sums of earlier rows.

    Each round codes the rows of the batch, replaces components that explain nothing by the
    largest residuals of the batch, and minimises the objective over the components.
    """
    V, stream = _balanced(V, stream, codes_side, components_side)
    after = stream
    for _ in range(ROUNDS):
        # 1. compute the codes of the batch
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

        # 3. update the components, given the sums
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
    """Balance the scales of the factors to minimise the penalties.

    The penalty of the codes grows with the number of rows; the penalty of the components does not.
    """
    # the penalty of a factor is a linear or quadratic function of its scale
    degree = 1 if codes_side.l1 else 2
    other_degree = 1 if components_side.l1 else 2
    sums = stream.of_all()
    of_codes = degree * sums.penalty
    of_components = other_degree * penalty_value(components_side, V)
    if min(of_codes, of_components) <= 0:
        return V, stream

    # at the minimum, the derivatives of both terms with respect to the scale cancel
    ratio = of_codes / of_components
    scale = ratio ** (1 / (degree + other_degree))
    scales = np.full(V.shape[1], 1 / scale)
    sums = stream.sums.with_codes_times(scales)
    penalty = sums.penalty / scale**degree
    sums = sums._replace(penalty=penalty)
    return scale * V, stream._replace(sums=sums)


def _idle(V: Array, sums: SummedData) -> Array:
    """Find components that are zero or that hardly any row uses."""
    # compute the energy of each component: the sum of squares of the part of the data that the
    # component alone explains
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

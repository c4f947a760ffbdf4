"""Linear measurements and bases as operators on rows, with fast transforms if there are any.

The function ``forward`` of an operator maps rows of n values to rows of m values; ``adjoint`` is
its transpose. Neither forms a matrix, unless that is the only way.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import fft, linalg, sparse

from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.dictionaries.fixed import (
    cosines,
    daubechies_filter,
    fourier,
    wavelets,
)

# Number of unit vectors to which an operator is applied at a time.
BLOCK_ROWS = 512
RANDOM = ("gaussian", "bernoulli", "sparse")
FAST = ("dct", "fourier", "hadamard", "scrambled_hadamard", "single_pixel")
BASES = ("dct", "fourier", "haar", *(f"db{moments}" for moments in range(2, 11)))


class Operator(NamedTuple):
    """A map of rows (N, n) to rows (N, m), and back by the transpose.

    `matrix` is the matrix (m, n), dense or sparse, if it exists already.
    """

    shape: tuple[int, int]
    forward: Callable[[Any], Array]
    adjoint: Callable[[Array], Array]
    matrix: Any = None


def from_matrix(matrix: Any) -> Operator:
    """Return the multiplication by a matrix (m, n), dense or sparse."""

    def forward(X: Any) -> Array:
        return _dense(X @ matrix.T)

    def adjoint(Y: Array) -> Array:
        return _dense(Y @ matrix)

    return Operator(tuple(matrix.shape), forward, adjoint, matrix)


def compose(outer: Operator, inner: Operator | None) -> Operator:
    """Apply `inner` first, then `outer`; None is the identity."""
    if inner is None:
        return outer
    shape = (outer.shape[0], inner.shape[1])

    def forward(X: Any) -> Array:
        return outer.forward(inner.forward(X))

    def adjoint(Y: Array) -> Array:
        return inner.adjoint(outer.adjoint(Y))

    return Operator(shape, forward, adjoint)


def to_matrix(operator: Operator) -> Array:
    """Return the matrix (m, n) of an operator."""
    if operator.matrix is not None:
        return _dense(operator.matrix)

    # multiply the unit vectors of the side that has fewer of them
    m, n = operator.shape
    out = np.empty((m, n))
    if m <= n:
        for first in range(0, m, BLOCK_ROWS):
            rows = np.arange(first, min(first + BLOCK_ROWS, m))
            out[rows] = operator.adjoint(_unit_rows(rows, m))
    else:
        for first in range(0, n, BLOCK_ROWS):
            columns = np.arange(first, min(first + BLOCK_ROWS, n))
            out[:, columns] = operator.forward(_unit_rows(columns, n)).T
    return out


def columns_of(operator: Operator, which: Array) -> Array:
    """Return the given columns (m, number) of the matrix of an operator."""
    if operator.matrix is not None:
        return _dense(operator.matrix[:, which])
    unit_rows = _unit_rows(which, operator.shape[1])
    return np.ascontiguousarray(operator.forward(unit_rows).T)


def random_matrix(
    kind: str, m: int, n: int, *, density: float, rng: np.random.RandomState
) -> Any:
    """Draw a random matrix (m, n) whose columns have mean squared norm 1.

    "gaussian": ``N(0, 1/m)``; "bernoulli": ``+-1/sqrt(m)``; "sparse": ``+-1/sqrt(density m)`` with
    probability `density`, else 0, as a CSR array.
    """
    if kind == "gaussian":
        return rng.normal(size=(m, n)) / np.sqrt(m)
    if kind == "bernoulli":
        signs = 2.0 * rng.randint(0, 2, size=(m, n)) - 1.0
        return signs / np.sqrt(m)

    # sparse: draw the number of entries of each row, then their columns
    counts = rng.binomial(n, density, size=m)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices = np.empty(int(indptr[-1]), np.int32)
    for i in range(m):
        columns = _without_replacement(n, counts[i], rng)
        indices[indptr[i] : indptr[i + 1]] = np.sort(columns)
    signs = 2.0 * rng.randint(0, 2, size=len(indices)) - 1.0
    values = signs / np.sqrt(density * m)
    return sparse.csr_array((values, indices, indptr), shape=(m, n))


def _without_replacement(n: int, count: int, rng: np.random.RandomState) -> Array:
    if 3 * count > n:
        return rng.permutation(n)[:count]
    drawn = np.unique(rng.randint(0, n, size=count))
    while len(drawn) < count:
        more = rng.randint(0, n, size=count - len(drawn))
        drawn = np.unique(np.append(drawn, more))
    return drawn


def transform_measurements(
    kind: str,
    m: int,
    shape: Sequence[int],
    *,
    decay: float = 0.0,
    rng: np.random.RandomState,
) -> Operator:
    """Draw `m` rows, without replacement, of an orthonormal transform of arrays of a shape.

    They are multiplied by ``sqrt(n / m)``, which preserves the expected squared norm of a signal.
    With `decay`, the probability of a row falls as ``(1 + frequency)**-decay``.

    - "dct": cosines (DCT-II along each axis).
    - "fourier": real and imaginary parts of coefficients of the discrete Fourier transform.
    - "hadamard": Walsh functions along the flattened array.
    - "scrambled_hadamard": the same after a random permutation and random signs of the values.
    """
    shape = tuple(shape)
    n = int(np.prod(shape))
    if kind == "fourier":
        return _fourier_measurements(m, shape, decay, rng)

    # draw rows; with `decay`, high frequencies are less probable
    if kind == "dct":
        squares = sum(np.square(g, dtype=float) for g in np.indices(shape))
        frequency = np.sqrt(squares).ravel()
        rows = np.sort(_draw(frequency, m, decay, rng))
        return _some_rows(_cosine_transform(shape), rows, np.sqrt(n / m))
    if kind == "hadamard":
        rows = np.sort(_draw(_sequencies(shape), m, decay, rng))
        return _some_rows(_hadamard(n), rows, 1 / np.sqrt(m))

    # scrambled: random signs and positions spread every signal over all rows
    order = rng.permutation(n)
    signs = 2.0 * rng.randint(0, 2, size=n) - 1.0
    scramble = _permuted(order, signs)
    rows = np.sort(_draw(np.zeros(n), m, decay, rng))
    return compose(_some_rows(_hadamard(n), rows, 1 / np.sqrt(m)), scramble)


def _cosine_transform(shape: tuple[int, ...]) -> Operator:
    """Return the orthonormal cosine transform (DCT-II) along each axis."""
    n = int(np.prod(shape))
    axes = tuple(range(1, len(shape) + 1))

    def forward(X: Any) -> Array:
        values = X.reshape(-1, *shape)
        coefficients = np.asarray(fft.dctn(values, axes=axes, norm="ortho"))
        return coefficients.reshape(-1, n)

    def adjoint(Y: Array) -> Array:
        coefficients = Y.reshape(-1, *shape)
        values = np.asarray(fft.idctn(coefficients, axes=axes, norm="ortho"))
        return values.reshape(-1, n)

    return Operator((n, n), forward, adjoint)


def _hadamard(n: int) -> Operator:
    """Return the Walsh-Hadamard transform of 2^b values, with entries -1 and 1, by factors."""

    def transform(X: Any) -> Array:
        Z = np.asarray(X, dtype=np.float64)
        done = 1
        while done < n:  # transform the last axis and move it to the front
            side = min(16, n // done)
            last_first = Z.reshape(-1, n // side, side).swapaxes(1, 2)
            Z = linalg.hadamard(side, dtype=float) @ last_first
            Z = Z.reshape(-1, n)
            done = done * side
        return np.asarray(Z)

    return Operator((n, n), transform, transform)


def _some_rows(transform: Operator, rows: Array, scale: float) -> Operator:
    """Return the given rows of a transform (n, n) times `scale`."""
    m = len(rows)
    n = transform.shape[1]

    def adjoint(Y: Array) -> Array:
        Z = np.zeros((len(Y), n))
        Z[:, rows] = scale * Y
        return transform.adjoint(Z)

    return Operator((m, n), lambda X: scale * transform.forward(X)[:, rows], adjoint)


def _permuted(order: Array, signs: Array) -> Operator:
    """Return a permutation of the values, multiplied by signs."""
    n = len(order)
    back = np.argsort(order)

    def forward(X: Any) -> Array:
        return np.asarray((X * signs)[:, order])

    def adjoint(Y: Array) -> Array:
        return Y[:, back] * signs

    return Operator((n, n), forward, adjoint)


def single_pixel_patterns(m: int, n: int, *, rng: np.random.RandomState) -> Operator:
    """Draw patterns of 0 and 1: the first is 1 everywhere, the others cover half of the pixels.

    They are ``(1 + h) / 2`` for rows h of a Hadamard matrix with permuted columns; the first
    row is constant. `n` is a power of two. See `single_pixel_differences`.
    """
    shuffle = _permuted(rng.permutation(n), np.ones(n))
    others = 1 + rng.permutation(n - 1)[: m - 1]
    rows = np.concatenate([[0], others]).astype(np.int64)
    H = compose(_some_rows(_hadamard(n), rows, 0.5), shuffle)

    def forward(X: Any) -> Array:
        return np.asarray(H.forward(X) + 0.5 * X.sum(axis=1, keepdims=True))

    def adjoint(Y: Array) -> Array:
        return np.asarray(H.adjoint(Y) + 0.5 * Y.sum(axis=1, keepdims=True))

    return Operator((m, n), forward, adjoint)


def single_pixel_differences(patterns: Operator) -> tuple[Operator, Callable[[Array], Array]]:
    """Return measurements with signs that follow from readings of patterns, and the map to them.

    Twice a reading minus the reading of the constant pattern is the difference between a pattern
    and its complement: rows of a Hadamard matrix, which are orthogonal and have equal norms,
    scaled by ``1/sqrt(m)``.
    """
    m, n = patterns.shape

    def decode(Y: Array) -> Array:
        return np.asarray((2.0 * Y - Y[:, :1]) / np.sqrt(m))

    def adjoint(Y: Array) -> Array:
        Z = 2.0 * Y / np.sqrt(m)
        Z[:, 0] -= Y.sum(axis=1) / np.sqrt(m)
        return patterns.adjoint(Z)

    return Operator((m, n), lambda X: decode(patterns.forward(X)), adjoint), decode


def basis_operator(name: str, shape: Sequence[int]) -> Operator:
    """Return an orthonormal basis of arrays of a shape: coefficients to values, axis by axis.

    "dct", "fourier" (real), "haar" or "db2" to "db10" (periodic wavelets, as deep as the size
    allows).
    """
    shape = tuple(shape)
    n = int(np.prod(shape))
    if name == "dct":
        T = _cosine_transform(shape)
        return Operator(T.shape, T.adjoint, T.forward)
    atoms = [_axis_basis(name, size) for size in shape]

    def synthesis(X: Any) -> Array:
        return _along_axes(X, [matrix.T for matrix in atoms], shape)

    def analysis(Y: Array) -> Array:
        return _along_axes(Y, atoms, shape)

    return Operator((n, n), synthesis, analysis)


def _axis_basis(name: str, n: int) -> Any:
    """Return atoms as rows, sparse if most entries are zero."""
    if name == "fourier":
        return fourier(n)
    if name == "dct":
        return cosines(n)
    moments = 1 if name == "haar" else int(name[2:])
    low_pass = daubechies_filter(moments)
    depth = 0  # find the largest depth at which the filter fits
    while n % 2 ** (depth + 1) == 0 and n // 2**depth >= len(low_pass):
        depth += 1
    atoms = wavelets(n, low_pass, depth)
    return sparse.csr_array(atoms) if n >= 256 else atoms


def _along_axes(X: Any, matrices: list[Any], shape: tuple[int, ...]) -> Array:
    out = np.asarray(X, dtype=np.float64).reshape(-1, *shape)
    for axis, matrix in enumerate(matrices, start=1):
        moved = np.moveaxis(out, axis, 0)
        flat = np.ascontiguousarray(moved).reshape(shape[axis - 1], -1)
        product = _dense(matrix @ flat)
        out = np.moveaxis(product.reshape(moved.shape), 0, axis)
    return np.ascontiguousarray(out).reshape(len(out), -1)


def _fourier_measurements(
    m: int, shape: tuple[int, ...], decay: float, rng: np.random.RandomState
) -> Operator:
    """Return `m` real and imaginary parts of Fourier coefficients."""
    # choose one coefficient of each conjugate pair, in random order
    n = int(np.prod(shape))
    grid = list(zip(np.indices(shape), shape, strict=True))
    opposite = tuple((-g) % size for g, size in grid)
    mirrored = np.ravel_multi_index(opposite, shape).ravel()
    index = np.arange(n)
    candidates = index[index <= mirrored]
    low = [np.minimum(g, size - g) for g, size in grid]
    frequency = np.sqrt(sum(np.square(g, dtype=float) for g in low)).ravel()
    drawn = _draw(frequency[candidates], len(candidates), decay, rng)
    order = candidates[drawn]

    # keep the coefficients that fill m rows; the last coefficient may contribute only its real
    # part
    sizes = np.where(mirrored[order] == order, 1, 2)
    count = int(np.searchsorted(np.cumsum(sizes), m)) + 1
    chosen = order[:count]
    single = mirrored[chosen] == chosen
    position = np.concatenate([chosen, chosen[~single]])[:m]
    imaginary = np.arange(len(position)) >= count
    unpaired = mirrored[position] == position
    weight = np.where(unpaired, 1.0, np.sqrt(2.0)) / np.sqrt(m)
    axes = tuple(range(1, len(shape) + 1))

    def forward(X: Any) -> Array:
        spectrum = fft.fftn(X.reshape(-1, *shape), axes=axes).reshape(-1, n)
        Z = spectrum[:, position]
        return np.asarray(np.where(imaginary, Z.imag, Z.real) * weight)

    def adjoint(Y: Array) -> Array:
        Z = np.zeros((len(Y), n), dtype=complex)
        scaled = Y * weight
        Z[:, position[~imaginary]] += scaled[:, ~imaginary]
        Z[:, position[imaginary]] += 1j * scaled[:, imaginary]
        back = fft.ifftn(Z.reshape(-1, *shape), axes=axes, norm="forward")
        return np.ascontiguousarray(back.real).reshape(-1, n)

    return Operator((m, n), forward, adjoint)


def _draw(frequency: Array, m: int, decay: float, rng: np.random.RandomState) -> Array:
    """Draw `m` rows without replacement, with probabilities that fall with the frequency."""
    keys = rng.gumbel(size=len(frequency)) - decay * np.log1p(frequency)
    return np.argsort(-keys, kind="stable")[:m]


def _sequencies(shape: tuple[int, ...]) -> Array:
    """Count sign changes of rows of a Hadamard matrix along each axis; return their norms."""
    squares = np.zeros(1)
    for size in shape:
        bits = size.bit_length() - 1
        rows = np.arange(size)
        reversed_bits = (((rows >> b) & 1) << (bits - 1 - b) for b in range(bits))
        changes = sum(reversed_bits) + 0 * rows
        for b in range(bits):  # decode the Gray code of the reversed bits
            changes = changes ^ (changes >> (1 << b))
        squares = np.add.outer(squares, np.square(changes, dtype=float))
    return np.sqrt(squares).ravel()


def _unit_rows(which: Array, n: int) -> Array:
    out = np.zeros((len(which), n))
    out[np.arange(len(which)), which] = 1.0
    return out


def _dense(X: Any) -> Array:
    if sparse.issparse(X):
        X_sparse: Any = X
        X = X_sparse.toarray()
    return np.asarray(X)

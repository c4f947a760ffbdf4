"""Strings and token sequences as arrays of symbol numbers."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from skmoderndata._samples.containers import as_samples, is_missing
from skmoderndata._solvers.common.typing import Array


@dataclass(frozen=True, eq=False)
class Packed:
    """A collection of sequences over one alphabet.

    Sequence i is ``codes[offsets[i]:offsets[i + 1]]``, with entries that index `symbols`. Indexing
    with an array returns a subset over the same alphabet: a view of the codes if the sequences are
    contiguous, a copy otherwise.

    Attributes
    ----------
    codes : ndarray of int32
        Symbols of all sequences, concatenated.
    offsets : ndarray of int64, of shape (n_sequences + 1,)
        Start of each sequence.
    symbols : tuple
        The alphabet of the collection.
    kind : {"text", "bytes", "tokens"}
        Type of the original samples.
    """

    codes: Array
    offsets: Array
    symbols: tuple[Hashable, ...]
    kind: str

    @property
    def lengths(self) -> Array:
        """Length of each sequence."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, indices: Array) -> "Packed":
        lengths = self.lengths[indices]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        first = self.offsets[:-1][indices]
        consecutive = len(indices) > 0 and bool((np.diff(indices) == 1).all())
        if consecutive:
            start = first[0]
            codes = self.codes[start : start + offsets[-1]]
        else:
            shifts = np.repeat(first - offsets[:-1], lengths)
            codes = self.codes[shifts + np.arange(offsets[-1])]
        return Packed(codes, offsets, self.symbols, self.kind)

    def recoded(self, table: Array, symbols: tuple[Hashable, ...]) -> "Packed":
        """Return the same sequences over another alphabet, `table` from old to new numbers."""
        return Packed(table[self.codes], self.offsets, symbols, self.kind)

    def words(self) -> list[Any]:
        """Return the sequences as the user gave them: strings, bytes or tuples."""
        words: list[Any] = []
        for start, stop in pairwise(self.offsets):
            symbols: Any = [self.symbols[c] for c in self.codes[start:stop]]
            if self.kind == "text":
                words.append("".join(symbols))
            else:
                words.append(bytes(symbols) if self.kind == "bytes" else tuple(symbols))
        return words


def pack(X: Any, name: str = "The kernel") -> Packed:
    """Pack sequences of any type into one `Packed` collection.

    Parameters
    ----------
    X : collection of str, of bytes, or of sequences of hashable symbols
        Samples. A `str` is the sequence of its code points, `bytes` are numbers up to 255, and a
        list, a tuple or an integer array of one dimension is a sequence of its items.
    name : str
        Name of the caller, for error messages.

    Returns
    -------
    packed : Packed
        Symbols sorted by value for text, bytes and integers, in order of appearance otherwise.
    """
    # all samples must be sequences of one kind
    samples = as_samples(X, name)
    kinds = [_kind(x, i, name) for i, x in enumerate(samples)]
    if len(set(kinds)) > 1:
        i = next(i for i, kind in enumerate(kinds) if kind != kinds[0])
        raise TypeError(
            f"{name}: sample 0 is {_shown(samples[0])}, but sample {i} is "
            f"{_shown(samples[i])}; pass all samples as str, all as bytes, or all as "
            "sequences of tokens."
        )
    kind = kinds[0] if kinds else "text"

    lengths = np.fromiter(map(len, samples), dtype=np.int64, count=len(samples))
    offsets = np.concatenate([[0], np.cumsum(lengths)])

    # number characters, bytes and integers in ascending order, and tokens in the order in which
    # they first occur
    if kind == "text":
        encoded = "".join(samples).encode("utf-32-le", "surrogatepass")
        points = np.frombuffer(encoded, dtype="<u4")
        codes, present = _ranks(points.astype(np.int64))
        symbols = tuple(map(chr, present.tolist()))
        return Packed(codes, offsets, symbols, kind)
    if kind == "bytes":
        values = np.frombuffer(b"".join(samples), dtype=np.uint8)
        codes, present = _ranks(values.astype(np.int64))
        return Packed(codes, offsets, tuple(present.tolist()), kind)

    if all(isinstance(x, np.ndarray) for x in samples):
        joined = np.concatenate([x.astype(np.int64) for x in samples])
        present, ranks = np.unique(joined, return_inverse=True)
        return Packed(ranks.astype(np.int32), offsets, tuple(present.tolist()), kind)

    numbers: dict[Hashable, int] = {}
    flat: list[int] = []
    for i, x in enumerate(samples):
        tokens = x.tolist() if isinstance(x, np.ndarray) else x
        try:
            flat.extend([numbers.setdefault(token, len(numbers)) for token in tokens])
        except TypeError as error:
            raise TypeError(
                f"{name}: the symbols of a sequence must be hashable; sample {i} has symbols "
                f"that are not: {error}."
            ) from None

    # NaN differs from itself, so it cannot match; None is treated like any other symbol
    if any(is_missing(symbol) for symbol in numbers if symbol is not None):
        i = next(i for i, x in enumerate(samples) if any(map(is_missing, x)))
        raise ValueError(
            f"{name}: sample {i} has missing symbols, such as NaN; drop them, or replace them by "
            "a separate symbol."
        )
    return Packed(np.array(flat, dtype=np.int32), offsets, tuple(numbers), kind)


def _kind(x: Any, position: int, name: str) -> str:
    if isinstance(x, str):
        return "text"
    if isinstance(x, bytes):
        return "bytes"
    if isinstance(x, list | tuple):
        return "tokens"
    if isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind in "iu":
        return "tokens"
    if is_missing(x):
        raise ValueError(
            f"{name}: sample {position} is missing ({x!r}); drop it, or replace it by an empty "
            "sequence."
        )
    raise TypeError(
        f"{name}: a sample must be a str, bytes, a list or tuple of symbols, or an integer "
        f"array of one dimension; sample {position} is {_shown(x)}."
    )


def _shown(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"an array of shape {x.shape} and type {x.dtype}"
    return f"of type {type(x).__name__}"


def _ranks(values: Array) -> tuple[Array, Array]:
    """Return the distinct values of small integers, after the rank of each integer among them."""
    largest = int(values.max(initial=-1))
    present = np.zeros(largest + 1, dtype=bool)
    present[values] = True
    table = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return table[values], np.flatnonzero(present)


def _of_text(X: Packed) -> bool:
    return X.kind == "text" or any(isinstance(symbol, str) for symbol in X.symbols)


def one_alphabet(A: Packed, B: Packed, name: str = "The kernel") -> tuple[Packed, Packed]:
    """Return two collections over the union of their symbols; `A` keeps its symbol numbers."""
    if A.symbols == B.symbols:
        return A, B
    text_and_bytes = (A.kind == "bytes" and _of_text(B)) or (B.kind == "bytes" and _of_text(A))
    if text_and_bytes and len(A.codes) and len(B.codes):
        raise TypeError(
            f"{name}: one collection is of str and the other of bytes; decode the bytes."
        )
    numbers = {symbol: i for i, symbol in enumerate(A.symbols)}
    of_B = [numbers.setdefault(symbol, len(numbers)) for symbol in B.symbols]
    table = np.array(of_B, dtype=np.int32)
    symbols = tuple(numbers)
    return Packed(A.codes, A.offsets, symbols, A.kind), B.recoded(table, symbols)


def joined(A: Packed, B: Packed, name: str = "The kernel") -> Packed:
    """Return one collection, the sequences of `A` first."""
    A, B = one_alphabet(A, B, name)
    codes = np.concatenate([A.codes, B.codes])
    offsets = np.concatenate([A.offsets, A.offsets[-1] + B.offsets[1:]])
    return Packed(codes, offsets, A.symbols, A.kind)


def over_alphabet(
    X: Packed, alphabet: Iterable[Hashable], unknown: str, name: str = "The kernel"
) -> Packed:
    """Return a collection over an alphabet; other symbols raise ValueError, or become -1."""
    numbers = {symbol: i for i, symbol in enumerate(alphabet)}
    table = np.array([numbers.get(s, -1) for s in X.symbols], dtype=np.int32)
    if unknown == "raise" and (table < 0).any():
        used = np.unique(X.codes)
        unlisted = [X.symbols[c] for c in used if table[c] < 0]
        if unlisted:
            raise ValueError(
                f"{name}: the symbol {unlisted[0]!r} is not in the alphabet of {len(numbers)} "
                'symbols; add it, or set unknown="ignore" to omit its windows.'
            )
    return X.recoded(table, tuple(numbers))

"""Alignments with gaps of sequences of symbols and of series, for metrics."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy.spatial.distance import cdist

from skmoderndata._estimator.compat import (
    NON_NEGATIVE,
    Interval,
    StrOptions,
    validate_params,
)
from skmoderndata._samples.edits import table_blocks
from skmoderndata._samples.sequences import Packed, one_alphabet, pack
from skmoderndata._samples.series import pack_series, same_channels
from skmoderndata._solvers.common.typing import Array
from skmoderndata._solvers.sequences.gapped import GapRule, alignment_scores, best_alignment

FINITE = Interval(Real, None, None, closed="neither")


@dataclass(frozen=True)
class Scoring:
    """Scores of aligned symbols or points, and costs of gaps, as in `metrics.alignment`."""

    rule: GapRule
    match: float
    mismatch: float
    substitution_scores: dict[Any, float] | None
    metric: str | Callable[[Array, Array], Any] | None
    name: str

    def of_points(self, x: Array, z: Array) -> Array:
        """Return the scores of all pairs of points of two series."""
        # compute distances with a function of the user, or with a metric of scipy
        if callable(self.metric):
            distances = np.asarray(self.metric(x, z), dtype=np.float64)
        else:
            metric: Any = self.metric
            distances = cdist(x, z, metric)
        if distances.shape != (len(x), len(z)) or np.isnan(distances).any():
            raise ValueError(
                f"{self.name}: metric must return distances of shape {(len(x), len(z))}, none "
                f"NaN, but returned shape {distances.shape}."
            )
        return np.ascontiguousarray(self.match - distances)

    def of_symbols(self, symbols: tuple[Hashable, ...]) -> Array:
        """Return the scores of all pairs of symbols of an alphabet."""
        table = np.full((len(symbols), len(symbols)), float(self.mismatch))
        if self.substitution_scores is None:
            np.fill_diagonal(table, float(self.match))
            return table

        # the score of a pair does not depend on its order
        scores = _checked_scores(self.substitution_scores, self.name)
        for i, a in enumerate(symbols):
            for j, b in enumerate(symbols[: i + 1]):
                if (a, b) not in scores:
                    raise ValueError(
                        f"{self.name}: substitution_scores has no score for the symbols {a!r} and "
                        f"{b!r}; add it."
                    )
                table[i, j] = table[j, i] = scores[a, b]
        return table


def _checked_scores(pairs: dict[Any, float], name: str) -> dict[Any, float]:
    """Return the scores with each pair in both orders."""
    scores: dict[Any, float] = {}
    for pair, value in pairs.items():
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise ValueError(
                f"{name}: the keys of substitution_scores must be pairs of symbols, such as "
                f"('A', 'G'); {pair!r} is not a pair."
            )
        if not isinstance(value, Real) or not np.isfinite(value):
            raise ValueError(
                f"{name}: substitution_scores[{pair!r}]={value!r}; it must be a finite number."
            )
        # a pair may be given in one order, or in both orders with the same score
        a, b = pair
        if scores.get((a, b), value) != value:
            raise ValueError(
                f"{name}: substitution_scores has two scores for the symbols {a!r} and {b!r}, "
                f"{scores[a, b]:g} and {value:g}; they must not depend on the order."
            )
        scores[a, b] = scores[b, a] = float(value)
    return scores


@validate_params(  # type: ignore[untyped-decorator]
    {
        "mode": [StrOptions({"global", "local"})],
        "match": [FINITE],
        "mismatch": [FINITE],
        "substitution_scores": [dict, None],
        "metric": [str, callable, None],
        "gap_cost": [NON_NEGATIVE],
        "extension_cost": [NON_NEGATIVE, None],
    },
    prefer_skip_nested_validation=True,
)
def scoring(
    *,
    mode: str = "global",
    match: float = 1.0,
    mismatch: float = -1.0,
    substitution_scores: dict[Any, float] | None = None,
    metric: str | Callable[[Array, Array], Any] | None = None,
    gap_cost: float = 1.0,
    extension_cost: float | None = None,
    name: str = "alignment",
) -> Scoring:
    """Check the parameters of `metrics.alignment`; `name` is the caller, for error messages."""
    # a gap must not cost more than separate gaps for each of its symbols
    further = gap_cost if extension_cost is None else extension_cost
    if further > gap_cost:
        raise ValueError(
            f"{name}: extension_cost={further:g} is above gap_cost={gap_cost:g}, so that a long "
            "gap would cost more than several short gaps: lower it."
        )
    if metric is not None and substitution_scores is not None:
        raise ValueError(
            f"{name}: substitution_scores is for symbols and metric for series: set only one."
        )
    rule = GapRule(float(gap_cost), float(further), mode == "local")
    return Scoring(rule, match, mismatch, substitution_scores, metric, name)


def aligned_pair(x: Any, z: Any, scores: Scoring) -> tuple[Array, float]:
    """Return the best alignment of two samples, and its score."""
    name = scores.name
    if scores.metric is not None:
        a = pack_series([x], f"{name}, x")
        b = pack_series([z], f"{name}, z")
        same_channels(a, b, name)
        table = scores.of_points(a.values, b.values)
        return best_alignment(
            np.arange(len(a.values)), np.arange(len(b.values)), table, scores.rule
        )

    # encode both samples with the same alphabet
    s, t = one_alphabet(pack([x], name), pack([z], name), name)
    return best_alignment(s.codes, t.codes, scores.of_symbols(t.symbols), scores.rule)


def alignment_matrix(
    X: Any, Z: Any, scores: Scoring, *, normalize: bool, n_jobs: int | None
) -> Array:
    """Compute the scores of the best alignments of all pairs; Z may be None."""
    name = scores.name
    others = None if Z is X else Z
    pairs: _Symbols | _Points
    if scores.metric is None:
        pairs = _Symbols(X, others, scores)
    else:
        pairs = _Points(X, others, scores)

    # compute blocks of rows in threads
    S = np.zeros((pairs.n, pairs.m))
    blocks = pairs.row_blocks()
    if effective_n_jobs(n_jobs) == 1:
        for rows in blocks:
            pairs.fill(rows, S[rows])
    else:
        pool = Parallel(n_jobs=n_jobs, require="sharedmem")  # `fill` writes into S
        pool(delayed(pairs.fill)(rows, S[rows]) for rows in blocks)

    # if X is compared with itself, only the lower triangle has been computed
    if others is None:
        S = np.tril(S) + np.tril(S, -1).T
    S += 0.0  # turn -0.0 into 0.0
    if not normalize:
        return S
    if others is None:
        return _normalized(S, S.diagonal(), S.diagonal(), name)
    return _normalized(S, *pairs.with_themselves(), name)


class _Symbols:
    """Pairs of sequences of symbols."""

    def __init__(self, X: Any, Z: Any, scores: Scoring) -> None:
        A = pack(X, scores.name)
        self.is_square = Z is None
        self.A, self.B = (
            (A, A) if self.is_square else one_alphabet(A, pack(Z, scores.name), scores.name)
        )
        self.n = len(self.A)
        self.m = len(self.B)
        self.rule = scores.rule
        self.table = scores.of_symbols(self.B.symbols)

    def row_blocks(self) -> list[slice]:
        return table_blocks(self.A.lengths, self.B.lengths)

    def fill(self, rows: slice, out: Array) -> None:
        A = self.A
        others = (self.B.codes, self.B.offsets)
        alignment_scores(
            A.codes,
            A.offsets,
            others,
            self.table,
            self.rule,
            first=rows.start,
            own=self.is_square,
            out=out,
        )

    def with_themselves(self) -> tuple[Array, Array]:
        return self._self_scores(self.A), self._self_scores(self.B)

    def _self_scores(self, A: Packed) -> Array:
        out = np.zeros(len(A))
        for i in range(len(A)):
            sample = A[np.array([i])]
            others = (sample.codes, sample.offsets)
            cell = out[i : i + 1, None]
            alignment_scores(
                sample.codes,
                sample.offsets,
                others,
                self.table,
                self.rule,
                first=0,
                own=False,
                out=cell,
            )
        return out


class _Points:
    """Pairs of series, whose points are compared by a distance."""

    def __init__(self, X: Any, Z: Any, scores: Scoring) -> None:
        self.A = pack_series(X, scores.name)
        self.is_square = Z is None
        self.B = self.A if self.is_square else pack_series(Z, scores.name)
        same_channels(self.A, self.B, scores.name)
        self.n = len(self.A)
        self.m = len(self.B)
        self.scores = scores

    def row_blocks(self) -> list[slice]:
        return table_blocks(self.A.lengths, self.B.lengths)

    def fill(self, rows: slice, out: Array) -> None:
        for k, i in enumerate(range(rows.start, rows.stop)):
            for j in range(i + 1 if self.is_square else self.m):
                out[k, j] = self._score(self.A.one(i), self.B.one(j))

    def with_themselves(self) -> tuple[Array, Array]:
        first, second = (
            np.array([self._score(C.one(i), C.one(i)) for i in range(len(C))])
            for C in (self.A, self.B)
        )
        return first, second

    def _score(self, x: Array, z: Array) -> float:
        out = np.zeros((1, 1))
        alignment_scores(
            np.arange(len(x)),
            np.array([0, len(x)]),
            (np.arange(len(z)), np.array([0, len(z)])),
            self.scores.of_points(x, z),
            self.scores.rule,
            first=0,
            own=False,
            out=out,
        )
        return float(out[0, 0])


def _normalized(S: Array, of_X: Array, of_Z: Array, name: str) -> Array:
    """Divide by the geometric means of the scores of the samples with themselves."""
    # geometric means need scores of at least 0
    lowest = min(of_X.min(initial=0.0), of_Z.min(initial=0.0))
    if lowest < 0:
        raise ValueError(
            f"{name}: normalize=True needs scores of samples with themselves of at least 0, but "
            f"one is {lowest:g}; increase match, or the scores of equal symbols."
        )
    size = np.sqrt(np.outer(of_X, of_Z))
    return np.divide(S, size, out=np.zeros_like(S), where=size > 0)

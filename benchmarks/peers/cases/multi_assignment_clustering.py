"""Multi-assignment clustering: time and memory as the rows grow."""

from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, Contender, Target, at_most

N_FEATURES = 500
K = 10
LARGEST = 3
SMALL = "10,000 x 500"
LARGE = "100,000 x 500"
# Maximum number of seconds for the small size.
LIMIT = 10.0
EXPONENT = 1.1


class Bits(NamedTuple):
    """Boolean rows and the sources behind them."""

    X: np.ndarray
    sources: np.ndarray


def work(size, rng):
    """ORs of up to three of ten overlapping sources; 30 % of the bits replaced by fair coins."""
    from skmoderndata.datasets import make_boolean_sources

    n_samples, n_features = size
    X, _, sources, _ = make_boolean_sources(
        n_samples,
        n_features,
        K,
        max_assignments=LARGEST,
        noise=0.3,
        random_state=int(rng.integers(2**31)),
    )
    return Bits(X, sources)


def quality(bits, model):
    """Mismatch of the sources, and error of the noise estimate."""
    from skmoderndata.metrics import source_mismatch

    return {
        "mismatch": source_mismatch(bits.sources, model.components_),
        "noise": abs(model.epsilon_ - 0.3),
    }


def one_start(bits):
    from skmoderndata.cluster import MultiAssignmentClustering

    return MultiAssignmentClustering(K, max_assignments=LARGEST, n_init=1, random_state=0).fit(
        bits.X
    )


def tables(bits):
    """Bytes of six tables over features and assignment sets, and three copies of packed bits."""
    from skmoderndata._solvers.boolean_data.boolean import count_assignment_sets

    return 6 * 8.0 * bits.X.shape[1] * count_assignment_sets(K, LARGEST) + 3 * bits.X.size / 8


def _seconds(rows, size):
    times = [min(row.seconds) for row in rows if row.size == size and row.seconds]
    return min(times) if times else None


def _fast(rows):
    seconds = _seconds(rows, SMALL)
    return (None, "not run") if seconds is None else (seconds < LIMIT, f"{seconds:.1f} s")


def _linear(rows):
    small = _seconds(rows, SMALL)
    large = _seconds(rows, LARGE)
    if small is None or large is None:
        return None, "not run"
    exponent = np.log10(large / small)
    return bool(exponent <= EXPONENT), f"exponent {exponent:.2f}"


CASE = Case(
    title="Multi-assignment clustering of many rows",
    question="How much longer does a fit take with ten times as many rows? No other package "
    "provides the method.",
    remarks=f"There are {K} sources, up to {LARGEST} per row (176 assignment sets), and one "
    "start. The memory is the increase during the fit, without the input. For 1,000 rows the "
    "limit of the memory is 4 MB, not counting the working tables of a step.",
    ours="MultiAssignmentClustering",
    sizes={
        "1,000 x 500": (1000, N_FEATURES),
        SMALL: (10_000, N_FEATURES),
        LARGE: (100_000, N_FEATURES),
    },
    quick_sizes={"1,000 x 200": (1000, 200)},
    warmup=(200, 50),
    repeat=3,
    work=work,
    contenders={
        "MultiAssignmentClustering": Contender(
            run=one_start, peer=False, note="one start with one BLAS thread"
        ),
    },
    quality=quality,
    figures={
        "mismatch": "fraction of wrong source bits under the best permutation",
        "noise": "error of the estimated noise fraction",
    },
    targets=(
        Target(text="10,000 rows take less than 10 seconds", check=_fast),
        Target(
            text="from 1e4 to 1e5 rows, the time grows with an exponent of at most 1.1",
            check=_linear,
        ),
        at_most(
            "memory below three copies of the packed input plus six tables over the "
            "assignment sets",
            "MultiAssignmentClustering",
            "memory",
            1.0,
        ),
    ),
    memory_unit=("multiples of three packed copies of the input plus six tables", tables),
)

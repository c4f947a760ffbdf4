"""Long compiled loops, each interrupted by the Ctrl-C that this process sends to itself.

``python -m tests.common.long_loops`` reads names of `ROUTES` from its standard input, and writes
for each how long the interrupt was not heard, in seconds of processor time, which do not count
what else runs on the machine.
"""

import faulthandler
import os
import signal
import sys
import threading
import time

import numpy as np
from numba.core.compiler_lock import global_compiler_lock
from scipy import sparse

from skmoderndata._solvers.alignment.global_alignment import LocalKernel, alignment_slopes
from skmoderndata._solvers.sequences.mismatch import neighbour_counts
from skmoderndata._solvers.sequences.subsequences import subsequence_slopes
from skmoderndata._solvers.sequences.windows import gram_of_counts
from skmoderndata._solvers.trees.subtrees import sort_nodes, subtree_sums
from skmoderndata.cluster import RoleMiner
from skmoderndata.kernels import (
    AllSubsequences,
    GapNumberWeighted,
    GapWeighted,
    GlobalAlignment,
    Normalized,
    PairHMM,
)
from skmoderndata.metrics import (
    alignment,
    dtw,
    dtw_path,
    edit_distance,
    pairwise_alignment,
    pairwise_dtw,
    pairwise_edit_distance,
    pairwise_elastic,
    soft_dtw,
    subsequence_dtw,
)
from skmoderndata.neighbors import DTWNeighborsClassifier

DELAY = 0.5  # Number of seconds between the start of a call and the interrupt.
GIVE_UP = 20.0  # Number of seconds after which a process that ignores the interrupt is ended.

RNG = np.random.default_rng(0)
LETTERS = "acgt"


def strings(n, k=2):
    letters = np.frombuffer(LETTERS.encode(), dtype=np.uint8)
    return [RNG.choice(letters, size=n).tobytes().decode() for _ in range(k)]


def series(n, k=2):
    return [RNG.normal(size=(n, 1)).cumsum(axis=0) / np.sqrt(n) for _ in range(k)]


def gap_slopes(n):
    codes = RNG.integers(4, size=n, dtype=np.int32)
    offsets = np.array([0, n])
    return lambda: subsequence_slopes(codes, offsets, 0.5, np.ones(2), matches_decay=True)


def alignment_gradient(n):
    X = np.concatenate(series(n)), np.array([0, n, 2 * n])
    return lambda: alignment_slopes(X, local=LocalKernel(1.0, 0.0, True))


def subtrees(n, what, logarithm=False):
    """Forty trees whose root has n children, each with one leaf."""
    labels = np.tile([1, 0], n)
    degrees = np.tile([0, 1], n)
    labels, degrees = (np.tile(np.append(a, b), 40) for a, b in ((labels, 0), (degrees, n)))
    offsets = (2 * n + 1) * np.arange(41)
    nodes = sort_nodes(labels, degrees, offsets, of_children=True)
    return lambda: subtree_sums(nodes, 40, what, decay=0.5, logarithm=logarithm)


def words_with_mismatches(n):
    numbers = RNG.integers(4**8, size=10 * n)
    offsets = 10 * np.arange(n + 1)
    return lambda: neighbour_counts(numbers, offsets, 4, 8, 3)


def products_of_counts(n):
    A = sparse.random_array((n, 2 * n), density=0.15, rng=0, format="csr")
    return lambda: gram_of_counts(A)


def nearest_series(n):
    X = np.stack(series(n, 40))
    model = DTWNeighborsClassifier(1).fit(X, np.arange(40) % 2)
    queries = np.stack(series(n, 40))
    return lambda: model.predict(queries)


def all_roles(n):
    X = RNG.random((n, min(n, 40))) < 0.5
    model = RoleMiner(2, algorithm="complete", max_candidates=10**8)
    return lambda: model.fit(X)


def of(kernel, samples, n):
    X = samples(n)
    return lambda: kernel(X)


def pair(function, samples, n, **options):
    x, z = samples(n)
    return lambda: function(x, z, **options)


PAIRS = PairHMM(np.full((4, 4), 0.02) + 0.17 * np.eye(4), [0.25] * 4, symbols=LETTERS)

# Functions that return a call of the given size, with a size at which the call takes many seconds.
ROUTES = {
    "GapWeighted": (lambda n: of(GapWeighted(3, 0.5), strings, n), 60_000),
    "GapWeighted of many letters": (
        lambda n: of(GapWeighted(2, 0.5), lambda m: [list(RNG.integers(50, size=m))] * 2, n),
        60_000,
    ),
    "gradient of GapWeighted": (gap_slopes, 60_000),
    "GapNumberWeighted": (lambda n: of(GapNumberWeighted(3, 0.5), strings, n), 60_000),
    "AllSubsequences": (lambda n: of(AllSubsequences(), strings, n), 100_000),
    "PairHMM": (lambda n: of(Normalized(PAIRS), strings, n), 60_000),
    "products of counts": (products_of_counts, 4_000),
    "words with mismatches": (words_with_mismatches, 2_000),
    "edit distance": (lambda n: pair(edit_distance, strings, n), 1_000_000),
    "alignment": (lambda n: pair(alignment, strings, n), 40_000),
    "alignments": (lambda n: of(pairwise_alignment, strings, n), 100_000),
    "costs of edits": (
        lambda n: of(lambda X: pairwise_edit_distance(X, gap_cost=1.5), strings, n),
        100_000,
    ),
    "GlobalAlignment": (lambda n: of(Normalized(GlobalAlignment(1.0)), series, n), 40_000),
    "gradient of GlobalAlignment": (alignment_gradient, 30_000),
    "dtw": (lambda n: pair(dtw, series, n), 100_000),
    "dtw_path": (lambda n: pair(dtw_path, series, n), 60_000),
    "subsequence_dtw": (lambda n: pair(subsequence_dtw, series, n), 60_000),
    "soft_dtw": (lambda n: pair(soft_dtw, series, n), 15_000),
    "pairwise_dtw": (lambda n: of(pairwise_dtw, lambda m: series(m, 20), n), 20_000),
    "pairwise_elastic": (
        lambda n: of(lambda X: pairwise_elastic(X, metric="twe"), lambda m: series(m, 20), n),
        20_000,
    ),
    "nearest series": (nearest_series, 6_000),
    "subtrees": (lambda n: subtrees(n, "all"), 6_000),
    "gradient of subtrees": (lambda n: subtrees(n, "slopes"), 6_000),
    "gradient of their logarithms": (lambda n: subtrees(n, "slopes", True), 4_000),
    "all roles": (all_roles, 300),
}


def unheard(call):
    """Interrupt a call, and return for how long it did not end; None where it ended before."""
    sent = []

    def send():
        # the compiler discards errors that are raised in its callbacks
        with global_compiler_lock:
            faulthandler.dump_traceback_later(GIVE_UP, exit=True)
            sent.append(time.process_time())
            os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(DELAY, send)
    timer.start()
    try:
        call()
    except KeyboardInterrupt:
        return time.process_time() - sent[0]
    finally:
        timer.cancel()
        faulthandler.cancel_dump_traceback_later()
    return None


def main():
    # a shell that starts a process in the background makes it ignore interrupts
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for line in sys.stdin:
        build, size = ROUTES[line.strip()]
        build(12)()  # compile the loop before the interrupt
        sys.stdout.write(f"{unheard(build(size))}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

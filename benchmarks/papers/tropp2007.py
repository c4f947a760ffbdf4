"""Number of measurements for orthogonal matching pursuit, Tropp and Gilbert 2007."""

import numpy as np

from benchmarks.papers import PRINTED, Entry, value

# Sparsity, with the number of measurements that recovers 99 % of the signals.
TABLE = {
    256: {4: 56, 8: 96, 12: 136, 16: 184, 20: 228},
    1024: {5: 80, 10: 140, 15: 210},
}
TRIALS = 250


def measurements(d, m):
    """Line through the numbers of measurements that recover 95 %."""
    return round(1.5 * m * np.log(d) + 15.4)


def recovered(d, m, n_measurements, trials=TRIALS):
    """Fraction of signals with m ones in d values whose places are found."""
    from skmoderndata.sparse_coding import SparseCoder

    rng = np.random.default_rng([d, m, n_measurements])
    count = 0
    for _ in range(trials):
        # draw the columns of the measurement matrix
        atoms = rng.normal(size=(d, n_measurements))
        support = rng.choice(d, size=m, replace=False)
        measured = atoms[support].sum(axis=0)
        coder = SparseCoder(atoms, transform_n_nonzero_coefs=m)
        code = coder.fit_transform(measured[None])[0]
        count += set(np.flatnonzero(code)) == set(support)
    return count / trials


def values(quick):
    found = []
    trials = 100 if quick else TRIALS
    for d, numbers in TABLE.items():
        for m, printed in numbers.items():
            if quick and (d > 256 or m > 8):
                continue
            share = recovered(d, m, printed, trials)
            expected = "99 %"
            found.append(_row(d, m, printed, expected, share, holds=share >= 0.97))

    # the number of measurements on the line is enough; a quarter fewer are too few
    for m in TABLE[256]:
        if quick and m > 8:
            continue
        n_measurements = measurements(256, m)
        share = recovered(256, m, n_measurements, trials)
        found.append(_row(256, m, n_measurements, "95 %", share, holds=share >= 0.91))
        fewer = 3 * n_measurements // 4
        share = recovered(256, m, fewer, trials)
        found.append(_row(256, m, fewer, "below 95 %", share, holds=share < 0.95))
    return found


def _row(d, m, n_measurements, expected, share, *, holds):
    return value(
        f"d = {d}, {m} non-zeros, {n_measurements} measurements",
        "signals recovered",
        expected,
        PRINTED,
        f"{100 * share:.1f} %",
        holds=holds,
    )


ENTRY = Entry(
    title="Recovery by orthogonal matching pursuit",
    cites="Tropp and Gilbert: Signal recovery from random measurements via orthogonal matching "
    "pursuit. IEEE Transactions on Information Theory 53, 2007.",
    source=(
        "table I lists the number of Gaussian measurements that recover 99 % of the signals. "
        "For 95 % and d = 256, the number is on the line N = 1.5 m ln d + 15.4. The paper "
        "was not available, so we quote the table and the line from memory."
    ),
    values=values,
    remarks=(
        f"We measure {TRIALS} signals of m ones at random places, each with its own matrix "
        "(the paper uses 1000 signals). A signal is recovered if the pursuit finds these "
        "places. A fraction agrees if it is less than three standard errors below the "
        "printed fraction (1.9 %, and 4 % on the line). With a quarter fewer measurements "
        "than on the line, the fraction has to be below 95 %."
    ),
)

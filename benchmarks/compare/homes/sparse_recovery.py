"""Signals of few cosines from few random measurements with noise."""

from types import SimpleNamespace

import numpy as np
from scipy.fft import idct

from benchmarks.compare.home import Case, Home
from skmoderndata.sparse_coding import SparseRecovery


def make(seed, n_signals=300, n_nonzero_coefs=8, noise=0.05, n_measurements=70):
    """Sums of cosines of 256 values, measured by random vectors."""
    rng = np.random.default_rng(seed)
    codes = np.zeros((n_signals, 256))
    for code in codes:
        places = rng.choice(256, n_nonzero_coefs, replace=False)
        code[places] = rng.normal(size=n_nonzero_coefs)
    signals = idct(codes, axis=1, norm="ortho")
    Phi = rng.normal(size=(n_measurements, 256)) / np.sqrt(n_measurements)
    Y = Phi @ signals.T
    Y = Y + noise * rng.normal(size=Y.shape)
    return Case(
        inputs=SimpleNamespace(Phi=Phi, Y=Y, n_nonzero_coefs=n_nonzero_coefs),
        truth=signals,
        about=f"{n_signals} signals of 256 values, each a sum of {n_nonzero_coefs} cosines; "
        f"{n_measurements} measurements of each, with noise",
    )


def ours(inputs):
    model = SparseRecovery("dct", n_nonzero_coefs=inputs.n_nonzero_coefs)
    return model.fit(inputs.Phi, inputs.Y).coef_


def score(case, signals):
    rest = np.linalg.norm(signals - case.truth, axis=1)
    return np.mean(rest / np.linalg.norm(case.truth, axis=1))


HOME = Home(
    when="you want to compute many signals from few measurements each",
    title="signals from few measurements",
    kind="signals and images",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="relative error of the signals",
    smaller=True,
    by_time=True,
    gain="Recovers the signals with an error of {ours:.0%} in {our_seconds:.2g} s; {name} "
    "takes {times:.0f} times as long.",
    lines=(
        'model = SparseRecovery("dct", n_nonzero_coefs=n_nonzero_coefs)\n'
        "model.fit(Phi, Y).coef_"
    ),
    levels={"n_signals": (30, 2000), "noise": (0.0, 0.2), "n_measurements": (40, 120)},
)

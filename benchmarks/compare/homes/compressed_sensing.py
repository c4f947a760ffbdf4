"""Signals of few cosines, compressed by a sensor that does not know the basis, and restored."""

from types import SimpleNamespace

import numpy as np
from scipy.fft import idct

from benchmarks.compare.home import Case, Home
from skmoderndata.sparse_coding import CompressedSensing


def make(seed, n=200, n_nonzero_coefs=8, n_measurements=80, noise=0.02):
    """Sums of cosines of 256 values with a little noise."""
    rng = np.random.default_rng(seed)
    codes = np.zeros((n, 256))
    for code in codes:
        places = rng.choice(256, n_nonzero_coefs, replace=False)
        code[places] = rng.choice([-1, 1], n_nonzero_coefs) * rng.uniform(0.5, 1.5)
    signals = idct(codes, axis=1, norm="ortho")
    return Case(
        inputs=SimpleNamespace(
            X=signals + noise * rng.normal(size=signals.shape) / 4,
            n_measurements=n_measurements,
            n_nonzero_coefs=n_nonzero_coefs,
        ),
        truth=signals,
        about=f"{n} signals of 256 values, each a sum of {n_nonzero_coefs} cosines, with noise; "
        f"{n_measurements} numbers may be kept for each signal",
    )


def ours(inputs):
    model = CompressedSensing(
        inputs.n_measurements,
        algorithm="omp",
        n_nonzero_coefs=inputs.n_nonzero_coefs,
        random_state=0,
    )
    measurements = model.fit_transform(inputs.X)
    return measurements, model.inverse_transform(measurements)


def score(case, answer):
    measurements, signals = answer
    if measurements.shape[1] > case.inputs.n_measurements:
        return np.inf
    rest = np.linalg.norm(signals - case.truth, axis=1)
    return np.mean(rest / np.linalg.norm(case.truth, axis=1))


HOME = Home(
    when="a sensor can record or send only a few numbers of each signal",
    title="measuring and restoring signals of few cosines",
    kind="signals and images",
    generated=True,
    make=make,
    ours=ours,
    score=score,
    score_name="relative error of the restored signals",
    margin=0.03,
    smaller=True,
    by_time=True,
    gain="Restores the signals with an error of {ours:.1%} in {our_seconds:.2g} s; {name} "
    "takes {times:.0f} times as long.",
    lines=(
        'model = CompressedSensing(n_measurements, algorithm="omp",\n'
        "                          n_nonzero_coefs=n_nonzero_coefs)\n"
        "model.inverse_transform(model.fit_transform(X))"
    ),
    levels={"n_measurements": (30, 50, 120), "noise": (0.0, 0.5), "n": (100, 1000)},
)

"""The introductory example of slow feature analysis."""

import numpy as np

from benchmarks.papers import OWN_TARGET, THEORY, Entry, value


def values(quick):
    from skmoderndata.decomposition import SlowFeatureAnalysis

    found = []
    for n_samples in (500,) if quick else (500, 2000, 10_000):
        t = np.linspace(0, 2 * np.pi, n_samples, endpoint=False)
        X = np.column_stack([np.sin(t) + np.cos(11 * t) ** 2, np.cos(11 * t)])
        model = SlowFeatureAnalysis(n_components=1, degree=2).fit(X)
        slowest = np.asarray(model.transform(X))[:, 0]

        correlation = abs(np.corrcoef(slowest, np.sin(t))[0, 1])
        measured = np.mean(np.diff(slowest) ** 2)
        # the training signal does not contain the step that would close the period
        closed = 2 * (1 - np.cos(2 * np.pi / n_samples))
        setting = f"{n_samples} samples"
        eta = float(model.eta_values_[0])
        delta = float(model.delta_values_[0])

        found += [
            # direction
            value(
                setting,
                "1 - correlation of the slowest output with sin t",
                "at most 1e-8",
                OWN_TARGET,
                1 - correlation,
                holds=1 - correlation <= 1e-8,
            ),
            # slowness: eta = T / (2 pi) sqrt(delta), with delta measured on the output itself
            value(
                setting,
                "eta of the slowest output",
                "1",
                THEORY,
                eta,
                holds=abs(eta - 1) <= 3 / n_samples,
            ),
            value(
                setting,
                "delta, compared with 2 (1 - cos(2 pi / T))",
                f"{closed:.6g}",
                THEORY,
                delta,
                holds=abs(delta / closed - 1) <= 3 / n_samples,
            ),
            value(
                setting,
                "relative difference of delta from the delta measured on the output",
                "at most 1e-8",
                OWN_TARGET,
                abs(delta / measured - 1),
                holds=abs(delta / measured - 1) <= 1e-8,
            ),
        ]

    return found


ENTRY = Entry(
    title="Slow feature analysis of two mixed signals",
    cites="Wiskott, Sejnowski: Slow feature analysis: unsupervised learning of invariances. "
    "Neural Computation 14(4), 2002, the example of section 2: "
    "x1 = sin t + cos² 11t, x2 = cos 11t.",
    source=(
        "the example states that x1 - x2² = sin t is the slowest quadratic function. We chose "
        "the tolerances. For a sine with one period in T samples, eta and delta are exact up "
        "to terms of order 1 / T, because the closing step is missing."
    ),
    values=values,
)

"""The driving force of a logistic map, found from the series alone."""

import numpy as np

from benchmarks.papers import OWN_TARGET, PRINTED, Entry, value


def values(quick):
    found = [*_specified(4, 2, 0.995)]
    if not quick:
        found += [*_specified(3, 3, 0.995), *_tutorial()]
    return found


def _specified(n_lags, degree, least):
    force = _three_sines(6000)
    force /= np.abs(force).max()
    slow = _analyse(_logistic(3.6 + 0.13 * force), n_lags, degree)
    correlation = _correlation(slow, force, n_lags)
    setting = f"6000 samples, {n_lags} lags, degree {degree}"
    return [
        value(
            setting,
            "correlation with the driving force",
            f"at least {least}",
            OWN_TARGET,
            correlation,
            holds=correlation >= least,
        )
    ]


def _tutorial():
    n = 10_000
    n_lags = 10
    force = _three_sines(n)
    series = _logistic(3.6 + 0.13 * force)
    # the tutorial keeps all 285 directions, and divides variances by n - 1
    slow = _analyse(series, n_lags, 3, rank_tol=1e-15)
    covariance = abs(np.cov(_unit(force)[: 1 - n_lags], slow)[0, 1])
    found = [
        ("covariance with the driving force", "1.000", f"{covariance:.3f}"),
        ("eta of the series", "3004", f"{int(_eta(series, n))}"),
        ("eta of the slow feature", "10.218", f"{_eta(slow, 9996):.3f}"),
    ]
    setting = "10,000 samples, 10 lags, degree 3"
    return [
        value(setting, quantity, printed, PRINTED, ours, holds=ours == printed)
        for quantity, printed, ours in found
    ]


def _three_sines(n):
    # the series is chaotic, so use the same order of operations as the tutorial
    t = np.linspace(0, 1, n, endpoint=False)
    return sum(np.sin(2 * np.pi * periods * t) for periods in (5, 11, 13))


def _logistic(r):
    series = np.empty(r.size)
    series[0] = 0.6
    for i in range(1, r.size):
        series[i] = r[i] * series[i - 1] * (1 - series[i - 1])
    return series


def _analyse(series, n_lags, degree, **settings):
    from skmoderndata.decomposition import SlowFeatureAnalysis

    windows = np.lib.stride_tricks.sliding_window_view(series, n_lags)
    model = SlowFeatureAnalysis(n_components=1, degree=degree, **settings).fit(windows)
    return np.asarray(model.transform(windows))[:, 0]


def _correlation(slow, force, n_lags):
    # the window at t contains t, ..., t + n_lags - 1; compare with the force at its middle
    middle = (n_lags - 1) // 2
    return abs(np.corrcoef(slow, force[middle : middle + slow.size])[0, 1])


def _unit(x):
    return (x - x.mean()) / x.std()


def _eta(x, period):
    return period / (2 * np.pi) * np.sqrt(np.mean(np.diff(x) ** 2) / x.var(ddof=1))


ENTRY = Entry(
    title="Driving force of a logistic map",
    cites="Wiskott: Estimating driving forces of nonstationary time series with slow feature "
    "analysis. arXiv:cond-mat/0312317, 2003.",
    source=(
        "the printed values come from the tutorial 'Logistic Maps' of the Modular toolkit "
        "for Data Processing. This tutorial reproduces a figure of the paper with r = 3.6 + "
        "0.13 f, where f is a sum of three sines (5, 11, 13 periods). We set the other "
        "expected values ourselves; for these values, f is scaled to [-1, 1]."
    ),
    remarks="The tutorial keeps all 285 expanded directions, so we set `rank_tol=1e-15`. By "
    "default, directions below the rounding errors of the covariance are dropped.",
    values=values,
)

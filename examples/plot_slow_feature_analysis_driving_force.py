"""
Which hidden force drives a chaotic series?
===========================================

The parameter of a logistic map varies with time, and we see only the chaotic series. The slowest
function of a window of four values follows the hidden parameter almost exactly, although neither
the map nor the parameter is known. The experiment on the left comes from Wiskott (2003).

Moving averages are the usual tool. They also get close on the left if you combine the mean and
the variance by a regression on the parameter that you want to find, and smooth over the width
that turns out best. On the right the parameter varies ten times faster. Now averages blur it,
whereas a function of four values does not.
"""

# %%
# Use windows of four values and quadratic functions of them. Incomplete windows at the start
# contain NaN, and slow feature analysis skips them. Windows look back: their middle lies two rows
# before their last row.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter1d
from sklearn.pipeline import make_pipeline

from skmoderndata.datasets import make_logistic_map
from skmoderndata.decomposition import SlowFeatureAnalysis
from skmoderndata.preprocessing import TimeDelayEmbedding

model = make_pipeline(
    TimeDelayEmbedding(n_lags=4, padding="nan"),
    SlowFeatureAnalysis(n_components=1, degree=2),
)


def slowest_function(X):
    y = np.roll(model.fit_transform(X)[:, 0], -2)
    y[np.isnan(y)] = np.nanmean(y)
    return y


def smoothed_moments(X, force, width):
    mean = gaussian_filter1d(X[:, 0], width)
    variance = gaussian_filter1d((X[:, 0] - mean) ** 2, width)
    design = np.column_stack([np.ones(len(X)), mean, variance])
    return design @ np.linalg.lstsq(design, force, rcond=None)[0]


def correlation(y, force):
    return np.corrcoef(y, force)[0, 1]


# %%
fig, axes = plt.subplots(3, 2, figsize=(11, 6.5), sharex="col", layout="constrained")
for column, (speed, shown) in enumerate([(1, 6000), (10, 600)]):
    X, force = make_logistic_map(6000, periods=speed * np.array([5, 11, 13]), random_state=0)
    averages = max(
        (smoothed_moments(X, force, width) for width in (3, 5, 7, 10, 15, 20, 40)),
        key=lambda y: correlation(y, force),
    )
    slow = slowest_function(X)
    slow = slow * np.sign(correlation(slow, force)) * np.std(force) + np.mean(force)
    top, middle, bottom = axes[:, column]
    top.plot(X[:shown, 0], ".", ms=1 if shown > 1000 else 3, color="0.35")
    top.set_title(f"the series ({shown} of 6000 steps)")
    for ax, y, name in (
        (middle, averages, "moving moments, fitted"),
        (bottom, slow, "slowest function of four values"),
    ):
        r = correlation(y, force)
        print(f"force {speed:2d} times as fast, {name}: correlation {r:.4f}")
        ax.plot(y[:shown], color="C0", lw=1, label="estimate")
        ax.plot(force[:shown], color="C1", ls="--", lw=1.5, label="driving force")
        ax.set_title(f"{name}: correlation {r:.4f}")
        ax.set_ylim(-1.5, 1.5)
    bottom.set_xlabel("time step")
axes[1, 0].legend(loc="upper right")
plt.show()

"""
When and where does a single trial reveal the stimulus?
=======================================================

Sixteen electrodes record half a second after each picture. The mean over many trials of each kind
shows where two kinds differ, but a single trial is mostly noise, and it has 400 numbers: more than
there are trials. Which electrodes, at which times, identify the kind of an unseen trial?
"""

# %%
# The trials are generated with a known truth: the noise is correlated in time and shared by
# neighbouring electrodes. In one of two kinds of trials, a short wave appears at electrode 5
# after 200 ms, and a weaker one at electrode 11 after 340 ms.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from skmoderndata.svm import SupportFeatureMachine

rng = np.random.default_rng(0)
N_TRIALS, N_TRAIN, CHANNELS, TIMES = 600, 100, 16, 25
time = 20 * np.arange(TIMES)  # ms
effect = np.zeros((CHANNELS, TIMES))
for channel, at, height in ((5, 200, 1.6), (11, 340, 1.3)):
    effect[channel] = height * np.exp(-(((time - at) / 30) ** 2))
noise = rng.normal(size=(N_TRIALS, CHANNELS, TIMES))
noise = gaussian_filter(noise, (0, 0.7, 1.0))
trials = noise / noise.std()
y = rng.integers(2, size=N_TRIALS)
trials[y == 1] += effect
X = trials.reshape(N_TRIALS, -1)
train, test = slice(N_TRAIN), slice(N_TRAIN, None)

# %%
# Compare three linear classifiers: a support vector machine with all numbers; logistic regression
# with an L1 penalty, whose strength is chosen by cross-validation; and the support feature machine
# with its defaults.

l1 = LogisticRegression(solver="liblinear", l1_ratio=1, max_iter=1000)
models = {
    "LinearSVC": GridSearchCV(LinearSVC(), {"C": np.logspace(-4, 0, 5)}, cv=5),
    "L1 logistic regression": GridSearchCV(l1, {"C": np.logspace(-1.5, 1, 6)}, cv=5),
    "SupportFeatureMachine": SupportFeatureMachine(),
}
maps = {"truth": effect}
scores = {}
for name, model in models.items():
    model.fit(X[train], y[train])
    best = getattr(model, "best_estimator_", model)
    maps[name] = best.coef_[0].reshape(CHANNELS, TIMES)
    scores[name] = model.score(X[test], y[test])
    used = maps[name] != 0
    inside = used & (effect > 0.1)
    print(
        f"{name}: {scores[name]:.1%} of new trials correct, {used.sum()} numbers used, ",
        end="",
    )
    print(f"{inside.sum()} of them within the waves")

# %%
# The support vector machine with all numbers is overwhelmed by noise. The L1 penalty finds the
# waves but also keeps dozens of other numbers. The support feature machine pays for the number
# of features. It uses the peaks of both waves. It also gives the neighbour of the first
# electrode a negative weight, which removes the noise that the two electrodes share. It is the
# most accurate.

fig, axes = plt.subplots(1, 4, figsize=(13, 3.8), sharey=True, layout="constrained")
for ax, (name, weights) in zip(axes, maps.items(), strict=True):
    limit = np.abs(weights).max()
    ax.imshow(
        weights,
        cmap="RdBu_r",
        vmin=-limit,
        vmax=limit,
        aspect="auto",
        extent=(0, 500, CHANNELS - 0.5, -0.5),
    )
    title = name
    if name in scores:
        title += f"\n{scores[name]:.0%} correct, {(weights != 0).sum()} numbers"
    ax.set(title=title, xlabel="time after the picture (ms)")
axes[0].set_ylabel("electrode")
plt.show()

"""
How do I select few features for a rare class?
==============================================

One sample in ten belongs to the second class, and the labels are noisy. Slack for the rare class
costs no more than slack for the other class, so it is cheapest to sacrifice the rare class. Does
``class_weight="balanced"`` help?
"""

# %%
# Two of 300 features are relevant. We vary the cost of slack, C, and measure on test samples
# which fraction of each class is recognised. The middle panel counts the features that each
# machine keeps.

import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.datasets import make_sparse_classes
from skmoderndata.svm import SupportFeatureMachine

X, y, truth = make_sparse_classes(
    2150, 300, n_informative=2, margin=0.1, flip_y=0.04, weight=0.1, random_state=1
)
X_train, y_train, X_test, y_test = X[:150], y[:150], X[150:], y[150:]
prices = np.logspace(-1.5, 0.5, 7)
settings = {"equal costs": None, "balanced costs": "balanced"}
fitted = {
    name: [
        SupportFeatureMachine(C, class_weight=weights, refit=False).fit(X_train, y_train)
        for C in prices
    ]
    for name, weights in settings.items()
}


def recall(machine, label):
    return np.mean(machine.predict(X_test)[y_test == label] == label)


# %%
# With equal costs, no feature is worth its price while slack is cheap: all samples are assigned to
# the larger class, and the right panel has no line to draw. With balanced costs the same price is
# enough for both classes, with the two relevant features. If slack is expensive, both machines
# spend features on single noisy labels and miss the rare class again.

fig, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
colors = {"equal costs": "C3", "balanced costs": "C0"}
for name, machines in fitted.items():
    rare = [recall(machine, 1) for machine in machines]
    common = [recall(machine, 0) for machine in machines]
    sizes = [machine.get_support().sum() for machine in machines]
    axes[0].semilogx(prices, rare, "o-", color=colors[name], label=f"{name}, rare class")
    axes[0].semilogx(prices, common, "o:", color=colors[name], label=f"{name}, other class")
    axes[1].semilogx(prices, sizes, "o-", color=colors[name], label=name)
axes[0].set(xlabel="C", ylabel="fraction recognised", title="Test samples", ylim=(-0.03, 1.03))
axes[0].legend(fontsize=7, loc="upper left", bbox_to_anchor=(0.0, 0.62))
axes[1].axhline(2, color="0.6", ls="--", label="relevant")
axes[1].set(xlabel="C", ylabel="features", title="Features kept")
axes[1].legend(fontsize=8)

i, j = np.flatnonzero(truth)
for label, color, size in ((0, "0.7", 8), (1, "k", 16)):
    axes[2].scatter(
        *X_train[y_train == label][:, [i, j]].T, c=color, s=size, label=f"class {label}"
    )
line = np.array([-3.5, 3.5])
middle = int(np.argmin(np.abs(prices - 0.1)))
for name, machines in fitted.items():
    w, b = machines[middle].coef_[0], machines[middle].intercept_[0]
    if w[j]:
        axes[2].plot(line, -(w[i] * line + b) / w[j], color=colors[name], label=name)
axes[2].set(
    xlim=line,
    ylim=line,
    xlabel=f"feature {i}",
    ylabel=f"feature {j}",
    title=f"Training samples, C = {prices[middle]:.2g}",
)
axes[2].legend(fontsize=8, loc="lower left")
plt.show()

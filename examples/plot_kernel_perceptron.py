"""
====================================================
How many samples does a perceptron need to remember?
====================================================

Handwritten digits arrive one after the other, and the task is to separate odd digits from even
ones. The function changes only on mistakes. The mean of all functions so far is steadier than the
last function. With a budget of sixty digits, later mistakes are either projected onto the digits
that are kept or replace the oldest digit.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from skmoderndata.linear_model import KernelPerceptron

X, digit = load_digits(return_X_y=True)
X, odd = X / 16, digit % 2

# %%
# Learn five orders of the digits; after every hundred digits, classify the last 597.
machines = {
    "last function": {},
    "mean of all functions": {"average": True},
    "60 digits, projection": {"budget": 60},
    "60 digits, oldest removed": {"budget": 60, "budget_policy": "oldest"},
}
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for name, settings in machines.items():
    errors, sizes = [], []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(X))
        model, course, counts = KernelPerceptron(gamma=0.1, **settings), [], []
        for start in range(0, 1200, 100):
            rows = order[start : start + 100]
            model.partial_fit(X[rows], odd[rows], classes=[0, 1])
            course.append(100 * (1 - model.score(X[order[1200:]], odd[order[1200:]])))
            counts.append(model.dual_coef_.shape[1])
        errors.append(course)
        sizes.append(counts)
    axes[0].plot(range(100, 1300, 100), np.mean(errors, axis=0), "o-", label=name)
    # dashes keep both curves visible where two coincide
    style = "s--" if "oldest" in name or "mean" in name else "o-"
    axes[1].plot(range(100, 1300, 100), np.mean(sizes, axis=0), style, label=name)
axes[0].set(xlabel="digits seen", ylabel="error on 597 other digits, per cent", ylim=(0, None))
axes[1].set(xlabel="digits seen", ylabel="digits remembered", ylim=(0, 240))
axes[1].legend(loc="upper left")
plt.show()

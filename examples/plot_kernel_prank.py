"""
=======================================================
How fast does a ranking learn from a stream of samples?
=======================================================

Wines arrive one after the other; the task is to rank their alcohol content as low, mid or high
from twelve other measurements. The function changes only on mistakes. The mean of all functions so
far is steadier than the last function; a budget of twenty samples forgets the earliest ones.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from skmoderndata.ranking import KernelPRank

wine = load_wine().data
X, alcohol = StandardScaler().fit_transform(wine[:, 1:]), wine[:, 0]
words = np.array(["low", "mid", "high"])
ranks = np.digitize(alcohol, np.quantile(alcohol, [1 / 3, 2 / 3]))

# %%
# Learn twenty orders of the wines; after every ten wines, rank the remaining ones.
machines = {
    "last function": {},
    "mean of all functions": {"average": True},
    "budget of 20 samples": {"budget": 20},
}
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for name, settings in machines.items():
    errors, sizes = [], []
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(X))
        model, course, counts = KernelPRank(gamma=0.05, **settings), [], []
        for start in range(0, 120, 10):
            rows = order[start : start + 10]
            model.partial_fit(X[rows], words[ranks[rows]], classes=words)
            guess = np.array([np.flatnonzero(words == word)[0] for word in model.predict(X)])
            course.append(np.abs(guess - ranks)[order[120:]].mean())
            counts.append(len(model.dual_coef_))
        errors.append(course)
        sizes.append(counts)
    axes[0].plot(range(10, 130, 10), np.mean(errors, axis=0), "o-", label=name)
    axes[1].plot(range(10, 130, 10), np.mean(sizes, axis=0), "o-", label=name)
axes[0].set(xlabel="wines seen", ylabel="ranks off, 58 other wines", ylim=(0, None))
axes[1].set(xlabel="wines seen", ylabel="wines kept")
axes[0].legend()
plt.show()

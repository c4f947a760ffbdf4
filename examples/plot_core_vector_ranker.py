"""
============================================================
Can I learn a ranking if every judge uses a different scale?
============================================================

Forty judges grade samples. They agree on the order of the samples, but each judge has a
different level and strictness. A regression of the grades mixes these up, whereas ranking
compares samples only within a judge. The left panels show the true value and the functions
that both models learn. The right panel shows the fraction of pairs in the correct order among
new samples, as the levels of the judges drift apart.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVR

from skmoderndata.svm import CoreVectorRanker


def value(X):
    """True value of a sample, on which all judges agree."""
    return np.sin(1.5 * X[:, 0]) + 0.4 * X[:, 1]


def judged(n, spread, rng):
    """Samples, their judges and their grades; each judge grades at his own level."""
    judge = rng.integers(0, 40, n)
    # Each judge sees one region, and likes or dislikes all of it.
    corner = rng.uniform(-2, 2, size=(40, 2))
    X = corner[judge] + 1.2 * rng.uniform(-1, 1, size=(n, 2))
    level = spread * rng.normal(size=40)
    strict = rng.uniform(0.5, 2.0, size=40)
    return X, judge, np.round(2 * strict[judge] * (value(X) + level[judge]))


rng = np.random.default_rng(0)
grid = np.stack(np.meshgrid(*[np.linspace(-2.5, 2.5, 100)] * 2), axis=-1)
flat = grid.reshape(-1, 2)

# %%
# Compare new samples by their true values.
new = rng.uniform(-2.5, 2.5, size=(1500, 2))
truth = np.round(4 * value(new))
spreads, scores = [0.0, 0.5, 1.0, 2.0, 4.0], {"CoreVectorRanker": [], "SVR": []}
for spread in spreads:
    X, judge, grade = judged(500, spread, np.random.default_rng(1))
    ranker = CoreVectorRanker(C=0.05, gamma=0.7, random_state=0).fit(X, grade, query_ids=judge)
    regression = SVR(C=10, gamma=0.7).fit(X, grade)
    scores["CoreVectorRanker"].append(ranker.score(new, truth))
    order = np.argsort(regression.predict(new))
    above = truth[:, None] > truth
    guess = regression.predict(new)
    scores["SVR"].append((guess[:, None] > guess)[above].mean())
    if spread == 2.0:
        fields = [value(flat), ranker.predict(flat), regression.predict(flat)]

fig, axes = plt.subplots(1, 4, figsize=(15, 3.9), layout="constrained")
for ax, field, name in zip(
    axes, fields, ["true value", "CoreVectorRanker", "SVR"], strict=False
):
    ax.contourf(grid[..., 0], grid[..., 1], field.reshape(100, 100), 15, cmap="viridis")
    ax.set(title=name, aspect="equal")
axes[1].set_xlabel(
    f"{len(ranker.support_)} support vectors, duality gap {ranker.dual_gap_:.1%}"
)
for name, line in scores.items():
    axes[3].plot(spreads, line, "o-", label=name)
axes[3].set(xlabel="spread of the judges' levels", ylabel="pairs in order", ylim=(0.5, 1))
axes[3].legend()
plt.show()

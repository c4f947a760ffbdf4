"""
Which side does each member of a club belong to?
================================================

Thirty-four people in two groups are connected by friendships. We know the group of one person on
each side. How far does each kernel on the nodes of a graph carry these two labels?
"""

# %%
# The graph has two groups of 17: friendships are common within a group and rare between the
# groups.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import spectral_embedding
from sklearn.svm import SVC

from skmoderndata.kernels import ExponentialDiffusion, Normalized, VonNeumann

side = np.repeat([0, 1], 17)


def club(seed):
    rng = np.random.default_rng(seed)
    P = np.where(side[:, None] == side, 0.25, 0.04)
    A = np.triu(rng.random((34, 34)) < P, 1).astype(float)
    for i in range(33):  # give everybody at least one acquaintance
        A[i, i + 1] = max(A[i, i + 1], float(i != 16))
    return A + A.T


# %%
# Compare the heat kernel and the von Neumann kernel, with more or less weight on long walks, on
# twenty clubs, with the two labelled people drawn at random.

rates = [0.3, 1.0, 3.0, 10.0]
shares = [0.2, 0.5, 0.8, 0.98]
hits = {"heat kernel": np.zeros((20, 4)), "von Neumann": np.zeros((20, 4))}
everyone = list(range(34))
for trial in range(20):
    A, rng = club(trial), np.random.default_rng(trial)
    known = [int(rng.integers(17)), int(17 + rng.integers(17))]
    for j in range(4):
        kernels = {
            "heat kernel": ExponentialDiffusion(A, rates[j], laplacian=True),
            "von Neumann": Normalized(VonNeumann(A, relative_decay=shares[j])),
        }
        for name, kernel in kernels.items():
            model = SVC(kernel=kernel, C=1e3).fit(known, side[known])
            hits[name][trial, j] = np.mean(model.predict(everyone) == side)

# %%
# One label in each group is enough to classify at least nine in ten people correctly. Heat has to
# diffuse far enough to reach everybody; walks that hardly decay are dominated by the few people
# with many friends.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
A, known = club(1), [3, 30]
Z = spectral_embedding(A, n_components=2, random_state=0, drop_first=True)
K = ExponentialDiffusion(A, 1.0, laplacian=True)
heat = K(everyone, [known[0]])[:, 0] - K(everyone, [known[1]])[:, 0]
for i, j in zip(*np.nonzero(np.triu(A)), strict=True):
    left.plot(*Z[[i, j]].T, color="0.85", linewidth=0.8, zorder=0)
for s, marker in ((0, "o"), (1, "^")):
    here = side == s
    left.scatter(*Z[here].T, c=heat[here], cmap="coolwarm", vmin=-0.1, vmax=0.1, marker=marker)
left.scatter(*Z[known].T, s=160, facecolors="none", edgecolors="k")
left.set(xticks=[], yticks=[], title="Heat from two labelled people (circled)")
for name, values in hits.items():
    right.plot(range(4), values.mean(axis=0), "o-", label=name)
labels = [f"decay {r:g}\nshare {s:g}" for r, s in zip(rates, shares, strict=True)]
right.set(
    xticks=range(4), xticklabels=labels, ylim=(0.5, 1), title="Accuracy, mean of 20 clubs"
)
right.legend()
plt.show()
for name, values in hits.items():
    print(name, values.mean(axis=0).round(3))

"""
Which functions of the input go with the outputs?
=================================================

Two outputs depend on two inputs through a ring and a saddle. Directions of maximum covariance are
found by a linear and by a Gaussian kernel; the second draws both shapes, with nothing to tune.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cross_decomposition import PLSSVD

from skmoderndata.cross_decomposition import KernelPLSSVD

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(400, 2))
ring = np.cos(np.pi * np.hypot(*X.T))
saddle = X[:, 0] * X[:, 1]
Y = np.c_[ring / ring.std(), 0.6 * saddle / saddle.std()] + 0.3 * rng.normal(size=(400, 2))
train, new = slice(0, 250), slice(250, None)

linear = PLSSVD(2, scale=False).fit(X[train], Y[train])
pls = KernelPLSSVD(2, gamma=2.0).fit(X[train], Y[train])
U, V = linear.transform(X[new], Y[new])
linear_score = np.mean([np.corrcoef(u, v)[0, 1] for u, v in zip(U.T, V.T, strict=True)])
print(f"unseen correlation: linear {linear_score:.2f}, kernel {pls.score(X[new], Y[new]):.2f}")

# %%
# Top: the two shapes behind the outputs. Bottom: the two functions found.

side = np.linspace(-1, 1, 70)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
found = pls.transform(grid)
truth = np.c_[np.cos(np.pi * np.hypot(*grid.T)), grid[:, 0] * grid[:, 1]]
found *= np.sign((found * truth).sum(axis=0))
fig, axes = plt.subplots(2, 2, figsize=(6, 6), layout="constrained")
titles = ["ring", "saddle"]
for j, (above, below) in enumerate(axes.T):
    for ax, values in ((above, truth[:, j]), (below, found[:, j])):
        ax.contourf(side, side, values.reshape(70, 70), levels=15, cmap="RdBu_r")
        ax.set(xticks=[], yticks=[], aspect="equal")
    above.set_title(f"{titles[j]}, behind output {j + 1}")
    below.set_title(f"component {j + 1}")
plt.show()

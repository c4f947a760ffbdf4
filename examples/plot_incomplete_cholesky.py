"""
Which samples can represent all the others?
===========================================

A kernel matrix of thousands of samples nearly has low rank. You can approximate it from landmarks
drawn at random, as Nystroem does, or from the pivots of an incomplete Cholesky factorisation.
Which approach needs fewer features for the same error, and where do its samples lie?
"""

# %%
# Draw two thousand points: most of them in two dense spots, the rest on a thin arc.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import rbf_kernel

from skmoderndata.kernel_approximation import IncompleteCholesky

rng = np.random.default_rng(0)
angle = rng.uniform(0, np.pi, size=200)
arc = np.c_[3 * np.cos(angle), 3 * np.sin(angle)] + 0.05 * rng.normal(size=(200, 2))
centres = np.array([[-1.0, 0.0], [1.0, 0.0]])
spots = 0.3 * rng.normal(size=(1800, 2)) + centres[rng.integers(2, size=1800)]
X = np.r_[arc, spots]
gamma = 2.0
K = rbf_kernel(X, gamma=gamma)

# %%
# The eigenvalues give the best possible approximation of each rank. The factorisation computes
# the trace of its residual without forming the matrix.

ranks = [5, 10, 20, 40, 80, 120]
best = np.cumsum(np.linalg.eigvalsh(K)[::-1])
settings = {"gamma": gamma, "random_state": 0}
pivoted = [IncompleteCholesky(r, **settings).fit(X).residual_trace_ for r in ranks]
settings["algorithm"] = "greedy"
greedy = [IncompleteCholesky(r, **settings).fit(X).residual_trace_ for r in ranks]
drawn = np.zeros((5, len(ranks)))
for seed in range(5):
    for j, r in enumerate(ranks):
        Z = Nystroem(gamma=gamma, n_components=r, random_state=seed).fit_transform(X)
        drawn[seed, j] = len(X) - np.vdot(Z, Z)

# %%
# Random landmarks concentrate in the dense spots, where they are redundant; the pivots spread out.
# With few features both methods are similar, as most points are in the spots, and greedy pivots
# start at the rim. A small error requires covering the arc as well: with 80 features the pivots
# leave a fortieth of the error.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
pivots = IncompleteCholesky(40, gamma=gamma, random_state=0).fit(X).components_
landmarks = X[rng.permutation(len(X))[:40]]
left.plot(*X.T, ".", color="0.85", markersize=3)
left.plot(*landmarks.T, "x", color="C0", label="drawn at random")
left.plot(*pivots.T, "o", color="C3", markerfacecolor="none", label="pivots")
left.set(title="40 of 2000 points", aspect="equal")
left.legend(fontsize=8)
right.semilogy(ranks, len(X) - best[np.array(ranks) - 1], "k:", label="best for this rank")
right.semilogy(ranks, pivoted, "o-", color="C3", label="IncompleteCholesky")
right.semilogy(ranks, greedy, "o--", color="C1", label='algorithm="greedy"')
right.semilogy(ranks, drawn.mean(axis=0), "x-", color="C0", label="Nystroem, mean of 5")
right.fill_between(ranks, drawn.min(axis=0), drawn.max(axis=0), color="C0", alpha=0.2)
right.set(xlabel="number of features", ylabel="trace of the residual", title="Error")
right.legend(fontsize=8)
plt.show()
for r, a, b in zip(ranks, pivoted, drawn.mean(axis=0), strict=True):
    print(f"{r:4d} features: pivots {a:9.3g}, random landmarks {b:9.3g}")

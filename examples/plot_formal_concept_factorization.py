"""
Formal concepts: exact factors, and what noise does to them
===========================================================

Rectangles of ones describe a Boolean matrix exactly, and no zero is ever covered. How many of
them does it take, when five sources made the data, and how many after a few bits were flipped?
"""

# %%
# The coverage of the first k concepts says how much of the ones they explain.

import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.cluster import FormalConceptFactorization
from skmoderndata.datasets import make_boolean_sources

levels = (0.0, 0.01, 0.05, 0.2)
data, models = {}, {}
for noise in levels:
    X, _, sources, assignments = make_boolean_sources(
        200, 50, 5, max_assignments=2, noise=noise, random_state=0
    )
    data[noise] = X
    models[noise] = FormalConceptFactorization(n_clusters=None).fit(X)
    n_concepts = len(models[noise].components_)
    at_five = models[noise].coverage_[4]
    print(
        f"{noise:4.0%} noisy bits: {n_concepts:3d} concepts, the first five cover {at_five:.0%}"
    )

# %%
# Clean data: five concepts, and they are the sources. One noisy bit in a hundred is enough to
# need ten times as many, as every flipped bit tears a rectangle apart.

figure, axes = plt.subplots(1, 3, figsize=(13, 4.5), layout="constrained")
order = np.lexsort(assignments.T[::-1])
for ax, noise in zip(axes, (0.0, 0.05), strict=False):
    model, X = models[noise], data[noise][order]
    shade = np.where(X, 0.25, 0.0)  # ones that no concept shown covers stay light
    for k in range(5):
        rectangle = np.outer(model.assignments_[order, k], model.components_[k])
        shade[rectangle & (shade < 0.3)] = 0.4 + 0.12 * k
    ax.imshow(shade, aspect="auto", cmap="CMRmap_r", vmin=0, vmax=1, interpolation="none")
    ax.set(title=f"first five concepts, {noise:.0%} noise", xlabel="feature", yticks=[])
axes[0].set_ylabel("row, sorted by its sources")
for noise in levels:
    coverage = models[noise].coverage_
    axes[2].plot(
        np.arange(1, len(coverage) + 1), coverage, "o-", ms=3, label=f"{noise:.0%} noise"
    )
axes[2].set(xscale="log", xlabel="concepts", ylabel="share of ones covered", ylim=(0, 1.03))
axes[2].set_title("coverage")
axes[2].legend()
plt.show()

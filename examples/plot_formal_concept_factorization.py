"""
How many formal concepts describe a Boolean matrix exactly?
===========================================================

Rectangles of ones describe a Boolean matrix exactly, without ever covering a zero. How many
rectangles do you need if five sources made the data, and how many after a few bits have been
flipped?
"""

# %%
# The coverage of the first k concepts is the fraction of the ones that they explain.

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
# For clean data, five concepts are enough, and they are the sources. With one noisy bit in a
# hundred you need ten times as many concepts, because every flipped bit splits a rectangle.

figure, axes = plt.subplots(1, 3, figsize=(13, 4.5), layout="constrained")
order = np.lexsort(assignments.T[::-1])
for ax, noise in zip(axes, (0.0, 0.05), strict=False):
    model, X = models[noise], data[noise][order]
    shade = np.where(X, 0.25, 0.0)  # ones that none of the concepts shown covers stay light
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
axes[2].set(xscale="log", xlabel="concepts", ylabel="fraction of ones covered", ylim=(0, 1.03))
axes[2].set_title("coverage")
axes[2].legend()
plt.show()

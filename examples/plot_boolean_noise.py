"""
Which method still finds Boolean sources under noise?
=====================================================

Three sources share features, and each row is the OR of some of them. We replace more and more of
the bits by coin tosses. Up to which noise level does each method find the sources?
"""

# %%
# We compare methods that round (k-means, NMF, SVD), Boolean methods, and multi-assignment
# clustering. The mismatch is the fraction of wrong bits in the sources, after they are put
# into the best order.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF

from skmoderndata.cluster import (
    BooleanKMeans,
    DiscreteBasis,
    MultiAssignmentClustering,
    RoundedSVD,
)
from skmoderndata.datasets import make_boolean_sources
from skmoderndata.metrics import source_mismatch


def nmf_parts(X):
    parts = (
        NMF(3, init="nndsvda", tol=1e-3, max_iter=1000, random_state=0)
        .fit(X.astype(float))
        .components_
    )
    return parts > 0.5 * parts.max(axis=1, keepdims=True)


def k_means_centers(X):
    return KMeans(3, n_init=10, random_state=0).fit(X.astype(float)).cluster_centers_ > 0.5


methods = {
    "multi-assignment clustering": lambda X: (
        MultiAssignmentClustering(3, n_init=2, random_state=0).fit(X).components_
    ),
    "discrete basis": lambda X: DiscreteBasis(3).fit(X).components_,
    "NMF, rounded": nmf_parts,
    "Boolean k-means": lambda X: BooleanKMeans(3, random_state=0).fit(X).components_,
    "KMeans, rounded": k_means_centers,
    "SVD, rounded": lambda X: RoundedSVD(3).fit(X).components_,
}
levels = np.arange(0, 1, 0.1)
seeds = range(4)
mismatch = {name: np.zeros((len(levels), len(seeds))) for name in methods}
for i, noise in enumerate(levels):
    for seed in seeds:
        X, _, sources, _ = make_boolean_sources(
            350, 60, overlap=0.4, noise=noise, random_state=seed
        )
        for name, find in methods.items():
            mismatch[name][i, seed] = source_mismatch(sources, find(X))

# %%
# Clusters of whole rows cannot be the sources if rows have several sources, and all singular
# vectors after the first are differences of sources. Sums are not ORs, but NMF comes close. The
# discrete basis finds the sources until more than 60 % of the bits are coin tosses; then its
# associations fade, and NMF overtakes it. The method that models the noise tolerates the most
# noise; at 90 % no method can identify the sources any more.

for name, found in mismatch.items():
    print(f"{name:28s}", " ".join(f"{share:5.1%}" for share in found.mean(axis=1)))

# %%
# Plot one data set without noise and with 60 % noise, and the fraction of wrong bits at all
# levels.

X, clean, sources, Z = make_boolean_sources(350, 60, overlap=0.4, noise=0.6, random_state=0)
order = np.lexsort(Z.T)
figure = plt.figure(figsize=(12, 5), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1.0, 1.2))
axes = left.subplots(1, 2)
for ax, rows, title in zip(axes, (clean, X), ("without noise", "60 % noise"), strict=True):
    ax.imshow(rows[order], aspect="auto", cmap="Greys", interpolation="none")
    ax.set(title=title, xlabel="feature", yticks=[])
axes[0].set_ylabel("rows, sorted by their sources")
ax = right.subplots()
for name, found in mismatch.items():
    ax.plot(100 * levels, 100 * found.mean(axis=1), "o-", label=name)
ax.set(xlabel="bits replaced by coin tosses, %", ylabel="wrong bits of the sources, %")
ax.legend(loc="upper left", bbox_to_anchor=(0.02, 0.49))
plt.show()

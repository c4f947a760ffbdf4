"""
How many clusters, and are there any?
=====================================

Cluster two halves of the data separately. If the number of clusters is right, both clusterings
agree on new objects; if it is wrong, each half gives a different answer. The left column shows
four Gaussian groups and one Gaussian without any structure. The right column shows the stability
of KMeans for 2 to 8 clusters.

The curve needs a reference. The grey line is the stability on a Gaussian with the same covariance
as the data: the stability that the shape of the whole cloud produces without clusters. For the
four groups the curve is far above this reference at 2 and at 4 clusters, and the larger number is
chosen. For the single, elongated Gaussian the two coincide: cutting it in two is stable although
there are no clusters. The silhouette, drawn dotted, prefers the same numbers but has no such
reference.
"""

# %%
# Generate two data sets: four round groups, and one elongated cloud.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from skmoderndata.model_selection import ClusteringStability, ClusteringStabilityDisplay

rng = np.random.default_rng(0)
centers = 4.5 * np.array([[0, 0], [1.2, 0], [0.2, 1.1], [1.6, 1.1]])
data = {
    "four groups": centers[np.arange(240) % 4] + rng.normal(size=(240, 2)),
    "no groups": rng.normal(size=(240, 2)) * [4, 1.5],
}

# %%
# Run the search, and the same search on a Gaussian of the same covariance.

search = ClusteringStability(KMeans(n_init=3), n_splits=15, random_state=0)


def without_structure(X):
    return rng.multivariate_normal(X.mean(axis=0), np.cov(X.T), size=len(X))


def silhouettes(X):
    labels = (KMeans(k, n_init=3, random_state=0).fit_predict(X) for k in search.param_range)
    return [silhouette_score(X, label) for label in labels]


# %%
# Plot the data and the curves.

fig, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
for (cloud, curve), (name, X) in zip(axes, data.items(), strict=True):
    reference = search.fit(without_structure(X))
    curve.errorbar(
        reference.param_range_,
        reference.stability_,
        yerr=reference.standard_error_,
        color="0.6",
        label="Gaussian of the same covariance",
    )
    search.fit(X)
    print(f"{name}: {search.best_n_clusters_} clusters, stability {search.best_score_:.2f}")
    ClusteringStabilityDisplay.from_estimator(search, ax=curve, name="stability")
    curve.plot(search.param_range_, silhouettes(X), "k:", label="silhouette of KMeans")
    curve.set_ylim(0, 1.05)
    curve.legend(loc="lower right" if name == "no groups" else "best", fontsize="small")
    cloud.scatter(*X.T, c=search.labels_, cmap="tab10", s=8)
    cloud.set(title=f"{name}: {search.best_n_clusters_} clusters chosen", aspect="equal")
plt.show()

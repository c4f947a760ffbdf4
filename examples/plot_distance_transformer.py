"""
How do I use string distances in a scikit-learn pipeline?
=========================================================

Nearest neighbours, embeddings and clusterings of scikit-learn accept ``metric="precomputed"``.
``DistanceTransformer`` computes the distances to the training samples, such as edit distances
between strings or any function of two collections. Which distance separates antimicrobial peptides
from transmembrane regions?
"""

# %%
# We compare three distances: the number of edits; the edits relative to the lengths; and the
# distance in the feature space of a gap-weighted kernel, which looks for short motifs anywhere in
# a string.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import TSNE
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from skmoderndata.datasets import load_peptides
from skmoderndata.kernels import GapWeighted, Normalized
from skmoderndata.metrics import kernel_distances
from skmoderndata.preprocessing import DistanceTransformer

peptides = load_peptides()
X, y = peptides.data, peptides.target
kernel = Normalized(GapWeighted(3, 0.7))


def motif_distance(X, Z):
    return kernel_distances(kernel(X, Z), kernel.diag(X), kernel.diag(Z))


distances = {
    "edits": DistanceTransformer(),
    "edits, relative to the lengths": DistanceTransformer(metric_params={"normalize": True}),
    "gap-weighted kernel": DistanceTransformer(motif_distance),
}
numbers = [1, 3, 5, 9, 15]
folds = StratifiedKFold(5, shuffle=True, random_state=0)
accuracy = {
    name: [
        cross_val_score(
            make_pipeline(step, KNeighborsClassifier(k, metric="precomputed")), X, y, cv=folds
        ).mean()
        for k in numbers
    ]
    for name, step in distances.items()
}
for name, values in accuracy.items():
    print(
        f"{name:32}",
        "  ".join(f"k={k}: {v:.3f}" for k, v in zip(numbers, values, strict=True)),
    )

# %%
# The left panel maps the strings by relative edits; the right panel shows the accuracy of nearest
# neighbours. Few strings have much in common, so the number of edits measures little except their
# lengths. Edits relative to the lengths do as well as the kernel, whose strength shows in a
# large-margin classifier.

Z = make_pipeline(
    distances["edits, relative to the lengths"],
    TSNE(metric="precomputed", init="random", random_state=0),
).fit_transform(X)

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
for kind, colour in enumerate(("#3b6ea8", "#d9822b")):
    left.scatter(*Z[y == kind].T, s=14, color=colour, label=peptides.target_names[kind])
left.legend(frameon=False)
left.set(title="t-SNE of 412 peptides by relative edits", xticks=[], yticks=[])
for name, values in accuracy.items():
    right.plot(numbers, values, marker="o", label=name)
right.axhline(np.bincount(y).max() / len(y), color="0.7", lw=1)
right.set(
    title="k nearest neighbours, 5 folds",
    xlabel="neighbours",
    ylabel="accuracy",
    xticks=numbers,
    ylim=(0.45, 1.0),
)
right.legend(frameon=False, loc="lower right")
plt.show()

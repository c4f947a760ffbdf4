"""
Can I add new samples to an embedding of similarities?
======================================================

A bent sheet in space is drawn in the plane from similarities alone. Samples that were not part of
the embedding are placed where their similarities are in balance: do they land in the right place?
How does a single sample affect the embedding if it resembles no other? How many similarities
should count?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_s_curve
from sklearn.manifold import SpectralEmbedding
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from skmoderndata.manifold import LaplacianEmbedding

X, place = make_s_curve(900, random_state=0)
X, new, place, new_place = X[:600], X[600:], place[:600], place[600:]
gamma = 6.0
everything = {"n_neighbors": None, "gamma": gamma}
plain = LaplacianEmbedding(2, **everything).fit(X)
lone = np.vstack([X, [[1.5, 1.0, 2.5]]])  # one more sample, away from the sheet
drawings = {
    "LaplacianEmbedding": (plain.embedding_, place),
    "with a lone sample": (LaplacianEmbedding(2, **everything).fit(lone).embedding_, None),
    "SpectralEmbedding, with the lone sample": (
        SpectralEmbedding(2, affinity="rbf", gamma=gamma).fit_transform(lone),
        None,
    ),
}

# %%
# All similarities count here. The colour shows the position along the sheet. In the left
# panel, crosses are new samples: they agree with the other samples. In the middle panel an
# isolated sample, marked red, occupies one of the two coordinates, because its similarities
# are weak and the constraint gives it the same weight as any other sample. The right panel
# shows the same for scikit-learn's embedding, which weights each sample by its similarities:
# it is more robust here, but has no map for new samples.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for ax, (name, (T, known)) in zip(axes, drawings.items(), strict=True):
    ax.scatter(*T[:600].T, c=place, cmap="viridis", s=8, alpha=0.6)
    if known is not None:
        T_new = plain.transform(new)
        ax.scatter(*T_new.T, c=new_place, cmap="viridis", s=25, marker="x", linewidths=1)
        agree = abs(np.corrcoef(T_new[:, 0], new_place)[0, 1])
        name = f"LaplacianEmbedding, new: r = {agree:.2f}"
    else:
        ax.plot(*T[600], "r*", markersize=12)
    ax.set(title=name, xticks=[], yticks=[])

# %%
# Handwritten digits in the plane: the fraction of digits that their five nearest neighbours
# classify correctly, by the number of similarities that count. Each digit resembles a few others
# closely and all others a little; if all similarities count, the many weak ones outweigh the few
# strong ones.

X, y = load_digits(return_X_y=True)
X, y = X[:700], y[:700]


def accuracy(embedding):
    places = embedding.fit_transform(X)
    return cross_val_score(KNeighborsClassifier(), places, y, cv=5).mean()


numbers = (4, 10, 20, 50, 200)
found = [accuracy(LaplacianEmbedding(n_neighbors=k)) for k in numbers]
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.semilogx(numbers, found, "o-", label="LaplacianEmbedding(n_neighbors)")
for style, name, other in (
    ("--", "n_neighbors=None", LaplacianEmbedding(n_neighbors=None)),
    (":", "SpectralEmbedding", SpectralEmbedding(random_state=0)),
):
    ax.axhline(accuracy(other), color="0.4", ls=style, label=name)
ax.set(
    xlabel="n_neighbors", ylabel="accuracy", ylim=(0, 1), xticks=numbers, xticklabels=numbers
)
ax.minorticks_off()
ax.legend(fontsize=8)
plt.show()

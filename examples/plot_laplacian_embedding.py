"""
Does a drawing of similar samples have room for new ones?
=========================================================

A bent sheet in space is drawn in the plane by similarities alone. Samples that were not there when
the drawing was made are put where their similarities are in balance: do they land in their place?
And what does a single sample do that resembles no other?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_s_curve
from sklearn.manifold import SpectralEmbedding

from skmoderndata.manifold import LaplacianEmbedding

X, place = make_s_curve(900, random_state=0)
X, new, place, new_place = X[:600], X[600:], place[:600], place[600:]
gamma = 6.0
plain = LaplacianEmbedding(2, gamma=gamma).fit(X)
lone = np.vstack([X, [[1.5, 1.0, 2.5]]])  # one more sample, away from the sheet
drawings = {
    "LaplacianEmbedding": (plain.embedding_, place),
    "with a lone sample": (LaplacianEmbedding(2, gamma=gamma).fit(lone).embedding_, None),
    "SpectralEmbedding, with the lone sample": (
        SpectralEmbedding(2, affinity="rbf", gamma=gamma).fit_transform(lone),
        None,
    ),
}

# %%
# Colour is the place along the sheet. On the left, crosses are new samples: they fall in with the
# others. In the middle a lone sample, marked red, has taken one of the two coordinates, as the
# springs that hold it are weak and the constraint counts it like any other. On the right the same
# for scikit-learn's embedding, where a sample counts as much as its similarities: it is more
# robust here, but has no map for new samples.

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
plt.show()

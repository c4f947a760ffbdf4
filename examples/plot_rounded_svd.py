"""
Why do real factors not round well?
===================================

The singular value decomposition gives the best real factors of a matrix. Can you read Boolean
sources off by rounding these factors? It works for disjoint sources, but not for overlapping ones.
"""

# %%
# Generate two data sets: three disjoint sources of different weight, one per row; and three
# overlapping sources, with several in a row.

import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.cluster import DiscreteBasis, RoundedSVD
from skmoderndata.datasets import make_boolean_sources
from skmoderndata.metrics import source_mismatch

disjoint = np.repeat(np.eye(3, dtype=bool), [26, 20, 14], axis=1)
rows = disjoint[np.repeat([0, 1, 2], [140, 110, 100])]
overlapping = make_boolean_sources(350, 60, 3, overlap=0.3, noise=0.1, random_state=0)
worlds = {
    "disjoint, one per row": (rows, disjoint),
    "overlapping, several per row": (overlapping[0], overlapping[2]),
}

# %%
# In the overlapping case, the first singular vector is a mixture of all sources and the other
# vectors are differences. No threshold turns them into sources; a Boolean method has no such
# difficulty.

figure, axes = plt.subplots(2, 3, figsize=(13, 5.5), layout="constrained", sharex=True)
for line, (name, (X, sources)) in zip(axes, worlds.items(), strict=True):
    model, boolean = RoundedSVD(3).fit(X), DiscreteBasis(3).fit(X)
    print(f"{name}: fraction of wrong bits")
    print(f"    rounded {model.rounding_error_:.3f}")
    print(f"    rounded, best memberships {model.reconstruction_err_:.3f}")
    print(f"    discrete basis {boolean.reconstruction_err_:.3f}")
    for method in (model, boolean):
        mismatch = source_mismatch(sources, method.components_)
        print(f"    wrong source bits, {type(method).__name__}: {mismatch:.3f}")
    vectors = np.linalg.svd(X.astype(float), full_matrices=False)[2][:3]
    vectors *= np.sign(vectors.sum(axis=1, keepdims=True))
    line[0].imshow(sources, aspect="auto", cmap="Greys", interpolation="none")
    line[0].set(title="sources", ylabel=name.replace(", ", ",\n"), yticks=[])
    for k, vector in enumerate(vectors):
        line[1].step(np.arange(60), vector, where="mid", label=f"{k + 1}")
    line[1].axhline(0, color="0.8", lw=1, zorder=0)
    line[1].set(title="singular vectors")
    line[2].imshow(model.components_, aspect="auto", cmap="Greys", interpolation="none")
    line[2].set(title="rounded", yticks=[])
axes[0, 1].legend(title="number", fontsize="small")
for ax in axes[1]:
    ax.set_xlabel("feature")
plt.show()

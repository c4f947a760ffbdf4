"""
Which patterns make up a photograph?
====================================

We code small patches of a photograph with four atoms each: cosines, principal components, or
atoms that K-SVD learns from the patches themselves. Principal components are the best four
patterns for *all* patches, whereas a dictionary lets each patch choose its own four. A learned
dictionary contains the building blocks of the photograph: edges and textures.
"""

# %%
# Extract patches of 8 x 8 pixels and subtract their means; half are for training, half for
# testing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.decomposition import PCA
from sklearn.feature_extraction.image import extract_patches_2d

from skmoderndata.decomposition import KSVD, AtomsDisplay
from skmoderndata.sparse_coding import SparseCoder, dct_dictionary

grey = load_sample_image("china.jpg").mean(axis=2)
patches = extract_patches_2d(grey, (8, 8), max_patches=20000, random_state=0).reshape(-1, 64)
patches = patches - patches.mean(axis=1, keepdims=True)
train, test = patches[:10000], patches[10000:]

# %%
# Compute the error on new patches, with the same number of coefficients per patch in each case.

model = KSVD(144, n_nonzero_coefs=4, max_iter=20, random_state=0).fit(train)
pca = PCA(n_components=4).fit(train)
cosines = SparseCoder(
    dct_dictionary((8, 8), n_atoms=12), transform_algorithm="ormp", transform_n_nonzero_coefs=4
)
cosines.fit(train[:100])


def rmse(estimator):
    """Root mean squared error of new patches, in grey levels."""
    back = estimator.inverse_transform(estimator.transform(test))
    return np.sqrt(np.mean((test - back) ** 2))


errors = {"PCA": rmse(pca), "cosines": rmse(cosines), "K-SVD": rmse(model)}
for name, error in errors.items():
    print(f"{name}: {error:.2f} grey levels")

# %%
# Plot the atoms, most used first, and the error after each pass.

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for ax, coder, title in ((left, cosines, "144 cosines"), (middle, model, "144 atoms learned")):
    AtomsDisplay.from_estimator(coder, image_shape=(8, 8), max_atoms=144, ax=ax, cmap="gray")
    ax.set_title(title)
passes = np.arange(1, model.n_iter_ + 1)
right.plot(
    passes,
    np.sqrt(model.objective_history_ / train.size),
    "o-",
    color="C3",
    label="K-SVD, training",
)
for color, (name, error) in zip(("C0", "C1", "C3"), errors.items(), strict=True):
    right.axhline(error, color=color, ls="--", label=f"{name}, new patches")
right.set(
    xlabel="pass",
    ylabel="error in grey levels",
    title="Four coefficients per patch",
    ylim=(0, None),
)
right.legend()
plt.show()

"""
Which patterns distinguish the digits?
======================================

Each digit gets a small dictionary. A dictionary learned for one class alone contains the patterns
that are typical of its digit; after discriminative training it also avoids the patterns that are
typical of other digits. This helps if the dictionaries are small; large ones distinguish the
digits without it.
"""

# %%
# Fit ten dictionaries with few atoms, with and without the discriminative passes.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from skmoderndata.decomposition import AtomsDisplay
from skmoderndata.sparse_coding import DictionaryClassifier

X, y = load_digits(return_X_y=True)
train, test, y_train, y_test = train_test_split(
    X, y, test_size=600, random_state=0, stratify=y
)

sizes = (1, 2, 4, 8, 16, 32)
scores = {0: [], 10: []}
models = {}
for size in sizes:
    for passes, found in scores.items():
        model = DictionaryClassifier(
            size, n_nonzero_coefs=min(3, size), n_discriminative=passes, random_state=0
        )
        models[size, passes] = model.fit(train, y_train)
        found.append(model.score(test, y_test))
linear = LinearSVC(C=0.001, dual=False).fit(train, y_train).score(test, y_test)
print("atoms per digit    ", sizes)
print("separate           ", np.round(scores[0], 3))
print("discriminative     ", np.round(scores[10], 3))
print("linear classifier  ", round(linear, 3))

# %%
# Plot the two atoms of some digits, and the fraction of digits that are classified correctly.

fig, axes = plt.subplots(
    1, 3, figsize=(12, 3.8), layout="constrained", width_ratios=[1, 1, 1.3]
)
for ax, passes, title in (
    (axes[0], 0, "two atoms each, separate"),
    (axes[1], 10, "two atoms each, discriminative"),
):
    atoms = models[2, passes].components_[:8]  # (8 digits, 2 atoms, 64)
    AtomsDisplay(atoms=atoms.reshape(16, 64), image_shape=(8, 8)).plot(ax)
    ax.set_title(title)
axes[2].semilogx(sizes, scores[0], "o-", base=2, label="separate (K-SVD)")
axes[2].semilogx(sizes, scores[10], "o-", base=2, label="discriminative")
axes[2].axhline(linear, color="0.5", ls="--", label="linear classifier")
axes[2].set(xlabel="atoms per digit", ylabel="accuracy", xticks=sizes, xticklabels=sizes)
axes[2].legend()
plt.show()

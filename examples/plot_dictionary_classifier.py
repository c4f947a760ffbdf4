"""
Patterns that tell digits apart
===============================

Each digit gets a small dictionary. Learned for each class by itself, it holds what is typical of
that digit; changed so that the classes are told apart, it also avoids what is typical of others.
That pays where dictionaries are small; large ones tell digits apart as they are.
"""

# %%
# Ten dictionaries of few atoms, with and without the passes that tell apart.

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
print("atoms a digit      ", sizes)
print("for each by itself ", np.round(scores[0], 3))
print("told apart         ", np.round(scores[10], 3))
print("linear classifier  ", round(linear, 3))

# %%
# The two atoms of some digits, and how many digits are told right.

fig, axes = plt.subplots(
    1, 3, figsize=(12, 3.8), layout="constrained", width_ratios=[1, 1, 1.3]
)
for ax, passes, title in (
    (axes[0], 0, "two atoms each, by itself"),
    (axes[1], 10, "two atoms each, told apart"),
):
    atoms = models[2, passes].components_[:8]  # (8 digits, 2 atoms, 64)
    AtomsDisplay(atoms=atoms.reshape(16, 64), image_shape=(8, 8)).plot(ax)
    ax.set_title(title)
axes[2].semilogx(sizes, scores[0], "o-", base=2, label="dictionaries by K-SVD")
axes[2].semilogx(sizes, scores[10], "o-", base=2, label="told apart")
axes[2].axhline(linear, color="0.5", ls="--", label="linear classifier")
axes[2].set(xlabel="atoms a digit", ylabel="told right", xticks=sizes, xticklabels=sizes)
axes[2].legend()
plt.show()

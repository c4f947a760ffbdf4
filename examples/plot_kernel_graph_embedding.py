"""
Which graph separates classes with several parts?
=================================================

Odd and even digits are two classes of five parts each. The means of the classes say little about
the parts; nearest neighbours say more. We compare three graphs with one kernel and the same
nearest-neighbour rule on two features.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from skmoderndata.manifold import KernelGraphEmbedding

X, digit = load_digits(return_X_y=True)
y = digit % 2
train, test = np.arange(0, 800), np.arange(800, 1797)
settings = {"gamma": 0.001, "alpha": 1e-3, "solver": "low_rank", "max_rank": 300}
titles = {"neighbors": "neighbours, no labels", "class": "classes", "marginal": "margins"}

# %%
# Colours show odd and even digits, numbers the ten digits; all rows shown are unseen. Without
# labels, the graph of neighbours groups digits that look alike. The graph of classes makes the
# fewest errors, although only its first feature is informative, because two means span one
# direction. The kernel moves the five parts of a class to one place. The graph of margins
# requires less: neighbours of the same class should be close together and neighbours of
# different classes far apart. It therefore keeps the digits visible.

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for ax, (graph, title) in zip(axes, titles.items(), strict=True):
    embedding = KernelGraphEmbedding(2, graph=graph, **settings).fit(X[train], y[train])
    Z, Z_new = embedding.transform(X[train]), embedding.transform(X[test])
    wrong = 1 - KNeighborsClassifier(5).fit(Z, y[train]).score(Z_new, y[test])
    ax.scatter(*Z_new.T, c=np.where(y[test], "C1", "C0"), s=6)
    for d in range(10):
        ax.text(*np.median(Z_new[digit[test] == d], axis=0), d, fontsize=14, weight="bold")
    ax.set(title=f"{title}: {100 * wrong:.1f} % wrong", xticks=[], yticks=[])
plt.show()

"""
Which black and white digits are typical?
=========================================

Digits of 8 x 8 pixels are thresholded to black and white. How many pixels does a typical digit get
wrong if it has to be black and white itself? k-means finds grey centres, which have to be rounded;
Boolean k-means does not.
"""

# %%
# Both methods minimise the same distance, because the squared difference of two bits is 1 if they
# differ.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_mutual_info_score

from skmoderndata.cluster import BooleanKMeans
from skmoderndata.decomposition import AtomsDisplay

images, digit = load_digits(return_X_y=True)
X = images > 7
grid = (5, 10, 20, 30, 40)
wrong = {"BooleanKMeans": [], "KMeans, rounded": []}
agreement = {"BooleanKMeans": [], "KMeans, rounded": []}
centers = {}
for k in grid:
    ours = BooleanKMeans(k, n_init=20, random_state=0).fit(X)
    grey = KMeans(k, n_init=20, random_state=0).fit(X)
    rounded = grey.cluster_centers_ > 0.5
    wrong["BooleanKMeans"].append(ours.reconstruction_err_)
    wrong["KMeans, rounded"].append((rounded[grey.labels_] != X).mean())
    agreement["BooleanKMeans"].append(adjusted_mutual_info_score(digit, ours.labels_))
    agreement["KMeans, rounded"].append(adjusted_mutual_info_score(digit, grey.labels_))
    if k == 20:
        centers = {"BooleanKMeans": ours.cluster_centers_, "KMeans": grey.cluster_centers_}

# %%
# Rounding the grey centres loses a little, so Boolean k-means gets fewer pixels wrong. But grey
# centres show which pixels of a digit vary, so the clusters of k-means agree better with the ten
# digits. Use Boolean centres if people have to read them or if they have to be stored as bits.

for name in wrong:
    shares = ", ".join(f"{share:.3f}" for share in wrong[name])
    print(f"{name:16s} wrong pixels for k = {grid}: {shares}")

figure = plt.figure(figsize=(11, 6), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=(1.0, 1.3))
for ax, (name, found) in zip(top.subplots(2, 1), centers.items(), strict=True):
    order = np.argsort(-found.sum(axis=1))
    AtomsDisplay(atoms=found[order], image_shape=(8, 8)).plot(ax, n_columns=20)
    ax.set_title(f"{name}: 20 centres")
left, right = bottom.subplots(1, 2)
for name in wrong:
    left.plot(grid, wrong[name], "o-", label=name)
    right.plot(grid, agreement[name], "o-", label=name)
left.set(xlabel="clusters", ylabel="fraction of wrong pixels", title="black and white centres")
right.set(
    xlabel="clusters", ylabel="adjusted mutual information", title="agreement with digits"
)
left.legend()
plt.show()

"""
How do I join two kernels for samples with two parts?
=====================================================

Each sample is a house with two parts, a position on a map and a set of features. Does the sum or
the product of the two kernels predict the price better, and how well does each part predict it
alone?
"""

# %%
# A price is the sum of a smooth surface over the map, an amount for each feature, and noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVR

from skmoderndata.kernels import DirectSum, Intersection, TensorProduct

rng = np.random.default_rng(0)
names = ["garden", "lift", "garage", "balcony", "view", "fireplace"]
places = rng.uniform(0, 4, size=(200, 2))
present = rng.random((200, 6)) < 0.4
features = [{names[j] for j in np.flatnonzero(row)} for row in present]
surface = np.sin(places[:, 0]) + np.cos(places[:, 1])
price = surface + present @ [0.5, 0.1, 0.3, 0.1, 0.6, 0.2] + 0.1 * rng.normal(size=200)
price -= price.mean()
houses = list(zip(places, features, strict=True))

# %%
# Make one kernel for each part; ``Intersection`` counts common features. The samples are tuples,
# and support vector machines accept them as they are if the kernel is an object.

width = RBF(length_scale=0.8)
kernels = {
    "place only": DirectSum([width, Intersection()], weights=[1, 0]),
    "features only": DirectSum([width, Intersection()], weights=[0, 1]),
    "product": TensorProduct([width, Intersection()]),
    "sum": DirectSum([width, Intersection()]),
}
scores = {}
for name, kernel in kernels.items():
    model = SVR(kernel=kernel, C=10.0, epsilon=0.05)
    scores[name] = cross_val_score(model, houses, price, cv=5)
    print(f"{name:15s} R2 {scores[name].mean():.3f}")

# %%
# Each part alone misses the information in the other. The product compares features only between
# houses that are near each other, and needs more samples; the sum matches the way the data were
# generated.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.boxplot(list(scores.values()), tick_labels=list(scores), orientation="horizontal")
left.set(xlabel="R2 on held-out fifths", title="Two parts, four kernels")
K = kernels["sum"](houses[:40])
order = np.argsort(places[:40, 0])
image = right.imshow(K[np.ix_(order, order)], cmap="viridis")
right.set(title="Sum kernel for 40 houses, west to east", xlabel="house", ylabel="house")
fig.colorbar(image, ax=right)
plt.show()

"""
How much accuracy do non-negative codes cost when the data have both signs?
===========================================================================

Temperatures above and below the mean, returns, and centred grey values have parts of either sign,
but should still be sums of their parts. How far is the best such sum from the best approximation
of the same rank, and from the centres of k-means?
"""

# %%
# Use centred digits. The truncated singular value decomposition is a lower bound for every
# factorisation; k-means is the extreme in which each digit has a single part.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import TruncatedSVD

from skmoderndata.decomposition import AtomsDisplay, SemiNMF

X = load_digits().data / 16
X = X - X.mean(axis=0)
size = np.linalg.norm(X)
numbers = (2, 4, 8, 12, 16, 24)
errors = {"k-means": [], "semi-NMF": [], "truncated SVD (bound)": []}
for k in numbers:
    errors["k-means"].append(
        np.sqrt(KMeans(k, n_init=3, random_state=0).fit(X).inertia_) / size
    )
    errors["semi-NMF"].append(
        SemiNMF(k, tol=1e-3, max_iter=3000).fit(X).reconstruction_err_ / size
    )
    svd = TruncatedSVD(k, algorithm="arpack").fit(X)
    rest = X - svd.transform(X) @ svd.components_
    errors["truncated SVD (bound)"].append(np.linalg.norm(rest) / size)

# %%
# Non-negative codes cost little: two components of opposite sign replace one signed component, and
# the residual is as good as the bound. One part per digit costs far more.

model = SemiNMF(12, tol=1e-3, max_iter=3000).fit(X)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for (name, values), marker in zip(errors.items(), "^os", strict=True):
    left.plot(numbers, values, marker + "-", label=name)
left.set(xlabel="number of components", ylabel="relative error", ylim=(0, 1))
left.legend()
AtomsDisplay.from_estimator(model, image_shape=(8, 8), ax=right)
right.set_title("twelve components (blue: below the mean)")
plt.show()

codes = model.transform(X)
print(f"{100 * (codes == 0).mean():.0f} % of the codes are zero, none is negative")

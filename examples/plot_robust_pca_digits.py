"""
Can I restore damaged pixels of handwritten digits?
===================================================

A tenth of the pixels of scikit-learn's digits is set to black or white. Damaged pixels look like
any other: both values occur in intact digits. We restore the digits with plain principal component
pursuit, which is robust PCA with `algorithm="pcp"`. The digits are only approximately low-rank:
how should you choose the weight of the sparse part?
"""

# %%
# For comparison, we use PCA with the best number of components. PCA has an advantage: this
# number is chosen with the undamaged digits, which robust PCA does not see.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from skmoderndata.decomposition import RobustPCA

digits, labels = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
damaged = rng.random(digits.shape) < 0.1
X = np.where(damaged, rng.choice([0.0, 16.0], size=digits.shape), digits)


def error(restored):
    """Root mean square error against the undamaged digits, in grey levels from 0 to 16."""
    return np.sqrt(np.mean((restored - digits) ** 2))


sizes = [5, 10, 15, 20, 25, 30, 40]
by_size = {}
for size in sizes:
    pca = PCA(n_components=size)
    by_size[size] = pca.inverse_transform(pca.fit_transform(X))
best_size = min(by_size, key=lambda size: error(by_size[size]))

# %%
# The default weight, ``1 / sqrt(max(n_samples, n_features))``, is designed for matrices of exactly
# low rank. Here it marks more than half of all pixels as wrong. You can find a better weight
# without the true values: hide another tenth of the pixels (NaN) and let the low-rank part predict
# them. Use the mean of the *absolute* errors, because some of the hidden pixels are damaged.

default = 1 / np.sqrt(max(X.shape))
factors = np.array([1.0, 1.25, 1.5, 1.75, 2.0, 2.5])
hidden = rng.random(X.shape) < 0.1
with_holes = np.where(hidden, np.nan, X)
restored, prediction = {}, {}
for factor in factors:
    rpca = RobustPCA(algorithm="pcp", alpha=factor * default, tol=1e-5)
    restored[factor] = rpca.fit(X).low_rank_
    guess = rpca.fit(with_holes).low_rank_
    prediction[factor] = np.abs(guess - X)[hidden].mean()
best_factor = min(prediction, key=prediction.get)

print(f"damaged                               {error(X):.2f}")
print(f"PCA, {best_size} components                    {error(by_size[best_size]):.2f}")
print(f"RobustPCA, default weight             {error(restored[1.0]):.2f}")
print(f"RobustPCA, {best_factor} times the default      {error(restored[best_factor]):.2f}")

# %%
# Plot the errors and ten of the digits. With the default weight, robust PCA is worse than PCA: it
# smooths the digits like PCA with too few components. With the weight chosen on hidden pixels it
# is better, and this weight is close to the best one.

fig = plt.figure(figsize=(12, 3.9), layout="constrained")
left, right = fig.subfigures(1, 2, width_ratios=[1, 1.9])
ax = left.subplots()
ax.plot(factors, [error(restored[f]) for f in factors], "o-", color="C3", label="RobustPCA")
ax.axvline(best_factor, color="C3", ls=":", label="chosen on hidden pixels")
ax.axhline(error(by_size[best_size]), color="C0", label=f"PCA({best_size}), best size")
ax.axhline(error(X), color="0.6", ls="--", label="damaged")
ax.set(
    xlabel="weight of the sparse part / default",
    ylabel="error against undamaged digits",
    ylim=(1.5, None),
    title="Error over all digits",
)
ax.legend(fontsize=8)

shown = [int(np.flatnonzero(labels == label)[3]) for label in range(10)]
rows = {
    "undamaged": digits,
    "damaged": X,
    f"PCA({best_size})": by_size[best_size],
    "RobustPCA\ndefault": restored[1.0],
    "RobustPCA\nchosen": restored[best_factor],
}
axes = right.subplots(len(rows), len(shown))
for line, (title, images) in zip(axes, rows.items(), strict=True):
    line[0].set_ylabel(title, rotation=0, ha="right", va="center", fontsize=9)
    for a, index in zip(line, shown, strict=True):
        a.imshow(images[index].reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        a.set(xticks=[], yticks=[])
plt.show()

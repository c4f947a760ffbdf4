"""
Does a sparse classifier know where it is uncertain?
====================================================

Gaussian processes give probabilities that return to one half where there are no samples. With
thirty inducing inputs for two thousand samples, are the probabilities still the same as in the
exact classifier, and are they reliable on unseen samples?
"""

# %%
# The data are two half moons that overlap. scikit-learn's classifier uses 300 of the samples,
# because its time grows with the cube of their number; the sparse classifier uses all.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1, make_moons
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from skmoderndata.gaussian_process import SparseGaussianProcessClassifier

X, y = make_moons(2000, noise=0.3, random_state=0)
new, truth = make_moons(5000, noise=0.3, random_state=1)
kernel = ConstantKernel() * RBF(1.0)
sparse = SparseGaussianProcessClassifier(kernel, n_inducing=30, random_state=0).fit(X, y)
exact = GaussianProcessClassifier(kernel).fit(X[:300], y[:300])
for name, model in {"sparse, 2000 samples": sparse, "exact, 300 samples": exact}.items():
    print(f"{name}: log loss on new samples {log_loss(truth, model.predict_proba(new)):.4f}")
print(f"no Gaussian posterior has a bound larger by {sparse.dual_gap_:.0e} per sample")

# %%
# The second data set thresholds a noisy function of five inputs: of the samples to which the
# classifier assigns a probability of 30 %, are 30 % positive? A logistic regression cannot follow
# the function, and its probabilities are correct only on average.

inputs, f = make_friedman1(12_000, n_features=5, noise=2.0, random_state=0)
positive = f > 14.4
train, test = slice(2000), slice(2000, None)
contenders = {
    "sparse Gaussian process": SparseGaussianProcessClassifier(
        n_inducing=40, max_iter=40, tol=1e-2, random_state=0
    ),
    "logistic regression": LogisticRegression(),
}
curves = {}
for name, model in contenders.items():
    p = model.fit(inputs[train], positive[train]).predict_proba(inputs[test])[:, 1]
    order = np.array_split(np.argsort(p), 12)
    curves[name] = [(p[rows].mean(), positive[test][rows].mean()) for rows in order]
    print(f"{name}: log loss {log_loss(positive[test], p):.3f}")

# %%
# The contours are probabilities of .1, .5 and .9. The two classifiers agree where both have
# samples, and both are uncertain where there are none; triangles are the inducing inputs, which
# lie along the boundary. In the right panel, the frequencies follow the probabilities.

grid = np.stack(np.meshgrid(np.linspace(-3, 4, 100), np.linspace(-2.5, 3, 80)), axis=-1)
points = grid.reshape(-1, 2)
fig, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
shown = {
    "sparse, 2000 samples": (sparse, X, y),
    "exact, 300 samples": (exact, X[:300], y[:300]),
}
for ax, (name, (model, rows, labels)) in zip(axes, shown.items(), strict=False):
    p = model.predict_proba(points)[:, 1].reshape(grid.shape[:2])
    image = ax.contourf(*grid.transpose(2, 0, 1), p, 20, cmap="RdBu_r", vmin=0, vmax=1)
    ax.contour(*grid.transpose(2, 0, 1), p, [0.1, 0.5, 0.9], colors="k", linewidths=0.8)
    ax.scatter(*rows.T, c=labels, cmap="coolwarm", s=3, alpha=0.6)
    ax.set(title=name, xticks=[], yticks=[])
axes[0].plot(*sparse.inducing_points_[0].T, "k^", ms=4)
axes[0].set(xlim=(-3, 4), ylim=(-2.5, 3))

axes[2].plot([0, 1], [0, 1], "k:", lw=1)
for name, values in curves.items():
    axes[2].plot(*np.transpose(values), "o-", ms=4, label=name)
axes[2].set(xlabel="probability given", ylabel="frequency in new samples")
axes[2].legend()
plt.show()

"""
How much ridge does a discriminant in feature space need?
=========================================================

Two interleaved half moons cannot be told apart by a straight line. Fisher's discriminant in the
feature space of a Gaussian kernel can do it; the ridge decides whether it follows the moons or
their noise.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from skmoderndata.discriminant_analysis import KernelFisherDiscriminant

X, y = make_moons(200, noise=0.3, random_state=0)
X_new, y_new = make_moons(4000, noise=0.3, random_state=1)
methods = {
    "linear": LinearDiscriminantAnalysis(),
    "alpha = 1e-7": KernelFisherDiscriminant(gamma=2.0, alpha=1e-7),
    "alpha = 0.01": KernelFisherDiscriminant(gamma=2.0, alpha=1e-2),
}

# %%
# On the right the errors on new samples over six decades of the ridge. Training samples are the
# better separated the smaller the ridge is; new ones are not. Over two decades near 0.01 it hardly
# matters.

figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
xx, yy = np.meshgrid(np.linspace(-2, 3, 150), np.linspace(-1.5, 2, 120))
for ax, (name, method) in zip(axes, methods.items(), strict=False):
    method.fit(X, y)
    values = method.decision_function(np.c_[xx.ravel(), yy.ravel()]).reshape(xx.shape)
    limit = np.abs(values).max()
    ax.contourf(xx, yy, values, 20, cmap="RdBu_r", vmin=-limit, vmax=limit, alpha=0.6)
    ax.contour(xx, yy, values, [0], colors="k")
    ax.scatter(*X.T, c=y, cmap="coolwarm", s=8)
    wrong = 1 - method.score(X_new, y_new)
    ax.set(title=f"{name}: {100 * wrong:.0f} % wrong", xticks=[], yticks=[])

alphas = np.logspace(-8, 1, 19)
fitted = [KernelFisherDiscriminant(gamma=2.0, alpha=alpha).fit(X, y) for alpha in alphas]
axes[3].plot(alphas, [1 - f.score(X, y) for f in fitted], label="training samples")
axes[3].plot(alphas, [1 - f.score(X_new, y_new) for f in fitted], label="new samples")
axes[3].axhline(1 - methods["linear"].score(X_new, y_new), color="k", ls=":", label="linear")
axes[3].set(xscale="log", xlabel="alpha", ylabel="share of errors", ylim=0)
axes[3].legend()
plt.show()

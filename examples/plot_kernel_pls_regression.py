"""
How many components does a smooth function need?
================================================

We fit a noisy function of one variable by kernel partial least squares. The number of components
is the only regularisation: too few components are stiff, and too many follow the noise. We compare
components that use the target with principal components of the same kernel, which ignore it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from skmoderndata.cross_decomposition import KernelPLSRegression, PrincipalComponentsRegression

rng = np.random.default_rng(0)
x = rng.uniform(-3, 3, size=150)
clean = lambda x: np.sin(3 * x) * np.exp(-(x**2) / 4)  # noqa: E731
y = clean(x) + 0.15 * rng.normal(size=150)
X = x[:, None]

numbers = [1, 2, 3, 4, 5, 6, 8, 10, 14, 20, 30, 50]
searches = {
    "kernel PLS": GridSearchCV(
        KernelPLSRegression(gamma=1.0), {"n_components": numbers}, cv=10
    ),
    "principal components": GridSearchCV(
        PrincipalComponentsRegression(kernel="rbf", gamma=1.0),
        {"n_components": numbers},
        cv=10,
    ),
}
for name, search in searches.items():
    search.fit(X, y)
    print(
        f"{name:22} {search.best_params_['n_components']:3} components, "
        f"held-out R2 {search.best_score_:.2f}"
    )

# %%
# Left: fits with too few components, the selected number, and too many. Right: both methods reach
# the same accuracy; partial least squares approaches it with fewer components, and follows the
# noise if there are too many.

grid = np.linspace(-3, 3, 400)
best = searches["kernel PLS"].best_params_["n_components"]
fig, axes = plt.subplots(1, 2, figsize=(10.5, 3.8), layout="constrained")
axes[0].plot(x, y, ".", color="0.7", ms=4)
for k, color in ((1, "C0"), (best, "C3"), (50, "C2")):
    fit = KernelPLSRegression(k, gamma=1.0).fit(X, y)
    axes[0].plot(grid, fit.predict(grid[:, None]), color=color, label=f"{k} components")
axes[0].plot(grid, clean(grid), "k--", lw=1, label="without noise")
axes[0].set(ylim=(-1.5, 1.5), title="kernel PLS")
axes[0].legend(fontsize=8)
for (name, search), color in zip(searches.items(), ("C3", "C0"), strict=True):
    axes[1].plot(numbers, search.cv_results_["mean_test_score"], "o-", color=color, label=name)
axes[1].set(xscale="log", ylim=(-0.2, 1), xlabel="components", ylabel="held-out R2")
axes[1].legend()
plt.show()

"""
Do a few components predict better than all columns?
====================================================

Fifty samples have forty-five columns that depend on four factors. Least squares follows the noise;
principal components regression drops the directions of small variance.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV

from skmoderndata.cross_decomposition import PrincipalComponentsRegression

numbers = np.r_[1:11, 12, 15, 20, 25, 30, 35, 40, 45]
rng = np.random.default_rng(0)
fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
for ax, noise in zip(axes, (0.5, 2.0), strict=True):
    scores, ridge = [], []
    for _ in range(20):
        factors = rng.normal(size=(550, 4))
        X = factors @ rng.normal(size=(4, 45)) + noise * rng.normal(size=(550, 45))
        y = factors @ [1.0, -1.0, 0.5, 0.5] + rng.normal(size=550)
        train, new = slice(0, 50), slice(50, None)
        scores.append(
            [
                PrincipalComponentsRegression(int(k))
                .fit(X[train], y[train])
                .score(X[new], y[new])
                for k in numbers
            ]
        )
        reference = RidgeCV(np.logspace(-1, 5, 13)).fit(X[train], y[train])
        ridge.append(reference.score(X[new], y[new]))
    mean = np.mean(scores, axis=0)
    best = numbers[mean.argmax()]
    print(
        f"noise {noise}: best with {best} components, {mean.max():.2f}; all {mean[-1]:.2f}; "
        f"ridge {np.mean(ridge):.2f}"
    )
    ax.plot(numbers, mean, "o-", color="C3", label="principal components regression")
    ax.axhline(np.mean(ridge), color="C0", ls="--", label="ridge, cross-validated")
    ax.axvline(4, color="0.7", ls=":", label="number of factors")
    ax.set(title=f"noise of columns: {noise:g}", xlabel="components", ylim=(-0.5, 1))
axes[0].set_ylabel("R2 on unseen samples")
axes[0].legend(fontsize=8)
plt.show()

# %%
# Four components are best at both noise levels, slightly better than ridge, which shrinks all
# directions including the four factors. Using all components is the same as least squares, which
# is far worse.

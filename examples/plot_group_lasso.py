"""
Which measurements matter in a smooth additive model?
=====================================================

Each of ten measurements of 442 patients is expanded into six splines, so the progress of the
disease is modelled as a sum of smooth functions. The group lasso keeps or drops a measurement with
all its splines; the lasso drops individual splines, so more measurements remain. Below are the
functions found for the measurements that the group lasso keeps.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from skmoderndata.linear_model import GroupLasso

n_splines = 6
X, y = load_diabetes(return_X_y=True)
names = ["age", "sex", "bmi", "blood pressure", "s1", "s2", "s3", "s4", "s5", "s6"]
basis = make_pipeline(
    SplineTransformer(n_knots=n_splines - 2, extrapolation="linear"), StandardScaler()
)
Z = basis.fit_transform(X)

# %%
# Compute both paths downwards, starting at the penalty at which everything is zero.

paths, scores = {}, {}
for title, model in {
    "group lasso": GroupLasso(groups=n_splines, warm_start=True),
    "lasso": Lasso(warm_start=True, max_iter=100_000),
}.items():
    top = GroupLasso(1e9, n_splines if title == "group lasso" else None).fit(Z, y).alpha_max_
    alphas = top * np.geomspace(1, 0.01, 30)
    norms, r2 = [], []
    for alpha in alphas:
        model.set_params(alpha=alpha).fit(Z, y)
        norms.append(np.linalg.norm(model.coef_.reshape(-1, n_splines), axis=1))
        r2.append(cross_val_score(model, Z, y, cv=5).mean())
    paths[title], scores[title] = (alphas, np.array(norms)), np.array(r2)

# %%
# Plot ten curves for each model: norms of the coefficients of a measurement. The dashed line marks
# the penalty with the best cross-validated R2.

figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
for ax, (title, (alphas, norms)) in zip(axes, paths.items(), strict=True):
    best = int(np.argmax(scores[title]))
    lines = ax.plot(alphas, norms)
    for name, line, norm in zip(names, lines, norms[best], strict=True):
        line.set_label(f"{name}" if norm > 0 else None)
    ax.axvline(alphas[best], color="0.5", ls="--")
    kept = np.count_nonzero(norms[best])
    ax.set(xscale="log", xlabel="alpha", ylabel="norm of the coefficients of a measurement")
    ax.set_title(f"{title}: {kept} measurements, R2 {scores[title][best]:.3f}")
    ax.invert_xaxis()
    ax.legend(fontsize=8, loc="upper left")

# %%
# Plot the functions at the best penalty.

alphas, norms = paths["group lasso"]
best = int(np.argmax(scores["group lasso"]))
model = GroupLasso(alphas[best], n_splines).fit(Z, y)
kept = np.flatnonzero(norms[best])
print(f"relative duality gap {model.dual_gap_:.1e}")
figure, axes = plt.subplots(
    1, len(kept), figsize=(10.5, 2.8), sharey=True, squeeze=False, layout="constrained"
)
for ax, j in zip(axes[0], kept, strict=True):
    grid = np.tile(X.mean(axis=0), (100, 1))
    grid[:, j] = np.linspace(*np.quantile(X[:, j], [0.02, 0.98]), 100)
    part = slice(j * n_splines, (j + 1) * n_splines)
    ax.plot(grid[:, j], basis.transform(grid)[:, part] @ model.coef_[part])
    ax.axhline(0, color="0.8", lw=0.8)
    ax.set_title(names[j], fontsize=9)
    ax.tick_params(labelsize=7)
figure.supylabel("contribution", fontsize=9)
plt.show()

"""
====================================================
What does a classifier gain from the order of ranks?
====================================================

The target is the progress of a disease in five ranks. A support vector classifier treats the
ranks as unordered classes; ordinal regression places thresholds along one function. It is less
often wrong by several ranks, and you can plot its function. The parameters of both methods
were chosen on these folds.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skmoderndata.ranking import NuSVOR

X, progress = load_diabetes(return_X_y=True)
ranks = np.digitize(progress, np.quantile(progress, [0.2, 0.4, 0.6, 0.8]))
folds = KFold(5, shuffle=True, random_state=0)

# %%
machines = {"NuSVOR": NuSVOR(0.8, gamma=0.1), "SVC": SVC(C=10, gamma=0.01)}
fig, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for shift, (name, machine) in enumerate(machines.items()):
    guess = cross_val_predict(make_pipeline(StandardScaler(), machine), X, ranks, cv=folds)
    off = np.bincount(np.abs(guess - ranks), minlength=5)
    mean = np.abs(guess - ranks).mean()
    axes[0].bar(np.arange(5) + 0.4 * shift - 0.2, off, 0.4, label=f"{name}: mean {mean:.2f}")
axes[0].set(title="errors on unseen patients", xlabel="ranks off", ylabel="patients")
axes[0].legend()

model = NuSVOR(0.8, gamma=0.1).fit(StandardScaler().fit_transform(X), ranks)
values = model.rank_score(StandardScaler().fit_transform(X))
axes[1].scatter(values, progress, c=ranks, s=10, cmap="viridis")
for b in model.thresholds_:
    axes[1].axvline(b, color="0.4")
axes[1].set(title="values and thresholds", xlabel="function", ylabel="progress of the disease")

for nu in np.linspace(0.5, 0.9, 9):
    model = NuSVOR(nu, gamma=0.1, order="enforced")
    guess = cross_val_predict(make_pipeline(StandardScaler(), model), X, ranks, cv=folds)
    axes[2].plot(nu, np.abs(guess - ranks).mean(), "o", color="tab:blue")
axes[2].set(title="fraction of constraints with slack", xlabel="nu", ylabel="ranks off, mean")
plt.show()

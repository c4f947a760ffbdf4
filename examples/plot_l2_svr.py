"""
=================================================
How many samples does a regression function need?
=================================================

The regression predicts the progress of a disease from the body mass index. Samples inside the
tube, shaded, have no coefficient: the wider the tube, the fewer samples the function needs. A tube
of zero width is kernel ridge regression with a free offset, with a coefficient for every sample.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score

from skmoderndata.svm import L2SVR

diabetes = load_diabetes(scaled=False)
bmi, y = diabetes.data[:, [2]], diabetes.target

# %%
line = np.linspace(bmi.min(), bmi.max(), 200)[:, None]
fig, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained", sharey=True)
for ax, epsilon in zip(axes, (0.0, 40.0, 90.0), strict=True):
    model = L2SVR(C=0.5, gamma=0.01, epsilon=epsilon).fit(bmi, y)
    f = model.predict(line)
    ax.scatter(bmi, y, s=6, color="0.75")
    ax.scatter(bmi[model.support_], y[model.support_], s=8, color="tab:red")
    ax.fill_between(line[:, 0], f - epsilon, f + epsilon, alpha=0.2)
    ax.plot(line, f)
    ax.set(title=f"epsilon={epsilon:g}: {len(model.support_)} of {len(y)} samples")
    ax.set_xlabel("body mass index")
axes[0].set_ylabel("progress of the disease")

# %%
# With all ten measurements, half of the samples give nearly the same score as all of them.
X = load_diabetes().data
widths = np.linspace(0, 120, 9)
scores = [cross_val_score(L2SVR(C=1.0, epsilon=e, gamma=3), X, y, cv=5).mean() for e in widths]
counts = [len(L2SVR(C=1.0, epsilon=e, gamma=3).fit(X, y).support_) for e in widths]
fig, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
ax.plot(counts, scores, "o-")
for count, score, width in zip(counts, scores, widths, strict=True):
    ax.annotate(f"{width:g}", (count, score), textcoords="offset points", xytext=(4, -10))
ax.set(xlabel="samples with a coefficient", ylabel="R2 in five folds", title="by tube width")
plt.show()

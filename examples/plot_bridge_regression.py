"""
What does the exponent of a penalty do?
=======================================

Ten measurements of 442 diabetes patients predict the progress of the disease. Ridge regression
shrinks all coefficients, and the lasso drops some. What happens with exponents between the two,
and below?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmoderndata.linear_model import BridgeRegression

data = load_diabetes()
X = StandardScaler().fit_transform(data.data)
y = (data.target - data.target.mean()) / data.target.std()
exponents = [0.5, 1.0, 1.5, 2.0]
alphas = np.logspace(-3.5, 0.5, 25)
paths = {
    q: np.array([BridgeRegression(alpha, exponent=q).fit(X, y).coef_ for alpha in alphas])
    for q in exponents
}
scores = {
    q: [
        cross_val_score(
            make_pipeline(StandardScaler(), BridgeRegression(alpha, exponent=q)), X, y, cv=10
        ).mean()
        for alpha in alphas
    ]
    for q in exponents
}
for q in exponents:
    print(f"exponent {q}: r2 {max(scores[q]):.3f}")

# %%
# With an exponent below 1, coefficients vanish abruptly, from a size well above zero; with the
# lasso they shrink to zero first. With 1.5 and 2 none ever vanishes. For predicting this disease
# the exponent matters little: the best penalties are small, and the four curves end at the same
# height.

figure, axes = plt.subplots(1, 5, figsize=(15, 3.6), layout="constrained")
for ax, q in zip(axes, exponents, strict=False):
    ax.plot(alphas, paths[q])
    ax.set(title=f"exponent {q}", xscale="log", xlabel="alpha", ylim=(-0.55, 0.5))
    axes[-1].plot(alphas, scores[q], label=f"{q}")
axes[0].set_ylabel("coefficients")
axes[-1].set(title="held-out $r^2$", xscale="log", xlabel="alpha", ylim=(0, 0.52))
axes[-1].legend()
plt.show()

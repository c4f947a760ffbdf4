"""
Which function of two fast signals is slow?
===========================================

Two signals oscillate quickly, but one of their quadratic functions, sums of squares and products,
is slow. Principal components cannot find it, not even with all products of the inputs, because
they look for variance; slow feature analysis recovers the hidden signal to ten digits.

The example comes from Wiskott and Sejnowski (2002): ``x1 = sin t + cos^2 11 t``, ``x2 = cos 11
t``.
"""

# %%
# Give both methods the same quadratic functions of the input.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skmoderndata.datasets import make_slow_signal
from skmoderndata.decomposition import SlowFeatureAnalysis, SlowSignalsDisplay

X, slow = make_slow_signal(5000)
t = np.linspace(0, 2, len(X))

sfa = SlowFeatureAnalysis(n_components=1, degree=2)
pca = make_pipeline(
    PolynomialFeatures(2, include_bias=False), StandardScaler(), PCA(1, whiten=True)
)
outputs = {
    "first principal component\nof all squares and products": pca.fit_transform(X)[:, 0],
    "slowest quadratic function": sfa.fit_transform(X)[:, 0],
}
for name, y in outputs.items():
    error = 1 - abs(np.corrcoef(y, slow)[0, 1])
    print(f"{name.splitlines()[0]}: 1 - |correlation with sin t| = {error:.1e}")

# %%
# You can read the function itself from the components: it is ``sqrt(2) (x1 - x2^2)``.

for weight, name in zip(sfa.components_[0], sfa.expansion_names_, strict=True):
    print(f"{weight:8.4f}  {name}")

# %%
fig, axes = plt.subplots(2, 2, figsize=(9, 5), sharex=True, layout="constrained")
for ax, x, name in zip(axes[0], X.T, ("$x_1$", "$x_2$"), strict=True):
    ax.plot(t, x, color="0.35", lw=0.8)
    ax.set_title(f"input {name}")
for ax, (name, y) in zip(axes[1], outputs.items(), strict=True):
    y = y * np.sign(np.corrcoef(y, slow)[0, 1])
    ax.plot(t, y, color="C0", lw=1.2, label="output")
    ax.plot(t, np.sqrt(2) * slow, color="C1", ls="--", lw=2, label=r"$\sqrt{2}\,\sin t$")
    ax.set_title(name)
    ax.set_xlabel(r"$t / \pi$")
    ax.set_ylim(-3.2, 3.2)
axes[1, 1].legend(loc="upper right")

# %%
# There are four more uncorrelated functions of this kind, ordered by their slowness. After
# training on the first half of the rows, none of them is faster on the second half: nothing was
# fitted to noise.

half = len(X) // 2
sfa = SlowFeatureAnalysis(degree=2).fit(X[:half])
SlowSignalsDisplay.from_estimator(sfa, X[half:])
plt.show()

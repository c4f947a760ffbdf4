"""
Which of eight inputs matter, and how?
======================================

A function of eight inputs depends on six of them: on four separately, and on two through an
interaction. How well can it be predicted from 80 noisy values, and does the model show which
inputs it uses?
"""

# %%
# The function is a sum of four waves and one product of two inputs; the last two inputs have no
# effect.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.metrics import r2_score

from skmoderndata.kernels import ANOVA

warnings.simplefilter("ignore", ConvergenceWarning)  # some scales reach their bounds
rng = np.random.default_rng(0)


def truth(X):
    return 2 * np.sin(2 * X[:, :4]).sum(axis=1) + 3 * X[:, 4] * X[:, 5]


X, new = rng.uniform(-1.5, 1.5, size=(80, 8)), rng.uniform(-1.5, 1.5, size=(1000, 8))
y = truth(X) + 0.3 * rng.normal(size=80)

# %%
# We compare three Gaussian processes: one width for all inputs; a separate width for each input;
# and an ANOVA kernel of main effects and pairwise interactions, with a weight for each input. All
# are tuned by marginal likelihood.

noise = WhiteKernel(0.1, (1e-4, 10))
kernels = {
    "RBF, one width": ConstantKernel(10.0, (1e-2, 1e4)) * RBF(1.0, (1e-2, 1e3)) + noise,
    "RBF, a width each": ConstantKernel(10.0, (1e-2, 1e4)) * RBF(np.ones(8), (1e-2, 1e3))
    + noise,
    "ANOVA, degree 2": ANOVA(
        2,
        cumulative=True,
        weights=np.full(8, 0.3),
        base_kernels=RBF(1.0, (0.1, 10)),
        weights_bounds=(1e-6, 1e2),
    )
    + noise,
}
models = {
    name: GaussianProcessRegressor(kernel, normalize_y=True).fit(X, y)
    for name, kernel in kernels.items()
}
scores = {name: r2_score(truth(new), model.predict(new)) for name, model in models.items()}
for name, score in scores.items():
    print(f"{name:20s} R2 on new samples {score:.3f}")

# %%
# The left panel shows the score on new samples. The right panel shows the weights of the ANOVA
# kernel, which drop by orders of magnitude for inputs that do not matter.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.barh(list(scores), list(scores.values()), color=["0.6", "0.6", "C3"])
left.set(
    xlim=(0, 1.1), xlabel="R2 on 1000 new samples", title="80 noisy samples, eight inputs"
)
for i, score in enumerate(scores.values()):
    left.text(max(score, 0) + 0.01, i, f"{score:.2f}", va="center")
weights = models["ANOVA, degree 2"].kernel_.k1.weights
right.bar(range(1, 9), weights, color=["C3"] * 6 + ["0.6"] * 2)
right.set_yscale("log")
right.set(
    xlabel="input", xticks=range(1, 9), ylabel="weight", title="Weights of the ANOVA kernel"
)
plt.show()
print("weights:", " ".join(f"{w:.0e}" for w in weights))

"""
How many inducing inputs are enough?
====================================

A Gaussian process reports its uncertainty, and the bounds of a sparse one show how close it is to
the exact process. Do they show when there are enough inducing inputs? And where are these inputs
placed?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from skmoderndata.gaussian_process import SparseGaussianProcessRegressor

# %%
# The data are one measurement of 442 diabetes patients, the body mass index, and the progress of
# the disease: a few inducing inputs are as good as all patients. The lower bound rises to the
# exact value, and the upper bound falls to it. They meet when more inducing inputs bring no
# further gain.

X, y = load_diabetes(return_X_y=True)
X = X[:, [2]] / X[:, 2].std()
kernel = ConstantKernel() * RBF()
exact = GaussianProcessRegressor(kernel + WhiteKernel(0.5), normalize_y=True).fit(X, y)
numbers = [2, 3, 4, 6, 8, 12]
models = [
    SparseGaussianProcessRegressor(kernel, n_inducing=m, random_state=0).fit(X, y)
    for m in numbers
]

# %%
# A function of ten inputs, five of which are irrelevant, leaves a thousand times more to
# learn: the error falls with the number of inducing inputs. A fit to 20,000 samples takes
# seconds.

big, target = make_friedman1(20_000, noise=1.0, random_state=0)
new, truth = make_friedman1(2_000, noise=0.0, random_state=1)
sizes = [10, 30, 100, 200]
errors = []
for m in sizes:
    model = SparseGaussianProcessRegressor(n_inducing=m, random_state=0).fit(big, target)
    errors.append(np.sqrt(np.mean((model.predict(new) - truth) ** 2)))
small = GaussianProcessRegressor(
    ConstantKernel() * RBF(np.ones(10), (0.1, 1e9)) + WhiteKernel(0.1), normalize_y=True
).fit(big[:500], target[:500])
baseline = np.sqrt(np.mean((small.predict(new) - truth) ** 2))

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
grid = np.linspace(X.min(), X.max(), 200)[:, None]
model = models[3]
mean, std = model.predict(grid, return_std=True, include_noise=False)  # leave out the noise
left.plot(X[:, 0], y, ".", color="0.75", ms=3)
left.plot(grid, mean, "C0", label="6 inducing inputs")
left.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, color="C0", alpha=0.2)
left.plot(grid, exact.predict(grid), "k--", lw=1, label="exact")
left.plot(model.inducing_points_, np.full(6, y.min()), "C1^", label="inducing inputs")
left.set(xlabel="body mass index (standardised)", ylabel="progress of the disease")
left.legend()
middle.plot(numbers, [m.upper_bound_ for m in models], "C3v-", label="upper bound")
middle.plot(numbers, [m.lower_bound_ for m in models], "C0^-", label="lower bound")
middle.axhline(exact.log_marginal_likelihood_value_, color="k", ls="--", lw=1, label="exact")
middle.set(xlabel="inducing inputs", ylabel="log marginal likelihood")
middle.legend()
right.plot(sizes, errors, "o-", label="sparse, 20,000 samples")
right.axhline(baseline, color="k", ls="--", lw=1, label="exact, 500 samples")
right.set(xscale="log", yscale="log", xlabel="inducing inputs", ylabel="error of the function")
right.legend()
plt.show()

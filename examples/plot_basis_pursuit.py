"""
How many measurements does a sparse signal need?
================================================

A signal of 256 values is a sum of a few cosines. Basis pursuit recovers it from a quarter as
many random samples. The minimum-energy solution from the same samples is useless. The right
panel shows how often the coefficients are recovered exactly as the number of non-zero
coefficients grows. It compares basis pursuit with orthogonal matching pursuit from
scikit-learn, which is given the correct number. The dotted line marks the number at which
theory predicts that basis pursuit fails.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.fft import idct
from sklearn.linear_model import OrthogonalMatchingPursuit

from skmoderndata.linear_model import BasisPursuit

n, m = 256, 64
rng = np.random.default_rng(0)
basis = idct(np.eye(n), axis=0, norm="ortho")
coef = np.zeros(n)
coef[rng.choice(np.arange(2, 60), 5, replace=False)] = [3, -2, 2, 1.5, 1]
signal = basis @ coef
seen = np.sort(rng.choice(n, m, replace=False))
model = BasisPursuit(0, fit_intercept=False).fit(basis[seen], signal[seen])
least_energy = basis @ (np.linalg.pinv(basis[seen]) @ signal[seen])
print(f"relative duality gap {model.dual_gap_:.1e}, {np.count_nonzero(model.coef_)} cosines")

# %%
# Compute the fraction of exact recoveries with 100 unknowns and 50 measurements.
numbers = np.arange(3, 31, 3)
share = {"basis pursuit": [], "matching pursuit, number given": []}
for s in numbers:
    hits = dict.fromkeys(share, 0)
    exact = BasisPursuit(residual_tol=0, fit_intercept=False)  # the data have no noise
    for _ in range(25):
        X = rng.normal(size=(50, 100))
        w = np.zeros(100)
        w[rng.choice(100, s, replace=False)] = rng.choice([-1, 1], s)
        greedy = OrthogonalMatchingPursuit(n_nonzero_coefs=s, fit_intercept=False).fit(
            X, X @ w
        )
        for name, fitted in zip(share, (exact.fit(X, X @ w), greedy), strict=True):
            hits[name] += np.linalg.norm(fitted.coef_ - w) < 1e-4 * np.linalg.norm(w)
    for name in share:
        share[name].append(hits[name] / 25)

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8), width_ratios=(3, 2))
left.plot(signal, color="0.8", lw=4, label="signal")
left.plot(basis @ model.coef_, lw=1, label="basis pursuit")
left.plot(least_energy, lw=0.8, ls="--", label="minimum energy")
left.plot(seen, signal[seen], "k.", ms=5, label=f"{m} samples")
left.set(xlabel="time", title=f"{n} values from {m} samples")
left.legend(fontsize=8, ncols=2)
for (name, values), mark in zip(share.items(), "os", strict=True):
    right.plot(numbers, values, marker=mark, label=name)
right.axvline(0.386 * 50, color="0.5", ls=":", label="theory, basis pursuit")
right.set(
    xlabel="non-zero coefficients",
    ylabel="recovered exactly",
    title="50 measurements, 100 unknowns",
)
right.legend(fontsize=8)
fig.tight_layout()
plt.show()

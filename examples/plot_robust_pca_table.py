"""
Which cells of this table are wrong?
====================================

Many numbers describe each of 569 tumours. In one cell out of fifty the decimal point has slipped:
the number is a tenth of the measurement, which in many columns is still a plausible value. Robust
PCA finds which cells are wrong and what they should have been; we compare it with the median and
the median absolute deviation (MAD) of each column.
"""

# %%
# The table comes with scikit-learn. We use logarithms, because areas grow with the square of
# radii, and centre and scale each column by statistics that are robust to the errors.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import RobustScaler

from skmoderndata.decomposition import RobustPCA, RobustPCADisplay

measured = load_breast_cancer(as_frame=True).data
measured = measured.loc[:, (measured > 0).all()]
rng = np.random.default_rng(0)
slipped = rng.random(measured.shape) < 0.02
written = measured.where(~slipped, measured / 10)

scaler = RobustScaler().set_output(transform="pandas").fit(np.log10(written))
table = scaler.transform(np.log10(written))
truth = scaler.transform(np.log10(measured))

# %%
# Robust PCA detects that the cells are noisy, estimates the noise of each column, and chooses how
# many components exceed it.

rpca = RobustPCA().fit(table)
print(f"{rpca.algorithm_}: {rpca.n_components_} components, noise {rpca.noise_std_:.2f}")
print(rpca.find_outliers().head(5).round(2).to_string())

# %%
# The other rule uses one column at a time.

distance = (table - table.median()).abs()
far = (distance > 5 * 1.4826 * distance.median()).to_numpy()
for name, found in {"RobustPCA": rpca.support_, "median and MAD": far}.items():
    print(f"{name:15s} {(found & slipped).sum():3d} of {slipped.sum()} found, ", end="")
    print(f"{(found & ~slipped).sum()} other cells marked")

# %%
# If a column spreads over less than a factor of ten, both rules detect the slip. In the other
# columns, only the rest of the row reveals it: there, the value that robust PCA expects is close
# to the measurement, and a median is not. The other cells that robust PCA marks, one in a hundred,
# were already more than five standard deviations of the noise away as measured.

expected = {"RobustPCA": rpca.low_rank_[slipped], "median": np.zeros(slipped.sum())}
fig, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
limits = np.array([-2.5, 2.5])
values = truth.to_numpy()[slipped]
for name, colour in (("median", "C0"), ("RobustPCA", "C3")):
    error = np.median(np.abs(expected[name] - values))
    label = f"{name}: median error {error:.2f}"
    axes[0].plot(values, expected[name], ".", color=colour, label=label)
axes[0].plot(limits, limits, "k:", lw=1)
axes[0].set(
    xlim=limits,
    ylim=limits,
    xlabel="measured (quartile ranges from the median)",
    ylabel="expected value",
    title="Cells with a slipped decimal point",
)
axes[0].legend(fontsize=8)

hits = [(rpca.support_ & slipped).sum(axis=0), (far & slipped).sum(axis=0)]
order = np.argsort(hits[1] / np.maximum(slipped.sum(axis=0), 1), kind="stable")
places = np.arange(len(order))
axes[1].bar(places, slipped.sum(axis=0)[order], color="0.85", label="slipped")
axes[1].plot(places, hits[0][order], "o", color="C3", label="found by RobustPCA")
axes[1].plot(places, hits[1][order], "x", color="C0", label="found by median and MAD")
axes[1].set(xlabel="column, sorted", ylabel="cells", title="Found, by column")
axes[1].legend(fontsize=8)

# %%
# Plot the first thirty tumours: the table, the table without noise and errors, and the errors
# in units of the noise of their column.

RobustPCADisplay.from_estimator(rpca, table[:30])
plt.show()

"""
Can three incomplete views agree?
=================================

Three instruments watch the same slow process, each through its own mixture of channels and noise.
Many samples are missing in at least one view. We compute a consensus of the views from the
available data and compare it with discarding every incomplete sample.
"""

# %%
# Generate 300 samples and remove more and more of them from each of the three views.

import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.cross_decomposition import RegularizedCCA

rng = np.random.default_rng(0)
time = np.linspace(0, 4 * np.pi, 300)
process = np.sin(time) + 0.5 * np.sin(2.7 * time)
views = [
    np.c_[process, rng.normal(size=(300, 5))] @ rng.normal(size=(6, 8))
    + 0.7 * rng.normal(size=(300, 8))
    for _ in range(3)
]


def agreement(values, wanted):
    return abs(np.corrcoef(values, wanted)[0, 1])


shares = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
all_samples, complete_only = [], []
for share in shares:
    holed = [np.where(rng.random((300, 1)) < share, np.nan, X) for X in views]
    seen = np.array([~np.isnan(X[:, 0]) for X in holed])
    cca = RegularizedCCA(1, alpha=0.1, criterion="gcca").fit(holed)
    some = seen.any(axis=0)
    all_samples.append(agreement(cca.consensus_[some, 0], process[some]))
    whole = seen.all(axis=0)
    if whole.sum() > 12:
        part = RegularizedCCA(1, alpha=0.1, criterion="gcca").fit([X[whole] for X in holed])
        scores = np.nanmean(np.hstack(part.transform(holed))[some], axis=1)
        complete_only.append(agreement(scores, process[some]))
    else:
        complete_only.append(np.nan)
    if share == 0.4:
        shown, shown_seen = cca.consensus_[:, 0], seen

# %%
# Compute the consensus of the incomplete views, and its agreement with the process.

sign = np.sign(np.corrcoef(shown, process)[0, 1])
fig, axes = plt.subplots(2, 2, figsize=(10.5, 4), height_ratios=[3, 1], layout="constrained")
axes[0, 0].plot(time, process / process.std(), color="0.6", lw=3, label="process")
axes[0, 0].plot(time, sign * shown / shown.std(), ".", ms=4, color="C3", label="consensus")
axes[0, 0].set(title="40 % of each view missing", xticks=[])
axes[0, 0].legend()
axes[1, 0].imshow(shown_seen, aspect="auto", cmap="Greys", interpolation="nearest")
axes[1, 0].set(
    yticks=range(3), yticklabels=["view 1", "2", "3"], xlabel="sample (white: missing)"
)
grid = axes[0, 1].get_gridspec()
for ax in axes[:, 1]:
    ax.remove()
ax = fig.add_subplot(grid[:, 1])
ax.plot(shares, all_samples, "o-", color="C3", label="all samples (gcca)")
ax.plot(shares, complete_only, "s--", color="C0", label="complete samples only")
ax.set(xlabel="fraction of each view missing", ylabel="correlation with the process")
ax.legend()
plt.show()

"""
What should I put in place of the zeros in a table of counts?
=============================================================

A table of a microbiome has a row for each sample and a column for each taxon. Only the ratios of
the counts in a row mean something, so rows are analysed by logarithms of ratios, and a zero has no
logarithm. Is a zero a missing value, or a small one? scikit-bio (``pip install scikit-bio``)
replaces zeros by a small number. Here we compare this with two uses of a low-rank model.
"""

# %%
# Generate 120 samples of 60 taxa with known proportions: three gradients of the environment, and
# noise for each cell. The depth is the number of sequences that are counted in a sample. With 300
# sequences, nearly half of the counts are zero. The centred log-ratio subtracts the mean logarithm
# from each row.

import matplotlib.pyplot as plt
import numpy as np

from skmoderndata.impute import NuclearNormImputer

try:
    from skbio.stats.composition import clr, multi_replace
except ImportError:
    print(
        "scikit-bio is not installed (pip install scikit-bio): its two functions are copied."
    )

    def clr(table):
        """Centred log-ratio."""
        logs = np.log(table)
        return logs - logs.mean(axis=-1, keepdims=True)

    def multi_replace(table):
        """Replace zeros by 1 / n_taxa^2, and scale the rest so that rows sum to one."""
        shares = table / table.sum(axis=1, keepdims=True)
        small = 1 / table.shape[1] ** 2
        n_zeros = (table == 0).sum(axis=1, keepdims=True)
        return np.where(table == 0, small, shares * (1 - n_zeros * small))


N_SAMPLES, N_TAXA, N_GRADIENTS = 120, 60, 3


def draw(depth, rng):
    """Counts, true log-ratios and gradients."""
    gradients = rng.normal(size=(N_SAMPLES, N_GRADIENTS))
    logs = rng.normal(0, 1.5, size=N_TAXA)
    logs = logs + 0.8 * gradients @ rng.normal(size=(N_GRADIENTS, N_TAXA))
    shares = np.exp(logs + 0.3 * rng.normal(size=(N_SAMPLES, N_TAXA)))
    shares /= shares.sum(axis=1, keepdims=True)
    counts = np.array([rng.multinomial(depth, row) for row in shares])
    return counts, clr(shares), gradients


# %%
# Four answers. The low-rank model is fitted to log-ratios, either with zeros as missing cells, or
# with a half in their place and a weight for each cell: the logarithm of a count of n has a
# variance of about 1 / n, so a zero has little weight but still says "small". The fitted model
# replaces all cells.


def low_rank(table, weight=None):
    """Values of the low-rank model of a table."""
    model = NuclearNormImputer(scale=False).fit(table, entry_weight=weight)
    return model.mean_ + model.row_scores_ @ model.components_


def answers(counts):
    """Log-ratios by each method."""
    halves = clr(counts + 0.5)
    return {
        "multi_replace (scikit-bio)": clr(multi_replace(counts)),
        "add a half": halves,
        "low rank, zeros missing": low_rank(np.where(counts == 0, np.nan, halves)),
        "low rank, zeros weigh little": low_rank(halves, (counts + 0.5) / (counts + 1.5)),
    }


def agreement(ratios, gradients):
    """Squared canonical correlations of three principal components with the gradients."""
    bases = [
        np.linalg.svd(table - table.mean(axis=0), full_matrices=False)[0][:, :N_GRADIENTS]
        for table in (ratios, gradients)
    ]
    return np.mean(np.linalg.svd(bases[0].T @ bases[1], compute_uv=False) ** 2)


depths = (300, 1000, 3000, 10000)
rng = np.random.default_rng(0)
errors, agreements = {}, {}
for depth in depths:
    counts, truth, gradients = draw(depth, rng)
    zeros = counts == 0
    print(f"depth {depth}: {zeros.mean():.0%} zeros")
    for name, ratios in answers(counts).items():
        ratios = ratios - ratios.mean(axis=1, keepdims=True)
        error = np.sqrt(np.mean((ratios - truth)[zeros] ** 2))
        errors.setdefault(name, []).append(error)
        agreements.setdefault(name, []).append(agreement(ratios, gradients))
        print(f"  {name:30} error at zeros {error:.2f}, agreement {agreements[name][-1]:.3f}")

# %%
# At all depths, the model with weights is closest to the true log-ratios of the zero cells and
# finds the gradients best, but only by a little: adding a half is hard to beat for an ordination.
# Zeros as missing cells are the worst choice at low depths, because taxa are missing where they
# are rare, and a model that does not know this fills in too much. At a depth of 10,000, where few
# zeros are left, the low rank matters more. The small number of ``multi_replace`` does not depend
# on the depth, and is too large there.

fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for name in errors:
    axes[0].plot(depths, errors[name], "o-", label=name)
    axes[1].plot(depths, agreements[name], "o-", label=name)
axes[0].set(xscale="log", xlabel="sequences for each sample", title="error of zero cells")
axes[1].set(xscale="log", xlabel="sequences for each sample", title="gradients that are found")
axes[0].set(ylim=(0, None), ylabel="root mean squared error, log-ratio")
axes[1].legend(fontsize=8)
plt.show()

"""
Can slowness undo a non-linear mixture?
=======================================

Two independent sources are wound into a spiral. No linear method can unmix them: independent
component analysis finds two other directions in the plane. The slowest function of the mixture
is a monotone function of the slower source. The functions after it are mostly further
functions of the same source, because these are slow as well. We therefore remove all functions
of the source found first, and look for the slowest function of the remainder (an idea of
Sprekeler, Zito and Wiskott, 2014). This function follows the other source.
"""

# %%
# Use a rich set of functions of the two mixtures: kernels around 150 of the rows.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import rankdata, spearmanr
from sklearn.decomposition import FastICA
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import StandardScaler

from skmoderndata.datasets import make_mixed_sources
from skmoderndata.decomposition import SlowFeatureAnalysis

X, sources = make_mixed_sources(20_000, random_state=0)
X = StandardScaler().fit_transform(X)
functions = Nystroem(gamma=2.0, n_components=150, random_state=0)
Y = SlowFeatureAnalysis(expansion=functions).fit_transform(X)
first = Y[:, 0]

# %%
# Remove polynomials of the first source from all outputs, and choose the slowest combination of
# the rest. `rank_tol` drops the directions that the removal has emptied.

uniform = 2 * rankdata(first) / len(first) - 1
polynomials = np.polynomial.legendre.legvander(uniform, 16)[:, 1:]
rest = Y - LinearRegression().fit(polynomials, Y).predict(polynomials)
second = SlowFeatureAnalysis(n_components=1, rank_tol=1e-2).fit_transform(rest)[:, 0]


def matched(estimates):
    """Estimates in the best order and with the best signs, and their correlations."""
    table = spearmanr(np.column_stack([estimates, sources]))[0][:2, 2:]
    order = [0, 1] if abs(table).trace() > abs(table[::-1]).trace() else [1, 0]
    fit = table[order, [0, 1]]
    return estimates[:, order] * np.sign(fit), abs(fit)


found = {
    "slow features": np.column_stack([first, second]),
    "FastICA": FastICA(2, random_state=0).fit_transform(X),
}
for name, estimates in found.items():
    print(f"{name}: rank correlation with the sources", matched(estimates)[1].round(3))

# %%
fig, axes = plt.subplots(2, 3, figsize=(11, 6.5), layout="constrained")
some = slice(None, None, 10)
for row, name in enumerate(("slow", "fast")):
    axes[row, 0].scatter(*X[some].T, c=sources[some, row], s=4, cmap="coolwarm")
    axes[row, 0].set(title=f"mixture, coloured by the {name} source", xticks=[], yticks=[])
    for column, (method, estimates) in enumerate(found.items(), start=1):
        values, fit = matched(estimates)
        ax = axes[row, column]
        ax.plot(sources[some, row], values[some, row], ".", ms=1.5, color=f"C{column - 1}")
        ax.set_title(f"{method}: rank correlation {fit[row]:.2f}")
        ax.set_xlabel(f"{name} source")
        ax.set_ylabel("estimate")
plt.show()

"""
How many ratings do I need to predict the missing ones?
=======================================================

A table of 300 users and 100 items has low rank: users and items differ in three tastes, some users
are generous, and some items are good. Only some of the ratings are known, each with noise. We
complete the table from more and more known ratings and compare with the imputers of scikit-learn.
The error is measured against the true values, on the missing cells only.
"""

# %%
# The table is generated, so the true values are known. Column means are the simplest baseline.
# Nearest neighbours average users with similar ratings. The iterative imputer regresses every item
# on the ten items most correlated with it; with all 100 items it would take minutes.

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from skmoderndata.datasets import make_ratings
from skmoderndata.impute import NuclearNormImputer

NOISE = 0.5
IMPUTERS = {
    "column means": SimpleImputer(),
    "KNNImputer": KNNImputer(n_neighbors=20),
    "IterativeImputer": IterativeImputer(n_nearest_features=10, max_iter=5, random_state=0),
    "NuclearNormImputer": NuclearNormImputer(),
}
IMPUTERS["NuclearNormImputer"].fit(
    make_ratings(20, 10, random_state=0)[0]
)  # compile the loops
shares = [0.05, 0.1, 0.2, 0.4, 0.7]
errors = {name: [] for name in IMPUTERS}
seconds = dict.fromkeys(IMPUTERS, 0.0)
for share in shares:
    X, users, items = make_ratings(observed=share, noise=NOISE, skew=0.3, random_state=0)
    truth, hidden = users @ items.T, np.isnan(X)
    for name, imputer in IMPUTERS.items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            filled = imputer.fit_transform(X)
        seconds[name] += time.perf_counter() - start
        errors[name].append(np.sqrt(np.mean((filled - truth)[hidden] ** 2)))

# %%
# With one rating in twenty, no method is much better than the column means: 15 numbers per
# item cannot determine three tastes. From one in ten on, the low rank helps. From one in five
# on, the completed cells are closer to the true values than a rating by the user would be,
# because a rating carries noise. Nearest neighbours suffer most, because two users have few
# rated items in common. The right panel shows how the weight of the nuclear norm was chosen
# for the table with 40 % known cells: the error on hidden ratings along the path.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
for name, values in errors.items():
    style = {"linewidth": 2.5, "color": "C3"} if name.startswith("Nuclear") else {"alpha": 0.8}
    left.plot(shares, values, marker="o", label=f"{name} ({seconds[name]:.1f} s)", **style)
left.axhline(NOISE, color="0.6", linestyle=":", label="noise of one rating")
left.set(
    xscale="log",
    xticks=shares,
    xticklabels=[f"{100 * share:g} %" for share in shares],
    xlabel="known ratings",
    ylabel="error on missing ratings",
    ylim=(0, None),
    title="Error against the true values",
)
left.minorticks_off()
left.legend(fontsize=8)

X, users, items = make_ratings(observed=0.4, noise=NOISE, skew=0.3, random_state=0)
imputer = NuclearNormImputer().fit(X)
path = imputer.alpha_path_ / imputer.alpha_max_
right.semilogx(path, imputer.validation_errors_, "o-", color="C3")
right.axvline(imputer.alpha_ / imputer.alpha_max_, color="0.6", linestyle=":", label="chosen")
right.invert_xaxis()
right.minorticks_off()
right.set_xticks(path, [f"{value:.2f}" for value in path])
right.set(
    xlabel="alpha / alpha_max, from large to small",
    ylabel="error on hidden ratings (standard deviations)",
    title=f"Choice of alpha: rank {imputer.n_components_}",
)
right.legend()
plt.show()

# %%
# The singular values of the completed table drop after the fourth. Three correspond to the tastes
# and one to the generosity of users; the quality of the items is in the column means.

print(np.round(imputer.singular_values_[:8], 1))
print(f"relative duality gap {imputer.dual_gap_:.0e} after {imputer.n_iter_} passes")

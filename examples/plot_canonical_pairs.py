"""
==================================
How many canonical pairs are real?
==================================

The data are three exercises and three body measurements of twenty men. Canonical correlation
analysis always returns three pairs. How many of them are more than chance findings, which
columns do they consist of, and how well does one view predict the other?
"""

# %%
# Permutations of the rows show how large the first correlation gets without any relation. Then the
# first pair is removed from both views, and the test is repeated on the remainder.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_linnerud

from skmoderndata.cross_decomposition import CanonicalLoadingsDisplay, RegularizedCCA
from skmoderndata.model_selection import canonical_permutation_test

exercise, body = load_linnerud(return_X_y=True, as_frame=True)
test = canonical_permutation_test(RegularizedCCA(3, alpha=0), exercise, body, random_state=0)
for j, (r, p) in enumerate(zip(test.correlations, test.p_values, strict=True)):
    print(f"pair {j}: correlation {r:.2f}, p = {p:.3f}")
print(f"{test.n_pairs} pair at the level 0.05")

# %%
# The left panel shows the correlations next to the correlations of permuted rows: with twenty men,
# a correlation of .2 is far below the values that arise by chance. The right panel shows the
# composition of the first pair. If an interval contains zero, its column may not contribute at
# all.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.violinplot(test.null_distribution, positions=range(3), showextrema=False)
left.plot(test.correlations, "ko", label="data")
left.plot(
    np.quantile(test.null_distribution, 0.95, axis=0),
    "r_",
    markersize=25,
    label="95 % of chance",
)
left.set(xlabel="pair", ylabel="correlation", xticks=range(3), ylim=(0, 1))
left.legend()

display = CanonicalLoadingsDisplay.from_estimator(
    RegularizedCCA(1, alpha=0), exercise, body, random_state=0, ax=right
)
right.set_title("First pair")

# %%
# With that one pair, predict the body measurements of a man who does many sit-ups and chins, and
# of a man who does few:

cca = RegularizedCCA(1).fit(exercise, body)
for quantile in (0.9, 0.1):
    weight, waist, pulse = cca.predict(exercise.quantile(quantile).to_frame().T)[0]
    print(
        f"quantile {quantile}: {weight:.0f} pounds, waist {waist:.1f} inches, pulse {pulse:.0f}"
    )
plt.show()

"""
Which features are real?
========================

Ten measurements of 442 diabetes patients predict the progress of the disease; forty columns of
noise are added. A lasso with a cross-validated penalty keeps many of them. How many of its
features are real, and how can you get a list with a known rate of errors?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LassoCV
from sklearn.preprocessing import StandardScaler

from skmoderndata.feature_selection import KnockoffDisplay, KnockoffSelector

X, y = load_diabetes(return_X_y=True, as_frame=True)
rng = np.random.default_rng(0)
for i in range(40):
    X[f"noise {i}"] = rng.normal(size=len(X))

lasso = LassoCV().fit(StandardScaler().fit_transform(X), y)
kept = X.columns[lasso.coef_ != 0]
print(f"LassoCV keeps {len(kept)} features, {sum('noise' in name for name in kept)} are noise")

# %%
# The selector adds a knockoff to each column: a copy that has the same correlations but does
# not depend on the disease. Noise wins against its knockoff as often as it loses.

selector = KnockoffSelector(LassoCV(), fdr=0.25, random_state=0).fit(X, y)
print("selected:", list(selector.get_feature_names_out()))
print(f"estimated false discovery rate: {selector.fdr_:.2f}")

display = KnockoffDisplay.from_estimator(selector)
display.figure_.set_size_inches(5, 5)
plt.show()

# %%
# Points below the dashed line are selected. The number of points above the dotted line, the
# mirror image of the dashed line, estimates how many of the selected features are false.

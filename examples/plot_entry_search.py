"""
How many components should I use?
=================================

More components code every row better, including rows that were held out, so `GridSearchCV` chooses
the largest number of a grid. Hidden entries behave differently, because a component that fits
noise does not predict entries that it has not seen. The data are thirteen chemical measurements of
178 wines from three growers, each shifted to a minimum of zero and divided by its standard
deviation.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skmoderndata.decomposition import SparseNMF
from skmoderndata.model_selection import EntrySearchCV, EntrySearchDisplay

X = load_wine().data
X = (X - X.min(axis=0)) / X.std(axis=0)
numbers = list(range(1, 11))

# %%
# Rows and entries
# ----------------
by_rows = GridSearchCV(SparseNMF(random_state=0), {"n_components": numbers}).fit(X)
by_entries = EntrySearchCV(
    SparseNMF(random_state=0), {"n_components": numbers}, random_state=0
)
by_entries.fit(X)
print("rows:", by_rows.best_params_, " entries:", by_entries.best_params_)

# %%
# The same for scikit-learn components after an imputer
# -----------------------------------------------------
pipe = make_pipeline(SimpleImputer(), PCA())
components = EntrySearchCV(pipe, {"pca__n_components": numbers}, random_state=0).fit(X)
print("PCA:", components.best_params_)

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(numbers, by_rows.cv_results_["mean_test_score"], "o-", markersize=4)
left.plot(
    by_rows.best_params_["n_components"],
    by_rows.best_score_,
    "o",
    markersize=12,
    fillstyle="none",
    color="C0",
)
left.set(title="Held-out rows", xlabel="n_components", ylabel="score", xticks=numbers)

EntrySearchDisplay.from_estimator(by_entries, ax=right, label="SparseNMF")
EntrySearchDisplay.from_estimator(components, ax=right, label="PCA")
right.set(title="Hidden entries", xlabel="n_components", ylabel="- mean squared error")
right.legend()
plt.show()

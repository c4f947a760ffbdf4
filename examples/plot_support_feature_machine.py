"""
Which of two thousand features matter?
======================================

The problem has the shape of a microarray study: 100 samples and 2000 features, and the classes
depend on five of the features. A support vector machine with an L1 penalty, recursive elimination
and the support feature machine each predict the classes and select the features.
"""

# %%
# All methods train on the same 100 samples and are evaluated on 1000 others. The penalty of the L1
# machine is chosen by cross-validation. Recursive elimination is given the number of features,
# five; the support feature machine runs with its defaults.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import RFE
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from skmoderndata.datasets import make_sparse_classes
from skmoderndata.svm import SupportFeatureMachine

X, y, truth = make_sparse_classes(1100, 2000, margin=0.25, random_state=0)
X_train, y_train, X_test, y_test = X[:100], y[:100], X[100:], y[100:]

l1 = LinearSVC(penalty="l1", dual=False, max_iter=10_000)
search = GridSearchCV(l1, {"C": np.logspace(-1.5, 0.5, 7)}, cv=5).fit(X_train, y_train)
rfe = RFE(LinearSVC(dual=True, max_iter=10_000), n_features_to_select=5, step=0.1)
rfe.fit(X_train, y_train)
machine = SupportFeatureMachine().fit(X_train, y_train)

weights = {
    "L1-SVM, cross-validated": search.best_estimator_.coef_[0],
    "recursive elimination, given: 5": np.zeros(2000),
    "support feature machine": machine.coef_[0],
}
weights["recursive elimination, given: 5"][rfe.support_] = rfe.estimator_.coef_[0]
fitted = dict(zip(weights, (search, rfe, machine), strict=True))

# %%
# The L1 machine finds the five features together with others that happen to help: a penalty large
# enough to suppress all the others would suppress the five as well. Recursive elimination starts
# with 2000 weights, among which the relevant ones are lost. The support feature machine pays for a
# feature, not for the size of its weight.

fig, axes = plt.subplots(3, 1, figsize=(9, 6), sharex=True, layout="constrained")
relevant = np.flatnonzero(truth)
for ax, (name, w) in zip(axes, weights.items(), strict=True):
    kept = np.flatnonzero(w)
    for column in relevant:
        ax.axvline(column, color="C2", lw=4, alpha=0.25)
    wrong = np.setdiff1d(kept, relevant)
    right = np.intersect1d(kept, relevant)
    ax.vlines(wrong, 0, w[wrong], color="C3")
    ax.vlines(right, 0, w[right], color="C0")
    ax.plot(wrong, w[wrong], "o", color="C3", ms=4, label=f"{wrong.size} wrong")
    ax.plot(right, w[right], "o", color="C0", ms=4, label=f"{right.size} of 5 correct")
    ax.axhline(0, color="0.6", lw=0.8)
    error = 1 - fitted[name].score(X_test, y_test)
    ax.set_title(f"{name}: test error {100 * error:.1f} %", loc="left")
    ax.set_ylabel("weight")
    ax.legend(loc="lower left", ncols=2, fontsize=8)
axes[-1].set_xlabel("feature (green: relevant)")
plt.show()

# %%
# Print the linear programs and the certificate: the last program is solved exactly, so no small
# change of the weights would lower the objective.

print("features after each linear program:", machine.n_features_history_[0][0].tolist())
print(f"relative gap: {machine.dual_gap_:.1e}")

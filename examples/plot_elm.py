"""
How many random neurons do I need to read digits?
=================================================

The first layer of the network is drawn at random and never trained; ridge regression does the
rest. How does the accuracy grow with the number of neurons, is the closed-form leave-one-out
accuracy reliable, and how accurate is a tuned support vector machine?
"""

# %%
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC

from skmoderndata.neural_network import ELMClassifier

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16, y, train_size=900, random_state=0, stratify=y)
sizes = [10, 20, 50, 100, 200, 500, 1000, 2000]
start = perf_counter()
models = [ELMClassifier(size, random_state=0).fit(X, y) for size in sizes]
print(f"{len(sizes)} networks: {perf_counter() - start:.1f} s")
start = perf_counter()
machine = GridSearchCV(SVC(), {"C": [1, 10, 100], "gamma": [0.01, 0.03, 0.1]}, cv=3).fit(X, y)
print(f"SVC, tuned over 9 settings: {perf_counter() - start:.1f} s")

# %%
# More neurons do no harm, because the penalty is chosen each time: the error has no peak when the
# number of neurons equals the number of samples (900, dotted). Leave-one-out (dashed) agrees with
# the test rows. The network needs one or two thousand neurons to come close to the support vector
# machine, which is tuned in less time at this size. The right panel shows the choice of the
# penalty: its whole path comes from one decomposition.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(
    sizes, [100 * (1 - model.score(X_test, y_test)) for model in models], "o-", label="test"
)
left.plot(
    sizes, [100 * (1 - model.loo_score_) for model in models], "s--", label="leave-one-out"
)
left.axhline(
    100 * (1 - machine.score(X_test, y_test)), color="k", lw=1, label="SVC, tuned: test"
)
left.axvline(len(X), color="0.6", ls=":")
left.set(xscale="log", yscale="log", xlabel="neurons", ylabel="errors (%)")
left.legend()
for model in (models[3], models[-2]):
    n = model.hidden_weights_.shape[1]
    good = np.isfinite(model.loo_path_)
    (line,) = right.plot(
        model.alphas_[good], 100 * (1 - model.loo_path_[good]), ".-", label=f"{n} neurons"
    )
    right.axvline(model.alpha_, color=line.get_color(), lw=0.8, ls="--")
right.set(xscale="log", yscale="log", xlabel="alpha", ylabel="leave-one-out errors (%)")
right.legend()
plt.show()

"""
=========================================
How far are error bounds from the errors?
=========================================

Linear classifiers separate the digits 3 and 8, with more and more training images. Bounds that
hold for any distribution are far above the error. The margin bound stays above one, where it is
meaningless; the bounds based on the number of support vectors come closer. The complexity falls as
expected.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from skmoderndata.metrics import bounds, rademacher_complexity

X, y = load_digits(return_X_y=True)
keep = np.isin(y, (3, 8))
X, y = X[keep] / 16, y[keep]
sizes = [20, 40, 80, 160, 300]
found = {"error of unseen images": [], "leave one out": [], "compression": [], "margin": []}
complexity = {"by the trace": [], "exact": []}
for n in sizes:
    machine = SVC(kernel="linear", C=1e6).fit(X[:n], y[:n])
    K, d = X[:n] @ X[:n].T, len(machine.support_)
    margin = 1 / np.linalg.norm(machine.coef_)
    found["error of unseen images"].append(1 - machine.score(X[n:], y[n:]))
    found["leave one out"].append(bounds.leave_one_out_bound(d, n))
    found["compression"].append(bounds.compression_bound(d, n))
    found["margin"].append(bounds.margin_bound(0.0, margin, np.trace(K), n))
    complexity["by the trace"].append(rademacher_complexity(K))
    complexity["exact"].append(rademacher_complexity(K, method="monte_carlo", random_state=0))

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, values in zip(axes, (found, complexity), strict=True):
    for name, course in values.items():
        ax.loglog(sizes, course, "o-", label=name)
    ax.set_xlabel("training images")
    ax.legend()
axes[0].axhline(1, color="0.7")
axes[0].set_title("error and bounds")
axes[1].set_title("Rademacher complexity, norm 1")
plt.show()

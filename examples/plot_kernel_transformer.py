"""
How much does a cache save in a search over kernels of sets?
============================================================

A pipeline compares sets by a kernel and classifies them. A search over the kernel and the
parameter of the classifier needs the same kernel values again and again. How often does it
need them, and how much time does that cost?
"""

# %%
# Draw documents of two kinds, as sets of their words out of 300.

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from skmoderndata.kernels import GramCache, Intersection, Normalized, PowerSet
from skmoderndata.preprocessing import KernelTransformer

rng = np.random.default_rng(0)
kind = np.arange(300) % 2
rates = rng.gamma(0.5, 0.1, size=(2, 300))
rates[1] = 0.7 * rates[0] + 0.3 * rates[1]
documents = [frozenset(np.flatnonzero(rng.random(300) < rates[k]).tolist()) for k in kind]

# %%
# Search over three kernels and five values of C, in five folds. The cache is a single object; the
# clones of the pipeline share it, since the sets keep their identity when the list is split.

grid = {
    "kerneltransformer__kernel": [
        Intersection(),
        Normalized(Intersection()),
        Normalized(PowerSet({e: 0.3 for e in range(300)})),
    ],
    "svc__C": [0.01, 0.1, 1, 10, 100],
}


class Counting(GramCache):
    """A cache that also counts the requested values."""

    asked = 0

    def values(self, kernel, X, Y=None):
        self.asked += len(X) * len(X if Y is None else Y)
        return super().values(kernel, X, Y)


cache, seconds = Counting(), {}
for name, chosen in {"no cache": None, "GramCache": cache}.items():
    model = make_pipeline(
        KernelTransformer(Intersection(), cache=chosen), SVC(kernel="precomputed")
    )
    start = perf_counter()
    search = GridSearchCV(model, grid, cv=5).fit(documents, kind)
    seconds[name] = perf_counter() - start
    print(f"{name:10s} {seconds[name]:.2f} s, best score {search.best_score_:.3f}")
print(f"kernel values requested {cache.asked}, computed {cache.n_computed}")

# %%
# The left panel shows the scores, which are the same with and without the cache. The right panel
# shows the kernel values: each value is computed once for each kernel.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
scores = np.reshape(search.cv_results_["mean_test_score"], (3, 5))
for kernel, line in zip(
    ("intersection", "normalised", "power set, normalised"), scores, strict=True
):
    left.semilogx(grid["svc__C"], line, "o-", label=kernel)
left.set(xlabel="C", ylabel="accuracy, five folds", title="The search")
left.legend(fontsize=8, loc="lower right")
right.bar(
    ["requested", "computed"], [cache.asked / 1e6, cache.n_computed / 1e6], color=["0.6", "C3"]
)
right.set(ylabel="million kernel values", title="Savings of the cache")
plt.show()

"""
Which linear law do the measurements obey?
==========================================

Six sensors obey a linear law until one of them breaks. The minor component is the direction in
which the rows do not vary: the coefficients of the law. A row that violates the law indicates a
fault.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from skmoderndata.decomposition import MinorComponentAnalysis

rng = np.random.default_rng(0)
n_rows, breakdown = 3000, 2200
flows = rng.normal(size=(n_rows, 5))
law = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
X = np.column_stack(
    [flows, flows @ law + 0.05 * rng.normal(size=n_rows)]
)  # the inputs balance the outputs
X[breakdown:, 2] *= 0.7  # from here on, the readings of the third sensor are too low

# %%
# Learn the law from the first 1000 rows in a stream, and monitor all rows.

mca = MinorComponentAnalysis(n_components=1, random_state=0)
learned = []
for start in range(0, 1000, 10):
    mca.partial_fit(X[start : start + 10])
    learned.append(mca.components_[0].copy())
truth = np.append(law, -1.0) / np.sqrt(6)
angle = np.degrees(np.arccos(np.clip(np.abs(learned @ truth), 0, 1)))
last = PCA().fit(X[:1000]).components_[-1]
print(f"angle to the law: stream {angle[-1]:.2f} degrees, last component of PCA ", end="")
print(f"{np.degrees(np.arccos(abs(last @ truth))):.2f} degrees")
violation = np.abs(mca.transform(X)[:, 0])

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained")
left.semilogy(np.arange(1, 101) * 10, angle)
left.set(xlabel="rows seen", ylabel="angle to the law (degrees)")
right.plot(violation, ".", ms=2)
right.axvline(breakdown, color="0.5", ls="--")
right.set(xlabel="row", ylabel="distance from the law", title="the third sensor breaks")
plt.show()

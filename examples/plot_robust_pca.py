"""
How far can one wrong number rotate the first principal component?
==================================================================

One hundred measurements of twenty sensors follow one common cause, with a little noise. Just one
of the 2000 numbers is wrong. By how many degrees does it rotate the leading direction of ordinary
and of robust principal components?
"""

# %%
# The data have one known direction. Every number is noisy, so use the stable variant of robust
# PCA; plain principal component pursuit treats every number that is not wrong as exact.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from skmoderndata.decomposition import RobustPCA

rng = np.random.default_rng(0)
n_samples, n_features, row = 100, 20, 7
truth = rng.normal(size=n_features)
truth /= np.linalg.norm(truth)
neighbour, column = np.argsort(np.abs(truth))[-2:]  # two sensors that follow the cause closely
clean = np.sqrt(n_features) * np.outer(rng.normal(size=n_samples), truth)
clean += 0.3 * rng.normal(size=clean.shape)


def leading_directions(X):
    """Return the first principal direction for each method."""
    return {
        "PCA": PCA(n_components=1).fit(X).components_[0],
        "RobustPCA": RobustPCA(algorithm="stable").fit(X).components_[0],
    }


def degrees(direction):
    """Angle to the true direction; the sign does not matter."""
    return np.degrees(np.arccos(min(1.0, abs(direction @ truth))))


# %%
# Increase the wrong number from the size of the noise to ten thousand.

sizes = np.logspace(-0.5, 4, 19)
angles = {"PCA": [], "RobustPCA": []}
for size in sizes:
    X = clean.copy()
    X[row, column] += size
    for name, direction in leading_directions(X).items():
        angles[name].append(degrees(direction))

# %%
# The left panel shows the sensor with the wrong number, here 40 too large, and another sensor.
# The first direction of PCA rotates towards the wrong number, whereas the direction of robust
# PCA stays with the data. The right panel shows the angle to the true direction. With a small
# error both are equally good; a large one rotates the direction of PCA onto the axis of that
# sensor. The angle of robust PCA is the same to three digits, however large the error is.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
X = clean.copy()
X[row, column] += 40
left.plot(X[:, column], X[:, neighbour], ".", color="0.5")
left.plot(X[row, column], X[row, neighbour], "o", color="k", label="row with the wrong number")
reach = np.array([-60.0, 60.0])
for name, direction in leading_directions(X).items():
    style = {"color": "C3" if name == "RobustPCA" else "C0", "linewidth": 2}
    left.plot(reach * direction[column], reach * direction[neighbour], label=name, **style)
left.plot(reach * truth[column], reach * truth[neighbour], "k:", label="truth")
left.set(
    xlim=(-8, 46),
    ylim=(-6, 4),
    xlabel="sensor with the wrong number",
    ylabel="another sensor",
    title="One wrong number of size 40",
)
left.legend(loc="lower right", fontsize=8)

right.loglog(sizes, angles["PCA"], "o-", color="C0", label="PCA")
right.loglog(sizes, angles["RobustPCA"], "o-", color="C3", label="RobustPCA")
right.axhline(
    degrees(leading_directions(clean)["PCA"]), color="k", ls=":", label="PCA, no error"
)
right.set(
    xlabel="size of the wrong number",
    ylabel="angle to the true direction (degrees)",
    yticks=[1, 3, 10, 30, 90],
    yticklabels=["1", "3", "10", "30", "90"],
    title="Angle of the leading direction",
)
right.minorticks_off()
right.legend(fontsize=8)
plt.show()

# %%
# Robust PCA also finds the wrong number and estimates its error.

rpca = RobustPCA(algorithm="stable").fit(X)
worst = np.unravel_index(np.abs(rpca.sparse_).argmax(), X.shape)
print(f"most suspicious cell: row {worst[0]}, column {worst[1]} (truth: {row}, {column})")
print(f"its error: {rpca.sparse_[worst]:.1f} (truth: 40); next: ", end="")
print(f"{np.sort(np.abs(rpca.sparse_), axis=None)[-2]:.1f}")
print(f"rank {rpca.rank_}, relative duality gap {rpca.dual_gap_:.0e}")

"""
Where is the object in the film?
================================

Two patterns, equally bright and dark on average, move across images of 16 x 16 pixels, one in each
film. The learner does not know which pattern moves, or where. A hierarchy of slow feature analyses
looks for functions of an image that change slowly. How well can a linear readout predict the
position in *new* films from eight outputs, and how well from principal components?
"""

# %%
# Make films with known positions, some for training and some for testing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression

from skmoderndata.datasets import make_moving_object
from skmoderndata.decomposition import HierarchicalSlowFeatureAnalysis

film = make_moving_object(n_sequences=12, n_steps=500, n_objects=2, random_state=1)
train, test = film.sequence_ids < 8, film.sequence_ids >= 8

# %%
# The default for this shape has three layers: fields of 4 x 4 pixels, then 3 x 3 outputs, then the
# whole image.

models = {
    "hierarchical SFA, 8": HierarchicalSlowFeatureAnalysis(8, image_shape=film.image_shape),
    "PCA, 8": PCA(8),
    "PCA, 64": PCA(64),
}
models["hierarchical SFA, 8"].fit(film.data[train], sequence_ids=film.sequence_ids[train])
for name in ("PCA, 8", "PCA, 64"):
    models[name].fit(film.data[train])

predicted, explained, recognised = {}, {}, {}
for name, model in models.items():
    Y = model.transform(film.data)
    readout = LinearRegression().fit(Y[train], film.position[train])
    predicted[name] = readout.predict(Y[test])
    explained[name] = readout.score(Y[test], film.position[test])
    label = LogisticRegression(max_iter=1000).fit(Y[train], film.identity[train])
    recognised[name] = label.score(Y[test], film.identity[test])
    print(f"{name}: R2 of position {explained[name]:.3f}, identity {recognised[name]:.3f}")

# %%
# Plot some images, the slowest outputs as functions of the position (each dot is an image of a new
# film), and true against predicted position. The slowest output does not depend on the position:
# it distinguishes the two objects, because the object never changes within a film.

slow = models["hierarchical SFA, 8"].transform(film.data[test])
position = film.position[test]
fig = plt.figure(figsize=(11, 7), layout="constrained")
top, middle, bottom = fig.subfigures(3, 1, height_ratios=(1, 1.3, 1.6))
for ax, t in zip(top.subplots(1, 8), np.linspace(0, 700, 8).astype(int), strict=True):
    ax.imshow(film.data[t].reshape(film.image_shape), cmap="gray", vmin=-1, vmax=1)
    ax.set_title(f"film {film.sequence_ids[t]}, t = {t % 500}", fontsize=8)
    ax.set_axis_off()
for j, ax in enumerate(middle.subplots(1, 6)):
    ax.scatter(position[:, 1], position[:, 0], c=slow[:, j], s=3, cmap="RdBu", vmin=-2, vmax=2)
    ax.set_title(f"slow output {j + 1}", fontsize=9)
    ax.set(xticks=[], yticks=[], aspect="equal", ylim=(15.5, -0.5))
for ax, (name, guess) in zip(
    bottom.subplots(1, 3, sharey=True), predicted.items(), strict=True
):
    ax.plot(position[:, 1], guess[:, 1], ".", ms=2)
    ax.axline((0, 0), slope=1, color="black", lw=0.8)
    figures = f"$R^2$ = {explained[name]:.2f}, identity {recognised[name]:.0%}"
    ax.set_title(f"{name} outputs\n{figures}", fontsize=10)
    ax.set_xlabel("true horizontal position")
    ax.set_ylim(-3, 18)
bottom.axes[0].set_ylabel("read from the image")
plt.show()
